"""The single metrics, for LlamaIndex' own evaluators, and their registration by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import nan
from typing import Any, ClassVar

from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY
from llama_index.core.evaluation.retrieval.metrics_base import BaseRetrievalMetric, RetrievalMetricResult
from pydantic import ConfigDict, SkipValidation, create_model

from hitrate_adapters.core.items import Items
from hitrate_adapters.core.metrics import DEFAULT_K, METRICS, Cutoffs, Metric, column_name, metrics_at
from hitrate_adapters.core.records import Judge, Matcher, QueryRecord
from hitrate_adapters.core.spans import Span

from ._items import Kind, MatchOn, both_sides, compared


class AtK(BaseRetrievalMetric):
    """What the metrics share: LlamaIndex' protocol around one `Metric` of the core."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    core_name: ClassVar[str]

    # Not validated by pydantic, which would take "5" for a k and "no" for a unique, but by the core.
    k: SkipValidation[int | None] = None
    name: str | None = None
    theta: SkipValidation[float | None] = None
    match_on: MatchOn = "auto"
    match: SkipValidation[Matcher | None] = None
    unique: SkipValidation[bool] = False

    def model_post_init(self, context: object) -> None:  # noqa: ARG002
        """Refuse a k, theta, match or unique that cannot be followed."""
        _ = self.metric, self.judge, compared(self.match_on, self.match)

    @property
    def metric(self) -> Metric:
        """The core's metric."""
        return Metric(self.core_name, self.k, self.theta)

    @property
    def judge(self) -> Judge:
        """The core's judge."""
        return Judge(match=self.match, unique=self.unique)

    @property
    def metric_name(self) -> str:  # type: ignore[override]
        """The name under which an evaluator keeps the result."""
        return self.name or column_name(self.metric, self.match_on, self.match, unique=self.unique)

    def compute(  # noqa: PLR0913 - LlamaIndex' arguments, and the spans
        self,
        query: str | None = None,  # noqa: ARG002
        expected_ids: Items | None = None,
        retrieved_ids: Sequence[str] | None = None,
        expected_texts: Items | None = None,
        retrieved_texts: Sequence[str] | None = None,
        *,
        retrieved_spans: Sequence[Span] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> RetrievalMetricResult:
        """Return the score in [0, 1], NaN where nothing is expected, and what it rests on as its metadata.

        The metadata are `k`, `match_on` ("ids", "texts" or "spans"), `first_hit_rank`, `n_relevant`, `n_retrieved` and
        `reason`. What is expected may be graded: item -> grade; expected spans are given as `expected_ids`.

        Raises:
            TypeError: the items are no list, such as a bare string, or one of the two sides is not given.
            ValueError: an id is neither a str nor an int, or a grade is not finite.
        """
        kind, relevant, retrieved = both_sides(
            self.match_on,
            self.match,
            expected_ids=expected_ids,
            retrieved_ids=retrieved_ids,
            expected_texts=expected_texts,
            retrieved_texts=retrieved_texts,
            retrieved_spans=retrieved_spans,
        )
        return self.result(self.judge(relevant, retrieved), kind)

    def result(self, record: QueryRecord, kind: Kind) -> RetrievalMetricResult:
        """Return what `compute` returns, of a query that was judged, on ids, texts or spans."""
        return RetrievalMetricResult(
            score=self.metric(record) if record.n_relevant else nan,
            metadata={
                "k": self.k,
                "match_on": kind,
                "first_hit_rank": record.hit_ranks[0] if record.hit_ranks else None,
                "n_relevant": record.n_relevant,
                "n_retrieved": record.n_retrieved,
                "reason": self.metric.explain(record),
            },
        )


class HitRateAtK(AtK):
    """1.0 where something relevant is in the top k, else 0.0; with theta, where that share of what is relevant is.

    Several go into one `RetrieverEvaluator(metrics=[...])`, which finds each result under its `metric_name`.

    Args:
        k: the cutoff; None: all that was retrieved.
        name: the `metric_name`. None: the metric and k, as "hit_rate@5", and then what differs from the defaults, as
            "hit_rate@5[contains]": an evaluator keeps a single result of each name.
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match_on: "ids", "texts", "spans", or "auto": ids, or texts where only texts are expected; with `match`, what it
            compares. `HitRateEvaluator` and `HitRateResponseEvaluator` alone know the spans of nodes.
        match: when a retrieved item counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut, for document ids of chunks.

    Raises:
        TypeError, ValueError: one of these is something else, or there is no such argument.

    >>> hit = HitRateAtK(k=2)
    >>> hit.metric_name
    'hit_rate@2'
    >>> hit.compute(expected_ids=["d2", "d7"], retrieved_ids=["d1", "d2", "d3"]).score
    1.0
    """

    core_name = "hit_rate"


class RecallAtK(AtK):
    """The share of the relevant items that the top k holds. Arguments: as `HitRateAtK`, without theta.

    >>> RecallAtK(k=3).compute(expected_ids=["a", "b"], retrieved_ids=["a", "x", "y"]).score
    0.5
    """

    core_name = "recall"


class PrecisionAtK(AtK):
    """The share of the k slots that hold something relevant. Arguments: as `HitRateAtK`, without theta.

    >>> PrecisionAtK(k=4).compute(expected_ids=["a"], retrieved_ids=["a"]).score
    0.25
    """

    core_name = "precision"


class MRRAtK(AtK):
    """One over the rank of the first relevant item. Arguments: as `HitRateAtK`, without theta.

    >>> MRRAtK(k=10).compute(expected_ids=["a"], retrieved_ids=["x", "a"]).score
    0.5
    """

    core_name = "mrr"


class MAPAtK(AtK):
    """The average precision of the top k. Arguments: as `HitRateAtK`, without theta.

    >>> MAPAtK(k=10).compute(expected_ids=["a"], retrieved_ids=["x", "a"]).score
    0.5
    """

    core_name = "map"


class NDCGAtK(AtK):
    """The normalised discounted cumulative gain of the top k. Arguments: as `HitRateAtK`, without theta.

    >>> NDCGAtK(k=10).compute(expected_ids={"a": 3, "b": 1}, retrieved_ids=["a", "b"]).score
    1.0
    """

    core_name = "ndcg"


_CLASSES = {cls.core_name: cls for cls in (HitRateAtK, RecallAtK, PrecisionAtK, MRRAtK, MAPAtK, NDCGAtK)}


def at_k(metric: Metric, **rules: Any) -> AtK:
    """Return LlamaIndex' form of a metric."""
    return _CLASSES[metric.name](k=metric.k, theta=metric.theta, **rules)


def register_metrics(k: Cutoffs = DEFAULT_K, metrics: str | Metric | Iterable[str | Metric] = tuple(METRICS)) -> None:
    """Let `from_metric_names` of every LlamaIndex evaluator find each metric at each k, as in "hit_rate@5".

    Args:
        k: one cutoff or several. None gives plain names such as "mrr", most of which LlamaIndex has itself.
        metrics: their names.

    Raises:
        TypeError, ValueError: a k or a name is something else, or a name is that of another metric, such as LlamaIndex'
            own. Then nothing is registered.

    >>> register_metrics(k=(1, 5), metrics="hit_rate")
    >>> METRIC_REGISTRY["hit_rate@5"]().compute(expected_ids=["a"], retrieved_ids=["x", "a"]).score
    1.0
    """
    wanted = {str(metric): metric for metric in metrics_at(metrics, k)}
    taken = [name for name in wanted if not _is_ours(METRIC_REGISTRY.get(name, AtK))]
    if taken:
        raise ValueError(f"LlamaIndex' registry has other metrics named {', '.join(taken)}: give another k")
    for name, metric in wanted.items():
        base = _CLASSES[metric.name]
        METRIC_REGISTRY[name] = create_model(
            f"{base.__name__}[{name}]",
            __base__=(_Registered, base),  # type: ignore[arg-type]
            k=(Any, metric.k),
            theta=(Any, metric.theta),
        )


class _Registered:
    """What lets metrics of registered classes be pickled: as those of the class that theirs is made from."""

    core_name: ClassVar[str]

    def __reduce__(self) -> tuple[Callable[[], AtK], tuple[()]]:
        return partial(_CLASSES[self.core_name], **dict(self)), ()  # type: ignore[call-overload]


def _is_ours(registered: object) -> bool:
    return isinstance(registered, type) and issubclass(registered, AtK)
