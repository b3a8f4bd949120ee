"""An evaluator of responses, beside faithfulness and correctness, and a table of such evaluators' results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any

from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.schema import NodeWithScore

from hitrate_adapters.core.metrics import metrics_at
from hitrate_adapters.core.records import Matcher
from hitrate_adapters.core.scores import mean

from ._items import By, MatchOn, check_by, expected, ids_of, listed, spans_of, texts_of
from .metrics import at_k


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
        (wanted,) = metrics_at([metric], [k], theta)
        self._metric = at_k(wanted, match_on=match_on, match=match, unique=unique)
        self._by = check_by(by)

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **given: Any,
    ) -> EvaluationResult:
        """Return the score of the contexts against `expected_texts`; ids are known from a `Response` only."""
        return self._evaluation(query, response, contexts, None, given)

    async def aevaluate_response(
        self, query: str | None = None, response: Any = None, **given: Any
    ) -> EvaluationResult:
        """Return the score of the response's source nodes against `expected_ids` or `expected_texts`."""
        return self.evaluate_response(query, response, **given)

    def evaluate_response(self, query: str | None = None, response: Any = None, **given: Any) -> EvaluationResult:
        """Return what `aevaluate_response` returns."""
        text = getattr(response, "response", None)
        nodes = getattr(response, "source_nodes", None)
        return self._evaluation(query, text if isinstance(text, str) else None, None, nodes, given)

    def _evaluation(
        self,
        query: object,
        response: object,
        contexts: Any,
        nodes: Iterable[NodeWithScore] | None,
        given: dict[str, Any],
    ) -> EvaluationResult:
        """Return the score of contexts or nodes, or an invalid result with the reason."""
        try:
            wanted, texts = listed(given.get("expected_ids")), listed(given.get("expected_texts"))
            ids = spans = None
            if nodes is not None:
                nodes = list(nodes)
                contexts = texts_of(nodes)
                kind, _ = expected(self._metric.match_on, self._metric.match, wanted, texts)
                ids = ids_of(nodes, self._by) if kind == "ids" else None
                spans = spans_of(nodes, self._by) if kind == "spans" else None
            result = self._metric.compute(None, wanted, ids, texts, contexts, retrieved_spans=spans)
        except Exception as error:
            score, reason = nan, f"{type(error).__name__}: {error}"
        else:
            score, reason = result.score, result.metadata["reason"]
        is_scored = not isnan(score)
        return EvaluationResult(
            query=None if query is None else str(query),
            response=None if response is None else str(response),
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
        scores = [result.score for result in column if not result.invalid_result]
        scored = [score for score in scores if score is not None and not isnan(score)]
        n_unscored = len(column) - len(scored)
        table.append({"evaluator": name, "mean": mean(scored), "n_scored": len(scored), "n_unscored": n_unscored})
    return table
