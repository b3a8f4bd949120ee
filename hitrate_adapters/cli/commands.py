"""The commands."""

from pathlib import Path
from typing import Annotated, Any

from hitrate_adapters import __version__
from hitrate_adapters._extras import extra
from hitrate_adapters.core.diagnosis import diagnose as diagnosed
from hitrate_adapters.core.evaluation import Evaluation
from hitrate_adapters.core.leaderboard import leaderboard as ranked
from hitrate_adapters.core.metrics import DEFAULT_K, METRICS
from hitrate_adapters.formats import load, read_qrels, read_run, save, write_qrels, write_run
from hitrate_adapters.formats.saved import is_saved
from hitrate_adapters.formats.unread import unread

from . import gates, results
from .converting import left_behind, refuse_input, refuse_unsavable
from .inputs import evaluated, saved, say, say_skipped, segment_file, segment_of, texts_of
from .options import (
    AnywayOption,
    BaselineOption,
    CutoffsOption,
    FailUnderOption,
    Format,
    FormatOption,
    GateFormat,
    GateFormatOption,
    MarginOption,
    MaxDropOption,
    MetricsOption,
    On,
    OnError,
    OnErrorOption,
    OnOption,
    Reading,
    Side,
)
from .output import note, show
from .parsing import bounds, deltas, metrics_of
from .running import command, named

with extra("cli", "typer"):
    import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hitrate {__version__}")
        raise typer.Exit


