"""Inspect AI: `eval` of a task with mockllm; the log, as read back from its file, has the values, means and reasons."""

import gc
import importlib
import math
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import inspect_ai
import pytest
from inspect_ai import Epochs, Task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

from hitrate_adapters import contains
from hitrate_adapters.inspect_ai import hit_rate

ROOT = Path(__file__).parents[2]


# The conformance table


def drive(case):
    scorer = hit_rate(
        k=None, metrics=list(case.expect), match_on=case.match_on, match=case.match, unique=case.unique, name="x"
    )
    samples = [Sample(id=query, input=query, target=gold) for query, gold in case.relevant.items()]
    log = run(samples, scorer, case.retrieved)
    columns = {spec: f"x_{spec}" if len(case.expect) > 1 else "x" for spec in case.expect}
    return {spec: {sample.id: value_of(sample, column) for sample in log.samples} for spec, column in columns.items()}


def build(**configuration):
    return hit_rate(**configuration)


def run(samples, scorer, found, **options):
    """Give the log of a task as its file has it."""
    return logged(Task(dataset=samples, solver=retrieve(found), scorer=scorer), **options)


def logged(task, **options):
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject|unclosed file", ResourceWarning)  # Inspect's own
        (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir=folder, **options)
        log = read_eval_log(log.location)
        gc.collect()
    return log


@solver
def retrieve(found):
    async def solve(state, generate):  # noqa: ARG001 - nothing is generated
        state.store.set("retrieved", found[state.sample_id])
        return state

    return solve


def value_of(sample, column):
    """Give the value, which has a reason; or None where it is Inspect's mark of what is not scored."""
    value = sample.scores["hit_rate"].value[column]
    explanation = sample.scores["hit_rate"].explanation
    assert f"{column}: " in explanation
    assert type(value) is float
    assert math.isnan(value) == (f"{column}: cannot be scored" in explanation)
    return None if math.isnan(value) else value


def results(log):
    return {score.name: {name: metric.value for name, metric in score.metrics.items()} for score in log.results.scores}


GOLD = {"q1": ["d1"], "q2": ["d3"]}
FOUND = {"q1": ["d2", "d1"], "q2": ["d3"]}


def golden(**targets):
    return [Sample(id=query, input=query, target=gold) for query, gold in (targets or GOLD).items()]


# The results of a log


def test_several_k_and_metrics_have_a_mean_and_a_standard_error():
    log = run(golden(), hit_rate(k=(1, 2), metrics=("hit_rate", "mrr@10")), FOUND)
    assert results(log) == {
        "hit_rate@1": {"mean": 0.5, "stderr": pytest.approx(0.5)},
        "hit_rate@2": {"mean": 1.0, "stderr": 0.0},
        "mrr@10": {"mean": 0.75, "stderr": pytest.approx(0.25)},
    }


def test_options_are_in_the_log():
    log = run(golden(), hit_rate(k=(1, 2), match=contains), FOUND)
    assert log.eval.scorers[0].options == {"k": [1, 2], "match": "contains"}


def test_beside_other_scorers_and_with_other_rules():
    log = run(golden(), [hit_rate(k=1), hit_rate(k=1, unique=True, match=contains), includes()], FOUND)
    assert list(results(log)) == ["hit_rate@1", "hit_rate@1[contains, unique]", "includes"]
    assert list(log.samples[0].scores) == ["hit_rate", "hit_rate1", "includes"]


@pytest.mark.parametrize(
    ("options", "names"), [({"k": 1}, ["bm25"]), ({"k": (1, 2)}, ["bm25_hit_rate@1", "bm25_hit_rate@2"])]
)
def test_name(options, names):
    assert list(results(run(golden(), hit_rate(name="bm25", **options), FOUND))) == names


def test_epochs():
    log = run(golden(q1=["d1"], q2=["d3"], q3=[]), hit_rate(k=1), {**FOUND, "q3": ["a"]}, epochs=Epochs(2))
    assert results(log)["hit_rate@1"]["mean"] == 0.5
    assert (log.results.scores[0].scored_samples, log.results.scores[0].unscored_samples) == (2, 1)


def test_scoring_a_log_again():
    log = run(golden(), hit_rate(k=1), FOUND)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)
        again = inspect_ai.score(log, hit_rate(k=2), action="overwrite", display="none")
        gc.collect()
    assert results(again) == {"hit_rate@2": {"mean": 1.0, "stderr": 0.0}}


# Where the items are


def test_retrieved_in_the_metadata():
    samples = [Sample(id="q", input="q", target="a", metadata={"found": ["x", "a"]})]
    log = logged(Task(dataset=samples, solver=retrieve({"q": ["z"]}), scorer=hit_rate(k=2, retrieved_key="found")))
    assert results(log)["hit_rate@2"]["mean"] == 1.0


