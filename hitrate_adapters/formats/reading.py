"""Read golden sets, runs and texts from files; ids become strings, so that both sides have the same kind."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Sequence
from errno import ENOENT
from pathlib import Path
from typing import Any

from hitrate_adapters.core.retrieval import Run

from .collecting import graded, new_query, ranked, value
from .files import PathLike, Place
from .ids import Ids, one_id
from .layouts import format_of, layout_of
from .rows import Row, json_of, named, rows_of


class ReadQrels(dict[str, Any]):
    """Query id -> relevant items, or item -> grade: a dict that also names, in `skipped`, what was left out."""

    skipped: Sequence[str] = ()
    """What was wrong with each row that was left out, with its place; empty unless `on_error="skip"`."""


class ReadRun(Run):
    """Query id -> retrieved items, best first: a `Run` that also names, in `skipped`, what was left out."""

    skipped: Sequence[str] = ()
    """What was wrong with each row that was left out, with its place; empty unless `on_error="skip"`."""


class ReadTexts(dict[str, str]):
    """Id -> text: a dict that also names, in `skipped`, what was left out."""

    skipped: Sequence[str] = ()
    """What was wrong with each row that was left out, with its place; empty unless `on_error="skip"`."""


def read_qrels(  # noqa: PLR0913 - each is what some file needs
    path: PathLike,
    format: str | None = None,  # noqa: A002 - the word of the command line
    *,
    on_error: str = "raise",
    query_id: str | None = None,
    items: str | None = None,
    id_key: str | None = None,
    split: str = "test",
) -> ReadQrels:
    r"""Return the relevant items of each query of a file: a list, or item -> grade where it has grades.

    Args:
        path: the file, or a BEIR folder; a file whose name ends in .gz is unpacked on the way.
        format: "jsonl", "json", "csv", "tsv", "parquet", "trec", "beir", "llama_index", "ragas" or "langsmith". None:
            what the name ends in says: .jsonl, .ndjson, .json, .csv, .tsv, .parquet, .trec, .qrels; a folder is BEIR's.
            It is never guessed from the content.
        on_error: "raise" stops at the first row that cannot be read; "skip" leaves such rows out and names them in
            `.skipped` of what is returned.
        query_id: the field or column of the query's id, where it has not the name that the format gives it.
        items: the field or column of the relevant items, likewise; a dot reaches into an object: "outputs.ids".
        id_key: where items are documents, the key of their metadata, or of themselves, that is the id. None: "id".
        split: which of a BEIR folder's qrels.

    Raises:
        OSError: the file cannot be opened.
        ValueError: a row is not what it must be: says where, what was found and what was expected. Or the format is
            unknown, or holds no golden set.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     gold = Path(folder, "gold.jsonl")
    ...     _ = gold.write_text('{"query_id": 1, "relevant": ["d2", "d7"]}\n')
    ...     read_qrels(gold)
    {'1': ['d2', 'd7']}
    """
    kind = format_of(Path(path), format)
    place = Place(_of_beir(path, "qrels", f"{split}.tsv") if kind == "beir" and Path(path).is_dir() else path, on_error)
    layout, ids, qrels = layout_of(place, kind, "qrels", query_id, items), Ids(id_key), ReadQrels()
    if layout.single:
        qrels.update(graded(layout, place, ids))
    else:
        for at, raw in enumerate(layout.rows.raw):
            with place:
                row = layout.rows.read(raw)
                query = new_query(row, layout, at, qrels)
                qrels[query] = ids.relevant(layout.parse(value(row, layout.items)))
    qrels.skipped = place.skipped
    return qrels


def read_run(  # noqa: PLR0913 - each is what some file needs
    path: PathLike,
    format: str | None = None,  # noqa: A002 - the word of the command line
    *,
    on_error: str = "raise",
    query_id: str | None = None,
    items: str | None = None,
    id_key: str | None = None,
) -> ReadRun:
    r"""Return the retrieved items of each query of a file, best first, ready for `evaluate`.

    Scores are sorted, the highest first, ties by item, descending, as trec_eval does, in double precision. A row with
    an `error`, such as "TimeoutError: ...", is a query whose retrieval failed: it is in `.errors`, with no items.

    Args:
        path: the file; one whose name ends in .gz is unpacked on the way.
        format: "jsonl", "json", "csv", "tsv", "parquet", "trec", "ragas" or "langsmith". None: what the name ends in
            says: .jsonl, .ndjson, .json, .csv, .tsv, .parquet, .trec, .run. It is never guessed from the content.
        on_error: "raise" stops at the first row that cannot be read; "skip" leaves such rows out and names them in
            `.skipped` of what is returned.
        query_id: the field or column of the query's id, where it has not the name that the format gives it.
        items: the field or column of the retrieved items, likewise; a dot reaches into an object: "outputs.documents".
        id_key: where items are documents, the key of their metadata, or of themselves, that is the id. None: "id".

    Raises:
        OSError: the file cannot be opened.
        ValueError: a row is not what it must be: says where, what was found and what was expected. Or the format is
            unknown, or holds no run.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     found = Path(folder, "bm25.jsonl")
    ...     _ = found.write_text('{"query_id": "q1", "retrieved": {"d1": 0.4, "d2": 0.9, "d3": 0.4}}\n')
    ...     read_run(found)
    {'q1': ['d2', 'd3', 'd1']}
    """
    place, run = Place(path, on_error), ReadRun()
    fields = {"query_id": query_id, "items": items, "id_key": id_key}
    for query, retrieved, error in rankings(place, format, run, share=True, **fields):
        run[query] = retrieved
        if error is not None:
            run.errors[query] = error
    run.skipped = place.skipped
    return run


def rankings(  # noqa: PLR0913 - as `read_run`
    place: Place,
    format: str | None,  # noqa: A002
    before: Container[Hashable],
    *,
    query_id: str | None = None,
    items: str | None = None,
    id_key: str | None = None,
    share: bool = False,
) -> Iterator[tuple[str, list[Hashable], Exception | None]]:
    """Give the id of each query of a run, what was retrieved, and the error of its retrieval if there was one.

    Where each row of the file holds all of a query, as in JSON lines, one query at a time is read, so that a run need
    not fit into memory. `before` holds the queries that were there, of which another row is wrong; `share` makes equal
    ids one object, for a run that is kept. The other arguments are those of `read_run`.
    """
    layout, ids = layout_of(place, format_of(place.path, format), "run", query_id, items), Ids(id_key, share=share)
    if layout.single:
        for query, retrieved in ranked(layout, place, ids).items():
            yield query, retrieved, None
        return
    for at, raw in enumerate(layout.rows.raw):
        with place:
            row = layout.rows.read(raw)
            query, error = new_query(row, layout, at, before), row.get("error")
            if isinstance(error, str) and error:
                found: tuple[list[Hashable], Exception | None] = [], RuntimeError(error)
            else:
                found = ids.retrieved(layout.parse(value(row, layout.items))), None
            yield query, *found


def read_texts(
    path: PathLike,
    format: str | None = None,  # noqa: A002 - the word of the command line
    *,
    on_error: str = "raise",
    ids: str | None = None,
    texts: str | None = None,
) -> ReadTexts:
    r"""Return the text of each id of a file: of documents, for `diagnose`, or of queries. Repeats that agree are one.

    Args:
        path: the file, or a BEIR folder; a file whose name ends in .gz is unpacked on the way.
        format: "jsonl", "json" (id -> text), "csv", "tsv", "parquet", "beir" or "llama_index". None: what the name ends
            in says.
        on_error: "raise" or "skip", as in `read_qrels`.
        ids: the field or column of the id. None: the first there is of "id", "_id" and "query_id".
        texts: the field or column of the text. None: "text". In a BEIR folder or a LlamaIndex file: "corpus", which
            None stands for, or "queries".

    Raises:
        OSError: the file cannot be opened.
        ValueError: a row is not what it must be: says where, what was found and what was expected.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     corpus = Path(folder, "corpus.csv")
    ...     _ = corpus.write_text('id,text\nd1,"Refunds take five days, at most."\n')
    ...     read_texts(corpus)
    {'d1': 'Refunds take five days, at most.'}
    """
    kind = format_of(Path(path), format)
    place = Place(_of_beir(path, f"{texts or 'corpus'}.jsonl") if kind == "beir" else path, on_error)
    if kind in ("trec", "ragas", "langsmith"):
        raise ValueError(f"{kind} files hold no texts by id")
    found, is_beir = ReadTexts(), kind == "beir"
    if kind == "llama_index":
        whole = json_of(place)
        part = whole.get(texts or "corpus") if isinstance(whole, dict) else None
        if not isinstance(part, dict):
            raise place.fault(f"expected an object with an object {texts or 'corpus'!r}")
        rows = named(part, place)
    else:
        rows = rows_of(place, "jsonl" if is_beir else kind)
    is_mapping = rows.columns == ("query_id", "items") and kind in ("json", "llama_index")
    for raw in rows.raw:
        with place:
            row = rows.read(raw)
            key = one_id(value(row, ids or _first_id, renamed=False))
            field = "items" if is_mapping else (None if is_beir else texts) or "text"
            text = value(row, field, renamed=False)
            if not isinstance(text, str):
                raise ValueError(f"expected a text, found {text!r:.60}")  # noqa: TRY004 - it is the file that is wrong
            title = row.get("title") if is_beir else None
            whole = f"{title} {text}" if title else text
            if found.setdefault(key, whole) != whole:
                raise ValueError(f"the id {key!r} has another {field!r} on an earlier row")
    found.skipped = place.skipped
    return found


def _of_beir(folder: PathLike, *parts: str) -> Path:
    """Return a file of a BEIR folder. Raises FileNotFoundError, which says how a folder is read."""
    path = Path(folder, *parts)
    if not path.exists():
        raise FileNotFoundError(ENOENT, f"no such file, and the folder {folder} is read as BEIR's", str(path))
    return path


def _first_id(row: Row) -> str:
    return next((name for name in ("id", "_id") if name in row), "query_id")
