"""Run a retriever over queries: what it found, and what it raised."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from .items import Items, ranked_items
from .metrics import cutoff


class Run(dict[Hashable, list[Hashable]]):
    """Query id -> retrieved items, best first: a dict that also names, in `errors`, the queries whose retrieval failed.

    A query that failed has an empty list, since its user got nothing, and so counts as a miss.
    """

    def __init__(
        self,
        retrieved: Mapping[Hashable, list[Hashable]] | Iterable[tuple[Hashable, list[Hashable]]] = (),
        errors: Mapping[Hashable, Exception] | None = None,
    ) -> None:
        """Copy the lists' mapping."""
        super().__init__(retrieved)
        self.errors: dict[Hashable, Exception] = dict(errors or {})


def run_retriever(
    retriever: Callable[..., Items],
    queries: Mapping[Any, object],
    k: int | None = None,
    *,
    on_error: str = "record",
) -> Run:
    """Call a retriever once per query and return what it found, ready for `evaluate`.

    Args:
        retriever: called as `retriever(query, k)`, or as `retriever(query)` where k is None; returns the ids or texts
            that it retrieved, best first, or item -> score.
        queries: query id -> query.
        k: how many items to ask for, at least 1. None: as many as the retriever gives.
        on_error: "record" keeps the exception of a failed query in `run.errors` and goes on; "raise" stops there.

    Raises:
        TypeError, ValueError: an argument is something else.

    >>> run_retriever(lambda query, k: sorted(query.split())[:k], {"q1": "b a c"}, k=2)
    {'q1': ['a', 'b']}
    """
    check_on_error(on_error)
    k = cutoff(k)
    if not isinstance(queries, Mapping):
        raise TypeError(f"queries must be a mapping of query id -> query, got {type(queries).__name__}")
    run = Run()
    for query_id, query in queries.items():
        try:
            retrieved = retriever(query) if k is None else retriever(query, k)
            run[query_id] = list(ranked_items(retrieved))
        except Exception as error:
            if on_error == "raise":
                error.add_note(f"while retrieving for query {query_id!r}")
                raise
            run[query_id] = []
            run.errors[query_id] = error
    return run


def read_once(given: Mapping[Any, Items]) -> Mapping[Any, Items]:
    """Return the mapping with a list in the place of each iterator among its values."""
    if not any(issubclass(kind, Iterator) for kind in set(map(type, given.values()))):
        return given
    lists = {query_id: list(items) if isinstance(items, Iterator) else items for query_id, items in given.items()}
    return Run(lists, given.errors) if isinstance(given, Run) else lists


def check_on_error(on_error: str) -> None:
    """Refuse what is neither "record" nor "raise"."""
    if on_error not in ("record", "raise"):
        raise ValueError(f'on_error must be "record" or "raise", got {on_error!r}')
