"""Hit Rate@K and the metrics beside it as DeepEval metrics, and `HitRateEvaluator`, several of them at once.

Every metric reads the test case: ids from its `metadata`, or texts from `retrieval_context` and `context`.

>>> from deepeval.test_case import LLMTestCase
>>> ids = {"retrieved_ids": ["d1", "d2"], "relevant_ids": ["d2"]}
>>> metric = HitRateAtK(1)
>>> metric.measure(LLMTestCase(input="How long do refunds take?", metadata=ids))
0.0
>>> metric.reason
'no relevant item in the top 1; the first is at rank 2 of 2 retrieved (matched on ids)'
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from ._documents import ItemOf
from ._extras import extra
from .core.evaluation import Evaluation
from .core.matching import check_number, compared
from .core.metrics import Cutoffs, Metric, named_metrics
from .core.records import Matcher
from .core.scoring import QueryScorer
from .core.sound import evaluate_rows

with extra("deepeval", "deepeval"):
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

__all__ = [
    "HitRateAtK",
    "HitRateEvaluator",
    "MAPAtK",
    "MRRAtK",
    "NDCGAtK",
    "PrecisionAtK",
    "RecallAtK",
]


class _AtK(BaseMetric):  # type: ignore[misc, unused-ignore] # where DeepEval is not installed
    """What the metrics share: DeepEval's protocol around one `Metric` of the core.

    DeepEval copies a metric for each test case: it calls the class with the attributes that have the names of the
    arguments. So each argument is kept under its own name.
    """

    _metric: ClassVar[str]
    language = "any"  # not None, so that the cache never answers: it looks at the texts of a test case, not its ids

    def __init__(  # noqa: PLR0913 - the words that all adapters share
        self,
        k: int | None = None,
        *,
        threshold: float | None = 0.5,
        name: str | None = None,
        theta: float | None = None,
        match_on: str = "auto",
        match: Matcher | None = None,
        unique: bool = False,
        retrieved_key: str = "retrieved_ids",
        relevant_key: str = "relevant_ids",
    ) -> None:
        if threshold is not None:
            check_number("threshold", threshold, up_to=1)
        at = Metric(self._metric, k, theta)
        self._verdicts = QueryScorer(None, at, name=name, match_on=match_on, match=match, unique=unique)
        self.k, self.theta, self.match, self.unique = k, theta, match, unique
        self.threshold = threshold
        is_open = match_on == "auto" and match is None  # ids where a test case has them, else texts
        self.match_on = match_on if is_open else compared(match_on, match)
        (self.name,) = self._verdicts.metrics
        if name is None:
            keys = {retrieved_key: "retrieved_ids", relevant_key: "relevant_ids"}
            self.name = " ".join([self.name, *(key for key, usual in keys.items() if key != usual)])
        self.retrieved_key, self.relevant_key = retrieved_key, relevant_key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @property
    def __name__(self) -> str:
        """The name in DeepEval's reports."""
        return self.name

    def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float | None:
        """Return the value of a test case in [0, 1], or None where it has no relevant items; `reason` says why.

        Raises:
            MissingTestCaseParamsError: the test case lacks the ids or the texts. DeepEval skips it if told to.
            ValueError: it holds something else than lists of them.
        """
        self.score = self.reason = self.error = None
        try:
            kind, relevant, retrieved = self._read(test_case)
            found = self._verdicts(relevant, retrieved)
        except TypeError as error:  # which DeepEval takes for a `measure` with another signature
            raise ValueError(f"{self.name}: {error}") from error
        ((self.score, reason),) = found.values()
        self.reason = f"{reason} (matched on {kind})"
        self.is_successful()
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float | None:
        """Return what `measure` returns."""
        return self.measure(test_case)

    def is_successful(self) -> bool | None:
        """Tell whether the score reaches the threshold; None, which is no failure, where there is no score."""
        is_undecided = self.error is None and self.score is None
        self.success = None if is_undecided else super().is_successful()
        return self.success

    def evaluation(self, test_cases: Iterable[LLMTestCase]) -> Evaluation:
        """Return an `Evaluation` of test cases, for intervals, misses, segments and comparisons.

        Its query ids are the names of the test cases, "test_case_0" and so on of those without one, as in DeepEval's
        results; further ones of a name are "NAME #2" and so on. One that cannot be scored is named in `unscored`.

        Args:
            test_cases: what DeepEval's `evaluate` was given, or the test cases of a dataset; not the results, in which
                an empty `retrieval_context` is lost.

        Raises:
            MissingTestCaseParamsError, TypeError, ValueError: no test case can be scored, or these are none.
        """
        rows = list(test_cases)
        for row in rows:
            if not isinstance(row, LLMTestCase):
                raise TypeError(f"evaluation takes the test cases that `evaluate` was given, got {type(row).__name__}")
        named = ((f"test_case_{at}" if row.name is None else row.name, row) for at, row in enumerate(rows))
        return evaluate_rows(named, lambda row: self._read(row)[1:], self._verdicts.judge)[0]

    def _read(self, test_case: LLMTestCase) -> tuple[str, Any, Any]:
        """Return what the test case is matched on, as "ids", and either side, ready to be judged."""
        kind, relevant, retrieved = self._items(test_case)
        item_of = ItemOf(match_on=kind)
        return kind, item_of.of_relevant(relevant), item_of.of_retrieved(retrieved)

    def _items(self, test_case: LLMTestCase) -> tuple[str, Any, Any]:
        """Return what the test case is matched on, and what it has of either side."""
        metadata, keys = test_case.metadata or {}, (self.relevant_key, self.retrieved_key)
        columns = {
            "ids": (tuple(f"metadata[{key!r}]" for key in keys), tuple(map(metadata.get, keys))),
            "texts": (("context", "retrieval_context"), (test_case.context, test_case.retrieval_context)),
        }
        columns["spans"] = columns["ids"]
        kinds = ["ids", "texts"] if self.match_on == "auto" else [self.match_on]
        for kind in kinds:
            relevant, retrieved = columns[kind][1]
            if relevant is not None and retrieved is not None:
                return kind, relevant, list(map(_text, retrieved)) if kind == "texts" else retrieved
        needed = ", or ".join(" and ".join(columns[kind][0]) for kind in kinds)
        raise MissingTestCaseParamsError(f"{self.name} needs {needed} of the test case")


