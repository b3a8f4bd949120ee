"""Judge a run once, then ask for any metric at any cutoff."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, repeat
from math import fsum
from operator import mul
from typing import TYPE_CHECKING, Any, overload

from . import display
from .intervals import mean_interval
from .items import NO_IDS, in_order, is_absent
from .matching import compares_of, name_of
from .metrics import DEFAULT_K, METRICS, Cutoffs, Metric, metrics_at
from .records import Items, Judge, Match, Matcher, QueryRecord, Records
from .retrieval import Run, read_once
from .scores import Score

if TYPE_CHECKING:
    from .answers import HitsAndAnswers
    from .comparison import Comparison, Comparisons
    from .curve import Curve
    from .segments import SegmentOf, Segments

Qrels = Mapping[Any, Items]
"""Query id -> relevant items, or item -> grade."""

RunLike = Mapping[Any, Items]
"""Query id -> retrieved items, best first, or item -> score."""


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
    """The judgements it was made from: not a copy, unless it had to make lists of iterators."""
    run: RunLike
    """The run it was made from: not a copy, unless it had to make lists of iterators."""
    judge: Judge
    """The rules of judging."""
    uncut: Evaluation | None = None
    """The evaluation that `within` cut to a budget; None where it was not cut."""

    def hit_rate(
        self, k: int | None = None, theta: float | None = None, *, weights: Mapping[Any, float] | None = None
    ) -> Score:
        """Return the share of queries with a relevant item in the top k; with theta, with that share of them.

        With weights, the share of what production asks: see `score`.
        """
        return self.score(Metric("hit_rate", k, theta), weights)

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

    def score(self, metric: str | Metric, weights: Mapping[Any, float] | None = None) -> Score:
        """Return the mean of the metric that a name such as "mrr", "hit_rate@5" or "hit_rate@5>=0.5" stands for.

        Queries judged alike are summed as one, then all of it with a single rounding (`math.fsum`), so that no order of
        the queries and no split into shards changes a bit of the result.

        Args:
            metric: the metric or its name.
            weights: query id -> how often production asks it, in any unit, of each query that can be scored (0 leaves
                one out). The interval of a weighted hit rate is the Wilson interval of Kish's effective sample size
                (1965), `sum(w)**2 / sum(w**2)`. For weights of whole groups of queries see `by`.

        Raises:
            TypeError, ValueError: the metric is unknown; a weight is missing, negative or no number, or all are 0.

        >>> evaluation = evaluate({"q1": ["d2"], "q2": ["d1"]}, {"q1": ["d2"], "q2": ["d7"]})
        >>> evaluation.score("hit_rate@5", weights={"q1": 900, "q2": 100})
        hit_rate@5 = 0.900 [0.196, 0.997] (n=2, as good as 1.2 of equal weight)
        """
        metric = Metric.parse(metric)
        if weights is not None:
            from .segments import weighted  # imported when it is asked for, for the cost of importing the package

            return weighted(self, metric, weights)
        if metric.name == "hit_rate" and metric.theta is None:
            hits = sum(n for rank, n in self._first_hits.items() if metric.k is None or rank <= metric.k)
            return Score(hits / len(self), metric, len(self))
        records, counts = self.records.tally
        values = list(map(metric.function, records, repeat(metric.k)))
        total = fsum(map(mul, values, counts))
        return Score(total / len(self), metric, len(self), interval=partial(mean_interval, values, counts))

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

    def by(self, segment_of: SegmentOf) -> Segments:
        """Return segment -> the `Evaluation` of its queries, so that no average hides a part of them.

        Args:
            segment_of: query id -> segment (a query type, a language, a source), as a mapping or a function.

        Raises:
            ValueError: a query that can be scored has no segment, or None for one.

        >>> evaluation = evaluate({"q1": ["d2"], "q2": ["d1"]}, {"q1": ["d2"], "q2": ["d7"]})
        >>> segments = evaluation.by({"q1": "faq", "q2": "code"})
        >>> print(segments.table("hit_rate@5"))
        segment  n            hit_rate@5
        faq      1  1.000 [0.207, 1.000]
        code     1  0.000 [0.000, 0.793]
        all      2  0.500 [0.095, 0.905]
        >>> segments["code"].misses(5)
        ('q2',)
        >>> float(segments.score("hit_rate@5", weights={"faq": 90, "code": 10}))
        0.9
        """
        from .segments import split  # imported when it is asked for, as what follows

        return split(self, segment_of)

    def curve(
        self,
        metric: str | Metric = "hit_rate",
        up_to: int | None = None,
        *,
        texts: Mapping[Any, str] | None = None,
        size: Callable[[str], float] = len,
    ) -> Curve:
        """Return the metric at every k, what each slot adds to it, and the mean size of the context at each k.

        Args:
            metric: a metric without a cutoff, such as "hit_rate", "recall" or "hit_rate>=0.5".
            up_to: the last k. None: the length of the longest ranking.
            texts: retrieved item -> its text; of spans, document -> text will do. Without them the size of the context
                is not known, unless the matcher compares texts.
            size: how much context a text takes: `len` is characters; your model's tokeniser counts tokens.

        Raises:
            TypeError, ValueError: one of these is something else; or `texts` has none of a retrieved item.

        >>> curve = evaluate({"q1": ["d2"], "q2": ["d1"]}, {"q1": ["d2", "d3"], "q2": ["d7", "d1"]}).curve()
        >>> curve.smallest_k(tolerance=0.01)
        2
        """
        from .curve import curve

        return curve(self, metric, up_to, texts, size)

    def within(
        self, budget: float, *, texts: Mapping[Any, str] | None = None, size: Callable[[str], float] = len
    ) -> Evaluation:
        """Return the evaluation of what fits a budget of context: each ranking up to the next chunk that would not.

        Systems whose chunks differ in size are compared so at what their context costs, not at an equal k: then ask
        `hit_rate()` without a k. Nothing is judged again.

        Args:
            budget: how much context there is, in the unit of `size`.
            texts: retrieved item -> its text; of spans, document -> text will do. Not needed where the matcher compares
                texts, as one of your own does whose attribute `compares` is "texts".
            size: as for `curve`.

        Raises:
            TypeError, ValueError: one of these is something else; or `texts` has none of a retrieved item.

        >>> texts = {"d1": "Refunds take five days.", "d7": "Dogs travel free on a lead."}
        >>> evaluation = evaluate({"q": ["d1"]}, {"q": ["d7", "d1"]})
        >>> [float(evaluation.within(budget, texts=texts).hit_rate()) for budget in (40, 50)]
        [0.0, 1.0]
        """
        from .curve import within

        return within(self, budget, texts, size)

    def with_answers(
        self,
        correct: Mapping[Any, Any],
        k: int | None = None,
        theta: float | None = None,
        *,
        threshold: float | None = None,
    ) -> HitsAndAnswers:
        """Return hits beside answers: P(right | hit), P(right | miss), their correlation, and the queries of each cell.

        Args:
            correct: query id -> whether its answer is right (True, False, 1 or 0), or a score of it; where that is None
                or NaN, or a query is not there, it is left out and named.
            k: what a hit is: something relevant in the top k, which should be what the model sees.
            theta: or that share of what is relevant.
            threshold: the lowest score of a right answer, where scores are continuous. None: they stay continuous.

        Raises:
            TypeError, ValueError: one of these is something else, or no query is scored on both sides.

        >>> evaluation = evaluate(dict.fromkeys("abcd", ["d1"]), {"a": ["d1"], "b": ["d1"], "c": ["d2"], "d": ["d1"]})
        >>> print(evaluation.with_answers({"a": True, "b": True, "c": True, "d": False}, k=5))
        hit_rate@5  right  wrong              P(right)
        hit             2      1  0.667 [0.208, 0.939]
        miss            1      0  1.000 [0.207, 1.000]
        phi = -0.333 [-0.717, 0.571] (n=4)
        33.3% of the hits are answered wrong: the generator's part
        33.3% of the right answers are misses: known without the retrieval, or a label is missing
        """
        from .answers import with_answers

        return with_answers(self, correct, k, theta, threshold)

    @overload
    def compare(  # type: ignore[overload-overlap]  # a str is several str too
        self, old: Evaluation, metrics: str | Metric, *, margin: float = 0.05, anyway: bool = False
    ) -> Comparison: ...

    @overload
    def compare(
        self, old: Evaluation, metrics: Iterable[str | Metric], *, margin: float = 0.05, anyway: bool = False
    ) -> Comparisons: ...

    def compare(
        self,
        old: Evaluation,
        metrics: str | Metric | Iterable[str | Metric],
        *,
        margin: float = 0.05,
        anyway: bool = False,
    ) -> Comparison | Comparisons:
        """Return how this evaluation differs from an old one, over the queries that both can score: is it better?

        The difference has an interval (Bonett and Price, 2012) and a p-value: of hit rates by McNemar's exact test, of
        other metrics by a randomization test. Queries won, lost and tied are named. See docs/statistics.md.

        Args:
            old: the evaluation to compare with, by the same gold.
            metrics: a metric such as "hit_rate@5"; or several, which gives name -> comparison, with p-values adjusted
                for their number by Holm's method (1979).
            margin: the smallest difference that matters: where p is not below 0.05, the verdict is "no difference
                shown" if the interval lies within it, else "cannot be resolved at this size".
            anyway: compare also what was judged by different gold or rules.

        Raises:
            TypeError, ValueError: one of these is something else; no query can be scored in both; or the two were
                judged by different gold or rules, which the message shows.

        >>> qrels = {query: {"d1"} for query in range(40)}
        >>> old = evaluate(qrels, {query: ["d1"] if query % 4 else ["d2"] for query in qrels})
        >>> new = evaluate(qrels, {query: ["d1"] if query % 9 else ["d2"] for query in qrels})
        >>> new.compare(old, "hit_rate@5")
        +0.125 [-0.045, 0.283], p = 0.23; 8 won, 3 lost, n = 40: cannot be resolved at this size
        """
        if not isinstance(old, Evaluation):
            raise TypeError(f"old must be an Evaluation, as `evaluate` makes it; got {old!r:.60}")
        from .comparison import compare

        return compare(self, old, metrics, margin=margin, anyway=anyway)

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
                f"evaluations judged by different rules cannot be added: {self.judge!r} and {other.judge!r}"
            )
        both = self.qrels.keys() & other.qrels.keys()
        if both:
            raise ValueError(
                f"queries in both evaluations, such as {next(iter(both))!r} ({len(both)} in all): each counts once"
            )
        records = self.records + other.records
        unscored = dict.fromkeys(self.unscored + other.unscored)  # a run may hold more queries than its shard of qrels
        judged = [{q: shard.run[q] for q in shard.qrels if q in shard.run} for shard in (self, other)]
        failed = {q: error for shard in (self, other) for q, error in getattr(shard.run, "errors", {}).items()}
        qrels = {**self.qrels, **other.qrels}
        unjudged = {q: items for q, items in (*self.run.items(), *other.run.items()) if q not in qrels}
        return Evaluation(
            records=records,
            unscored=tuple(query_id for query_id in unscored if query_id not in records),
            missing=self.missing + other.missing,
            errors={**self.errors, **other.errors},
            qrels=qrels,
            run=Run({**judged[0], **judged[1], **unjudged}, failed),
            judge=self.judge,
            uncut=None if self.uncut is other.uncut is None else (self.uncut or self) + (other.uncut or other),
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

    @property
    def faults(self) -> dict[Hashable, Exception]:
        """Query id -> why the row of an unscored query could not be read or judged, where a framework's rows were."""
        return {q: error for q, error in getattr(self.run, "errors", {}).items() if q not in self.records}

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
        run: query id -> retrieved items, best first, or item -> score (ties by item, descending, as in trec_eval). Of
            iterators, on either side, lists are made, since they can be read only once.
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
        raise ValueError(
            f"qrels and run share no query id: qrels has {display.one_of(qrels)}, the run has {display.one_of(run)}"
        )
    judge = Judge(match=match, unique=unique, relevance_level=relevance_level)
    qrels, run = read_once(qrels), read_once(run)
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
    if NO_IDS in evaluation.warnings:
        raise ValueError(NO_IDS)
    for message in evaluation.warnings:
        warnings.warn(message, stacklevel=2)
    return evaluation


def _what_looks_wrong(evaluation: Evaluation) -> Iterator[str]:
    """Give what in a run that found nothing at all looks like a mistake rather than a bad retriever."""
    records, run, match = evaluation.records, evaluation.run, evaluation.judge.match
    if any(record.gain_ranks for record in records.tally[0]):
        return
    if len(evaluation.errors) == len(records):
        query_id, error = next(iter(evaluation.errors.items()))
        yield f"the retrieval of every query failed; of query {query_id!r} by {type(error).__name__}: {error}"
    retrieved = [item for query_id in records if query_id in run for item in run[query_id]]
    if not retrieved:
        return
    if all(map(is_absent, retrieved)):
        yield NO_IDS
        return
    gold = {item: None for query_id in records for item in in_order(evaluation.qrels[query_id])}
    both_sides = f"The qrels have {display.one_of(gold)}, the run has {display.one_of(retrieved)}"
    if match is not None:
        kind = (compares_of(match) or "items").removesuffix("s")
        yield f"no relevant {kind} was ever retrieved, by match={name_of(match)}. {both_sides}"
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
