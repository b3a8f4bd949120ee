"""Hit Rate@K for MLflow: scorers for `mlflow.genai.evaluate`, and metrics for the classic retriever evaluation.

MLflow allows no "@" in the name of a metric, so "hit_rate@5" is `hit_rate_at_5` here. Its means are over all scores of
one name, so a lambda, which has no name that tells it from another, needs a `name` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from operator import attrgetter, not_
from typing import Any
from uuid import UUID

from ._documents import IdKey, ItemOf, is_document
from ._extras import extra
from .core.evaluation import Evaluation
from .core.items import string_id
from .core.matching import compared, name_of
from .core.metrics import Cutoffs, Metric
from .core.records import Judge, Matcher
from .core.scores import mean
from .core.scoring import Key, QueryScorer, Verdict, check_keys
from .core.sound import evaluate_rows

with extra("mlflow", "mlflow"):
    from mlflow.entities import Expectation, Feedback, Span, SpanStatusCode, SpanType, Trace, TraceState
    from mlflow.genai.evaluation.entities import EvaluationResult
    from mlflow.genai.scorers import Scorer, scorer
    from mlflow.metrics import MetricValue
    from mlflow.models import EvaluationMetric, make_metric

__all__ = ["RELEVANT_KEYS", "RETRIEVED_KEYS", "evaluation", "hit_rate_metrics", "hit_rate_scorers"]

RETRIEVED_KEYS = ("documents", "docs", "retrieved", "retrieved_ids", "context")
"""Where retrieved documents are looked for in the outputs without a `retrieved_key`: lists of documents first."""

RELEVANT_KEYS = ("relevant", "relevant_ids", "expected_ids", "expected_retrieved_context", "documents")
"""Where relevant items are looked for in the expectations without a `relevant_key`: the first that is there."""

_TEXT_KEYS = ("page_content", "content", "text")  # as MLflow's own scorers read a RETRIEVER span
_REPR = re.compile(r"<.+ object at 0x[0-9A-Fa-f]+>")  # what a trace has of an object without a form in JSON
_BY_SPANS = "judged by the RETRIEVER spans, not by the {} returned"
_make_metric: Callable[..., EvaluationMetric] = make_metric


def hit_rate_scorers(  # noqa: PLR0913 - the words that all adapters share
    k: Cutoffs = (1, 5, 10),
    metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
    *,
    theta: float | None = None,
    match_on: str = "auto",
    match: Matcher | None = None,
    unique: bool = False,
    retrieved_key: Key = None,
    relevant_key: Key = None,
    id_key: IdKey = None,
    name: str | None = None,
) -> list[Scorer]:
    """Return one MLflow scorer per metric and k: each gives a row a `Feedback` with a value in [0, 1] and the reason.

    A row without relevant items has the value None, and is in no mean; a failed retrieval is a miss, but not what
    failed after it; a row that cannot be read has MLflow's error in the place of a value. Ids are compared by their
    `str()`, since a trace is JSON, where 7 may be "7".

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: names, of "hit_rate", "recall", "precision", "mrr", "map" and "ndcg", also with a k: "mrr@10".
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match_on: "ids", "texts", "spans", or "auto": what `match` compares, texts by most; ids without one.
        match: when a retrieved item counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut, for document ids of chunks.
        retrieved_key: where the retrieved documents are: a key of the outputs, of the data or of `predict_fn`, or a
            function of them. None: the first that is not empty of a list of documents that the outputs are, or have
            under a usual key; the outermost RETRIEVER spans of the trace, one after the other; and a list of plain ids
            in the outputs. Where texts are compared, a list of texts counts as one of documents.
        relevant_key: where the relevant items are, a list or item -> grade: a key of the expectations, or a function of
            them. None: the usual keys.
        id_key: where a document's id is: a key of its metadata, such as "doc_uri", or a function of the document. None:
            its `id`, else `metadata["id"]`.
        name: the name of a single metric, and the beginning of the names of several: "bm25" gives "bm25_hit_rate_at_5".
            None: the metric and k, then what differs from the defaults, as "hit_rate_at_5_contains" or
            "hit_rate_at_5_bm25_ids", with that `retrieved_key`.

    Raises:
        TypeError, ValueError: an argument is something else, or a lambda has no `name` beside it.

    >>> hits, *_ = hit_rate_scorers(k=(1, 5))
    >>> feedback = hits(outputs=["d2", "d1"], expectations={"relevant": ["d1"]})
    >>> hits.name, feedback.value, feedback.rationale
    ('hit_rate_at_1', 0.0, 'no relevant item in the top 1; the first is at rank 2 of 2 retrieved')
    """
    verdicts = QueryScorer(k, metrics, theta=theta, name=name, match_on=match_on, match=match, unique=unique)
    read = _Rows(retrieved_key, relevant_key, ItemOf(id_key, compared(match_on, match)))

    def make(column: str, loggable: str) -> Scorer:
        def score(outputs: Any = None, expectations: Any = None, trace: Trace | None = None) -> Feedback:
            try:
                relevant, retrieved, note = read(outputs, expectations, trace)
            except _UnlabelledError as error:
                return Feedback(name=loggable, value=None, rationale=str(error))
            verdict = verdicts(relevant, retrieved)[column]
            rationale = "; ".join(filter(None, [verdict.reason, note]))
            return Feedback(name=loggable, value=verdict.score, rationale=rationale)

        return scorer(score, name=loggable)

    return [make(*names) for names in _names(verdicts, name, retrieved_key, relevant_key)]


def evaluation(  # noqa: PLR0913 - the words of `hit_rate_scorers` that say how rows are read and judged
    result: EvaluationResult | Iterable[Trace],
    *,
    match_on: str = "auto",
    match: Matcher | None = None,
    unique: bool = False,
    retrieved_key: Key = None,
    relevant_key: Key = None,
    id_key: IdKey = None,
    query_id: Key = None,
) -> Evaluation:
    """Return an `Evaluation` of evaluated rows, for intervals, misses, segments and comparisons.

    Both sides are read from the traces, which are JSON: MLflow leaves out expectations with a set, a UUID or a number
    of NumPy. A row whose retrieval failed is a miss, named in `errors`; one that cannot be scored is named in
    `unscored`.

    Args:
        result: what `mlflow.genai.evaluate` returned; or traces with expectations, as of
            `mlflow.search_traces(return_type="list")`.
        match_on: as for `hit_rate_scorers`, like the others.
        match: likewise.
        unique: likewise.
        retrieved_key: likewise.
        relevant_key: likewise.
        id_key: likewise.
        query_id: what a row is called: a key of its inputs, such as "question", by which two runs can be compared, or a
            function of them; further rows of one are "ID #2" and so on. None: the id of its trace.

    Raises:
        TypeError, ValueError: an argument is something else, or no row can be scored.
    """
    check_keys(query_id=query_id)
    read = _Rows(retrieved_key, relevant_key, ItemOf(id_key, compared(match_on, match)))

    def read_trace(trace: Trace) -> tuple[Any, Any]:
        expectations = {each.name: each.value for each in trace.info.assessments or () if isinstance(each, Expectation)}
        root = _root(trace)
        relevant, retrieved, _ = read(None if root is None else root.outputs, expectations, trace)
        failure = None if retrieved else _failure(trace, retrieved_key)
        return relevant, retrieved if failure is None else RuntimeError(failure)

    named = ((_query_id(trace, query_id), trace) for trace in _traces(result))
    return evaluate_rows(named, read_trace, Judge(match=match, unique=unique))[0]


def hit_rate_metrics(  # noqa: PLR0913 - the words that all adapters share
    k: Cutoffs = (1, 5, 10),
    metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
    *,
    theta: float | None = None,
    match: Matcher | None = None,
    unique: bool = False,
    name: str | None = None,
) -> list[EvaluationMetric]:
    """Return one classic MLflow metric per metric and k, for `mlflow.models.evaluate(model_type="retriever")`.

    They go into `extra_metrics`. The columns of targets and predictions hold lists of ids or of texts. A row without
    relevant items, or that cannot be judged, has the score None; the mean, "hit_rate_at_5/mean", is over the others.

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: names, as for `hit_rate_scorers`.
        theta: for hit rate only, the share of the relevant items that makes a hit.
        match: when a retrieved item counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut.
        name: as for `hit_rate_scorers`.

    Raises:
        TypeError, ValueError: an argument is something else.

    >>> [metric.name for metric in hit_rate_metrics(k=(1, 5), metrics=("hit_rate", "mrr@10"))]
    ['hit_rate_at_1', 'hit_rate_at_5', 'mrr_at_10']
    """
    verdicts = QueryScorer(k, metrics, theta=theta, name=name, match=match, unique=unique)
    rows = _Rows(None, None, ItemOf(None, compared("auto", match)))

    def make(column: str, loggable: str) -> EvaluationMetric:
        def score(relevant: Any, retrieved: Any) -> Verdict:
            try:
                return verdicts(rows.of_relevant(_plain(relevant)), rows.of_retrieved(_plain(retrieved)))[column]
            except Exception as error:  # MLflow would leave the metric out for all rows
                return Verdict(None, str(error))

        def eval_fn(predictions: Iterable[Any], targets: Iterable[Any]) -> MetricValue:
            scored = list(map(score, targets, predictions))
            scores: list[Any] = [verdict.score for verdict in scored]
            average = mean(scores)
            return MetricValue(
                scores=scores,
                justifications=[verdict.reason for verdict in scored],
                aggregate_results={} if average is None else {"mean": average},
            )

        return _make_metric(eval_fn=eval_fn, greater_is_better=True, name=loggable)

    return [make(*names) for names in _names(verdicts, name)]


def _names(verdicts: QueryScorer, name: str | None, *keys: Key) -> Iterator[tuple[str, str]]:
    """Give each metric's name in the core and the one that MLflow can log, which tells apart what is not the same."""
    if name is None and "<lambda>" in map(name_of, (verdicts.judge.match, *keys)):
        raise ValueError(
            "MLflow takes the mean over all scores of one name, and every lambda has the same: pass name=, or a "
            "function made by def"
        )
    differing = [key if isinstance(key, str) else name_of(key) for key in keys if key is not None and name is None]
    for column in verdicts.metrics:
        words = "_".join([column, *differing]).replace("@", "_at_").replace(">=", "_theta_")
        yield column, re.sub(r"[^\w./ :-]+[ _]*", "_", words).rstrip("_")


