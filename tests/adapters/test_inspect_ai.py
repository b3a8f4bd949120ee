"""Inspect AI: `eval` of a task with mockllm; the log, as read back from its file, has the values, means and reasons."""

import gc
import importlib
import math
import os
import subprocess
import sys
import tomllib
import warnings
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import UUID

import inspect_ai
import numpy as np
import pytest
from inspect_ai import Epochs, Task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

from hitrate_adapters import contains, span_overlap
from hitrate_adapters.inspect_ai import evaluation, hit_rate

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
    again = score_again(run(golden(), hit_rate(k=1), FOUND), hit_rate(k=2))
    assert results(again) == {"hit_rate@2": {"mean": 1.0, "stderr": 0.0}}


def score_again(log, scorer):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)
        log = inspect_ai.score(log, scorer, action="overwrite", display="none")
        gc.collect()
    return log


ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("entry-points", {})


@pytest.mark.skipif("inspect_ai" not in ENTRY_POINTS, reason="pyproject.toml has no entry point for Inspect")
def test_scoring_a_log_from_a_shell(tmp_path):
    installed = (
        tmp_path / "hitrate_adapters_here-0.dist-info"
    )  # for an environment that was made before the entry point
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: hitrate-adapters-here\nVersion: 0\n")
    lines = [f"{name} = {module}" for name, module in ENTRY_POINTS["inspect_ai"].items()]
    (installed / "entry_points.txt").write_text("\n".join(["[inspect_ai]", *lines]))
    task = Task(dataset=golden(), solver=retrieve(FOUND), scorer=includes())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject|unclosed file", ResourceWarning)
        (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path))
        gc.collect()
    options = ["--scorer", "hitrate_adapters/hit_rate", "-S", "k=[1,2]", "--action", "append", "--overwrite"]
    subprocess.run(
        [Path(sys.executable).with_name("inspect"), "score", log.location, *options, "--display", "none"],
        check=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )
    assert list(results(read_eval_log(log.location))) == ["includes", "hit_rate@1", "hit_rate@2"]


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


def test_spans():
    samples = [Sample(id="q", input="q", target="Free.", metadata={"relevant": [["faq.md", 24, 38]]})]
    chunks = [
        {"page_content": text, "metadata": {"source": "faq.md", "start_index": start}}
        for start, text in ((0, "Refunds take five days."), (24, "Dogs are free."))
    ]
    scorer = hit_rate(k=(1, 2), match=span_overlap(0.5), relevant_key="relevant", name="x")
    log = run(samples, scorer, {"q": chunks})
    assert log.samples[0].scores["hit_rate"].value == {"x_hit_rate@1": 0.0, "x_hit_rate@2": 1.0}


COLLECTIONS = {
    "tuple": tuple,
    "deque": deque,
    "values": lambda documents: {document["id"]: document for document in documents}.values(),
    "array": lambda documents: pytest.importorskip("numpy").array(documents, dtype=object),
}


@pytest.mark.parametrize("make", COLLECTIONS.values(), ids=COLLECTIONS)
def test_collections_of_documents_are_rankings(make):
    scorer = hit_rate(k=(1, 2), retrieved_key=lambda state: make(state.store.get("retrieved")))
    log = run(golden(q="2"), scorer, {"q": DOCUMENTS})
    assert log.samples[0].scores["hit_rate"].value == {"hit_rate@1": 0.0, "hit_rate@2": 1.0}


@pytest.mark.parametrize("match_on", ["ids", "texts"])
def test_none_is_a_slot_that_never_hits(match_on):
    log = run(golden(q="a"), hit_rate(k=(1, 2), name="x", match_on=match_on), {"q": [None, "a"]})
    assert log.samples[0].scores["hit_rate"].value == {"x_hit_rate@1": 0.0, "x_hit_rate@2": 1.0}


def test_a_generator_is_unscored_since_a_second_scorer_would_find_it_empty():
    log = run(golden(q="a"), hit_rate(k=1, retrieved_key=lambda _: iter(["a"])), {"q": []})
    assert "retrieved items are a list_iterator, which can be read only once" in unscored_of(log, "q").explanation


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
    "a set": ({"a"}, "which has no order"),
    "None alone": ([None, None], "every retrieved item is None: where are the ids?"),
    "no document": ([{"page_content": "x", "metadata": {}}], "id_key"),
    "True": ([True], "ids are strings that are not blank, whole numbers"),
}


