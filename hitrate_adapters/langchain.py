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

from ._documents import IdKey, ItemOf
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
            else `metadata["id"]`.
        match_on: "ids" gives a run of ids, "texts" one of the documents' texts, to be judged against gold texts.
        max_concurrency: how many queries the retriever's `batch` runs at once. None: its own default.
        show_progress: show a progress bar; needs tqdm.
        on_error: "record" keeps in `run.errors` what a query raised, also for a document without the wanted id, and
            goes on; "raise" stops there.

    Raises:
        TypeError, ValueError: an argument is wrong, or no document of any query has the wanted id or text.
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
    config: RunnableConfig = {} if max_concurrency is None else {"max_concurrency": max_concurrency}
    ids, size = list(queries), max(_BATCH, max_concurrency or 0)
    run, unreadable = Run(), None
    with _progress(len(ids), show_progress) as advance:
        for start in range(0, len(ids), size):
            some = ids[start : start + size]
            answers = retriever.batch([queries[query_id] for query_id in some], config, return_exceptions=True)
            for query_id, answer in zip(some, answers, strict=True):
                try:
                    run[query_id] = _items(answer, item_of)
                except Exception as error:
                    if on_error == "raise":
                        error.add_note(f"while retrieving for query {query_id!r}")
                        raise
                    run[query_id] = []
                    run.errors[query_id] = error
                    if error is not answer and unreadable is None:
                        unreadable = error
            if unreadable and not any(run.values()):  # a wrong id_key, which must not pass for a bad retriever
                unreadable.add_note(f"and of no other of the first {len(run)} queries was a document of use")
                raise unreadable
            advance(len(some))
    return run


def _items(answer: object, item_of: ItemOf) -> list[Hashable]:
    if isinstance(answer, Exception):
        raise answer
    if not isinstance(answer, (list, tuple)):
        raise TypeError(
            f"the retriever must return a list of documents, it returned {answer!r:.80}: of a chain, pass the part "
            'that retrieves, or chain | itemgetter("context")'
        )
    return [item_of(document) for document in answer]


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
