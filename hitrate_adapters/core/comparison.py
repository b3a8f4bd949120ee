"""Is the difference between two evaluations real: compared query by query."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING

from .display import columns, some
from .intervals import Interval, difference_interval
from .items import Items, in_order, relevant_items
from .matching import check_number
from .metrics import Metric
from .scores import Score
from .segments import subset
from .significance import ALPHA, detectable, holm, randomization

if TYPE_CHECKING:
    from .evaluation import Evaluation

MARGIN = 0.05
"""The smallest difference that matters, where none is given."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What a metric says of two evaluations, query by query; printed, one line. Made by `new.compare(old, metric)`."""

    new: Score
    """The mean of the new one, over the queries that both can score."""
    old: Score
    """The mean of the old one, over the same queries."""
    difference: float
    """New - old."""
    interval: Interval
    """The 95 % interval of the difference."""
    p: float
    """How often a difference as large would come of chance alone: exact McNemar, or a randomization test."""
    adjusted: float
    """The p-value after Holm's correction for all that was compared at once; p itself where nothing else was."""
    won: tuple[Hashable, ...]
    """Queries on which the new one is better."""
    lost: tuple[Hashable, ...]
    """Queries on which the old one is better."""
    tied: tuple[Hashable, ...]
    """Queries on which they are equal."""
    left_out: tuple[Hashable, ...]
    """Queries that one of the two cannot score, which are in none of the figures."""
    either: float
    """The mean of the better value for each query: of a hit rate, the share of queries that either one hits."""
    both: float
    """The mean of the worse value for each query: of a hit rate, the share of queries that both hit."""
    detectable: float | None
    """The smallest true difference that so many queries would show in 80 % of trials; None below 6 queries."""
    margin: float
    """The smallest difference that matters."""

    @property
    def metric(self) -> Metric:
        """What was compared."""
        return self.new.metric

    @property
    def n(self) -> int:
        """How many queries both can score."""
        return self.new.n

    @property
    def verdict(self) -> str:
        """What follows.

        - "better", "worse": the adjusted p is below 0.05.
        - "no difference shown": it is not, and the interval lies within the margin, either way.
        - "cannot be resolved at this size": it is not, and the interval reaches the margin.
        """
        if self.adjusted < ALPHA:
            return "better" if self.difference > 0 else "worse"
        within = max(map(abs, self.interval)) < self.margin
        return "no difference shown" if within else "cannot be resolved at this size"

    def __bool__(self) -> bool:
        """Raise TypeError: `assert new.compare(...)` would pass whatever the verdict is."""
        raise TypeError('a comparison is neither true nor false: ask for its verdict, as in `.verdict != "worse"`')

    def row(self) -> dict[str, object]:
        """Return the figures by name, for `pandas.DataFrame`; queries as numbers of them."""
        low, high = self.interval
        return {
            "metric": str(self.metric),
            "old": float(self.old),
            "new": float(self.new),
            "difference": self.difference,
            "low": low,
            "high": high,
            "p": self.p,
            "p_adjusted": self.adjusted,
            "won": len(self.won),
            "lost": len(self.lost),
            "n": self.n,
            "left_out": len(self.left_out),
            "either": self.either,
            "both": self.both,
            "detectable": self.detectable,
            "verdict": self.verdict,
        }

    def __repr__(self) -> str:
        """Show the difference, its interval, p, the queries won and lost, and the verdict."""
        adjusted = "" if self.adjusted == self.p else f" ({p_value(self.adjusted)} by Holm)"
        left_out = f", {len(self.left_out)} left out" if self.left_out else ""
        return (
            f"{with_interval(self)}, p {p_value(self.p)}{adjusted}; {len(self.won)} won, {len(self.lost)} lost, "
            f"n = {self.n}{left_out}: {self.verdict}"
        )


