"""Hit rate of a LlamaIndex retriever over a dataset, before and after a reranker, without a key or a network.

python examples/llama_index_example.py
"""

from pathlib import Path

from llama_index.core import QueryBundle
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from retrieval import bm25, dense, fuse, load

from hitrate_adapters.llama_index import HitRateEvaluator

DATA = load(Path(__file__).parent / "handbook")
NODES = {passage: TextNode(id_=passage, text=text) for passage, text in DATA.corpus.items()}
WORDS = bm25(DATA.corpus)
HYBRID = fuse(WORDS, dense(DATA.corpus))


class BM25(BaseRetriever):
    """Finds ten passages by their words: here stands your `index.as_retriever()`."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        (found,) = WORDS([query_bundle.query_str], 10)
        return [NodeWithScore(node=NODES[passage], score=1 / rank) for rank, passage in enumerate(found, 1)]


class Fusion(BaseNodePostprocessor):
    """Reorders what was found, by words and meaning: here stands your reranker."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        (order,) = HYBRID([str(query_bundle)], len(NODES))
        return sorted(nodes, key=lambda node: order.index(node.node.node_id))


def main() -> None:
    """Print both stages' tables, the misses, and the rows of three queries."""
    dataset = {"queries": DATA.queries, "relevant_docs": DATA.qrels}
    stages: dict[str, list[BaseNodePostprocessor]] = {"BM25": [], "BM25, then the reranker": [Fusion()]}
    for name, postprocessors in stages.items():
        evaluator = HitRateEvaluator(retriever=BM25(), k=(1, 3, 10), node_postprocessors=postprocessors)
        result = evaluator.evaluate_dataset(dataset, show_progress=True)
        print(f"\n{name}\n{result}")
        print("missed at 3:", ", ".join(map(str, result.evaluation.misses(3))))
    for row in result.rows()[:3]:
        print({key: row[key] for key in ("query_id", "hit_rate@3", "first_hit_rank", "n_retrieved")})


if __name__ == "__main__":
    main()
