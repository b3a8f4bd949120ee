"""Hit Rate@K and the metrics beside it in LlamaIndex: metrics, a retriever evaluator, and a response evaluator.

Ids are strings in LlamaIndex, so an id that is an int is compared by its `str()`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from math import isnan, nan
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from ._extras import extra
from .core import display
from .core.evaluation import Evaluation, evaluate, mean
from .core.metrics import DEFAULT_K, METRICS, Cutoffs, Metric, metrics_at
from .core.records import Items, Judge, Matcher, judge
from .core.retrieval import Run, check_on_error

with extra("llama-index", "llama_index"):
    from llama_index.core.async_utils import asyncio_run, get_asyncio_module
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult, RetrievalEvalResult, RetrieverEvaluator
    from llama_index.core.evaluation.retrieval.base import RetrievalEvalMode
    from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY
    from llama_index.core.evaluation.retrieval.metrics_base import BaseRetrievalMetric, RetrievalMetricResult
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, ImageNode, MetadataMode, NodeWithScore
    from pydantic import ConfigDict, SkipValidation, create_model

__all__ = [
    "DatasetResult",
    "HitRateAtK",
    "HitRateEvaluator",
    "HitRateResponseEvaluator",
    "MAPAtK",
    "MRRAtK",
    "NDCGAtK",
    "PrecisionAtK",
    "RecallAtK",
    "register_metrics",
    "results_table",
]

MatchOn = Literal["auto", "ids", "texts"]
By = str | Callable[[BaseNode], str | int]
"""What a node's id is: "node_id", "ref_doc_id", "hash", "metadata:KEY", or a function of the node."""
_Metrics = str | Metric | BaseRetrievalMetric | Iterable[str | Metric | BaseRetrievalMetric]

_K = Annotated[int | None, SkipValidation]  # `Metric` validates it, and takes neither "5" nor True for a cutoff
_Theta = Annotated[float | None, SkipValidation]
_Match = Annotated[Matcher | None, SkipValidation]


class _MetricName(str):
    """Read from the class, the metric's name, as LlamaIndex' own; from an instance, its name with k and options."""

    __slots__ = ()

    def __get__(self, metric: _AtK | None, owner: type) -> str:
        return str(self) if metric is None else metric.name or _column_name(metric)


