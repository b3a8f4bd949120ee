"""The judged queries of LlamaIndex' own evaluators."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from llama_index.core.evaluation import RetrievalEvalResult
from pydantic import Field, SkipValidation

from hitrate_adapters.core.evaluation import Evaluation
from hitrate_adapters.core.records import Judge, Matcher
from hitrate_adapters.core.sound import evaluate_rows
from hitrate_adapters.core.spans import Span

from ._items import MatchOn, both_sides, by_query, compared, shown


class JudgedResult(RetrievalEvalResult):
    """LlamaIndex' result, and beside its lists of strings what they stand for; its JSON has the lists alone."""

    graded_ids: SkipValidation[Any] = Field(default=None, exclude=True, repr=False)
    """The expected ids or spans, or each with its grade."""
    graded_texts: SkipValidation[Any] = Field(default=None, exclude=True, repr=False)
    """The expected texts, or text -> grade."""
    retrieved_spans: SkipValidation[Any] = Field(default=None, exclude=True, repr=False)
    """The spans that were retrieved, where spans were compared."""


def evaluation(
    results: Iterable[RetrievalEvalResult],
    *,
    query_ids: Iterable[Hashable] | Mapping[Hashable, str] | None = None,
    match_on: MatchOn = "auto",
    match: Matcher | None = None,
    unique: bool = False,
) -> Evaluation:
    """Return an `Evaluation` of what a `RetrieverEvaluator` returned, for intervals, misses, segments and comparisons.

    What `HitRateEvaluator.evaluate_dataset` returns has one already, as `evaluation`. A result that cannot be scored is
    named in `unscored`, with the reason in `faults`.

    Args:
        results: the results of single queries. Those of `HitRateEvaluator` know grades and spans too, unless they come
            from JSON; LlamaIndex' own know neither.
        query_ids: their ids, in the order of the results; best the dataset's `queries` (id -> query), by which that
            order is checked. None: the queries themselves, of which further results are "QUERY #2" and so on.
        match_on: as for `HitRateAtK`, like the others; as the evaluator had it where it compared spans.
        match: likewise.
        unique: likewise.

    Raises:
        TypeError, ValueError: one of these is something else, the results are not those of these queries, or none can
            be scored.

    >>> result = RetrievalEvalResult(
    ...     query="Is it free?", expected_ids=["d1"], retrieved_ids=["d2", "d1"], retrieved_texts=[], metric_dict={}
    ... )
    >>> evaluation([result]).mrr(10)
    mrr@10 = 0.500 [0.055, 0.945] (n=1)
    """
    judge, are_spans = Judge(match=match, unique=unique), compared(match_on, match) == "spans"

    def read(result: RetrievalEvalResult) -> tuple[Any, Any]:
        _check_spans(result, are_spans=are_spans)
        expected_ids, expected_texts, retrieved_spans = result.expected_ids, result.expected_texts, None
        if isinstance(result, JudgedResult):
            if are_spans:
                expected_ids = _spans(expected_ids, result.graded_ids)
                retrieved_spans = _spans(result.retrieved_ids, result.retrieved_spans)
            expected_ids = _graded(expected_ids, result.graded_ids)
            expected_texts = _graded(expected_texts, result.graded_texts)
        _, relevant, retrieved = both_sides(
            match_on,
            match,
            expected_ids=expected_ids,
            retrieved_ids=result.retrieved_ids,
            expected_texts=expected_texts,
            retrieved_texts=result.retrieved_texts,
            retrieved_spans=retrieved_spans,
        )
        return relevant, retrieved

    named = ((result.query, result) for result in results) if query_ids is None else by_query(results, query_ids)
    return evaluate_rows(named, read, judge)[0]


def _graded(items: Any, carried: Any) -> Any:
    """Return the items of a result, which may have been edited, with the grades that it carries for them, else 1."""
    if not isinstance(items, list) or not isinstance(carried, Mapping):
        return items
    others = {item: grade for item, grade in carried.items() if not grade > 0}
    return others | {item: 1 if item in others else carried.get(item, 1) for item in items}


def _spans(shown_spans: Any, carried: Iterable[Span]) -> Any:
    """Return the spans that the strings of a result stand for; what stands for none is left as it is."""
    by_shown = {shown(span): span for span in carried}
    return [by_shown.get(each, each) for each in shown_spans] if isinstance(shown_spans, list) else shown_spans


def _check_spans(result: RetrievalEvalResult, *, are_spans: bool) -> None:
    """Raise ValueError where only one of the two, the result and what is to be compared now, is about spans."""
    had_spans = any(score.metadata.get("match_on") == "spans" for score in result.metric_dict.values())
    if are_spans and not (had_spans and isinstance(result, JudgedResult) and result.retrieved_spans is not None):
        raise ValueError(
            "results hold no spans, but those of a HitRateEvaluator that compared spans: evaluate with one again"
        )
    if had_spans and not are_spans:
        raise ValueError("spans were compared, not ids: pass the match= that the evaluator had, such as span_overlap")
