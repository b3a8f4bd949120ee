"""Hit Rate@K for pydantic-evals: an evaluator that gives several metrics at several k, and that YAML can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ._documents import ItemOf
from ._extras import extra
from .core.metrics import Cutoffs, Metric, column_name, metrics_at
from .core.records import Judge, Matcher

with extra("pydantic-evals", "pydantic_evals"):
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

__all__ = ["HitRateEvaluator"]


@dataclass(repr=False)
class HitRateEvaluator(Evaluator[Any, Any, Any]):  # type: ignore[misc, unused-ignore] # where it is not installed
    """A pydantic-evals evaluator of retrieval: one score with its reason per metric and k, for hit rate 1.0 or 0.0.

    Give it to `Dataset(evaluators=[...])` or to a `Case`, and to `Dataset.from_file` as one of the
    `custom_evaluator_types`. A case without relevant items, or with what is no list of items, has no score but an
    evaluator failure that says why; it is in no average.

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: "hit_rate", "recall", "precision", "mrr", "map", "ndcg", also with a cutoff of their own: "mrr@10".
        name: the name of a single score, and the beginning of the names of several: "bm25" gives "bm25_hit_rate@5".
            None: the metric and k, then what differs from the defaults, as "hit_rate@5[contains]".
        retrieved_key: the key or attribute of the task's output that is the list of retrieved ids, texts or documents,
            best first. None: the output is that list.
        relevant_key: the key or attribute of the case's metadata that is the list of relevant ids, texts or documents,
            or item -> grade. None: the expected output is that.
        id_key: the key of a document's metadata that is its id. None: its `id`, else `metadata["id"]`.
        theta: a query is hit when that share of its relevant items is found, in (0, 1]. None: when any is.
        match_on: "ids", "texts", or "auto": texts where `match` is given, else ids.
        match: when a retrieved text counts as a relevant one, such as `contains`. None: equality. A function cannot be
            written to YAML: there, make it the default of a subclass.
        unique: drop repeats before the cutoff, for document ids that chunks share.

    Raises:
        TypeError, ValueError: an argument is wrong.

    >>> from pydantic_evals import Case, Dataset
    >>> cases = [Case(inputs="How long do refunds take?", expected_output=["d2"])]
    >>> dataset = Dataset(name="golden", cases=cases, evaluators=[HitRateEvaluator(k=(1, 2))])
    >>> report = dataset.evaluate_sync(lambda question: ["d1", "d2"], progress=False)
    >>> report.averages().scores
    {'hit_rate@1': 0.0, 'hit_rate@2': 1.0}
    >>> report.cases[0].scores["hit_rate@2"].reason
    'first relevant item at rank 2; 1 of 1 relevant in the top 2'
    """

    k: Cutoffs = (1, 5, 10)
    metrics: str | Iterable[str] = ("hit_rate",)
    name: str | None = None
    retrieved_key: str | None = None
    relevant_key: str | None = None
    id_key: str | None = None
    theta: float | None = None
    match_on: str = "auto"
    match: Matcher | None = None
    unique: bool = False

    def __post_init__(self) -> None:
        """Refuse a configuration that cannot be followed, and make lists, as they come from YAML, into tuples."""
        self.k = tuple(self.k) if isinstance(self.k, Iterable) and not isinstance(self.k, str) else self.k
        self.metrics = self.metrics if isinstance(self.metrics, str) else tuple(map(str, self.metrics))
        metrics = metrics_at(self.metrics, self.k, self.theta)
        self._judge = Judge(match=self.match, unique=self.unique)
        by_default = "ids" if self.match is None else "texts"
        self._item_of = ItemOf(self.id_key, by_default if self.match_on == "auto" else self.match_on)
        self._metrics = {self._name(metric, alone=len(metrics) == 1): metric for metric in metrics}

    def _name(self, metric: Metric, *, alone: bool) -> str:
        if self.name is not None:
            return self.name if alone else f"{self.name}_{metric}"
        return column_name(metric, self.match_on, self.match, unique=self.unique)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Return the score of each metric and k for one case, with the reason.

        Raises TypeError or ValueError, which pydantic-evals reports as this case's evaluator failure, where the case
        cannot be scored.
        """
        relevant = self._item_of.of_relevant(
            ctx.expected_output if self.relevant_key is None else _get(ctx.metadata, self.relevant_key, "metadata")
        )
        retrieved = ctx.output if self.retrieved_key is None else _get(ctx.output, self.retrieved_key, "output")
        if isinstance(retrieved, (list, tuple)):
            retrieved = list(map(self._item_of, retrieved))
        if relevant is None:
            where = "expected_output" if self.relevant_key is None else f"metadata {self.relevant_key!r}"
            raise ValueError(f"cannot be scored: the case has no {where}, which is to hold the relevant items")
        record = self._judge(relevant, retrieved)
        return {
            name: EvaluationReason(metric(record), metric.explain(record)) for name, metric in self._metrics.items()
        }


def _get(holder: Any, key: str, where: str) -> Any:
    """Return what a mapping or an object has under the key. Raises ValueError that names the keys it has."""
    fields = holder if isinstance(holder, Mapping) else getattr(holder, "__dict__", {})
    if key in fields:
        return fields[key]
    if not isinstance(holder, Mapping) and hasattr(holder, key):  # a property, a slot
        return getattr(holder, key)
    raise ValueError(f"the {where} has no {key!r}; it has {', '.join(map(repr, fields)) or 'nothing'}")