class _AtK(BaseRetrievalMetric):
    """What the metrics share: LlamaIndex' protocol around one `Metric` of the core."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: _K = None
    name: str | None = None
    match_on: MatchOn = "auto"
    match: _Match = None
    unique: bool = False

    def model_post_init(self, context: object) -> None:  # noqa: ARG002
        """Refuse a k, theta or match that cannot be followed."""
        _ = self.metric, Judge(match=self.match, unique=self.unique)

    @property
    def metric(self) -> Metric:
        """The core's metric."""
        return Metric(type(self).metric_name, self.k, getattr(self, "theta", None))

    def compute(
        self,
        query: str | None = None,  # noqa: ARG002
        expected_ids: Items | None = None,
        retrieved_ids: Sequence[str] | None = None,
        expected_texts: Items | None = None,
        retrieved_texts: Sequence[str] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> RetrievalMetricResult:
        """Return the score in [0, 1], NaN where nothing is expected, and what it rests on as its metadata.

        The metadata are `k`, `match_on` ("ids" or "texts"), `first_hit_rank`, `n_relevant`, `n_retrieved` and `reason`.
        What is expected may be graded: item -> grade.

        Raises:
            TypeError: the items are no list, such as a bare string, or what was retrieved is not given.
            ValueError: an id is neither a str nor an int, or a grade is not finite.
        """
        relevant_ids = _strings(expected_ids)
        kind = _kind(self, has_ids=bool(relevant_ids) or expected_texts is None)
        relevant = expected_texts if kind == "texts" else relevant_ids
        retrieved = retrieved_texts if kind == "texts" else _strings(retrieved_ids)
        if retrieved is None:
            raise TypeError(f"retrieved_{kind} are needed to match on {kind}: pass [] where nothing was retrieved")
        record = judge(() if relevant is None else relevant, retrieved, match=self.match, unique=self.unique)
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


class HitRateAtK(_AtK):
    """1.0 where something relevant is in the top k, else 0.0; with theta, where that share of what is relevant is.

    Several go into one `RetrieverEvaluator(metrics=[...])`, which finds each result under its `metric_name`.

    Args:
        k: the cutoff; None: all that was retrieved.
        name: the `metric_name`. None: the metric and k, as "hit_rate@5", and then what differs from the defaults, as
            "hit_rate@5[contains]": an evaluator keeps a single result of each name.
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match_on: "ids", "texts", or "auto": ids, or texts where only texts are expected. With `match`, "auto" is texts.
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

    metric_name: ClassVar[str] = _MetricName("hit_rate")
    theta: _Theta = None


class RecallAtK(_AtK):
    """The share of the relevant items that the top k holds. Arguments: as `HitRateAtK`, without theta.

    >>> RecallAtK(k=3).compute(expected_ids=["a", "b"], retrieved_ids=["a", "x", "y"]).score
    0.5
    """

    metric_name: ClassVar[str] = _MetricName("recall")


class PrecisionAtK(_AtK):
    """The share of the k slots that hold something relevant. Arguments: as `HitRateAtK`, without theta.

    >>> PrecisionAtK(k=4).compute(expected_ids=["a"], retrieved_ids=["a"]).score
    0.25
    """

    metric_name: ClassVar[str] = _MetricName("precision")


class MRRAtK(_AtK):
    """One over the rank of the first relevant item. Arguments: as `HitRateAtK`, without theta.

    >>> MRRAtK(k=10).compute(expected_ids=["a"], retrieved_ids=["x", "a"]).score
    0.5
    """

    metric_name: ClassVar[str] = _MetricName("mrr")


class MAPAtK(_AtK):
    """The average precision of the top k. Arguments: as `HitRateAtK`, without theta.

    >>> MAPAtK(k=10).compute(expected_ids=["a"], retrieved_ids=["x", "a"]).score
    0.5
    """

    metric_name: ClassVar[str] = _MetricName("map")


class NDCGAtK(_AtK):
    """The normalised discounted cumulative gain of the top k. Arguments: as `HitRateAtK`, without theta.

    >>> NDCGAtK(k=10).compute(expected_ids={"a": 3, "b": 1}, retrieved_ids=["a", "b"]).score
    1.0
    """

    metric_name: ClassVar[str] = _MetricName("ndcg")


_CLASSES = {str(cls.metric_name): cls for cls in (HitRateAtK, RecallAtK, PrecisionAtK, MRRAtK, MAPAtK, NDCGAtK)}


def register_metrics(
    k: Cutoffs = DEFAULT_K, metrics: str | Metric | Iterable[str | Metric] = tuple(METRICS), *, replace: bool = False
) -> None:
    """Let `from_metric_names` of every LlamaIndex evaluator find each metric at each k, as in "hit_rate@5".

    Args:
        k: one cutoff or several. None gives plain names, of which LlamaIndex has hit_rate, mrr, precision, recall and
            ndcg itself.
        metrics: their names.
        replace: take over names that are registered already, such as LlamaIndex' own "hit_rate".

    Raises:
        TypeError, ValueError: a k or a name is something else; a name is taken and `replace` is False. Then nothing is
            registered.

    >>> register_metrics(k=(1, 5), metrics="hit_rate")
    >>> METRIC_REGISTRY["hit_rate@5"]().compute(expected_ids=["a"], retrieved_ids=["x", "a"]).score
    1.0
    """
    wanted = metrics_at(metrics, k)
    ours = {name for name, cls in METRIC_REGISTRY.items() if isinstance(cls, type) and issubclass(cls, _AtK)}
    taken = [name for name in map(str, wanted) if name in METRIC_REGISTRY.keys() - ours]
    if taken and not replace:
        raise ValueError(f"LlamaIndex has other metrics named {', '.join(taken)}: pass replace=True to take them over")
    for metric in wanted:
        base = _CLASSES[metric.name]
        fields: dict[str, Any] = {"k": (_K, metric.k)}
        if metric.theta is not None:
            fields["theta"] = (_Theta, metric.theta)
        METRIC_REGISTRY[str(metric)] = create_model(f"{base.__name__}[{metric}]", __base__=base, **fields)


class HitRateEvaluator(RetrieverEvaluator):
    """A `RetrieverEvaluator` that scores several metrics at several k, query by query or over a whole dataset.

    Args:
        retriever: the retriever to evaluate.
        k: one cutoff or several; None: all that was retrieved.
        metrics: names, of "hit_rate", "recall", "precision", "mrr", "map", "ndcg" and of those in LlamaIndex' registry
            that are none of these, or metric objects, LlamaIndex' own too. None: hit_rate.
        by: what identifies a node: "node_id", "ref_doc_id" (the document that it is a chunk of), "hash" (its content),
            "metadata:KEY", or a function of the node.
        match_on, match, theta, unique: as for `HitRateAtK`.
        node_postprocessors: applied to what was retrieved, in order, such as rerankers.

    Raises:
        TypeError, ValueError: one of these is something else, or two metrics have the same name.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> class Constant(BaseRetriever):
    ...     def _retrieve(self, query_bundle):
    ...         return [NodeWithScore(node=TextNode(id_=node_id, text=node_id)) for node_id in ("d1", "d2")]
    >>> result = HitRateEvaluator(retriever=Constant(), k=(1, 5)).evaluate("any query", expected_ids=["d2"])
    >>> result.metric_vals_dict
    {'hit_rate@1': 0.0, 'hit_rate@5': 1.0}
    """

    model_config = ConfigDict(extra="forbid")

    by: Any
    match_on: MatchOn
    match: _Match
    unique: bool

    def __init__(  # noqa: PLR0913 - the words that all adapters share
        self,
        *,
        retriever: BaseRetriever,
        k: Cutoffs = (1, 5, 10),
        metrics: _Metrics | None = None,
        by: By = "node_id",
        match_on: MatchOn = "auto",
        match: Matcher | None = None,
        theta: float | None = None,
        unique: bool = False,
        node_postprocessors: list[BaseNodePostprocessor] | None = None,
    ) -> None:
        rules: dict[str, Any] = {"match_on": match_on, "match": match, "unique": unique}
        super().__init__(
            retriever=retriever,
            metrics=_metrics("hit_rate" if metrics is None else metrics, k, theta, rules),
            node_postprocessors=node_postprocessors,
            **{"by": _checked(by), **rules},
        )

    @classmethod
    def from_metric_names(cls, metric_names: list[str], **kwargs: Any) -> Self:
        """Return an evaluator by names such as "hit_rate@5" and "mrr", which need not be registered.

        A name without a cutoff is over all that was retrieved, unless `k` is among the other arguments.
        """
        return cls(**{"k": None, **kwargs, "metrics": metric_names})

    def evaluate_dataset(
        self, dataset: Any, workers: int = 2, show_progress: bool = False, *, on_error: str = "record"
    ) -> DatasetResult:
        """Return the result of every query of a dataset, in its order, and what they come to.

        It works inside a running event loop too, as in a notebook.

        Args:
            dataset: whatever has `queries` (query id -> query) and `relevant_docs` (query id -> expected ids, or id ->
                grade), such as an EmbeddingQAFinetuneDataset; a dict of the two; or the path of its JSON file. To match
                on texts they are looked up in its `corpus` (id -> text); without one, `relevant_docs` holds texts.
            workers: how many queries are retrieved at once.
            show_progress: show a progress bar, tqdm's.
            on_error: "record" keeps the exception of a query in the result's `errors` and goes on; a query whose
                retrieval failed is a miss. "raise" stops and raises it.

        Raises:
            TypeError, ValueError: the dataset has another form, or no query that can be scored. Then nothing has been
                retrieved.
        """
        return _unless_error(asyncio_run(self._outcome(dataset, workers, show_progress, on_error)))

    async def aevaluate_dataset(
        self, dataset: Any, workers: int = 2, show_progress: bool = False, *, on_error: str = "record"
    ) -> DatasetResult:
        """Return what `evaluate_dataset` returns."""
        return _unless_error(await self._outcome(dataset, workers, show_progress, on_error))

    async def aevaluate(
        self,
        query: str,
        expected_ids: Items,
        expected_texts: Items | None = None,
        mode: RetrievalEvalMode = RetrievalEvalMode.TEXT,
        **kwargs: Any,  # noqa: ARG002
    ) -> RetrievalEvalResult:
        """Return the result of one query; what is expected may be graded: item -> grade.

        Raises what the retriever, a postprocessor or a metric raises, and ValueError for a node that `by` gives no id.
        """
        found = await self._aget_retrieved_ids_and_texts(query, mode)
        return self._result(_Question(query, _strings(expected_ids), expected_texts, mode), found)

    async def _aget_retrieved_ids_and_texts(
        self, query: str, mode: RetrievalEvalMode = RetrievalEvalMode.TEXT
    ) -> _Found:
        """Return the ids and the texts of the nodes, best first; in image mode, of the image nodes among them."""
        nodes = await self.retriever.aretrieve(query)
        for postprocessor in self.node_postprocessors or ():
            nodes = postprocessor.postprocess_nodes(nodes, query_str=query)
        if mode == RetrievalEvalMode.IMAGE:
            nodes = [node for node in nodes if isinstance(node.node, ImageNode)]
        return _ids(nodes, self.by), _texts(nodes)

    async def _outcome(
        self, dataset: Any, workers: int, show_progress: bool, on_error: str
    ) -> DatasetResult | Exception:
        """Return the result, or the error to raise: LlamaIndex' asyncio_run would take a RuntimeError for its own."""
        check_on_error(on_error)
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers!r}")
        kind = _kind(self, has_ids=True)
        questions = _questions(dataset, kind)
        semaphore = asyncio.Semaphore(workers)
        errors: dict[Hashable, Exception] = {}

        async def retrieve(query_id: Hashable, question: _Question) -> _Found:
            async with semaphore:
                if not errors or on_error == "record":
                    try:
                        return await self._aget_retrieved_ids_and_texts(question.query, question.mode)
                    except Exception as error:
                        error.add_note(f"while retrieving for query {query_id!r}")
                        errors[query_id] = error
                return [], []

        found = await get_asyncio_module(show_progress).gather(*starmap(retrieve, questions.items()))
        if errors and on_error == "raise":
            return next(iter(errors.values()))
        run = Run(zip(questions, (pair[kind == "texts"] for pair in found), strict=True), errors)
        qrels = {query_id: getattr(question, f"expected_{kind}") for query_id, question in questions.items()}
        evaluation = evaluate(qrels, run, match=self.match, unique=self.unique)
        results = {
            query_id: self._result(question, pair, query_id, errors if on_error == "record" else None)
            for (query_id, question), pair in zip(questions.items(), found, strict=True)
        }
        cutoffs = dict.fromkeys(metric.k for metric in self.metrics if isinstance(metric, _AtK))
        return DatasetResult(results, evaluation, errors, tuple(cutoffs) or DEFAULT_K)

    def _result(
        self,
        question: _Question,
        found: _Found,
        query_id: Hashable = None,
        errors: dict[Hashable, Exception] | None = None,
    ) -> RetrievalEvalResult:
        """Return the scores of one query; where `errors` are there to note it, a metric that raises is not scored."""
        query, expected_ids, expected_texts, mode = question
        retrieved_ids, retrieved_texts = found
        scores = {}
        for metric in self.metrics:
            try:
                score = metric.compute(query, expected_ids, retrieved_ids, expected_texts, retrieved_texts)
            except Exception as error:
                if errors is None:
                    raise
                errors.setdefault(query_id, error)
                score = RetrievalMetricResult(score=nan, metadata={"reason": f"{type(error).__name__}: {error}"})
            scores[metric.metric_name] = score
        return RetrievalEvalResult(
            query=query,
            expected_ids=list(expected_ids),
            expected_texts=None if expected_texts is None else list(expected_texts),
            retrieved_ids=retrieved_ids,
            retrieved_texts=retrieved_texts,
            mode=mode,
            metric_dict=scores,
        )


