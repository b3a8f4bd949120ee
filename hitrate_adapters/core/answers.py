"""Hits beside answers: how often the answer is right where the retrieval hit, and where it missed."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .correlation import correlation
from .display import columns, one_of, some
from .intervals import wilson
from .items import is_absent
from .matching import check_number
from .metrics import Metric
from .scores import mean

if TYPE_CHECKING:
    from .evaluation import Evaluation

_LARGEST = 1e300  # beyond it sums and differences are infinite

Answers = Mapping[Any, Any]
"""Query id -> True, False, 1, 0 or a score; None or NaN where the answer was not scored."""


class Estimate(NamedTuple):
    """A share or a correlation, its 95 % interval, and how many queries it is from; `str` is the three of them."""

    value: float
    interval: tuple[float, float]
    n: int

    def __str__(self) -> str:
        """Return the value, its interval and n."""
        return "{:.3f} [{:.3f}, {:.3f}] (n={})".format(self.value, *self.interval, self.n)


class Answered(NamedTuple):
    """A query whose retrieval and whose answer were both scored."""

    query_id: Hashable
    hit: bool
    score: float
    """Of its answer."""
    correct: bool | None
    """Whether its answer is right; None where scores are continuous and no threshold was given."""


@dataclass(frozen=True, slots=True, repr=False)
class HitsAndAnswers:
    """Hits beside answers; printed, the 2 x 2 table and what to read in it. Made by `evaluation.with_answers`.

    Where answers have continuous scores and there is no threshold, none is right or wrong: what is said of right
    answers is None, and `mean_given_hit`, `mean_given_miss` and `point_biserial` are there instead.
    """

    answered: tuple[Answered, ...]
    """The queries, in the order of the qrels."""
    metric: Metric
    """What a hit is, such as hit_rate@5."""
    threshold: float | None
    """The lowest score of a right answer, if one was given."""
    unanswered: tuple[Hashable, ...]
    """Queries left out because their answer has no score."""
    unscored: tuple[Hashable, ...]
    """Queries left out because their retrieval cannot be scored, though their answer was."""

    @property
    def is_binary(self) -> bool:
        """Whether answers are right or wrong."""
        return self.answered[0].correct is not None

    def queries(self, *, hit: bool | None = None, correct: bool | None = None) -> tuple[Hashable, ...]:
        """Return the ids of one cell of the table; with one argument of a row or column, without any all.

        Raises ValueError for `correct` where nothing says which answers are right.
        """
        if correct is not None and not self.is_binary:
            raise ValueError("the answers have continuous scores: with_answers(..., threshold=) says which are right")
        return tuple(row.query_id for row in self.answered if hit in (None, row.hit) and correct in (None, row.correct))

    @property
    def correct_given_hit(self) -> Estimate | None:
        """P(right | hit) with its Wilson interval; None without a hit."""
        return self._share({"correct": True}, among={"hit": True})

    @property
    def correct_given_miss(self) -> Estimate | None:
        """P(right | miss) with its Wilson interval; None without a miss."""
        return self._share({"correct": True}, among={"hit": False})

    @property
    def wrong_given_hit(self) -> Estimate | None:
        """The share of hits that were answered wrong, which is the generator's part; None without a hit."""
        return self._share({"correct": False}, among={"hit": True})

    @property
    def miss_given_correct(self) -> Estimate | None:
        """The share of right answers without a hit: known without the retrieval, or a label is missing."""
        return self._share({"hit": False}, among={"correct": True})

    @property
    def mean_given_hit(self) -> float | None:
        """The mean score of the answers to hits; None without a hit."""
        return mean(row.score for row in self.answered if row.hit)

    @property
    def mean_given_miss(self) -> float | None:
        """The mean score of the answers to misses; None without a miss."""
        return mean(row.score for row in self.answered if not row.hit)

    @property
    def phi(self) -> Estimate | None:
        """The phi coefficient of hit and right, from -1 to 1; None where `undefined` says why, or nothing is right.

        Its interval: see `hitrate_adapters.core.intervals.correlation`.
        """
        return self._correlation([float(row.correct) for row in self.answered if row.correct is not None])

    @property
    def point_biserial(self) -> Estimate | None:
        """The point-biserial correlation of hit and score; None where `undefined` says why. Of scores 0 and 1, phi."""
        return self._correlation([row.score for row in self.answered])

    @property
    def undefined(self) -> str | None:
        """Why there is no correlation, in words; None where there is one."""
        hits = {row.hit for row in self.answered}
        if len(hits) == 1:
            return f"every query is a {'hit' if True in hits else 'miss'}"
        if len({row.correct if self.is_binary else row.score for row in self.answered}) > 1:
            return None
        if not self.is_binary:
            return f"every answer has the score {self.answered[0].score:g}"
        return f"every answer is {'right' if self.answered[0].correct else 'wrong'}"

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per query, for `pandas.DataFrame(...)`: its id, whether it is a hit, score and correct."""
        return [row._asdict() for row in self.answered]

    def __len__(self) -> int:
        """Return how many queries are in the table."""
        return len(self.answered)

    def __str__(self) -> str:
        """Return the table, what to read in it, and what was left out."""
        lines = self._table() if self.is_binary else self._means()
        for left_out, why in (
            (self.unanswered, "whose answer has no score"),
            (self.unscored, "whose retrieval cannot be scored"),
        ):
            if left_out:
                lines.append(f"left out: {len(left_out)} {why}: {some(left_out)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Show the sizes."""
        return f"<HitsAndAnswers: {len(self)} queries by {self.metric}, {len(self.unanswered)} unanswered>"

    def _table(self) -> list[str]:
        grid = [[str(self.metric), "right", "wrong", "P(right)"]]
        for name, hit, share in (("hit", True, self.correct_given_hit), ("miss", False, self.correct_given_miss)):
            counts = (str(len(self.queries(hit=hit, correct=correct))) for correct in (True, False))
            shown = "-" if share is None else "{:.3f} [{:.3f}, {:.3f}]".format(share.value, *share.interval)
            grid.append([name, *counts, shown])
        lines = [*columns(grid), f"phi = {self.phi or f'none: {self.undefined}'}"]
        for share, what in (
            (self.wrong_given_hit, "of the hits are answered wrong: the generator's part"),
            (
                self.miss_given_correct,
                "of the right answers are misses: known without the retrieval, or a label is missing",
            ),
        ):
            if share is not None:
                lines.append(f"{share.value:.1%} {what}")
        return lines

    def _means(self) -> list[str]:
        grid = [[str(self.metric), "n", "mean score"]]
        for name, hit, score in (("hit", True, self.mean_given_hit), ("miss", False, self.mean_given_miss)):
            grid.append([name, str(len(self.queries(hit=hit))), "-" if score is None else f"{score:.3f}"])
        return [*columns(grid), f"point-biserial correlation = {self.point_biserial or f'none: {self.undefined}'}"]

    def _share(self, part: Mapping[str, bool], among: Mapping[str, bool]) -> Estimate | None:
        if not self.is_binary:
            return None
        n = len(self.queries(**among))
        return _share(len(self.queries(**among, **part)), n) if n else None

    def _correlation(self, values: Collection[float]) -> Estimate | None:
        hits = [row.hit for row in self.answered]
        if len(set(values)) < 2 or len(set(hits)) < 2:
            return None
        return Estimate(*correlation(hits, list(values)), len(hits))


