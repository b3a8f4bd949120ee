"""The evaluator of retrievers, query by query or over a whole dataset."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable
from math import nan
from typing import Any, NamedTuple, Self

from llama_index.core.async_utils import asyncio_run, get_asyncio_module
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.evaluation import RetrievalEvalResult, RetrieverEvaluator
from llama_index.core.evaluation.retrieval.base import RetrievalEvalMode
from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY
from llama_index.core.evaluation.retrieval.metrics_base import BaseRetrievalMetric, RetrievalMetricResult
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import ImageNode
from pydantic import ConfigDict, SkipValidation

from hitrate_adapters.core.evaluation import evaluate
from hitrate_adapters.core.items import Items
from hitrate_adapters.core.metrics import METRICS, Cutoffs, Metric, metrics_at
from hitrate_adapters.core.records import Judge, Matcher, QueryRecord
from hitrate_adapters.core.retrieval import Run, check_on_error
from hitrate_adapters.core.scores import mean
from hitrate_adapters.core.sound import evaluate_sound
from hitrate_adapters.core.spans import Span

from ._items import (
    By,
    Kind,
    MatchOn,
    NoIdError,
    check_by,
    compared,
    expected,
    ids_of,
    ids_or_spans,
    listed,
    shown,
    spans_of,
    texts_of,
    ungraded,
)
from .dataset import DatasetResult, Question, questions
from .metrics import AtK, at_k
from .results import JudgedResult

Metrics = str | Metric | BaseRetrievalMetric | Iterable[str | Metric | BaseRetrievalMetric]


class Found(NamedTuple):
    """What was retrieved, best first."""

    ids: list[str]
    texts: list[str]
    spans: list[Span]


class HitRateEvaluator(RetrieverEvaluator):
    """A `RetrieverEvaluator` that scores several metrics at several k, query by query or over a whole dataset.

    Args:
        retriever: the retriever to evaluate.
        k: one cutoff or several; None: all that was retrieved.
        metrics: names, of "hit_rate", "recall", "precision", "mrr", "map", "ndcg" and of those in LlamaIndex' registry
            that are none of these, or metric objects, LlamaIndex' own too. None: hit_rate.
        by: what identifies a node: "node_id", "ref_doc_id" (the document that it is a chunk of), "hash" (its content),
            "metadata:KEY", or a function of the node. Of a span it identifies the document;
            "node_id" then stands for "ref_doc_id".
        match_on, match, theta, unique: as for `HitRateAtK`.
        node_postprocessors: applied to what was retrieved, in order, such as rerankers.

    Where texts and images were retrieved, the mode "text" ranks the texts and "image" the images.

    Raises:
        TypeError, ValueError: one of these is something else, two metrics have the same name, or a metric object has a
            match_on, match or unique that is not the evaluator's.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> class Constant(BaseRetriever):
    ...     def _retrieve(self, query_bundle):
    ...         return [NodeWithScore(node=TextNode(id_=node_id, text=node_id)) for node_id in ("d1", "d2")]
    >>> result = HitRateEvaluator(retriever=Constant(), k=(1, 5)).evaluate("any query", expected_ids=["d2"])
    >>> result.metric_vals_dict
    {'hit_rate@1': 0.0, 'hit_rate@5': 1.0}
    """

    model_config = ConfigDict(extra="forbid")

    by: SkipValidation[By]
    match_on: MatchOn
    match: SkipValidation[Matcher | None]
    unique: SkipValidation[bool]

    def __init__(  # noqa: PLR0913 - the words that all adapters share
        self,
        *,
        retriever: BaseRetriever,
        k: Cutoffs = (1, 5, 10),
        metrics: Metrics | None = None,
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
            metrics=_metrics("hit_rate" if metrics is None else metrics, listed(k), theta, rules),
            node_postprocessors=node_postprocessors,
            **{"by": check_by(by), **rules},
        )

    def model_post_init(self, context: object) -> None:  # noqa: ARG002
        """Refuse a match or unique that cannot be followed."""
        _ = self.judge, compared(self.match_on, self.match)

    @property
    def judge(self) -> Judge:
        """The core's judge."""
        return Judge(match=self.match, unique=self.unique)

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
                on texts they are looked up in its `corpus` (id -> text); without one, `relevant_docs` holds texts. To
                match on spans it holds spans, which may be lists [document, start, end].
            workers: how many queries are awaited at once; a retriever without an async `_aretrieve` of its own
                takes them one after another all the same.
            show_progress: show a progress bar, tqdm's.
            on_error: "record" keeps the exception of a query in the result's `errors` and goes on; a query whose
                retrieval failed is a miss, one whose judging failed, as by `match`, is not scored. "raise" raises it.

        Raises:
            TypeError, ValueError: the dataset has another form, or no query that can be scored; then nothing has been
                retrieved. Or `by` failed and gave no id at all.
            Exception: what `match` raises, where it leaves no query that can be scored.
        """
        asked = questions(dataset, compared(self.match_on, self.match))
        found, errors = asyncio_run(self._retrieved(asked, workers, show_progress, on_error))
        return self._outcome(asked, found, errors, on_error)

    async def aevaluate_dataset(
        self, dataset: Any, workers: int = 2, show_progress: bool = False, *, on_error: str = "record"
    ) -> DatasetResult:
        """Return what `evaluate_dataset` returns."""
        asked = questions(dataset, compared(self.match_on, self.match))
        found, errors = await self._retrieved(asked, workers, show_progress, on_error)
        return self._outcome(asked, found, errors, on_error)

    async def aevaluate(
        self,
        query: str,
        expected_ids: Items | None,
        expected_texts: Items | None = None,
        mode: RetrievalEvalMode = RetrievalEvalMode.TEXT,
        **kwargs: Any,  # noqa: ARG002
    ) -> RetrievalEvalResult:
        """Return the result of one query; what is expected may be graded: item -> grade. Spans are `expected_ids` too.

        Raises what the retriever, a postprocessor or a metric raises, ValueError for a node that `by` gives no id or
        that is no span, and TypeError where nothing is expected of what is compared.
        """
        ids, texts = ids_or_spans(self.match_on, self.match, expected_ids), listed(expected_texts)
        kind, relevant = expected(self.match_on, self.match, ids, texts)
        question = Question(None, query, () if kind == "spans" else ids, texts, mode, relevant)
        found = await self._found(question, kind)
        return self._scored(question, found, kind, self.judge(relevant, getattr(found, kind)))

    async def _found(self, question: Question, kind: Kind) -> Found:
        """Return the ids and the texts of the nodes that are of the question's mode, best first.

        `by` is followed where something compares ids; else the ids are the nodes' own.
        """
        nodes = await self.retriever.aretrieve(question.query)
        for postprocessor in self.node_postprocessors or ():
            nodes = list(postprocessor.postprocess_nodes(nodes, query_str=question.query))
        images = [node for node in nodes if isinstance(node.node, ImageNode)]
        if question.mode == RetrievalEvalMode.IMAGE:
            nodes = images
        elif len(images) < len(nodes):
            nodes = [node for node in nodes if not isinstance(node.node, ImageNode)]
        if kind == "spans":
            spans = spans_of(nodes, self.by)
            return Found(list(map(shown, spans)), texts_of(nodes), spans)
        are_ids_compared = kind == "ids" or not all(isinstance(metric, AtK) for metric in self.metrics)
        return Found(ids_of(nodes, self.by if are_ids_compared else "node_id"), texts_of(nodes), [])

    async def _retrieved(
        self, asked: list[Question], workers: int, show_progress: bool, on_error: str
    ) -> tuple[list[Found], dict[Hashable, Exception]]:
        """Return what was found for every question, and what the retrieval of some raised, which has found nothing."""
        check_on_error(on_error)
        if isinstance(workers, bool) or not isinstance(workers, int):
            raise TypeError(f"workers must be an int of at least 1, got {workers!r}")
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers!r}")
        semaphore = asyncio.Semaphore(workers)
        kind = compared(self.match_on, self.match)
        errors: dict[Hashable, Exception] = {}

        async def retrieve(question: Question) -> Found:
            async with semaphore:
                if not errors or on_error == "record":
                    try:
                        return await self._found(question, kind)
                    except Exception as error:
                        error.add_note(f"while retrieving for query {question.query_id!r}")
                        errors[question.query_id] = error
                return Found([], [], [])

        return await get_asyncio_module(show_progress).gather(*map(retrieve, asked)), errors

    def _outcome(
        self, asked: list[Question], found: list[Found], errors: dict[Hashable, Exception], on_error: str
    ) -> DatasetResult:
        """Return the result, or raise what must not pass for a bad retriever (not in a coroutine: see asyncio_run)."""
        if errors and on_error == "raise":
            raise next(iter(errors.values()))
        kind = compared(self.match_on, self.match)
        without_id = [error for error in errors.values() if isinstance(error, NoIdError)]
        if without_id and not any(each.ids for each in found):
            without_id[0].add_note(f"and no node of any other query has {'a span' if kind == 'spans' else 'an id'}")
            raise without_id[0]
        qrels = {question.query_id: getattr(question, f"expected_{kind}") for question in asked}
        run = Run(zip(qrels, (getattr(each, kind) for each in found), strict=True), errors)
        faults: dict[Hashable, Exception] = {}
        if on_error == "raise":
            evaluation = evaluate(qrels, run, match=self.match, unique=self.unique)
        else:
            evaluation, faults = evaluate_sound(qrels, run, self.judge)
        results = []
        for question, each in zip(asked, found, strict=True):
            query_id = question.query_id
            record = faults.get(query_id) or evaluation.records.get(query_id) or self.judge((), run[query_id])
            results.append(self._scored(question, each, kind, record, errors if on_error == "record" else None))
        means: dict[str, float] = {}
        for metric in self.metrics:
            if isinstance(metric, AtK):
                means[metric.metric_name] = evaluation.score(metric.metric)
            else:
                own = mean(result.metric_dict[metric.metric_name].score for result in results)
                means[metric.metric_name] = nan if own is None else own
        return DatasetResult(list(qrels), results, means, evaluation, errors)

    def _scored(
        self,
        question: Question,
        found: Found,
        kind: Kind,
        record: QueryRecord | Exception,
        errors: dict[Hashable, Exception] | None = None,
    ) -> RetrievalEvalResult:
        """Return the scores of one query; where `errors` are there to note it, a metric that raises is not scored."""
        query_id, query, graded_ids, graded_texts, mode, graded_spans = question
        expected_ids, expected_texts = ungraded(graded_ids), ungraded(graded_texts)
        scores = {}
        for metric in self.metrics:
            try:
                if not isinstance(metric, AtK):
                    score = metric.compute(query, expected_ids, found.ids, expected_texts, found.texts)
                elif isinstance(record, Exception):
                    raise record
                else:
                    score = metric.result(record, kind)
            except Exception as error:
                if errors is None:
                    raise
                errors.setdefault(query_id, error)
                score = RetrievalMetricResult(score=nan, metadata={"reason": f"{type(error).__name__}: {error}"})
            scores[metric.metric_name] = score
        return JudgedResult(
            query=query,
            expected_ids=list(map(shown, ungraded(graded_spans)) if kind == "spans" else expected_ids or ()),
            expected_texts=None if expected_texts is None else list(expected_texts),
            retrieved_ids=found.ids,
            retrieved_texts=found.texts,
            mode=mode,
            metric_dict=scores,
            graded_ids=graded_spans if kind == "spans" else graded_ids,
            graded_texts=graded_texts,
            retrieved_spans=found.spans,
        )


def _metrics(metrics: Metrics, k: Cutoffs, theta: float | None, rules: dict[str, Any]) -> list[BaseRetrievalMetric]:
    """Return metric objects, of which those given by name follow the evaluator's rules and go by that name."""
    is_one = isinstance(metrics, (str, Metric, BaseRetrievalMetric))  # of which pydantic's can be iterated
    several: Iterable[Any] = metrics if isinstance(metrics, Iterable) and not is_one else [metrics]
    wanted: list[BaseRetrievalMetric] = []
    for given in several:
        if isinstance(given, BaseRetrievalMetric):
            wanted.append(given)
        elif isinstance(given, str) and given in METRIC_REGISTRY and given.partition("@")[0] not in METRICS:
            wanted.append(METRIC_REGISTRY[given]())
        else:
            wanted += [at_k(metric, name=str(metric), **rules) for metric in metrics_at(given, k, theta)]
    if not wanted:
        raise ValueError("at least one metric is needed, got none")
    by_name: dict[str, BaseRetrievalMetric] = {}
    for metric in wanted:
        if by_name.setdefault(metric.metric_name, metric) != metric:
            raise ValueError(f"two metrics are named {metric.metric_name!r}: only one of them would be seen")
        own_rules = {rule: getattr(metric, rule) for rule in rules} if isinstance(metric, AtK) else rules
        if own_rules != rules:
            raise ValueError(
                f"the metric {metric.metric_name!r} has {own_rules}, the evaluator has {rules}: give these options to "
                "the evaluator, which judges each query once, and the metrics by their names"
            )
    return list(by_name.values())