@pytest.mark.parametrize("why", UNSCORABLE)
def test_a_sample_that_cannot_be_judged_is_unscored_and_costs_no_other(why):
    found, message = UNSCORABLE[why]
    scorer = hit_rate(k=(1, 2), retrieved_key=lambda state: found if state.sample_id == "bad" else ["a"])
    log = run(golden(good="a", bad="a"), [scorer, includes()], {"good": [], "bad": []})
    assert log.status == "success"
    assert results(log)["hit_rate@1"]["mean"] == results(log)["hit_rate@2"]["mean"] == 1.0
    assert [score.unscored_samples for score in log.results.scores] == [1, 1, 0]
    bad = unscored_of(log, "bad")
    assert bad.explanation.startswith("cannot be scored: sample 'bad': ")
    assert message in bad.explanation


def unscored_of(log, name):
    """Give the score of a sample, all of whose values are NaN."""
    (sample,) = [sample for sample in log.samples if sample.id == name]
    score = sample.scores["hit_rate"]
    assert all(map(math.isnan, score.value.values()))
    assert getattr(score, "reason", "scoring_failed") == "scoring_failed"  # which the oldest lacks
    return score


@pytest.mark.parametrize("options", [{"retrieved_key": "documents"}, {"relevant_key": "documents"}])
def test_an_absent_key_is_explained_by_those_that_are_there(options):
    samples = [Sample(id="q", input="q", target="a", metadata={"gold": ["a"]})]
    log = run(samples, hit_rate(k=1, **options), {"q": ["a"]})
    assert unscored_of(log, "q").explanation == (
        "cannot be scored: sample 'q': no 'documents' in the store, which has 'retrieved', "
        "nor in the metadata, which has 'gold'"
    )


@pytest.mark.parametrize("option", ["retrieved_key", "relevant_key"])
def test_a_function_that_raises_is_named(option):
    log = run(golden(q="a"), hit_rate(k=1, **{option: lambda state: state.metadata["ids"]}), {"q": ["a"]})
    assert f"{option}=<lambda> raised KeyError('ids')" in unscored_of(log, "q").explanation


def test_a_sample_whose_solver_failed_is_unscored_when_the_log_is_scored_again():
    found = {"good": ["a"]}  # of "bad" the solver knows nothing
    log = run(golden(good="a", bad="a"), hit_rate(k=1), found, fail_on_error=False)
    assert [sample.id for sample in log.samples if sample.error] == ["bad"]
    again = score_again(log, hit_rate(k=2))
    assert results(again) == {"hit_rate@2": {"mean": 1.0, "stderr": 0.0}}
    assert again.results.scores[0].unscored_samples == 1
    assert "sample 'bad': no 'retrieved' in the store, which has nothing" in unscored_of(again, "bad").explanation


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"match_on": "id"}, ValueError, "match_on"),
        ({"match": contains, "id_key": "source"}, ValueError, "texts are compared, so no id is looked up"),
        ({"retrieved_key": 3}, TypeError, "retrieved_key must be a key or a function of the TaskState, got 3"),
        ({"retrieved_key": None}, TypeError, "retrieved_key must be a key or a function of the TaskState, got None"),
        ({"relevant_key": 0}, TypeError, "relevant_key must be .* got 0"),
        ({"metrics": 5}, TypeError, "metrics must be a name"),
        ({"name": 5}, TypeError, "name must be a str or None, got 5"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        hit_rate(**options)


# What a log comes to


@pytest.mark.parametrize("epochs", [1, 2])
def test_evaluation_has_the_means_of_the_log(epochs):
    rules = {"match": contains, "retrieved_key": "found", "relevant_key": "gold"}
    gold = {"q1": "Refunds take five days." + " They go to the card that paid." * 10, "q2": "Dogs are free.", "q3": "x"}
    found = {"q1": ["x", gold["q1"]], "q2": [gold["q2"]], "q3": []}
    samples = [Sample(id=q, input=q, metadata={"gold": [gold[q]], "found": found[q]}) for q in gold]
    scorer = hit_rate(k=(1, 2), metrics=("hit_rate", "mrr@10", "ndcg"), **rules)
    log = run(samples, scorer, dict.fromkeys(gold), epochs=Epochs(epochs))
    judged = evaluation(log, **rules)
    means = {name.removesuffix("[contains]"): values["mean"] for name, values in results(log).items()}
    assert means["hit_rate@1"] == pytest.approx(1 / 3)
    assert {name: float(judged.score(name)) for name in means} == pytest.approx(means)
    assert list(judged) == [f"{query}{number}" for number in ("", " #2")[:epochs] for query in gold]


def test_evaluation_of_documents_and_functions():
    log = run(golden(q="refunds.md"), hit_rate(), {"q": [DOCUMENTS[0], *DOCUMENTS]})
    judged = evaluation(
        log, retrieved_key=lambda state: state.store.get("retrieved"), id_key="source", unique=True, match_on="ids"
    )
    assert judged["q"].hit_ranks == (2,)


def test_evaluation_counts_a_failed_retrieval_and_names_what_cannot_be_scored():
    @solver
    def failing():
        async def solve(state, generate):  # noqa: ARG001 - nothing is generated
            if state.sample_id == "retrieval":
                raise ConnectionError("the index is down")
            state.store.set("retrieved", "a" if state.sample_id == "string" else ["a"])
            if state.sample_id == "model":
                raise ConnectionError("the model is down")
            return state

        return solve

    samples = golden(good="a", retrieval="a", model="a", unlabelled="", string="a")
    log = logged(Task(dataset=samples, solver=failing(), scorer=hit_rate(k=1)), fail_on_error=False)
    assert results(log)["hit_rate@1"]["mean"] == 1.0
    assert log.results.scores[0].scored_samples == 1
    judged = evaluation(log)
    assert float(judged.hit_rate(1)) == pytest.approx(2 / 3)
    assert judged.misses(1) == ("retrieval",)
    assert {query: "the index is down" in str(error) for query, error in judged.errors.items()} == {"retrieval": True}
    assert set(judged.unscored) == {"unlabelled", "string"}


def test_evaluation_needs_the_samples_and_something_to_score(tmp_path):
    task = Task(dataset=golden(), solver=retrieve(FOUND), scorer=includes())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject|unclosed file", ResourceWarning)
        (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path))
        header = read_eval_log(log.location, header_only=True)
        gc.collect()
    with pytest.raises(ValueError, match=r"has no samples .* header_only=False"):
        evaluation(header)
    with pytest.raises(ValueError, match="no 'documents' in the store, which has 'retrieved'"):
        evaluation(log, retrieved_key="documents")
    with pytest.raises(TypeError, match="retrieved_key must be"):
        evaluation(log, retrieved_key=None)


