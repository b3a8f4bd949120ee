"""The metrics: each a function of one query's record and a cutoff k; k=None is all that was retrieved.

The ranks in a record are ascending, so "in the top k" is a bisection. The functions expect a record with something
relevant and a valid k; `Metric` checks both.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import fsum, inf, log2
from operator import index

from .matching import check_number, name_of
from .records import Matcher, QueryRecord


def hit_rate(record: QueryRecord, k: int | None, theta: float | None = None) -> float:
    """1.0 if a relevant item is in the top k, else 0.0; with theta, if at least that share of the relevant items is.

    Also called Success@k (trec_eval's `success`) and binary Recall@k. The comparison with theta is made by division,
    which is right wherever the share equals theta exactly.
    """
    if theta is None:
        return float(_within(record.hit_ranks, k) > 0)
    return float(_within(record.found_ranks, k) / record.n_relevant >= theta)


def recall(record: QueryRecord, k: int | None) -> float:
    """The share of the relevant items that the top k holds (trec_eval's `recall`)."""
    return _within(record.found_ranks, k) / record.n_relevant


def precision(record: QueryRecord, k: int | None) -> float:
    """The share of the k slots that hold something relevant (trec_eval's `P`): by k, however few were retrieved.

    A repeat of an earlier item adds nothing. Without k it divides by the number of retrieved items; 0.0 for none.
    """
    slots = k or record.n_retrieved
    return _within(record.hit_ranks, k) / slots if slots else 0.0


def mrr(record: QueryRecord, k: int | None) -> float:
    """One over the rank of the first relevant item, 0.0 where the top k holds none (trec_eval's `recip_rank`)."""
    ranks = record.hit_ranks
    return 1 / ranks[0] if ranks and (k is None or ranks[0] <= k) else 0.0


def average_precision(record: QueryRecord, k: int | None) -> float:
    """The mean, over all relevant items, of the precision at the rank that found each, 0 for what is not in the top k.

    As trec_eval's `map` and `map_cut`, whose divisor is the number of relevant items whatever the k.
    """
    found = record.found_ranks[: _within(record.found_ranks, k)]
    return fsum(bisect_right(record.hit_ranks, rank) / rank for rank in found) / record.n_relevant


def ndcg(record: QueryRecord, k: int | None) -> float:
    """The discounted gain of the top k over the largest possible one, with gain = grade and discount log2(rank + 1).

    Järvelin and Kekäläinen (2002) in trec_eval's form (`ndcg_cut`): linear gain, the ideal ranking cut at k as well.
    An item found by the same chunk as another one takes the next position, so that the value stays at most 1.
    """
    if not record.gains:
        return 0.0
    value = _gain(record.gain_ranks, record.gains, k) / _ideal_gain(record.ideal, k)
    return value if value < 1 else 1.0  # grades an ulp apart can round to more


METRICS: dict[str, Callable[[QueryRecord, int | None], float]] = {
    "hit_rate": hit_rate,
    "recall": recall,
    "precision": precision,
    "mrr": mrr,
    "map": average_precision,
    "ndcg": ndcg,
}
"""The name of each metric -> the function `(record, k) -> float`."""


Cutoffs = int | Iterable[int | None] | None
"""One cutoff k or several; None is all that was retrieved."""

DEFAULT_K = (1, 3, 5, 10)
"""The cutoffs of a table for which none were asked."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric at one cutoff: called with a record it gives the float; `str()` of it is its name, as "hit_rate@5".

    Args:
        name: a key of `METRICS`, or "success", the field's other name of "hit_rate".
        k: the cutoff, an int of at least 1, or None for all that was retrieved.
        theta: for hit_rate only, the share of the relevant items that makes a hit, 0 < theta <= 1; None: at least one.

    Raises:
        TypeError, ValueError: one of these is something else.

    >>> metric = Metric("hit_rate", k=5, theta=0.5)
    >>> str(metric)
    'hit_rate@5>=0.5'
    """

    name: str
    k: int | None = None
    theta: float | None = None

    def __post_init__(self) -> None:
        """Check and normalise the fields."""
        name = "hit_rate" if self.name == "success" else self.name
        if name not in METRICS:
            raise ValueError(f"unknown metric {name!r}: one of {', '.join(METRICS)}, as in 'hit_rate@5'")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "k", cutoff(self.k))
        if self.theta is not None:
            if name != "hit_rate":
                raise ValueError(f"theta belongs to hit_rate: {name} takes none, got {self.theta!r}")
            check_number("theta", self.theta, above=0, up_to=1)
            object.__setattr__(self, "theta", float(self.theta))

    @classmethod
    def parse(cls, spec: str | Metric) -> Metric:
        """Return the metric that a name such as "mrr", "hit_rate@5" or "hit_rate@5>=0.5" stands for.

        >>> Metric.parse("success@5")
        Metric(name='hit_rate', k=5, theta=None)
        """
        if isinstance(spec, Metric):
            return spec
        if not isinstance(spec, str):
            raise TypeError(f"a metric is named by a str such as 'hit_rate@5', got {spec!r}")
        parts = re.fullmatch(_SPEC, spec.strip())
        if parts is None:
            raise ValueError(
                f"unknown metric {spec!r}: write it as 'mrr', 'hit_rate@5' or 'hit_rate@5>=0.5' "
                f"(of {', '.join(METRICS)})"
            )
        name, k, theta = parts.groups()
        return cls(name, None if k is None else int(k), None if theta is None else float(theta))

    def __call__(self, record: QueryRecord) -> float:
        """Return the value for one query, in [0, 1]. Raises ValueError where the query has nothing relevant."""
        if not record.n_relevant:
            raise ValueError(f"{self} cannot be scored: the query has no relevant items")
        return self.function(record, self.k)

    @property
    def function(self) -> Callable[[QueryRecord, int | None], float]:
        """The function `(record, k) -> float`, for records with something relevant."""
        return METRICS[self.name] if self.theta is None else partial(hit_rate, theta=self.theta)

    def __str__(self) -> str:
        """Return the name that `parse` reads."""
        at = "" if self.k is None else f"@{self.k}"
        return f"{self.name}{at}" if self.theta is None else f"{self.name}{at}>={self.theta}"

    def explain(self, record: QueryRecord) -> str:
        """Say in one line what the value of one query rests on.

        >>> from hitrate_adapters import judge
        >>> Metric("hit_rate", 2).explain(judge(["c"], ["a", "b", "c"]))
        'no relevant item in the top 2; the first is at rank 3 of 3 retrieved'
        """
        if not record.n_relevant:
            return "cannot be scored: the query has no relevant items"
        if not record.n_retrieved:
            return "nothing was retrieved"
        top = f"the top {self.k}" if self.k else f"all {record.n_retrieved} retrieved"
        if not record.hit_ranks:
            return f"no relevant item among {record.n_retrieved} retrieved"
        first = record.hit_ranks[0]
        if not _within(record.hit_ranks, self.k):
            return f"no relevant item in {top}; the first is at rank {first} of {record.n_retrieved} retrieved"
        n_found = _within(record.found_ranks, self.k)
        return f"first relevant item at rank {first}; {n_found} of {record.n_relevant} relevant in {top}"


def metrics_at(
    metrics: str | Metric | Iterable[str | Metric],
    k: Cutoffs,
    theta: float | None = None,
) -> tuple[Metric, ...]:
    """Return every metric at every cutoff, in that order and each once.

    A metric that is written with a cutoff of its own ("mrr@10") keeps it; theta goes to hit_rate only.

    >>> [str(metric) for metric in metrics_at(("hit_rate", "mrr@10"), k=(1, 5))]
    ['hit_rate@1', 'hit_rate@5', 'mrr@10']
    """
    if not isinstance(metrics, (str, Metric, Iterable)):
        raise TypeError(f"metrics must be a name such as 'hit_rate@5', or several; got {metrics!r}")
    if theta is not None:
        check_number("theta", theta, above=0, up_to=1)
    wanted = [metrics] if isinstance(metrics, (str, Metric)) else list(metrics)
    cutoffs = list(k) if isinstance(k, Iterable) and not isinstance(k, (str, bytes)) else [k]
    if not wanted or not cutoffs:
        raise ValueError(f"at least one metric and one k are needed, got metrics={wanted!r}, k={cutoffs!r}")
    found: dict[Metric, None] = {}
    for metric in map(Metric.parse, wanted):
        own_theta = theta if metric.name == "hit_rate" and metric.theta is None else metric.theta
        own_cutoffs = cutoffs if metric.k is None else [metric.k]
        found.update((Metric(metric.name, at, own_theta), None) for at in own_cutoffs)  # type: ignore[arg-type]
    return tuple(found)


def column_name(metric: Metric, match_on: str = "auto", match: Matcher | None = None, *, unique: bool = False) -> str:
    """Return the metric's name, with whatever rules tell it from the same metric made by the usual ones.

    >>> column_name(Metric("hit_rate", 5), "ids", unique=True)
    'hit_rate@5[ids, unique]'
    """
    options = [match_on] if match_on != "auto" else []
    options += [name_of(match)] if match is not None else []
    options += ["unique"] if unique else []
    return f"{metric}[{', '.join(options)}]" if options else str(metric)


def named_metrics(  # noqa: PLR0913 - what a name is made of
    metrics: str | Metric | Iterable[str | Metric],
    k: Cutoffs,
    theta: float | None = None,
    *,
    name: str | None = None,
    match_on: str = "auto",
    match: Matcher | None = None,
    unique: bool = False,
) -> dict[str, Metric]:
    """Return `metrics_at` by name: `name` for a single metric and the beginning of the names of several, if given.

    >>> list(named_metrics("hit_rate", (1, 5), name="bm25")), list(named_metrics("mrr", 10, unique=True))
    (['bm25_hit_rate@1', 'bm25_hit_rate@5'], ['mrr@10[unique]'])
    """
    wanted = metrics_at(metrics, k, theta)
    if name is None:
        return {column_name(metric, match_on, match, unique=unique): metric for metric in wanted}
    if not isinstance(name, str):
        raise TypeError(f"name must be a str or None, got {name!r}")
    if not name.strip():
        raise ValueError(f"name must not be blank, got {name!r}")
    return {name: wanted[0]} if len(wanted) == 1 else {f"{name}_{metric}": metric for metric in wanted}


_SPEC = r"([a-z_]+)(?:@(-?\d+))?(?:>=(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))?"


def cutoff(k: object) -> int | None:
    """Return k as an int, or None; raise TypeError or ValueError for what is no cutoff."""
    if k is None:
        return None
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise TypeError(
            f"k must be an int of at least 1, or None for all that was retrieved; got {k!r} ({type(k).__name__})"
        )
    if (found := index(k)) < 1:
        raise ValueError(f"k must be at least 1, or None for all that was retrieved; got {found}")
    return found


def _within(ranks: tuple[int, ...], k: int | None) -> int:
    """Count the ranks that are at most k."""
    return len(ranks) if k is None else bisect_right(ranks, k)


def _gain(ranks: Iterable[int], gains: Iterable[float], k: int | None) -> float:
    last = inf if k is None else k
    total, position = 0.0, 0
    for rank, gain in zip(ranks, gains):  # noqa: B905 - strict=True would cost as much as the loop
        position = rank if rank > position else position + 1
        if position > last:
            break
        total += gain / log2(position + 1)
    return total


@lru_cache(maxsize=1024)
def _ideal_gain(grades: tuple[float, ...], k: int | None) -> float:
    return _gain(range(1, len(grades) + 1), grades, k)
