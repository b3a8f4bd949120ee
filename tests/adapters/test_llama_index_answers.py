"""LlamaIndex' scores of answers beside hits, of a `BatchEvalRunner` and of a single evaluator."""

import asyncio

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import BatchEvalRunner, CorrectnessEvaluator, EvaluationResult, FaithfulnessEvaluator
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from hitrate_adapters.llama_index import HitRateEvaluator, answer_scores

asyncio.set_event_loop(None)
pytestmark = pytest.mark.filterwarnings(r"ignore:asyncio_module\(\) is deprecated:DeprecationWarning")

FOUND = {"Are dogs free?": "dogs", "Is my puppy free?": "dogs", "Are bicycles free?": "bikes", "Is it far?": "bikes"}
TEXTS = {"dogs": "Dogs travel free.", "bikes": "Bicycles go in the last carriage."}
ANSWERS = {
    "Are dogs free?": "Dogs travel free.",
    "Is my puppy free?": "I do not know.",
    "Are bicycles free?": "They are.",
    "Is it far?": "It is.",
}
DATASET = {"queries": dict(zip("abcd", FOUND, strict=True)), "relevant_docs": {q: ["dogs"] for q in "abcd"}}


class Finds(BaseRetriever):
    def _retrieve(self, query_bundle):
        found = FOUND[query_bundle.query_str]
        return [NodeWithScore(node=TextNode(id_=found, text=TEXTS[found]))]


class Judge(CustomLLM):
    """Says YES where the prompt holds an answer that its context has; gives 4.5 to what is about dogs, else 2."""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):  # noqa: ARG002 - LlamaIndex has them
        prompt = str(prompt)
        if "YES or NO" in prompt:
            asked = prompt.rpartition("Information:")[2]
            return CompletionResponse(text="YES" if asked.count("Dogs travel free.") == 2 else "NO")
        return CompletionResponse(text="4.5\nfine" if "Dogs travel free." in prompt else "2.0\nwrong")

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError


class Engine(BaseQueryEngine):
    def _query(self, query_bundle):
        query = query_bundle.query_str
        return Response(response=ANSWERS[query], source_nodes=Finds().retrieve(query_bundle))

    async def _aquery(self, query_bundle):
        return self._query(query_bundle)

    def _get_prompt_modules(self):
        return {}


@pytest.fixture(scope="module")
def evaluation():
    return HitRateEvaluator(retriever=Finds(), k=1).evaluate_dataset(DATASET).evaluation


@pytest.fixture(scope="module")
def results():
    evaluators = {"faithful": FaithfulnessEvaluator(llm=Judge()), "correct": CorrectnessEvaluator(llm=Judge())}
    queries = list(DATASET["queries"].values())
    return BatchEvalRunner(evaluators).evaluate_queries(Engine(callback_manager=None), queries=queries)


def test_the_results_of_a_runner(evaluation, results):
    scores = answer_scores(results, "correct", query_ids=DATASET["queries"])
    assert scores == {"a": 4.5, "b": 2.0, "c": 2.0, "d": 2.0}
    table = evaluation.with_answers(scores, k=1)
    assert (table.mean_given_hit, table.mean_given_miss) == (3.25, 2.0)
    assert table.phi is None


def test_passing(evaluation, results):
    scores = answer_scores(results, "correct", query_ids=DATASET["queries"], passing=True)
    assert scores == {"a": True, "b": False, "c": False, "d": False}
    assert evaluation.with_answers(scores, k=1).queries(hit=True, correct=False) == ("b",)


def test_the_results_of_one_evaluator(evaluation, results):
    scores = answer_scores(results["faithful"], query_ids=list("abcd"))
    assert scores == {"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0}
    assert evaluation.with_answers(scores, k=1).correct_given_hit.value == 0.5


def test_an_invalid_result_is_left_out(evaluation):
    results = [EvaluationResult(score=1.0), EvaluationResult(score=0.0, invalid_result=True), *[EvaluationResult()] * 2]
    scores = answer_scores(results, query_ids="abcd")
    assert scores == {"a": 1.0, "b": None, "c": None, "d": None}
    assert evaluation.with_answers(scores, k=1).unanswered == ("b", "c", "d")


def test_another_order_is_refused(results):
    turned = dict(reversed(DATASET["queries"].items()))
    with pytest.raises(ValueError, match="in the place of query 'd' is of 'Are dogs free\\?', not of 'Is it far\\?'"):
        answer_scores(results, "correct", query_ids=turned)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": "right"}, ValueError, "no evaluator 'right' in the results, which have 'faithful', 'correct'"),
        ({}, ValueError, "no evaluator None"),
        ({"metric": "correct", "query_ids": "abc"}, ValueError, "4 results and 3 query ids"),
        ({"metric": "correct", "query_ids": "abca"}, ValueError, "the query id 'a' is there twice"),
    ],
)
def test_what_does_not_fit(results, arguments, error, message):
    with pytest.raises(error, match=message):
        answer_scores(results, **{"query_ids": "abcd", **arguments})


def test_a_list_has_no_names(results):
    with pytest.raises(TypeError, match="metric='correct' is a name in what a BatchEvalRunner returns"):
        answer_scores(results["correct"], "correct", query_ids="abcd")
