"""One plain scorer, for every framework that takes a function of an input, an output and what was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

from .metrics import Cutoffs, Metric, column_name, metrics_at
from .records import Judge, Matcher

Key = str | Callable[[Any], Any] | None
"""Where items are in an output: a key of the mapping, a function of the output, or None, where they are all of it."""


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
        output_key: where the retrieved items are in the output: a key, or a function of it. None: it is their list.
        expected_key: where the relevant items are in what is expected, likewise.

    Raises:
        TypeError, ValueError: one of these is something else.

    >>> score = scorer(k=(1, 2), output_key="ids")
    >>> for each in score("When is my money back?", {"ids": ["d1", "d2"], "answer": "In five days."}, ["d2", "d7"]):
    ...     print(each["name"], each["score"], each["metadata"]["reason"])
    hit_rate@1 0.0 no relevant item in the top 1; the first is at rank 2 of 2 retrieved
    hit_rate@2 1.0 first relevant item at rank 2; 1 of 2 relevant in the top 2
    """
    for option, key in {"output_key": output_key, "expected_key": expected_key}.items():
        if not (key is None or isinstance(key, str) or callable(key)):
            raise TypeError(f"{option} must be a key, a function or None, got {key!r}")
    judge, wanted = Judge(match=match, unique=unique), metrics_at(metrics, k, theta)
    if name is None:
        named = {column_name(metric, match=match, unique=unique): metric for metric in wanted}
    else:
        named = {f"{name}_{metric}" if wanted[1:] else name: metric for metric in wanted}

    def score(
        input: object = None,  # noqa: A002, ARG001 - the name that frameworks give it
        output: object = None,
        expected: object = None,
        **_ignored: object,
    ) -> list[dict[str, Any]]:
        relevant = None if expected is None else _items("expected", expected, expected_key)
        record = judge(() if relevant is None else relevant, _items("output", output, output_key))
        return [
            {
                "name": column,
                "score": metric(record) if record.n_relevant else None,
                "metadata": {"reason": metric.explain(record)},
            }
            for column, metric in named.items()
        ]

    score.__name__ = ", ".join(named)
    return score


def _items(side: str, given: Any, key: Key) -> Any:
    if callable(key):
        return key(given)
    if key is None and isinstance(given, Mapping) and not all(isinstance(value, Real) for value in given.values()):
        raise TypeError(f"the {side} is a mapping with {_keys(given)}: {side}_key= says where its items are")
    if key is None:
        return given
    if not isinstance(given, Mapping) or key not in given:
        found = _keys(given) if isinstance(given, Mapping) else f"{given!r:.60} ({type(given).__name__})"
        raise ValueError(f"{side}_key={key!r} is no key of the {side}, which has {found}")
    return given[key]


def _keys(given: Mapping[Any, Any]) -> str:
    return ", ".join(map(repr, given)) or "nothing"