class _UnlabelledError(ValueError):
    """A row has nothing where its relevant items are looked for."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Reads the relevant items of a row and the retrieved ones."""

    retrieved_key: Key
    relevant_key: Key
    item_of: ItemOf

    def __post_init__(self) -> None:
        check_keys(retrieved_key=self.retrieved_key, relevant_key=self.relevant_key)

    def __call__(self, outputs: Any, expectations: Any, trace: Trace | None) -> tuple[Any, Any, str]:
        """Return both sides, ready to be judged, and a note on where the retrieved ones are from."""
        relevant = _look_up(expectations, self.relevant_key, RELEVANT_KEYS)
        if relevant is None:
            raise _UnlabelledError(
                f"cannot be scored: the expectations are {expectations!r:.80}: relevant_key= says where to look, and "
                "MLflow keeps none that JSON cannot hold: no set, UUID or NumPy number"
            )
        documents, note = self._documents(outputs, trace)
        return self.of_relevant(_readable(relevant)), self.of_retrieved(_readable(documents)), note

    def of_relevant(self, relevant: Any) -> Any:
        return _as_in_json(self.item_of.of_relevant(relevant), self.item_of.match_on)

    def of_retrieved(self, retrieved: Any) -> Any:
        return _as_in_json(self.item_of.of_retrieved(retrieved), self.item_of.match_on)

    def _documents(self, outputs: Any, trace: Trace | None) -> tuple[Any, str]:
        """Return the retrieved documents, best first, and a note where they are not those of the outputs."""
        failed = trace is not None and trace.info.state == TraceState.ERROR
        if self.retrieved_key is not None:
            return [] if failed and outputs is None else _by_key(outputs, self.retrieved_key), ""
        lists = _lists_in(outputs)
        documents = next(filter(self._are_documents, lists), None)
        if documents is not None:
            return documents, ""
        retrievals = [] if trace is None else _retrievals(trace)
        found = [document for span in retrievals for document in self._found_by(span)]
        if found:
            return found, _BY_SPANS.format("plain items" if lists[0] else "empty list") if lists else ""
        if retrievals:
            lists = list(filter(self._are_ids, lists))
        elif not lists and not failed:
            raise ValueError(
                f"no list of retrieved documents: the outputs are {outputs!r:.80}, and the trace has no RETRIEVER "
                "span: retrieved_key= says where the documents are"
            )
        return next(iter(lists), []), ""

    def _found_by(self, span: Span) -> Iterable[Any]:
        if _has_failed(span):
            return []  # who asked got nothing
        lists = _lists_in(span.outputs)
        if not lists:
            raise TypeError(
                f"the outputs of the RETRIEVER span {span.name!r} are no list, best first: {span.outputs!r:.80}"
            )
        return next(filter(self._are_documents, lists), lists[0])

    def _are_documents(self, items: Sequence[Any]) -> bool:
        """Tell whether these are surely documents, or texts where texts are compared."""
        plain = str if self.item_of.match_on == "texts" else ()
        return any(is_document(item) or isinstance(item, plain) for item in items)

    def _are_ids(self, items: Sequence[Any]) -> bool:
        """Tell whether these may be plain ids where ids are compared, and are no messages of a chat or the like."""
        return self.item_of.match_on == "ids" and all(isinstance(item, (str, Integral, UUID)) for item in items)