def test_relevant_in_the_metadata_with_grades():
    metadata = {"relevant": {"a": 3, "b": 1, "c": 0}}
    samples = [Sample(id="q", input="q", target="Five days.", metadata=metadata)]
    log = run(samples, hit_rate(k=3, metrics="ndcg", relevant_key="relevant"), {"q": ["b", "c", "a"]})
    assert results(log)["ndcg@3"]["mean"] == pytest.approx(0.6885289)


def test_functions_of_the_state():
    scorer = hit_rate(
        k=1,
        retrieved_key=lambda state: state.store.get("retrieved")["ids"],
        relevant_key=lambda state: [state.input_text],
    )
    assert results(run(golden(q="other"), scorer, {"q": {"ids": ["q"]}}))["hit_rate@1"]["mean"] == 1.0


DOCUMENTS = [
    {"page_content": "Dogs are free.", "id": "1", "metadata": {"source": "dogs.md"}},
    {"page_content": "Refunds take five days.", "id": "2", "metadata": {"source": "refunds.md"}},
]


@pytest.mark.parametrize(
    ("options", "gold"),
    [
        ({}, "2"),
        ({"id_key": "source"}, "refunds.md"),
        ({"match_on": "texts"}, "Refunds take five days."),
        ({"match": contains}, "Refunds take five days. They go to the card."),
    ],
)
def test_documents(options, gold):
    log = run(golden(q=gold), hit_rate(k=(1, 2), name="x", **options), {"q": DOCUMENTS})
    assert log.samples[0].scores["hit_rate"].value == {"x_hit_rate@1": 0.0, "x_hit_rate@2": 1.0}


# What cannot be scored


@pytest.mark.parametrize("gold", ["", []])
def test_a_sample_without_a_target_is_unscored_and_in_no_mean(gold):
    log = run(golden(good=["a"], bad=gold), hit_rate(k=(1, 2)), {"good": ["a"], "bad": ["a"]})
    assert results(log)["hit_rate@1"]["mean"] == 1.0
    assert [(score.scored_samples, score.unscored_samples) for score in log.results.scores] == [(1, 1), (1, 1)]


def test_all_unscored_is_no_number():
    log = run(golden(q=[]), hit_rate(k=1), {"q": ["a"]})
    assert math.isnan(results(log)["hit_rate@1"]["mean"])


UNSCORABLE = {
    "a string": ("a", "retrieved items are the string 'a'"),
    "nothing at all": (None, "retrieved items must be a list"),
    "no document": ([{"page_content": "x", "metadata": {}}], "id_key"),
}


@pytest.mark.parametrize("why", UNSCORABLE)
def test_what_cannot_be_judged_is_the_error_of_its_sample(why):
    found, message = UNSCORABLE[why]
    found = {"good": ["a"], "bad": found}
    log = run(golden(good="a", bad="a"), hit_rate(k=1), found, fail_on_error=False)
    assert [message in sample.error.message for sample in log.samples if sample.error] == [True]
    assert log.status == "success"
    assert results(log)["hit_rate@1"]["mean"] == 1.0
    log = run(golden(good="a", bad="a"), hit_rate(k=1), found)
    assert log.status == "error"
    assert message in log.error.message


@pytest.mark.parametrize("options", [{"retrieved_key": "documents"}, {"relevant_key": "documents"}])
def test_an_absent_key_is_an_error_that_names_those_that_are_there(options):
    samples = [Sample(id="q", input="q", target="a", metadata={"gold": ["a"]})]
    log = run(samples, hit_rate(k=1, **options), {"q": ["a"]})
    assert "no 'documents' in the store, which has 'retrieved', nor in the metadata, which has 'gold'" in (
        log.error.message
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"match_on": "id"}, ValueError, "match_on"),
        ({"match": contains, "id_key": "source"}, ValueError, "texts are compared, so no id is looked up"),
        (
            {"retrieved_key": 3},
            TypeError,
            "retrieved_key and relevant_key are keys or functions of the TaskState, got 3",
        ),
        ({"relevant_key": 0}, TypeError, "got 0"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        hit_rate(**options)


# The example


def test_example(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    log = logged(importlib.import_module("inspect_ai_example").golden())
    assert {name: values["mean"] for name, values in results(log).items()} == {
        "hit_rate@1": pytest.approx(1 / 3),
        "hit_rate@2": pytest.approx(2 / 3),
        "mrr@10": 0.5,
    }
    assert [score.unscored_samples for score in log.results.scores] == [1, 1, 1]
