"""Records as files have them, which a hand may have changed."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from operator import le
from typing import Any

from hitrate_adapters.core.records import QueryRecord


def record_of(found: Any) -> QueryRecord:
    """Return the record of a query.

    Raises TypeError or ValueError for what no judging leaves, KeyError for a field that it lacks.
    """
    if not isinstance(found, dict):
        raise TypeError(f"the record must be an object, found {found!r:.60}")
    record = QueryRecord._make(
        tuple(x) if isinstance(x, list) else x for x in map(found.__getitem__, QueryRecord._fields)
    )
    for name, is_right in _soundness(record):
        if not is_right:
            raise ValueError(f"{name} of the record cannot be {found[name]!r:.60}")
    return record


def _soundness(record: QueryRecord) -> Iterator[tuple[str, bool]]:
    """Give each field with whether it can be so; those first that others are measured by."""
    for name, least in (("n_relevant", 1), ("n_retrieved", 0)):
        count = getattr(record, name)
        yield name, type(count) is int and count >= least
    for name in ("hit_ranks", "found_ranks", "gain_ranks"):
        ranks = getattr(record, name)
        yield name, _are(ranks, int) and _ascend(ranks) and all(1 <= rank <= record.n_retrieved for rank in ranks)
    yield "hit_ranks", len(set(record.hit_ranks)) == len(record.hit_ranks)
    yield "found_ranks", len(record.found_ranks) <= record.n_relevant and {*record.hit_ranks} >= {*record.found_ranks}
    yield "found_ranks", record.found_ranks[:1] == record.hit_ranks[:1]
    for name in ("gains", "ideal"):
        grades = getattr(record, name)
        yield name, _are(grades, int, float) and all(0 < given < inf for given in grades)
    yield "gains", len(record.gains) == len(record.gain_ranks)
    yield "ideal", len(record.ideal) >= max(len(record.gains), record.n_relevant) and _ascend(record.ideal[::-1])


def _are(found: object, *kinds: type) -> bool:
    return isinstance(found, tuple) and {*kinds}.issuperset(map(type, found))


def _ascend(found: tuple[float, ...]) -> bool:
    return all(map(le, found, found[1:]))
