"""RAGAS' scores of answers beside hits: of `evaluate` with its own metrics, and of an experiment."""

import asyncio
import math

import pandas as pd
import pytest
from ragas import Dataset, EvaluationDataset, evaluate, experiment

from examples.offline_judge import OfflineRagasJudge
from hitrate_adapters.ragas import HitRateAtK, HitRateEvaluator, answer_scores

pytestmark = [
    pytest.mark.filterwarnings("ignore:Importing .* from 'ragas.metrics' is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings(r"ignore:a?evaluate\(\) is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file .*uuid.json:ResourceWarning"),
]


def row(question, retrieved, response, reference=("gold",)):
    return {
        "user_input": question,
        "retrieved_context_ids": [context for context, _ in retrieved],
        "retrieved_contexts": [text for _, text in retrieved],
        "reference_context_ids": list(reference),
        "response": response,
        "reference": response,
    }


ROWS = [
    row("a", [("gold", "Dogs travel free.")], "Dogs travel free."),
    row("b", [("gold", "Dogs travel free.")], "Cats travel free."),
    row("c", [("x", "Bicycles go in the last carriage.")], "Dogs travel free."),
    row("d", [("x", "Bicycles go in the last carriage.")], "Bicycles go in the last carriage."),
    row("e", [("x", "Dogs travel free.")], "Dogs travel free.", reference=()),
]


@pytest.fixture(scope="module")
def result():
    from ragas.metrics import faithfulness

    return evaluate(
        EvaluationDataset.from_list(ROWS),
        metrics=[HitRateAtK(1), faithfulness],
        llm=OfflineRagasJudge(),
        show_progress=False,
    )


@pytest.mark.parametrize(("query_id", "ids"), [(None, range(5)), ("user_input", "abcde")])
def test_the_result_of_evaluate(result, query_id, ids):
    evaluation = HitRateEvaluator(k=1).evaluate(result.dataset, query_id=query_id).evaluation
    scores = answer_scores(result, "faithfulness", query_id=query_id)
    assert scores == dict(zip(ids, [1.0, 0.0, 0.0, 1.0, 1.0], strict=True))
    table = evaluation.with_answers(scores, k=1)
    assert table.queries(hit=True, correct=False) == (ids[1],)
    assert table.queries(hit=False, correct=True) == (ids[3],)
    assert table.unscored == (ids[4],)
    assert table.phi.value == 0


def test_a_score_of_nan_is_left_out(result):
    evaluation = HitRateEvaluator(k=1).evaluate(ROWS[:4]).evaluation
    scores = answer_scores(result, "hit_rate@1")
    assert math.isnan(scores[4])
    assert evaluation.with_answers(scores, k=1).queries() == (0, 1, 2, 3)


def test_an_experiment_that_finishes_in_another_order(tmp_path):
    @experiment()
    async def answers(row):
        await asyncio.sleep({"a": 0.02}.get(row["user_input"], 0))
        return {"question": row["user_input"], "correct": row["response"] == "Dogs travel free."}

    dataset = Dataset("golden", backend="local/jsonl", data=ROWS, root_dir=str(tmp_path))
    done = asyncio.run(answers.arun(dataset, name="first"))
    scores = answer_scores(done, "correct", query_id="question")
    assert next(iter(scores)) != "a"
    evaluation = HitRateEvaluator(k=1).evaluate(ROWS, query_id="user_input").evaluation
    assert evaluation.with_answers(scores, k=1).queries(hit=True, correct=False) == ("b",)


def test_a_data_frame_and_rows_that_lack_the_column():
    frame = pd.DataFrame({"id": ["a", "b"], "correct": [1.0, None]})
    assert list(answer_scores(frame, "correct", query_id="id")) == ["a", "b"]
    assert answer_scores([{"correct": 1.0}, {}], "correct") == {0: 1.0, 1: None}


@pytest.mark.parametrize(
    ("metric", "query_id", "message"),
    [
        ("correctness", None, "no row has 'correctness'; there is 'hit_rate@1', 'faithfulness'"),
        ("faithfulness", "id", "row 0 has the id None: every row needs one of its own"),
    ],
)
def test_what_is_not_there(result, metric, query_id, message):
    with pytest.raises(ValueError, match=message):
        answer_scores(result, metric, query_id=query_id)
