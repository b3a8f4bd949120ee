"""Hit Rate@K for Haystack: an evaluation component that gives several metrics at several k.

It takes and gives what Haystack's own evaluators do, so that it stands beside them in an `EvaluationRunResult`.
"""
# No `from __future__ import annotations`: Haystack reads the types of inputs from the annotations as they are.

from collections.abc import Callable, Iterable
from math import nan
from typing import Any

from ._documents import ItemOf
from ._extras import extra
from .core.evaluation import Evaluation, evaluate
from .core.matching import compared
from .core.metrics import Cutoffs, Metric
from .core.records import Matcher
from .core.scoring import QueryScorer

with extra("haystack", "haystack"):
    from haystack import component, default_from_dict, default_to_dict
    from haystack.utils import deserialize_callable, serialize_callable

__all__ = ["HitRateEvaluator"]


@component
class HitRateEvaluator:
    """A Haystack component that scores rankings: each metric at each k, its mean and its value for every query.

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: "hit_rate", "recall", "precision", "mrr", "map", "ndcg", also with a cutoff of their own: "mrr@10".
        name: the name of a single metric, and the beginning of the names of several: "bm25" gives "bm25_hit_rate@5".
            None: the metric and k, then what differs from the defaults, as "hit_rate@5[contains]".
        id_key: the key of `Document.meta` that is the id, or a path of keys, also as Haystack's evaluators have it:
            "meta.source.url". None: `Document.id`.
        theta: a query is hit when that share of its relevant items is found, in (0, 1]. None: when any is.
        match_on: "ids", "texts" (`Document.content`), "spans", or "auto": what `match` compares, ids without one.
        match: when a retrieved text counts as a relevant one, such as `contains`. None: equality. A function of a
            module can be serialised with the pipeline.
        unique: drop repeats before the cutoff, for document ids that chunks share.

    Raises:
        TypeError, ValueError: an argument is wrong.

    >>> from haystack import Document
    >>> evaluator = HitRateEvaluator(k=(1, 2))
    >>> found = [[Document(id="d1"), Document(id="d2")], [Document(id="d3")]]
    >>> results = evaluator.run(ground_truth_documents=[["d2"], ["d3"]], retrieved_documents=found)["results"]
    >>> results["hit_rate@1"]["score"], results["hit_rate@1"]["individual_scores"]
    (0.5, [0.0, 1.0])
    """

    def __init__(  # noqa: PLR0913 - options, by name only
        self,
        k: Cutoffs = (1, 5, 10),
        metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
        *,
        name: str | None = None,
        id_key: str | None = None,
        theta: float | None = None,
        match_on: str = "auto",
        match: Matcher | None = None,
        unique: bool = False,
    ) -> None:
        if not isinstance(id_key, str | None):
            raise TypeError(f"id_key must be a key of Document.meta or None, got {id_key!r}")
        scorer = QueryScorer(k, metrics, theta=theta, name=name, match_on=match_on, match=match, unique=unique)
        self.metrics, self.match, self.unique = scorer.metrics, match, unique
        self._item_of = ItemOf(id_key and id_key.removeprefix("meta."), compared(match_on, match))
        self._given = {"name": name, "id_key": id_key, "match_on": match_on, "unique": unique}

    @component.output_types(  # type: ignore[untyped-decorator, unused-ignore] # where Haystack is not installed
        score=float, individual_scores=list[float], results=dict[str, dict[str, Any]], evaluation=Evaluation
    )
    def run(self, ground_truth_documents: list[list[Any]], retrieved_documents: list[list[Any]]) -> dict[str, Any]:
        """Return the mean and the value of each query for every metric.

        Args:
            ground_truth_documents: for each query what is relevant: Documents, plain ids or texts, or item -> grade.
            retrieved_documents: for each query what was retrieved, best first; [] where that was nothing.

        Returns:
            `results`: metric -> `score`, the mean over the queries that can be scored; `individual_scores`, NaN for a
            query without relevant documents; and `reasons`. `score`, `individual_scores`: those of the first metric.
            `evaluation`: for intervals, misses and other k; its queries are numbered from 0.

        Raises:
            TypeError, ValueError: the two lists differ in length, a document lacks the wanted id or a text, or no query
                can be scored. The message names the query by its number.
        """
        if len(ground_truth_documents) != len(retrieved_documents):
            raise ValueError(
                f"each query needs both lists: ground_truth_documents has {len(ground_truth_documents)}, "
                f"retrieved_documents {len(retrieved_documents)}"
            )
        qrels = {row: _of(row, self._item_of.of_relevant, items) for row, items in enumerate(ground_truth_documents)}
        run = {row: _of(row, self._item_of.of_retrieved, items) for row, items in enumerate(retrieved_documents)}
        evaluation = evaluate(qrels, run, match=self.match, unique=self.unique)
        results = {name: _result(evaluation, metric) for name, metric in self.metrics.items()}
        first = next(iter(results.values()))
        return {
            "score": first["score"],
            "individual_scores": first["individual_scores"],
            "results": results,
            "evaluation": evaluation,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the component as Haystack serialises it. Raises SerializationError for a matcher without a module."""
        described: dict[str, Any] = default_to_dict(
            self,
            k=None,
            metrics=[str(metric) for metric in self.metrics.values()],
            match=None if self.match is None else serialize_callable(self.match),
            **self._given,
        )
        return described

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "HitRateEvaluator":
        """Return the component that `to_dict` described."""
        parameters = dict(data["init_parameters"])
        if parameters.get("match") is not None:
            parameters["match"] = deserialize_callable(parameters["match"])
        made: HitRateEvaluator = default_from_dict(cls, {**data, "init_parameters": parameters})
        return made


def _of(row: int, items_of: Callable[[Any], Any], documents: Any) -> Any:
    """Return what stands for the documents of a query, which an error names."""
    try:
        return items_of(documents)
    except (TypeError, ValueError) as error:
        raise type(error)(f"query {row}: {error}") from error


def _result(evaluation: Evaluation, metric: Metric) -> dict[str, Any]:
    """Return what an `EvaluationRunResult` holds of a metric, with the reasons."""
    records = [evaluation.records.get(row) for row in evaluation.qrels]
    return {
        "score": float(evaluation.score(metric)),
        "individual_scores": [nan if record is None else metric(record) for record in records],
        "reasons": [_UNSCORED if record is None else metric.explain(record) for record in records],
    }


_UNSCORED = "cannot be scored: the query has no relevant items"
