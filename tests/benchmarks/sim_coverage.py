"""How often do the 95 % intervals hold the truth? Hit rates by exact summation, means by simulation.

    python tests/benchmarks/sim_coverage.py          # standard library only; half a minute
    python tests/benchmarks/sim_coverage.py 500      # fewer simulated samples per case than 4,000

A line per kind of interval, number of queries and population. Exit status 1 where the coverage of a case is not within
two points of 95 %, or, for a difference where fewer than thirty queries are expected to differ, below 93 %.
"""

# ruff: noqa: T201
from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from math import exp, fsum, lgamma, log, sqrt

from hitrate_adapters.core.intervals import difference_interval, mean_interval, wilson

SIZES = (50, 100, 200, 500)
LOWEST, HIGHEST = 0.93, 0.97
FEW = 30
"""Where fewer queries differ, the interval of the difference errs on the safe side."""

Values = dict[float, float]
"""A metric's value, or a difference -> its share of all queries."""


def ranks(first: float, missed: float, k: int = 10) -> Values:
    """Return the reciprocal ranks of a retriever: the share with a hit at 1, then geometric; and of misses."""
    shares: Counter[float] = Counter({0.0: missed})
    for rank in range(1, k + 1):
        shares[1 / rank] = (1 - missed) * first * (1 - first) ** (rank - 1)
    shares[0.0] += 1 - fsum(shares.values())
    return dict(shares)


MEANS = {
    "mrr, .51": ranks(0.35, 0.1),
    "mrr, .79": ranks(0.7, 0.05),
    "mrr, .28": ranks(0.5, 0.6),
    "recall, .63": {0.0: 0.15, 1 / 3: 0.15, 0.5: 0.15, 2 / 3: 0.15, 1.0: 0.4},
}
HALF = {1.0: 0.15, 0.5: 0.35, 0.25: 0.1, -1.0: 0.08, -0.5: 0.22, -0.25: 0.1}
DIFFERENCES = {
    f"mrr, {share:.0%} differ": {0.0: 1 - share, **{value: share * part for value, part in HALF.items()}}
    for share in (0.1, 0.2, 0.5)
}

FALL_SHORT = {
    "mrr, .05": ranks(0.3, 0.9),
    "1 % change by 1, 30 % by .05": {0.0: 0.69, 1.0: 0.01, 0.05: 0.16, -0.05: 0.14},
}
"""Where few queries decide and may not be in the sample: shown, not checked."""


def binomial(n: int, p: float) -> Iterator[tuple[int, float]]:
    """Give each number of successes and its probability."""
    for hits in range(n + 1):
        ways = lgamma(n + 1) - lgamma(hits + 1) - lgamma(n - hits + 1)
        yield hits, exp(ways + hits * log(p) + (n - hits) * log(1 - p))


def of_a_hit_rate(n: int, p: float) -> float:
    """Return the coverage of Wilson's interval, exactly."""
    covered = []
    for hits, probability in binomial(n, p):
        low, high = wilson(hits, n)
        covered.append(probability * (low <= p <= high))
    return fsum(covered)


def of_two_hit_rates(n: int, discordant: float, delta: float) -> float:
    """Return the coverage of the interval of the difference, exactly."""
    covered = []
    for differ, probability in binomial(n, discordant):
        if probability < 1e-9:
            continue
        for won, share in binomial(differ, (1 + delta / discordant) / 2):
            low, high = difference_interval(2 * won - differ, differ, 1, n)
            covered.append(probability * share * (low <= delta <= high))
    return fsum(covered)


def simulated(n: int, population: Values, trials: int, *, paired: bool) -> float:
    """Return the coverage of the interval of a mean, or of a mean difference, over so many samples."""
    draw = random.Random(1)
    values, shares = list(population), list(population.values())
    truth = fsum(value * share for value, share in population.items())
    covered = 0
    for _ in range(trials):
        sample = draw.choices(values, shares, k=n)
        if paired:
            squares, largest = fsum(each * each for each in sample), max(map(abs, sample))
            low, high = difference_interval(fsum(sample), squares, largest, n)
        else:
            low, high = mean_interval(sample, [1] * n)
        covered += low <= truth <= high
    return covered / trials


def cases(trials: int) -> Iterator[tuple[str, str, list[float], float]]:
    """Give the kind of interval, the population, the coverage at each size, and the share of queries that differ."""
    for p in (0.5, 0.7, 0.8, 0.9, 0.95):
        yield "a hit rate (Wilson)", f"{p:.2f}", [of_a_hit_rate(n, p) for n in SIZES], 1
    for name, population in MEANS.items():
        yield "a mean (BCa)", name, [simulated(n, population, trials, paired=False) for n in SIZES], 1
    for discordant in (0.05, 0.1, 0.2, 0.4):
        for delta in (0.0, discordant / 2):
            coverages = [of_two_hit_rates(n, discordant, delta) for n in SIZES]
            yield "two hit rates (Bonett-Price)", f"{discordant:.0%} differ, {delta:+.3f}", coverages, discordant
    for name, population in DIFFERENCES.items():
        coverages = [simulated(n, population, trials, paired=True) for n in SIZES]
        yield "two means", name, coverages, 1 - population[0.0]


def main() -> int:
    """Print a line per case and return the exit status."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    slack = 3 * sqrt(0.05 * 0.95 / trials) if trials < 4_000 else 0.0
    missed = []
    print(f"{'95 % interval of':30} {'population':28}" + "".join(f"{f'n = {n}':>8}" for n in SIZES))
    for kind, case, coverages, differ in cases(trials):
        print(f"{kind:30} {case:28}" + "".join(f"{each:8.3f}" for each in coverages), flush=True)
        for n, coverage in zip(SIZES, coverages, strict=True):
            highest = 1 if n * differ < FEW else HIGHEST + slack
            if not LOWEST - slack <= round(coverage, 3) <= highest:
                missed.append(f"{kind}, {case}, n = {n}: {coverage:.3f}")
    print("known to fall short:")
    for case, population in FALL_SHORT.items():
        coverages = [simulated(n, population, trials, paired=-0.05 in population) for n in SIZES]
        print(f"{'':30} {case:28}" + "".join(f"{each:8.3f}" for each in coverages))
    print("\n".join(["missed:", *missed]) if missed else f"within two points; above where fewer than {FEW} differ")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
