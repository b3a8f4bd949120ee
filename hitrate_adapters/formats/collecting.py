"""Collect the items of each query from the rows of a file."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from typing import Any

from hitrate_adapters.core.items import ranked_items

from .files import Place
from .ids import Ids, grade, number, one_id
from .layouts import Field, Layout, advice
from .rows import Row


def value(row: Row, field: Field, *, renamed: bool = True) -> Any:
    """Return a field of a row; a dot in its name reaches into an object, unless the row has it with the dot.

    Raises ValueError where the row lacks it, with how to name another one unless `renamed` is false.
    """
    name = field if isinstance(field, str) else field(row)
    found: Any = row
    for part in (name,) if name in row else name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            has = ", ".join(map(repr, row)) or "nothing"
            raise ValueError(f"expected {name!r}, the row has {has}{advice(row, name) if renamed else ''}")
        found = found[part]
    return found


def _query_of(row: Row, layout: Layout, at: int) -> str:
    if layout.query_id is None:
        return str(at)
    query = value(row, layout.query_id)
    if query in (None, ""):
        raise ValueError(f"there is no query id, found {query!r}")
    return one_id(query)


def new_query(row: Row, layout: Layout, at: int, before: Container[Hashable]) -> str:
    """Return the id of the query of a row. Raises ValueError where there is none, or where it was before."""
    query = _query_of(row, layout, at)
    if query in before:
        raise ValueError(f"query {query!r} is on an earlier row too")
    return query


def graded(layout: Layout, place: Place, ids: Ids) -> dict[str, Any]:
    """Return the golden set of a table of single items; an item that is there twice counts once."""
    qrels: dict[str, dict[Hashable, float]] = {}
    for at, raw in enumerate(layout.rows.raw):
        with place:
            row = layout.rows.read(raw)
            query, item = _query_of(row, layout, at), _item_of(row, layout, ids)
            given = grade(row[layout.order], f"the {layout.order}") if layout.order else 1
            if qrels.setdefault(query, {}).setdefault(item, given) != given:
                raise ValueError(f"item {item!r} of query {query!r} has another {layout.order} on an earlier row")
    return qrels if layout.order else {query: list(grades) for query, grades in qrels.items()}


def ranked(layout: Layout, place: Place, ids: Ids) -> dict[str, list[Hashable]]:
    """Return the run of a table of single items, by rank or by score."""
    by_rank = layout.order == "rank"
    found: dict[str, dict[Any, Any]] = {}
    for at, raw in enumerate(layout.rows.raw):
        with place:
            row = layout.rows.read(raw)
            query, item = _query_of(row, layout, at), _item_of(row, layout, ids)
            place_of = number(row[layout.order], f"the {layout.order}")  # type: ignore[index]  # a run has one
            key, value = (place_of, item) if by_rank else (item, place_of)
            known = found.setdefault(query, {})
            if key in known:
                what = f"rank {key!r}" if by_rank else f"item {key!r}"
                raise ValueError(f"{what} of query {query!r} is on an earlier row too")
            known[key] = value
    if by_rank:
        return {query: [ranks[rank] for rank in sorted(ranks)] for query, ranks in found.items()}
    return {query: ranked_items(scores) for query, scores in found.items()}


def _item_of(row: Row, layout: Layout, ids: Ids) -> Hashable:
    item = value(row, layout.items)
    if item in (None, ""):
        raise ValueError(f"there is no item, found {item!r}")
    return ids.item(item)