@dataclass(frozen=True, repr=False, eq=False)
class DatasetResult:
    """What a dataset's evaluation comes to: `evaluation`, `results`, `errors`, and printed, a table.

    Iteration gives the results, so it goes wherever the list of LlamaIndex' own `aevaluate_dataset` went, such as
    `get_retrieval_results_df`.
    """

    by_query: dict[Hashable, RetrievalEvalResult]
    """Query id -> its result, in the order of the dataset."""
    evaluation: Evaluation
    """The judged queries, for any other metric and k, their misses and comparisons."""
    errors: dict[Hashable, Exception]
    """Query id -> what its retrieval raised (then it is a miss), or one of its metrics (then that one is NaN)."""
    k: tuple[int | None, ...]
    """The cutoffs of the printed table."""

    @property
    def results(self) -> list[RetrievalEvalResult]:
        """The result of each query, in the order of the dataset."""
        return list(self.by_query.values())

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per query, for `pandas.DataFrame(...)`: its id and text, its scores, and what was found.

        A score that is not there is None, which pandas leaves out of a mean.
        """
        found = {row.pop("query_id"): row for row in self.evaluation.rows("hit_rate", None)}
        return [
            {
                "query_id": query_id,
                "query": result.query,
                **{name: None if isnan(score) else score for name, score in result.metric_vals_dict.items()},
                **{column: value for column, value in found[query_id].items() if column != "hit_rate"},
                "error": self.errors.get(query_id),
            }
            for query_id, result in self.by_query.items()
        ]

    def __iter__(self) -> Iterator[RetrievalEvalResult]:
        """Give the results in the order of the dataset."""
        return iter(self.by_query.values())

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.by_query)

    def __str__(self) -> str:
        """Return the table of every metric at the evaluator's cutoffs."""
        return self.evaluation.table(self.k)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return display.html(self.evaluation, self.k)


