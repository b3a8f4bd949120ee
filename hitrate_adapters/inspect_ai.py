"""Hit Rate@K for Inspect AI: a scorer of retrieval that gives several metrics at several k, each with its stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import nan
from typing import Any

from ._documents import IdKey, ItemOf, call, check_keys
from ._extras import extra
from .core.evaluation import Evaluation
from .core.matching import compared
from .core.metrics import Cutoffs, Metric
from .core.records import Judge, Matcher
from .core.scoring import QueryScorer
from .core.sound import evaluate_rows

with extra("inspect-ai", "inspect_ai"):
    from inspect_ai.log import EvalLog, EvalSample, resolve_sample_attachments
    from inspect_ai.model import ModelName
    from inspect_ai.scorer import Score, Scorer, Target, scorer, stderr
    from inspect_ai.scorer import mean as mean_metric
    from inspect_ai.solver import TaskState
    from pydantic_core import to_jsonable_python

__all__ = ["evaluation", "hit_rate"]

_Key = str | Callable[[TaskState], Any]


@scorer(metrics={"*": [mean_metric(), stderr()]})
def hit_rate(  # noqa: PLR0913 - the words that all adapters share
    k: Cutoffs = (1, 5, 10),
    metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
    *,
    theta: float | None = None,
    match_on: str = "auto",
    match: Matcher | None = None,
    unique: bool = False,
    retrieved_key: _Key = "retrieved",
    relevant_key: _Key | None = None,
    id_key: IdKey = None,
    name: str | None = None,
) -> Scorer:
    """Return an Inspect scorer whose `Score` is a dict of one value in [0, 1] per metric and k, with the reasons.

    The results of the log have the mean and the standard error of each. A sample without relevant items, or that cannot
    be judged, has NaN for each value, Inspect's "unscored", and an explanation that says why: it is in no mean, and is
    counted. So no sample costs the log its others, neither in a run nor when a log is scored again.

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: "hit_rate", "recall", "precision", "mrr", "map", "ndcg", also with a cutoff of their own: "mrr@10".
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match_on: "ids", "texts", "spans", or "auto": what `match` compares, ids without one.
        match: when a retrieved text counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut, for document ids of chunks.
        retrieved_key: where the list of retrieved ids, texts or documents is, best first: a key of the sample's store,
            else of its metadata; or a function of the `TaskState`.
        relevant_key: where the relevant items are, a list or item -> grade: likewise. None: the target.
        id_key: where a document's id is: a key of its metadata, or a function of the document. None: its `id`, else
            `metadata["id"]`.
        name: the name of a single score, and the beginning of the names of several: "bm25" gives "bm25_hit_rate@5".
            None: the metric and k, then the rules that are not the usual ones, as "hit_rate@5[contains]".

    Raises:
        TypeError, ValueError: an argument is something else.

    >>> import asyncio
    >>> state = TaskState("m", "s", 1, "Is my dog free?", [], metadata={"retrieved": ["bikes", "dogs"]})
    >>> score = asyncio.run(hit_rate(k=(1, 2))(state, Target(["dogs"])))
    >>> score.value
    {'hit_rate@1': 0.0, 'hit_rate@2': 1.0}
    >>> print(score.explanation)
    hit_rate@1: no relevant item in the top 1; the first is at rank 2 of 2 retrieved
    hit_rate@2: first relevant item at rank 2; 1 of 1 relevant in the top 2
    """
    verdicts = QueryScorer(k, metrics, theta=theta, name=name, match_on=match_on, match=match, unique=unique)
    items = _Items(retrieved_key, relevant_key, ItemOf(id_key, compared(match_on, match)))

    async def score(state: TaskState, target: Target) -> Score:
        try:
            relevant, retrieved = items.relevant(state, target), items.retrieved(state)
            check_keys(relevant, retrieved)
            found = verdicts(relevant, retrieved)
            items.check_that_a_log_keeps_them(state, relevant, retrieved)
        except Exception as error:
            return Score(
                value=dict.fromkeys(verdicts.metrics, nan),
                explanation=f"cannot be scored: sample {state.sample_id!r}: {error}",
                reason="scoring_failed",
            )
        return Score(
            value={column: nan if verdict.score is None else verdict.score for column, verdict in found.items()},
            explanation="\n".join(f"{column}: {verdict.reason}" for column, verdict in found.items()),
        )

    return score


def evaluation(  # noqa: PLR0913 - the words of `hit_rate` that say how samples are read and judged
    log: EvalLog,
    *,
    match_on: str = "auto",
    match: Matcher | None = None,
    unique: bool = False,
    retrieved_key: _Key = "retrieved",
    relevant_key: _Key | None = None,
    id_key: IdKey = None,
) -> Evaluation:
    """Return an `Evaluation` of a log's samples, for intervals, misses, segments and comparisons.

    Its query ids are the ids of the samples; further epochs of a sample are "ID #2" and so on. A sample in error that
    had not retrieved is a miss, named in `errors`, though Inspect's own means leave it out. One that cannot be scored
    is named in `unscored`.

    Args:
        log: what `eval` or `read_eval_log` returned.
        match_on: as for `hit_rate`, like the others.
        match: likewise.
        unique: likewise.
        retrieved_key: likewise.
        relevant_key: likewise.
        id_key: likewise.

    Raises:
        TypeError, ValueError: an argument is something else, the log was read without its samples, or none of them can
            be scored.
    """
    items = _Items(retrieved_key, relevant_key, ItemOf(id_key, compared(match_on, match)))
    if log.samples is None:
        raise ValueError(f"the log has no samples (its status is {log.status!r}): read it with header_only=False")

    def read(sample: EvalSample) -> tuple[Any, Any]:
        state = _state(sample, log.eval.model)
        relevant = items.relevant(state, state.target)
        try:
            retrieved = items.retrieved(state)
        except Exception:
            if sample.error is None:
                raise
            return relevant, RuntimeError(sample.error.message)
        check_keys(relevant, retrieved)
        return relevant, retrieved

    return evaluate_rows(((sample.id, sample) for sample in log.samples), read, Judge(match=match, unique=unique))[0]


def _state(sample: EvalSample, model: str) -> TaskState:
    """Return what a scorer is given of a sample, as when a log is scored again."""
    sample = resolve_sample_attachments(sample)
    return TaskState(
        ModelName(model),
        sample.id,
        sample.epoch,
        sample.input,
        sample.messages,
        target=Target(sample.target),
        choices=sample.choices,
        output=sample.output,
        completed=True,
        metadata=sample.metadata,
        store=sample.store,
    )


@dataclass(frozen=True, slots=True)
class _Items:
    """Reads the items of both sides from a sample's state."""

    retrieved_key: _Key
    relevant_key: _Key | None
    item_of: ItemOf

    def __post_init__(self) -> None:
        for option, key in {"retrieved_key": self.retrieved_key, "relevant_key": self.relevant_key}.items():
            if not (isinstance(key, str) or callable(key) or (key is None and option == "relevant_key")):
                raise TypeError(f"{option} must be a key or a function of the TaskState, got {key!r}")

    def relevant(self, state: TaskState, target: Target) -> Any:
        if self.relevant_key is not None:
            return self.item_of.of_relevant(_get(state, "relevant_key", self.relevant_key))
        return self.item_of.of_relevant(list(target) if target.text else [])

    def retrieved(self, state: TaskState) -> Any:
        return self.item_of.of_retrieved(_get(state, "retrieved_key", self.retrieved_key))

    def check_that_a_log_keeps_them(self, state: TaskState, relevant: Any, retrieved: Any) -> None:
        """Raise ValueError where the items under a key are other ones in a log: numbers of NumPy are null there."""
        for side, key, read, items in (
            ("relevant", self.relevant_key, self.item_of.of_relevant, relevant),
            ("retrieved", self.retrieved_key, self.item_of.of_retrieved, retrieved),
        ):
            if isinstance(key, str):
                given = _get(state, side, key)
                logged = to_jsonable_python(given, exclude_none=True, fallback=lambda _: None)
                if not _is_read_as(items, read, logged):
                    raise ValueError(
                        f"the log would not keep the {side} items {given!r:.80}, but {logged!r:.80}, whose score is "
                        "another one: give numbers of NumPy as their .tolist(), keys as strings"
                    )


def _is_read_as(items: Any, read: Callable[[Any], Any], logged: Any) -> bool:
    try:
        return bool(read(logged) == items)
    except Exception:
        return False


def _get(state: TaskState, option: str, key: _Key) -> Any:
    """Return what the function gives, or what stands under the key. Raises ValueError that names the keys there are."""
    if callable(key):
        return call(option, key, state)
    for fields in (state.store, state.metadata):
        if key in fields.keys():  # noqa: SIM118 - a Store is no mapping
            return fields.get(key)
    stored, given = (", ".join(map(repr, fields.keys())) or "nothing" for fields in (state.store, state.metadata))
    raise ValueError(f"no {key!r} in the store, which has {stored}, nor in the metadata, which has {given}")
