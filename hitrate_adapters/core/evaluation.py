"""Judge a run once, then ask for any metric at any cutoff."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, repeat
from math import fsum, isnan
from operator import mul
from typing import Any, Self

from . import display
from .intervals import wilson
from .items import relevant_items
from .matching import compared
from .metrics import DEFAULT_K, METRICS, Cutoffs, Metric, metrics_at
from .records import Items, Judge, Match, Matcher, QueryRecord, Records
from .retrieval import Run

Qrels = Mapping[Any, Items]
"""Query id -> relevant items, or item -> grade."""

RunLike = Mapping[Any, Items]
"""Query id -> retrieved items, best first, or item -> score."""


class Score(float):
    """A metric's mean over the queries that can be scored: a float that also knows its `metric`, `n` and `interval`."""

    metric: Metric
    n: int

    def __new__(cls, value: float, metric: Metric, n: int) -> Self:
        """Make the float and attach what it is the mean of."""
        score = super().__new__(cls, value)
        score.metric = metric
        score.n = n
        return score

    def __getnewargs__(self) -> tuple[float, Metric, int]:  # type: ignore[override]
        """Let copies and pickles keep everything."""
        return float(self), self.metric, self.n

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % Wilson interval of a hit rate; None for the other metrics, which are no shares of queries."""
        return wilson(round(self * self.n), self.n) if self.metric.name == "hit_rate" else None

    def __repr__(self) -> str:
        """Show the name, the value, its interval where there is one, and n; `str` is the bare number."""
        within = "" if self.interval is None else " [{:.3f}, {:.3f}]".format(*self.interval)
        return f"{self.metric} = {float(self):.3f}{within} (n={self.n})"

    __str__ = float.__repr__


def mean(scores: Iterable[float | None]) -> float | None:
    """Return the mean of the scores that are neither None nor NaN, exactly summed; None where there is none."""
    known = [score for score in scores if score is not None and not isnan(score)]
    return fsum(known) / len(known) if known else None


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation:
    """A judged run: ask it for any metric at any cutoff. Made by `evaluate`.

    `evaluation[query_id]` is the `QueryRecord` of a query, `len(evaluation)` the number of queries that can be scored,
    iteration gives their ids in the order of the qrels.
    """

    records: Records
    """Query id -> record, for every query that can be scored."""
    unscored: tuple[Hashable, ...]
    """Queries without relevant items, or in the run alone, which cannot be scored and are in no mean."""
    missing: tuple[Hashable, ...]
    """Queries that can be scored but that the run lacks; each is a miss."""
    errors: Mapping[Hashable, Exception]
    """Query id -> what its retrieval raised; each is a miss."""
    qrels: Qrels
    """The judgements it was made from (not a copy)."""
    run: RunLike
    """The run it was made from (not a copy)."""
    judge: Judge
    """The rules of judging."""

    def hit_rate(self, k: int | None = None, theta: float | None = None) -> Score:
        """Return the share of queries with a relevant item in the top k; with theta, with that share of them."""
        return self.score(Metric("hit_rate", k, theta))

    def recall(self, k: int | None = None) -> Score:
        """Return the mean share of the relevant items that the top k holds."""
        return self.score(Metric("recall", k))

    def precision(self, k: int | None = None) -> Score:
        """Return the mean share of the k slots that hold something relevant."""
        return self.score(Metric("precision", k))

    def mrr(self, k: int | None = None) -> Score:
        """Return the mean of one over the rank of the first relevant item, 0 for a query with none in the top k."""
        return self.score(Metric("mrr", k))

    def map(self, k: int | None = None) -> Score:
        """Return the mean average precision of the top k."""
        return self.score(Metric("map", k))

    def ndcg(self, k: int | None = None) -> Score:
        """Return the mean normalised discounted cumulative gain of the top k."""
        return self.score(Metric("ndcg", k))

    def score(self, metric: str | Metric) -> Score:
        """Return the mean of the metric that a name such as "mrr", "hit_rate@5" or "hit_rate@5>=0.5" stands for.

        Queries judged alike are summed as one, then all of it with a single rounding (`math.fsum`), so that no order of
        the queries and no split into shards changes a bit of the result.
        """
        metric = Metric.parse(metric)
        if metric.name == "hit_rate" and metric.theta is None:
            total: float = sum(n for rank, n in self._first_hits.items() if metric.k is None or rank <= metric.k)
        else:
            records, counts = self.records.tally
            total = fsum(map(mul, map(metric.function, records, repeat(metric.k)), counts))
        return Score(total / len(self), metric, len(self))

    def misses(self, k: int | None = None, theta: float | None = None) -> tuple[Hashable, ...]:
        """Return the ids of the queries whose hit rate at k is 0, in the order of the qrels."""
        hit = Metric("hit_rate", k, theta)
        return tuple(query_id for query_id, record in self.records.items() if not hit(record))

    def matches(self, query_id: Hashable) -> tuple[Match, ...]:
        """Return what a query's hits rest on: each retrieved item with each relevant one that it counts as, by rank.

        The items are matched again, so a matcher is asked again. Raises KeyError for a query that cannot be scored.

        >>> from hitrate_adapters import contains
        >>> found = {"q": ["Shipping is free.", "Refunds take five days. They go to the card."]}
        >>> evaluate({"q": ["Refunds take five days."]}, found, match=contains).matches("q")[0].rank
        2
        """
        if query_id not in self.records:
            raise KeyError(f"query {query_id!r} is none of those that can be scored")
        return self.judge.matches(self.qrels[query_id], self.run.get(query_id, ()))

    def rows(
        self,
        metrics: str | Metric | Iterable[str | Metric] = tuple(METRICS),
        k: Cutoffs = DEFAULT_K,
    ) -> list[dict[str, object]]:
        """Return one mapping per query, for `pandas.DataFrame(...)`: id, every metric at every k, and what was found.

        A query that cannot be scored has None for each metric, which pandas leaves out of a mean too.
        """
        columns = metrics_at(metrics, k)
        rows: list[dict[str, object]] = []
        for query_id in chain(self.records, self.unscored):
            record = self.records.get(query_id)
            rows.append(
                {
                    "query_id": query_id,
                    **{str(metric): record and metric(record) for metric in columns},
                    "first_hit_rank": record.hit_ranks[0] if record and record.hit_ranks else None,
                    "n_found": record and len(record.found_ranks),
                    "n_relevant": record and record.n_relevant,
                    "n_retrieved": record and record.n_retrieved,
                }
            )
        return rows

    def table(self, k: Cutoffs = DEFAULT_K) -> str:
        """Return a table of every metric at every k, with the queries that could not be scored, to be printed."""
        return display.text(self, k)

    def __add__(self, other: Evaluation) -> Evaluation:
        """Merge the evaluations of two shards. Raises ValueError where they share a query or differ in the rules."""
        if not isinstance(other, Evaluation):
            return NotImplemented
        if self.judge.rules != other.judge.rules:
            raise ValueError(
                f"evaluations judged by different rules cannot be added: {self.judge.rules} and {other.judge.rules}"
            )
        both = self.qrels.keys() & other.qrels.keys()
        if both:
            raise ValueError(
                f"queries in both evaluations, such as {next(iter(both))!r} ({len(both)} in all): each counts once"
            )
        records = self.records + other.records
        unscored = dict.fromkeys(self.unscored + other.unscored)  # a run may hold more queries than its shard of qrels
        judged = [{q: shard.run[q] for q in shard.qrels if q in shard.run} for shard in (self, other)]
        qrels = {**self.qrels, **other.qrels}
        unjudged = {q: items for q, items in (*self.run.items(), *other.run.items()) if q not in qrels}
        return Evaluation(
            records=records,
            unscored=tuple(query_id for query_id in unscored if query_id not in records),
            missing=self.missing + other.missing,
            errors={**self.errors, **other.errors},
            qrels=qrels,
            run={**judged[0], **judged[1], **unjudged},
            judge=self.judge,
        )

    def __getitem__(self, query_id: Hashable) -> QueryRecord:
        """Return the record of a query that can be scored."""
        return self.records[query_id]

    def __iter__(self) -> Iterator[Hashable]:
        """Give the ids of the queries that can be scored."""
        return iter(self.records)

    def __len__(self) -> int:
        """Return how many queries can be scored."""
        return len(self.records)

    def __repr__(self) -> str:
        """Show the sizes."""
        return f"<Evaluation: {len(self)} scored, {len(self.unscored)} unscored, {len(self.missing)} missing>"

    def __str__(self) -> str:
        """Return the table at k = 1, 3, 5 and 10."""
        return self.table()

    def _repr_html_(self) -> str:
        return display.html(self, DEFAULT_K)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What looks like a mistake in the ids, the texts or the retriever, where nothing at all was found."""
        return tuple(_what_looks_wrong(self))

    @cached_property
    def _first_hits(self) -> dict[int, int]:
        """Rank -> the number of queries whose first hit is there: enough for the hit rate at every k."""
        first_hits: Counter[int] = Counter()
        for record, n in zip(*self.records.tally, strict=True):
            if record.hit_ranks:
                first_hits[record.hit_ranks[0]] += n
        return first_hits


