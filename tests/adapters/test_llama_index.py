"""LlamaIndex: the conformance table through the evaluator's dataset loop, and this framework's own traps."""

import asyncio
import json
import math
import pickle
import re
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import pandas as pd
import pytest
from llama_index.core import QueryBundle, StorageContext, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import (
    BatchEvalRunner,
    CorrectnessEvaluator,
    FaithfulnessEvaluator,
    HitRate,
    MultiModalRetrieverEvaluator,
    RetrieverEvaluator,
    get_retrieval_results_df,
)
from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY, MRR
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
    TokenTextSplitter,
    get_leaf_nodes,
)
from llama_index.core.postprocessor import MetadataReplacementPostProcessor, SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever
from llama_index.core.schema import Document, ImageNode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from hitrate_adapters import Span, contains, same_text, span_overlap
from hitrate_adapters.llama_index import (
    HitRateAtK,
    HitRateEvaluator,
    HitRateResponseEvaluator,
    MAPAtK,
    MRRAtK,
    NDCGAtK,
    PrecisionAtK,
    RecallAtK,
    register_metrics,
    results_table,
)
from tests.adapters.cases import BAD_CONFIGURATIONS, CASES

# LlamaIndex' asyncio_run makes a loop that it never closes, except in a thread that has given up its own.
asyncio.set_event_loop(None)
# Its BatchEvalRunner calls its own deprecated function.
pytestmark = pytest.mark.filterwarnings(r"ignore:asyncio_module\(\) is deprecated:DeprecationWarning")


class Scripted(BaseRetriever):
    """Retrieves the nodes that a dict has for the query; an exception among its values is raised."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.asked = []
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle.query_str)
        nodes = self.nodes[query_bundle.query_str]
        if isinstance(nodes, Exception):
            raise nodes
        return [NodeWithScore(node=node, score=1 / rank) for rank, node in enumerate(nodes, 1)]


def node(node_id, text=None, **kwargs):
    return TextNode(id_=node_id, text=node_id if text is None else text, **kwargs)


def chunk(node_id, document):
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)}
    return node(node_id, relationships=source, metadata={"page": 7, "source": f"{document.lower()}.md"})


def retriever(**rankings):
    return Scripted({query: [node(node_id) for node_id in ranking] for query, ranking in rankings.items()})


def values(result):
    return {name: None if math.isnan(score) else score for name, score in result.metric_vals_dict.items()}


def drive(case):
    """Run the case through the dataset loop, on nodes of their own whose metadata holds the id of the case."""
    nodes = {
        query: [
            node(
                f"{query}/{rank}",
                item if case.match_on == "texts" else f"text {rank}",
                metadata={"id": item, "at": rank},
            )
            for rank, item in enumerate(items)
        ]
        for query, items in case.retrieved.items()
    }
    evaluator = HitRateEvaluator(
        retriever=Scripted(nodes),
        k=None,
        metrics=list(case.expect),
        by="metadata:id",
        match_on=case.match_on,
        match=case.match,
        unique=case.unique,
    )
    dataset = {"queries": {query: query for query in case.relevant}, "relevant_docs": case.relevant}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no relevant (id|text|item) was ever retrieved")
        result = evaluator.evaluate_dataset(dataset)
    assert not result.errors
    scores = dict(zip(case.relevant, map(values, result), strict=True))
    return {metric: {query_id: scores[query_id][metric] for query_id in case.relevant} for metric in case.expect}


def build(**configuration):
    return HitRateEvaluator(retriever=retriever(), **configuration)


# Configuration


@pytest.mark.parametrize("make", [HitRateAtK, HitRateResponseEvaluator])
@pytest.mark.parametrize(("configuration", "error", "word"), BAD_CONFIGURATIONS, ids=str)
def test_bad_configuration_of_the_others(make, configuration, error, word):
    with pytest.raises(error, match=word.replace(".", r"\.")):
        make(**configuration)


@pytest.mark.parametrize(
    ("configuration", "word"),
    [
        ({"by": "doc_id"}, "doc_id"),
        ({"by": "metadata:"}, "metadata:KEY"),
        ({"by": None}, "None"),
        ({"match_on": "id"}, "match_on"),
        ({"metrics": ["hitrate"]}, "hitrate"),
        ({"metrics": []}, "at least one metric is needed"),
        ({"k": ()}, "at least one"),
        ({"metrics": [HitRate(), HitRate(use_granular_hit_rate=True)]}, "two metrics are named 'hit_rate'"),
        ({"metrics": [HitRateAtK(k=5, match=contains)]}, "give these options to the evaluator"),
        ({"metrics": [HitRateAtK(k=5)], "match": contains}, "give these options to the evaluator"),
        ({"metrics": [HitRateAtK(k=2, unique=True)]}, "'unique': True.*the evaluator has.*'unique': False"),
        ({"metrics": [MRRAtK(k=2, match_on="texts")]}, "'match_on': 'texts'.*the evaluator has"),
    ],
    ids=str,
)
def test_bad_configuration_of_the_evaluator(configuration, word):
    with pytest.raises(ValueError, match=word):
        build(**configuration)


@pytest.mark.parametrize("make", [HitRateAtK, HitRateResponseEvaluator, build])
@pytest.mark.parametrize("unique", ["no", 1, None], ids=str)
def test_unique_is_true_or_false(make, unique):
    with pytest.raises(TypeError, match="unique must be True or False"):
        make(k=1, unique=unique)


def test_rules_are_checked_beside_llama_indexs_own_metrics():
    with pytest.raises(TypeError, match="match must be a callable"):
        build(metrics=MRR(), match="contains")


@pytest.mark.parametrize("metrics", [5, [5], [HitRateAtK]], ids=str)
def test_metrics_that_are_none(metrics):
    with pytest.raises(TypeError, match="metric"):
        build(metrics=metrics)


def test_a_generator_of_k_and_a_theta_go_to_every_metric_that_takes_them():
    evaluator = build(k=(k for k in (1, 2)), metrics=["hit_rate", "mrr"], theta=0.5)
    evaluator.retriever.nodes["q"] = [node("x"), node("a")]
    assert evaluator.evaluate("q", ["a", "b"]).metric_vals_dict == {
        "hit_rate@1>=0.5": 0.0,
        "hit_rate@2>=0.5": 1.0,
        "mrr@1": 0.0,
        "mrr@2": 0.5,
    }


@pytest.mark.parametrize("make", [HitRateAtK, HitRateResponseEvaluator, build])
def test_unknown_keywords_are_refused(make):
    with pytest.raises((TypeError, ValueError), match="K"):
        make(K=5)


def test_theta_belongs_to_hit_rate():
    with pytest.raises(ValueError, match="theta"):
        RecallAtK(k=5, theta=0.5)


# Metrics in LlamaIndex' own evaluators


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_metrics_give_the_same_in_llama_indexs_own_evaluator(case):
    """It knows node ids only, and its retrievers drop repeated ids, so repeats of ids are left out."""
    evaluator = HitRateEvaluator.from_metric_names(
        list(case.expect), retriever=retriever(), match_on=case.match_on, match=case.match, unique=case.unique
    )
    on_texts = case.match_on == "texts"
    for query, items in case.retrieved.items():
        if not on_texts and len(set(items)) < len(items):
            continue
        nodes = [node(f"n{rank}" if on_texts else item, item, metadata={"at": rank}) for rank, item in enumerate(items)]
        stock = RetrieverEvaluator(metrics=evaluator.metrics, retriever=Scripted({query: nodes}))
        expected = {"expected_ids": [], "expected_texts": case.relevant[query]}
        result = stock.evaluate(query, **(expected if on_texts else {"expected_ids": case.relevant[query]}))
        assert values(result) == {
            metric: None if (value := by_query[query]) is None else pytest.approx(value, abs=1e-12)
            for metric, by_query in case.expect.items()
        }


def test_several_k_in_one_evaluator():
    """https://github.com/run-llama/llama_index/issues/11030."""
    metrics = [HitRateAtK(k=1), HitRateAtK(k=3), HitRateAtK(), MRR()]
    result = RetrieverEvaluator(metrics=metrics, retriever=retriever(q=["x", "y", "a"])).evaluate("q", ["a"])
    assert result.metric_vals_dict == {"hit_rate@1": 0.0, "hit_rate@3": 1.0, "hit_rate": 1.0, "mrr": 1 / 3}


