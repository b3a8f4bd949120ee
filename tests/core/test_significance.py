"""The tests of paired differences and the number of queries they need, against SciPy and exact sums."""

from math import comb, fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate_adapters.core.significance import detectable, holm, mcnemar, randomization, sample_size

DIFFERENCES = st.lists(st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, 0.25, 1 / 3, -1 / 3]), min_size=1, max_size=60)


# McNemar


@pytest.mark.parametrize(
    ("won", "lost", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (3, 3, 1.0), (2, 8, 0.109375), (31, 19, 0.1189)],
)
def test_mcnemar_is_the_exact_sign_test(won, lost, p):
    assert mcnemar(won, lost) == pytest.approx(p, abs=5e-5)
    assert mcnemar(lost, won) == mcnemar(won, lost)


@pytest.mark.parametrize(("won", "lost"), [(7, 1), (37, 11), (120, 90), (5_100, 4_900), (1_002_000, 998_000)])
def test_mcnemar_is_scipys(won, lost):
    stats = pytest.importorskip("scipy.stats")
    assert mcnemar(won, lost) == pytest.approx(stats.binomtest(won, won + lost).pvalue, rel=1e-6)


def test_p_is_never_0():
    assert 0 < mcnemar(100_000, 0) < 1e-300
    assert 0 < randomization([*range(1, 20_001)]) < 1e-300


# Randomization


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([], 1.0),
        ([0.0, 0.0], 1.0),
        ([0.5], 1.0),
        ([0.5, 0.25, 0.5, 0.75], 0.125),  # two of 16: all plus, all minus
        ([0.5, 0.25, -0.25, 0.0], 0.75),  # sums of .5 +- .25 +- .25: 1, .5, .5, 0 and their negatives; six of eight
        ([0.1, 0.2, -0.3], 1.0),  # a sum of 0, but for rounding
    ],
)
def test_few_differences_are_gone_through(differences, p):
    assert randomization(differences) == p


def test_differences_of_one_size_are_mcnemars():
    assert randomization([1.0] * 31 + [-1.0] * 19 + [0.0] * 250) == mcnemar(31, 19)
    assert randomization([0.2] * 31 + [-0.2] * 19) == mcnemar(31, 19)


@pytest.mark.parametrize("seed", range(4))
def test_exact_is_scipys(seed):
    np = pytest.importorskip("numpy")
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(seed).normal(0.3, 1, 11)
    oracle = stats.permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert randomization(values.tolist()) == pytest.approx(oracle.pvalue, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [17, 100, 333])
def test_drawn_is_scipys_within_its_error(n, seed):
    np = pytest.importorskip("numpy")
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(seed)
    values = draw.normal(2 / n**0.5, 1, n).round(2)
    oracle = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=10_000, batch=1000, rng=draw
    ).pvalue
    assert randomization(values.tolist()) == pytest.approx(oracle, abs=4 * (3 * oracle / 10_000) ** 0.5)


def test_the_smallest_p_that_draws_can_give():
    assert randomization([0.5] * 60 + [0.25] * 60) == 1 / 10_001


@pytest.mark.parametrize(("n", "tolerance"), [(1_000, 0.009), (10_000, 1e-3)])
def test_many_are_drawn_or_normal(n, tolerance):
    sizes = [0.25 + at % 7 for at in range(n)]
    wanted = 1.96 * fsum(size * size for size in sizes) ** 0.5
    differences, total = [], 0.0
    for size in sizes:  # signs that bring the sum near to what p = .05 asks for
        sign = 1 if total < wanted else -1
        differences.append(sign * size)
        total += sign * size
    assert randomization(differences) == pytest.approx(0.05, abs=tolerance)


def test_a_few_large_ones_among_many_are_drawn():
    p = randomization([1.0] * 3 + [0.001] * 2_300 + [-0.001] * 2_700)
    assert p == pytest.approx(2 / 8, abs=0.02)  # the three go the same way, whatever the others do


@given(DIFFERENCES)
def test_p_is_a_probability_whatever_the_sign_or_the_order(differences):
    p = randomization(differences)
    assert 0 < p <= 1
    assert randomization([-each for each in differences]) == p
    assert randomization(sorted(differences)) == p


# Holm


def test_holm_is_that_of_r():
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.05, 0.01, 0.4]) == pytest.approx([0.1, 0.03, 0.4])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


# How many queries


