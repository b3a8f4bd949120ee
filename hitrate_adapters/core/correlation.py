"""The correlation of two classes and a value, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, fsum, sqrt, tanh

_Z_95 = 1.959963984540054  # the normal distribution's 97.5 % point


def correlation(classes: Sequence[bool], values: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return Pearson's r of two classes and a value, and its 95 % interval; both sides must vary.

    With values 0 and 1 it is the phi coefficient, else the point-biserial correlation. The interval takes no
    distribution for granted: it is that of the asymptotic variance of r, from the data's own fourth moments (for phi
    Bishop, Fienberg and Holland, 1975; in general Steiger and Hakstian, 1982), on Fisher's scale, `atanh(r)`. Half an
    observation is added at either end of the values in each class, as to the cells of a 2 x 2 table (Haldane, 1956;
    Anscombe, 1956): without them an empty cell would leave no width.

    >>> r, (low, high) = correlation([True, True, True, False, False], [1, 1, 0, 0, 0])
    >>> round(r, 3), round(low, 3), round(high, 3)
    (0.667, -0.293, 0.86)
    """
    least, span = min(values), max(values) - min(values)
    xs, ys = list(map(float, classes)), [(value - least) / span for value in values]
    r, _ = _pearson(xs, ys, [1.0] * len(ys))
    middle, error = _pearson([*xs, 0, 0, 1, 1], [*ys, 0, 1, 0, 1], [*([1.0] * len(ys)), 0.5, 0.5, 0.5, 0.5])
    centre, half = atanh(middle), _Z_95 * error / (1 - middle**2)
    return r, (min(r, tanh(centre - half)), max(r, tanh(centre + half)))


def _pearson(xs: Sequence[float], ys: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Return r and its standard error, the latter from the influence of each observation on r."""
    n = fsum(weights)
    sides = [_standardised(side, weights) for side in (xs, ys)]
    r = fsum(weight * x * y for weight, x, y in zip(weights, *sides, strict=True)) / n
    influences = (x * y - r * (x * x + y * y) / 2 for x, y in zip(*sides, strict=True))
    squares = fsum(weight * influence**2 for weight, influence in zip(weights, influences, strict=True))
    return max(-1.0, min(1.0, r)), sqrt(squares) / n


def _standardised(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    n = fsum(weights)
    mean = fsum(weight * value for weight, value in zip(weights, values, strict=True)) / n
    variance = fsum(weight * (value - mean) ** 2 for weight, value in zip(weights, values, strict=True)) / n
    return [(value - mean) / sqrt(variance) for value in values]