def test_metric_names():
    assert HitRateAtK(k=5, theta=0.5).metric_name == "hit_rate@5>=0.5"
    assert HitRateAtK(k=5, match=contains, unique=True).metric_name == "hit_rate@5[contains, unique]"
    assert HitRateAtK(k=5, match_on="ids").metric_name == "hit_rate@5[ids]"
    assert HitRateAtK(k=5, name="hits").metric_name == "hits"
    assert [cls().metric_name for cls in (RecallAtK, PrecisionAtK, MRRAtK, MAPAtK, NDCGAtK)] == [
        "recall",
        "precision",
        "mrr",
        "map",
        "ndcg",
    ]


def test_empty_retrieval_is_a_miss():
    """https://github.com/run-llama/llama_index/issues/13926."""
    assert HitRateAtK(k=5).compute(expected_ids=["a"], retrieved_ids=[]).score == 0.0
    with pytest.raises(ValueError, match="must be provided"):  # LlamaIndex' own
        HitRate().compute(expected_ids=["a"], retrieved_ids=[])


def test_metadata_say_what_the_score_rests_on():
    """https://github.com/run-llama/llama_index/issues/9527."""
    result = MRRAtK(k=5).compute(expected_ids=["a", "b"], retrieved_ids=["x", "y", "a"])
    assert result.score == 1 / 3
    assert result.metadata == {
        "k": 5,
        "match_on": "ids",
        "first_hit_rank": 3,
        "n_relevant": 2,
        "n_retrieved": 3,
        "reason": "first relevant item at rank 3; 1 of 2 relevant in the top 5",
    }


@pytest.mark.parametrize("nothing", [{"expected_ids": []}, {"expected_ids": [], "expected_texts": []}])
def test_nothing_expected_is_not_scored(nothing):
    result = HitRateAtK(k=1).compute(retrieved_ids=["a"], retrieved_texts=["a"], **nothing)
    assert math.isnan(result.score)
    assert result.metadata["reason"] == "cannot be scored: the query has no relevant items"


@pytest.mark.parametrize(
    ("items", "error", "word"),
    [
        ({"expected_ids": "abc", "retrieved_ids": ["b"]}, TypeError, "'abc'"),
        ({"expected_ids": ["a"], "retrieved_ids": "abc"}, TypeError, "'abc'"),
        ({"expected_texts": "abc", "retrieved_texts": ["b"]}, TypeError, "'abc'"),
        ({"expected_ids": ["a"]}, TypeError, "retrieved_ids"),
        ({"retrieved_ids": ["a"]}, TypeError, "neither expected_ids nor expected_texts were given"),
        ({"expected_ids": ["a"], "retrieved_ids": {"a"}}, TypeError, "no order"),
        ({"expected_ids": [None], "retrieved_ids": [None]}, ValueError, "None"),
        ({"expected_ids": [float("nan")], "retrieved_ids": ["a"]}, ValueError, "nan"),
        ({"expected_ids": [["a"]], "retrieved_ids": ["a"]}, ValueError, "list"),
        ({"expected_ids": [True], "retrieved_ids": ["True"]}, ValueError, "True"),
        ({"expected_ids": {None: 1}, "retrieved_ids": ["None"]}, ValueError, "None"),
        ({"expected_ids": {"a": float("inf")}, "retrieved_ids": ["a"]}, ValueError, "finite"),
    ],
    ids=str,
)
def test_bad_items_are_refused(items, error, word):
    with pytest.raises(error, match=word):
        HitRateAtK(k=1).compute(**items)


def test_ids_are_strings():
    """https://github.com/run-llama/llama_index/issues/10186: Document(doc_id=0) becomes "0"."""
    assert HitRateAtK(k=1).compute(expected_ids=[0], retrieved_ids=["0"]).score == 1.0
    assert HitRateAtK(k=1).compute(expected_ids=["a"], retrieved_ids=[None]).score == 0.0


@pytest.mark.parametrize(
    ("metric", "items", "word"),
    [
        (HitRateAtK(match=contains), {"expected_ids": ["a"], "retrieved_texts": ["a"]}, "expected_texts are needed"),
        (HitRateAtK(match_on="texts"), {"expected_ids": ["a"], "retrieved_texts": ["a"]}, "expected_texts are needed"),
        (HitRateAtK(match_on="ids"), {"expected_texts": ["a"], "retrieved_ids": ["a"]}, "expected_ids are needed"),
    ],
    ids=["match", "texts", "ids"],
)
def test_what_is_compared_must_be_expected(metric, items, word):
    with pytest.raises(TypeError, match=word):
        metric.compute(**items)
    assert math.isnan(metric.compute(expected_ids=[], retrieved_ids=["a"], retrieved_texts=["a"]).score)


@pytest.mark.parametrize("match", [None, contains], ids=str)
def test_generators_are_read_once(match):
    items = {"expected_ids": "a", "expected_texts": "t", "retrieved_ids": "a", "retrieved_texts": "t"}
    generators = {side: iter([item]) for side, item in items.items()}
    assert HitRateAtK(k=1, match=match).compute(**generators).score == 1.0


def test_match_compares_texts_unless_told_to_compare_ids():
    ids = {"expected_ids": ["a document"], "retrieved_ids": ["a document 1"]}
    result = HitRateAtK(match=contains).compute(**ids, expected_texts=["a red fox"], retrieved_texts=["a blue whale"])
    assert (result.score, result.metadata["match_on"]) == (0.0, "texts")
    assert HitRateAtK(match=contains, match_on="ids").compute(**ids).score == 1.0


def test_graded_gold():
    result = NDCGAtK().compute(expected_ids={"a": 3, "b": 1, "c": 0}, retrieved_ids=["b", "a"])
    assert result.score == pytest.approx(0.7967075809905066)
    assert result.metadata["n_relevant"] == 2


def test_metrics_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        HitRateAtK(k=1).k = 0


# The registry


@pytest.fixture
def registry():
    before = dict(METRIC_REGISTRY)
    yield METRIC_REGISTRY
    METRIC_REGISTRY.clear()
    METRIC_REGISTRY.update(before)


def test_registered_names_work_in_llama_indexs_own_evaluator(registry):
    register_metrics(k=(1, 3))
    register_metrics(k=(1, 3))
    names = ["hit_rate@1", "hit_rate@3", "ndcg@3", "mrr"]
    evaluator = RetrieverEvaluator.from_metric_names(names, retriever=retriever(q=["x", "a"]))
    assert evaluator.evaluate("q", ["a"]).metric_vals_dict == {
        "hit_rate@1": 0.0,
        "hit_rate@3": 1.0,
        "ndcg@3": pytest.approx(0.6309297535714575),
        "mrr": 0.5,
    }
    assert registry["mrr"] is MRR
    assert issubclass(registry["hit_rate@1"], HitRateAtK)


def test_a_theta_can_be_registered(registry):
    register_metrics(k=None, metrics="hit_rate@2>=0.5")
    assert registry["hit_rate@2>=0.5"]().compute(expected_ids=["a", "b", "c"], retrieved_ids=["a"]).score == 0.0


def test_llama_indexs_names_stay_its_own(registry):
    before = dict(registry)
    with pytest.raises(ValueError, match="other metrics named hit_rate, recall, precision, mrr, ndcg: give another k"):
        register_metrics(k=(None, 1))
    assert registry == before


def test_a_factory_in_the_registry_is_another_metric(registry):
    registry["hit_rate@1"] = partial(MRR)
    with pytest.raises(ValueError, match="other metrics named hit_rate@1"):
        register_metrics(k=1, metrics="hit_rate")


def test_registered_metrics_can_be_pickled(registry):
    register_metrics(k=None, metrics="hit_rate@2>=0.5")
    metric = pickle.loads(pickle.dumps(registry["hit_rate@2>=0.5"](unique=True)))  # noqa: S301
    assert metric == HitRateAtK(k=2, theta=0.5, unique=True)


def test_importing_registers_nothing():
    program = (
        "import hitrate_adapters.llama_index\n"
        "from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY\n"
        "print(*METRIC_REGISTRY)"
    )
    names = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "@" not in names


# HitRateEvaluator, query by query


