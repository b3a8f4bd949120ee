"""An evaluation as a table, for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import islice

from .metrics import METRICS, Cutoffs, metrics_at

__all__ = ["html", "text"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .evaluation import Evaluation


def text(evaluation: Evaluation, k: Cutoffs) -> str:
    """Return the table in columns for a terminal."""
    grid = _grid(evaluation, k)
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in grid]
    return "\n".join([*lines, *_notes(evaluation)])


def html(evaluation: Evaluation, k: Cutoffs) -> str:
    """Return the table as HTML for a notebook."""
    from html import escape  # a tenth of the package's import time

    head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in _grid(evaluation, k))
    rows = "".join(f"<tr>{row}</tr>" for row in body)
    notes = "<br>".join(escape(note) for note in _notes(evaluation))
    return f"<table><thead><tr>{head.replace('td>', 'th>')}</tr></thead><tbody>{rows}</tbody></table><p>{notes}</p>"


def _grid(evaluation: Evaluation, k: Cutoffs) -> list[list[str]]:
    """Return a header, a row per metric, and the hit rates' intervals below their row."""
    grid: list[list[str]] = []
    for name in METRICS:
        scores = [evaluation.score(metric) for metric in metrics_at(name, k)]
        if not grid:
            grid.append(["", *("all" if score.metric.k is None else f"@{score.metric.k}" for score in scores)])
        grid.append([name, *(f"{score:.3f}" for score in scores)])
        intervals = [score.interval for score in scores]
        if all(intervals):
            grid.append(
                ["  95 % interval", *("[{:.3f}, {:.3f}]".format(*interval) for interval in intervals if interval)]
            )
    return grid


def _notes(evaluation: Evaluation) -> list[str]:
    notes = [f"{len(evaluation)} {'query' if len(evaluation) == 1 else 'queries'} scored"]
    for ids, what in (
        (evaluation.unscored, "without relevant items, in no mean"),
        (evaluation.missing, "not in the run, a miss each"),
        (evaluation.errors, "whose retrieval failed, a miss each"),
    ):
        if ids:
            notes.append(f"{len(ids)} {what}: {_some(ids)}")
    return notes


def _some(ids: Iterable[Hashable]) -> str:
    names = [" ".join(str(query_id).split()) for query_id in islice(ids, 6)]
    first = [name if len(name) <= 60 else name[:57] + "..." for name in names]
    return ", ".join(first[:5]) + (", ..." if len(first) > 5 else "")
