"""Write golden sets and runs to files that `read_qrels` and `read_run` give back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hitrate_adapters.core.items import Items, ranked_items, string_id

from .files import PathLike
from .ids import grade, number
from .layouts import format_of
from .writers import WRITERS, Entry, Side


def write_qrels(
    qrels: Mapping[Any, Items],
    path: PathLike,
    format: str | None = None,  # noqa: A002 - the word of the command line
) -> None:
    r"""Write a golden set, which `read_qrels` gives back with ids as strings; an older file stays until it is whole.

    Args:
        qrels: query id -> relevant items, or item -> grade.
        path: the file; one whose name ends in .gz is packed.
        format: "jsonl", "json", "csv", "tsv", "parquet", "trec" or "beir" (the file of one split). None: what the name
            ends in says. JSON lines hold everything; the tables hold no query without relevant items.

    Raises:
        OSError: the file cannot be written.
        TypeError, ValueError: this is no golden set, or one that the format cannot hold; says which query and why.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_qrels({"q1": {"d7": 1, "d2": 2}}, Path(folder, "gold.csv"))
    ...     print(Path(folder, "gold.csv").read_text())
    query_id,item,grade
    q1,d7,1
    q1,d2,2
    <BLANKLINE>
    """
    _check(qrels, "qrels")
    is_graded = any(isinstance(items, Mapping) for items in qrels.values())
    _write(Side("qrels", "relevant", _entries(qrels, _gold), "grade" if is_graded else None), path, format)


def write_run(
    run: Mapping[Any, Items],
    path: PathLike,
    format: str | None = None,  # noqa: A002 - the word of the command line
) -> None:
    r"""Write a run, which `read_run` gives back with ids as strings; an older file stays until it is whole.

    Args:
        run: query id -> retrieved items, best first, or item -> score, which the file then keeps. JSON lines also keep
            the `.errors` of a `Run`.
        path: the file; one whose name ends in .gz is packed.
        format: "jsonl", "json", "csv", "tsv", "parquet" or "trec". None: what the name ends in says. JSON lines hold
            everything; the tables hold no query for which nothing was retrieved.

    Raises:
        OSError: the file cannot be written.
        TypeError, ValueError: this is no run, or one that the format cannot hold; says which query and why.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_run({"q1": ["d2", "d7"]}, Path(folder, "bm25.trec"))
    ...     print(Path(folder, "bm25.trec").read_text())
    q1 Q0 d2 1 2 hitrate_adapters
    q1 Q0 d7 2 1 hitrate_adapters
    <BLANKLINE>
    """
    _check(run, "run")
    is_scored = bool(run) and all(isinstance(items, Mapping) for items in run.values())
    side = Side("run", "retrieved", _entries(run, _found), "score" if is_scored else "rank")
    side.errors.update({_id(query): told(error) for query, error in getattr(run, "errors", {}).items()})
    _write(side, path, format)


def _write(side: Side, path: PathLike, format: str | None) -> None:  # noqa: A002
    kind = format_of(Path(path), format)
    if kind not in WRITERS or (kind == "beir" and side.name == "run"):
        raise ValueError(f"{kind} is read, not written: write jsonl, json, csv, tsv, parquet or trec")
    WRITERS[kind](side, Path(path))


def _check(given: object, name: str) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a mapping of query id -> items, got {type(given).__name__}")


def _entries(given: Mapping[Any, Items], convert: Callable[[Any], list[Any] | dict[str, float]]) -> Iterator[Entry]:
    """Give the id and the items of each query. Raises TypeError or ValueError, which names the query."""
    for query_id, items in given.items():
        try:
            query = _id(query_id)
            if query is not query_id and query in given:
                raise ValueError("in a file it would have the id of another one")
            if not query:
                raise ValueError("its id is empty")
            found = convert(items)
        except (TypeError, ValueError) as error:
            raise type(error)(f"query {query_id!r}: {error}") from None
        yield query, found


def _gold(items: Any) -> list[Any] | dict[str, float]:
    if isinstance(items, Mapping):
        return _numbered(items, grade, "grade")
    if isinstance(items, (str, bytes)):
        raise TypeError(f"relevant items are the string {items!r:.60}: pass a list")
    found = list(map(_item, items))
    return sorted(found, key=str) if isinstance(items, (set, frozenset)) else found  # the same file every time


def _found(items: Any) -> list[Any] | dict[str, float]:
    if isinstance(items, Mapping):
        return _numbered(items, number, "score")
    return [None if item is None else _item(item) for item in ranked_items(items)]


def _numbered(items: Mapping[Any, Any], read: Callable[[Any, str], float], what: str) -> dict[str, float]:
    found = {_id(item): read(value, f"the {what} of {item!r}") for item, value in items.items()}
    if len(found) < len(items):
        raise ValueError("in a file two of its items would have the same id")
    return found


def _id(item: Any) -> str:
    found = string_id(item)
    if found is None:
        raise TypeError(
            f"{item!r:.80} ({type(item).__name__}) has no place in a file: ids are strings or whole numbers"
        )
    return found


def _item(item: Any) -> Any:
    """Return an id or a text as a string, a span as [document, start, end]."""
    is_span = isinstance(item, tuple) and len(item) == 3 and {int}.issuperset(map(type, item[1:]))
    return [_id(item[0]), *item[1:]] if is_span else _id(item)


def told(error: Exception) -> str:
    """Return an error as a file has it: "TimeoutError: ...", which is read as a RuntimeError that says so."""
    return str(error) if type(error) is RuntimeError else f"{type(error).__name__}: {error}"