# What a log would not keep is not scored, so that a log that is scored again has the same means


class Kept(NamedTuple):
    retrieved: object
    relevant: object


@dataclass
class Document:
    id: str
    page_content: str = "Dogs are free."
    metadata: dict[str, str] = field(default_factory=dict)


KEPT = {
    "str": Kept(["d1"], ["d1"]),
    "int": Kept([7], [7]),
    "tuple": Kept((7,), {7}),
    "None": Kept([None, "d1"], {"d1": 2}),
    "document": Kept([(Document("d1"), 0.5)], ["d1"]),
    "uuid": Kept([UUID(int=1)], [UUID(int=1)]),
    "scores": Kept({"d1": 0.5}, ["d1"]),
}
LOST = {
    "number": Kept([np.int64(7)], [7]),
    "array": Kept(np.array([7]), [7]),
    "id of a document": Kept([{"id": np.int64(7)}], [7]),
    "score": Kept([(Document("d1"), np.float32(0.5))], ["d1"]),
    "key of a score": Kept({7: 0.5}, [7]),
    "key of a grade": Kept([7], {7: 2}),
    "grade": Kept(["d1"], {"d1": np.int64(1)}),
    "gold": Kept([7], [np.int64(7)]),
}


def test_a_log_has_the_same_scores_when_it_is_scored_again():
    rows = {**KEPT, **LOST}
    samples = [Sample(id=row, input=row, metadata={"relevant": items.relevant}) for row, items in rows.items()]
    scorer = hit_rate(k=5, relevant_key="relevant")
    log = run(samples, scorer, {row: items.retrieved for row, items in rows.items()})
    again = score_again(log, scorer)
    for each in (log, again):
        kept = [value_of(sample, "hit_rate@5") for sample in each.samples if sample.id in KEPT]
        assert kept == [1.0] * len(KEPT)
    for row in LOST:
        explanation = unscored_of(log, row).explanation
        assert "the log would not keep the re" in explanation
        assert "give numbers of NumPy as their .tolist(), keys as strings" in explanation
    assert log.results.scores[0].unscored_samples == len(LOST)
    assert {score.unscored_samples for score in again.results.scores} == {len(LOST)}
    judged = evaluation(log, relevant_key="relevant")
    assert set(judged.unscored) == set(judged.faults) == set(LOST)
    assert judged.hit_rate(5) == 1.0


def test_what_a_function_of_the_state_gives_is_in_no_log():
    log = run(golden(q="a"), hit_rate(k=1, retrieved_key=lambda _: np.array(["a"])), {"q": []})
    assert results(log)["hit_rate@1"]["mean"] == 1.0


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
