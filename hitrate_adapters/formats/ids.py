"""What stands in a file for an item, a grade or a score, made into what the core judges."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from math import isfinite
from numbers import Integral
from typing import Any

from hitrate_adapters.core.items import ranked_items, string_id
from hitrate_adapters.core.matching import check_number
from hitrate_adapters.core.spans import Span


class Ids:
    """Makes items of what a file holds; ids become strings.

    Args:
        id_key: where a document's id is: a key of its metadata or of itself. None: "id".
        share: whether equal ids are made one object; False where what is read is not kept.
    """

    def __init__(self, id_key: str | None = None, *, share: bool = True) -> None:
        """Begin with no id known."""
        self.id_key = id_key or "id"
        known: dict[str, str] = {}
        self._shared: Callable[[str], str] = (lambda text: known.setdefault(text, text)) if share else str

    def item(self, found: Any) -> Hashable:
        """Return the id of an item, its text, or its `Span` where a file has [document, start, end].

        Raises ValueError for what is no id, and for a document without one.
        """
        text = string_id(found)
        if text is not None:
            return self._shared(text)
        if isinstance(found, list) and len(found) == 3 and {int}.issuperset(map(type, found[1:])):
            return Span(self._shared(one_id(found[0])), *found[1:])
        if isinstance(found, Mapping):
            return self._of_document(found)
        return one_id(found)

    def relevant(self, found: Any) -> list[Hashable] | dict[Hashable, float]:
        """Return a list of items, or item -> grade. Raises ValueError for what is neither."""
        if isinstance(found, list):
            return self._items(found)
        if isinstance(found, Mapping):
            return {self.item(item): grade(given, f"the grade of {item!r}") for item, given in found.items()}
        raise ValueError(f"expected a list of relevant items, or item -> grade; found {found!r:.60}")

    def retrieved(self, found: Any) -> list[Hashable]:
        """Return a list of items, best first; null is a slot that never hits. Raises ValueError for what is none.

        Where the file has item -> score, the highest score is first and ties go by item, descending.
        """
        if isinstance(found, list):
            return self._items(found, slots=True)
        if isinstance(found, Mapping):
            return ranked_items(
                {self.item(item): number(score, f"the score of {item!r}") for item, score in found.items()}
            )
        raise ValueError(
            f"expected a list of retrieved items, best first, or item -> score; found {found!r:.60} "
            "([] where nothing was retrieved)"
        )

    def _items(self, found: list[Any], *, slots: bool = False) -> list[Hashable]:
        if {str}.issuperset(map(type, found)):
            return list(tuple(map(self._shared, found)))  # noqa: C414 - of a tuple: no spare room
        return [None if slots and item is None else self.item(item) for item in found]

    def _of_document(self, document: Mapping[str, Any]) -> Hashable:
        metadata = document.get("metadata")
        for holder in (document, metadata) if self.id_key == "id" else (metadata, document):
            found = string_id(holder.get(self.id_key)) if isinstance(holder, Mapping) else None
            if found is not None:
                return self._shared(found)
        keys = [*document, *(f"metadata.{key}" for key in metadata or ())]
        raise ValueError(
            f"a document has no {self.id_key!r}: id_key= says which key of its metadata or of itself is its id; "
            f"it has {', '.join(keys) or 'nothing'}"
        )


def one_id(found: Any) -> str:
    """Return an id as a string. Raises ValueError for what is none."""
    text = string_id(found)
    if text is None:
        raise ValueError(f"{found!r:.60} is no id: ids are strings or whole numbers")
    return text


def number(found: Any, what: str) -> float:
    """Return a number, which tables hold as text. Raises ValueError, which says what it is, for anything else."""
    value = found
    if isinstance(found, str):
        try:
            value = float(found) if "_" not in found else None
        except ValueError:
            value = None
        if value is None:
            raise ValueError(f"{what} must be a number, found {found!r:.40}")
        value = int(value) if value.is_integer() else value
    check_number(what, value)
    return int(value) if isinstance(value, Integral) else float(value)  # of NumPy's numbers too


def grade(found: Any, what: str) -> float:
    """Return a number that is finite and that a float holds, as `number` does."""
    value = number(found, what)
    try:
        if isfinite(value):
            return value
    except OverflowError:  # a whole number that no float holds
        pass
    raise ValueError(f"{what} must be finite, found {value!r:.40}")
