"""What is a retrieved document's id, text and span, in each form in which frameworks hand documents over.

No framework is imported: whatever has `page_content` and `metadata` (LangChain), or `content` and `meta` (Haystack), is
a document, and so is a dict, also in OpenInference's words (Phoenix), unless it is a message of a chat.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Number
from typing import Any, NamedTuple, TypeGuard
from uuid import UUID

from .core.items import NO_IDS, is_absent
from .core.matching import check_number, name_of
from .core.spans import Span, as_span

IdKey = str | Callable[[Any], Hashable] | None
"""Where a document's id is: a metadata key ("source.url" is the key "url" of what stands under "source"), a function of
the document, or None for `id`, else `metadata["id"]`, and for `metadata["source"]` where spans are compared."""


class Document(NamedTuple):
    """A document in LangChain's words, for documents that come as dicts or as plain ids or texts."""

    page_content: object
    metadata: Mapping[str, Any] = {}
    id: Hashable = None


@dataclass(frozen=True, slots=True)
class ItemOf:
    """What stands for a document when it is compared with the relevant items: its id, its text, or its span.

    The span of a chunk is as long as its text, in the document that `id_key` names, and begins at
    `metadata["start_index"]`, which LangChain's splitters note with add_start_index=True, or at "split_idx_start", of
    Haystack's.

    Args:
        id_key: where the id is; see `IdKey`.
        match_on: "ids", "texts" or "spans".

    Raises:
        TypeError, ValueError: one of them is something else, or an `id_key` comes with texts.

    >>> ItemOf("source")({"page_content": "Refunds take five days.", "metadata": {"source": "refunds.md"}})
    'refunds.md'
    """

    id_key: IdKey = None
    match_on: str = "ids"

    def __post_init__(self) -> None:
        """Refuse what cannot be followed."""
        if self.match_on not in ("ids", "texts", "spans"):
            raise ValueError(f'match_on must be "ids", "texts" or "spans", got {self.match_on!r}')
        if self.id_key is not None and not isinstance(self.id_key, str) and not callable(self.id_key):
            raise TypeError(f"id_key must be a key of the metadata, a function or None, got {self.id_key!r}")
        if self.id_key is not None and self.match_on == "texts":
            raise ValueError(
                f'texts are compared, so no id is looked up: leave out id_key={self.id_key!r}, or pass match_on="ids"'
            )

    def __call__(self, retrieved: object) -> Hashable:
        """Return the id, text or span of a retrieved document, which may come in a (document, score) pair.

        A UUID becomes a str, as in JSON; None stays None, a slot that never hits. Raises ValueError, which names
        `id_key`, for a document without the wanted id or with one that can be none, and for one without a start_index
        where spans are compared; TypeError for one without text and for what is no document.
        """
        if retrieved is None:
            return None
        if self.match_on == "spans" and isinstance(retrieved, (tuple, list)) and len(retrieved) == 3:
            return _plain_span(retrieved)
        document = _document(retrieved)
        if self.match_on != "ids" and not isinstance(document.page_content, str):
            raise TypeError(f"a document has no text: {retrieved!r:.200}")
        if self.match_on == "texts":
            return document.page_content  # type: ignore[no-any-return]
        if self.match_on == "spans":
            start = _start(document)
            return as_span((self._id(document), start, start + len(document.page_content)))
        return self._id(document)

    def _id(self, document: Any) -> Hashable:
        key = "source" if self.id_key is None and self.match_on == "spans" else self.id_key
        if callable(key):
            found = call("id_key", key, document)
        elif key is not None:
            found = _at(document.metadata, key)
        else:
            found = getattr(document, "id", None)
            if is_absent(found):
                found = document.metadata.get("id")
        if not _is_id(found):
            if key is None and document.page_content is found:  # a plain one
                raise ValueError(f"a retrieved item is {found!r:.60} ({type(found).__name__}), which is no id: {_IDS}")
            raise ValueError(self._advice(document, found, key))
        return _plain(found)

    def of_retrieved(self, retrieved: object) -> Any:
        """Return what was retrieved ready to be judged: a list of ids or texts, best first, or item -> score.

        What has no order or is no collection is given back, for the error of the core. Raises what a single document
        does, TypeError for an iterator, and ValueError where every item is None.
        """
        if isinstance(retrieved, Mapping):
            return with_ids({self(item): score for item, score in retrieved.items()})
        if isinstance(retrieved, (set, frozenset)) or not _are_items(retrieved, "retrieved"):
            return retrieved
        return with_ids(list(map(self, retrieved)))

    def of_relevant(self, relevant: object) -> Any:
        """Return relevant items ready to be judged: documents become their id, text or span, UUIDs a str.

        A span may also be a list [document, start, end], as JSON has it. Raises ValueError, where ids are compared, for
        what can be none, and TypeError for an iterator and, where spans are compared, for what is none.
        """
        if isinstance(relevant, Mapping):
            return {self._of_one_relevant(item): grade for item, grade in relevant.items()}
        return list(map(self._of_one_relevant, relevant)) if _are_items(relevant, "relevant") else relevant

    def _of_one_relevant(self, item: Any) -> Hashable:
        if is_document(item):
            return self(item)
        if self.match_on == "spans":
            return _plain_span(item)
        if self.match_on == "ids" and not _is_id(item):
            raise ValueError(f"a relevant item is {item!r:.60} ({type(item).__name__}), which is no id: {_IDS}")
        return _plain(item)

    def _advice(self, document: Any, found: object, key: IdKey) -> str:
        where = "its `id` or metadata['id']" if key is None else f"its metadata[{key!r}]"
        if callable(key):
            wrong = f"has no id: id_key={name_of(key)} returned {found!r:.60}"
        elif found is not None:
            wrong = f"has no id: {where} is {found!r:.60} ({type(found).__name__}), and {_IDS}"
        elif key is None:
            wrong = "has no `id` and no metadata['id']"
        else:
            wrong = f"has no metadata[{key!r}]"
        return (
            f"a document {wrong} ({_shown(document)}): "
            'pass as id_key= the metadata key or the function that gives its id, or compare texts by match_on="texts"'
        )