def test_an_evaluator_is_a_retriever_evaluator():
    evaluator = build(k=(1, 2), metrics=("hit_rate", "mrr@10", MRR(), RecallAtK(k=2)))
    evaluator.retriever.nodes["q"] = [node("x"), node("a")]
    result = evaluator.evaluate("q", expected_ids=["a"])
    assert isinstance(evaluator, RetrieverEvaluator)
    assert result == asyncio.run(evaluator.aevaluate("q", ["a"]))
    assert result.metric_vals_dict == {"hit_rate@1": 0.0, "hit_rate@2": 1.0, "mrr@10": 0.5, "mrr": 0.5, "recall@2": 1.0}
    assert (result.retrieved_ids, result.expected_ids) == (["x", "a"], ["a"])


def test_hit_rate_at_1_5_and_10_is_the_default():
    assert [metric.metric_name for metric in build().metrics] == ["hit_rate@1", "hit_rate@5", "hit_rate@10"]


def test_from_metric_names_needs_no_registry():
    evaluator = HitRateEvaluator.from_metric_names(
        ["hit_rate", "mrr", "hit_rate@1", "ap"], retriever=retriever(q=["x", "a"])
    )
    names = {"hit_rate": 1.0, "mrr": 0.5, "hit_rate@1": 0.0, "ap": 0.5}
    assert evaluator.evaluate("q", ["a"]).metric_vals_dict == names
    evaluator = HitRateEvaluator.from_metric_names(["hit_rate"], retriever=retriever(q=[]), k=(1, 2))
    assert evaluator.evaluate("q", ["a"]).metric_vals_dict == {"hit_rate@1": 0.0, "hit_rate@2": 0.0}


CHUNKS = [chunk("c1", "A"), chunk("c2", "A"), chunk("c3", "B")]


@pytest.mark.parametrize(
    ("by", "gold", "score"),
    [
        ("node_id", "c3", 0.0),
        ("ref_doc_id", "A", 1.0),
        ("ref_doc_id", "B", 0.0),
        ("hash", CHUNKS[0].hash, 1.0),
        ("metadata:page", 7, 1.0),
        ("metadata:source", "b.md", 0.0),
        (lambda node: node.node_id[-1], "2", 1.0),
        (lambda node: int(node.node_id[-1]), "3", 0.0),
    ],
    ids=range(8),
)
def test_by_says_what_a_nodes_id_is(by, gold, score):
    """https://github.com/run-llama/llama_index/issues/16361."""
    evaluator = HitRateEvaluator(retriever=Scripted({"q": CHUNKS}), k=2, by=by)
    assert evaluator.evaluate("q", [gold]).metric_vals_dict == {"hit_rate@2": score}


def test_unique_ranks_documents_rather_than_chunks():
    evaluator = HitRateEvaluator(retriever=Scripted({"q": CHUNKS}), k=2, by="ref_doc_id", unique=True)
    assert evaluator.evaluate("q", ["B"]).metric_vals_dict == {"hit_rate@2": 1.0}


@pytest.mark.parametrize("by", ["ref_doc_id", "metadata:page", lambda node: None, lambda node: 1.5], ids=range(4))
def test_a_node_without_the_wanted_id_is_an_error_that_names_by(by):
    """https://github.com/run-llama/llama_index/issues/9209: ref_doc_id of a node made by hand is None."""
    evaluator = HitRateEvaluator(retriever=retriever(q=["a"]), by=by)
    with pytest.raises(ValueError, match=r"by=.* gives (None|1\.5) for the retrieved node 'a'"):
        evaluator.evaluate("q", expected_ids=["None"])


def test_expected_texts():
    """https://github.com/run-llama/llama_index/issues/17704: a graph retriever makes its nodes on the fly."""
    evaluator = HitRateEvaluator(retriever=Scripted({"q": [TextNode(text="The bridge opens at nine.")]}), k=1)
    result = evaluator.evaluate("q", expected_ids=[], expected_texts=["The bridge opens at nine."])
    assert result.metric_vals_dict == {"hit_rate@1": 1.0}
    result = evaluator.evaluate("q", expected_ids=["old-id"], expected_texts=["The bridge opens at nine."])
    assert result.metric_vals_dict == {"hit_rate@1": 0.0}


def test_texts_without_ids():
    evaluator = HitRateEvaluator(retriever=Scripted({"q": [node("n", "The bridge opens at nine.")]}), k=1)
    result = evaluator.evaluate("q", expected_ids=None, expected_texts=(text for text in ["The bridge opens at nine."]))
    assert result.metric_vals_dict == {"hit_rate@1": 1.0}
    assert (result.expected_ids, result.expected_texts) == ([], ["The bridge opens at nine."])
    with pytest.raises(TypeError, match="neither expected_ids nor expected_texts"):
        evaluator.evaluate("q", expected_ids=None)
    on_texts = HitRateEvaluator(retriever=evaluator.retriever, match=contains)
    with pytest.raises(TypeError, match="expected_texts are needed to match on texts"):
        on_texts.evaluate("q", expected_ids=["n"])


@pytest.mark.parametrize("rules", [{"match": contains}, {"match_on": "texts"}], ids=str)
def test_by_is_not_asked_where_texts_are_compared(rules):
    evaluator = HitRateEvaluator(retriever=Scripted({"q": [node("n", "a text")]}), k=1, by="ref_doc_id", **rules)
    assert evaluator.evaluate("q", [], expected_texts=["a text"]).metric_vals_dict == {"hit_rate@1": 1.0}
    result = evaluator.evaluate_dataset(dataset(q=["a text"]))
    assert (result.evaluation.hit_rate(1), result.results[0].retrieved_ids, result.errors) == (1.0, ["n"], {})
    beside = HitRateEvaluator(retriever=evaluator.retriever, metrics=["hit_rate", MRR()], by="ref_doc_id", **rules)
    with pytest.raises(ValueError, match="by='ref_doc_id'"):  # LlamaIndex' MRR compares ids
        beside.evaluate("q", ["n"], expected_texts=["a text"])


class Last(BaseNodePostprocessor):
    """A reranker that puts the last node first and keeps two."""

    def _postprocess_nodes(self, nodes, query_bundle=None):  # noqa: ARG002
        return [nodes[-1], nodes[0]]


def test_before_and_after_a_reranker():
    """https://github.com/run-llama/llama_index/issues/10238."""
    found = retriever(q=["x", "y", "a"])
    before = HitRateEvaluator(retriever=found, k=2)
    after = HitRateEvaluator(retriever=found, k=2, node_postprocessors=[Last()])
    assert before.evaluate("q", ["a"]).metric_vals_dict == {"hit_rate@2": 0.0}
    assert after.evaluate("q", ["a"]).metric_vals_dict == {"hit_rate@2": 1.0}


def test_a_postprocessor_may_return_a_generator():
    class Lazy(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):  # noqa: ARG002
            return (node for node in nodes)

    evaluator = HitRateEvaluator(retriever=retriever(q=["a"]), k=1, node_postprocessors=[Lazy(), Lazy()])
    result = evaluator.evaluate("q", ["a"])
    assert (result.metric_vals_dict, result.retrieved_texts) == ({"hit_rate@1": 1.0}, ["a"])


def test_a_postprocessor_that_leaves_nothing_is_a_miss():
    cutoff = SimilarityPostprocessor(similarity_cutoff=2.0)
    evaluator = HitRateEvaluator(retriever=retriever(q=["a"]), k=1, node_postprocessors=[cutoff])
    assert evaluator.evaluate("q", ["a"]).metric_vals_dict == {"hit_rate@1": 0.0}


