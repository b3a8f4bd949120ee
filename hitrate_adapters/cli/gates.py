"""Gates: what must hold of an evaluation for a build to pass."""

from hitrate_adapters.core.comparison import Comparison, p_value, with_interval
from hitrate_adapters.core.evaluation import Evaluation
from hitrate_adapters.core.metrics import Metric

from .options import On
from .output import Check


def not_under(evaluation: Evaluation, lowest: dict[Metric, float], on: On) -> list[Check]:
    """Check that scores are no lower than their bounds.

    On the point, a score passes or fails. On the lower end of the interval it passes where the whole interval is at or
    above the bound and fails where all of it is below; else it is inconclusive.
    """
    checks = []
    for metric, bound in lowest.items():
        score = evaluation.score(metric)
        low, high = (score, score) if on is On.point or score.interval is None else score.interval
        outcome = "passed" if low >= bound else "failed" if high < bound else "inconclusive"
        missed = evaluation.misses(metric.k, metric.theta) if metric.name == "hit_rate" else ()
        what = f"{metric}" if on is On.point else f"all of {metric}'s interval"
        gate = f"{what} must be at least {bound:g}"
        checks.append(Check(gate, outcome, f"{score!r}", "missed", missed))
    return checks


def not_dropped(new: Evaluation, old: Evaluation, allowed: dict[Metric, float], *, anyway: bool) -> list[Check]:
    """Check that metrics fell by no more than is allowed.

    Passes where no query got worse, or the interval of the difference holds no larger drop. Fails where the drop is
    larger and the run is worse, p < 0.05 after Holm's correction for the number of gates. Else it is inconclusive; and
    so it is where it would pass without some of the old queries, unless that is allowed.
    """
    if not allowed:
        return []
    comparisons = new.compare(old, allowed, anyway=anyway)
    n_gone = 0 if anyway else len(old.records.keys() - new.records.keys())
    return [_drop(comparisons[str(metric)], drop, n_gone) for metric, drop in allowed.items()]


def _drop(comparison: Comparison, allowed: float, n_gone: int) -> Check:
    if not comparison.lost or comparison.interval[0] >= -allowed:
        outcome = "inconclusive" if n_gone else "passed"
    elif comparison.difference < -allowed and comparison.verdict == "worse":
        outcome = "failed"
    else:
        outcome = "inconclusive"
    moved = f"{comparison.old:.3f} -> {comparison.new:.3f}, {with_interval(comparison)}"
    found = f"{moved}, p {p_value(comparison.adjusted)}, n = {comparison.n}"
    if comparison.left_out:
        found += f", {len(comparison.left_out)} left out"
    if n_gone:
        found += f"; {n_gone} of the baseline's queries are not in the golden set any more (--anyway allows that)"
    return Check(f"{comparison.metric} may drop by {allowed:g} at most", outcome, found, "lost", comparison.lost)
