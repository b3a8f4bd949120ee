"""What a caller gives for one query, made into one form: the relevant items and, best first, the retrieved ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from math import isfinite
from numbers import Integral
from operator import ne
from typing import Any

from .matching import check_number

Items = Iterable[Hashable] | Mapping[Any, float]
"""Relevant items, or item -> grade; retrieved items, best first, or item -> score."""

NO_IDS = "every retrieved item is None: where are the ids? (a wrong key or attribute gives None)"

_NUMBERS = {int, float}


def relevant_items(relevant: Items) -> set[Hashable] | dict[Hashable, float]:
    """Return a set where all grades above 0 are 1, else item -> grade above 0. Raises TypeError or ValueError."""
    if isinstance(relevant, set):
        return relevant
    _refuse(relevant, "relevant")
    if not isinstance(relevant, (dict, Mapping)):  # dict first: Mapping alone takes longer to ask
        try:
            return set(relevant)
        except TypeError as error:
            advice = "; of a list that is a span, make Span(*item)" if str(error).endswith("'list'") else ""
            raise TypeError(
                f"relevant items must be a collection of ids or texts, or item -> grade: {error}{advice}"
            ) from None
    grades = relevant.values()
    are_numbers = _NUMBERS.issuperset(map(type, grades))
    if are_numbers and {1}.issuperset(grades):
        return set(relevant)
    if not (are_numbers and all(map(isfinite, grades))):
        for item, grade in relevant.items():
            check_number(f"the grade of {item!r}", grade)
            if not isfinite(grade):
                raise ValueError(f"the grade of {item!r} must be finite, got {grade!r}")
    if any(map(is_absent, relevant)):
        raise ValueError("the relevant items hold None or NaN: leave out what has no id")
    positive = {item: float(grade) for item, grade in relevant.items() if grade > 0}
    return set(positive) if {1.0}.issuperset(positive.values()) else positive


def ranked_items(retrieved: Items) -> list[Hashable]:
    """Return the retrieved items, best first. Raises TypeError or ValueError."""
    if isinstance(retrieved, list):
        return retrieved
    _refuse(retrieved, "retrieved")
    if isinstance(retrieved, (set, frozenset)):
        raise TypeError(
            f"retrieved items are a {type(retrieved).__name__}, which has no order: "
            "pass a list, best first (or are qrels and run swapped?)"
        )
    if isinstance(retrieved, (dict, Mapping)):
        return _by_score(retrieved)
    try:
        return list(retrieved)
    except TypeError:
        raise TypeError(
            f"retrieved items must be a list, best first, or item -> score; got {retrieved!r}: "
            "pass [] where nothing was retrieved"
        ) from None


def grades_of(relevant: Items) -> dict[Hashable, float]:
    """Return item -> grade as it was given, in order; 1 for each item of a collection without grades."""
    if isinstance(relevant, Mapping):
        return dict(relevant)
    _refuse(relevant, "relevant")
    return dict.fromkeys(relevant, 1)


def in_form_of(relevant: Items, grades: dict[Hashable, float]) -> Items:
    """Return grades as the kind of collection that `relevant` is; what has no grades keeps the items above 0.

    >>> in_form_of(["d1"], {"d7": 1, "d2": 0}), in_form_of({"d1": 2}, {"d7": 1, "d2": 0})
    (['d7'], {'d7': 1, 'd2': 0})
    """
    if isinstance(relevant, Mapping):
        return grades
    kind = type(relevant) if isinstance(relevant, (set, frozenset, tuple)) else list
    return kind(item for item, grade in grades.items() if grade > 0)


def string_id(found: object) -> str | None:
    """Return an id as a string, for frameworks and files whose ids are strings; None for what is neither str nor int.

    >>> string_id(7), string_id("7"), string_id(7.0)
    ('7', '7', None)
    """
    if isinstance(found, str):
        return str.__str__(found)  # of a member of a str Enum its value, where str() gives its name
    return str(found) if isinstance(found, Integral) and not isinstance(found, bool) else None


def text_of(item: object, texts: Mapping[Any, str] | None = None, *, are_spans: bool = False) -> str | None:
    """Return the text of an item: what `texts` has for it, or without them the item itself; None where that is no str.

    Of items that are spans, `texts` may have the documents that they are parts of.

    >>> text_of("d1", {"d1": "Refunds take five days."}), text_of("Shipping is free."), text_of("d2", {})
    ('Refunds take five days.', 'Shipping is free.', None)
    >>> text_of(("d1", 0, 7), {"d1": "Refunds take five days."}, are_spans=True)
    'Refunds'
    """
    found = item if texts is None else texts.get(item)
    if found is None and texts is not None and are_spans and isinstance(item, tuple) and len(item) == 3:
        document, start, end = item
        whole = texts.get(document)
        return whole[start:end] or None if isinstance(whole, str) else None
    return found if isinstance(found, str) else None


def is_absent(item: object) -> bool:
    """Tell whether an item is None or NaN, pandas' NA among them, whose comparisons have no truth value."""
    try:
        return item is None or bool(item != item)  # noqa: PLR0124 - NaN
    except TypeError:
        return True
    except ValueError:  # an array, which is something
        return False


def in_order(items: Iterable[Hashable]) -> list[Hashable]:
    """Return the items, without repeats, in the same order in every run of Python: of a set by type, then by repr.

    >>> in_order({"d7", "d2", 3}), in_order(["d7", "d2", "d7"])
    ([3, 'd2', 'd7'], ['d7', 'd2'])
    """
    if isinstance(items, (set, frozenset)):
        return sorted(items, key=lambda item: (type(item).__name__, repr(item)))
    return list(dict.fromkeys(items))


def are_new(items: list[Hashable]) -> list[bool]:
    """Tell for each item whether no earlier one equals it; each None is new, since what is unknown is no repeat."""
    try:
        first_at = {item: at for at, item in reversed(list(enumerate(items)))}
        return [item is None or first_at[item] == at for at, item in enumerate(items)]
    except TypeError:  # an item that has no hash
        return [item is None or item not in items[:at] for at, item in enumerate(items)]


def _by_score(scores: Mapping[Any, float]) -> list[Hashable]:
    """Return the items by score, descending, ties by item, descending, as trec_eval does."""
    values = scores.values()
    if not _NUMBERS.issuperset(map(type, values)) or any(map(ne, values, values)):
        for item, score in scores.items():
            check_number(f"the score of {item!r}", score)
    try:
        return [item for _, item in sorted(zip(values, scores, strict=True), reverse=True)]
    except TypeError as error:
        raise TypeError(
            f"items of equal score are put in order by their ids, which these do not have: {error}"
        ) from None


def _refuse(items: object, side: str) -> None:
    """Raise TypeError for what only looks like a collection of items."""
    if isinstance(items, (str, bytes, bytearray)):
        raise TypeError(f"{side} items are the string {items!r:.60}: pass a list, such as [{items!r:.60}]")
    if hasattr(items, "to_dict") and hasattr(items, "index") and not isinstance(items, Mapping):  # of pandas
        number = "grade" if side == "relevant" else "score"
        raise TypeError(
            f"{side} items are a {type(items).__name__}: pass its .tolist() where its values are the items, its "
            f".to_dict() where its index has them (item -> {number})"
        )