class HitRateResponseEvaluator(BaseEvaluator):
    """Scores the retrieval behind a response, beside faithfulness and correctness in a `BatchEvalRunner`.

    What was retrieved are the response's `source_nodes`, so what is left after reranking; what is expected comes as the
    keyword argument `expected_ids` or `expected_texts`, and may be graded: item -> grade. Bad data give an
    `invalid_result` with its reason and never an exception, since a `BatchEvalRunner` would lose its whole batch.

    Args:
        k: the cutoff; None: all source nodes.
        metric: the metric's name, such as "hit_rate" or "mrr".
        by: as for `HitRateEvaluator`.
        theta, match_on, match, unique: as for `HitRateAtK`.

    Raises:
        TypeError, ValueError: one of these is something else.

    >>> contexts, expected_texts = ["Shipping is free.", "Refunds take a day."], ["Refunds take a day."]
    >>> result = HitRateResponseEvaluator(k=1).evaluate(contexts=contexts, expected_texts=expected_texts)
    >>> result.score, result.feedback
    (0.0, 'no relevant item in the top 1; the first is at rank 2 of 2 retrieved')
    """

    def __init__(  # noqa: PLR0913 - the words that all adapters share
        self,
        k: int | None = None,
        *,
        metric: str = "hit_rate",
        by: By = "node_id",
        match_on: MatchOn = "auto",
        match: Matcher | None = None,
        theta: float | None = None,
        unique: bool = False,
    ) -> None:
        self._by = _checked(by)
        self._metric = _made(*metrics_at(metric, [k], theta), match_on=match_on, match=match, unique=unique)

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **expected: Any,
    ) -> EvaluationResult:
        """Return the score of the contexts against `expected_texts`; ids are known from a `Response` only."""
        return self._evaluation(query, response, contexts, None, expected)

    async def aevaluate_response(
        self, query: str | None = None, response: Any = None, **expected: Any
    ) -> EvaluationResult:
        """Return the score of the response's source nodes against `expected_ids` or `expected_texts`."""
        return self.evaluate_response(query, response, **expected)

    def evaluate_response(self, query: str | None = None, response: Any = None, **expected: Any) -> EvaluationResult:
        """Return what `aevaluate_response` returns."""
        nodes = getattr(response, "source_nodes", None)
        text = getattr(response, "response", None)
        contexts = None if nodes is None else _texts(nodes)
        return self._evaluation(query, text if isinstance(text, str) else None, contexts, nodes, expected)

    def _evaluation(
        self,
        query: str | None,
        response: str | None,
        contexts: Sequence[str] | None,
        nodes: list[NodeWithScore] | None,
        expected: dict[str, Any],
    ) -> EvaluationResult:
        try:
            ids = None if nodes is None else _ids(nodes, self._by)
            result = self._metric.compute(
                query, expected.get("expected_ids"), ids, expected.get("expected_texts"), contexts
            )
        except Exception as error:
            score, reason = nan, f"{type(error).__name__}: {error}"
        else:
            score, reason = result.score, result.metadata["reason"]
        is_scored = not isnan(score)
        return EvaluationResult(
            query=query,
            response=response,
            contexts=list(map(str, contexts)) if isinstance(contexts, (list, tuple)) else None,
            score=score if is_scored else None,
            passing=score > 0 if is_scored else None,
            feedback=reason,
            invalid_result=not is_scored,
            invalid_reason=None if is_scored else reason,
        )

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """Do nothing: there is no model to prompt."""