def test_images():
    """https://github.com/run-llama/llama_index/pull/22685: images count as texts in LlamaIndex' text mode."""
    mixed = Scripted({"q": [ImageNode(id_="img1", text="a map"), node("t1"), ImageNode(id_="img2")]})
    stock = MultiModalRetrieverEvaluator(metrics=[HitRateAtK(k=1), HitRateAtK(k=2)], retriever=mixed)
    ours = HitRateEvaluator(retriever=mixed, k=(1, 2))
    assert stock.evaluate("q", ["t1"]).metric_vals_dict == {"hit_rate@1": 0.0, "hit_rate@2": 1.0}
    texts = ours.evaluate("q", ["t1"])
    assert texts.retrieved_ids == ["t1"]
    assert texts.metric_vals_dict == {"hit_rate@1": 1.0, "hit_rate@2": 1.0}
    for evaluator in (stock, ours):
        images = evaluator.evaluate("q", ["img2"], mode="image")
        assert images.retrieved_ids == ["img1", "img2"]
        assert images.metric_vals_dict == {"hit_rate@1": 0.0, "hit_rate@2": 1.0}
    result = ours.evaluate_dataset({**dataset(q=["img2"]), "mode": "image"})
    assert result.evaluation.hit_rate(2) == 1.0
    pages = HitRateEvaluator(retriever=Scripted({"q": [ImageNode(id_="page1")]}), k=1)
    assert pages.evaluate("q", ["page1"]).metric_vals_dict == {"hit_rate@1": 1.0}

    class TextsOnly(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):  # noqa: ARG002
            return [node for node in nodes if not isinstance(node.node, ImageNode)]

    texts = MultiModalRetrieverEvaluator(metrics=stock.metrics, retriever=mixed, node_postprocessors=[TextsOnly()])
    assert texts.evaluate("q", ["t1"]).metric_vals_dict == {"hit_rate@1": 1.0, "hit_rate@2": 1.0}


# HitRateEvaluator, over a dataset


def dataset(**relevant):
    return {"queries": {query: query for query in relevant}, "relevant_docs": relevant}


DATASET = {
    "queries": {"1": "good", "2": "empty", "3": "broken", "4": "no gold"},
    "relevant_docs": {"1": ["a"], "2": ["b"], "3": ["c"], "4": []},
    "corpus": {"a": "text of a", "b": "text of b", "c": "text of c"},
    "mode": "text",
}


@pytest.fixture
def ranked():
    found = retriever(**{"good": ["x", "a"], "empty": [], "no gold": ["z"]})
    found.nodes["broken"] = RuntimeError("the store is down")
    return found


@pytest.mark.parametrize("form", ["object", "dict", "path", "str"])
def test_forms_of_a_dataset(form, ranked, tmp_path):
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(DATASET), encoding="utf-8")
    given = {"object": SimpleNamespace(**DATASET), "dict": DATASET, "path": path, "str": str(path)}[form]
    result = HitRateEvaluator(retriever=ranked, k=(1, 2)).evaluate_dataset(given)
    assert [each.query for each in result] == ["good", "empty", "broken", "no gold"]
    assert [values(each) for each in result.results] == [
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0},
        {"hit_rate@1": 0.0, "hit_rate@2": 0.0},
        {"hit_rate@1": 0.0, "hit_rate@2": 0.0},
        {"hit_rate@1": None, "hit_rate@2": None},
    ]
    assert result.evaluation.hit_rate(2) == pytest.approx(1 / 3)
    assert result.evaluation.unscored == ("4",)
    assert {query_id: str(error) for query_id, error in result.errors.items()} == {"3": "the store is down"}
    assert result.evaluation.errors == result.errors


def test_result_as_rows_and_table(ranked):
    result = HitRateEvaluator(retriever=ranked, k=(1, 2)).evaluate_dataset(DATASET)
    rows = result.rows()
    assert rows[0] == {
        "query_id": "1",
        "query": "good",
        "hit_rate@1": 0.0,
        "hit_rate@2": 1.0,
        "first_hit_rank": 2,
        "n_found": 1,
        "n_relevant": 1,
        "n_retrieved": 2,
        "error": None,
    }
    assert [row["query_id"] for row in rows] == ["1", "2", "3", "4"]
    assert pd.DataFrame(rows)["hit_rate@2"].mean() == pytest.approx(1 / 3)
    assert result.to_pandas().equals(pd.DataFrame(rows))
    assert len(result) == 4


def test_result_as_means_and_table(ranked):
    evaluator = HitRateEvaluator(retriever=ranked, k=(1, 2), metrics=["hit_rate", "mrr@10", MRR()])
    result = evaluator.evaluate_dataset(DATASET)
    assert result.means == {
        "hit_rate@1": 0.0,
        "hit_rate@2": pytest.approx(1 / 3),
        "mrr@10": pytest.approx(1 / 6),
        "mrr": 0.5,
    }
    assert (result.n_scored, result.n_unscored) == (3, 1)
    assert result.means["hit_rate@2"].n == 3
    assert str(result) == (
        "hit_rate@1  0.000  [0.000, 0.561]\n"
        "hit_rate@2  0.333  [0.061, 0.792]\n"
        "mrr@10      0.167  [0.018, 0.690]\n"
        "mrr         0.500  (n=1)\n"
        "3 of 4 queries scored; not:\n"
        "  '4': no relevant items\n"
        "1 whose retrieval failed, a miss each:\n"
        "  '3': RuntimeError: the store is down"
    )


@pytest.mark.filterwarnings("ignore:no relevant id was ever retrieved")
def test_a_long_table_is_cut():
    given = dataset(q=["a"], **{f"u{number}": [] for number in range(7)})
    evaluator = HitRateEvaluator(retriever=retriever(**{query: ["z"] for query in given["queries"]}), k=1)
    lines = str(evaluator.evaluate_dataset(given)).splitlines()
    assert lines[1:3] == ["1 of 8 queries scored; not:", "  'u0': no relevant items"]
    assert lines[6:8] == ["  'u4': no relevant items", "  ..."]
    assert lines[8].startswith("warning: no relevant id was ever retrieved")


def test_result_goes_into_llama_indexs_own_table(ranked):
    result = HitRateEvaluator.from_metric_names(["hit_rate", "mrr"], retriever=ranked).evaluate_dataset(DATASET)
    table = get_retrieval_results_df(["bm25"], [result])
    assert table.to_dict("records") == [
        {"retrievers": "bm25", "hit_rate": pytest.approx(1 / 3), "mrr": pytest.approx(1 / 6)}
    ]


def test_on_error_raise_stops_with_that_error(ranked):
    evaluator = HitRateEvaluator(retriever=ranked)
    with pytest.raises(RuntimeError, match="the store is down") as caught:
        evaluator.evaluate_dataset(DATASET, workers=1, on_error="raise")
    assert caught.value.__notes__ == ["while retrieving for query '3'"]
    assert ranked.asked == ["good", "empty", "broken"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"on_error": "ignore"}, ValueError),
        ({"workers": 0}, ValueError),
        ({"workers": True}, TypeError),
        ({"workers": "2"}, TypeError),
        ({"workers": 2.0}, TypeError),
        ({"workers": math.nan}, TypeError),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(ranked, arguments, error):
    with pytest.raises(error, match=r"on_error|workers"):
        HitRateEvaluator(retriever=ranked).evaluate_dataset(DATASET, **arguments)
    assert ranked.asked == []


def test_a_failing_metric_of_llama_index_loses_nothing_else(ranked):
    """Its MRR raises where nothing was retrieved."""
    evaluator = HitRateEvaluator(retriever=ranked, k=2, metrics=["hit_rate", MRR()])
    result = evaluator.evaluate_dataset(DATASET)
    assert [values(each) for each in result][:2] == [
        {"hit_rate@2": 1.0, "mrr": 0.5},
        {"hit_rate@2": 0.0, "mrr": None},
    ]
    assert "must be provided" in result.results[1].metric_dict["mrr"].metadata["reason"]
    assert sorted(result.errors) == ["2", "3", "4"]
    assert sorted(result.evaluation.errors) == ["3"]
    assert str(result.errors["3"]) == "the store is down"
    with pytest.raises(ValueError, match="must be provided"):
        evaluator.evaluate_dataset({"queries": {"2": "empty"}, "relevant_docs": {"2": ["b"]}}, on_error="raise")


class Calls:
    """A matcher by equality that counts its calls, and raises on some texts."""

    def __init__(self, *bad):
        self.bad = bad
        self.n = 0

    def __call__(self, found, wanted):
        self.n += 1
        if wanted in self.bad:
            raise KeyError(wanted)
        return found == wanted


def judged(match, *, on_error="record", relevant=None):
    found = Scripted({query: [node(f"{query}-1", query)] for query in ("good", "bad", "none", "miss")})
    evaluator = HitRateEvaluator(retriever=found, k=(1, 2, 3), metrics=["hit_rate", "mrr"], match=match)
    relevant = relevant or {"good": ["good"], "bad": ["odd"], "none": [], "miss": ["x"]}
    return found, lambda: evaluator.evaluate_dataset(dataset(**relevant), on_error=on_error)


