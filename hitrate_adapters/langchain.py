"""Hit Rate@K for LangChain: run a retriever over queries through its own `batch`.

>>> from langchain_core.documents import Document
>>> from langchain_core.runnables import RunnableLambda
>>> from hitrate_adapters import evaluate
>>> chunks = [Document("Refunds take five days.", metadata={"source": "refunds.md"})]
>>> run = run_retriever(RunnableLambda(lambda query: chunks), {"q1": "When is my money back?"}, id_key="source")
>>> run
{'q1': ['refunds.md']}
>>> evaluate({"q1": ["refunds.md"]}, run).hit_rate(5)
hit_rate@5 = 1.000 [0.207, 1.000] (n=1)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ._documents import IdKey, ItemOf, with_ids
from ._extras import extra
from .core.retrieval import Run, check_on_error

with extra("langchain", "langchain_core"):
    from langchain_core.runnables import Runnable, RunnableConfig

__all__ = ["run_retriever"]

_BATCH = 64  # queries in one call of `batch`: the step of the progress bar


def run_retriever(  # noqa: PLR0913 - options, by name only
    retriever: Runnable[Any, Any],
    queries: Mapping[Any, Any],
    *,
    id_key: IdKey = None,
    match_on: str = "ids",
    max_concurrency: int | None = None,
    show_progress: bool = False,
    on_error: str = "record",
) -> Run:
    """Run a LangChain retriever over queries and return what it found per query, best first, ready for `evaluate`.

    Args:
        retriever: a `BaseRetriever`, or any Runnable from a query to a list of documents.
        queries: query id -> query.
        id_key: where a document's id is: a key of its metadata, or a function of the document. None: `Document.id`,
            else `metadata["id"]`. UUIDs become strings.
        match_on: "ids" gives a run of ids, "texts" one of the documents' texts, to be judged against gold texts, and
            "spans" one of `Span`s, for `span_overlap`: of `metadata["source"]` or what `id_key` names, from
            `metadata["start_index"]`, which a text splitter notes by add_start_index=True, for the length of the text.
        max_concurrency: how many queries the retriever's `batch` runs at once. None: its own default.
        show_progress: show a progress bar; needs tqdm.
        on_error: "record" keeps in `run.errors` what a query raised, also for a document without the wanted id, and
            goes on; "raise" stops there.

    Raises:
        TypeError, ValueError: an argument is wrong, or documents were found and none has the wanted id or text (which
            is known after the first batch where every query of it found some).
        ImportError: tqdm is asked for and absent.
    """
    check_on_error(on_error)
    item_of = ItemOf(id_key, match_on)
    if not isinstance(retriever, Runnable):
        raise TypeError(
            f"the retriever must be a Runnable, got {type(retriever).__name__}: of a vector store pass "
            'store.as_retriever(search_kwargs={"k": 10}), of a function RunnableLambda(function)'
        )
    if not isinstance(queries, Mapping):
        raise TypeError(f"queries must be a mapping of query id -> query, got {type(queries).__name__}")
    _check_concurrency(max_concurrency)
    config: RunnableConfig = {} if max_concurrency is None else {"max_concurrency": max_concurrency}
    ids, size = list(queries), max(_BATCH, max_concurrency or 0)
    run, unreadable, any_read = Run(), list[Exception](), False
    with _progress(len(ids), show_progress) as advance:
        for start in range(0, len(ids), size):
            some = ids[start : start + size]
            try:
                answers = retriever.batch(
                    [queries[query_id] for query_id in some], config, return_exceptions=on_error == "record"
                )
            except Exception as error:
                error.add_note(f"while retrieving for {_named(some)}")
                raise
            for query_id, answer in zip(some, answers, strict=True):
                run[query_id], failure = _read(answer, item_of)
                any_read = any_read or bool(run[query_id])
                if failure is None:
                    continue
                if on_error == "raise":
                    failure.add_note(f"while retrieving for {_named([query_id])}")
                    raise failure
                run[query_id] = []
                run.errors[query_id] = failure
                if failure is not answer:
                    unreadable.append(failure)
            is_hopeless = len(unreadable) == len(run) or (unreadable and len(run) == len(ids))
            if is_hopeless and not any_read:  # a wrong id_key, which must not pass for a bad retriever
                unreadable[0].add_note(f"and no document of the first {len(run)} queries was of use")
                raise unreadable[0]
            advance(len(some))
    return run


def _read(answer: object, item_of: ItemOf) -> tuple[list[Hashable], Exception | None]:
    """Return the items of one query that can be read, and the first error."""
    if isinstance(answer, Exception):
        return [], answer
    if not isinstance(answer, (list, tuple)):
        return [], TypeError(
            f"the retriever must return a list of documents, it returned {answer!r:.80}: of a chain, pass the part "
            'that retrieves, or chain | itemgetter("context")'
        )
    items, errors = list[Hashable](), list[Exception]()
    for document in answer:
        try:
            items.append(item_of(document))
        except Exception as error:
            errors.append(error)
    if errors:
        return items, errors[0]
    try:
        return with_ids(items), None
    except ValueError as error:
        return [], error


def _named(query_ids: list[Any]) -> str:
    first, last = query_ids[0], query_ids[-1]
    return f"query {first!r}" if len(query_ids) == 1 else f"one of the queries {first!r} to {last!r}"


def _check_concurrency(given: object) -> None:
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(
            f"max_concurrency must be an int of at least 1, or None; got {given!r} ({type(given).__name__})"
        )
    if given < 1:
        raise ValueError(f"max_concurrency must be at least 1, or None for LangChain's own; got {given}")


@contextmanager
def _progress(total: int, show: bool) -> Iterator[Callable[[int], object]]:
    """Give what is called with the number of queries that were done."""
    if not show:
        yield lambda _done: None
        return
    try:
        from tqdm.auto import tqdm  # only where a bar is asked for
    except ModuleNotFoundError as error:
        raise ImportError("show_progress=True needs tqdm: pip install tqdm", name="tqdm") from error
    with tqdm(total=total, desc="retrieving", unit="query") as bar:
        yield bar.update
