"""The intervals, against published values, SciPy, and what must hold for any data."""

import random
from collections import Counter
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate_adapters.core.intervals import bca, difference_interval, mean_interval, wilson

METRIC_VALUES = st.sampled_from([0.0, 0.1, 1 / 9, 0.2, 0.25, 1 / 3, 0.5, 1.0])
SAMPLES = st.lists(METRIC_VALUES, min_size=2, max_size=300).filter(lambda values: len(set(values)) > 1)


def tallied(values):
    tally = Counter(values)
    return list(tally), list(tally.values())


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


# BCa. The literals are SciPy 1.17.1's bootstrap(method="BCa") with 400,000 resamples.

RANKS = {1: 90, 1 / 2: 30, 1 / 3: 20, 1 / 4: 10, 1 / 5: 8, 1 / 10: 2, 0: 40}


def test_bca_is_scipys_of_reciprocal_ranks():
    assert bca(list(RANKS), list(RANKS.values())) == pytest.approx((0.52275, 0.63608), abs=0.0003)


def test_bca_of_a_skewed_sample_is_not_symmetric():
    low, high = bca([1.0, 0.5, 0.0], [95, 3, 2])
    assert (low, high) == pytest.approx((0.915, 0.990), abs=0.0025)  # half a step of the mean
    assert 0.965 - low > 1.8 * (high - 0.965)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [30, 200, 1000])
def test_bca_is_scipys_within_the_error_of_its_draws(n, seed):
    np = pytest.importorskip("numpy")
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(seed)
    values = draw.choice([0, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0], n, p=draw.dirichlet(np.ones(7)))
    oracle = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=9999, batch=1000, rng=draw)
    low, high = oracle.confidence_interval
    assert bca(*tallied(values.tolist())) == pytest.approx((low, high), abs=0.05 * (high - low))


def test_bca_of_ten_thousand_distinct_values():
    values = [at / 10_000 for at in range(10_000)]
    low, high = bca(values, [1] * 10_000)
    assert (low, high) == pytest.approx((0.49995 - 0.005658, 0.49995 + 0.005658), abs=1e-5)  # 1.96 * sqrt(1 / 12) / 100


def test_bca_ends_at_the_largest_value_where_the_resampled_mean_does():
    assert bca([1.0, 0.5], [9, 1])[1] == 1.0


@given(SAMPLES)
def test_bca_holds_the_mean_and_stays_within_the_values(values):
    low, high = bca(*tallied(values))
    assert min(values) - 1e-9 <= low <= fsum(values) / len(values) <= high <= max(values) + 1e-9


@given(SAMPLES)
def test_bca_of_the_mirrored_values_is_mirrored(values):
    low, high = bca(*tallied(values))
    assert bca(*tallied([1 - value for value in values])) == pytest.approx((1 - high, 1 - low), abs=1e-6)


@given(SAMPLES)
def test_bca_stretches_with_the_values(values):
    low, high = bca(*tallied(values))
    assert bca(*tallied([value / 8 for value in values])) == pytest.approx((low / 8, high / 8), abs=1e-9)


# A mean, whatever the values


def test_the_interval_of_a_mean_is_bca():
    assert mean_interval([1, 0.5, 0.5, 0], [10, 5, 15, 20]) == bca([1, 0.5, 0], [10, 20, 20])


def test_a_mean_of_zeros_and_ones_is_a_share():
    assert mean_interval([1.0, 0.0, 1.0], [50, 182, 31]) == pytest.approx((0.2553, 0.3662), abs=5e-5)


@pytest.mark.parametrize(
    ("value", "n", "low", "high"),
    [(0.5, 1, 0.055, 0.945), (0.5, 100, 0.404, 0.596), (1.0, 1, 0.207, 1), (0, 1, 0, 0.793)],
)
def test_equal_values_have_the_widest_interval_that_their_mean_can_have(value, n, low, high):
    assert mean_interval([value], [n]) == pytest.approx((low, high), abs=0.001)


def test_fewer_than_ten_values_say_too_little_of_their_spread():
    assert mean_interval([1.0, 0.5], [1, 1]) == pytest.approx((0.198, 0.973), abs=0.001)  # 1.5 of 2 in Wilson's formula


def test_very_many_distinct_values_are_put_together():
    draw = random.Random(3)
    values = [draw.random() ** 2 / 100 for _ in range(3000)]
    assert mean_interval(values, [1] * 3000) == pytest.approx(bca(values, [1] * 3000), abs=1e-8)


# The difference of paired values


def test_the_interval_of_two_hit_rates_is_bonett_and_prices():
    won, lost, n = 43, 8, 215
    # 44 / 217 and 9 / 217, whose difference is .161290; 1.959964 * sqrt((53 / 217 - .161290**2) / 217) = .062154
    assert difference_interval(won - lost, won + lost, 1, n) == pytest.approx((0.099136, 0.223444), abs=2e-6)


def test_values_that_differ_in_the_last_digit_are_equal():
    values = [0.6309297535714574, 0.6309297535714575, 0.6309297535714573]
    assert mean_interval(values, [10, 10, 10]) == pytest.approx(wilson(30 * values[0], 30), abs=1e-8)


def test_equal_runs_have_an_interval_too():
    assert difference_interval(0, 0, 0, 100) == pytest.approx((-0.02718, 0.02718), abs=1e-5)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_the_interval_of_a_difference_turns_round_with_it(won, lost, tied):
    n = won + lost + tied or 1
    low, high = difference_interval(won - lost, won + lost, 1, n)
    assert difference_interval(lost - won, won + lost, 1, n) == (-high, -low)
    assert -1 <= low < high <= 1


def test_the_interval_of_a_difference_stretches_with_it():
    low, high = difference_interval(4, 10, 1, 100)
    assert difference_interval(4 * 0.5, 10 * 0.25, 0.5, 100) == pytest.approx((low / 2, high / 2))
