"""What the arguments name, read and judged."""

from collections.abc import Hashable, Sequence
from pathlib import Path

from hitrate_adapters.core.display import asides
from hitrate_adapters.core.evaluation import Evaluation, Qrels, evaluate
from hitrate_adapters.core.records import Judge, QueryRecord, Records
from hitrate_adapters.core.retrieval import Run
from hitrate_adapters.formats import load, read_qrels, read_run, read_texts
from hitrate_adapters.formats.files import Place
from hitrate_adapters.formats.reading import rankings

from .options import Reading
from .output import counted, note, tracked, waiting
from .running import named


def evaluated(qrels_path: Path, run_paths: list[Path], reading: Reading, *, keep: bool = False) -> list[Evaluation]:
    """Return the evaluation of each run.

    Of the runs themselves only what was wrong is kept, unless `keep` is true: a run need not fit into memory.
    """
    options = named(format="--qrels-format", query_id="--qrels-query-id", items="--qrels-items")
    with options, waiting(f"reading {qrels_path.name}"):
        qrels = read_qrels(qrels_path, reading.qrels_format, on_error=reading.on_error, **reading.qrels_fields)
    _keep_skipped(qrels.skipped, qrels_path, reading)
    if not qrels:
        raise ValueError(f"{qrels_path}: there is no query in it")
    with named(format="--run-format", query_id="--run-query-id", items="--run-items"):
        return [_judged(qrels, path, reading, keep=keep) for path in run_paths]


def saved(paths: list[Path], reading: Reading) -> list[Evaluation]:
    """Return saved evaluations. Raises ValueError where options ask for another way of judging."""
    reading.refuse()
    try:
        return [load(path) for path in paths]
    except ValueError as error:
        raise ValueError(f"{error} (where QRELS or RUN is left out, files are saved evaluations)") from error


def say(evaluation: Evaluation) -> None:
    """Say on stderr what is in no mean, and what counts as a miss though nothing was looked for."""
    for line in asides(evaluation):
        note(line)


def segment_file(given: str | None) -> Path | None:
    """Return the file that --segment names, alone or before a field of it."""
    names = (given, given.rpartition(":")[0]) if given else ()
    return next((Path(name) for name in names if name and Path(name).is_file()), None)


def segment_of(given: str, qrels_path: Path, reading: Reading) -> dict[str, str]:
    """Return query id -> segment, from a file, from FILE:FIELD, or from a field of the golden set's file."""
    path = segment_file(given)
    if path is not None:
        return read_texts(path, texts="segment" if str(path) == given else given.rpartition(":")[2])
    if qrels_path.is_fifo():
        raise ValueError(f"--segment {given}: a field of QRELS takes a file, as it is read twice; this is a pipe")
    return read_texts(qrels_path, reading.qrels_format, ids=reading.qrels_query_id or "query_id", texts=given)


def texts_of(path: Path | None, part: str) -> dict[str, str] | None:
    """Return id -> text of a file, or of that part of a BEIR folder."""
    if path is None:
        return None
    return read_texts(path, texts=part if path.is_dir() else None)


def _judged(qrels: Qrels, path: Path, reading: Reading, *, keep: bool) -> Evaluation:
    if not keep and path.is_file():  # nothing can be read from a pipe again
        place = Place(path, reading.on_error)
        evaluation = _streamed(qrels, place, reading)
        if evaluation is not None:
            _keep_skipped(place.skipped, path, reading)
            return evaluation
    with waiting(f"reading {path.name}"):
        run = read_run(path, reading.run_format, on_error=reading.on_error, **reading.run_fields)
    _keep_skipped(run.skipped, path, reading)
    return evaluate(qrels, run, **reading.rules)


def _streamed(qrels: Qrels, place: Place, reading: Reading) -> Evaluation | None:
    """Return the evaluation of a run that is read one query at a time; None where all of it is needed.

    That is where nothing relevant was found: to say what looks wrong, `evaluate` looks at everything.
    """
    judge, run = Judge(**reading.rules), Run()
    records: dict[QueryRecord, int] = {}
    found: dict[Hashable, int] = {}
    queries = rankings(place, reading.run_format, found, **reading.run_fields)
    for query_id, retrieved, error in tracked(queries, place.path.name, len(qrels)):
        if query_id not in qrels:
            found[query_id] = -1
            continue
        found[query_id] = records.setdefault(judge(qrels[query_id], retrieved, query_id), len(records))
        if error is not None:
            run.errors[query_id] = error
    if not any(record.gain_ranks and record.n_relevant for record in records):
        return None
    missing = [query_id for query_id in qrels if query_id not in found]
    for query_id in missing:
        found[query_id] = records.setdefault(judge(qrels[query_id], [], query_id), len(records))
    judged = Records(qrels, [found[query_id] for query_id in qrels], records)
    return Evaluation(
        records=judged,
        unscored=(*judged.unscored, *(query_id for query_id, code in found.items() if code < 0)),
        missing=tuple(query_id for query_id in missing if query_id in judged),
        errors={query_id: error for query_id, error in run.errors.items() if query_id in judged},
        qrels=qrels,
        run=run,
        judge=judge,
    )


def _keep_skipped(skipped: Sequence[str], path: Path, reading: Reading) -> None:
    say_skipped(skipped)
    if skipped:
        reading.skipped[str(path)] = len(skipped)


def say_skipped(skipped: Sequence[str]) -> None:
    """Say on stderr how many rows could not be read."""
    if skipped:
        note(f"{counted(len(skipped), 'row')} left out; the first: {skipped[0]}")
