"""At which ranks of one ranking something relevant was found: the record that every metric is made from."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain, compress, repeat
from typing import Any, NamedTuple

from .items import Items, are_new, in_order, is_absent, ranked_items, relevant_items
from .matching import check_number, compares_of, name_of

__all__ = ["Items", "Judge", "Match", "Matcher", "QueryRecord", "Records", "judge"]

Matcher = Callable[..., bool]
"""A callable `(retrieved, relevant) -> bool`."""


class QueryRecord(NamedTuple):
    """What judging one query leaves: 1-based ranks and grades, from which every metric at every cutoff follows."""

    hit_ranks: tuple[int, ...]
    """Ranks of retrieved items that match something relevant and equal no earlier item: for all but recall and nDCG."""
    found_ranks: tuple[int, ...]
    """For each relevant item that was found, the rank that found it first, ascending: recall, MAP, theta."""
    gain_ranks: tuple[int, ...]
    """For each item of grade > 0 that was found, the rank that found it first, ascending: nDCG."""
    gains: tuple[float, ...]
    """The grade of each item in `gain_ranks`, larger first at the same rank."""
    ideal: tuple[float, ...]
    """The grades of all items of grade > 0, larger first."""
    n_relevant: int
    """How many items are relevant; where it is 0 the query cannot be scored."""
    n_retrieved: int
    """How many items were retrieved."""

    def cut(self, k: int) -> QueryRecord:
        """Return the record of the first k retrieved items, k >= 0.

        >>> judge(["b", "c"], ["a", "b", "c"]).cut(2).found_ranks
        (2,)
        """
        hit, found, gained = (bisect_right(ranks, k) for ranks in (self.hit_ranks, self.found_ranks, self.gain_ranks))
        return self._replace(
            hit_ranks=self.hit_ranks[:hit],
            found_ranks=self.found_ranks[:found],
            gain_ranks=self.gain_ranks[:gained],
            gains=self.gains[:gained],
            n_retrieved=min(k, self.n_retrieved),
        )


class Match(NamedTuple):
    """A retrieved item and a relevant one that it counts as."""

    rank: int
    retrieved: Hashable
    relevant: Hashable


_PlainKey = tuple[tuple[int, ...], int, int]
"""Of a query with equal grades: the ranks found, ascending, the number of relevant and of retrieved items."""

_Key = _PlainKey | QueryRecord
"""What a record follows from, or is."""

_SOUND = {str, int}  # types of which no item can be NaN
_MAKERS = {"overlap", "similar", "span_overlap"}  # functions that return a matcher
_COLLECTIONS = {list, tuple, set, frozenset, dict}  # types that can be read again


class Records(Mapping[Hashable, QueryRecord]):
    """Query id -> record, for every query that can be scored; those that were judged alike share one record.

    Args:
        query_ids: the queries, in order.
        codes: for each query, which of the keys is its own.
        keys: records, or what they follow from; no two equal.
    """

    def __init__(self, query_ids: Iterable[Hashable], codes: list[int], keys: Iterable[_Key]) -> None:
        """Make the records, and set aside the queries that cannot be scored."""
        ids, records = list(query_ids), list(map(_record, keys))
        self.unscored: list[Hashable] = []
        """Ids of the queries that have nothing relevant."""
        if nothing := {code for code, record in enumerate(records) if not record.n_relevant}:
            self.unscored = [query_id for query_id, code in zip(ids, codes, strict=True) if code in nothing]
            ids = [query_id for query_id, code in zip(ids, codes, strict=True) if code not in nothing]
            codes = [code for code in codes if code not in nothing]
        self._ids, self._codes, self._records = ids, codes, records

    @classmethod
    def of(cls, records: Mapping[Hashable, QueryRecord]) -> Records:
        """Return the records of a plain mapping."""
        return cls(records, *_codes(records.values()))

    @cached_property
    def tally(self) -> tuple[list[QueryRecord], list[int]]:
        """The distinct records and how many queries have each: a metric is computed once for all of them."""
        counts = Counter(self._codes)
        return [self._records[code] for code in counts], list(counts.values())

    def __add__(self, other: Records) -> Records:
        """Return the records of both."""
        return Records.of({**self, **other})

    @cached_property
    def _by_id(self) -> dict[Hashable, QueryRecord]:
        return dict(zip(self._ids, map(self._records.__getitem__, self._codes), strict=True))

    def __getitem__(self, query_id: Hashable) -> QueryRecord:
        """Return the record of a query."""
        return self._by_id[query_id]

    def __iter__(self) -> Iterator[Hashable]:
        """Give the query ids."""
        return iter(self._ids)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self._ids)

    def __repr__(self) -> str:
        """Show the mapping."""
        return repr(self._by_id)


class Judge:
    """Judges one query after another by the same rules.

    Args:
        match: when a retrieved item counts as a relevant one: `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from a ranking before any cutoff; for rankings of document ids made from chunks.
        relevance_level: the lowest grade that is relevant. None: any grade > 0. nDCG counts every grade > 0.

    Raises:
        TypeError, ValueError: a rule cannot be followed, or (when called) the items cannot be judged.

    >>> judge = Judge()
    >>> judge({"d2", "d7"}, ["d1", "d2", "d3"]).hit_ranks
    (2,)
    """

    def __init__(
        self, *, match: Matcher | None = None, unique: bool = False, relevance_level: float | None = None
    ) -> None:
        """Refuse rules that cannot be followed."""
        if match is not None and not callable(match):
            raise TypeError(
                f"match must be a callable (retrieved, relevant) -> bool, or None for equality; got {match!r}"
            )
        name = getattr(match, "__name__", None)
        if name in _MAKERS and str(match.__module__).startswith("hitrate_adapters."):
            raise TypeError(f"match={name} makes matchers: call it with a share, as match={name}(0.5)")
        _ = compares_of(match)  # which refuses what is no word for it
        if not isinstance(unique, bool):
            raise TypeError(f"unique must be True or False, got {unique!r}")
        if relevance_level is not None:
            check_number("relevance_level", relevance_level, above=0)
        self.match = match
        self.unique = unique
        self.relevance_level = relevance_level
        self._is_plain = match is None and (relevance_level is None or relevance_level <= 1)

    def __call__(self, relevant: Items, retrieved: Items, query_id: object = None) -> QueryRecord:
        """Return the record of one query; `query_id` is named in errors."""
        return _record(self._key(relevant, retrieved, query_id))

    def judge_all(self, qrels: Mapping[Any, Items], run: Mapping[Any, Items]) -> Records:
        """Return the record of every query of the qrels; a query that the run lacks retrieved nothing."""
        golds: list[Any] = list(qrels.values())
        rankings: list[Any] = list(map(run.get, qrels, repeat([])))
        if (
            self._is_plain
            and not self.unique
            and _COLLECTIONS.issuperset(map(type, golds))
            and _COLLECTIONS.issuperset(map(type, rankings))
            and _SOUND.issuperset(map(type, chain.from_iterable(golds)))
        ):  # nearly every run
            try:
                each_gold, each_ranking = _each(set, relevant_items, golds), _each(list, ranked_items, rankings)
                return Records(qrels, *_plain_codes(each_gold, each_ranking))
            except Exception:  # noqa: S110 - grades that differ; or an error, which names its query below
                pass
        return Records(qrels, *_codes(map(self._key, golds, rankings, qrels)))

    def faults(self, qrels: Mapping[Any, Items], run: Mapping[Any, Items]) -> dict[Hashable, Exception]:
        """Return query id -> what judging it raises, for runs in which one such query must not lose the others."""
        found: dict[Hashable, Exception] = {}
        for query_id, relevant in qrels.items():
            try:
                self._key(relevant, run.get(query_id, ()), query_id)
            except Exception as error:
                found[query_id] = error
        return found

    def matches(self, relevant: Items, retrieved: Items) -> tuple[Match, ...]:
        """Return each retrieved item with each relevant one that it counts as, by rank; their ranks are `hit_ranks`.

        >>> Judge().matches({"d2", "d7"}, ["d1", "d2"])
        (Match(rank=2, retrieved='d2', relevant='d2'),)
        """
        wanted, ranking = self.sides(relevant, retrieved)
        pairs = self._pairs(ranking, dict.fromkeys(wanted, 1.0))
        return tuple(Match(rank, item, found) for rank, item, matched in pairs for found in matched)

    def sides(self, relevant: Items, retrieved: Items) -> tuple[list[Hashable], list[Hashable]]:
        """Return what is compared: the relevant items, by `in_order`, and the retrieved ones by rank.

        What is absent from a slot is None there, be it NaN or pandas' NA.

        >>> Judge(unique=True).sides({"d2": 0, "d7": 1}, ["d1", "d1", "d2"])
        (['d7'], ['d1', 'd2'])
        """
        gold = relevant_items(relevant)
        wanted = self._relevant(gold if isinstance(gold, dict) else dict.fromkeys(gold, 1.0))
        return [item for item in in_order(relevant) if item in wanted], self._ranking(retrieved)

    @property
    def rules(self) -> dict[str, object]:
        """The arguments it was made with."""
        return {"match": self.match, "unique": self.unique, "relevance_level": self.relevance_level}

    def __repr__(self) -> str:
        """Show the rules."""
        rules = {**self.rules, "match": name_of(self.match)}
        return f"Judge({', '.join(f'{rule}={value}' for rule, value in rules.items())})"

    def _key(self, relevant: Items, retrieved: Items, query_id: object) -> _Key:
        try:
            gold, ranking = relevant_items(relevant), self._ranking(retrieved)
            if not _SOUND.issuperset(map(type, gold)) and any(map(is_absent, gold)):
                raise ValueError("the relevant items hold None or NaN: leave out what has no id")
            if self._is_plain and isinstance(gold, set):
                _, (key,) = _plain_codes([gold], [ranking])
                return key
            return self._graded_record(gold if isinstance(gold, dict) else dict.fromkeys(gold, 1.0), ranking)
        except Exception as error:
            _explain(error, query_id)
            raise

    def _ranking(self, retrieved: Items) -> list[Hashable]:
        ranking = ranked_items(retrieved)
        if not _SOUND.issuperset(map(type, ranking)):
            ranking = [None if is_absent(item) else item for item in ranking]
        return list(compress(ranking, are_new(ranking))) if self.unique else ranking

    def _relevant(self, grades: dict[Hashable, float]) -> set[Hashable]:
        level = self.relevance_level
        return {item for item, grade in grades.items() if level is None or grade >= level}

    def _graded_record(self, grades: dict[Hashable, float], items: list[Hashable]) -> QueryRecord:
        relevant = self._relevant(grades)
        first_rank: dict[Hashable, int] = {}
        hit_ranks = []
        for rank, _, matched in self._pairs(items, grades):
            for wanted in matched:
                first_rank.setdefault(wanted, rank)
            if not relevant.isdisjoint(matched):
                hit_ranks.append(rank)
        gained = sorted((rank, -grades[item]) for item, rank in first_rank.items())
        return QueryRecord(
            hit_ranks=tuple(hit_ranks),
            found_ranks=tuple(sorted(first_rank[item] for item in relevant & first_rank.keys())),
            gain_ranks=tuple(rank for rank, _ in gained),
            gains=tuple(-grade for _, grade in gained),
            ideal=tuple(sorted(grades.values(), reverse=True)),
            n_relevant=len(relevant),
            n_retrieved=len(items),
        )

    def _pairs(
        self, items: list[Hashable], grades: dict[Hashable, float]
    ) -> Iterator[tuple[int, Hashable, list[Hashable]]]:
        """Give rank, item and what it matches of each item that is no None and no repeat."""
        for rank, (item, is_new) in enumerate(zip(items, are_new(items), strict=True), 1):
            if item is not None and is_new:
                yield rank, item, self._matched(item, grades)

    def _matched(self, item: Hashable, grades: dict[Hashable, float]) -> list[Hashable]:
        if self.match is None:
            return [item] if item in grades else []
        try:
            return [wanted for wanted in grades if _verdict(self.match(item, wanted), self.match)]
        except StopIteration as error:  # it would end, without a word, a generator or a coroutine around this one
            raise RuntimeError(f"{name_of(self.match)} raised StopIteration") from error


def judge(
    relevant: Items,
    retrieved: Items,
    *,
    match: Matcher | None = None,
    unique: bool = False,
    relevance_level: float | None = None,
) -> QueryRecord:
    """Return the record of a single query; the arguments after the items are those of `evaluate`.

    Raises TypeError or ValueError for items that cannot be judged.

    >>> judge({"d2", "d7"}, ["d1", "d2", "d3"]).hit_ranks
    (2,)
    """
    return Judge(match=match, unique=unique, relevance_level=relevance_level)(relevant, retrieved)


def _codes(keys: Iterable[_Key]) -> tuple[list[int], dict[_Key, int]]:
    """Number the keys in order of appearance; return the number of each and, key -> number, the distinct ones."""
    code_of: dict[_Key, int] = {}
    return [code_of.setdefault(key, len(code_of)) for key in keys], code_of


def _plain_codes(
    golds: Iterable[set[Hashable]], rankings: Iterable[list[Hashable]]
) -> tuple[list[int], dict[_Key, int]]:
    """Return `_codes` of the keys of queries with equal grades. The inner loop of the package: keep it lean."""
    code_of: dict[_Key, int] = {}
    codes = []
    for gold, ranking in zip(golds, rankings, strict=True):
        ranks = []
        for item in gold.intersection(ranking):
            ranks.append(ranking.index(item) + 1)  # noqa: PERF401 - a comprehension takes longer for so few
        ranks.sort()
        codes.append(code_of.setdefault((tuple(ranks), len(gold), len(ranking)), len(code_of)))
    return codes, code_of


def _record(key: _Key) -> QueryRecord:
    if isinstance(key, QueryRecord):
        return key
    ranks, n_relevant, n_retrieved = key
    fields = (ranks, ranks, ranks, _ones(len(ranks)), _ones(n_relevant), n_relevant, n_retrieved)
    return tuple.__new__(QueryRecord, fields)  # in half the time of QueryRecord(*fields)


@lru_cache
def _ones(n: int) -> tuple[float, ...]:
    return (1.0,) * n


def _each(kind: type, convert: Callable[[Items], Any], sides: list[Any]) -> Iterable[Any]:
    return sides if {kind}.issuperset(map(type, sides)) else map(convert, sides)


def _verdict(answer: object, match: Matcher) -> bool:
    if type(answer).__name__ in ("bool", "bool_"):  # NumPy's too
        return bool(answer)
    raise TypeError(f"match must return True or False, {name_of(match)} returned {answer!r}")


def _explain(error: Exception, query_id: object) -> None:
    """Put the query, and the advice for an item without a hash, into the message of a plain TypeError or ValueError."""
    if type(error) in (TypeError, ValueError) and len(error.args) == 1:
        query = "" if query_id is None else f"query {query_id!r}: "
        advice = ": give the id or the text of each item" if str(error).startswith("unhashable") else ""
        error.args = (f"{query}{error}{advice}",)
    elif query_id is not None:
        error.add_note(f"while judging query {query_id!r}")
