"""What LlamaIndex' own `RetrieverEvaluator` returned, as an evaluation."""

import asyncio

import pytest
from llama_index.core.evaluation import HitRate, RetrieverEvaluator, get_retrieval_results_df
from llama_index.core.evaluation.retrieval.metrics import MRR
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from hitrate_adapters import contains, diagnose, span_overlap
from hitrate_adapters.llama_index import HitRateAtK, HitRateEvaluator, MRRAtK, evaluation

asyncio.set_event_loop(None)
pytestmark = pytest.mark.filterwarnings(r"ignore:asyncio_module\(\) is deprecated:DeprecationWarning")

TEXTS = {"time": "Refunds take five days.", "dogs": "Dogs are free.", "bikes": "Bikes cost two euros."}
FOUND = {"How long do refunds take?": ["dogs", "time"], "Is my dog free?": ["dogs"], "Is it far?": ["bikes", "dogs"]}
QUERIES = dict(zip(("q1", "q2", "q3"), FOUND, strict=True))
GOLD = {"q1": ["time"], "q2": ["dogs"], "q3": ["time"]}


class Finds(BaseRetriever):
    def _retrieve(self, query_bundle):
        found = FOUND[query_bundle.query_str]
        return [NodeWithScore(node=TextNode(id_=node_id, text=TEXTS[node_id])) for node_id in found]


def run(evaluator, gold=GOLD, texts=None):
    """Give the evaluator's results of single queries."""
    return [
        evaluator.evaluate(QUERIES[query], expected_ids=ids, expected_texts=None if texts is None else texts[query])
        for query, ids in gold.items()
    ]


def test_the_means_are_those_of_llama_index():
    results = run(RetrieverEvaluator(metrics=[HitRate(), MRR(), HitRateAtK(k=1)], retriever=Finds()))
    (report,) = get_retrieval_results_df(["x"], [results], metric_keys=["hit_rate", "mrr", "hit_rate@1"]).to_dict(
        "records"
    )
    judged = evaluation(results, query_ids=QUERIES)
    means = {name: report[name] for name in ("hit_rate", "mrr", "hit_rate@1")}
    assert means == {"hit_rate": pytest.approx(2 / 3), "mrr": 0.5, "hit_rate@1": pytest.approx(1 / 3)}
    assert {name: float(judged.score(name)) for name in means} == pytest.approx(means)
    found = diagnose(judged, k=1)
    assert {query: miss.cause for query, miss in found.misses.items()} == {"q1": "below_cutoff", "q3": "not_retrieved"}


def test_texts_are_compared_as_the_metrics_do():
    metrics = [HitRateAtK(k=1, match=contains), MRRAtK(match=contains)]
    texts = {query: [f"{TEXTS[node_id]} Ask us." for node_id in ids] for query, ids in GOLD.items()}
    results = run(RetrieverEvaluator(metrics=metrics, retriever=Finds()), texts=texts)
    judged = evaluation(results, match=contains)
    sums = [sum(result.metric_dict[metric.metric_name].score for result in results) for metric in metrics]
    assert sums == [1.0, 1.5]
    assert [judged.hit_rate(1) * 3, judged.mrr() * 3] == pytest.approx(sums)


def test_results_of_this_packages_evaluator():
    results = run(HitRateEvaluator(retriever=Finds(), k=1))
    assert evaluation(results, query_ids=QUERIES).misses(1) == ("q1", "q3")


def test_queries_are_their_own_ids_and_repeats_are_numbered():
    results = run(RetrieverEvaluator(metrics=[HitRateAtK(k=1)], retriever=Finds()))
    assert list(evaluation(results[:1] * 2)) == ["How long do refunds take?", "How long do refunds take? #2"]


def test_what_cannot_be_scored_is_named():
    results = run(RetrieverEvaluator(metrics=[HitRateAtK(k=1)], retriever=Finds()), {**GOLD, "q2": []})
    judged = evaluation(results, query_ids=["a", "b", "c"])
    assert (judged.unscored, judged.misses(1)) == (("b",), ("a", "c"))


def test_refusals():
    results = run(RetrieverEvaluator(metrics=[HitRateAtK(k=1)], retriever=Finds()))
    with pytest.raises(ValueError, match="the result in the place of query 'q1' is of 'How long"):
        evaluation(results, query_ids={"q1": "Is my dog free?", "q2": "How long do refunds take?", "q3": "Is it far?"})
    with pytest.raises(ValueError, match="3 results and 1 query ids"):
        evaluation(results, query_ids=["q1"])
    with pytest.raises(ValueError, match="results hold no spans"):
        evaluation(results, match=span_overlap(0.5))
    with pytest.raises(TypeError, match="expected_texts are needed to match on texts"):
        evaluation(results, match=contains)
    with pytest.raises(ValueError, match="match_on"):
        evaluation(results, match_on="id")
