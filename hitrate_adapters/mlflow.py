"""Hit Rate@K for MLflow: scorers for `mlflow.genai.evaluate`, and metrics for the classic retriever evaluation.

MLflow allows no "@" in the name of a metric, so "hit_rate@5" is `hit_rate_at_5` here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from ._documents import IdKey, ItemOf
from ._extras import extra
from .core.metrics import Cutoffs, Metric, column_name, metrics_at
from .core.records import Judge, Matcher
from .core.scores import mean

with extra("mlflow", "mlflow"):
    from mlflow.entities import Feedback, Span, SpanStatusCode, SpanType, Trace, TraceState
    from mlflow.genai.scorers import Scorer, scorer
    from mlflow.metrics import MetricValue
    from mlflow.models import EvaluationMetric, make_metric

__all__ = ["DOCUMENT_KEYS", "RELEVANT_KEYS", "hit_rate_metrics", "hit_rate_scorers"]

DOCUMENT_KEYS = ("documents", "docs", "retrieved", "retrieved_ids", "context")
"""Where retrieved documents are looked for in the outputs without a `documents_key`: the first that is a list."""

RELEVANT_KEYS = ("relevant", "relevant_ids", "expected_ids", "expected_retrieved_context", "documents")
"""Where relevant items are looked for in the expectations without a `relevant_key`: the first that is there."""

_make_metric: Callable[..., EvaluationMetric] = make_metric
_Key = str | Callable[[Any], Any] | None


def hit_rate_scorers(  # noqa: PLR0913 - the words that all adapters share
    k: Cutoffs = (1, 5, 10),
    metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
    *,
    theta: float | None = None,
    match_on: str = "auto",
    match: Matcher | None = None,
    unique: bool = False,
    documents_key: _Key = None,
    relevant_key: _Key = None,
    id_key: IdKey = None,
    name: str | None = None,
) -> list[Scorer]:
    """Return one MLflow scorer per metric and k: each gives a row a `Feedback` with a value in [0, 1] and the reason.

    What was retrieved is read from the outputs, of the data or of `predict_fn`, or else from the outermost RETRIEVER
    spans of the trace, one after the other. A row without relevant items has the value None, and is in no mean; a
    failed retrieval is a miss; a row that cannot be read has MLflow's error in the place of a value.

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: names, of "hit_rate", "recall", "precision", "mrr", "map" and "ndcg", also with a k: "mrr@10".
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match_on: "ids", "texts", or "auto": texts where `match` is given, else ids.
        match: when a retrieved text counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut, for document ids of chunks.
        documents_key: where the retrieved documents are: a key of the outputs, or a function of them. None: the outputs
            themselves where they are a list, or the usual keys.
        relevant_key: where the relevant items are, a list or item -> grade: a key of the expectations, or a function of
            them. None: the usual keys.
        id_key: where a document's id is: a key of its metadata, such as "doc_uri", or a function of the document. None:
            its `id`, else `metadata["id"]`.
        name: the name of a single metric, and the beginning of the names of several: "bm25" gives "bm25_hit_rate_at_5".
            None: the metric and k, then the rules that are not the usual ones, as "hit_rate_at_5_contains".

    Raises:
        TypeError, ValueError: an argument is something else.

    >>> hits, *_ = hit_rate_scorers(k=(1, 5))
    >>> feedback = hits(outputs=["d2", "d1"], expectations={"relevant": ["d1"]})
    >>> hits.name, feedback.value, feedback.rationale
    ('hit_rate_at_1', 0.0, 'no relevant item in the top 1; the first is at rank 2 of 2 retrieved')
    """
    judge = Judge(match=match, unique=unique)
    if match_on == "auto":
        match_on = "ids" if match is None else "texts"
    item_of = ItemOf(id_key, match_on)

    def make(column: str, metric: Metric) -> Scorer:
        def score(outputs: Any = None, expectations: Any = None, trace: Trace | None = None) -> Feedback:
            relevant = _look_up(expectations, relevant_key, RELEVANT_KEYS, object)
            if relevant is None:
                reason = (
                    f"cannot be scored: the expectations are {expectations!r:.80}: relevant_key= says where to look"
                )
                return Feedback(name=column, value=None, rationale=reason)
            documents = _documents(outputs, documents_key, trace)
            record = judge(item_of.of_relevant(relevant), list(map(item_of, documents)))
            value = metric(record) if record.n_relevant else None
            return Feedback(name=column, value=value, rationale=metric.explain(record))

        return scorer(score, name=column)

    wanted = metrics_at(metrics, k, theta)
    return [make(*named) for named in _named(wanted, name, match, unique=unique)]


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
    judge = Judge(match=match, unique=unique)

    def score(metric: Metric, relevant: Any, retrieved: Any) -> tuple[float | None, str]:
        try:
            record = judge(_plain(relevant), _plain(retrieved))
        except Exception as error:  # MLflow would leave the metric out for all rows
            return None, str(error)
        return metric(record) if record.n_relevant else None, metric.explain(record)

    def make(column: str, metric: Metric) -> EvaluationMetric:
        def eval_fn(predictions: Iterable[Any], targets: Iterable[Any]) -> MetricValue:
            scored = [score(metric, *row) for row in zip(targets, predictions, strict=True)]
            scores: list[Any] = [value for value, _ in scored]
            average = mean(scores)
            return MetricValue(
                scores=scores,
                justifications=[reason for _, reason in scored],
                aggregate_results={} if average is None else {"mean": average},
            )

        return _make_metric(eval_fn=eval_fn, greater_is_better=True, name=column)

    wanted = metrics_at(metrics, k, theta)
    return [make(*named) for named in _named(wanted, name, match, unique=unique)]


def _named(
    metrics: tuple[Metric, ...], name: str | None, match: Matcher | None, *, unique: bool
) -> Iterator[tuple[str, Metric]]:
    """Give each metric with a name that MLflow can log."""
    if name is not None and not re.fullmatch(r"[\w./ :-]+", name):
        raise ValueError(f"MLflow allows letters, digits and any of _ - . / : and space in a name; got {name!r}")
    for metric in metrics:
        column = column_name(metric, match=match, unique=unique).replace("@", "_at_").replace(">=", "_theta_")
        column = re.sub(r"[^\w.]+", "_", column).strip("_")
        if name is not None:
            column = name if len(metrics) == 1 else f"{name}_{column}"
        yield column, metric


def _documents(outputs: Any, key: _Key, trace: Trace | None) -> list[Any]:
    """Return the retrieved documents, best first."""
    fields = outputs if isinstance(outputs, Mapping) or key is not None else {DOCUMENT_KEYS[0]: outputs}
    documents = _look_up(fields, key, DOCUMENT_KEYS, (list, tuple))
    if documents is not None:
        return _listed(documents)
    failed = trace is not None and trace.info.state == TraceState.ERROR
    if key is not None and not failed:  # no silent way round a wrong key
        by_key = f"documents_key={getattr(key, '__name__', repr(key))}"
        raise ValueError(f"no list of retrieved documents by {by_key}: the outputs are {outputs!r:.80}")
    retrievals = [] if trace is None else _retrievals(trace)
    if not retrievals and not failed:
        raise ValueError(
            f"no list of retrieved documents: the outputs are {outputs!r:.80}, and the trace has no RETRIEVER span: "
            "documents_key= says where the documents are"
        )
    return [
        document
        for span in retrievals
        if span.status.status_code != SpanStatusCode.ERROR  # of what failed, who asked got nothing
        for document in _listed(span.outputs)
    ]


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


def _look_up(fields: Any, key: _Key, usual: Iterable[str], kind: type | tuple[type, ...]) -> Any:
    """Return what the key or function gives, or what of that kind stands under a usual key; None where nothing does."""
    if callable(key):
        return key(fields)
    found = fields if isinstance(fields, Mapping) else {}
    if key is not None:
        return found.get(key)
    values = (found.get(name) for name in usual)
    return next((value for value in values if value is not None and isinstance(value, kind)), None)


def _listed(documents: Any) -> list[Any]:
    if isinstance(documents, (list, tuple)):
        return list(documents)
    raise TypeError(f"retrieved documents must be a list, best first; found {documents!r:.80}")


def _plain(items: Any) -> Any:
    """Return a list for an array of NumPy or pandas."""
    return items.tolist() if hasattr(items, "tolist") else items
