"""How surely do paired values differ: p-values, their adjustment, and how many queries a difference needs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from math import ceil, erfc, exp, fsum, lgamma, log, sqrt
from operator import getitem
from random import Random
from statistics import NormalDist

from .matching import check_number

ALPHA = 0.05
"""A difference is shown where p, adjusted for the number of comparisons, is below it."""
POWER = 0.8
"""In what share of trials a difference that can be detected is shown."""

_Z_ALPHA = NormalDist().inv_cdf(1 - ALPHA / 2)
_DRAWS = 10_000
_EXACT = 16  # differences: up to so many, every choice of signs is gone through
_NORMAL = 2_000  # differences of like size: from so many on, the normal distribution errs less than the draws


def mcnemar(won: int, lost: int) -> float:
    """Return the two-sided p-value of the exact test of McNemar: would a fair coin fall as unevenly (sign test)?

    >>> round(mcnemar(31, 19), 4)
    0.1189
    """
    n, fewer = won + lost, min(won, lost)
    term = exp(lgamma(n + 1) - lgamma(fewer + 1) - lgamma(n - fewer + 1) - n * log(2))
    terms = [term]
    for rank in range(fewer, 0, -1):
        term *= rank / (n - rank + 1)
        if term < 1e-20 * terms[0]:
            break
        terms.append(term)
    return min(1.0, max(2 * fsum(terms), sys.float_info.min))


def randomization(differences: Iterable[float]) -> float:
    """Return the two-sided p-value of Fisher's randomization test: would random signs give as large a sum?

    Up to 16 differences that are not 0, all choices of signs are gone through; of more, 10,000 random choices from the
    same seed each time give (those as large + 1) / (10,000 + 1); from 2,000 on, the sum is taken for normal, unless a
    few large ones make most of it. Where all are of the same size the test is McNemar's.

    >>> randomization([0.5, 0.25, 0.5, 0.75])
    0.125
    """
    changed = [difference for difference in differences if difference]
    sizes = sorted(map(abs, changed))
    if len(set(sizes)) <= 1:
        won = sum(difference > 0 for difference in changed)
        return mcnemar(won, len(changed) - won)
    least = abs(fsum(changed)) - 1e-9 * fsum(sizes)  # sums that are equal but for rounding count as equal
    if len(sizes) <= _EXACT:
        sums = _signed_sums(sizes)
        return sum(abs(each) >= least for each in sums) / len(sums)
    variance = fsum(size**2 for size in sizes)
    if variance**2 >= _NORMAL * fsum(size**4 for size in sizes):
        return max(erfc(least / sqrt(2 * variance)), sys.float_info.min)
    eights = [_signed_sums(sizes[at : at + 8]) for at in range(0, len(sizes), 8)]
    eights[-1] *= 256 // len(eights[-1])
    random = Random(0)  # a byte has the signs of eight differences
    drawn = (abs(sum(map(getitem, eights, random.randbytes(len(eights))))) for _ in range(_DRAWS))
    return (1 + sum(each >= least for each in drawn)) / (1 + _DRAWS)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number, by Holm's method (1979), in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for before, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - before) * p_values[at]))
        adjusted[at] = highest
    return adjusted


def sample_size(*, p: float, delta: float, power: float = POWER, discordant: float | None = None) -> int:
    """Return how many queries would show that a hit rate of p has moved by delta, at p < 0.05.

    Connor's (1987) formula for McNemar's test, and `2 / abs(delta)` queries more, which the exact test needs. A power
    of 0.8 or more is then met within two hundredths where discordant is at least twice the difference. The nearer it is
    to the difference, so that nearly all queries that differ go the same way, the more are asked for than would do: at
    0.8 the power is up to 0.95.

    Args:
        p: the hit rate now.
        delta: the difference to be shown, up or down.
        power: in what share of trials it is to be shown, from 0.5 to below 1.
        discordant: the share of queries that only one of the two runs hits, at least the difference; what a comparison
            had, (won + lost) / n. None: as if the runs hit independently, which asks for more than similar runs need.

    Raises:
        TypeError, ValueError: one of these is something else, or they cannot be true together.

    >>> sample_size(p=0.8, delta=0.05), sample_size(p=0.8, delta=0.05, discordant=0.1)
    (949, 352)
    """
    check_number("p", p)
    check_number("delta", delta)
    check_number("power", power)
    after = p + delta
    if not (0 <= p <= 1 and 0 <= after <= 1 and delta):
        raise ValueError(f"p and p + delta must be within 0 and 1 and delta not 0, got p={p!r}, delta={delta!r}")
    if not 0.5 <= power < 1:
        raise ValueError(f"power must be from 0.5 to below 1, got {power!r}")
    if discordant is None:
        discordant = p * (1 - after) + after * (1 - p)
    check_number("discordant", discordant)
    most = min(p + after, 2 - p - after)
    if not abs(delta) - 1e-12 <= discordant <= most + 1e-12:
        raise ValueError(
            f"discordant must be from {abs(delta):.4g} to {most:.4g} where hit rates are {p:.4g} and {after:.4g}, "
            f"got {discordant!r}"
        )
    try:
        return ceil(_needed(abs(delta), max(discordant, abs(delta)), power))
    except OverflowError:
        raise ValueError(f"no number of queries shows a difference as small as delta={delta!r}") from None


def detectable(squares: float, largest: float, n: int) -> float | None:
    """Return the difference that n queries show, where it takes at least its own share of discordant queries."""
    discordant = squares / (n * largest**2)
    low, high = 0.0, 1.0
    if _needed(high, high, POWER) > n:
        return None
    for _ in range(40):
        middle = (low + high) / 2
        enough = _needed(middle, max(discordant, middle), POWER) <= n
        low, high = (low, middle) if enough else (middle, high)
    return high * largest


def _needed(delta: float, discordant: float, power: float) -> float:
    """Return how many queries show a difference with that power."""
    spread = _Z_ALPHA * sqrt(discordant) + NormalDist().inv_cdf(power) * sqrt(discordant - delta**2)
    return (spread / delta) ** 2 + 2 / delta


def _signed_sums(sizes: Sequence[float]) -> list[float]:
    """Return the sum under every choice of signs."""
    sums = [0.0]
    for size in sizes:
        sums = [each + size for each in sums] + [each - size for each in sums]
    return sums
