"""Future AGI's `evaluate("hit_rate", ...)` and its family, computed here: nothing is sent, nothing else is needed.

`register()` puts the same metrics into Future AGI's own package, so that `fi.evals.evaluate` computes them locally.

>>> result = evaluate("hit_rate", hypothesis='["d1", "d2", "d3"]', reference='["d2", "d7"]', k=2)
>>> result.score, result.reason
(1.0, 'first relevant item at rank 2; 1 of 2 relevant in the top 2')
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

from ._extras import extra
from .core.evaluation import Evaluation
from .core.items import string_id
from .core.metrics import Metric
from .core.records import Judge, Matcher
from .core.scores import Score, mean
from .core.scoring import QueryScorer
from .core.sound import evaluate_rows

__all__ = ["METRIC_OF", "Result", "Results", "evaluate", "register"]

METRIC_OF = {
    "hit_rate": "hit_rate",
    "recall_at_k": "recall",
    "precision_at_k": "precision",
    "ndcg_at_k": "ndcg",
    "mrr": "mrr",
    "mean_average_precision": "map",
}
"""Future AGI's name of an evaluation -> the metric's name here."""


@dataclass(frozen=True)
class Result:
    """The result of one row, with the names that Future AGI's own results have."""

    eval_name: str
    """The name that was asked for."""
    score: float | None
    """The value in [0, 1]; None where the row was skipped or failed."""
    reason: str
    """What the score rests on, or why there is none."""
    status: str = "completed"
    """Or "skipped", where the reference is empty, or "failed", where the row cannot be read."""

    @property
    def passed(self) -> bool | None:
        """Whether the score is at least 0.5, Future AGI's bar; None where there is no score."""
        return None if self.score is None else self.score >= 0.5

    @property
    def error(self) -> str | None:
        """What is wrong with a row that failed."""
        return self.reason if self.status == "failed" else None


class Results(list[Result]):
    """The results of a batch, one for each row, in order, and their mean."""

    def __init__(self, results: list[Result], metric: Metric, rows: list[tuple[object, object]], judge: Judge) -> None:
        """Keep what the mean is the mean of, and the hypothesis and the reference of each row."""
        super().__init__(results)
        self.metric = metric
        self._rows, self._judge = rows, judge

    @property
    def mean(self) -> Score | None:
        """The mean over the rows with a score, which knows its n and, for hit rate, its interval; None for none."""
        scores = [result.score for result in self if result.score is not None]
        value = mean(scores)
        return None if value is None else Score(value, self.metric, len(scores))

    @cached_property
    def evaluation(self) -> Evaluation:
        """An `Evaluation` of the rows, for other metrics and cutoffs, misses, segments and comparisons.

        Its query ids are the numbers of the rows, from 0. Rows that were skipped or failed are named in `unscored`.
        Raises TypeError or ValueError where no row has a score.
        """
        return evaluate_rows(enumerate(self._rows), lambda row: _read(self._judge, *row), self._judge)[0]


def evaluate(  # noqa: PLR0913 - options, by name only
    eval_name: str,
    *,
    hypothesis: object,
    reference: object,
    k: int | None = None,
    theta: float | None = None,
    match: Matcher | None = None,
    unique: bool = False,
) -> Any:
    """Return the `Result` of one query, or the `Results` of a batch, one for each row.

    A row that cannot be read has the status "failed", one with an empty reference "skipped"; neither has a score.

    Args:
        eval_name: "hit_rate", "recall_at_k", "precision_at_k", "ndcg_at_k", "mrr" or "mean_average_precision".
        hypothesis: what was retrieved, best first: a list of texts or ids, or item -> score, or either as a string of
            JSON. A list or a column of these, whose strings begin with "[" or "{", is a batch, and each element a row.
        reference: what is relevant, in the same form; item -> grade is for graded nDCG.
        k: the cutoff; None: all that was retrieved.
        theta: for hit rate only, the share of the reference that makes a hit, 0 < theta <= 1. None: at least one item.
        match: when a retrieved text counts as a relevant one, such as `contains`. None: equality.
        unique: drop repeats before the cutoff, for document ids that chunks share.

    Raises:
        TypeError, ValueError: the name or an option is wrong, or the sides of a batch differ in length.

    >>> rows = evaluate("hit_rate", hypothesis=['["d1", "d2"]', '["d3"]'], reference=['["d2"]', "[]"])
    >>> [(row.score, row.status) for row in rows]
    [(1.0, 'completed'), (None, 'skipped')]
    >>> rows.mean
    hit_rate = 1.000 [0.207, 1.000] (n=1)
    """
    if not isinstance(eval_name, str) or eval_name not in METRIC_OF:
        raise ValueError(f"unknown evaluation {eval_name!r}: one of {', '.join(METRIC_OF)}")
    metric = Metric(METRIC_OF[eval_name], k, theta)
    verdicts = QueryScorer(None, metric, match=match, unique=unique)
    hypothesis, reference = _plain(hypothesis), _plain(reference)
    if _is_batch(hypothesis) or _is_batch(reference):
        rows = _rows(hypothesis, reference)
        return Results([_result(eval_name, verdicts, *row) for row in rows], metric, rows, verdicts.judge)
    return _result(eval_name, verdicts, hypothesis, reference)


