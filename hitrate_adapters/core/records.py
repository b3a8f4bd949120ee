"""At which ranks of one ranking something relevant was found: the record that every metric is made from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import chain, compress, repeat
from math import isfinite
from numbers import Integral
from operator import ne
from typing import Any, NamedTuple

from .matching import check_number

Matcher = Callable[..., bool]
"""A callable `(retrieved, relevant) -> bool`."""

Items = Iterable[Hashable] | Mapping[Any, float]
"""Relevant items, or item -> grade; retrieved items, best first, or item -> score."""


class QueryRecord(NamedTuple):
    """What judging one query leaves: 1-based ranks and grades, from which every metric at every cutoff follows."""

    hit_ranks: tuple[int, ...]
    """Ranks of retrieved items that match something relevant and equal no earlier item: hit rate, precision, MRR, MAP."""
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


class _PlainRecords(dict[tuple[tuple[int, ...], int, int], QueryRecord]):
    """Records of queries with equal grades, by what distinguishes them, each made when it is first asked for."""

    def __missing__(self, key: tuple[tuple[int, ...], int, int]) -> QueryRecord:
        positions, n_relevant, n_retrieved = key
        ranks = tuple(map(_NEXT, positions))
        ones = (1.0,) * n_relevant
        record = self[key] = QueryRecord(ranks, ranks, ranks, ones[: len(ranks)], ones, n_relevant, n_retrieved)
        return record


_NEXT = (1).__add__
_SOUND = {str, int}  # types of which no item can be NaN


class Judge:
    """Judges one query after another by the same rules. Queries judged alike share one record.

    Args:
        match: when a retrieved item counts as a relevant one, a callable `(retrieved, relevant) -> bool`. None: equality.
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
        if relevance_level is not None:
            check_number("relevance_level", relevance_level, above=0)
        self.match = match
        self.unique = unique
        self.relevance_level = relevance_level
        self._is_plain = match is None and (relevance_level is None or relevance_level <= 1)
        self._plain = _PlainRecords()
        self._graded: dict[QueryRecord, QueryRecord] = {}

    def __call__(self, relevant: Items, retrieved: Items, query_id: object = None) -> QueryRecord:
        """Return the record of one query; `query_id` is named in errors."""
        try:
            items = retrieved if type(retrieved) is list else _ranking(retrieved)
            if self.unique:
                items = list(compress(items, _are_new(items)))
            gold = relevant if type(relevant) is set else _gold(relevant)
            if not _SOUND.issuperset(map(type, gold)) and (None in gold or any(map(ne, gold, gold))):
                raise ValueError("the relevant items hold None or NaN: leave out what has no id")
            if self._is_plain and type(gold) is set:
                positions = tuple(sorted(map(items.index, gold.intersection(items))))
                return self._plain[positions, len(gold), len(items)]
            record = self._graded_record(gold if isinstance(gold, dict) else dict.fromkeys(gold, 1.0), items)
            return self._graded.setdefault(record, record)
        except Exception as error:
            _explain(error, query_id)
            raise

    def judge_all(self, qrels: Mapping[Any, Items], run: Mapping[Any, Items]) -> dict[Hashable, QueryRecord]:
        """Return query id -> record for every query of the qrels; a query that the run lacks retrieved nothing."""
        golds, rankings = list(qrels.values()), list(map(run.get, qrels, repeat([])))
        if (
            self._is_plain
            and not self.unique
            and {set}.issuperset(map(type, golds))
            and {list}.issuperset(map(type, rankings))
            and _SOUND.issuperset(map(type, chain.from_iterable(golds)))
        ):  # nearly every run: the same as below, with the loops in C
            try:
                found = map(set.intersection, golds, rankings)
                positions = [
                    tuple(sorted(map(ranking.index, items))) if items else ()
                    for ranking, items in zip(rankings, found, strict=True)
                ]
                keys = zip(positions, map(len, golds), map(len, rankings), strict=True)
                return dict(zip(qrels, map(self._plain.__getitem__, keys), strict=True))
            except TypeError:  # an item without a hash: below, the error names its query
                pass
        return {query_id: self(*items, query_id) for query_id, *items in zip(qrels, golds, rankings, strict=True)}

    @property
    def rules(self) -> dict[str, object]:
        """The arguments it was made with."""
        return {"match": self.match, "unique": self.unique, "relevance_level": self.relevance_level}

    def _graded_record(self, grades: dict[Hashable, float], items: list[Hashable]) -> QueryRecord:
        level = self.relevance_level
        relevant = {item for item, grade in grades.items() if level is None or grade >= level}
        first_rank: dict[Hashable, int] = {}
        hit_ranks = []
        for rank, (item, is_new) in enumerate(zip(items, _are_new(items), strict=True), 1):
            if item is None or not is_new:
                continue
            matched = self._matched(item, grades)
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

    def _matched(self, item: Hashable, grades: dict[Hashable, float]) -> list[Hashable]:
        if self.match is None:
            return [item] if item in grades else []
        return [wanted for wanted in grades if _verdict(self.match(item, wanted), self.match)]


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


