"""A metric's mean: a float that knows what it is the mean of."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, isnan
from typing import Self

from .intervals import wilson
from .metrics import Metric


class Score(float):
    """A metric's mean over the queries that can be scored: a float that also knows its `metric`, `n` and `interval`."""

    metric: Metric
    n: int
    """How many queries it is the mean of; of a weighted one, those of a weight above 0."""
    n_effective: float
    """How many queries of equal weight would tell as much; `n` where there are no weights."""

    def __new__(cls, value: float, metric: Metric, n: int, n_effective: float | None = None) -> Self:
        """Make the float and attach what it is the mean of."""
        score = super().__new__(cls, value)
        score.metric = metric
        score.n = n
        score.n_effective = n if n_effective is None else n_effective
        return score

    def __getnewargs__(self) -> tuple[float, Metric, int, float]:  # type: ignore[override]
        """Let copies and pickles keep everything."""
        return float(self), self.metric, self.n, self.n_effective

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % Wilson interval of a hit rate; None for the other metrics, which are no shares of queries.

        A weighted hit rate has that of `n_effective` queries.
        """
        if self.metric.name != "hit_rate":
            return None
        hits = self * self.n_effective
        return wilson(round(hits) if self.n_effective == self.n else hits, self.n_effective)

    def __repr__(self) -> str:
        """Show the name, the value, its interval where there is one, and n; `str` is the bare number."""
        within = "" if self.interval is None else " [{:.3f}, {:.3f}]".format(*self.interval)
        effective = "" if self.n_effective == self.n else f", as good as {self.n_effective:.1f} of equal weight"
        return f"{self.metric} = {float(self):.3f}{within} (n={self.n}{effective})"

    __str__ = float.__repr__


def mean(scores: Iterable[float | None]) -> float | None:
    """Return the mean of the scores that are neither None nor NaN, exactly summed; None where there is none."""
    known = [score for score in scores if score is not None and not isnan(score)]
    return fsum(known) / len(known) if known else None
