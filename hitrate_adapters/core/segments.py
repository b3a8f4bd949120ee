"""Parts of the queries, each with its own scores, and scores weighted by how often production asks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import frexp, fsum, inf, ldexp
from typing import TYPE_CHECKING, Any

from .display import columns, some
from .items import is_absent
from .matching import check_number
from .metrics import Cutoffs, Metric, metrics_at
from .records import Records
from .scores import Score

if TYPE_CHECKING:
    from .evaluation import Evaluation

SegmentOf = Mapping[Any, Hashable] | Callable[[Any], Hashable]
"""Query id -> its segment, as a mapping or a function."""

Weights = Mapping[Any, float]
"""Query id, or segment -> how often it is asked, in any unit."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Segments(Mapping[Hashable, "Evaluation"]):
    """Segment -> the `Evaluation` of its queries, in their order; printed, a table. Made by `evaluation.by`."""

    evaluations: dict[Hashable, Evaluation]
    """The segments that have queries that can be scored."""
    unscored: tuple[Hashable, ...]
    """The segments of which no query can be scored."""
    whole: Evaluation
    """The evaluation that was split."""

    def score(self, metric: str | Metric, weights: Weights) -> Score:
        """Return the mean of the segments' scores, weighted by the share of what production asks (post-stratified).

        The interval of a hit rate is the Wilson interval of as many queries as would tell as much: the effective sample
        size by the stratified variance (Korn and Graubard, 1998), where a hit and a miss are added to each segment, so
        that the variance of a small one is not put at 0.

        Args:
            metric: a name such as "hit_rate@5".
            weights: segment -> its share of production's questions, in any unit. 0 leaves a segment out.

        Raises:
            TypeError, ValueError: a weight is missing, negative or no number, all are 0, or one belongs to a segment
                without a query that can be scored.
        """
        metric = Metric.parse(metric)
        shares = _checked(weights, self, "segment")
        strange = [segment for segment, weight in weights.items() if segment not in self and weight]
        if strange:
            raise ValueError(
                f"weights of segments without a query that can be scored: {some(strange)}; there are {some(self)}: "
                "a score without them would not stand for production, and 0 leaves them out"
            )
        scores = {segment: self[segment].score(metric) for segment, share in shares.items() if share}
        total = fsum(shares.values())
        value = fsum(shares[segment] * score for segment, score in scores.items()) / total
        n = sum(score.n for score in scores.values())
        if len(scores) == 1:
            return Score(value, metric, n)
        added = {segment: (score * score.n + 1) / (score.n + 2) for segment, score in scores.items()}
        middle = fsum(shares[segment] * share for segment, share in added.items()) / total
        variance = fsum(shares[each] ** 2 * share * (1 - share) / scores[each].n for each, share in added.items())
        return Score(value, metric, n, middle * (1 - middle) * total**2 / variance)

    def rows(
        self, metrics: str | Metric | Iterable[str | Metric] = "hit_rate", k: Cutoffs = 5
    ) -> list[dict[str, object]]:
        """Return one mapping per segment, for `pandas.DataFrame(...)`: its n, its scores, and their bounds, if any."""
        wanted = metrics_at(metrics, k)
        return [
            {"segment": segment, "n": len(evaluation), **_bounded(map(evaluation.score, wanted))}
            for segment, evaluation in self.items()
        ]

    def table(self, metrics: str | Metric | Iterable[str | Metric] = "hit_rate", k: Cutoffs = 5) -> str:
        """Return a table of the segments and the whole, to be printed: n, and each metric with its 95 % interval.

        A metric that is written with a cutoff of its own, such as "hit_rate@10", keeps it.
        """
        wanted = metrics_at(metrics, k)
        grid = [["segment", "n", *map(str, wanted)]]
        names = [some([segment]) for segment in self]
        if "all" in names or len(set(names)) < len(names):
            names = [f"{segment!r:.60}" for segment in self]
        for name, evaluation in zip([*names, "all"], [*self.values(), self.whole], strict=True):
            grid.append([name, str(len(evaluation)), *map(_cell, map(evaluation.score, wanted))])
        notes = [f"without a query that can be scored: {some(self.unscored)}"] if self.unscored else []
        return "\n".join([*columns(grid), *notes])

    def __getitem__(self, segment: Hashable) -> Evaluation:
        """Return the evaluation of a segment."""
        return self.evaluations[segment]

    def __iter__(self) -> Iterator[Hashable]:
        """Give the segments."""
        return iter(self.evaluations)

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self.evaluations)

    def __str__(self) -> str:
        """Return the table of hit rates at 5."""
        return self.table()

    def __repr__(self) -> str:
        """Show the sizes."""
        sizes = (f"{segment!r}: {len(evaluation)}" for segment, evaluation in self.items())
        return f"<Segments {', '.join(sizes)}>"


