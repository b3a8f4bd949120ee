"""What options say, as the core takes it."""

from collections.abc import Collection, Iterable

from hitrate_adapters.core.metrics import Metric, metrics_at
from hitrate_adapters.core.records import Matcher
from hitrate_adapters.formats.matchers import RULES, matcher_of


def matcher(rule: str | None) -> Matcher | None:
    """Return the matcher of a name such as "contains" or "overlap=0.5". Raises ValueError for what is none."""
    if rule is None:
        return None
    try:
        found = matcher_of(rule)
    except ValueError as error:
        raise ValueError(f"--match {rule}: {error}") from None
    except TypeError:  # arguments are missing, or too many
        found = None
    if found is None:
        raise ValueError(f"--match {rule}: expected {', '.join(RULES)}")
    return found


def number(what: str, text: str) -> float:
    """Return a number from 0 to 1. Raises ValueError for anything else."""
    try:
        found = float(text)
    except ValueError:
        raise ValueError(f"{what}: expected a number from 0 to 1 after the last =") from None
    if not 0 <= found <= 1:
        raise ValueError(f"{what}: expected a number from 0 to 1, found {text}")
    return found


def metrics_of(
    names: list[str] | None, cutoffs: list[str] | None, *, metrics: tuple[str, ...], k: tuple[int, ...]
) -> tuple[Metric, ...]:
    """Return the metrics that --metric and -k ask for, or those of the defaults. Raises ValueError for what is none."""
    return metrics_at(_split(names) or metrics, [_cutoff(each) for each in _split(cutoffs)] or k)


def _split(given: list[str] | None) -> list[str]:
    return [part.strip() for each in given or () for part in each.split(",") if part.strip()]


def _cutoff(given: str) -> int | None:
    if given == "all":
        return None
    try:
        found = int(given)
    except ValueError:
        found = 0
    if found < 1:
        raise ValueError(f"-k {given}: expected a whole number of at least 1, or all")
    return found


def bounds(option: str, given: Iterable[str] | None, shown: Collection[Metric]) -> dict[Metric, float]:
    """Return the metric and the number of each METRIC=NUMBER. Raises ValueError for what is none, or there twice.

    Without a cutoff a metric is of all that was retrieved: where none such is shown, that is hardly what was meant.
    """
    found: dict[Metric, float] = {}
    for each in given or ():
        name, _, bound = each.rpartition("=")
        if not name or name.endswith(">"):
            raise ValueError(f"{option} {each}: expected METRIC=NUMBER, such as hit_rate@5=0.85")
        metric = Metric.parse(name)
        if metric.k is None and metric not in shown:
            k = next((each.k for each in shown if each.k), 5)
            raise ValueError(
                f"{option} {each}: without a cutoff that is of all that was retrieved: write "
                f"{Metric(metric.name, k, metric.theta)}={bound}, or show it too, with -k all"
            )
        if metric in found:
            raise ValueError(f"{option} has {metric} twice")
        found[metric] = number(f"{option} {each}", bound)
    return found


def deltas(given: list[str] | None) -> tuple[float, ...]:
    """Return the differences that --delta asks for. Raises ValueError for what is no number."""
    try:
        return tuple(float(part) for each in given or () for part in each.split(","))
    except ValueError:
        raise ValueError(f"--delta {','.join(given or ())}: expected numbers, such as 0.02,0.05") from None
