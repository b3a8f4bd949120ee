"""The table in the summary, and the rows that it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypedDict

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
    unchanged: bool
    """Whether no query differs from the baseline, by any of these metrics."""
    baseline: str
    """What became of its baseline, where that is to be said: "missing" or "written"."""
    notes: list[str]
    comparisons: list[tuple[str, str]]
    """The verdict and the line of each comparison with the baseline that the test made."""


def full_title(test: str, label: str) -> str:
    """Return the title of an evaluation that no other has."""
    return f"{test} {label}".rstrip()


def table(rows: Mapping[str, Row], width: int) -> list[str]:
    """Return the lines of a table of title -> row, in the first of these forms that fits the width.

    Intervals beside the values; intervals below them; and each title on a line of its own, in as many blocks of metrics
    as it takes.
    """
    names = list(next(iter(rows.values()))["scores"])
    grid = [_Line("", "n", [(name, "") for name in names])]
    for title, row in rows.items():
        grid.append(_Line(title, str(row["n"]), [_cell(row["scores"][name], ".3f") for name in names]))
        if row["unchanged"]:
            grid.append(_Line("  unchanged", "", [("", "") for _ in names]))
        elif row["differences"]:
            grid.append(_Line("  against baseline", "", [_cell(row["differences"][name], "+.3f") for name in names]))
    beside = columns([[title, n, *(" ".join(filter(None, cell)) for cell in cells)] for title, n, cells in grid])
    for lines in (beside, [line for pair in _below(grid) for line in pair]):
        if max(map(len, shown := _shown(lines))) <= width:
            return shown
    margin = 2 + max(len(line.n) for line in grid)
    column = 2 + max(len(text) for line in grid for cell in line.cells for text in cell)
    fitting, _ = divmod(width - margin, column)
    blocks = []
    for start in range(0, len(names), at_once := max(1, fitting)):
        pairs = _below([_Line("", n, cells[start : start + at_once]) for _, n, cells in grid])
        block = [text for line, pair in zip(grid, pairs, strict=True) for text in (line.title, *pair)]
        blocks += [*([""] if start else []), *_shown(block)]
    return blocks


class _Line(NamedTuple):
    title: str
    n: str
    cells: list[tuple[str, str]]
    """Values and intervals, in words."""


def _cell(bounded: Bounded, form: str) -> tuple[str, str]:
    value, interval = bounded
    return format(value, form), "" if interval is None else "[{:.3f}, {:.3f}]".format(*interval)


def _below(grid: Sequence[_Line]) -> list[tuple[str, str]]:
    """Return for each line of the table that with the values and that with the intervals."""
    values = [[title, n, *(value for value, _ in cells)] for title, n, cells in grid]
    intervals = [["", "", *(interval for _, interval in cells)] for _, _, cells in grid]
    lines = columns([*values, *intervals])
    return list(zip(lines[: len(grid)], lines[len(grid) :], strict=True))


def _shown(lines: Iterable[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]
