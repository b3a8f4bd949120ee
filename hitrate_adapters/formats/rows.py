"""Files as rows: each kind of file gives mappings of field -> value, one row at a time, and says where each was."""

from __future__ import annotations

import ast
import csv
import io
import json
import sys
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .files import Place, decoded, lines, opened

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file, each still as the file has it, and what makes a mapping of one."""

    raw: Iterator[Any]
    """The rows; while they are read, `place.at` is where each was."""
    read: Callable[[Any], Row]
    """Makes a mapping of a row; raises ValueError for one that is wrong."""
    columns: tuple[str, ...] | None = None
    """The fields that every row has, for files that have a header."""
    lists: frozenset[str] = frozenset()
    """Those of the columns that hold lists."""


def rows_of(place: Place, ending: str) -> Rows:
    """Return the rows of JSON lines, JSON (a list of objects, or id -> items), CSV, TSV or Parquet."""
    return _KINDS[ending](place)


def _json_lines(place: Place) -> Rows:
    return Rows((line for line in lines(place) if not line.isspace()), json_object)


def json_of(place: Place) -> Any:
    """Return what a JSON file holds. Raises ValueError for what is none, and for a name that an object has twice."""
    with opened(place.path) as file:
        text = file.read()
    try:
        return _json(text.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise place.fault(error) from None


def _json_file(place: Place) -> Rows:
    found = json_of(place)
    if isinstance(found, list):
        place.unit = "entry"
        return Rows(_counted(found, place), _object)
    if not isinstance(found, dict):
        raise place.fault(f"expected an object of query id -> items, or a list of objects; found {found!r:.60}")
    return named(found, place)


def named(items: Mapping[str, Any], place: Place) -> Rows:
    """Return id -> items as rows with the fields `query_id` and `items`."""
    place.unit = "entry"

    def each() -> Iterator[Row]:
        for place.at, found in items.items():
            yield {"query_id": place.at, "items": found}

    return Rows(each(), lambda row: row, columns=("query_id", "items"))


def _counted(found: list[Any], place: Place) -> Iterator[Any]:
    for place.at, row in enumerate(found, 1):
        yield row


def json_object(text: bytes) -> dict[str, Any]:
    """Return the object of a line of JSON. Raises ValueError for anything else, and for a name that is there twice."""
    return _object(_json(text))


def _json(text: bytes) -> Any:
    try:
        return _DECODER.decode(decoded(text))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if b"\n" in text.rstrip() else f"column {error.colno}"
        raise ValueError(f"this is no JSON: {error.msg} at {where}, in {_shown(text)}") from None
    except RecursionError:
        raise ValueError("this is JSON too deep to be read") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise ValueError for a name that it has twice, of which one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"expected an object, found {found!r:.60}")  # noqa: TRY004 - it is the file that is wrong
    return found


def _shown(text: bytes) -> str:
    return repr(text[:60].decode("utf-8", "replace").rstrip())


def _table(place: Place, delimiter: str) -> Rows:
    """Return the rows of a table with a header, in CSV as RFC 4180 has it, or with tabs for commas."""
    cells = _cells(place, delimiter)
    header = next(cells, None)
    if header is None:
        raise place.fault("this is empty: expected a header, then a row a line")
    columns = [name.strip() for name in header]
    if len(set(columns)) < len(columns):
        raise place.fault(f"the header has a column twice: {_listed(columns)}")

    def read(row: list[str]) -> Row:
        if len(row) != len(columns):
            raise ValueError(f"expected {len(columns)} cells, as the header has, found {len(row)}: {_listed(row)}")
        if any(not cell.isascii() for cell in row):
            for cell in row:
                decoded(cell.encode("utf-8", "surrogateescape"))
        return dict(zip(columns, row, strict=True))

    return Rows(cells, read, columns=tuple(columns))


def _cells(place: Place, delimiter: str) -> Iterator[list[str]]:
    raw = (line.decode("utf-8", "surrogateescape") for line in lines(place))
    reader = csv.reader(raw, delimiter=delimiter, strict=True)  # strict: a quote that is never closed is an error
    before = csv.field_size_limit(sys.maxsize)  # the context of a RAG row is larger than the 128 KiB of a cell
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        raise place.fault(f"line {reader.line_num}: {error} (is a quote never closed?)") from None
    finally:
        csv.field_size_limit(before)


def _listed(names: list[str]) -> str:
    return ", ".join(f"{name!r:.40}" for name in names)


def _parquet(place: Place) -> Rows:
    from .parquet import batches  # pyarrow is an extra

    place.unit = "row"
    columns, lists, found = batches(place.path)

    def each() -> Iterator[Row]:
        for place.at, row in enumerate((row for batch in found for row in batch), 1):
            yield row

    return Rows(each(), lambda row: row, columns, lists)


_TREC = {
    "qrels": ("query_id", "iteration", "item", "grade"),
    "run": ("query_id", "Q0", "item", "rank", "score", "run_id"),
}


def trec_rows(place: Place, side: str) -> Rows:
    """Return the lines of TREC's qrels or run, whose columns are set apart by ASCII white space."""
    columns = _TREC[side]

    def read(line: bytes) -> Row:
        found = line.split()
        if len(found) < len(columns) or (side == "qrels" and len(found) > len(columns)):
            raise ValueError(
                f"expected {len(columns)} columns ({' '.join(columns)}), found {len(found)}: {_shown(line)}"
            )
        return dict(zip(columns, map(decoded, found), strict=False))  # a run's id may have spaces

    return Rows((line for line in lines(place) if not line.isspace()), read)


def listed(value: Any) -> Any:
    """Return the list that a cell of a table holds as text, in JSON or as Python shows it; anything else as it is.

    Nothing is evaluated. Raises ValueError for a text that is no list, and for an array as NumPy shows it, whose items
    have no commas between them: Python would read them as one.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    try:
        found = ast.literal_eval(value.strip())
        tokens = [token.type for token in tokenize.generate_tokens(io.StringIO(value).readline)]
    except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
        raise ValueError(f"expected a list, as JSON or Python write it, found {value!r:.60}") from None
    solid = [kind for kind in tokens if kind not in (tokenize.NL, tokenize.COMMENT)]
    if (tokenize.STRING, tokenize.STRING) in pairwise(solid):
        raise ValueError(f"expected a list with commas, found {value!r:.60}: turn the array into a list before saving")
    return found


_KINDS: Mapping[str, Callable[[Place], Rows]] = {
    "jsonl": _json_lines,
    "json": _json_file,
    "csv": lambda place: _table(place, ","),
    "tsv": lambda place: _table(place, "\t"),
    "parquet": _parquet,
}