_SPEAKERS = ("human", "ai", "system", "tool", "function", "chat")  # the types of LangChain's messages
_WORDS = (("page_content", "metadata"), ("content", "meta"))  # of LangChain and of Haystack
_OPENINFERENCE = {"document.content": "page_content", "document.id": "id", "document.metadata": "metadata"}
_IDS = "ids are strings that are not blank, whole numbers, or something else with a hash"


def call(option: str, function: Callable[[Any], Any], argument: object) -> Any:
    """Return what the function returns; raises ValueError, which names the option, for what it raises."""
    try:
        return function(argument)
    except Exception as error:
        raise ValueError(f"{option}={name_of(function)} raised {error!r}") from error


def with_ids(retrieved: Any) -> Any:
    """Return what was retrieved; raises ValueError where that is items of which every one is None."""
    if retrieved and all(map(is_absent, retrieved)):
        raise ValueError(NO_IDS)
    return retrieved


def check_keys(relevant: object, retrieved: object) -> None:
    """Raise ValueError where JSON made strings of ids that are keys, of {7: 2}, and the other side has numbers."""
    for keyed, plain in ((relevant, retrieved), (retrieved, relevant)):
        if isinstance(keyed, Mapping) and isinstance(plain, Iterable) and not isinstance(plain, Mapping):
            digits = [key for key in keyed if isinstance(key, str) and key.removeprefix("-").isdecimal()]
            number = next((item for item in plain if isinstance(item, int)), None)
            if digits and number is not None:
                raise ValueError(
                    f"one side has the key {digits[0]!r}, a string, the other {number!r}, a number: JSON makes strings "
                    "of keys, so let ids be strings on both sides"
                )


def is_document(given: object) -> bool:
    """Tell whether this is a document or a (document, score) pair, and no plain id or text and no message of a chat."""
    return _is_document(given[0] if isinstance(given, (tuple, list)) and len(given) == 2 else given)