def test_a_matcher_that_raises_on_one_query_loses_that_query_only():
    _, run = judged(Calls("odd"))
    result = run()
    assert list(result.errors) == ["bad"]
    assert isinstance(result.errors["bad"], KeyError)
    assert result.errors["bad"].__notes__ == ["while judging query 'bad'"]
    assert [values(each)["hit_rate@1"] for each in result] == [1.0, None, None, 0.0]
    assert result.results[1].metric_dict["mrr@2"].metadata["reason"] == "KeyError: 'odd'"
    assert result.results[1].retrieved_texts == ["bad"]
    assert (result.n_scored, result.n_unscored, result.evaluation.unscored) == (2, 2, ("none", "bad"))
    assert result.means["hit_rate@1"] == result.evaluation.hit_rate(1) == 0.5
    assert "2 of 4 queries scored; not:\n  'none': no relevant items\n  'bad': KeyError: 'odd'" in str(result)
    row = result.rows()[1]
    assert (row["query_id"], row["hit_rate@1"], row["n_relevant"]) == ("bad", None, None)
    assert row["error"] is result.errors["bad"]


def test_a_matcher_that_raises_now_and_then_loses_what_it_raised_on():
    calls = []

    def flaky(found, wanted):
        calls.append(wanted)
        if len(calls) in (2, 5, 7):
            raise TimeoutError
        return found == wanted

    found = Scripted({f"q{number}": [node("n", f"q{number}")] for number in range(4)})
    given = dataset(**{query: [query] for query in found.nodes})
    result = HitRateEvaluator(retriever=found, k=1, match=flaky).evaluate_dataset(given)
    assert calls == ["q0", "q1", "q0", "q1", "q2", "q3"]
    assert list(result.errors) == ["q2"]
    assert (result.evaluation.hit_rate(1), result.n_scored) == (1.0, 3)
    assert result.evaluation.judge.match is flaky


def test_a_matcher_that_raises_can_be_made_to_stop_the_run():
    found, run = judged(Calls("odd"), on_error="raise")
    with pytest.raises(KeyError, match="odd"):
        run()
    assert len(found.asked) == 4


def test_a_matcher_that_raises_on_every_query_is_raised():
    _, run = judged(Calls("odd", "x"), relevant={"bad": ["odd"], "none": [], "miss": ["x"]})
    with pytest.raises(KeyError, match="odd"):
        run()


def test_each_query_is_judged_once():
    match = Calls()
    _, run = judged(match)
    result = run()
    assert match.n == 3
    for name, mean in result.means.items():
        assert mean == pytest.approx(
            sum(each.metric_vals_dict[name] for each in result if values(each)[name] is not None) / 3
        )


@pytest.mark.parametrize("by", ["ref_doc_id", "metadata:nope", lambda node: node.metadata["nope"]], ids=range(3))
def test_a_by_that_fails_everywhere_is_raised(by):
    found = Scripted({"q1": [node("a")], "q2": [node("b")], "q3": [], "q4": RuntimeError("down")})
    evaluator = HitRateEvaluator(retriever=found, by=by)
    with pytest.raises(ValueError, match=r"by=.*(gives None|failed) for the retrieved node 'a'") as caught:
        evaluator.evaluate_dataset(dataset(q1=["a"], q2=["b"], q3=["c"], q4=["d"]))
    assert caught.value.__notes__ == [
        "while retrieving for query 'q1'",
        "and no node of any other query has an id",
    ]


def test_a_retriever_that_fails_everywhere_gives_a_warning():
    evaluator = HitRateEvaluator(retriever=Scripted({"q": RuntimeError("the store is down")}), k=1)
    with pytest.warns(UserWarning, match="the retrieval of every query failed"):
        result = evaluator.evaluate_dataset(dataset(q=["a"]))
    assert "warning: the retrieval of every query failed" in str(result)


def test_a_node_without_an_id_costs_its_query_only():
    evaluator = HitRateEvaluator(retriever=Scripted({"q1": CHUNKS, "q2": [node("hand-made")]}), k=1, by="ref_doc_id")
    result = evaluator.evaluate_dataset(dataset(q1=["A"], q2=["hand-made"]))
    assert result.evaluation.hit_rate(1) == 0.5
    assert "by='ref_doc_id'" in str(result.errors["q2"])


def test_document_ids_against_node_ids_give_a_warning():
    """https://github.com/run-llama/llama_index/issues/16361."""
    evaluator = HitRateEvaluator(retriever=Scripted({"q": CHUNKS}), k=1)
    with pytest.warns(UserWarning, match="same id space"):
        assert evaluator.evaluate_dataset(dataset(q=["A"])).evaluation.hit_rate(1) == 0.0


def test_graded_dataset():
    evaluator = HitRateEvaluator(retriever=retriever(q=["b", "a"]), k=None, metrics="ndcg")
    result = evaluator.evaluate_dataset(dataset(q={"a": 3, "b": 1}))
    assert result.results[0].metric_vals_dict == {"ndcg": pytest.approx(0.7967075809905066)}
    assert result.evaluation.ndcg() == pytest.approx(0.7967075809905066)
    assert result.results[0].expected_ids == ["a", "b"]


def test_texts_are_looked_up_in_the_corpus():
    """After a new split the node ids of the dataset are gone, and its texts are not."""
    again = Scripted({"good": [node("new-1", "something"), node("new-2", "The text of A.")]})
    evaluator = HitRateEvaluator(retriever=again, k=(1, 2), match=contains)
    result = evaluator.evaluate_dataset({**DATASET, "queries": {"1": "good"}})
    assert result.results[0].metric_vals_dict == {"hit_rate@1": 0.0, "hit_rate@2": 1.0}
    assert (result.results[0].expected_ids, result.results[0].expected_texts) == (["a"], ["text of a"])
    assert result.evaluation.hit_rate(2) == 1.0


def test_texts_without_a_corpus():
    evaluator = HitRateEvaluator(
        retriever=Scripted({"q": [node("n", "A text.")]}), k=1, match_on="texts", match=same_text
    )
    result = evaluator.evaluate_dataset(dataset(q=["a  TEXT."]))
    assert result.results[0].metric_vals_dict == {"hit_rate@1": 1.0}
    assert result.results[0].expected_texts == ["a  TEXT."]


def test_ids_of_one_text_have_the_highest_of_their_grades():
    found = Scripted({"q": [node("n", "same"), node("m", "other")]})
    evaluator = HitRateEvaluator(retriever=found, metrics="ndcg@1", match_on="texts")
    corpus = {"a": "same", "b": "same", "c": "other"}
    result = evaluator.evaluate_dataset({**dataset(q={"a": 3, "b": 1, "c": 2}), "corpus": corpus})
    assert result.means == {"ndcg@1": 1.0}


def test_int_ids_are_looked_up_as_strings_too():
    evaluator = HitRateEvaluator(retriever=Scripted({"q": [node("n", "text of 7")]}), k=1, match_on="texts")
    for corpus in ({"7": "text of 7"}, {7: "text of 7"}):
        assert evaluator.evaluate_dataset({**dataset(q=[7]), "corpus": corpus}).means == {"hit_rate@1": 1.0}


def test_generators_in_a_dataset_are_read_once():
    evaluator = HitRateEvaluator(retriever=retriever(q=["a"]), k=1)
    result = evaluator.evaluate_dataset(dataset(q=(item for item in ["a"])))
    assert (result.means, result.results[0].expected_ids) == ({"hit_rate@1": 1.0}, ["a"])


def test_graded_texts():
    evaluator = HitRateEvaluator(
        retriever=Scripted({"q": [node("n", "text of b")]}), metrics="ndcg@1", match_on="texts"
    )
    result = evaluator.evaluate_dataset({**dataset(q={"a": 2, "b": 1}), "corpus": DATASET["corpus"]})
    assert result.results[0].metric_vals_dict == {"ndcg@1": 0.5}


