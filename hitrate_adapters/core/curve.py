"""A metric at every k, beside the context that each k costs; and rankings cut to an equal budget of context."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from math import fsum, inf, isclose
from typing import TYPE_CHECKING, Any, NamedTuple

from .display import columns
from .items import text_of
from .matching import check_number, compares_of
from .metrics import Metric, cutoff
from .records import Records
from .retrieval import Run
from .scores import Score

if TYPE_CHECKING:
    from .evaluation import Evaluation

Texts = Mapping[Any, str] | None
"""Retrieved item -> its text, or of spans document -> text; None where the items are texts."""

Size = Callable[[str], float]
"""Text -> how much context it takes: characters (`len`), or tokens by your model's own tokeniser."""


class Point(NamedTuple):
    """One k of a curve."""

    k: int
    """How many slots the model is given."""
    score: Score
    """The metric at k."""
    gain: float
    """How much the last slot added to it."""
    context: float | None
    """The mean size of the k slots' texts; None where the texts are not known."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric at every k; printed, a table. Made by `evaluation.curve`."""

    points: tuple[Point, ...]
    """One per k, from 1."""

    def smallest_k(self, tolerance: float = 0.01) -> int:
        """Return the smallest k whose score is within the tolerance of the highest, 0 <= tolerance < 1.

        The highest of what was retrieved: where the last slots still add (see their `gain`), there was more to find.
        """
        check_number("tolerance", tolerance, up_to=1)
        if not 0 <= tolerance < 1:
            raise ValueError(f"tolerance must be at least 0 and below 1, got {tolerance!r}")
        plateau = max(point.score for point in self.points)
        return next(
            point.k
            for point in self.points
            if plateau - point.score <= tolerance or isclose(plateau - point.score, tolerance)
        )

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per k, for `pandas.DataFrame(...)`: k, the score by its name, its gain and the context."""
        return [
            {"k": k, str(replace(score.metric, k=None)): score, "gain": gain, "context": context}
            for k, score, gain, context in self.points
        ]

    def __str__(self) -> str:
        """Return the table, scores with their 95 % interval."""
        is_known = self.points[0].context is not None
        grid = [["k", str(replace(self.points[0].score.metric, k=None)), "gain", *(["context"] if is_known else [])]]
        for k, score, gain, context in self.points:
            within = "" if score.interval is None else " [{:.3f}, {:.3f}]".format(*score.interval)
            size = [] if context is None else [f"{context:,.0f}"]
            grid.append([str(k), f"{score:.3f}{within}", f"{gain:+.3f}", *size])
        notes = [f"within 0.01 of the highest from k = {self.smallest_k()}"]
        if len(self.points) > 1 and self.points[-1].gain > 0:
            notes.append(f"the last slot still adds {self.points[-1].gain:.3f}: there is more to find below it")
        return "\n".join([*columns(grid), *notes])


def curve(evaluation: Evaluation, metric: str | Metric, up_to: int | None, texts: Texts, size: Size) -> Curve:
    """Return a metric at every k; see `Evaluation.curve`."""
    metric = Metric.parse(metric)
    if metric.k is not None:
        raise ValueError(f"a curve is over every k, and {str(metric)!r} has one: leave it out, and see up_to=")
    deepest = cutoff(up_to) or max(1, *(record.n_retrieved for record in evaluation.records.tally[0]))
    contexts = None
    if texts is not None or compares_of(evaluation.judge.match) == "texts":
        contexts = list(_contexts(evaluation, texts, size).values())
    points: list[Point] = []
    for k in range(1, deepest + 1):
        score = evaluation.score(replace(metric, k=k))
        gain = score - (points[-1].score if points else 0)
        context = None if contexts is None else fsum(sums[min(k, len(sums) - 1)] for sums in contexts) / len(contexts)
        points.append(Point(k, score, gain, context))
    return Curve(tuple(points))


def within(evaluation: Evaluation, budget: float, texts: Texts, size: Size) -> Evaluation:
    """Return the evaluation of what fits a budget; see `Evaluation.within`."""
    check_number("budget", budget, above=0)
    if texts is None and (kind := compares_of(evaluation.judge.match)) != "texts":
        own = "; or, where your matcher compares texts, set its attribute compares to 'texts'" if kind is None else ""
        raise ValueError(f"a budget needs the texts of what was retrieved: texts= of item -> text{own}")
    contexts = _contexts(evaluation, texts, size)
    depths = {query_id: bisect_right(sums, budget) - 1 for query_id, sums in contexts.items()}
    fits = {query_id: _ranking(evaluation, query_id)[:depth] for query_id, depth in depths.items()}
    shown = {query_id: fits.get(query_id, items) for query_id, items in evaluation.run.items()}
    cut = replace(
        evaluation,
        records=Records.of({query_id: evaluation[query_id].cut(depth) for query_id, depth in depths.items()}),
        run=Run(shown, getattr(evaluation.run, "errors", {})),
        uncut=evaluation.uncut or evaluation,
    )
    vars(cut)["warnings"] = evaluation.warnings  # a budget in which nothing was found is no mistake in the ids
    return cut


def _ranking(evaluation: Evaluation, query_id: Hashable) -> list[Hashable]:
    return evaluation.judge.sides(evaluation.qrels[query_id], evaluation.run.get(query_id, ()))[1]


def _contexts(evaluation: Evaluation, texts: Texts, size: Size) -> dict[Hashable, list[float]]:
    """Return query id -> the size of the first 0, 1, 2, ... slots together; a slot of None takes none."""
    if texts is not None and not isinstance(texts, Mapping):
        raise TypeError(f"texts must be a mapping of item -> text, got {type(texts).__name__}")
    if not callable(size):
        raise TypeError(f"size must be a function of a text, such as len, got {size!r}")
    are_spans = compares_of(evaluation.judge.match) == "spans"
    sizes: dict[Hashable, float] = {None: 0}
    contexts = {}
    for query_id in evaluation:
        ranking = _ranking(evaluation, query_id)
        for item in ranking:
            if item not in sizes:
                sizes[item] = _size(item, query_id, texts, size, are_spans=are_spans)
        contexts[query_id] = list(accumulate(map(sizes.__getitem__, ranking), initial=0.0))
    return contexts


def _size(item: Hashable, query_id: Hashable, texts: Texts, size: Size, *, are_spans: bool) -> float:
    text = text_of(item, texts, are_spans=are_spans)
    if text is None:
        has = "texts= has none" if texts is not None and item not in texts else "it is no str"
        raise ValueError(f"no text of {item!r:.80}, retrieved for query {query_id!r}: {has}, and its size is unknown")
    found = size(text)
    check_number(f"the size of {item!r:.80}", found)
    if not 0 <= found < inf:
        raise ValueError(f"the size of {item!r:.80} must be finite and at least 0, got {found!r}")
    return found
