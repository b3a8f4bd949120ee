"""What is compared: the ids, the texts or the spans of nodes, and which of the three."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Literal, cast

from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from hitrate_adapters.core import matching
from hitrate_adapters.core.items import string_id
from hitrate_adapters.core.records import Matcher
from hitrate_adapters.core.spans import Span, as_span

MatchOn = Literal["auto", "ids", "texts", "spans"]
Kind = Literal["ids", "texts", "spans"]
By = str | Callable[[BaseNode], str | int]
"""What a node's id is: "node_id", "ref_doc_id", "hash", "metadata:KEY", or a function of the node."""


class NoIdError(ValueError):
    """What is raised where `by` gives a retrieved node no id, or a node is no span of its document."""


def compared(match_on: MatchOn, match: Matcher | None, *, has_ids: bool = True) -> Kind:
    """Return what "auto" stands for: what the matcher compares; without one ids, or texts where they are expected."""
    if match_on == "auto" and match is None and not has_ids:
        return "texts"
    return cast("Kind", matching.compared(match_on, match))


def expected(match_on: MatchOn, match: Matcher | None, ids: Any, texts: Any) -> tuple[Kind, Any]:
    """Return what is compared, and what is expected of it; TypeError where that was not given."""
    if ids is None and texts is None:
        raise TypeError("neither expected_ids nor expected_texts were given")
    kind = compared(match_on, match, has_ids=bool(ids) or texts is None)
    relevant, other = (texts, ids) if kind == "texts" else (ids, texts)
    if relevant is None and other:
        raise TypeError(f"expected_{'texts' if kind == 'texts' else 'ids'} are needed to match on {kind}")
    return kind, () if relevant is None else relevant


def ids_or_spans(match_on: MatchOn, match: Matcher | None, items: Any) -> Any:
    """Return what came as `expected_ids`: where spans are compared `spans`, else `string_ids`."""
    return spans(items) if compared(match_on, match) == "spans" else string_ids(items)


def both_sides(  # noqa: PLR0913 - LlamaIndex' arguments, and the spans
    match_on: MatchOn,
    match: Matcher | None,
    *,
    expected_ids: Any,
    retrieved_ids: Any,
    expected_texts: Any,
    retrieved_texts: Any,
    retrieved_spans: Any = None,
) -> tuple[Kind, Any, Any]:
    """Return what is compared, what is expected of it and what was retrieved; TypeError where one was not given."""
    expected_ids = ids_or_spans(match_on, match, expected_ids)
    kind, relevant = expected(match_on, match, expected_ids, listed(expected_texts))
    retrieved = {"ids": retrieved_ids, "texts": retrieved_texts, "spans": retrieved_spans}[kind]
    if retrieved is None:
        by_whom = " (LlamaIndex' own evaluators give none: use HitRateEvaluator)" if kind == "spans" else ""
        raise TypeError(f"retrieved_{kind} are needed to match on {kind}{by_whom}: pass [] where nothing was retrieved")
    return kind, relevant, string_ids(retrieved) if kind == "ids" else retrieved


def by_query(results: Iterable[Any], query_ids: Iterable[Hashable]) -> Iterator[tuple[Hashable, Any]]:
    """Give each result with the id of its query; ValueError where they are not those of these queries."""
    ids, results, seen = list(query_ids), list(results), set[Hashable]()
    queries = query_ids if isinstance(query_ids, Mapping) else {}
    if len(ids) != len(results):
        raise ValueError(f"there are {len(results)} results and {len(ids)} query ids: one for each is needed")
    for query_id, result in zip(ids, results, strict=True):
        if query_id in seen:
            raise ValueError(f"the query id {query_id!r} is there twice")
        seen.add(query_id)
        if None is not result.query != queries.get(query_id, result.query):
            raise ValueError(
                f"the result in the place of query {query_id!r} is of {result.query!r:.80}, not of "
                f"{queries[query_id]!r:.80}: give query_ids in the order in which the queries were asked"
            )
        yield query_id, result


def check_by(by: By) -> By:
    """Return `by`, or raise ValueError where it tells no id."""
    is_key = isinstance(by, str) and by.startswith("metadata:") and by != "metadata:"
    if callable(by) or is_key or by in ("node_id", "ref_doc_id", "hash"):
        return by
    raise ValueError(f'by must be "node_id", "ref_doc_id", "hash", "metadata:KEY" or a function, got {by!r}')


