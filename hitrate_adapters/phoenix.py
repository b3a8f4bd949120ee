"""Hit Rate@K for Arize Phoenix: evaluators for `evaluate_dataframe`, one per metric and k, that ask no model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._documents import IdKey, ItemOf
from ._extras import extra
from .core.evaluation import Evaluation
from .core.matching import compared
from .core.metrics import Cutoffs, Metric
from .core.records import Judge, Matcher
from .core.scoring import QueryScorer
from .core.sound import evaluate_rows

with extra("phoenix", "phoenix.evals"):
    from phoenix.evals import Evaluator, Score, create_evaluator
    from phoenix.evals.utils import remap_eval_input

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["evaluation", "hit_rate_evaluators"]


def hit_rate_evaluators(  # noqa: PLR0913 - the words that all adapters share
    k: Cutoffs = (1, 5, 10),
    metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
    *,
    theta: float | None = None,
    match_on: str = "auto",
    match: Matcher | None = None,
    unique: bool = False,
    id_key: IdKey = None,
    name: str | None = None,
) -> list[Evaluator]:
    """Return one Phoenix evaluator per metric and k: each gives a row a `Score` in [0, 1] with its explanation.

    They read the columns `retrieved`, a list of ids, texts or documents, best first, and `relevant`, a list or item ->
    grade; `bind_evaluator` maps others, such as the documents of Phoenix' spans. A row without relevant items, or that
    cannot be judged, has a `Score` whose `score` is None and whose explanation says why: Phoenix would end the run at
    an error, or try the row again.

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: names, of "hit_rate", "recall", "precision", "mrr", "map" and "ndcg", also with a k: "mrr@10".
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match_on: "ids", "texts", "spans", or "auto": what `match` compares, ids without one.
        match: when a retrieved text counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut, for document ids of chunks.
        id_key: where a document's id is: a key of its metadata, or a function of the document. None: its `id`, else
            `metadata["id"]`.
        name: the name of a single score, and the beginning of the names of several: "bm25" gives "bm25_hit_rate@5".
            None: the metric and k, then the rules that are not the usual ones, as "hit_rate@5[contains]".

    Raises:
        TypeError, ValueError: an argument is something else.

    >>> first, _ = hit_rate_evaluators(k=(1, 5))
    >>> (score,) = first.evaluate({"retrieved": ["d2", "d1"], "relevant": ["d1"]})
    >>> score.name, score.score, score.explanation
    ('hit_rate@1', 0.0, 'no relevant item in the top 1; the first is at rank 2 of 2 retrieved')
    """
    verdicts = QueryScorer(k, metrics, theta=theta, name=name, match_on=match_on, match=match, unique=unique)
    item_of = ItemOf(id_key, compared(match_on, match))

    def make(column: str) -> Evaluator:
        @create_evaluator(name=column, kind="code")
        def score(retrieved: Any, relevant: Any) -> Score:
            try:
                found = verdicts(item_of.of_relevant(relevant), item_of.of_retrieved(retrieved))[column]
            except Exception as error:
                return Score(explanation=f"cannot be scored: {error}")
            return Score(score=found.score, explanation=found.reason)

        return score

    return [make(column) for column in verdicts.metrics]


def evaluation(  # noqa: PLR0913 - the words of `hit_rate_evaluators` that say how rows are read and judged
    dataframe: pd.DataFrame,
    input_mapping: Mapping[str, str | Callable[[Mapping[str, Any]], Any]] | None = None,
    *,
    match_on: str = "auto",
    match: Matcher | None = None,
    unique: bool = False,
    id_key: IdKey = None,
) -> Evaluation:
    """Return an `Evaluation` of a table's rows, for intervals, misses, segments and comparisons.

    Its query ids are the index; further rows of an entry are "ENTRY #2" and so on. A row that cannot be scored is named
    in `unscored`.

    Args:
        dataframe: what `evaluate_dataframe` takes or returns: the columns of scores play no part.
        input_mapping: where `retrieved` and `relevant` are, as for `bind_evaluator`. None: in columns of these names.
        match_on: as for `hit_rate_evaluators`, like the others.
        match: likewise.
        unique: likewise.
        id_key: likewise.

    Raises:
        TypeError, ValueError: an argument is something else, or no row can be scored, as where a column is absent.
    """
    item_of = ItemOf(id_key, compared(match_on, match))

    def read(row: Mapping[str, Any]) -> tuple[Any, Any]:
        fields = remap_eval_input(
            eval_input=row, required_fields={"retrieved", "relevant"}, input_mapping=input_mapping
        )
        return item_of.of_relevant(fields["relevant"]), item_of.of_retrieved(fields["retrieved"])

    rows = zip(dataframe.index, dataframe.rename(columns=str).to_dict("records"), strict=True)
    return evaluate_rows(rows, read, Judge(match=match, unique=unique))[0]