@pytest.mark.parametrize(
    ("bad", "error", "word"),
    [
        ({"queries": {"1": "q"}}, TypeError, "relevant_docs"),
        ([("1", "q")], TypeError, "queries"),
        (dataset(), ValueError, "none of 0 queries"),
        (dataset(q=[]), ValueError, "none of 1 queries"),
        ({"queries": {1: "q"}, "relevant_docs": {"1": ["a"]}}, ValueError, "share no query id"),
        ({"queries": {"1": None}, "relevant_docs": {"1": ["a"]}}, TypeError, "query '1': a query must be a str"),
        (dataset(q="abc"), TypeError, "query 'q': .*'abc'"),
        (dataset(q=[None]), ValueError, "query 'q': .*None"),
        (dataset(q=[1.5]), ValueError, "query 'q': .*1.5"),
        (dataset(q={"a": float("nan")}), ValueError, "query 'q': .*NaN"),
        ({**dataset(q=["a"]), "mode": "video"}, ValueError, "video"),
    ],
    ids=str,
)
def test_a_bad_dataset_is_refused_before_anything_is_retrieved(bad, error, word):
    evaluator = build()
    with pytest.raises(error, match=word):
        evaluator.evaluate_dataset(bad)
    assert evaluator.retriever.asked == []


def test_an_id_without_text_in_the_corpus_is_refused():
    for corpus in (DATASET["corpus"], {}):
        with pytest.raises(TypeError, match=r"query 'q': the corpus has no text for 'd'"):
            build(match_on="texts").evaluate_dataset({**dataset(q=["d"]), "corpus": corpus})


def test_a_corpus_that_is_no_mapping_is_refused():
    with pytest.raises(TypeError, match="corpus must be a mapping of id -> text, got list"):
        build(match_on="texts").evaluate_dataset({**dataset(q=["d"]), "corpus": ["d"]})


def test_a_file_that_is_no_json_is_named(tmp_path):
    path = tmp_path / "dataset.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"dataset\.json is not a JSON file"):
        build().evaluate_dataset(path)
    with pytest.raises(FileNotFoundError):
        build().evaluate_dataset(tmp_path / "absent.json")


def test_a_query_without_an_entry_in_relevant_docs_is_not_scored():
    evaluator = HitRateEvaluator(retriever=retriever(q=["a"], r=["b"]), k=1)
    result = evaluator.evaluate_dataset({"queries": {"q": "q", "r": "r"}, "relevant_docs": {"q": ["a"], "s": ["c"]}})
    assert result.evaluation.hit_rate(1) == 1.0
    assert result.evaluation.unscored == ("r",)
    assert list(result.evaluation) == ["q"]


def test_inside_a_running_loop(ranked):
    evaluator = HitRateEvaluator(retriever=ranked, k=2)

    async def notebook():
        return evaluator.evaluate_dataset(DATASET), await evaluator.aevaluate_dataset(DATASET)

    result, async_result = asyncio.run(notebook())
    assert result.evaluation.hit_rate(2) == async_result.evaluation.hit_rate(2) == pytest.approx(1 / 3)


def test_progress_and_workers(capsys):
    running, most = 0, 0

    class Slow(BaseRetriever):
        def _retrieve(self, query_bundle):
            raise NotImplementedError

        async def _aretrieve(self, query_bundle):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.02 * (5 - int(query_bundle.query_str)))
            running -= 1
            return [NodeWithScore(node=node(query_bundle.query_str))]

    given = dataset(**{str(number): [str(number)] for number in range(5)})
    result = HitRateEvaluator(retriever=Slow(), k=1).evaluate_dataset(given, workers=3, show_progress=True)
    assert most == 3
    assert [each.query for each in result] == ["0", "1", "2", "3", "4"]
    assert result.evaluation.hit_rate(1) == 1.0
    assert "5/5" in capsys.readouterr().err


@pytest.mark.parametrize(("is_in_thread", "expected"), [(False, 1), (True, 3)], ids=["as it is", "in threads"])
def test_a_synchronous_retriever_takes_one_query_at_a_time_unless_in_threads(is_in_thread, expected):
    lock, running, most = threading.Lock(), 0, 0

    class Slow(BaseRetriever):
        def _retrieve(self, query_bundle):
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.05)
            with lock:
                running -= 1
            return [NodeWithScore(node=node(query_bundle.query_str))]

    class Threaded(Slow):
        async def _aretrieve(self, query_bundle):
            return await asyncio.to_thread(self._retrieve, query_bundle)

    found = (Threaded if is_in_thread else Slow)()
    given = dataset(**{str(number): [str(number)] for number in range(6)})
    result = HitRateEvaluator(retriever=found, k=1).evaluate_dataset(given, workers=3)
    assert most == expected
    assert result.means == {"hit_rate@1": 1.0}


# Retrievers that change nodes


FACTS = (
    "Alder is north. Brent is south. Curlew is east. Dunlin is west. Elk lives in the wood. Finch lives in the barn."
)


def test_auto_merging_retriever():
    """Its merged node has an id of its own; the gold sentence is in its text, and is one of its children."""
    splitters = {
        name: TokenTextSplitter(chunk_size=size, chunk_overlap=0) for name, size in [("big", 64), ("small", 16)]
    }
    parser = HierarchicalNodeParser.from_defaults(node_parser_ids=list(splitters), node_parser_map=splitters)
    nodes = parser.get_nodes_from_documents([Document(text=FACTS, id_="facts")])
    leaves = get_leaf_nodes(nodes)
    gold = next(leaf for leaf in leaves if "Curlew" in leaf.text)
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    base = Scripted({"q": leaves})
    merging = AutoMergingRetriever(base, StorageContext.from_defaults(docstore=store))
    children = {node.node_id: {child.node_id for child in node.child_nodes or ()} for node in nodes}

    def score(retriever, **options):
        evaluator = HitRateEvaluator(retriever=retriever, k=3, **options)
        result = evaluator.evaluate("q", [gold.node_id], expected_texts=[gold.text])
        return result.metric_vals_dict["hit_rate@3"]

    assert score(base) == 1.0
    assert score(merging) == 0.0
    assert score(merging, match=contains) == 1.0
    assert (
        score(merging, match_on="ids", match=lambda found, gold: gold == found or gold in children.get(found, ()))
        == 1.0
    )


def test_sentence_window():
    """The text is replaced by a window of sentences, in the node itself; the id stays."""
    parser = SentenceWindowNodeParser.from_defaults(window_size=1, sentence_splitter=lambda text: text.split(". "))
    nodes = parser.get_nodes_from_documents([Document(text=FACTS)])
    gold, text = nodes[2], nodes[2].text
    window = MetadataReplacementPostProcessor(target_metadata_key="window")
    for rules, score in [({}, 1.0), ({"match_on": "texts"}, 0.0), ({"match": contains}, 1.0)]:
        evaluator = HitRateEvaluator(retriever=Scripted({"q": [gold]}), node_postprocessors=[window], k=1, **rules)
        result = evaluator.evaluate("q", [gold.node_id], expected_texts=[text])
        assert result.metric_vals_dict == {"hit_rate@1": score}
        assert result.retrieved_texts == ["Brent is south Curlew is east Dunlin is west"]


# Beside faithfulness and correctness


class Judge(CustomLLM):
    """A stand-in that finds every answer faithful and gives 4 out of 5."""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, *_, **__):
        return CompletionResponse(text="4.0\nYES: it is in the context.")

    def stream_complete(self, *_, **__):
        raise NotImplementedError


class Engine(BaseQueryEngine):
    """Answers from what a retriever finds."""

    def __init__(self, found):
        self.found = found
        super().__init__(callback_manager=None)

    def _query(self, query_bundle):
        return Response(response="An answer.", source_nodes=self.found.retrieve(query_bundle))

    async def _aquery(self, query_bundle):
        return self._query(query_bundle)

    def _get_prompt_modules(self):
        return {}