def _text(context: Any) -> Any:
    """Return the text of a retrieved context, which DeepEval lets be a `RetrievedContextData`."""
    return getattr(context, "context", context)


class HitRateAtK(_AtK):
    """1.0 where something relevant is in the top k, else 0.0; with theta, where that share of what is relevant is.

    It goes into `evaluate(metrics=[...])` and `assert_test(..., metrics=[...])`. A test case whose relevant items are
    an empty list cannot be scored: its score and its verdict are None.

    Args:
        k: the cutoff; None: all that was retrieved.
        threshold: the score from which a test case passes, at most 1; None: no verdict.
        name: the name in the report. None: the metric and k, as "hit_rate@5", then what differs from the defaults, as
            "hit_rate@5[contains]" or "hit_rate@5 bm25_ids": DeepEval adds up what has the same name.
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match_on: "ids", "texts", "spans", or "auto": ids where the metadata has both sides of them, else texts. With
            `match`, "auto" is what it compares. The metadata has spans in the place of ids.
        match: when a retrieved item counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut, for document ids of chunks.
        retrieved_key, relevant_key: where the ids are in the metadata: a list, best first, and a list, or id -> grade.

    Raises:
        TypeError, ValueError: one of these is something else.
    """

    _metric = "hit_rate"


class RecallAtK(_AtK):
    """The share of the relevant items that the top k holds. Arguments: as `HitRateAtK`, without theta.

    >>> from deepeval.test_case import LLMTestCase
    >>> RecallAtK(3).measure(LLMTestCase(input="?", retrieval_context=["a", "x"], context=["a", "b"]))
    0.5
    """

    _metric = "recall"


class PrecisionAtK(_AtK):
    """The share of the k slots that hold something relevant. Arguments: as `HitRateAtK`, without theta.

    >>> from deepeval.test_case import LLMTestCase
    >>> PrecisionAtK(4).measure(LLMTestCase(input="?", retrieval_context=["x", "a"], context=["a"]))
    0.25
    """

    _metric = "precision"


class MRRAtK(_AtK):
    """One over the rank of the first relevant item. Arguments: as `HitRateAtK`, without theta.

    >>> from deepeval.test_case import LLMTestCase
    >>> MRRAtK(10).measure(LLMTestCase(input="?", retrieval_context=["x", "a"], context=["a"]))
    0.5
    """

    _metric = "mrr"


class MAPAtK(_AtK):
    """The average precision of the top k. Arguments: as `HitRateAtK`, without theta.

    >>> from deepeval.test_case import LLMTestCase
    >>> MAPAtK(10).measure(LLMTestCase(input="?", retrieval_context=["x", "a"], context=["a"]))
    0.5
    """

    _metric = "map"


class NDCGAtK(_AtK):
    """The normalised discounted cumulative gain of the top k. Arguments: as `HitRateAtK`, without theta.

    >>> from deepeval.test_case import LLMTestCase
    >>> NDCGAtK(10).measure(LLMTestCase(input="?", retrieval_context=["a", "x"], context=["a"]))
    1.0
    """

    _metric = "ndcg"


class HitRateEvaluator(list[_AtK]):
    """Several metrics at several k: a list of DeepEval metrics, by itself or unpacked into a longer one.

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: their names, of "hit_rate", "recall", "precision", "mrr", "map" and "ndcg".
        name: the name of a single one, and the beginning of the names of several: "bm25" gives "bm25_hit_rate@5".
        threshold, theta, match_on, match, unique, retrieved_key, relevant_key: as for `HitRateAtK`.

    Raises:
        TypeError, ValueError: one of these is something else.

    >>> HitRateEvaluator(k=(1, 5), metrics=("hit_rate", "mrr@10"))
    [<HitRateAtK 'hit_rate@1'>, <HitRateAtK 'hit_rate@5'>, <MRRAtK 'mrr@10'>]
    """

    def __init__(  # noqa: PLR0913 - the words that all adapters share
        self,
        k: Cutoffs = (1, 5, 10),
        metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
        *,
        threshold: float | None = 0.5,
        name: str | None = None,
        theta: float | None = None,
        match_on: str = "auto",
        match: Matcher | None = None,
        unique: bool = False,
        retrieved_key: str = "retrieved_ids",
        relevant_key: str = "relevant_ids",
    ) -> None:
        named = named_metrics(metrics, k, theta, name=name)
        classes = {cls._metric: cls for cls in (HitRateAtK, RecallAtK, PrecisionAtK, MRRAtK, MAPAtK, NDCGAtK)}
        super().__init__(
            classes[metric.name](
                metric.k,
                threshold=threshold,
                name=None if name is None else each,
                theta=metric.theta,
                match_on=match_on,
                match=match,
                unique=unique,
                retrieved_key=retrieved_key,
                relevant_key=relevant_key,
            )
            for each, metric in named.items()
        )

    def evaluation(self, test_cases: Iterable[LLMTestCase]) -> Evaluation:
        """Return an `Evaluation` of test cases, as each of the metrics does: see `HitRateAtK.evaluation`."""
        return self[0].evaluation(test_cases)