def string_id(found: object) -> str | None:
    """Return an id as a string, for frameworks and files whose ids are strings; None for what is neither str nor int.

    >>> string_id(7), string_id("7"), string_id(7.0)
    ('7', '7', None)
    """
    is_id = isinstance(found, (str, Integral)) and not isinstance(found, bool)
    return str(found) if is_id else None


def _gold(relevant: Items) -> set[Hashable] | dict[Hashable, float]:
    """Return a set where all grades above 0 are 1, else item -> grade above 0."""
    _refuse_string(relevant, "relevant")
    if not isinstance(relevant, Mapping):
        try:
            return set(relevant)
        except TypeError as error:
            raise TypeError(f"relevant items must be a collection of ids or texts, or item -> grade: {error}") from None
    for item, grade in relevant.items():
        check_number(f"the grade of {item!r}", grade)
        if not isfinite(grade):
            raise ValueError(f"the grade of {item!r} must be finite, got {grade!r}")
    positive = {item: float(grade) for item, grade in relevant.items() if grade > 0}
    return set(positive) if all(grade == 1 for grade in positive.values()) else positive


def _ranking(retrieved: Items) -> list[Hashable]:
    """Return the retrieved items, best first."""
    _refuse_string(retrieved, "retrieved")
    if isinstance(retrieved, (set, frozenset)):
        raise TypeError(
            f"retrieved items are a {type(retrieved).__name__}, which has no order: pass a list, best first (or are qrels and run swapped?)"
        )
    if isinstance(retrieved, Mapping):
        return _by_score(retrieved)
    try:
        return list(retrieved)
    except TypeError:
        raise TypeError(
            f"retrieved items must be a list, best first, or item -> score; got {retrieved!r}: pass [] where nothing was retrieved"
        ) from None


def _by_score(scores: Mapping[Hashable, float]) -> list[Hashable]:
    """Return the items by score, descending, ties by item, descending, as trec_eval does."""
    for item, score in scores.items():
        check_number(f"the score of {item!r}", score)
    try:
        return sorted(scores, key=lambda item: (scores[item], item), reverse=True)
    except TypeError as error:
        raise TypeError(
            f"items of equal score are put in order by their ids, which these do not have: {error}"
        ) from None


def _refuse_string(items: object, side: str) -> None:
    if isinstance(items, (str, bytes)):
        raise TypeError(f"{side} items are the string {items!r:.60}: pass a list, such as [{items!r:.60}]")


def _are_new(items: list[Hashable]) -> list[bool]:
    """Tell for each item whether no earlier one equals it; each None is new, since what is unknown is no repeat."""
    try:
        first_at = {item: at for at, item in reversed(list(enumerate(items)))}
        return [item is None or first_at[item] == at for at, item in enumerate(items)]
    except TypeError:  # an item that has no hash
        return [item is None or item not in items[:at] for at, item in enumerate(items)]


def _verdict(answer: object, match: Matcher) -> bool:
    if type(answer).__name__ in ("bool", "bool_"):  # NumPy's too
        return bool(answer)
    raise TypeError(f"match must return True or False, {match!r} returned {answer!r}")


def _explain(error: Exception, query_id: object) -> None:
    """Put the query, and the advice for an item without a hash, into the message of a plain TypeError or ValueError."""
    if type(error) in (TypeError, ValueError) and len(error.args) == 1:
        query = "" if query_id is None else f"query {query_id!r}: "
        advice = ": give the id or the text of each item" if str(error).startswith("unhashable") else ""
        error.args = (f"{query}{error}{advice}",)
    elif query_id is not None:
        error.add_note(f"while judging query {query_id!r}")
