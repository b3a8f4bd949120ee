"""Why did each miss miss, and what of the whole set looks wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .causes import ADVICE, NEEDS, Known, Miss, causes
from .display import some
from .evaluation import Evaluation
from .intervals import wilson
from .metrics import Metric, cutoff

__all__ = ["Diagnosis", "Miss", "diagnose"]

_ENOUGH = 500  # queries


@dataclass(frozen=True, repr=False, eq=False)
class Diagnosis:
    """The cause of each miss, and what looks wrong in the whole set: a table to read. Made by `diagnose`."""

    misses: Mapping[Any, Miss]
    """Query id -> why it missed, in the order of the qrels."""
    warnings: tuple[str, ...]
    """What looks wrong in the whole set, each with what to do."""
    metric: Metric
    """The hit rate whose misses these are."""
    n_queries: int
    """How many queries were scored."""

    @property
    def totals(self) -> dict[str, int]:
        """How many misses each cause has, 0 included; too few, maybe, for a cause that is in `unknown`."""
        counts = Counter(miss.cause for miss in self.misses.values())
        return {cause: counts[cause] for cause in ADVICE}

    @property
    def unknown(self) -> dict[str, int]:
        """For each cause that could not be looked for in some misses, in how many."""
        counts = Counter(cause for miss in self.misses.values() for cause in miss.unknown)
        return {cause: counts[cause] for cause in ADVICE if counts[cause]}

    def of(self, cause: str) -> list[Any]:
        """Return the ids of the queries that missed for a cause. Raises ValueError for a cause that there is not."""
        if cause not in ADVICE:
            raise ValueError(f"unknown cause {cause!r}: one of {', '.join(ADVICE)}")
        return [query_id for query_id, miss in self.misses.items() if miss.cause == cause]

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per miss, for `pandas.DataFrame(...)`: the query's id, its `Miss` and the advice."""
        names = (*Miss.__slots__, "advice")
        return [{"query_id": q, **{name: getattr(miss, name) for name in names}} for q, miss in self.misses.items()]

    def __repr__(self) -> str:
        """Show the totals."""
        return f"<Diagnosis: {', '.join(f'{n} {cause}' for cause, n in self.totals.items() if n) or 'no misses'}>"

    def __str__(self) -> str:
        """Return the table of causes, what could not be looked for, and the warnings."""
        n, unknown = len(self.misses), self.unknown
        lines = [f"{n:,} of {self.n_queries:,} queries miss: {self.metric} = {1 - n / self.n_queries:.3f}"]
        for cause, count in self.totals.items() if n else ():
            number = ("?" if not count else f"{count:,}+") if cause in unknown else f"{count:,}"
            share = f"{count / n:.0%}" if count or cause not in unknown else ""
            lines.append(f"{_in_words(cause):<18}{number:>6}{share:>6}  {ADVICE[cause]}")
            if count:
                lines.append(f"{'':32}{some(self.of(cause))}")
        for cause, count in unknown.items():
            lines.append(f"not looked for in {count:,}: {_in_words(cause)}, which takes {NEEDS[cause]}")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


def diagnose(  # noqa: PLR0913 - what may be known of a run
    evaluation: Evaluation,
    k: int | None = 5,
    *,
    texts: Mapping[Any, str] | None = None,
    queries: Mapping[Any, str] | None = None,
    corpus: Collection[Hashable] | Mapping[Any, str] | None = None,
    context_k: int | None = None,
) -> Diagnosis:
    """Return why each query that misses at k missed, and what of the whole set looks wrong.

    Each miss has one cause, the first that applies of: "nothing_retrieved", "below_cutoff", "other_granularity",
    "not_in_corpus", "vocabulary", "not_retrieved". One that cannot be looked for, since texts, queries or the corpus
    are not known, is passed over and named in `unknown`, of the miss and of the whole.

    Args:
        evaluation: what `evaluate` returned.
        k: the cutoff. None: all that was retrieved.
        texts: id -> text of what is relevant or retrieved, as far as it is known; also of ids that the index no longer
            has. None where a matcher compared texts, as one of your own does whose attribute `compares` is "texts"; or
            where a corpus of id -> text has all that is known.
        queries: query id -> query.
        corpus: the ids that are in the index now, or id -> text; where texts were compared, the texts, or id -> text.
        context_k: how many of the retrieved items the model is shown.

    Raises:
        TypeError: an argument is of another kind.
        ValueError: a cutoff is below 1, or texts, queries or corpus have nothing to do with the evaluation.

    >>> from hitrate_adapters import evaluate
    >>> evaluation = evaluate({"q1": ["d1"], "q2": ["d2"], "q3": ["d3"]}, {"q1": ["d1"], "q2": ["d9", "d7", "d2"]})
    >>> found = diagnose(evaluation, k=2)
    >>> found.misses["q2"].cause, found.misses["q2"].evidence
    ('below_cutoff', "'d2' is at rank 3 of 3")
    >>> found.of("nothing_retrieved")
    ['q3']
    """
    if not isinstance(evaluation, Evaluation):
        raise TypeError(f"evaluation must be what evaluate() returned, got {type(evaluation).__name__}")
    hit, context_k = Metric("hit_rate", k), cutoff(context_k)
    misses = causes(evaluation, hit.k, Known(evaluation, texts, queries, corpus))
    return Diagnosis(misses, tuple(_what_looks_wrong(evaluation, hit, context_k)), hit, len(evaluation))


def _what_looks_wrong(evaluation: Evaluation, hit: Metric, context_k: int | None) -> Iterator[str]:
    yield from evaluation.warnings
    records, n, k = (evaluation.uncut or evaluation).records.tally, len(evaluation), hit.k
    if n > 1 and all(
        record.found_ranks == tuple(range(1, record.n_relevant + 1))
        and (record.n_relevant > 1 or record.n_retrieved == 1)
        for record in records[0]
    ):
        yield (
            "every query retrieved exactly what is relevant, before all else: the labels seem to be made from this "
            "run, and every metric is 1 whatever the retriever does; label by what answers the query"
        )
    if n > 1 and all(record.n_relevant == 1 for record in records[0]):
        yield (
            "every query has one relevant item: hit rate is recall, and where several chunks answer it is too low; "
            "label three to five a query"
        )
    if k and 2 * sum(count for record, count in zip(*records, strict=True) if 0 < record.n_retrieved < k) > n:
        most = max(record.n_retrieved for record in records[0])
        yield (
            f"most queries retrieved fewer than {k} items ({most} at most): {hit} is that of a smaller k; "
            f"ask the retriever for {k}"
        )
    if context_k and (k is None or k > context_k):
        yield (
            f"{hit} looks at more than the {context_k} items that the model is shown: read hit_rate@{context_k}, "
            f"which is {evaluation.hit_rate(context_k):.3f}"
        )
    if n < _ENOUGH:
        score = evaluation.score(hit)
        now, then = (wilson(round(score * size), size) for size in (n, _ENOUGH))
        yield (
            f"{n} {'query says' if n == 1 else 'queries say'} little: "
            f"{hit} is in [{now[0]:.3f}, {now[1]:.3f}] (95 %), {_points(now)} wide; "
            f"with {_ENOUGH} it would be {_points(then)} wide"
        )


def _points(interval: tuple[float, float]) -> str:
    width = round(100 * (interval[1] - interval[0]))
    return f"{width} point{'s' * (width != 1)}"


def _in_words(cause: str) -> str:
    return cause.replace("_", " ")