def with_answers(
    evaluation: Evaluation,
    correct: Answers,
    k: int | None,
    theta: float | None,
    threshold: float | None,
) -> HitsAndAnswers:
    """Return the hits beside the answers; see `Evaluation.with_answers`."""
    if not isinstance(correct, Mapping):
        raise TypeError(
            f"correct must be a mapping of query id -> whether its answer is right, got {type(correct).__name__}: "
            "dict(zip(query_ids, scores)) makes one of a list"
        )
    if threshold is not None:
        check_number("threshold", threshold)
    metric = Metric("hit_rate", k, theta)
    records = evaluation.records
    if records.keys().isdisjoint(correct.keys()):
        raise ValueError(
            f"the evaluation and the answers share no query id: the evaluation has {one_of(records)}, "
            f"the answers have {one_of(correct)}"
        )
    scores = {q: _score(correct[q], q) for q in records if q in correct and not is_absent(correct[q])}
    if not scores:
        raise ValueError(f"none of {len(records)} queries has an answer's score: each is None, NaN or not there")
    is_continuous = threshold is None and not {0.0, 1.0}.issuperset(scores.values())
    lowest = 1.0 if threshold is None else threshold
    return HitsAndAnswers(
        answered=tuple(
            Answered(q, bool(metric(records[q])), score, None if is_continuous else score >= lowest)
            for q, score in scores.items()
        ),
        metric=metric,
        threshold=threshold,
        unanswered=tuple(q for q in records if q not in scores),
        unscored=tuple(q for q, score in correct.items() if q not in records and not is_absent(score)),
    )


def _score(given: Any, query_id: Hashable) -> float:
    if type(given).__name__ in ("bool", "bool_"):  # NumPy's too
        return float(given)
    check_number(f"the answer's score of query {query_id!r}", given)
    score = float(given)
    if not abs(score) <= _LARGEST:
        raise ValueError(f"the answer's score of query {query_id!r} must be finite, at most {_LARGEST}, got {given!r}")
    return score


def _share(part: int, n: int) -> Estimate:
    return Estimate(part / n, wilson(part, n), n)