def _as_in_json(items: Any, match_on: str) -> Any:
    """Return items whose ids are strings. Raises ValueError for what can be none, and for the repr of an object."""
    if isinstance(items, Mapping):
        return {_item(item, match_on): grade for item, grade in items.items()}
    return [_item(item, match_on) for item in items] if isinstance(items, list) else items


def _item(item: Any, match_on: str) -> Any:
    if isinstance(item, str) and _REPR.fullmatch(item):
        raise ValueError(
            f"an item is {item!r:.80}, all that a trace has of an object: return ids, dicts or documents of "
            "mlflow.entities"
        )
    found = string_id(item) if match_on == "ids" else item
    if found is None and item is not None:
        raise ValueError(f"{item!r:.80} ({type(item).__name__}) is no id in JSON: these are strings or whole numbers")
    return found


def _traces(result: EvaluationResult | Iterable[Trace]) -> Iterable[Trace]:
    if not isinstance(result, EvaluationResult):
        return result
    if result.result_df is None:
        raise ValueError(
            "the result has no table: pass the traces of its run, "
            f'mlflow.search_traces(run_id={result.run_id!r}, return_type="list")'
        )
    return map(Trace.from_json, result.result_df["trace"])


def _query_id(trace: Trace, key: Key) -> Hashable:
    """Return what a row is called. Raises ValueError where its inputs do not say."""
    if key is None:
        return trace.info.trace_id  # type: ignore[no-any-return, unused-ignore] # where MLflow is not installed
    root = _root(trace)
    inputs = None if root is None else root.inputs
    found = _look_up(inputs, key)
    if not isinstance(found, Hashable) or found is None:
        raise ValueError(f"no id by query_id={name_of(key)}: the inputs are {inputs!r:.80}")
    return found