def test_one_table_with_faithfulness_and_correctness():
    """https://github.com/run-llama/llama_index/issues/10445."""
    engine = Engine(retriever(q1=["x", "a"], q2=["b"], q3=["z"]))
    runner = BatchEvalRunner(
        {
            "hit_rate@1": HitRateResponseEvaluator(k=1),
            "mrr": HitRateResponseEvaluator(metric="mrr"),
            "faithfulness": FaithfulnessEvaluator(llm=Judge()),
            "correctness": CorrectnessEvaluator(llm=Judge()),
        }
    )
    gold = [["a"], ["b"], []]
    results = runner.evaluate_queries(
        engine,
        queries=["q1", "q2", "q3"],
        **{
            "hit_rate@1": {"expected_ids": gold},
            "mrr": {"expected_ids": gold},
            "correctness": {"reference": ["r"] * 3},
        },
    )
    assert results_table(results) == [
        {"evaluator": "hit_rate@1", "mean": 0.5, "n_scored": 2, "n_unscored": 1},
        {"evaluator": "mrr", "mean": 0.75, "n_scored": 2, "n_unscored": 1},
        {"evaluator": "faithfulness", "mean": 1.0, "n_scored": 3, "n_unscored": 0},
        {"evaluator": "correctness", "mean": 4.0, "n_scored": 3, "n_unscored": 0},
    ]
    scores = [(each.score, each.passing, each.invalid_result) for each in results["hit_rate@1"]]
    assert scores == [(0.0, False, False), (1.0, True, False), (None, None, True)]
    assert results["mrr"][0].feedback == "first relevant item at rank 2; 1 of 1 relevant in all 2 retrieved"
    assert results["mrr"][2].invalid_reason == "cannot be scored: the query has no relevant items"


def test_the_flat_form_of_the_runner_goes_to_every_evaluator():
    runner = BatchEvalRunner(
        {
            "hit": HitRateResponseEvaluator(k=1),
            "mrr": HitRateResponseEvaluator(metric="mrr"),
            "faithfulness": FaithfulnessEvaluator(llm=Judge()),
            "correctness": CorrectnessEvaluator(llm=Judge()),
        }
    )
    results = runner.evaluate_queries(Engine(retriever(q=["x", "a"])), queries=["q"], expected_ids=[["a"]])
    assert {name: column[0].score for name, column in results.items()} == {
        "hit": 0.0,
        "mrr": 0.5,
        "faithfulness": 1.0,
        "correctness": 4.0,
    }


def test_texts_in_the_runner():
    runner = BatchEvalRunner({"hit": HitRateResponseEvaluator(k=1, match=contains)})
    results = runner.evaluate_response_strs(
        queries=["q", "q"],
        response_strs=["r", "r"],
        contexts_list=[["Refunds take five days."], []],
        expected_texts=[["Refunds take five days. Cards only."], ["x"]],
    )
    assert [each.score for each in results["hit"]] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("options", "expected", "word"),
    [
        ({}, {}, "neither expected_ids nor expected_texts were given"),
        ({"match": contains}, {"expected_ids": ["a"]}, "expected_texts are needed to match on texts"),
        ({"by": lambda node: 1 / 0}, {"expected_ids": ["a"]}, "ZeroDivisionError"),
        ({}, {"expected_ids": "abc"}, "'abc'"),
        ({}, {"expected_ids": [None]}, "None"),
        ({}, {"expected_ids": 7}, "'int' object is not iterable"),
        ({}, {"expected_texts": "abc"}, "'abc'"),
        ({"by": "ref_doc_id"}, {"expected_ids": ["a"]}, "by='ref_doc_id'"),
        ({"match": same_text}, {"expected_texts": [3]}, "TypeError: .*3"),
        ({"match": lambda one, other: 1 / 0}, {"expected_texts": ["a"]}, "ZeroDivisionError"),
    ],
    ids=str,
)
def test_bad_data_never_raise(options, expected, word):
    evaluator = HitRateResponseEvaluator(k=1, **options)
    response = Response(response="r", source_nodes=[NodeWithScore(node=node("a"))])
    result = evaluator.evaluate_response("q", response, **expected)
    assert (result.score, result.passing, result.invalid_result) == (None, None, True)
    assert re.search(word, result.invalid_reason)


@pytest.mark.parametrize(
    ("response", "score"),
    [
        (Response("r", source_nodes=[node("a")]), 1.0),  # a node without a score
        (Response("r", source_nodes=[None]), None),
        (Response("r", source_nodes=["a"]), None),
        (SimpleNamespace(response="r", source_nodes=5), None),
        (5, None),
        (None, None),
    ],
    ids=range(6),
)
def test_odd_responses_lose_no_batch(response, score):
    runner = BatchEvalRunner({"ids": HitRateResponseEvaluator(k=1), "texts": HitRateResponseEvaluator(match=contains)})
    good = Response("r", source_nodes=[NodeWithScore(node=node("a"))])
    results = runner.evaluate_responses(
        queries=["q", 5],
        responses=[good, response],
        ids={"expected_ids": [["a"], ["a"]]},
        texts={"expected_texts": [["a"], ["a"]]},
    )
    for column in results.values():
        assert [each.score for each in column] == [1.0, score]
        assert column[1].invalid_result is (score is None)
        assert column[1].query == "5"


def test_odd_strings_lose_no_batch():
    runner = BatchEvalRunner({"hit": HitRateResponseEvaluator(k=1, match=contains)})
    results = runner.evaluate_response_strs(
        queries=[5, None], response_strs=[5, None], contexts_list=[["a"], 5], expected_texts=[["a"], ["a"]]
    )
    assert [(each.query, each.response, each.score) for each in results["hit"]] == [("5", "5", 1.0), (None, None, None)]


def test_by_is_not_asked_where_the_response_is_matched_on_texts():
    response = Response("r", source_nodes=[NodeWithScore(node=node("n", "a text"))])
    for rules in ({"match": contains}, {}):
        evaluator = HitRateResponseEvaluator(k=1, by="ref_doc_id", **rules)
        assert evaluator.evaluate_response("q", response, expected_texts=(text for text in ["a text"])).score == 1.0


@pytest.mark.parametrize("response", [None, "a str", SimpleNamespace(source_nodes=None)])
def test_a_response_without_nodes_is_invalid(response):
    result = HitRateResponseEvaluator(k=1).evaluate_response("q", response, expected_ids=["a"])
    assert (result.score, result.invalid_result) == (None, True)
    assert "retrieved_ids are needed" in result.invalid_reason


def test_contexts_alone_have_no_ids():
    result = HitRateResponseEvaluator(k=1).evaluate("q", "r", ["a"], expected_ids=["a"])
    assert "retrieved_ids are needed" in result.invalid_reason


@pytest.mark.parametrize(("contexts", "score"), [([None, "a"], 1.0), ([3], 0.0), ("abc", None)], ids=str)
def test_contexts_that_are_no_texts(contexts, score):
    result = HitRateResponseEvaluator(k=2).evaluate("q", "r", contexts, expected_texts=["a"])
    assert result.score == score


def test_no_source_nodes_is_a_miss():
    result = HitRateResponseEvaluator(k=1).evaluate_response("q", Response("r"), expected_ids=["a"])
    assert (result.score, result.feedback) == (0.0, "nothing was retrieved")


def test_results_table_without_a_score():
    result = HitRateResponseEvaluator(k=1).evaluate("q")
    assert results_table({"hit": [result], "none": []}) == [
        {"evaluator": "hit", "mean": None, "n_scored": 0, "n_unscored": 1},
        {"evaluator": "none", "mean": None, "n_scored": 0, "n_unscored": 0},
    ]


# Spans

GUIDE = " ".join(
    f"On day {day} refunds take {day} days." if day % 3 else f"Dogs travel free on the line {day}."
    for day in range(1, 31)
)


class ByLetters(BaseEmbedding):
    """Embeds a text by how often it has each pair of letters, so that an index retrieves by likeness."""

    def _get_text_embedding(self, text):
        counts = [0.0] * 101
        for pair in pairwise(text):
            counts[(ord(pair[0]) * 31 + ord(pair[1])) % 101] += 1
        return counts

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


def sentences(size):
    """Return LlamaIndex' own splitter, with a tokenizer of sentences that needs no data of NLTK."""
    return SentenceSplitter(
        chunk_size=size, chunk_overlap=0, chunking_tokenizer_fn=lambda text: re.split(r"(?<=[.] )", text)
    )


@pytest.fixture
def index_of(monkeypatch):
    """Make an index, which looks for LangChain: of the oldest packages that may be installed and fail."""
    monkeypatch.setitem(sys.modules, "llama_index.core.bridge.langchain", None)

    def make(splitter, **metadata):
        guide = Document(text=GUIDE, id_="guide", metadata=metadata)
        return VectorStoreIndex.from_documents([guide], embed_model=ByLetters(), transformations=[splitter])

    return make