class Comparisons(dict[str, Comparison]):
    """The name of each metric -> its `Comparison`, with p-values adjusted by Holm's method; printed, a table."""

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per metric, for `pandas.DataFrame(...)`."""
        return [comparison.row() for comparison in self.values()]

    def __str__(self) -> str:
        """Return the table."""
        grid = [["", "old", "new", "difference", "p", "by Holm", "won", "lost", "verdict"]]
        for name, each in self.items():
            scores = (f"{each.old:.3f}", f"{each.new:.3f}", with_interval(each))
            counts = (str(len(each.won)), str(len(each.lost)))
            grid.append([name, *scores, p_value(each.p, ""), p_value(each.adjusted, ""), *counts, each.verdict])
        first = next(iter(self.values()))
        return "\n".join([*columns(grid), *notes(first.n, first.left_out)])


def compare(
    new: Evaluation,
    old: Evaluation,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    margin: float = MARGIN,
    anyway: bool = False,
) -> Comparison | Comparisons:
    """Return the comparison by a metric, or by each of several; see `Evaluation.compare`."""
    check_number("margin", margin, above=0, up_to=1)
    wanted = [metrics] if isinstance(metrics, (str, Metric)) else list(metrics)
    if not wanted:
        raise ValueError("at least one metric is needed, such as 'hit_rate@5'")
    (new, old), left_out = over_the_same({"new": new, "old": old}, anyway=anyway)
    found = {str(metric): compared(metric, new, old, left_out, margin) for metric in map(Metric.parse, wanted)}
    adjusted = by_holm(found)
    return adjusted[str(Metric.parse(wanted[0]))] if isinstance(metrics, (str, Metric)) else Comparisons(adjusted)


def compared(
    metric: Metric, new: Evaluation, old: Evaluation, left_out: tuple[Hashable, ...], margin: float
) -> Comparison:
    """Return the comparison of evaluations that have the same queries."""
    ours = [metric(new[query_id]) for query_id in new]
    theirs = [metric(old[query_id]) for query_id in new]
    differences = [0.0 if abs(a - b) < 1e-12 else a - b for a, b in zip(ours, theirs, strict=True)]
    won, lost, tied = (
        tuple(query_id for query_id, each in zip(new, differences, strict=True) if (each > 0) - (each < 0) == sign)
        for sign in (1, -1, 0)
    )
    n, total, squares = len(differences), fsum(differences), fsum(each * each for each in differences)
    largest = max(map(abs, differences))
    p = randomization(differences)
    return Comparison(
        new=new.score(metric),
        old=old.score(metric),
        difference=total / n,
        interval=difference_interval(total, squares, largest, n),
        p=p,
        adjusted=p,
        won=won,
        lost=lost,
        tied=tied,
        left_out=left_out,
        either=fsum(map(max, ours, theirs)) / n,
        both=fsum(map(min, ours, theirs)) / n,
        detectable=detectable(squares, largest or 1.0, n),
        margin=margin,
    )


def by_holm(comparisons: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """Return the comparisons with p-values adjusted for their number."""
    adjusted = holm([each.p for each in comparisons.values()])
    return {name: replace(each, adjusted=p) for (name, each), p in zip(comparisons.items(), adjusted, strict=True)}


def over_the_same(
    evaluations: Mapping[str, Evaluation], *, anyway: bool
) -> tuple[list[Evaluation], tuple[Hashable, ...]]:
    """Return the evaluations of the queries that all can score, and the ids of the others."""
    shared = [q for q in next(iter(evaluations.values())) if all(q in each.records for each in evaluations.values())]
    if not shared:
        ids = ", ".join(f"{name} has {some(each)}" for name, each in evaluations.items())
        raise ValueError(f"no query can be scored in each of the evaluations: {ids}")
    if not anyway:
        _refuse_different_gold(evaluations)
    known = set(shared)
    left_out = dict.fromkeys(q for each in evaluations.values() for q in each if q not in known)
    in_order = [each if list(each) == shared else subset(each, shared) for each in evaluations.values()]
    return in_order, tuple(left_out)


def _refuse_different_gold(evaluations: Mapping[str, Evaluation]) -> None:
    (name, first), *rest = evaluations.items()
    for other_name, other in rest:
        if first.judge.rules != other.judge.rules:
            alike = repr(first.judge) == repr(other.judge)
            raise ValueError(
                f"{name} and {other_name} were judged by different rules, {first.judge!r} and {other.judge!r}"
                f"{', whose matchers share but a name' if alike else ''}: judge both alike, or pass anyway=True"
            )
        if first.qrels is other.qrels:
            continue
        asked = [q for q in first.qrels if q in other.qrels and (q in first.records or q in other.records)]
        golds = ((query_id, first.qrels[query_id], other.qrels[query_id]) for query_id in asked)
        differ = [(q, a, b) for q, a, b in golds if a is not b and relevant_items(a) != relevant_items(b)]
        if differ:
            query_id, ours, theirs = differ[0]
            raise ValueError(
                f"the relevant items of {len(differ)} of {len(asked)} queries differ, such as those of {query_id!r}: "
                f"{_shown(ours)} in {name}, {_shown(theirs)} in {other_name}: judge both by the same qrels, "
                "or pass anyway=True"
            )


def _shown(relevant: Items) -> str:
    return f"{in_order(relevant) if isinstance(relevant, (set, frozenset)) else relevant!r:.80}"


def with_interval(comparison: Comparison) -> str:
    """Return the difference and its interval, to be printed."""
    return "{:+.3f} [{:.3f}, {:.3f}]".format(comparison.difference, *comparison.interval)


def p_value(p: float, equals: str = "= ") -> str:
    """Return p to be printed, to two digits."""
    return f"{equals}{p:.2g}" if p >= 0.001 else "< 0.001"


def notes(n: int, left_out: Sequence[Hashable]) -> list[str]:
    """Return the lines below a table."""
    lines = [f"{n:,} {'query' if n == 1 else 'queries'} compared"]
    return [*lines, f"{len(left_out):,} left out, which not all can score: {some(left_out)}"] if left_out else lines