def results_table(results: Mapping[str, Sequence[EvaluationResult]]) -> list[dict[str, object]]:
    """Return one mapping per evaluator of a `BatchEvalRunner`, for `pandas.DataFrame(...)`: its mean and what is in it.

    A query that was not scored is in no mean (LlamaIndex' `get_results_df` counts it as 0), which is None without any.

    >>> scored, unscored = EvaluationResult(query="a", score=1.0), EvaluationResult(query="b", invalid_result=True)
    >>> results_table({"hit_rate@5": [scored, unscored]})
    [{'evaluator': 'hit_rate@5', 'mean': 1.0, 'n_scored': 1, 'n_unscored': 1}]
    """
    table: list[dict[str, object]] = []
    for name, column in results.items():
        scores = [nan if result.invalid_result or result.score is None else result.score for result in column]
        n_scored = len(scores) - len(list(filter(isnan, scores)))
        table.append(
            {"evaluator": name, "mean": mean(scores), "n_scored": n_scored, "n_unscored": len(scores) - n_scored}
        )
    return table


class _Question(NamedTuple):
    """A query of a dataset and what it expects: items, or item -> grade."""

    query: str
    expected_ids: Any
    expected_texts: Any
    mode: RetrievalEvalMode


_Found = tuple[list[str], list[str]]
"""The ids and the texts of what was retrieved, best first."""


