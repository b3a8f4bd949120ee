"""LangSmith's feedback on answers beside hits, through `evaluate` and `aevaluate`, with repetitions."""

import asyncio
import uuid

import pytest
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example

from hitrate_adapters.langsmith import HitRateEvaluator, answer_scores

pytestmark = pytest.mark.filterwarnings("ignore:.*parameter is in beta")

INFO = {"version": "0", "instance_flags": {"zstd_compression_enabled": True}}
OFFLINE = {
    "client": Client(api_url="http://127.0.0.1:9", tracing_sampling_rate=0.0, info=INFO),
    "upload_results": False,
    "max_concurrency": 0,
}
FOUND = {"a": ["gold"], "b": ["gold"], "c": ["x"], "d": ["x"]}
ANSWERS = {"a": "right", "b": "wrong", "c": "wrong", "d": "right"}
EXAMPLES = [Example(id=uuid.uuid4(), inputs={"question": q}, outputs={"relevant": ["gold"]}) for q in FOUND]
NAMES = {str(example.id): example.inputs["question"] for example in EXAMPLES}
HITS = HitRateEvaluator(k=1)


def target(inputs):
    question = inputs["question"]
    return {"documents": FOUND[question], "answer": ANSWERS[question]}


def correct(outputs):
    return {"key": "correct", "score": outputs["answer"] == "right"}


def names(ids):
    return [NAMES[query_id] for query_id in ids]


def test_the_rows_of_evaluate():
    rows = evaluate(target, data=EXAMPLES, evaluators=[HITS, correct], **OFFLINE)
    table = HITS.evaluation(rows).with_answers(answer_scores(rows, "correct"), k=1)
    assert names(table.queries(hit=True, correct=False)) == ["b"]
    assert names(table.queries(hit=False, correct=True)) == ["d"]
    assert table.phi.value == 0


def test_the_rows_of_aevaluate():
    async def atarget(inputs):
        return target(inputs)

    async def run():
        return [row async for row in await aevaluate(atarget, data=EXAMPLES, evaluators=[HITS, correct], **OFFLINE)]

    rows = asyncio.run(run())
    table = HITS.evaluation(rows).with_answers(answer_scores(rows, "correct"), k=1)
    assert names(table.queries(hit=True, correct=True)) == ["a"]


def test_repetitions_have_the_ids_of_the_evaluation():
    rows = evaluate(target, data=EXAMPLES[:2], evaluators=[HITS, correct], num_repetitions=3, **OFFLINE)
    scores = answer_scores(rows, "correct")
    assert scores.keys() == set(HITS.evaluation(rows))
    first = str(EXAMPLES[0].id)
    assert {query_id for query_id in scores if query_id.startswith(first)} == {first, f"{first} #2", f"{first} #3"}
    assert HITS.evaluation(rows).with_answers(scores, k=1).correct_given_hit.n == 6


def test_an_evaluator_that_fails_on_a_row_leaves_it_out():
    def fails(outputs):
        if outputs["answer"] == "wrong":
            raise RuntimeError("no verdict")
        return {"key": "fails", "score": 1}

    rows = evaluate(target, data=EXAMPLES, evaluators=[HITS, fails], **OFFLINE)
    table = HITS.evaluation(rows).with_answers(answer_scores(rows, "fails"), k=1)
    assert names(table.queries()) == ["a", "d"]
    assert names(table.unanswered) == ["b", "c"]


def test_a_feedback_key_that_is_not_there():
    rows = evaluate(target, data=EXAMPLES, evaluators=[HITS, correct], **OFFLINE)
    with pytest.raises(ValueError, match="no row has the feedback 'right'; there is 'hit_rate@1', 'correct'"):
        answer_scores(rows, "right")
