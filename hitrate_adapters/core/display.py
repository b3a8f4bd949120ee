"""An evaluation as a table, for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

from .metrics import METRICS, Cutoffs, metrics_at

__all__ = ["asides", "columns", "html", "one_of", "remarks", "some", "text"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .evaluation import Evaluation


def text(evaluation: Evaluation, k: Cutoffs) -> str:
    """Return the table in columns for a terminal."""
    return "\n".join([*columns(_grid(evaluation, k)), *remarks(evaluation)])


def columns(grid: Sequence[Sequence[str]]) -> list[str]:
    """Return a line per row, the first column flush left and the others flush right.

    >>> columns([["", "n"], ["misses", "12"]])
    ['         n', 'misses  12']
    """
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in grid]


def html(evaluation: Evaluation, k: Cutoffs) -> str:
    """Return the table as HTML for a notebook."""
    from html import escape  # a tenth of the package's import time

    head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in _grid(evaluation, k))
    rows = "".join(f"<tr>{row}</tr>" for row in body)
    notes = "<br>".join(escape(note) for note in remarks(evaluation))
    return f"<table><thead><tr>{head.replace('td>', 'th>')}</tr></thead><tbody>{rows}</tbody></table><p>{notes}</p>"


def _grid(evaluation: Evaluation, k: Cutoffs) -> list[list[str]]:
    """Return a header, a row per metric, and the hit rates' intervals below their row."""
    grid: list[list[str]] = []
    cutoffs = [metric.k for metric in metrics_at("hit_rate", k)]
    for name in METRICS:
        scores = [evaluation.score(metric) for metric in metrics_at(name, cutoffs)]
        if not grid:
            grid.append(["", *("all" if score.metric.k is None else f"@{score.metric.k}" for score in scores)])
        grid.append([name, *(f"{score:.3f}" for score in scores)])
        if name == "hit_rate":
            within = ["[{:.3f}, {:.3f}]".format(*(score.interval or ())) for score in scores]
            grid.append(["  95 % interval", *within])
    return grid


def remarks(evaluation: Evaluation) -> list[str]:
    """Return how many queries were scored, then a line for each thing that a table must not hide."""
    scored = f"{len(evaluation):,} {'query' if len(evaluation) == 1 else 'queries'} scored"
    return [scored, *asides(evaluation), *(f"warning: {_line(message, 200)}" for message in evaluation.warnings)]


def asides(evaluation: Evaluation) -> list[str]:
    """Return a line for each kind of queries that are in no mean, or that are misses without anything retrieved."""
    notes = []
    unscored, faults = evaluation.unscored, evaluation.faults
    unjudged = [query_id for query_id in unscored if query_id not in evaluation.qrels]
    left_out, missed = ("left out of every mean", "left out of every mean"), ("counted as a miss", "counted as misses")
    for ids, which, (one, many) in (
        ([query_id for query_id in unscored if query_id in evaluation.qrels], "without relevant items", left_out),
        ([query_id for query_id in unjudged if query_id not in faults], "without judgements", left_out),
        ([query_id for query_id in unjudged if query_id in faults], "that could not be read or judged", left_out),
        (evaluation.missing, "not in the run", missed),
        (evaluation.errors, "whose retrieval failed", missed),
    ):
        if ids:
            queries, means = ("query", one) if len(ids) == 1 else ("queries", many)
            notes.append(f"{len(ids):,} {queries} {which}, {means}: {some(ids)}")
    return notes


def one_of(items: Iterable[Hashable]) -> str:
    """Return the first, with its type, for messages about two sides that do not fit."""
    for item in items:
        return f"{item!r:.60} ({type(item).__name__})"
    return "nothing"


def some(ids: Iterable[Hashable]) -> str:
    """Return the first five, with dots where there are more."""
    first = [_line(str(query_id), 60) for query_id in islice(ids, 6)]
    return ", ".join(first[:5]) + (", ..." if len(first) > 5 else "")


def _line(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 3] + "..."