def _root(trace: Trace) -> Span | None:
    return next((span for span in trace.data.spans if span.parent_id is None), None)


def _failure(trace: Trace, key: Key) -> str | None:
    """Return what a failed retrieval said, or the app where it never came to one or the key asks for its outputs."""
    spans = [span for span in trace.data.spans if span.span_type == SpanType.RETRIEVER]
    root = _root(trace)
    if root is not None and (key is not None or not spans):
        spans.append(root)
    return next((span.status.description for span in spans if _has_failed(span)), None)


def _has_failed(span: Span) -> bool:
    return span.status.status_code == SpanStatusCode.ERROR  # type: ignore[no-any-return, unused-ignore] # likewise


def _by_key(outputs: Any, key: Key) -> Any:
    documents = _look_up(outputs, key)
    if documents is None:  # no silent way round a wrong key
        by_key = f"retrieved_key={name_of(key)}"
        raise ValueError(f"no list of retrieved documents by {by_key}: the outputs are {outputs!r:.80}")
    return documents


def _lists_in(outputs: Any) -> list[Sequence[Any]]:
    """Return the lists that the outputs are or have under the usual keys, the empty ones last."""
    found = [outputs.get(key) for key in RETRIEVED_KEYS] if isinstance(outputs, Mapping) else [outputs]
    return sorted((each for each in found if isinstance(each, (list, tuple))), key=not_)


def _retrievals(trace: Trace) -> list[Span]:
    """Return the outermost RETRIEVER spans, in the order of their start."""
    spans = {span.span_id: span for span in trace.data.spans}

    def parent_of(span: Span) -> Span | None:
        return spans.get(span.parent_id or "")

    def is_inside(span: Span | None) -> bool:
        return span is not None and (span.span_type == SpanType.RETRIEVER or is_inside(parent_of(span)))

    outermost = [
        span for span in spans.values() if span.span_type == SpanType.RETRIEVER and not is_inside(parent_of(span))
    ]
    return sorted(outermost, key=attrgetter("start_time_ns"))


def _look_up(fields: Any, key: Key, usual: Iterable[str] = ()) -> Any:
    """Return what the key or function gives, or what stands under a usual key; None where nothing does."""
    if callable(key):
        return key(fields)
    found = fields if isinstance(fields, Mapping) else {}
    values = (found.get(name) for name in (usual if key is None else [key]))
    return next((value for value in values if value is not None), None)


def _readable(documents: Any) -> Any:
    """Return documents with their text where LangChain has it, for MLflow has it under one of three keys."""
    if not isinstance(documents, (list, tuple)):
        return documents
    return [_with_text(each) if isinstance(each, Mapping) and is_document(each) else each for each in documents]


def _with_text(document: Mapping[str, Any]) -> Mapping[str, Any]:
    key = next((key for key in _TEXT_KEYS if key in document), None)
    return document if key is None else {**document, "page_content": document[key]}


def _plain(items: Any) -> Any:
    """Return a list for an array of NumPy or pandas."""
    return items.tolist() if hasattr(items, "tolist") else items
