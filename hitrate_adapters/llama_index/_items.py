"""What is compared: the ids and the texts of nodes, and which of the two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from hitrate_adapters.core.items import string_id
from hitrate_adapters.core.records import Matcher

MatchOn = Literal["auto", "ids", "texts"]
By = str | Callable[[BaseNode], str | int]
"""What a node's id is: "node_id", "ref_doc_id", "hash", "metadata:KEY", or a function of the node."""


def compared(match_on: MatchOn, match: Matcher | None, *, has_ids: bool = True) -> Literal["ids", "texts"]:
    """Return what "auto" stands for: texts where they alone are expected or where a matcher is to compare them."""
    if match_on != "auto":
        return match_on
    return "ids" if has_ids and match is None else "texts"


def check_by(by: By) -> By:
    """Return `by`, or raise ValueError where it tells no id."""
    is_key = isinstance(by, str) and by.startswith("metadata:") and by != "metadata:"
    if callable(by) or is_key or by in ("node_id", "ref_doc_id", "hash"):
        return by
    raise ValueError(f'by must be "node_id", "ref_doc_id", "hash", "metadata:KEY" or a function, got {by!r}')


def ids_of(nodes: Iterable[NodeWithScore], by: By) -> list[str]:
    """Return the ids of nodes as `by` has them; ValueError names `by` where a node has none."""
    return [_id_of(scored.node, by) for scored in nodes]


def _id_of(node: BaseNode, by: By) -> str:
    found: object
    if callable(by):
        found = by(node)
    elif by.startswith("metadata:"):
        found = node.metadata.get(by.removeprefix("metadata:"))
    else:
        found = getattr(node, by)
    node_id = string_id(found)
    if node_id is None:
        keys = ", ".join(map(repr, node.metadata)) or "nothing"
        raise ValueError(
            f"by={by!r} gives {found!r:.60} for the retrieved node {node.node_id!r}, whose metadata has {keys}: "
            "an id is a str or an int, so pass another `by`"
        )
    return node_id


def texts_of(nodes: Iterable[NodeWithScore]) -> list[str]:
    """Return the texts of nodes, without their metadata."""
    return [scored.node.get_content(metadata_mode=MetadataMode.NONE) for scored in nodes]


def string_ids(items: Any) -> Any:
    """Return ids as the strings that they are in LlamaIndex, with their grades; the judge says what else is wrong.

    Raises TypeError for a bare string, and ValueError for what is neither a str, an int nor None.
    """
    if isinstance(items, (str, bytes)):
        raise TypeError(f"ids are the string {items!r:.60}: pass a list, such as [{items!r:.60}]")
    if not isinstance(items, Iterable):
        return items
    strings = [_string(item) for item in items]
    if isinstance(items, Mapping):
        return dict(zip(strings, items.values(), strict=True))
    return set(strings) if isinstance(items, (set, frozenset)) else strings


def _string(item: object) -> str | None:
    string = string_id(item)
    if string is None and item is not None:  # None is the judge's: refused among what is expected, else a slot
        raise ValueError(f"an id is a str or an int, found {item!r:.60} ({type(item).__name__})")
    return string
