"""Hit Rate@K for pydantic-evals: an evaluator that gives several metrics at several k, and that YAML can hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, TypeAlias

from ._documents import IdKey, ItemOf, check_keys
from ._extras import extra
from .core.evaluation import Evaluation
from .core.matching import compared, name_of
from .core.metrics import Cutoffs, Metric
from .core.records import Matcher
from .core.scoring import QueryScorer
from .core.sound import evaluate_rows

with extra("pydantic-evals", "pydantic_evals"):
    from pydantic import SerializationInfo, model_serializer
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorSpec
    from pydantic_evals.reporting import EvaluationReport, ReportCase, ReportCaseFailure

__all__ = ["HitRateEvaluator"]

_Case: TypeAlias = "ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]"


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
        id_key: where a document's id is: a key of its metadata, or a function of the document. None: its `id`, else
            `metadata["id"]`.
        theta: a query is hit when that share of its relevant items is found, in (0, 1]. None: when any is.
        match_on: "ids", "texts", "spans", or "auto": what `match` compares, ids without one.
        match: when a retrieved text counts as a relevant one, such as `contains`. None: equality. `to_file` refuses a
            function: make it the default of a subclass.
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
    metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",)
    name: str | None = None
    retrieved_key: str | None = None
    relevant_key: str | None = None
    id_key: IdKey = None
    theta: float | None = None
    match_on: str = "auto"
    match: Matcher | None = None
    unique: bool = False

    def __post_init__(self) -> None:
        """Refuse a configuration that cannot be followed, and make of it what comes back from YAML the same."""
        for option in ("retrieved_key", "relevant_key"):
            if not isinstance(key := getattr(self, option), str | None):
                raise TypeError(f"{option} must be a key, an attribute's name or None, got {key!r}")
        self.k, self.metrics = _tuple(self.k), _tuple(self.metrics)
        self._score = QueryScorer(
            self.k,
            self.metrics,
            theta=self.theta,
            name=self.name,
            match_on=self.match_on,
            match=self.match,
            unique=self.unique,
        )
        self._item_of = ItemOf(self.id_key, compared(self.match_on, self.match))
        self.k = tuple(map(_int, self.k)) if isinstance(self.k, tuple) else _int(self.k)
        self.metrics = tuple(map(str, self.metrics)) if isinstance(self.metrics, tuple) else str(self.metrics)
        self.theta = None if self.theta is None else float(self.theta)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Return the score of each metric and k for one case, with the reason.

        Raises TypeError or ValueError, which pydantic-evals reports as this case's evaluator failure, where the case
        cannot be scored.
        """
        found = dict[str, EvaluationReason]()
        for name, (score, reason) in self._score(*self._read(ctx)).items():
            if score is None:
                raise ValueError(reason)
            found[name] = EvaluationReason(score, reason)
        return found

    def evaluation(self, report: EvaluationReport[Any, Any, Any]) -> Evaluation:
        """Return an `Evaluation` of a report's cases, for intervals, misses, segments and comparisons.

        Its query ids are the names of the cases; further runs of a case, by `repeat=`, are "NAME #2" and so on. A case
        whose task failed is a miss, named in `errors`, though it is in none of the report's averages. One that cannot
        be scored is named in `unscored`.

        Raises:
            TypeError, ValueError: no case can be scored.
        """
        cases: list[_Case] = sorted([*report.cases, *report.failures], key=_number_of_run)
        named = ((case.source_case_name or case.name, case) for case in cases)
        return evaluate_rows(named, self._read, self._score.judge)[0]

    def _read(self, case: EvaluatorContext[Any, Any, Any] | _Case) -> tuple[Any, Any]:
        """Return what is relevant in a case, and what was retrieved, or the error of its task."""
        relevant = (
            case.expected_output if self.relevant_key is None else _get(case.metadata, self.relevant_key, "metadata")
        )
        if relevant is None:
            where = "expected_output" if self.relevant_key is None else f"metadata {self.relevant_key!r}"
            raise ValueError(f"cannot be scored: the case has no {where}, which is to hold the relevant items")
        relevant = self._item_of.of_relevant(relevant)
        if isinstance(case, ReportCaseFailure):
            return relevant, RuntimeError(case.error_message)
        retrieved = case.output if self.retrieved_key is None else _get(case.output, self.retrieved_key, "output")
        retrieved = self._item_of.of_retrieved(retrieved)
        check_keys(relevant, retrieved)
        return relevant, retrieved

    def as_spec(self) -> EvaluatorSpec:
        """Return what reports hold of the evaluator, with functions by name, and what `to_file` writes or refuses."""
        spec = super().as_spec()
        if not any(map(callable, spec.kwargs.values())):
            return spec
        named = {option: name_of(value) if callable(value) else value for option, value in spec.kwargs.items()}
        return _SpecOfFunctions(name=spec.name, arguments=named)


class _SpecOfFunctions(EvaluatorSpec):  # type: ignore[misc, unused-ignore] # where it is not installed
    @model_serializer(mode="wrap")
    def serialize(self, handler: Callable[[Any], Any], info: SerializationInfo) -> Any:
        if info.context and info.context.get("use_short_form"):  # as `to_file` asks
            raise ValueError(
                f"a file cannot hold the functions among {self.name}'s arguments, {self.kwargs!r}: write a subclass "
                "with them as its defaults"
            )
        return handler(self)


def _number_of_run(case: _Case) -> int:
    """Return which run of a case this is: 2 of "NAME [2/3]", as pydantic-evals names the runs of one."""
    found = None if case.source_case_name is None else re.search(r"\[(\d+)/\d+\]$", case.name)
    return int(found[1]) if found else 1


def _tuple(option: Any) -> Any:
    return tuple(option) if isinstance(option, Iterable) and not isinstance(option, str) else option


def _int(k: Any) -> int | None:
    return None if k is None else index(k)


def _get(holder: Any, key: str, where: str) -> Any:
    """Return what a mapping or an object has under the key. Raises ValueError that names the keys it has."""
    fields = holder if isinstance(holder, Mapping) else getattr(holder, "__dict__", {})
    if key in fields:
        return fields[key]
    if not isinstance(holder, Mapping) and hasattr(holder, key):  # a property, a slot
        return getattr(holder, key)
    raise ValueError(f"the {where} has no {key!r}; it has {', '.join(map(repr, fields)) or 'nothing'}")