def power(n, discordant, delta):
    """Return the power of McNemar's exact test, by summation over the numbers won and lost."""
    found = []
    for differ in range(n + 1):
        ways = comb(n, differ) * discordant**differ * (1 - discordant) ** (n - differ)
        better = (1 + delta / discordant) / 2
        tail, worst = 0, -1
        while differ and 2 * (tail + comb(differ, worst + 1)) < 0.05 * 2**differ:
            worst += 1
            tail += comb(differ, worst)
        shown = [comb(differ, lost) * better ** (differ - lost) * (1 - better) ** lost for lost in range(worst + 1)]
        found.append(ways * fsum(shown))
    return fsum(found)


@pytest.mark.parametrize(
    ("discordant", "delta", "wanted", "n"), [(0.1, 0.05, 0.8, 352), (0.4, 0.2, 0.8, 87), (0.2, 0.1, 0.9, 226)]
)
def test_so_many_queries_have_the_power(discordant, delta, wanted, n):
    found = sample_size(p=0.7, delta=delta, power=wanted, discordant=discordant)
    assert found == n
    assert wanted <= power(n, discordant, delta) <= wanted + 0.025


@pytest.mark.parametrize(
    ("discordant", "delta", "n", "least"), [(0.05, 0.05, 195, 0.92), (0.35, 0.3, 35, 0.87), (0.5, 0.5, 18, 0.94)]
)
def test_where_nearly_all_go_the_same_way_the_power_is_more(discordant, delta, n, least):
    assert sample_size(p=0.5, delta=delta, discordant=discordant) == n
    assert least <= power(n, discordant, delta) <= 0.955


@pytest.mark.parametrize(("p", "delta", "n"), [(0.8, 0.2, 47), (0.9, 0.1, 97), (1, -0.1, 97), (0, 1, 6), (1, -1, 6)])
def test_up_to_all_and_down_to_none(p, delta, n):
    """All that differ go the same way, and the rates are no round numbers in binary."""
    assert sample_size(p=p, delta=delta) == n


def test_without_discordance_the_runs_are_independent():
    assert sample_size(p=0.8, delta=0.05) == sample_size(p=0.8, delta=0.05, discordant=0.8 * 0.15 + 0.85 * 0.2)


def test_a_fall_needs_as_many_as_a_rise():
    assert sample_size(p=0.8, delta=-0.05) == sample_size(p=0.75, delta=0.05)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"p": 0.97, "delta": 0.05}, ValueError, r"p \+ delta must be within 0 and 1"),
        ({"p": 1.2, "delta": -0.5}, ValueError, "p=1.2"),
        ({"p": 0.8, "delta": 0}, ValueError, "delta not 0"),
        ({"p": "0.8", "delta": 0.05}, TypeError, "p must be a number, got '0.8'"),
        ({"p": 0.8, "delta": True}, TypeError, "delta must be a number"),
        ({"p": 0.8, "delta": 0.05, "power": 1}, ValueError, "power must be from 0.5 to below 1, got 1"),
        ({"p": 0.8, "delta": 0.05, "power": 0.4}, ValueError, "got 0.4"),
        ({"p": 0.8, "delta": 0.05, "discordant": 0.01}, ValueError, "discordant must be from 0.05 to 0.35 .* got 0.01"),
        ({"p": 0.8, "delta": 0.05, "discordant": 0.4}, ValueError, "where hit rates are 0.8 and 0.85, got 0.4"),
    ],
)
def test_what_cannot_be(arguments, error, message):
    with pytest.raises(error, match=message):
        sample_size(**arguments)


def test_what_can_be_detected_is_what_so_many_are_needed_for():
    found = detectable(squares=50, largest=1.0, n=300)
    # (1.95996 * sqrt(.16667) + .84162 * sqrt(.16667 - .0692**2))**2 / .0692**2 + 2 / .0692 = 300
    assert found == pytest.approx(0.0692, abs=0.0001)
    assert sample_size(p=0.5, delta=found, discordant=50 / 300) in (300, 301)


def test_what_can_be_detected_halves_with_four_times_as_many():
    assert detectable(200, 1.0, 1200) == pytest.approx(detectable(50, 1.0, 300) / 2, rel=0.05)


def test_what_can_be_detected_is_in_units_of_the_largest_difference():
    assert detectable(50 / 4, 0.5, 300) == pytest.approx(detectable(50, 1.0, 300) / 2)


def test_equal_runs_could_still_have_differed():
    assert detectable(0, 1.0, 300) == pytest.approx(0.0326, abs=0.0001)


def test_fewer_than_six_queries_show_nothing():
    assert detectable(5, 1.0, 5) is None
    assert detectable(6, 1.0, 6) == pytest.approx(0.98, abs=0.02)