def _questions(dataset: Any, kind: str) -> dict[Hashable, _Question]:
    """Return what a dataset asks, by query id; its texts only where they are what is matched."""
    if isinstance(dataset, (str, PathLike)):
        try:
            dataset = json.loads(Path(dataset).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{dataset} is not a JSON file: {error}") from error
    names = ("queries", "relevant_docs", "corpus", "mode")
    parts = [dataset.get(name) if isinstance(dataset, Mapping) else getattr(dataset, name, None) for name in names]
    queries, relevant_docs, corpus, mode = parts
    if not isinstance(queries, Mapping) or not isinstance(relevant_docs, Mapping):
        raise TypeError(f"a dataset has mappings `queries` and `relevant_docs`, got {dataset!r:.80}")
    evaluate(relevant_docs, dict.fromkeys(queries, ()))  # raises where nothing can be scored
    questions = {}
    for query_id, query in queries.items():
        relevant = relevant_docs.get(query_id, ())
        try:
            if not isinstance(query, str):
                raise TypeError(f"a query must be a str, got {query!r:.60}")
            expected_ids = _strings(relevant) if kind == "ids" or corpus else ()
            expected_texts = _looked_up(relevant, corpus) if kind == "texts" else None
        except (TypeError, ValueError) as error:
            raise type(error)(f"query {query_id!r}: {error}") from None
        questions[query_id] = _Question(query, expected_ids, expected_texts, RetrievalEvalMode(mode or "text"))
    return questions


def _looked_up(relevant: Items, corpus: Mapping[Hashable, str] | None) -> Items:
    """Return the texts of relevant ids; without a corpus to look them up in, they are the texts."""
    texts = {item: corpus.get(item) if corpus else item for item in relevant}
    for item, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"the corpus has no text for {item!r}" if corpus else f"{item!r} is no text")
    if isinstance(relevant, Mapping):
        return {texts[item]: grade for item, grade in relevant.items()}
    return list(texts.values())


