"""Confidence intervals."""

from __future__ import annotations

from math import sqrt

_Z_95 = 1.959963984540054  # the normal distribution's 97.5 % point


def wilson(successes: float, n: float) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share, `successes` out of n >= 1 (Wilson, 1927).

    >>> low, high = wilson(1, 2)
    >>> round(low, 3), round(high, 3)
    (0.095, 0.905)
    """
    share, z2 = successes / n, _Z_95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z_95 / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))
