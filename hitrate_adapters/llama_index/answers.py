"""The scores of answers, by query, for `Evaluation.with_answers`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from llama_index.core.evaluation import EvaluationResult

from ._items import by_query


def answer_scores(
    results: Mapping[str, Sequence[EvaluationResult]] | Sequence[EvaluationResult],
    metric: str | None = None,
    *,
    query_ids: Iterable[Hashable] | Mapping[Hashable, str],
    passing: bool = False,
) -> dict[Hashable, float | None]:
    """Return query id -> the score of its answer, for `evaluation.with_answers`; None where a result is invalid.

    Args:
        results: what a `BatchEvalRunner` returned, or the results of one evaluator, in the order of the queries.
        metric: which evaluator of the runner's, by its name there.
        query_ids: the ids of the queries, in the order in which they were asked; best the dataset's `queries` (id ->
            query), by which that order is checked.
        passing: take whether an answer passes, True or False, for its score.

    Raises:
        TypeError, ValueError: there is no such evaluator, or the results are not those of these queries.

    >>> results = {"correctness": [EvaluationResult(query="Is it free?", score=4.5, passing=True)]}
    >>> answer_scores(results, "correctness", query_ids={"q1": "Is it free?"})
    {'q1': 4.5}
    """
    if isinstance(results, Mapping):
        if metric is None or metric not in results:
            raise ValueError(f"no evaluator {metric!r} in the results, which have {', '.join(map(repr, results))}")
        results = results[metric]
    elif metric is not None:
        raise TypeError(f"metric={metric!r} is a name in what a BatchEvalRunner returns; these are {type(results)}")
    return {
        query_id: None if result.invalid_result else result.passing if passing else result.score
        for query_id, result in by_query(results, query_ids)
    }
