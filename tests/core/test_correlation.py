"""Phi and the point-biserial correlation against published examples and scipy, and what their interval covers."""

from itertools import product
from math import atanh, factorial, tanh

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate_adapters.core.correlation import correlation


def of_table(hit_right, hit_wrong, miss_right, miss_wrong):
    hits = [True] * (hit_right + hit_wrong) + [False] * (miss_right + miss_wrong)
    return correlation(hits, [1] * hit_right + [0] * hit_wrong + [1] * miss_right + [0] * miss_wrong)


@pytest.mark.parametrize(
    ("table", "phi"),
    [
        ((10, 0, 0, 10), 1),
        ((0, 10, 10, 0), -1),
        ((6, 4, 3, 2), 0),
        ((60, 8, 10, 20), 1120 / 1999.5999599919981),  # (60 * 20 - 8 * 10) / sqrt(68 * 30 * 70 * 28)
        ((1, 0, 0, 3), 1),
    ],
)
def test_phi_by_hand(table, phi):
    assert of_table(*table)[0] == pytest.approx(phi, abs=1e-12)


def test_point_biserial_by_hand():
    # means 4 and 2, population standard deviation sqrt(2), half of each class: (4 - 2) / sqrt(2) * 1 / 2
    assert correlation([True] * 3 + [False] * 3, [3, 4, 5, 1, 2, 3])[0] == pytest.approx(2 / (10 / 6) ** 0.5 / 2)


def test_against_scipy():
    stats = pytest.importorskip("scipy.stats")
    hits = [at % 3 > 0 for at in range(50)]
    scores = [(at * 37 % 50) / 50 + 0.2 * hit for at, hit in enumerate(hits)]
    assert correlation(hits, scores)[0] == pytest.approx(stats.pointbiserialr(hits, scores).statistic)
    right = [float(score > 0.5) for score in scores]
    assert correlation(hits, right)[0] == pytest.approx(stats.pearsonr(list(map(float, hits)), right).statistic)


@pytest.mark.parametrize("table", [(8, 2, 1, 4), (60, 8, 10, 20), (0, 5, 7, 9), (30, 0, 0, 3)])
def test_the_interval_is_that_of_the_closed_form_of_its_variance(table):
    """Bishop, Fienberg and Holland's variance of phi, of the table with half an observation added to each cell."""
    a, b, c, d = (count + 0.5 for count in table)
    n = a + b + c + d
    rows, columns = ((a + b) / n, (c + d) / n), ((a + c) / n, (b + d) / n)
    of_rows, of_columns = rows[0] * rows[1], columns[0] * columns[1]
    between_rows, between_columns = rows[0] - rows[1], columns[0] - columns[1]
    phi = (a * d - b * c) / n**2 / (of_rows * of_columns) ** 0.5
    variance = (
        1
        - phi**2
        + phi * (1 + phi**2 / 2) * between_rows * between_columns / (of_rows * of_columns) ** 0.5
        - 0.75 * phi**2 * (between_rows**2 / of_rows + between_columns**2 / of_columns)
    ) / n
    r, (low, high) = of_table(*table)
    half = 1.959963984540054 * variance**0.5 / (1 - phi**2)
    assert low == pytest.approx(min(r, tanh(atanh(phi) - half)))
    assert high == pytest.approx(max(r, tanh(atanh(phi) + half)))


def coverage(interval_of, n, p_hit, right_given_hit, right_given_miss):
    """Return how probable it is that the interval covers phi: over every table of n, by its probability."""
    shares = [
        p_hit * right_given_hit,
        p_hit * (1 - right_given_hit),
        (1 - p_hit) * right_given_miss,
        (1 - p_hit) * (1 - right_given_miss),
    ]
    a, b, c, d = shares
    phi = (a * d - b * c) / ((a + b) * (c + d) * (a + c) * (b + d)) ** 0.5
    covered = defined = 0.0
    for table in product(range(n + 1), repeat=3):
        rest = n - sum(table)
        if rest < 0:
            continue
        counts = (*table, rest)
        probability = float(factorial(n))
        for count, share in zip(counts, shares, strict=True):
            probability *= share**count / factorial(count)
        if probability < 1e-6 or 0 in (
            counts[0] + counts[1],
            rest + counts[2],
            counts[0] + counts[2],
            counts[1] + rest,
        ):
            continue
        low, high = interval_of(*counts)
        defined += probability
        covered += probability * (low <= phi <= high)
    return covered / defined


@pytest.mark.parametrize(
    ("p_hit", "right_given_hit", "right_given_miss"),
    [(0.8, 0.85, 0.3), (0.7, 0.84, 0.4), (0.9, 0.9, 0.5), (0.5, 0.5, 0.5)],
)
def test_the_interval_covers_phi_as_often_as_it_says(p_hit, right_given_hit, right_given_miss):
    assert 0.935 < coverage(lambda *table: of_table(*table)[1], 30, p_hit, right_given_hit, right_given_miss) < 0.975


def test_the_interval_covers_less_where_phi_is_near_1():
    assert coverage(lambda *table: of_table(*table)[1], 30, 0.6, 0.97, 0.1) == pytest.approx(0.9, abs=0.005)


def test_the_interval_for_two_normal_variables_does_not():
    def of_fisher(*table):
        phi = of_table(*table)[0]
        middle = atanh(max(-0.999999, min(0.999999, phi)))
        return tanh(middle - 1.96 / 27**0.5), tanh(middle + 1.96 / 27**0.5)

    assert coverage(of_fisher, 30, 0.9, 0.9, 0.5) == pytest.approx(0.68, abs=0.005)
    assert coverage(of_fisher, 30, 0.8, 0.85, 0.3) == pytest.approx(0.835, abs=0.005)


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=2, max_size=30).filter(
        lambda rows: len({hit for hit, _ in rows}) == 2 and len({score for _, score in rows}) > 1
    )
)
def test_bounds(rows):
    hits, scores = zip(*rows, strict=True)
    r, (low, high) = correlation(hits, scores)
    assert -1 <= low <= r <= high <= 1
    assert low < high
    mirrored, (other_low, other_high) = correlation(hits, [-score for score in scores])
    assert (mirrored, other_low, other_high) == pytest.approx((-r, -high, -low))
