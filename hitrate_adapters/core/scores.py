"""A metric's mean: a float that knows what it is the mean of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import fsum, isnan
from typing import Any, Self

from .intervals import Interval, wilson
from .metrics import Metric


class Score(float):
    """A metric's mean over the queries that can be scored: a float that also knows its `metric`, `n` and `interval`."""

    metric: Metric
    n: int
    """How many queries it is the mean of; of a weighted one, those of a weight above 0."""
    n_effective: float
    """How many queries of equal weight would tell as much; `n` where there are no weights."""
    _interval: Callable[[], Interval] | Interval | None

    def __new__(
        cls,
        value: float,
        metric: Metric,
        n: int,
        n_effective: float | None = None,
        interval: Callable[[], Interval] | None = None,
    ) -> Self:
        """Make the float and attach what it is the mean of; `interval` is called when it is first asked for."""
        score = super().__new__(cls, value)
        score.metric = metric
        score.n = n
        score.n_effective = n if n_effective is None else n_effective
        score._interval = interval
        return score

    def __getnewargs__(self) -> tuple[float, Metric, int, float]:  # type: ignore[override]
        """Let copies and pickles keep everything."""
        return float(self), self.metric, self.n, self.n_effective

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the values that the interval is made from."""
        return {**self.__dict__, "_interval": self.interval}

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval: Wilson's of a hit rate, of other means BCa; see `hitrate_adapters.core.intervals`.

        A weighted hit rate has that of `n_effective` queries; other weighted means have None.
        """
        if self.metric.name == "hit_rate":
            hits = self * self.n_effective
            return wilson(round(hits) if self.n_effective == self.n else hits, self.n_effective)
        if callable(self._interval):
            self._interval = self._interval()
        return self._interval

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
