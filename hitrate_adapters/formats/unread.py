"""What of a file is in no golden set and no run."""

from __future__ import annotations

from collections.abc import Mapping

from .collecting import value
from .files import PathLike, Place
from .layouts import Layout, format_of, layout_of
from .rows import Row

_FORMAL = {"Q0", "iteration"}  # columns of TREC that say nothing


def unread(
    path: PathLike,
    format: str | None,  # noqa: A002 - the word of the command line
    side: str,
    *,
    query_id: str | None = None,
    items: str | None = None,
) -> list[str]:
    """Return the fields of a file that `read_qrels` or `read_run`, as `side` is "qrels" or "run", do not keep.

    A run's scores are among them: read, they have become an order. The arguments are those of the two.
    """
    place, found = Place(path, "skip"), dict[str, None]()
    layout = layout_of(place, format_of(place.path, format), side, query_id, items)
    for raw in layout.rows.raw:
        with place:
            row = layout.rows.read(raw)
            found.update(
                dict.fromkeys(name for name in row if name not in _FORMAL and name not in _kept(row, layout, side))
            )
            if side == "run" and not layout.single and isinstance(value(row, layout.items), Mapping):
                found["scores"] = None
    return list(found)


def _kept(row: Row, layout: Layout, side: str) -> set[str]:
    names = {field if isinstance(field, str) else field(row) for field in (layout.query_id, layout.items) if field}
    if side == "qrels":
        names.add(layout.order or "")
    else:
        names.add("rank" if layout.single else "error")
    return names | {name.partition(".")[0] for name in names}
