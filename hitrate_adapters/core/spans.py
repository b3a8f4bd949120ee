"""Items that are places in documents, so that gold survives every new way to cut them into chunks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, NamedTuple

from .items import is_absent
from .matching import check_number

__all__ = ["Span", "SpanOverlap", "as_span", "span_overlap"]

_OF = ("gold", "union")


class Span(NamedTuple):
    """A place in a document: its characters from `start` up to, but without, `end`, as in `text[start:end]`.

    >>> Span("refunds.md", 0, 23)
    Span(document='refunds.md', start=0, end=23)
    """

    document: Hashable
    """The id of the document, the same on both sides."""
    start: int
    """Its first character, counted from 0."""
    end: int
    """The character after its last one."""


def span_overlap(share: float | None = None, of: str = "gold") -> SpanOverlap:
    """Give a matcher of spans that is true where the retrieved one holds enough of the relevant one.

    Spans of different documents never match. Each item of both sides is a `Span`, or a tuple of that shape.

    Args:
        share: how much is enough, 0 < share <= 1. None: a single character that both have.
        of: what the characters that both have are a share of: those of the relevant span ("gold"), or those that either
            has ("union", known as the Jaccard index or intersection over union), which asks for chunks no larger than
            the gold.

    Raises:
        TypeError, ValueError: one of these is something else; or, when it matches, an item is no span.

    >>> span_overlap()(Span("refunds.md", 0, 100), Span("refunds.md", 90, 110))
    True
    >>> span_overlap(0.5)(Span("refunds.md", 0, 100), Span("refunds.md", 90, 110))
    True
    >>> span_overlap(0.5, of="union")(Span("refunds.md", 0, 100), Span("refunds.md", 90, 110))
    False
    """
    return SpanOverlap(share, of)


@dataclass(frozen=True, slots=True)
class SpanOverlap:
    """What `span_overlap` returns: a matcher that compares and pickles by its share and what it is a share of."""

    share: float | None = None
    of: str = "gold"
    compares: ClassVar[str] = "spans"

    def __post_init__(self) -> None:
        """Refuse what cannot be followed."""
        if self.of not in _OF:
            raise ValueError(f'of must be "gold" or "union", got {self.of!r}')
        if self.share is not None:
            check_number("share", self.share, above=0, up_to=1)
        elif self.of != "gold":
            raise ValueError(f"of={self.of!r} says what share= is a share of: give a share, 0 < share <= 1")

    def __call__(self, retrieved: Span, relevant: Span) -> bool:
        """Tell whether the two spans have enough in common."""
        document, start, end = _span(retrieved)
        gold_document, gold_start, gold_end = _span(relevant)
        common = min(end, gold_end) - max(start, gold_start)
        if common <= 0 or document != gold_document:
            return False
        if self.share is None:
            return True
        whole = gold_end - gold_start if self.of == "gold" else max(end, gold_end) - min(start, gold_start)
        return bool(common / whole >= self.share)  # of NumPy's too

    def __repr__(self) -> str:
        """Show the call that makes it."""
        given = [] if self.share is None else [repr(float(self.share))]
        given += [] if self.of == "gold" else [f"of={self.of!r}"]
        return f"span_overlap({', '.join(given)})"


def as_span(item: object) -> Span:
    """Return a `Span`, a tuple of its shape or a list of it, as JSON has it, as a `Span`; raise as `span_overlap` does.

    >>> as_span(["refunds.md", 0, 23])
    Span(document='refunds.md', start=0, end=23)
    """
    return Span(*_span(tuple(item) if isinstance(item, list) and len(item) == 3 else item))


def _span(item: object) -> tuple[Hashable, int, int]:
    """Return what is a span; raise TypeError or ValueError, which says why not, for what is none."""
    if not isinstance(item, tuple) or len(item) != 3:
        is_list = isinstance(item, list) and len(item) == 3
        advice = (
            "make Span(*item) of each list, as JSON has them"
            if is_list
            else "each side is a list of Span(document, start, end); to compare ids or texts, leave span_overlap out"
        )
        raise TypeError(f"spans are compared, found {item!r:.80} ({type(item).__name__}): {advice}")
    document, start, end = item
    for offset in (start, end):
        if type(offset) is not int and (isinstance(offset, bool) or not isinstance(offset, Integral)):
            raise TypeError(f"{item!r:.120} is no span: start and end are whole numbers of characters")
    if is_absent(document):
        raise ValueError(f"{item!r:.120} is no span: its document is {document!r}")
    if not 0 <= start < end:
        raise ValueError(f"{item!r:.120} is no span: it needs 0 <= start < end (`end` is the character after the last)")
    return item
