"""What LlamaIndex' own `RetrieverEvaluator` returned, as an evaluation."""

import asyncio

import pytest
from llama_index.core.evaluation import HitRate, RetrievalEvalResult, RetrieverEvaluator, get_retrieval_results_df
from llama_index.core.evaluation.retrieval.metrics import MRR
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

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


# Results of HitRateEvaluator know what was graded, and where spans are


def test_an_item_of_grade_0_is_no_relevant_one():
    gold = {"q1": {"dogs": 0, "bikes": 1}, "q2": {"dogs": 1, "time": 3}}
    evaluator = HitRateEvaluator(retriever=Finds(), k=5, metrics=("hit_rate", "ndcg"))
    results = run(evaluator, gold)
    judged = evaluation(results, query_ids={query: QUERIES[query] for query in gold})
    assert [result.metric_vals_dict["hit_rate@5"] for result in results] == [0.0, 1.0]
    assert [judged.score(metric) * 2 for metric in ("hit_rate@5", "ndcg@5")] == pytest.approx(
        [sum(result.metric_vals_dict[metric] for result in results) for metric in ("hit_rate@5", "ndcg@5")]
    )
    assert judged.ndcg(5) * 2 == pytest.approx(0.275, abs=0.001)
    assert [result.expected_ids for result in results] == [["bikes"], ["dogs", "time"]]
    from_json = [RetrievalEvalResult.model_validate_json(result.model_dump_json()) for result in results]
    assert evaluation(from_json).hit_rate(5) == 0.5  # without the grades


def test_a_text_of_grade_0_is_no_relevant_one():
    evaluator = HitRateEvaluator(retriever=Finds(), k=5, match=contains)
    texts = {"Dogs are free.": 0, "It takes a week.": 1}
    results = [evaluator.evaluate(QUERIES["q2"], expected_ids=None, expected_texts=texts)]
    assert (results[0].metric_vals_dict, results[0].expected_texts) == ({"hit_rate@5": 0.0}, ["It takes a week."])
    with pytest.warns(UserWarning, match="no relevant text was ever retrieved"):
        assert evaluation(results, match=contains).hit_rate(5) == 0.0


def test_llama_index_own_metrics_are_not_given_what_is_graded_0():
    evaluator = HitRateEvaluator(retriever=Finds(), k=1, metrics=[HitRateAtK(k=1), HitRate()])
    result = evaluator.evaluate(QUERIES["q2"], expected_ids={"dogs": 0, "time": 1})
    assert result.metric_vals_dict == {"hit_rate@1": 0.0, "hit_rate": 0.0}


class FindsSpans(BaseRetriever):
    def _retrieve(self, query_bundle):  # noqa: ARG002
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="guide")}
        return [
            NodeWithScore(node=TextNode(text=text, start_char_idx=at, end_char_idx=at + 10, relationships=source))
            for at, text in ((0, "Refunds ar"), (10, "e for free"))
        ]


def test_spans_are_compared_as_the_evaluator_did():
    evaluator = HitRateEvaluator(retriever=FindsSpans(), k=5, match=span_overlap(0.5))
    results = [evaluator.evaluate(str(start), expected_ids={("guide", start, start + 7): 1}) for start in (2, 12, 90)]
    assert [result.metric_vals_dict["hit_rate@5"] for result in results] == [1.0, 1.0, 0.0]
    assert evaluation(results, match=span_overlap(0.5)).misses(5) == ("90",)
    with pytest.raises(ValueError, match="spans were compared, not ids: pass the match= that the evaluator had"):
        evaluation(results)
    from_json = [RetrievalEvalResult.model_validate_json(result.model_dump_json()) for result in results]
    with pytest.raises(ValueError, match="spans were compared, not ids"):
        evaluation(from_json)
    with pytest.raises(ValueError, match="results hold no spans"):
        evaluation(from_json, match=span_overlap(0.5))


def graded():
    """Give the results of graded ids, of graded texts and of graded spans, with the matchers that compared them."""
    by_text = HitRateEvaluator(retriever=Finds(), k=5, match=contains)
    by_span = HitRateEvaluator(retriever=FindsSpans(), k=5, match=span_overlap(0.5))
    ids = HitRateEvaluator(retriever=Finds(), k=5).evaluate(QUERIES["q1"], expected_ids={"dogs": 0, "time": 3})
    texts = {TEXTS["time"]: 3, TEXTS["dogs"]: 0}
    spans = {("guide", 12, 19): 3, ("guide", 2, 9): 0}
    return [
        (ids, None),
        (by_text.evaluate(QUERIES["q1"], expected_ids=None, expected_texts=texts), contains),
        (by_span.evaluate("where?", expected_ids=spans), span_overlap(0.5)),
    ]


def again(result):
    return type(result)(**result.model_dump())


def from_json(result):
    return type(result).model_validate_json(result.model_dump_json())


@pytest.mark.parametrize("read_back", [again, from_json])
def test_results_can_be_read_back_as_what_they_were(read_back):
    (ids, _), (texts, _), (spans, overlaps) = graded()
    assert [read_back(result).model_dump() for result in (ids, texts)] == [ids.model_dump(), texts.model_dump()]
    record = evaluation([read_back(ids)])[QUERIES["q1"]]
    assert (record.hit_ranks, record.n_relevant) == ((2,), 1)
    assert evaluation([read_back(texts)], match=contains).hit_rate(5) == 1.0
    with pytest.raises(ValueError, match="results hold no spans"):
        evaluation([read_back(spans)], match=overlaps)


@pytest.mark.parametrize("number", [0, 1, 2], ids=["ids", "texts", "spans"])
def test_edited_gold_counts_with_the_grades_that_are_left(number):
    result, match = graded()[number]
    field = ("expected_ids", "expected_texts", "expected_ids")[number]
    was_0 = ("dogs", TEXTS["dogs"], "guide[2:9]")[number]
    assert evaluation([result], match=match).mrr(5) == 0.5
    both = result.model_copy(update={field: [*getattr(result, field), was_0]})
    judged = evaluation([both], match=match)
    assert judged.mrr(5) == 1.0
    assert judged.ndcg(5) == pytest.approx(0.797, abs=0.001)  # grade 1 first, then grade 3
    setattr(result, field, [was_0])
    record = evaluation([result], match=match)[result.query]
    assert (record.hit_ranks, record.n_relevant) == ((1,), 1)


def test_edited_gold_of_items_that_were_not_there():
    (ids, _), _, (spans, overlaps) = graded()
    ids.expected_ids = ["bikes"]
    assert evaluation([ids]).hit_rate(5) == 0.0
    spans.expected_ids = ["guide[70:79]"]
    with pytest.raises(TypeError, match=r"guide\[70:79\]"):
        evaluation([spans], match=overlaps)
    spans.expected_ids = [("guide", 0, 9)]
    assert evaluation([spans], match=overlaps).mrr(5) == 1.0
    spans.retrieved_ids = spans.retrieved_ids[1:]
    with pytest.warns(UserWarning, match="no relevant span was ever retrieved"):
        assert evaluation([spans], match=overlaps).mrr(5) == 0.0
