"""One plain scorer, for every framework that takes a function of an input, an output and what was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

from .items import Items
from .metrics import Cutoffs, Metric, named_metrics
from .records import Judge, Matcher

Key = str | Callable[[Any], Any] | None
"""Where items are in an output: a key of the mapping, a function of the output, or None, where they are all of it."""


class Verdict(NamedTuple):
    """What a metric says of one query."""

    score: float | None
    """The value in [0, 1]; None where nothing is relevant, so that the query cannot be scored."""
    reason: str
    """What the value rests on, in one line."""


class QueryScorer:
    """Scores one query after another by several metrics: what `scorer` and the adapters of frameworks share.

    >>> QueryScorer(k=(1, 5))(["d2"], ["d1", "d2"])["hit_rate@5"]
    Verdict(score=1.0, reason='first relevant item at rank 2; 1 of 1 relevant in the top 5')
    """

    def __init__(  # noqa: PLR0913 - the words that all adapters share
        self,
        k: Cutoffs,
        metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
        *,
        theta: float | None = None,
        name: str | None = None,
        match_on: str = "auto",
        match: Matcher | None = None,
        unique: bool = False,
    ) -> None:
        """Refuse a configuration that cannot be followed."""
        self.judge = Judge(match=match, unique=unique)
        self.metrics = named_metrics(metrics, k, theta, name=name, match_on=match_on, match=match, unique=unique)

    def __call__(self, relevant: Items, retrieved: Items, query_id: object = None) -> dict[str, Verdict]:
        """Return the verdict by each name. Raises TypeError or ValueError for items that cannot be judged."""
        record = self.judge(relevant, retrieved, query_id)
        return {
            name: Verdict(metric(record) if record.n_relevant else None, metric.explain(record))
            for name, metric in self.metrics.items()
        }


def scorer(  # noqa: PLR0913 - the words that all adapters share
    k: Cutoffs = 5,
    *,
    metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
    name: str | None = None,
    theta: float | None = None,
    match: Matcher | None = None,
    unique: bool = False,
    output_key: Key = None,
    expected_key: Key = None,
) -> Callable[..., list[dict[str, Any]]]:
    """Return a function `(input, output, expected, **kwargs)` that gives the scores of one query.

    It takes its arguments by position or by name, ignores `input` and what it does not know, and returns a dict for
    each metric and k: its `name`, its `score` in [0, 1], and `metadata` with the reason. Where nothing is expected
    (None or an empty list) the score is None. It raises TypeError or ValueError for an output that cannot be judged,
    which frameworks report as an error of the row.

    Args:
        k: the cutoff, several, or None for all that was retrieved.
        metrics: "hit_rate", "recall", "precision", "mrr", "map", "ndcg", also with a cutoff of their own: "mrr@10".
        name: the name of a single score, and the beginning of the names of several. None: the metric and k, then what
            differs from the defaults, as "hit_rate@5[contains]".
        theta: a query is hit when that share of its relevant items is found, 0 < theta <= 1. None: when any is.
        match: when a retrieved item counts as a relevant one, such as `contains`. None: equality.
        unique: drop repeats before the cutoff, for document ids that chunks share.
        output_key: where the retrieved items are in the output: a key, or a function of it. None: it is their list. For
            an output that is item -> score: `dict`, since {"latency": 1.0} looks no different.
        expected_key: where the relevant items are in what is expected, likewise. None: it is them, or item -> grade.

    Raises:
        TypeError, ValueError: one of these is something else.

    >>> score = scorer(k=(1, 2), output_key="ids")
    >>> for each in score("When is my money back?", {"ids": ["d1", "d2"], "answer": "In five days."}, ["d2", "d7"]):
    ...     print(each["name"], each["score"], each["metadata"]["reason"])
    hit_rate@1 0.0 no relevant item in the top 1; the first is at rank 2 of 2 retrieved
    hit_rate@2 1.0 first relevant item at rank 2; 1 of 2 relevant in the top 2
    """
    check_keys(output_key=output_key, expected_key=expected_key)
    verdicts = QueryScorer(k, metrics, theta=theta, name=name, match=match, unique=unique)

    def score(
        input: object = None,  # noqa: A002, ARG001 - the name that frameworks give it
        output: object = None,
        expected: object = None,
        **_ignored: object,
    ) -> list[dict[str, Any]]:
        relevant = None if expected is None else _items("expected", expected, expected_key)
        found = verdicts(() if relevant is None else relevant, _items("output", output, output_key))
        return [
            {"name": name, "score": score, "metadata": {"reason": reason}} for name, (score, reason) in found.items()
        ]

    score.__name__ = ", ".join(verdicts.metrics)
    return score


def check_keys(**options: object) -> None:
    """Raise TypeError for an option that says where items are but is no `Key`."""
    for option, key in options.items():
        if not (key is None or isinstance(key, str) or callable(key)):
            raise TypeError(f"{option} must be a key, a function or None, got {key!r}")


def _items(side: str, given: Any, key: Key) -> Any:
    if callable(key):
        return key(given)
    if key is None and isinstance(given, Mapping) and (side == "output" or not _are_grades(given)):
        raise TypeError(f"the {side} is a mapping with {_keys(given)}: {side}_key= says where its items are")
    if key is None:
        return given
    if not isinstance(given, Mapping) or key not in given:
        found = _keys(given) if isinstance(given, Mapping) else f"{given!r:.60} ({type(given).__name__})"
        raise ValueError(f"{side}_key={key!r} is no key of the {side}, which has {found}")
    return given[key]


def _are_grades(given: Mapping[Any, Any]) -> bool:
    return all(isinstance(value, Real) for value in given.values())


def _keys(given: Mapping[Any, Any]) -> str:
    return ", ".join(map(repr, given)) or "nothing"
