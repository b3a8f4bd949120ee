"""The table in the summary, and the rows that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from hitrate_adapters.core.display import columns

Bounded = tuple[float, tuple[float, float] | None]
"""A value and its interval."""


class Row(TypedDict):
    """What the summary shows of one evaluation, as plain data, which xdist sends from its workers."""

    test: str
    """The id of the test."""
    label: str
    """Which of the test's evaluations: its name, or "" for the first without a name, "2" for the second, ..."""
    title: str
    n: int
    scores: dict[str, Bounded]
    differences: dict[str, Bounded]
    """To the baseline; empty where there is none."""
    baseline: str
    """What became of its baseline, where that is to be said: "missing" or "written"."""
    notes: list[str]
    comparisons: list[tuple[str, bool]]
    """Each comparison with the baseline that the test made, and whether it is worse."""


def full_title(test: str, label: str) -> str:
    """Return the title of an evaluation that no other has."""
    return f"{test} {label}".rstrip()


def table(rows: Mapping[str, Row], width: int) -> list[str]:
    """Return the lines of a table of title -> row, with intervals beside the values if that fits, else below them."""
    names = list(next(iter(rows.values()))["scores"])
    grid = [("", "n", [(name, "") for name in names])]
    for title, row in rows.items():
        grid.append((title, str(row["n"]), [_cell(row["scores"][name], ".3f") for name in names]))
        if row["differences"]:
            grid.append(("  against baseline", "", [_cell(row["differences"][name], "+.3f") for name in names]))
    beside = columns([[title, n, *(" ".join(cell).rstrip() for cell in cells)] for title, n, cells in grid])
    if max(map(len, beside)) <= width:
        return beside
    below = []
    for title, n, cells in grid:
        values, intervals = zip(*cells, strict=True)
        below += [[title, n, *values], ["", "", *intervals]]
    return columns([row for row in below if any(row)])


def _cell(bounded: Bounded, form: str) -> tuple[str, str]:
    value, interval = bounded
    return format(value, form), "" if interval is None else "[{:.3f}, {:.3f}]".format(*interval)