def ids_of(nodes: Iterable[NodeWithScore | BaseNode], by: By) -> list[str]:
    """Return the ids of nodes as `by` has them; NoIdError names `by` where a node has none."""
    return [_id_of(_node(each), by) for each in nodes]


def _id_of(node: BaseNode, by: By) -> str:
    found: object
    if callable(by):
        try:
            found = by(node)
        except Exception as error:
            raise NoIdError(
                f"by={by!r} failed for the retrieved node {node.node_id!r}: {type(error).__name__}: {error}"
            ) from error
    elif by.startswith("metadata:"):
        found = node.metadata.get(by.removeprefix("metadata:"))
    else:
        found = getattr(node, by)
    node_id = string_id(found)
    if node_id is None or not node_id.strip():
        keys = ", ".join(map(repr, node.metadata)) or "nothing"
        raise NoIdError(
            f"by={by!r} gives {found!r:.60} for the retrieved node {node.node_id!r}, whose metadata has {keys}: "
            "an id is an int or a str that is not blank, so pass another `by`"
        )
    return node_id


def spans_of(nodes: Iterable[NodeWithScore | BaseNode], by: By) -> list[Span]:
    """Return the places of nodes in their documents, which `by` names; NoIdError says what a node lacks."""
    return [_span_of(_node(each), "ref_doc_id" if by == "node_id" else by) for each in nodes]


def _span_of(node: BaseNode, by: By) -> Span:
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    if start is None or end is None:
        wrong = "has no start_char_idx and end_char_idx, which node parsers note where they find its text in a document"
    elif node.parent_node is not None:
        wrong = "is placed in its parent node, not in its document, as HierarchicalNodeParser does it"
    else:
        return as_span((_id_of(node, by), start, end))
    raise NoIdError(f"the retrieved node {node.node_id!r} {wrong}: compare texts, by match=contains or overlap(share)")


def texts_of(nodes: Iterable[NodeWithScore | BaseNode]) -> list[str]:
    """Return the texts of nodes, without their metadata."""
    return [_node(each).get_content(metadata_mode=MetadataMode.NONE) for each in nodes]


def _node(found: NodeWithScore | BaseNode) -> BaseNode:
    return found.node if isinstance(found, NodeWithScore) else found


def listed(items: Any) -> Any:
    """Return items that can be read again and again: a generator, an array and the like become a list."""
    is_kept = isinstance(items, (str, bytes, Mapping, AbstractSet)) or not isinstance(items, Iterable)
    return items if is_kept else list(items)


def string_ids(items: Any) -> Any:
    """Return ids as the strings that they are in LlamaIndex, with their grades; the judge says what else is wrong.

    Raises TypeError for a bare string, and ValueError for what is neither a str, an int nor None.
    """
    if isinstance(items, (str, bytes)):
        raise TypeError(f"ids are the string {items!r:.60}: pass a list, such as [{items!r:.60}]")
    if not isinstance(items, Iterable):
        return items
    if isinstance(items, Mapping):
        return highest((_string(item), grade) for item, grade in items.items())
    strings = map(_string, items)
    return set(strings) if isinstance(items, AbstractSet) else list(strings)


def spans(items: Any) -> Any:
    """Return spans with their grades; also of lists, as JSON has them, and of documents whose ids are ints.

    Raises TypeError or ValueError for what is no span.
    """
    if isinstance(items, Mapping):
        return highest((_span(item), grade) for item, grade in items.items())
    is_collection = isinstance(items, Iterable) and not isinstance(items, (str, bytes))
    return list(map(_span, items)) if is_collection else items


def _span(item: object) -> Span:
    span = as_span(item)
    return span._replace(document=_string(span.document))


def shown(span: Span) -> str:
    """Return a span as a str, for results whose ids are strings."""
    return f"{span.document}[{span.start}:{span.end}]"


def ungraded(items: Any) -> Any:
    """Return expected items without their grades, of which those of grade 0 and below are not expected."""
    return [item for item, grade in items.items() if grade > 0] if isinstance(items, Mapping) else items


def highest(grades: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return item -> grade; of several grades of an item the highest."""
    best: dict[Any, Any] = {}
    for item, grade in grades:
        best[item] = max(best[item], grade) if item in best else grade
    return best


def _string(item: object) -> str | None:
    string = string_id(item)
    if string is None and item is not None:  # None is the judge's: refused among what is expected, else a slot
        raise ValueError(f"an id is a str or an int, found {item!r:.60} ({type(item).__name__})")
    return string