def _metrics(metrics: _Metrics, k: Cutoffs, theta: float | None, rules: dict[str, Any]) -> list[BaseRetrievalMetric]:
    """Return metric objects, of which those given by name follow the evaluator's rules and go by that name."""
    made: dict[str, BaseRetrievalMetric] = {}
    for given in [metrics] if isinstance(metrics, (str, Metric, BaseRetrievalMetric)) else metrics:
        found: Iterable[BaseRetrievalMetric]
        if isinstance(given, BaseRetrievalMetric):
            found = [given]
        elif isinstance(given, str) and given in METRIC_REGISTRY and given.partition("@")[0] not in METRICS:
            found = [METRIC_REGISTRY[given]()]
        else:
            found = [_made(metric, name=str(metric), **rules) for metric in metrics_at(given, k, theta)]
        for metric in found:
            if made.setdefault(metric.metric_name, metric) != metric:
                raise ValueError(f"two metrics are named {metric.metric_name!r}: only one of them would be seen")
    if not made:
        raise ValueError("at least one metric is needed, got none")
    return list(made.values())


def _made(metric: Metric, **rules: Any) -> _AtK:
    if metric.theta is not None:
        rules["theta"] = metric.theta
    return _CLASSES[metric.name](k=metric.k, **rules)


def _kind(rules: _AtK | HitRateEvaluator, *, has_ids: bool) -> str:
    """Return "ids" or "texts"."""
    if rules.match_on != "auto":
        return rules.match_on
    return "ids" if has_ids and rules.match is None else "texts"


def _column_name(metric: _AtK) -> str:
    options: list[str] = [metric.match_on] if metric.match_on != "auto" else []
    options += [getattr(metric.match, "__name__", repr(metric.match))] if metric.match is not None else []
    options += ["unique"] if metric.unique else []
    return f"{metric.metric}[{', '.join(options)}]" if options else str(metric.metric)


def _checked(by: By) -> By:
    is_key = isinstance(by, str) and by.startswith("metadata:") and by != "metadata:"
    if callable(by) or is_key or by in ("node_id", "ref_doc_id", "hash"):
        return by
    raise ValueError(f'by must be "node_id", "ref_doc_id", "hash", "metadata:KEY" or a function, got {by!r}')


def _ids(nodes: Iterable[NodeWithScore], by: By) -> list[str]:
    """Return the ids of nodes as `by` has them; ValueError names `by` where a node has none."""
    ids = []
    for node in (scored.node for scored in nodes):
        if callable(by):
            found: object = by(node)
        elif by.startswith("metadata:"):
            found = node.metadata.get(by.removeprefix("metadata:"))
        else:
            found = getattr(node, by)
        if not _is_id(found):
            keys = ", ".join(map(repr, node.metadata)) or "nothing"
            raise ValueError(
                f"by={by!r} gives {found!r:.60} for the retrieved node {node.node_id!r}, whose metadata has {keys}: "
                "an id is a str or an int, so pass another `by`"
            )
        ids.append(str(found))
    return ids


def _texts(nodes: Iterable[NodeWithScore]) -> list[str]:
    return [scored.node.get_content(metadata_mode=MetadataMode.NONE) for scored in nodes]


def _strings(items: Any) -> Any:
    """Return ids as the strings that they are in LlamaIndex, with their grades; None stays None."""
    if isinstance(items, (str, bytes)):
        raise TypeError(f"ids are the string {items!r:.60}: pass a list, such as [{items!r:.60}]")
    if not isinstance(items, Iterable):
        return items  # the judge says what is wrong with it
    for item in items:
        if item is not None and not _is_id(item):
            raise ValueError(f"an id is a str or an int, found {item!r:.60} ({type(item).__name__})")
    strings = [item if item is None else str(item) for item in items]
    if isinstance(items, Mapping):
        return dict(zip(strings, items.values(), strict=True))
    return set(strings) if isinstance(items, (set, frozenset)) else strings


def _is_id(item: object) -> bool:
    return isinstance(item, str) or (isinstance(item, Integral) and not isinstance(item, bool))


def _unless_error(outcome: DatasetResult | Exception) -> DatasetResult:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