def place(text, document="guide"):
    return Span(document, GUIDE.index(text), GUIDE.index(text) + len(text))


@pytest.mark.parametrize("size", [12, 40, 90, 2000])
def test_gold_spans_survive_every_size_of_chunk(size, index_of):
    evaluator = HitRateEvaluator(
        retriever=index_of(sentences(size)).as_retriever(similarity_top_k=3),
        k=(1, 3),
        metrics=("hit_rate", "recall"),
        match=span_overlap(0.5),
    )
    question = "On day 14 refunds take 14 days."
    dataset = {"queries": {"q": question}, "relevant_docs": {"q": [place("refunds take 14 days")]}}
    result = evaluator.evaluate_dataset(dataset)
    assert result.evaluation.hit_rate(3) == 1.0
    for _, found, _ in result.evaluation.matches("q"):
        assert "refunds take 14 days" in GUIDE[found.start : found.end]
    (row,) = result
    assert row.expected_ids == [f"guide[{GUIDE.index('refunds take 14')}:{GUIDE.index('refunds take 14') + 20}]"]
    assert [GUIDE[span.start : span.end] for span in result.evaluation.run["q"]] == row.retrieved_texts
    assert row.metric_dict["hit_rate@3"].metadata["match_on"] == "spans"


def test_the_spans_of_one_query(index_of):
    evaluator = HitRateEvaluator(
        retriever=index_of(sentences(12)).as_retriever(similarity_top_k=5), k=5, match_on="spans"
    )
    everything = HitRateEvaluator(retriever=index_of(sentences(2000)).as_retriever(), k=5, match_on="spans")
    whole = [Span("guide", 0, len(GUIDE))]
    assert values(evaluator.evaluate("Dogs travel free", expected_ids=whole)) == {"hit_rate@5": 0.0}  # no equal span
    assert values(everything.evaluate("Dogs travel free", expected_ids=whole)) == {"hit_rate@5": 1.0}


def test_a_dataset_in_json_has_lists_for_spans(tmp_path, index_of):
    path = tmp_path / "golden.json"
    relevant = {"q1": [list(place("refunds take 14 days"))], "q2": []}
    path.write_text(
        json.dumps({"queries": {"q1": "refunds take 14 days", "q2": "?"}, "relevant_docs": relevant, "corpus": {}})
    )
    evaluator = HitRateEvaluator(retriever=index_of(sentences(40)).as_retriever(), k=2, match=span_overlap())
    result = evaluator.evaluate_dataset(path)
    assert result.means["hit_rate@2"] == 1.0
    assert result.evaluation.unscored == ("q2",)


@pytest.mark.parametrize(
    ("by", "document"),
    [
        ("node_id", "guide"),
        ("ref_doc_id", "guide"),
        ("metadata:page", "7"),
        (lambda node: node.metadata["page"], "7"),
        ("metadata:page", 7),
    ],
    ids=["default", "ref_doc_id", "metadata", "function", "int"],
)
def test_by_names_the_document_of_a_span(by, document, index_of):
    retriever = index_of(TokenTextSplitter(chunk_size=60, chunk_overlap=0), page=7).as_retriever()
    evaluator = HitRateEvaluator(retriever=retriever, k=2, by=by, match=span_overlap())
    gold = {place("refunds take 14 days", document): 2}
    assert values(evaluator.evaluate("refunds take 14 days", expected_ids=gold)) == {"hit_rate@2": 1.0}


def test_a_node_without_offsets_is_advice():
    lost = HitRateEvaluator(retriever=Scripted({"q": [chunk("c1", "guide")]}), k=1, match=span_overlap())
    with pytest.raises(ValueError, match=r"node 'c1' has no start_char_idx and end_char_idx.*: compare texts"):
        lost.evaluate("q", expected_ids=[Span("guide", 0, 4)])
    dataset = {"queries": {"q": "q"}, "relevant_docs": {"q": [Span("guide", 0, 4)]}}
    with pytest.raises(ValueError, match="has no start_char_idx") as raised:
        lost.evaluate_dataset(dataset)
    assert raised.value.__notes__[-1] == "and no node of any other query has a span"


def test_a_node_of_no_document_is_no_span():
    lost = HitRateEvaluator(
        retriever=retriever_of(node("n", start_char_idx=0, end_char_idx=1)), k=1, match=span_overlap()
    )
    with pytest.raises(ValueError, match="by='ref_doc_id' gives None for the retrieved node 'n'"):
        lost.evaluate("q", expected_ids=[Span("guide", 0, 4)])


def retriever_of(*nodes):
    return Scripted({"q": list(nodes)})


def test_what_is_placed_in_a_parent_node_is_not_placed_in_the_document():
    splitters = {name: TokenTextSplitter(chunk_size=size, chunk_overlap=0) for name, size in (("l", 90), ("s", 40))}
    parser = HierarchicalNodeParser.from_defaults(node_parser_ids=["l", "s"], node_parser_map=splitters)
    nodes = parser.get_nodes_from_documents([Document(text=GUIDE, id_="guide")])
    leaf = get_leaf_nodes(nodes)[-1]
    assert GUIDE[leaf.start_char_idx : leaf.end_char_idx] != leaf.text  # or else they need no refusal any more
    evaluator = HitRateEvaluator(retriever=retriever_of(leaf), k=1, match=span_overlap())
    with pytest.raises(ValueError, match="is placed in its parent node, not in its document"):
        evaluator.evaluate("q", expected_ids=[Span("guide", 0, 4)])
    top = HitRateEvaluator(retriever=retriever_of(nodes[0]), k=1, match=span_overlap())
    assert values(top.evaluate("q", expected_ids=[Span("guide", 0, 4)])) == {"hit_rate@1": 1.0}


def test_ids_are_no_spans():
    evaluator = HitRateEvaluator(retriever=retriever_of(), k=1, match=span_overlap())
    with pytest.raises(TypeError, match=r"spans are compared, found 'd2' \(str\)"):
        evaluator.evaluate("q", expected_ids=["d2"])
    with pytest.raises(TypeError, match=r"query 'q1': spans are compared, found 'd2' \(str\)"):
        evaluator.evaluate_dataset({"queries": {"q1": "q"}, "relevant_docs": {"q1": ["d2"]}})


def test_a_metric_of_llama_indexs_has_no_score_for_spans(index_of):
    evaluator = HitRateEvaluator(
        retriever=index_of(sentences(40)).as_retriever(), k=2, metrics=["hit_rate", MRR()], match=span_overlap()
    )
    dataset = {"queries": {"q": "refunds take 14 days"}, "relevant_docs": {"q": [place("refunds take 14 days")]}}
    result = evaluator.evaluate_dataset(dataset)
    assert [values(row) for row in result] == [{"hit_rate@2": 1.0, "mrr": None}]
    assert result.errors.keys() == {"q"}


def test_llama_indexs_own_evaluator_hands_over_no_spans():
    evaluator = RetrieverEvaluator(metrics=[HitRateAtK(k=1, match=span_overlap())], retriever=retriever_of(node("n")))
    with pytest.raises(TypeError, match=r"retrieved_spans are needed .*use HitRateEvaluator"):
        evaluator.evaluate("q", expected_ids=[Span("guide", 0, 4)])


def test_the_spans_of_a_response(index_of):
    engine = index_of(sentences(40)).as_query_engine(llm=Judge(), similarity_top_k=2)
    runner = BatchEvalRunner({"hits": HitRateResponseEvaluator(k=2, match=span_overlap(0.5))})
    expected = [[place("refunds take 14 days")], ["guide"], []]
    results = runner.evaluate_queries(
        engine, queries=["refunds take 14 days", "refunds", "dogs"], hits={"expected_ids": expected}
    )
    assert [result.score for result in results["hits"]] == [1.0, None, None]
    assert "spans are compared, found 'guide'" in results["hits"][1].invalid_reason


@pytest.mark.parametrize("make", [HitRateAtK, HitRateResponseEvaluator, build])
def test_a_matcher_of_spans_compares_no_texts(make):
    with pytest.raises(ValueError, match=r"match=span_overlap\(\) compares spans, not texts"):
        make(k=1, match_on="texts", match=span_overlap())
