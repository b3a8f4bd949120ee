"""What is a retrieved document's id and text, in each form in which LangChain and LangSmith hand documents over.

No framework is imported: whatever has `page_content` and `metadata` is a document.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from .core.matching import check_number

IdKey = str | Callable[[Any], Hashable] | None
"""Where a document's id is: a metadata key, a function of the document, or None for `id`, else `metadata["id"]`."""


class Document(NamedTuple):
    """A document in LangChain's words, for documents that come as dicts or as plain ids or texts."""

    page_content: object
    metadata: Mapping[str, Any] = {}
    id: Hashable = None


@dataclass(frozen=True, slots=True)
class ItemOf:
    """What stands for a document when it is compared with the relevant items: its id, or its text.

    Args:
        id_key: where the id is; see `IdKey`.
        match_on: "ids" or "texts".

    Raises:
        TypeError, ValueError: one of them is something else, or an `id_key` comes with texts.

    >>> ItemOf("source")({"page_content": "Refunds take five days.", "metadata": {"source": "refunds.md"}})
    'refunds.md'
    """

    id_key: IdKey = None
    match_on: str = "ids"

    def __post_init__(self) -> None:
        """Refuse what cannot be followed."""
        if self.match_on not in ("ids", "texts"):
            raise ValueError(f'match_on must be "ids" or "texts", got {self.match_on!r}')
        if self.id_key is not None and not isinstance(self.id_key, str) and not callable(self.id_key):
            raise TypeError(f"id_key must be a key of the metadata, a function or None, got {self.id_key!r}")
        if self.id_key is not None and self.match_on == "texts":
            raise ValueError(
                f'texts are compared, so no id is looked up: leave out id_key={self.id_key!r}, or pass match_on="ids"'
            )

    def __call__(self, retrieved: object) -> Hashable:
        """Return the id or the text of a retrieved document, which may come in a (document, score) pair.

        Raises ValueError, which names `id_key`, for a document without the wanted id, TypeError for one without text
        and for what is no document.
        """
        document = _document(retrieved)
        if self.match_on == "texts":
            if not isinstance(document.page_content, str):
                raise TypeError(f"a retrieved document has no text: {retrieved!r:.200}")
            return document.page_content
        if callable(self.id_key):
            found = self.id_key(document)
        elif self.id_key is None:
            found = document.metadata.get("id") if document.id is None else document.id
        else:
            found = document.metadata.get(self.id_key)
        if found is None:
            raise ValueError(self._advice(document))
        return found

    def of_relevant(self, relevant: object) -> Any:
        """Return relevant items ready to be judged: documents become their id or text, all else stays as it is."""
        if isinstance(relevant, (str, bytes, Mapping)) or not isinstance(relevant, Iterable):
            return relevant
        return [self(item) if _is_document(item) else item for item in relevant]

    def _advice(self, document: Any) -> str:
        if callable(self.id_key):
            wanted = f"id: id_key={getattr(self.id_key, '__name__', self.id_key)} returned None"
        else:
            wanted = "`id` and no metadata['id']" if self.id_key is None else f"metadata[{self.id_key!r}]"
        keys = ", ".join(map(repr, document.metadata)) or "nothing"
        return (
            f"a retrieved document has no {wanted} (its metadata has {keys}; it begins {document.page_content!r:.60}): "
            'pass as id_key= the metadata key or the function that gives its id, or compare texts by match_on="texts"'
        )


def _is_document(given: object) -> bool:
    return isinstance(given, Mapping) or (hasattr(given, "page_content") and hasattr(given, "metadata"))


def _document(given: Any) -> Any:
    """Return something with `id`, `metadata` and `page_content`; a plain id or text is all its own."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and _is_document(given[0]):
        given, score = given
        check_number("a document's score", score)
    if given is None or isinstance(given, (str, int, UUID)):
        return Document(given, {}, given)
    if not _is_document(given):
        raise TypeError(
            f"{given!r:.80} ({type(given).__name__}) is no document, id or text: documents have page_content, metadata"
        )
    if not isinstance(given, Mapping):
        return given
    if "lc" in given and isinstance(given.get("kwargs"), Mapping):  # as langchain_core.load.dumpd writes it
        given = given["kwargs"]
    metadata = given.get("metadata", given)  # a dict without metadata is all metadata
    return Document(given.get("page_content"), metadata or {}, given.get("id"))