@app.callback()
def hitrate(
    *,
    version: Annotated[
        bool, typer.Option("--version", metavar="", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Hit Rate@K of retrievers, from files: how good, how sure, which queries missed and why; and gates for builds.

    Exit codes: 0 all is well, 1 a gate failed, 2 bad input, 3 a gate is inconclusive.
    """


@app.command(name="eval", epilog="hitrate eval qrels.jsonl run.jsonl -k 1,5,10 --fail-under hit_rate@5=0.85")
@command
def eval_(  # noqa: PLR0913 - each is an option
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="The golden set; or, alone, a saved evaluation.")],
    run: Annotated[Path | None, typer.Argument(metavar="RUN", help="What was retrieved.")] = None,
    *,
    metric: MetricsOption = None,
    k: CutoffsOption = None,
    segment: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Also score each segment: a field of QRELS, a file with query_id and segment, or FILE:FIELD.",
        ),
    ] = None,
    save_: Annotated[
        Path | None,
        typer.Option(
            "--save", metavar="FILE", help="Save the evaluation as a later baseline, where every gate passes."
        ),
    ] = None,
    format_: GateFormatOption = GateFormat.table,
    fail_under: FailUnderOption = None,
    on: OnOption = On.point,
    baseline: BaselineOption = None,
    max_drop: MaxDropOption = None,
    anyway: AnywayOption = False,
    reading: Reading,
) -> None:
    """Score a run: every metric at every cutoff, with 95 % intervals; and check gates."""
    default = ("hit_rate",) if segment else tuple(METRICS)
    metrics = metrics_of(metric, k, metrics=default, k=DEFAULT_K)
    lowest, allowed = bounds("--fail-under", fail_under, metrics), bounds("--max-drop", max_drop, metrics)
    if on is not On.point and not lowest:
        raise ValueError(f"--on {on} says what --fail-under METRIC=BOUND looks at: it needs one")
    if bool(allowed) != (baseline is not None):
        raise ValueError("--baseline FILE and --max-drop METRIC=D need each other")
    if save_ is not None:
        refuse_unsavable(save_, qrels, run, segment_file(segment))
    (evaluation,) = _evaluations(qrels, [run] if run else [], reading, keep=save_ is not None)
    say(evaluation)
    segments = evaluation.by(segment_of(segment, qrels, reading)) if segment else None
    checks = gates.not_under(evaluation, lowest, on)
    if baseline is not None:
        checks += gates.not_dropped(evaluation, load(baseline), allowed, anyway=anyway)
    result = results.of_evaluation(evaluation, metrics, segments, (run or qrels).name, checks)
    show(result, format_, reading.skipped)
    if save_ is not None and result.exit_code:
        note(f"not saved to {save_}, as not every gate passed")
    elif save_ is not None:
        save(evaluation, save_)
        note(f"saved to {save_}")
    raise typer.Exit(result.exit_code)


@app.command(epilog="hitrate compare qrels.jsonl bm25.jsonl hybrid.jsonl -m hit_rate@5,ndcg@10")
@command
def compare(  # noqa: PLR0913 - each is an option
    qrels: Annotated[
        Path, typer.Argument(metavar="QRELS", help="The golden set. Without it, OLD and NEW are saved evaluations.")
    ],
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The run to compare with.")],
    new: Annotated[Path | None, typer.Argument(metavar="NEW", help="Is this run better?")] = None,
    *,
    metric: MetricsOption = None,
    k: CutoffsOption = None,
    margin: MarginOption = 0.05,
    anyway: AnywayOption = False,
    max_drop: MaxDropOption = None,
    format_: GateFormatOption = GateFormat.table,
    reading: Reading,
) -> None:
    """Compare two runs query by query: is the difference real? Better, worse, no difference, or too few queries."""
    metrics = metrics_of(metric, k, metrics=("hit_rate",), k=(5,))
    allowed = bounds("--max-drop", max_drop, metrics)
    if new is None:
        before, after = saved([qrels, old], reading)
    else:
        before, after = evaluated(qrels, [old, new], reading)
    comparisons = after.compare(before, metrics, margin=margin, anyway=anyway)
    checks = gates.not_dropped(after, before, allowed, anyway=anyway)
    names = (qrels.name, old.name) if new is None else (old.name, new.name)
    result = results.of_comparisons(comparisons, names, checks)
    show(result, format_, reading.skipped)
    raise typer.Exit(result.exit_code)


@app.command(epilog="hitrate leaderboard qrels.jsonl runs/*.jsonl -m ndcg@10")
@command
def leaderboard(  # noqa: PLR0913 - each is an option
    files: Annotated[list[Path], typer.Argument(metavar="QRELS RUN...", help="The golden set and the runs.")],
    *,
    saved_: Annotated[
        bool,
        typer.Option(
            "--saved", metavar="", help="All files are saved evaluations; no QRELS. Seen by itself, but for a pipe."
        ),
    ] = False,
    metric: MetricsOption = None,
    k: CutoffsOption = None,
    margin: MarginOption = 0.05,
    anyway: AnywayOption = False,
    format_: FormatOption = Format.table,
    reading: Reading,
) -> None:
    """Rank runs by one metric, with those that the best cannot be told from."""
    metrics = metrics_of(metric, k, metrics=("hit_rate",), k=(5,))
    if len(metrics) != 1:
        raise ValueError(f"a leaderboard goes by one metric, not by {', '.join(map(str, metrics))}")
    saved_ = saved_ or (files[0].is_file() and is_saved(files[0]))
    if not saved_ and len(files) == 1:
        raise ValueError("expected QRELS and at least one RUN")
    runs = files if saved_ else files[1:]
    names = [path.name.partition(".")[0] for path in runs]
    if len(set(names)) < len(names):
        names = list(map(str, runs))
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{twice[0]} is there twice")
    evaluations = saved(runs, reading) if saved_ else evaluated(files[0], runs, reading)
    board = ranked(dict(zip(names, evaluations, strict=True)), metrics[0], margin=margin, anyway=anyway)
    show(results.of_leaderboard(board), format_, reading.skipped)


@app.command(epilog="hitrate diagnose qrels.jsonl run.jsonl -k 5 --corpus corpus.jsonl --queries queries.jsonl")
@command
def diagnose(  # noqa: PLR0913 - each is an option
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="The golden set; or, alone, a saved evaluation.")],
    run: Annotated[Path | None, typer.Argument(metavar="RUN", help="What was retrieved.")] = None,
    *,
    k: CutoffsOption = None,
    corpus: Annotated[Path | None, typer.Option(metavar="FILE", help="What is in the index: id and text.")] = None,
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="The queries: id and text.")] = None,
    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Texts that are not in the corpus any more: id and text.")
    ] = None,
    context_k: Annotated[
        int | None, typer.Option(metavar="K", help="How many of the retrieved items the model is shown.")
    ] = None,
    format_: FormatOption = Format.table,
    reading: Reading,
) -> None:
    """Say why each miss missed, and what of the whole set looks wrong."""
    cutoffs = metrics_of(None, k, metrics=("hit_rate",), k=(5,))
    if len(cutoffs) != 1:
        raise ValueError("diagnose looks at one cutoff: give one -k")
    (evaluation,) = _evaluations(qrels, [run] if run else [], reading, keep=True)
    say(evaluation)
    found = diagnosed(
        evaluation,
        cutoffs[0].k,
        texts=texts_of(texts, "corpus"),
        queries=texts_of(queries, "queries"),
        corpus=texts_of(corpus, "corpus"),
        context_k=context_k,
    )
    show(results.of_diagnosis(found, evaluation.score(found.metric)), format_, reading.skipped)


@app.command(epilog="hitrate convert run results.trec results.jsonl")
@command
def convert(  # noqa: PLR0913 - each is an option
    side: Annotated[Side, typer.Argument(metavar="qrels|run", help="What the file holds.")],
    source: Annotated[Path, typer.Argument(metavar="FROM", help="The file to read.")],
    target: Annotated[Path, typer.Argument(metavar="TO", help="The file to write, in place of an older one.")],
    *,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Default: by the end of its name.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="Default: by the end of its name.")] = None,
    on_error: OnErrorOption = OnError.raise_,
    query_id: Annotated[str | None, typer.Option(metavar="FIELD", help="The query's id.")] = None,
    items: Annotated[str | None, typer.Option(metavar="FIELD", help="What is relevant, or retrieved.")] = None,
    id_key: Annotated[str | None, typer.Option(metavar="KEY", help="Of items that are documents, the id.")] = None,
) -> None:
    """Write a golden set or a run in another format."""
    fields: dict[str, Any] = {"query_id": query_id, "items": items, "id_key": id_key}
    read, write = (read_qrels, write_qrels) if side is Side.qrels else (read_run, write_run)
    refuse_input("TO", target, source)
    with named(format="--from", query_id="--query-id", items="--items"):
        found = read(source, from_, on_error=on_error, **fields)
    say_skipped(found.skipped)
    with named(format="--to"):
        write(found, target, to)
    for line in left_behind(found, target, to, getattr(found, "errors", {})):
        note(line)
    if source.is_file():  # nothing can be read from a pipe again
        fields.pop("id_key")
        if names := unread(source, from_, side, **fields):
            note(f"not carried over: {', '.join(names)}")


@app.command(epilog="hitrate power --p 0.8 --delta 0.02,0.05")
@command
def power(
    *,
    p: Annotated[float, typer.Option("--p", metavar="P", help="The hit rate now.")],
    delta: Annotated[
        list[str] | None,
        typer.Option(metavar="D", help="The differences to be shown. Default: 0.1 to 0.01"),
    ] = None,
    power_: Annotated[
        float, typer.Option("--power", metavar="P", help="In what share of trials it is to be shown.")
    ] = 0.8,
    discordant: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The share of queries that one run alone hits. Default: as if independent."),
    ] = None,
    format_: FormatOption = Format.table,
) -> None:
    """Say how many queries show a difference between two hit rates, at p < 0.05."""
    show(results.of_power(p, deltas(delta), power_, discordant), format_)


def _evaluations(first: Path, runs: list[Path], reading: Reading, *, keep: bool) -> list[Evaluation]:
    """Return the evaluation of each run, or without any, that which is saved in the first file."""
    return evaluated(first, runs, reading, keep=keep) if runs else saved([first], reading)