def _is_document(given: Any) -> bool:
    given = _loaded(given)
    if not isinstance(given, Mapping):
        return any(hasattr(given, text) and hasattr(given, metadata) for text, metadata in _WORDS)
    is_message = "content" in given and ("role" in given or given.get("type") in _SPEAKERS)
    return not is_message or "page_content" in given or "metadata" in given


def _are_items(given: object, side: str) -> TypeGuard[Iterable[Any]]:
    """Tell whether these are items, which can be read again; raises TypeError for an iterator and for a table."""
    if hasattr(given, "columns"):
        raise TypeError(f"{side} items are a {type(given).__name__}: pass the column that has them")
    if isinstance(given, Iterator):
        raise TypeError(
            f"{side} items are a {type(given).__name__}, which can be read only once, by one of several metrics: "
            "make a list of it"
        )
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes, bytearray))


def _document(given: Any) -> Any:
    """Return something with `id`, `metadata` and `page_content`; a plain id or text is all its own."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and _is_document(given[0]):
        given, score = given
        check_number("a document's score", score)
    if given is None or isinstance(given, (str, int, Integral, UUID)):
        return Document(given, {}, given)  # type: ignore[arg-type]  # an Integral has a hash
    if not _is_document(given):
        raise TypeError(
            f"{given!r:.80} ({type(given).__name__}) is no document, id or text: documents have page_content, metadata"
        )
    given = _loaded(given)
    if not isinstance(given, Mapping):
        return given if hasattr(given, "page_content") else Document(given.content, given.meta, given.id)
    if isinstance(inner := given.get("document"), Mapping):  # of a Phoenix query for documents
        given = {f"document.{key}": value for key, value in inner.items()}
    given = {_OPENINFERENCE.get(key, key): value for key, value in given.items()}
    metadata = given.get("metadata", given)  # a dict without metadata is all metadata
    return Document(given.get("page_content"), metadata or {}, given.get("id"))


def _at(metadata: Any, key: str) -> Any:
    """Return what stands under a key, or at the end of a path of keys; None where nothing does."""
    if key in metadata:
        return metadata[key]
    for part in key.split("."):
        metadata = metadata.get(part) if isinstance(metadata, Mapping) else None
    return metadata


def _start(document: Any) -> int:
    """Return at which character of its document a chunk begins; some vector stores make 120.0 of 120."""
    start = document.metadata.get("start_index", document.metadata.get("split_idx_start"))
    if isinstance(start, float) and start.is_integer():
        start = int(start)
    if isinstance(start, bool) or not isinstance(start, Integral):
        wrong = "has no metadata['start_index']" if start is None else f"has start_index={start!r:.60}"
    elif start < 0:
        wrong = f"has start_index={start}, as its splitter did not find the chunk in its document"
    else:
        return int(start)
    raise ValueError(
        f"a document {wrong} ({_shown(document)}): split by RecursiveCharacterTextSplitter(add_start_index=True) or "
        'the like and index again, or compare texts by match_on="texts"'
    )


def _plain_span(item: object) -> Span:
    span = as_span(item)
    return span._replace(document=_plain(span.document))


def _shown(document: Any) -> str:
    keys = ", ".join(map(repr, document.metadata)) or "nothing"
    return f"its metadata has {keys}; it begins {document.page_content!r:.60}"


def _loaded(given: Any) -> Any:
    """Undo `langchain_core.load.dumpd`."""
    is_dumped = isinstance(given, Mapping) and "lc" in given and isinstance(given.get("kwargs"), Mapping)
    return given["kwargs"] if is_dumped else given


def _is_id(found: object) -> bool:
    """Tell whether this can be an id: 1.0 and True, which equal 1, what is blank or absent, and a list cannot."""
    if isinstance(found, str):
        return bool(found.strip())
    if is_absent(found) or type(found).__name__ in ("bool", "bool_"):  # NumPy's too
        return False
    try:
        hash(found)
    except TypeError:
        return False
    return isinstance(found, Integral) or not isinstance(found, Number)


def _plain(item: Hashable) -> Hashable:
    return str(item) if isinstance(item, UUID) else item