def register() -> None:
    """Put the metrics of `METRIC_OF` into Future AGI's registry, where `fi.evals.evaluate` then finds them.

    It takes the options of `evaluate` beside `hypothesis` and `reference`. The package has metrics of its own under the
    names "mrr", "recall_at_k" and "precision_at_k", with other inputs, which are replaced.

    Raises ImportError where Future AGI's package, ai-evaluation, is absent.
    """
    with extra("futureagi", "fi.evals"):  # here, since it takes long to import and `evaluate` does without
        from fi.evals.local.execution_mode import LOCAL_CAPABLE_METRICS
        from fi.evals.local.registry import get_registry
        from fi.evals.metrics.base_metric import BaseMetric
        from fi.evals.types import BaseMetricInput, BatchRunResult, ConfigPossibleValues, EvalResult

    class Inputs(BaseMetricInput, extra="allow"):  # type: ignore[misc, call-arg]
        """Takes anything, because their validation would make a score of 0.0 of what it refuses."""

        hypothesis: Any = None
        reference: Any = None
        k: Any = None
        theta: Any = None
        match: Any = None
        unique: Any = False

    class Ranking(BaseMetric[Inputs]):  # type: ignore[misc]
        """One of the metrics, as their registry wants it."""

        metric_name = ""

        def compute_one(self, inputs: Inputs) -> dict[str, Any]:
            """Return the output, None for an empty reference, and the reason; raise for what cannot be scored."""
            options = {
                name: value for name, value in self.config.items() if name not in ConfigPossibleValues.model_fields
            }
            options |= {name: getattr(inputs, name) for name in inputs.model_fields_set}
            result = evaluate(self.metric_name, **options)
            if isinstance(result, Results):
                raise TypeError(
                    "fi.evals.evaluate returns one result: pass a batch to hitrate_adapters.futureagi.evaluate"
                )
            if result.error:
                raise ValueError(result.error)
            return {"output": result.score, "reason": result.reason}

        def evaluate(self, inputs: Sequence[Any]) -> Any:
            """Return one result per row; a row that fails has the output None, and raises where it is the only one."""
            results = []
            for row in inputs:
                try:
                    results += super().evaluate([Inputs.model_validate(row)]).eval_results
                except Exception as error:
                    if len(inputs) == 1:
                        raise
                    results.append(EvalResult(name=self.metric_name, output=None, reason=str(error), runtime=0))
            return BatchRunResult(eval_results=results)

    for name in METRIC_OF:
        get_registry().register(name, type("Ranking", (Ranking,), {"metric_name": name}))
        LOCAL_CAPABLE_METRICS.add(name)


def _result(eval_name: str, verdicts: QueryScorer, hypothesis: object, reference: object) -> Result:
    try:
        ((score, reason),) = verdicts(*_read(verdicts.judge, hypothesis, reference)).values()
    except Exception as error:
        return Result(eval_name, None, f"{type(error).__name__}: {error}", "failed")
    return Result(eval_name, score, reason, "skipped" if score is None else "completed")


def _read(judge: Judge, hypothesis: object, reference: object) -> tuple[Any, Any]:
    """Return the relevant items of a row and the retrieved ones. Raises TypeError or ValueError for what is none."""
    relevant = _items("reference", reference)
    if judge.match is None and not all(map(str.strip, relevant)):
        raise ValueError("reference holds blank text, which nothing can match: leave it out")
    return relevant, _items("hypothesis", hypothesis)


def _plain(given: Any) -> Any:
    """Return a list for a column of pandas and for an array of NumPy."""
    return given.tolist() if hasattr(given, "tolist") else given


def _is_batch(given: object) -> bool:
    return isinstance(given, (list, tuple)) and any(map(_is_row, given))


def _is_row(given: object) -> bool:
    """Tell whether an element of a list is all of one query's items, or what should be."""
    if isinstance(given, Mapping):
        return all(isinstance(number, Real) for number in given.values())
    return given.lstrip().startswith(("[", "{")) if isinstance(given, str) else isinstance(_plain(given), (list, tuple))


def _rows(hypothesis: object, reference: object) -> list[tuple[object, object]]:
    if (
        isinstance(hypothesis, (list, tuple))
        and isinstance(reference, (list, tuple))
        and len(hypothesis) == len(reference)
    ):
        return list(zip(hypothesis, reference, strict=True))
    raise ValueError(
        "a list with an element that is a list, or a string that begins with '[' or '{', is a batch, with as many rows "
        f"in the hypothesis, {_size(hypothesis)}, as in the reference, {_size(reference)}: "
        "pass texts of a single query that begin so as json.dumps(texts)"
    )


def _size(side: object) -> str:
    return f"{len(side)} rows" if isinstance(side, (list, tuple)) else f"no list but {side!r:.60}"


def _items(side: str, given: Any) -> Any:
    """Return the items of one side of a row, ids as `str`."""
    given = _plain(given)
    if isinstance(given, str):
        try:
            given = json.loads(given, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{side} is no JSON ({error}): {given!r:.60}") from error
    if isinstance(given, Mapping):
        return _object([(_item(side, item), number) for item, number in given.items()])
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{side} must be a list, or one as JSON; found {given!r:.60} ({type(given).__name__})")
    return [_item(side, item) for item in given]


def _object(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a dict of what has one value for each key; JSON itself would take the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{max(keys, key=keys.count)!r:.60} has two values")
    return found


def _item(side: str, item: object) -> str | None:
    if item is None and side == "hypothesis":  # a slot that never hits
        return None
    found = string_id(item)
    if found is None:
        raise ValueError(f"{side} holds {item!r:.60} ({type(item).__name__}): an item is a str, or an int as an id")
    return found
