"""Write one kind of file each."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hitrate_adapters.core.items import ranked_items

from .files import replaced, written

Entry = tuple[str, list[Any] | dict[str, float]]
"""A query's id, and its items or item -> number."""


@dataclass(frozen=True, slots=True)
class Side:
    """A golden set or a run on its way into a file."""

    name: str
    items: str
    """The field of the items, where a row holds all of a query."""
    entries: Iterator[Entry]
    order: str | None
    """The column beside the item, where a row holds one: grade, rank or score."""
    errors: dict[str, str] = field(default_factory=dict)


def dumped(found: Any) -> str:
    """Return JSON, in one line."""
    return json.dumps(found, ensure_ascii=False)


def _json_lines(side: Side, path: Path) -> None:
    with written(path) as file:
        for query, items in side.entries:
            row = {"query_id": query, side.items: items}
            if query in side.errors:
                row["error"] = side.errors[query]
            file.write(f"{dumped(row)}\n")


def _json(side: Side, path: Path) -> None:
    with written(path) as file:
        entries = ",\n".join(f"{dumped(query)}: {dumped(items)}" for query, items in side.entries)
        file.write(f"{{\n{entries}\n}}\n")


def _table(side: Side, path: Path, delimiter: str) -> None:
    header = _header(side)
    _rows(path, delimiter, header, (cells[: len(header)] for cells in _cells(side)))


def _header(side: Side) -> tuple[str, ...]:
    return ("query_id", "item", side.order) if side.order else ("query_id", "item")


def _rows(path: Path, delimiter: str, header: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> None:
    with written(path) as file:
        table = csv.writer(file, delimiter=delimiter)
        table.writerow(header)
        table.writerows(rows)


def _cells(side: Side) -> Iterator[tuple[str, str, float]]:
    """Give query id, item, and grade, rank or score of each item."""
    for query, items in side.entries:
        for item, value in _singles(side, query, items):
            yield query, item, value


def _singles(side: Side, query: str, items: list[Any] | dict[str, float]) -> Iterator[tuple[str, float]]:
    """Give each item of a query with its grade, rank or score. Raises ValueError for what no table of items holds."""
    if side.order == "rank":
        pairs: Any = ((item, rank) for rank, item in enumerate(ranked_items(items), 1))
    else:
        pairs = items.items() if isinstance(items, dict) else dict.fromkeys(map(_hashable, items), 1).items()
    for item, value in pairs:
        if not isinstance(item, str) or not item:
            raise ValueError(f"query {query!r}: the item {item!r} has no place in a table of items: write JSON lines")
        yield item, value


def _hashable(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item


def _parquet(side: Side, path: Path) -> None:
    from .parquet import write  # pyarrow is an extra

    columns = list(zip(*_cells(side), strict=True)) or [(), (), ()]
    with replaced(path) as part:
        write(part, {name: list(cells) for name, cells in zip(_header(side), columns, strict=False)})


def _trec(side: Side, path: Path) -> None:
    with written(path) as file:
        for query, items in side.entries:
            for columns in _columns(side, query, items):
                _refuse_space(query, columns)
                file.write(f"{' '.join(columns)}\n")


def _columns(side: Side, query: str, items: list[Any] | dict[str, float]) -> Iterator[tuple[str, ...]]:
    singles = list(_singles(side, query, items))
    if side.name == "qrels":
        yield from ((query, "0", item, _whole(query, value)) for item, value in singles)
        return
    if len({item for item, _ in singles}) < len(singles):
        raise ValueError(f"query {query!r}: a TREC run holds each item once, and here one is retrieved twice")
    if side.order == "score":
        singles.sort(key=lambda pair: (pair[1], pair[0]), reverse=True)
    for rank, (item, value) in enumerate(singles, 1):
        score = value if side.order == "score" else len(singles) + 1 - rank
        yield query, "Q0", item, str(rank), repr(score), "hitrate_adapters"


def _beir(side: Side, path: Path) -> None:
    cells = ((query, item, _whole(query, value)) for query, item, value in _cells(side))
    _rows(path, "\t", ("query-id", "corpus-id", "score"), cells)


def _whole(query: str, value: float) -> str:
    if value != int(value):
        raise ValueError(f"query {query!r}: the grades of this format are whole numbers, found {value!r}")
    return str(int(value))


def _refuse_space(query: str, columns: tuple[str, ...]) -> None:
    for column in columns:
        if column.encode().split() != [column.encode()] or column.startswith("\ufeff"):
            raise ValueError(f"query {query!r}: an id in a TREC file has no white space, as {column!r:.60} has")


WRITERS: Mapping[str, Callable[[Side, Path], None]] = {
    "jsonl": _json_lines,
    "json": _json,
    "csv": lambda side, path: _table(side, path, ","),
    "tsv": lambda side, path: _table(side, path, "\t"),
    "parquet": _parquet,
    "trec": _trec,
    "beir": _beir,
}
