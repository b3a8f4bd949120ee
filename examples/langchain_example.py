"""Hit rate of two LangChain retrievers over the handbook of this folder, by words and by meaning. Offline."""

from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from retrieval import bm25, dense, load

import hitrate_adapters as hr
from hitrate_adapters.langchain import run_retriever

DATA = load(Path(__file__).parent / "handbook")


class Handbook(BaseRetriever):
    """A retriever of LangChain's own kind; the topic of a passage is its source, and many passages share it."""

    search: Any
    k: int = 10

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002
        (found,) = self.search([query], self.k)
        return [
            Document(DATA.corpus[passage], id=passage, metadata={"source": passage.partition("-")[0]})
            for passage in found
        ]


if __name__ == "__main__":
    words, meaning = Handbook(search=bm25(DATA.corpus)), Handbook(search=dense(DATA.corpus))

    evaluations = {}
    for name, retriever in {"words": words, "meaning": meaning}.items():
        run = run_retriever(retriever, DATA.queries, max_concurrency=4, show_progress=True)
        evaluations[name] = hr.evaluate(DATA.qrels, run)
        print(f"{name}\n{evaluations[name]}\n")
    only_meaning = sorted({*evaluations["words"].misses(5)} - {*evaluations["meaning"].misses(5)}, key=str)
    print("found by meaning alone:", *(DATA.queries[str(query)] for query in only_meaning[:3]), sep="\n")

    topics = {query: {passage.partition("-")[0] for passage in gold} for query, gold in DATA.qrels.items()}
    by_topic = hr.evaluate(topics, run_retriever(words, DATA.queries, id_key="source"), unique=True)
    print(f"\nby words, the right topic among the first 3: {by_topic.hit_rate(3)!r}")