def split(evaluation: Evaluation, segment_of: SegmentOf) -> Segments:
    """Return the segments of an evaluation; see `Evaluation.by`."""
    if not isinstance(segment_of, Mapping) and not callable(segment_of):
        raise TypeError(f"segment_of must be a mapping of query id -> segment, or a function; got {segment_of!r:.60}")
    members: dict[Hashable, list[Hashable]] = {}
    lacking = []
    for query_id in [*evaluation, *(query_id for query_id in evaluation.unscored if query_id in evaluation.qrels)]:
        segment = _segment(segment_of, query_id)
        if not is_absent(segment):
            members.setdefault(segment, []).append(query_id)
        elif query_id in evaluation.records:
            lacking.append(query_id)
    if lacking:
        raise ValueError(
            f"{len(lacking)} of {len(evaluation)} queries have no segment: {some(lacking)}: give them one, "
            'such as "unknown", so that no table leaves them out'
        )
    parts = {segment: subset(evaluation, query_ids) for segment, query_ids in members.items()}
    scored = {segment: part for segment, part in parts.items() if len(part)}
    return Segments(scored, tuple(segment for segment in parts if segment not in scored), evaluation)


def subset(evaluation: Evaluation, query_ids: Iterable[Hashable]) -> Evaluation:
    """Return the evaluation of some of its queries; nothing is judged again."""
    wanted = dict.fromkeys(query_ids)
    part = replace(
        evaluation,
        records=Records.of({query_id: evaluation[query_id] for query_id in wanted if query_id in evaluation.records}),
        unscored=tuple(query_id for query_id in evaluation.unscored if query_id in wanted),
        missing=tuple(query_id for query_id in evaluation.missing if query_id in wanted),
        errors={query_id: error for query_id, error in evaluation.errors.items() if query_id in wanted},
        qrels={query_id: evaluation.qrels[query_id] for query_id in wanted},
        run={query_id: evaluation.run[query_id] for query_id in wanted if query_id in evaluation.run},
        uncut=evaluation.uncut and subset(evaluation.uncut, wanted),
    )
    vars(part)["warnings"] = evaluation.warnings  # a part in which nothing was found is no mistake in the ids
    return part


def weighted(evaluation: Evaluation, metric: Metric, weights: Weights) -> Score:
    """Return the weighted mean of a metric; see `Evaluation.score`."""
    known = _checked(weights, evaluation, "query")
    value = fsum(weight * metric(evaluation[query_id]) for query_id, weight in known.items()) / fsum(known.values())
    largest = max(known.values())
    shares = [weight / largest for weight in known.values() if weight]
    return Score(value, metric, len(shares), fsum(shares) ** 2 / fsum(share**2 for share in shares))


def _segment(segment_of: SegmentOf, query_id: Hashable) -> Hashable:
    try:
        segment = segment_of.get(query_id) if isinstance(segment_of, Mapping) else segment_of(query_id)
        hash(segment)
    except Exception as error:
        error.add_note(f"while asking for the segment of query {query_id!r}")
        raise
    return segment


def _checked(weights: Weights, ids: Iterable[Hashable], what: str) -> dict[Hashable, float]:
    """Return id -> weight of what is to be weighted, in a unit in which their squares are neither 0 nor infinite."""
    if not isinstance(weights, Mapping):
        raise TypeError(f"weights must be a mapping of {what} -> weight, got {type(weights).__name__}")
    lacking = [each for each in ids if each not in weights]
    if lacking:
        more = f" and {len(lacking) - 1} more" if lacking[1:] else ""
        raise ValueError(f"no weight of {what} {lacking[0]!r}{more}: 0 leaves one out")
    known = {each: weights[each] for each in ids}
    for each, weight in known.items():
        check_number(f"the weight of {what} {each!r}", weight)
        if not 0 <= weight < inf:
            raise ValueError(f"the weight of {what} {each!r} must be finite and at least 0, got {weight!r}")
    if not any(known.values()):
        raise ValueError(f"every weight is 0, of {len(known)} in all")
    _, exponent = frexp(max(known.values()))
    return {each: ldexp(weight, -exponent) for each, weight in known.items()}


def _bounded(scores: Iterable[Score]) -> dict[str, float]:
    """Return each score by its name, with the bounds of its interval where it has one."""
    found: dict[str, float] = {}
    for score in scores:
        found[str(score.metric)] = score
        if score.interval is not None:
            found[f"{score.metric}_low"], found[f"{score.metric}_high"] = score.interval
    return found


def _cell(score: Score) -> str:
    return f"{score:.3f}" if score.interval is None else "{:.3f} [{:.3f}, {:.3f}]".format(score, *score.interval)
