"""Confidence intervals, all of 95 %, in closed form or by root finding: nothing is drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import copysign, exp, fsum, log, sqrt
from operator import mul

_Z_95 = 1.959963984540054  # the normal distribution's 97.5 % point
_FEW = 10
_CELLS = 500  # of so many distinct values each stands for itself; more are put together in about as many cells

Interval = tuple[float, float]


def wilson(successes: float, n: float) -> Interval:
    """Return the Wilson score interval of a share, `successes` out of n >= 1 (Wilson, 1927).

    >>> low, high = wilson(1, 2)
    >>> round(low, 3), round(high, 3)
    (0.095, 0.905)
    """
    share, z2 = successes / n, _Z_95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z_95 / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))


def mean_interval(values: Iterable[float], counts: Iterable[int]) -> Interval:
    """Return the interval of a metric's mean, from its values in [0, 1] and how many queries have each.

    BCa; but Wilson's where all values are 0 or 1, which makes the mean a share, and where fewer than 10 queries, or
    equal values, say little of their spread: values in [0, 1] spread no wider than zeros and ones with the same mean.

    >>> low, high = mean_interval([1.0, 0.5, 0.0], [20, 10, 10])
    >>> round(low, 3), round(high, 3)
    (0.489, 0.746)
    """
    tally: dict[float, int] = {}
    for each, count in zip(values, counts, strict=True):
        value = round(each, 9)  # equal gains of other grades differ in the last digit
        tally[value] = tally.get(value, 0) + count
    n = sum(tally.values())
    if n < _FEW or len(tally) == 1 or {0, 1}.issuperset(tally):
        return wilson(fsum(map(mul, tally, tally.values())), n)
    if len(tally) <= _CELLS:
        return bca(list(tally), list(tally.values()))
    cells: dict[int, list[float]] = {}
    width = max(tally) / _CELLS
    for value, count in tally.items():
        cells.setdefault(round(value / width), []).extend([value] * count)
    return bca([fsum(cell) / len(cell) for cell in cells.values()], list(map(len, cells.values())))


def bca(values: Sequence[float], counts: Sequence[int]) -> Interval:
    """Return the BCa bootstrap interval of a mean (Efron, 1987), from at least two values and the count of each.

    The distribution of the resampled mean is computed by its saddlepoint approximation (Davison and Hinkley, 1988),
    from which thousands of draws differ by chance alone. So there is no seed, and the time grows with the number of
    distinct values, not of queries. The bias correction and the acceleration of a mean are both a sixth of the skewness
    over the root of n.
    """
    n = sum(counts)
    mean = fsum(map(mul, values, counts)) / n
    shares = [count / n for count in counts]
    sd = sqrt(fsum(share * (value - mean) ** 2 for value, share in zip(values, shares, strict=True)))
    units = [(value - mean) / sd for value in values]
    correction = fsum(share * unit**3 for unit, share in zip(units, shares, strict=True)) / (6 * sqrt(n))

    def end(z: float) -> float:
        wanted = correction + (correction + z) / (1 - correction * (correction + z))
        return mean + sd * _resampled_mean(units, shares, n, wanted)

    return end(-_Z_95), end(_Z_95)


def difference_interval(total: float, squares: float, largest: float, n: int) -> Interval:
    """Return the interval of the mean of n paired differences, of which the largest possible is 1.

    Wald's, after a win and a loss of the size of the largest difference are added (1 where all are 0): for hit rates
    the interval of Bonett and Price (2012), whose coverage stays at 95 % or above where few queries differ.

    Args:
        total: the sum of the differences; for hit rates, won - lost.
        squares: the sum of their squares; for hit rates, won + lost.
        largest: the largest size of a difference.
        n: their number.

    >>> low, high = difference_interval(31 - 19, 31 + 19, 1, 300)
    >>> round(low, 3), round(high, 3)
    (-0.007, 0.086)
    """
    centre = total / (n + 2)
    half = _Z_95 * sqrt(((squares + 2 * (largest or 1) ** 2) / (n + 2) - centre**2) / (n + 2))
    return max(-1.0, centre - half), min(1.0, centre + half)


def _resampled_mean(units: Sequence[float], shares: Sequence[float], n: int, z: float) -> float:
    """Return the quantile at z of the mean of n draws, by Barndorff-Nielsen's (1986) form of the saddlepoint."""
    sign = copysign(1, z)
    top = max(units, key=sign.__mul__)

    def at(size: float) -> tuple[float, float]:
        """Return the mean of the distribution tilted by so much, and at which z the resampled mean reaches it."""
        tilt = sign * size
        weights = [share * exp(tilt * (unit - top)) for unit, share in zip(units, shares, strict=True)]
        total = fsum(weights)
        mean = fsum(map(mul, weights, units)) / total
        variance = fsum(weight * (unit - mean) ** 2 for weight, unit in zip(weights, units, strict=True)) / total
        root = sqrt(max(0.0, 2 * n * (tilt * (mean - top) - log(total))))
        slope = size * sqrt(n * variance)
        return mean, root + log(slope / root) / root if slope and root else 0.0

    size = abs(z) / sqrt(n)
    return _where_it_reaches(abs(z), at, size, top)


def _where_it_reaches(z: float, at: Callable[[float], tuple[float, float]], high: float, top: float) -> float:
    low = reached = 0.0
    while (found := at(high)[1]) < z:
        if found <= reached:  # more than the rest of the probability is at the end itself
            return top
        reached, low, high = found, high, 1.5 * high
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle)[1] < z else (low, middle)
    return at(high)[0]
