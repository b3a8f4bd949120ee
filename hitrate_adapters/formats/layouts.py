"""Which fields of a file hold what: for each format, a golden set's and a run's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import Place
from .rows import Row, Rows, json_of, listed, named, rows_of, trec_rows

ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".trec": "trec",
    ".qrels": "trec",
    ".run": "trec",
}
"""The end of a file's name, before .gz -> its format."""

FORMATS = (*dict.fromkeys(ENDINGS.values()), "beir", "llama_index", "ragas", "langsmith")

Field = str | Callable[[Row], str]
"""The name of a field, or what tells it from a row."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of a file, and which of their fields hold what."""

    rows: Rows
    query_id: Field | None
    """The id of the query; None: the number of the row, from 0."""
    items: Field
    """All items of a query, or, in a table of single items, the item."""
    single: bool = False
    """Whether each row holds a single item."""
    order: str | None = None
    """In a table of single items, the grade, the rank or the score; None: there are no grades."""
    parse: Callable[[Any], Any] = lambda value: value
    """Makes items of what the field has."""


def format_of(path: Path, given: str | None) -> str:
    """Return the format that was given, or that the end of the file's name stands for. Raises ValueError."""
    if given is not None:
        if given not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {given!r}")
        return given
    found = "beir" if path.is_dir() else ENDINGS.get(_ending(path))
    if found is None:
        raise ValueError(
            f"{path}: the end of its name stands for no format (these do: {', '.join(ENDINGS)}): "
            f"pass format=, one of {', '.join(FORMATS)}"
        )
    return found


def layout_of(place: Place, kind: str, side: str, query_id: str | None, items: str | None) -> Layout:
    """Return the layout of a file that holds "qrels" or a "run". Raises ValueError where the format holds none."""
    make = _LAYOUTS.get(kind)
    if make is not None:
        return make(place, side, query_id, items)
    rows = rows_of(place, kind)
    if kind == "json" and rows.columns is not None:
        return Layout(rows, "query_id", "items")
    return _plain(place, rows, side, query_id or "query_id", items)


def table_of(place: Place, kind: str) -> Rows:
    """Return the rows of a framework's file, which is a table in the format that the end of its name says."""
    ending = ENDINGS.get(_ending(place.path))
    if ending is None or ending == "trec":
        raise ValueError(f"{place.path}: {kind} files end in .jsonl, .json, .csv, .tsv or .parquet")
    return rows_of(place, ending)


def _ending(path: Path) -> str:
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def _plain(place: Place, rows: Rows, side: str, query_id: str, items: str | None) -> Layout:
    """Return the layout of JSON lines, or of a table: of lists where its column holds lists, else of single items."""
    whole = items or {"qrels": "relevant", "run": "retrieved"}[side]
    if rows.columns is None or whole in rows.lists:
        _need(place, rows, query_id, whole)
        return Layout(rows, query_id, whole)
    _need(place, rows, query_id, items or "item")
    numbers = ("grade",) if side == "qrels" else ("rank", "score")
    order = next((name for name in numbers if name in rows.columns), None)
    if order is None and side == "run":
        raise place.fault(f"expected a column rank or score beside the items; it has {', '.join(rows.columns)}")
    return Layout(rows, query_id, items or "item", single=True, order=order)


def advice(names: Iterable[str], *lacking: str) -> str:
    """Return what to do where rows with fields of these names lack others."""
    if {"hitrate_adapters", "saved", "version"}.issubset(names):
        return " (this is a saved evaluation, with a golden set and a run of its own)"
    if not _RAGAS.isdisjoint(names) and not _PLAIN.isdisjoint(lacking):
        return " (these look like RAGAS' rows: pass format='ragas')"
    return " (query_id= and items= name other fields)"


_PLAIN = {"query_id", "item", "relevant", "retrieved"}
_RAGAS = {f"{side}_context{kind}" for side in ("reference", "retrieved") for kind in ("s", "_ids")}


def _need(place: Place, rows: Rows, query_id: str, items: str, *, renamed: bool = True) -> None:
    columns = rows.columns or ()
    lacking = [name for name in (query_id, items) if columns and name not in columns]
    if not lacking:
        return
    told = (
        f"expected the column{'s' * (len(lacking) > 1)} {' and '.join(lacking)}; it has {', '.join(map(repr, columns))}"
    )
    other = next((each for each in ",;\t|" if len(columns) == 1 and each in columns[0]), None)
    if other is not None:
        raise place.fault(f"{told}: is {other!r} between the columns? .csv has commas, .tsv tabs")
    raise place.fault(f"{told}{advice(columns, *lacking) if renamed else ''}")


def _trec(place: Place, side: str, query_id: str | None, items: str | None) -> Layout:
    _refuse(query_id, items)
    rows = trec_rows(place, side)
    return Layout(rows, "query_id", "item", single=True, order="grade" if side == "qrels" else "score")


def _beir(place: Place, side: str, query_id: str | None, items: str | None) -> Layout:
    _refuse(query_id, items)
    if side == "run":
        raise ValueError("BEIR has no format of runs of its own: its runs are TREC's or JSON, such as format='trec'")
    rows = rows_of(place, "tsv")
    _need(place, rows, "query-id", "corpus-id", renamed=False)
    return Layout(rows, "query-id", "corpus-id", single=True, order="score")


def _llama_index(place: Place, side: str, query_id: str | None, items: str | None) -> Layout:
    _refuse(query_id, items)
    if side == "run":
        raise ValueError("LlamaIndex's EmbeddingQAFinetuneDataset is a golden set: it holds no run")
    found = json_of(place)
    if not isinstance(found, dict) or not isinstance(found.get("relevant_docs"), dict):
        raise place.fault("expected an object with queries, corpus and relevant_docs")
    asked: dict[str, Any] = {query_id: [] for query_id in found.get("queries") or ()}
    return Layout(named({**asked, **found["relevant_docs"]}, place), "query_id", "items")


def _refuse(query_id: str | None, items: str | None) -> None:
    if query_id is not None or items is not None:
        raise ValueError("the fields of this format have fixed names: leave out query_id= and items=")


def _ragas(place: Place, side: str, query_id: str | None, items: str | None) -> Layout:
    own, other = ("reference", "retrieved") if side == "qrels" else ("retrieved", "reference")

    def column(row: Row) -> str:
        """Return the ids' column, unless the other side has texts alone: ids and texts are never compared."""
        there = {name for name, value in row.items() if value not in (None, "")}
        on_ids = f"{own}_context_ids" in there and (f"{other}_context_ids" in there or f"{other}_contexts" not in there)
        return f"{own}_context_ids" if on_ids else f"{own}_contexts"

    return Layout(table_of(place, "RAGAS"), query_id, items or column, parse=listed)


def _langsmith(place: Place, side: str, query_id: str | None, items: str | None) -> Layout:
    if items is None:
        example = "reference.ids" if side == "qrels" else "outputs.ids"
        raise ValueError(f'LangSmith files need items=, the field that holds the items, such as items="{example}"')
    return Layout(
        table_of(place, "LangSmith"),
        query_id or (lambda row: "example_id" if "example_id" in row else "id"),
        items,
        parse=listed,
    )


_LAYOUTS: dict[str, Callable[[Place, str, str | None, str | None], Layout]] = {
    "trec": _trec,
    "beir": _beir,
    "llama_index": _llama_index,
    "ragas": _ragas,
    "langsmith": _langsmith,
}
