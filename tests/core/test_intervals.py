"""The Wilson interval, against published values."""

import pytest

from hitrate_adapters.core.intervals import wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_that_of_newcombe_1998_table_1(successes, n, low, high):
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_all_successes_mirror_none():
    low, high = wilson(20, 20)
    assert (low, high) == pytest.approx((1 - 0.1611, 1.0), abs=5e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000, 10**9])
def test_the_bounds_stay_within_0_and_1(n):
    assert wilson(0, n)[0] >= 0.0
    assert wilson(n, n)[1] <= 1.0


def test_more_queries_narrow_the_interval():
    low, high = wilson(5, 10)
    assert low < wilson(50, 100)[0] < wilson(50, 100)[1] < high
