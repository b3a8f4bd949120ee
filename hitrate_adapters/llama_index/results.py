"""The judged queries of LlamaIndex' own evaluators."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from llama_index.core.evaluation import RetrievalEvalResult

from hitrate_adapters.core.evaluation import Evaluation
from hitrate_adapters.core.records import Judge, Matcher
from hitrate_adapters.core.sound import evaluate_rows

from ._items import MatchOn, both_sides, by_query, compared


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
    named in `unscored`.

    Args:
        results: the results of single queries.
        query_ids: their ids, in the order of the results; best the dataset's `queries` (id -> query), by which that
            order is checked. None: the queries themselves, of which further results are "QUERY #2" and so on.
        match_on: as for `HitRateAtK`, but for spans, which results do not hold.
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
    judge = Judge(match=match, unique=unique)
    if compared(match_on, match) == "spans":
        raise ValueError("results hold no spans: the evaluation of HitRateEvaluator.evaluate_dataset(...) knows them")

    def read(result: RetrievalEvalResult) -> tuple[Any, Any]:
        _, relevant, retrieved = both_sides(
            match_on,
            match,
            expected_ids=result.expected_ids,
            retrieved_ids=result.retrieved_ids,
            expected_texts=result.expected_texts,
            retrieved_texts=result.retrieved_texts,
        )
        return relevant, retrieved

    named = ((result.query, result) for result in results) if query_ids is None else by_query(results, query_ids)
    return evaluate_rows(named, read, judge)[0]