def evaluate(
    qrels: Qrels,
    run: RunLike,
    *,
    match: Matcher | None = None,
    unique: bool = False,
    relevance_level: float | None = None,
) -> Evaluation:
    """Judge a run against the relevant items of each query and return an `Evaluation`.

    Args:
        qrels: query id -> relevant items (a list or set of ids or texts), or item -> grade.
        run: query id -> retrieved items, best first, or item -> score (ties by item, descending, as in trec_eval).
        match: when a retrieved item counts as a relevant one, `(retrieved, relevant) -> bool`: `same_text`, `contains`,
            `overlap(share)`, `similar(share)`, `span_overlap(share)` or your own. None: equality.
        unique: drop repeats from each ranking before any cutoff; for rankings of document ids made from chunks.
        relevance_level: the lowest grade that is relevant. None: any grade > 0. nDCG counts every grade > 0.

    Raises:
        TypeError: an argument or a query's items are of the wrong kind, such as a str for a list; names the query.
        ValueError: a grade or score is NaN, None is among the relevant items, the two sides share no query id, or no
            query can be scored.

    >>> evaluation = evaluate({"q1": {"d2", "d7"}, "q2": {"d1"}}, {"q1": ["d1", "d2"], "q2": ["d6", "d7"]})
    >>> evaluation.hit_rate(5)
    hit_rate@5 = 0.500 [0.095, 0.905] (n=2)
    >>> evaluation.misses(5)
    ('q2',)
    """
    for name, given in (("qrels", qrels), ("run", run)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{name} must be a mapping of query id -> items, got {type(given).__name__}")
    if qrels and qrels.keys().isdisjoint(run.keys()):
        raise ValueError(f"qrels and run share no query id: qrels has {_one_of(qrels)}, the run has {_one_of(run)}")
    judge = Judge(match=match, unique=unique, relevance_level=relevance_level)
    records = judge.judge_all(qrels, run)
    if not records:
        raise ValueError(f"none of {len(qrels)} queries can be scored: none has a relevant item")
    alike = run.keys() == qrels.keys()
    evaluation = Evaluation(
        records=records,
        unscored=(*records.unscored, *(() if alike else [query_id for query_id in run if query_id not in qrels])),
        missing=() if alike else tuple(query_id for query_id in records if query_id not in run),
        errors={q: error for q, error in run.errors.items() if q in records} if isinstance(run, Run) else {},
        qrels=qrels,
        run=run,
        judge=judge,
    )
    for message in evaluation.warnings:
        warnings.warn(message, stacklevel=2)
    return evaluation


def evaluate_sound(qrels: Qrels, run: Run, judge: Judge) -> tuple[Evaluation, dict[Hashable, Exception]]:
    """Return an evaluation in which queries that cannot be judged are unscored, and what judging each of them raises.

    Raises that where it leaves no query that can be scored.
    """
    match, unique, level = judge.match, judge.unique, judge.relevance_level
    try:
        return evaluate(qrels, run, match=match, unique=unique, relevance_level=level), {}
    except Exception as error:
        if match is not None:
            match = cache(match)  # what it has answered it is not asked again: it may fail now and then
        faults = Judge(match=match, unique=unique, relevance_level=level).faults(qrels, run)
        sound = {query_id: relevant for query_id, relevant in qrels.items() if query_id not in faults}
        if not any(map(relevant_items, sound.values())):
            raise next(iter(faults.values()), error) from None
    rest = Run({query_id: [] if query_id in faults else items for query_id, items in run.items()}, run.errors)
    evaluation = evaluate(sound, rest, match=match, unique=unique, relevance_level=level)
    return replace(evaluation, judge=judge), faults


def _what_looks_wrong(evaluation: Evaluation) -> Iterator[str]:
    """Give what in a run that found nothing at all looks like a mistake rather than a bad retriever, or raise it."""
    records, run, match = evaluation.records, evaluation.run, evaluation.judge.match
    if any(record.gain_ranks for record in records.tally[0]):
        return
    if len(evaluation.errors) == len(records):
        query_id, error = next(iter(evaluation.errors.items()))
        yield f"the retrieval of every query failed; of query {query_id!r} by {type(error).__name__}: {error}"
    retrieved = [item for query_id in records if query_id in run for item in run[query_id]]
    if not retrieved:
        return
    if all(item is None for item in retrieved):
        raise ValueError("every retrieved item is None: where are the ids? (a wrong key or attribute gives None)")
    gold = {item: None for query_id in records for item in evaluation.qrels[query_id]}
    both_sides = f"The qrels have {_one_of(gold)}, the run has {_one_of(retrieved)}"
    if match is not None:
        kind = compared("auto", match).removesuffix("s")
        yield f"no relevant {kind} was ever retrieved, by match={getattr(match, '__name__', match)}. {both_sides}"
    elif gold.keys().isdisjoint(retrieved) and not any(map(gold.__contains__, _unjudged_ids(evaluation))):
        if any(len(item.split()) > 1 for item in gold if isinstance(item, str)):
            yield f"no relevant text was ever retrieved to the letter: see match=, such as contains. {both_sides}"
        else:
            yield f"no relevant id was ever retrieved: are both in the same id space? {both_sides}"


def _unjudged_ids(evaluation: Evaluation) -> Iterator[Hashable]:
    """Give the ids that were retrieved for queries without judgements, whose items may be anything."""
    for query_id, items in evaluation.run.items():
        if query_id not in evaluation.qrels and isinstance(items, (list, tuple)):
            yield from (item for item in items if isinstance(item, (str, int)))


def _one_of(items: Iterable[Hashable]) -> str:
    for item in items:
        return f"{item!r:.60} ({type(item).__name__})"
    return "nothing"
