"""pydantic-evals: `Dataset.evaluate` of cases in memory and of the same from YAML agree; YAML holds the options."""

import asyncio
import importlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pytest
from pydantic_core import PydanticSerializationError
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected, Evaluator
from pydantic_evals.reporting import EvaluationReportAdapter

from hitrate_adapters import Metric, contains, overlap, span_overlap
from hitrate_adapters.core.records import Matcher
from hitrate_adapters.pydantic_evals import HitRateEvaluator

ROOT = Path(__file__).parents[2]


# The conformance table


def drive(case):
    evaluator = HitRateEvaluator(
        k=None, metrics=list(case.expect), match_on=case.match_on, match=case.match, unique=case.unique
    )
    cases = [Case(name=query, inputs=query, expected_output=gold) for query, gold in case.relevant.items()]
    report = run(cases, [evaluator], case.retrieved.__getitem__)
    names = dict(zip(case.expect, evaluator._score.metrics, strict=True))
    values = {spec: {query: score_of(report, query, name) for query in case.relevant} for spec, name in names.items()}
    if case.match is None:
        from_yaml = run(through_yaml(cases, [evaluator]), [], case.retrieved.__getitem__)
        assert scores(from_yaml) == scores(report)
    return values


def build(**configuration):
    return HitRateEvaluator(**configuration)


def run(cases, evaluators, task):
    dataset = (
        cases
        if isinstance(cases, Dataset)
        else Dataset[Any, Any, Any](name="golden", cases=cases, evaluators=evaluators)
    )
    with asyncio.Runner() as runner:
        return runner.run(dataset.evaluate(as_coroutine(task), progress=False))


def as_coroutine(task):
    async def answer(inputs):
        return task(inputs)

    return answer


def through_yaml(cases, evaluators, *types):
    """Give the dataset as it comes back from a file of its own."""
    types = [HitRateEvaluator, *types]
    with TemporaryDirectory() as folder:
        file = Path(folder, "golden.yaml")
        dataset = Dataset[Any, Any, Any](name="golden", cases=cases, evaluators=evaluators)
        dataset.to_file(file, custom_evaluator_types=types)
        return Dataset[Any, Any, Any].from_file(file, custom_evaluator_types=types)


def scores(report):
    return {case.name: {name: score.value for name, score in case.scores.items()} for case in report.cases}


def score_of(report, query, name):
    """Give the score, which has a reason; or None where the report has a failure that says why."""
    (case,) = [case for case in report.cases if case.name == query]
    if name in case.scores:
        assert not case.evaluator_failures
        assert case.scores[name].reason
        assert type(case.scores[name].value) is float  # a bool would be an assertion
        return case.scores[name].value
    (failure,) = case.evaluator_failures
    assert "cannot be scored" in failure.error_message
    return None


GOLD = {"q1": ["d1"], "q2": ["d3"]}
FOUND = {"q1": ["d2", "d1"], "q2": ["d3"]}


def golden(**expected):
    return [Case(name=query, inputs=query, expected_output=gold) for query, gold in (expected or GOLD).items()]


# In a dataset


def test_several_k_and_metrics_stand_beside_other_evaluators():
    report = run(golden(), [HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10")), EqualsExpected()], FOUND.get)
    assert scores(report) == {
        "q1": {"hit_rate@1": 0.0, "hit_rate@2": 1.0, "mrr@10": 0.5},
        "q2": {"hit_rate@1": 1.0, "hit_rate@2": 1.0, "mrr@10": 1.0},
    }
    assert report.averages().scores == {"hit_rate@1": 0.5, "hit_rate@2": 1.0, "mrr@10": 0.75}
    assert report.averages().assertions == 0.5


def test_report_shows_scores_and_reasons():
    text = run(golden(), [HitRateEvaluator(k=1)], FOUND.get).render(include_reasons=True, width=200)
    assert "hit_rate@1: 0.500" in text
    assert "no relevant item in the top 1" in text


def test_an_evaluator_of_a_single_case():
    cases = [
        Case(name="q1", inputs="q1", expected_output=["d1"], evaluators=(HitRateEvaluator(k=1),)),
        *golden(q2=["d3"]),
    ]
    assert scores(run(cases, [], FOUND.get)) == {"q1": {"hit_rate@1": 0.0}, "q2": {}}


def test_sync():
    dataset = Dataset[Any, Any, Any](name="golden", cases=golden(), evaluators=[HitRateEvaluator(k=1)])
    with asyncio.Runner() as runner:
        runner.get_loop()  # pydantic-evals would leave its own open
        report = dataset.evaluate_sync(as_coroutine(FOUND.get), progress=False)
    assert report.averages().scores == {"hit_rate@1": 0.5}


# Names


def test_names_tell_rules_apart():
    evaluators = [
        HitRateEvaluator(k=1),
        HitRateEvaluator(k=1, unique=True),
        HitRateEvaluator(k=1, match=contains),
        HitRateEvaluator(k=1, name="mine"),
        HitRateEvaluator(k=(1, 2), name="bm25"),
    ]
    assert list(scores(run(golden(), evaluators, FOUND.get))["q2"]) == [
        "hit_rate@1",
        "hit_rate@1[unique]",
        "hit_rate@1[contains]",
        "mine",
        "bm25_hit_rate@1",
        "bm25_hit_rate@2",
    ]


# YAML


OPTIONS = {
    "k": (1, None),
    "metrics": ("hit_rate", "mrr@10"),
    "name": "bm25",
    "retrieved_key": "found",
    "relevant_key": "gold",
    "id_key": "source",
    "theta": 0.5,
    "match_on": "ids",
    "unique": True,
}


def test_every_option_but_a_matcher_comes_back_from_yaml():
    evaluator = HitRateEvaluator(**OPTIONS)
    (back,) = through_yaml(golden(), [evaluator]).evaluators
    assert back == evaluator
    assert {name: getattr(back, name) for name in OPTIONS} == OPTIONS
    assert list(back._score.metrics.items()) == list(evaluator._score.metrics.items())


@pytest.mark.parametrize("k", [5, None, (1, 5)])
def test_k_comes_back_from_yaml(k):
    (back,) = through_yaml(golden(), [HitRateEvaluator(k=k)]).evaluators
    assert back == HitRateEvaluator(k=k)


def test_a_hand_written_file(tmp_path):
    file = tmp_path / "golden.yaml"
    file.write_text(
        """
        name: golden
        cases:
        - name: q1
          inputs: How long do refunds take?
          expected_output: [d1]
        evaluators:
        - HitRateEvaluator: {k: [1, 2], metrics: hit_rate}
        """,
        encoding="utf-8",
    )
    dataset = Dataset[Any, Any, Any].from_file(file, custom_evaluator_types=[HitRateEvaluator])
    assert scores(run(dataset, [], lambda _: ["d2", "d1"])) == {"q1": {"hit_rate@1": 0.0, "hit_rate@2": 1.0}}


@pytest.mark.parametrize(
    ("options", "message"), [("k: 0", "k must be at least 1"), ("metrics: hits", "unknown metric")]
)
def test_a_bad_option_in_a_file_is_an_error(options, message, tmp_path):
    file = tmp_path / "golden.yaml"
    file.write_text(f"name: g\ncases: []\nevaluators:\n- HitRateEvaluator: {{{options}}}\n", encoding="utf-8")
    with pytest.raises(ExceptionGroup) as caught:
        Dataset[Any, Any, Any].from_file(file, custom_evaluator_types=[HitRateEvaluator])
    assert message in str(caught.value.exceptions)


@dataclass(repr=False)
class ContainsHitRate(HitRateEvaluator):
    match: Matcher | None = contains


def test_a_subclass_carries_a_matcher_through_yaml():
    gold = golden(q=["Refunds take five days. They go to the card that paid."])
    dataset = through_yaml(gold, [ContainsHitRate(k=1)], ContainsHitRate)
    assert dataset.evaluators == [ContainsHitRate(k=1)]
    report = run(dataset, [], lambda _: ["Refunds take five days."])
    assert scores(report) == {"q": {"hit_rate@1[contains]": 1.0}}


@pytest.mark.parametrize("suffix", ["yaml", "json"])
@pytest.mark.parametrize(
    ("options", "held"),
    [({"match": overlap(0.5)}, "{'k': 1, 'match': 'overlap(0.5)'}"), ({"id_key": len}, "{'k': 1, 'id_key': 'len'}")],
    ids=["match", "id_key"],
)
@pytest.mark.parametrize("of_a_case", [False, True])
def test_a_function_is_refused_before_a_file_is_written(options, held, suffix, of_a_case, tmp_path):
    evaluators = [HitRateEvaluator(k=1, **options)]
    cases = [Case(name="q", inputs="q", expected_output=["a"], evaluators=tuple(evaluators) if of_a_case else ())]
    dataset = Dataset[Any, Any, Any](name="golden", cases=cases, evaluators=[] if of_a_case else evaluators)
    file = tmp_path / f"golden.{suffix}"
    file.write_text("what was there before", encoding="utf-8")
    with pytest.raises(PydanticSerializationError, match="a file cannot hold the functions among") as refused:
        dataset.to_file(file, custom_evaluator_types=[HitRateEvaluator])
    assert held in str(refused.value)
    assert file.read_text(encoding="utf-8") == "what was there before"


def test_a_report_holds_functions_by_name():
    report = run(golden(q1=["d1"]), [HitRateEvaluator(k=1, match=contains)], FOUND.get)
    (case,) = EvaluationReportAdapter.validate_json(EvaluationReportAdapter.dump_json(report)).cases
    (score,) = case.scores.values()
    assert (score.value, score.source.arguments) == (0.0, {"k": 1, "match": "contains"})


def test_numbers_of_numpy_come_back_as_numbers():
    numpy = pytest.importorskip("numpy")
    evaluators = [
        HitRateEvaluator(k=numpy.int64(5), theta=numpy.float32(0.5)),
        HitRateEvaluator(k=numpy.array([1, 5])),
        HitRateEvaluator(metrics=[Metric("mrr", 10)]),
        HitRateEvaluator(metrics=Metric("mrr", 10)),
    ]
    assert through_yaml(golden(), evaluators).evaluators == [
        HitRateEvaluator(k=5, theta=0.5),
        HitRateEvaluator(k=(1, 5)),
        HitRateEvaluator(metrics=("mrr@10",)),
        HitRateEvaluator(metrics="mrr@10"),
    ]


# Where the items are


@dataclass
class Answer:
    text: str
    sources: list[str]


def test_items_of_an_output_object_and_of_the_metadata():
    cases = [Case(name="q", inputs="q", expected_output="Five days.", metadata={"gold": ["a"]})]
    evaluator = HitRateEvaluator(k=2, retrieved_key="sources", relevant_key="gold")
    assert scores(run(cases, [evaluator], lambda _: Answer("Five days.", ["x", "a"]))) == {"q": {"hit_rate@2": 1.0}}


def test_items_of_an_output_mapping_and_of_a_metadata_object():
    @dataclass
    class Labels:
        gold: list[str]

    cases = [Case(name="q", inputs="q", metadata=Labels(["a"]))]
    evaluator = HitRateEvaluator(k=1, retrieved_key="sources", relevant_key="gold")
    assert scores(run(cases, [evaluator], lambda _: {"sources": ["x", "a"]})) == {"q": {"hit_rate@1": 0.0}}


def test_items_of_a_property():
    class Lazy:
        __slots__ = ()

        @property
        def sources(self):
            return ["a"]

    report = run(golden(q=["a"]), [HitRateEvaluator(k=1, retrieved_key="sources")], lambda _: Lazy())
    assert scores(report) == {"q": {"hit_rate@1": 1.0}}


DOCUMENTS = [
    {"page_content": "Dogs are free.", "id": "1", "metadata": {"source": "dogs.md"}},
    {"page_content": "Refunds take five days.", "id": "2", "metadata": {"source": "refunds.md"}},
]


COLLECTIONS = {
    "tuple": tuple,
    "deque": deque,
    "values": lambda documents: {document["id"]: document for document in documents}.values(),
    "array": lambda documents: pytest.importorskip("numpy").array(documents, dtype=object),
    "series": lambda documents: pytest.importorskip("pandas").Series(documents),
}


@pytest.mark.parametrize(
    ("options", "gold"),
    [
        ({}, ["2"]),
        ({"id_key": "source"}, ["refunds.md"]),
        ({"match_on": "texts"}, ["Refunds take five days."]),
        ({"match": contains}, ["Refunds take five days. They go to the card."]),
        ({}, [DOCUMENTS[1]]),
    ],
)
def test_documents(options, gold):
    report = run(golden(q=gold), [HitRateEvaluator(k=(1, 2), name="x", **options)], lambda _: DOCUMENTS)
    assert scores(report) == {"q": {"x_hit_rate@1": 0.0, "x_hit_rate@2": 1.0}}


@pytest.mark.parametrize("make", COLLECTIONS.values(), ids=COLLECTIONS)
def test_collections_of_documents_are_rankings(make):
    report = run(golden(q=["2"]), [HitRateEvaluator(k=(1, 2))], lambda _: make(DOCUMENTS))
    assert scores(report) == {"q": {"hit_rate@1": 0.0, "hit_rate@2": 1.0}}


def test_a_ranking_by_score():
    number = UUID(int=7)
    found = {"a": 0.5, number: 0.4, "c": 0.9}
    report = run(golden(q=[str(number)]), [HitRateEvaluator(k=None, metrics="mrr")], lambda _: found)
    assert scores(report) == {"q": {"mrr": 1 / 3}}


@pytest.mark.parametrize("match_on", ["ids", "texts"])
def test_none_is_a_slot_that_never_hits(match_on):
    evaluator = HitRateEvaluator(k=(1, 2), name="x", match_on=match_on)
    report = run(golden(q=["a"]), [evaluator], lambda _: [None, "a"])
    assert scores(report) == {"q": {"x_hit_rate@1": 0.0, "x_hit_rate@2": 1.0}}


@pytest.mark.parametrize("side", ["retrieved", "relevant"])
@pytest.mark.parametrize("once", [iter, lambda items: map(str, items)], ids=["iter", "map"])
def test_what_only_one_evaluator_could_read_is_a_failure_of_each(side, once):
    gold, found = [once(["a"]) if side == name else ["a"] for name in ("relevant", "retrieved")]
    report = run(golden(q=gold), [HitRateEvaluator(k=1), HitRateEvaluator(k=1, name="two")], lambda _: found)
    assert scores(report) == {"q": {}}
    messages = [failure.error_message for failure in report.cases[0].evaluator_failures]
    assert len(messages) == 2
    assert all(f"{side} items are a " in message and "make a list of it" in message for message in messages)


def test_spans():
    chunks = [
        {"page_content": text, "metadata": {"source": "faq.md", "start_index": start}}
        for start, text in ((0, "Refunds take five days."), (24, "Dogs are free."))
    ]
    evaluator = HitRateEvaluator(k=(1, 2), match=span_overlap(0.5), name="x")
    report = run(golden(q=[["faq.md", 24, 38]]), [evaluator], lambda _: chunks)
    assert scores(report) == {"q": {"x_hit_rate@1": 0.0, "x_hit_rate@2": 1.0}}


def test_a_table_is_a_failure():
    pandas = pytest.importorskip("pandas")
    report = run(golden(q=["id"]), [HitRateEvaluator(k=1)], lambda _: pandas.DataFrame({"id": ["a"]}))
    (failure,) = report.cases[0].evaluator_failures
    assert "retrieved items are a DataFrame: pass the column that has them" in failure.error_message


def test_grades():
    report = run(golden(q={"a": 3, "b": 1, "c": 0}), [HitRateEvaluator(k=3, metrics="ndcg")], lambda _: ["b", "c", "a"])
    assert scores(report)["q"]["ndcg@3"] == pytest.approx(0.6885289)


# What cannot be scored


UNSCORED = {
    "no relevant items": ([], ["a"], "cannot be scored: the query has no relevant items"),
    "no expected output": (None, ["a"], "cannot be scored: the case has no expected_output"),
    "a string": (["a"], "a", "retrieved items are the string 'a'"),
    "nothing at all": (["a"], None, "retrieved items must be a list"),
    "a set": (["a"], {"a"}, "which has no order"),
    "None alone": (["a"], [None, None], "every retrieved item is None: where are the ids?"),
    "None with a score": (["a"], {None: 0.5}, "every retrieved item is None: where are the ids?"),
    "None among the relevant": ([None], ["a"], "None"),
    "no document": (["a"], [{"page_content": "x", "metadata": {}}], "id_key"),
}


@pytest.mark.parametrize("why", UNSCORED)
def test_what_cannot_be_scored_is_a_failure_with_the_reason_and_in_no_average(why):
    gold, found, message = UNSCORED[why]
    report = run(golden(good=["a"], bad=gold), [HitRateEvaluator(k=1)], {"good": ["a"], "bad": found}.get)
    assert scores(report) == {"good": {"hit_rate@1": 1.0}, "bad": {}}
    (failure,) = report.cases[1].evaluator_failures
    assert message in failure.error_message
    assert report.averages().scores == {"hit_rate@1": 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retrieved_key": "documents"}, "the output has no 'documents'; it has 'text', 'sources'"),
        ({"retrieved_key": "sources", "relevant_key": "gold"}, "the metadata has no 'gold'; it has nothing"),
    ],
)
def test_an_absent_key_is_a_failure_that_names_those_that_are_there(options, message):
    report = run(golden(q=["a"]), [HitRateEvaluator(k=1, **options)], lambda _: Answer("Five days.", ["a"]))
    assert message in report.cases[0].evaluator_failures[0].error_message


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"match_on": "id"}, ValueError, "match_on must be"),
        ({"match": contains, "id_key": "source"}, ValueError, "texts are compared, so no id is looked up"),
        ({"retrieved_key": 5}, TypeError, "retrieved_key must be a key, an attribute's name or None, got 5"),
        ({"relevant_key": len}, TypeError, "relevant_key must be .* got <built-in function len>"),
        ({"metrics": 5}, TypeError, "metrics must be a name such as 'hit_rate@5', or several; got 5"),
        ({"name": 5}, TypeError, "name must be a str or None, got 5"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        HitRateEvaluator(**options)


def test_is_an_evaluator_with_a_short_repr():
    assert isinstance(HitRateEvaluator(), Evaluator)
    assert repr(HitRateEvaluator(k=5)) == "HitRateEvaluator(k=5)"


# What a report comes to


def test_evaluation_has_the_averages_of_the_report():
    evaluator = HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10", "ndcg"), match=contains)
    gold = golden(q1=["Refunds take five days."], q2=["Dogs are free."], q3=["Bikes cost two euros."])
    report = run(gold, [evaluator], {"q1": ["x", "Refunds take five days."], "q2": ["Dogs are free."], "q3": []}.get)
    evaluation = evaluator.evaluation(EvaluationReportAdapter.validate_json(EvaluationReportAdapter.dump_json(report)))
    averages = report.averages().scores
    assert averages["hit_rate@1[contains]"] == pytest.approx(1 / 3)
    assert {name: float(evaluation.score(metric)) for name, metric in evaluator._score.metrics.items()} == averages
    assert evaluation.misses(2) == ("q3",)


def test_evaluation_reads_as_the_evaluator_does():
    evaluator = HitRateEvaluator(k=1, retrieved_key="sources", relevant_key="gold", id_key="source", unique=True)
    cases = [Case(name="q", inputs="q", metadata={"gold": ["refunds.md"]})]
    found = [DOCUMENTS[0], DOCUMENTS[0], DOCUMENTS[1]]
    report = run(cases, [evaluator], lambda _: {"sources": found})
    assert evaluator.evaluation(report)["q"].hit_ranks == (2,)


def test_evaluation_counts_a_failed_task_and_names_what_cannot_be_scored():
    def task(query):
        if query == "failed":
            raise ConnectionError("the index is down")
        return "a" if query == "string" else ["a"]

    cases = golden(good=["a"], failed=["a"], unlabelled=[], none=None, string=["a"])
    evaluator = HitRateEvaluator(k=1)
    report = run(cases, [evaluator], task)
    assert report.averages().scores == {"hit_rate@1": 1.0}
    evaluation = evaluator.evaluation(report)
    assert evaluation.hit_rate(1) == 0.5
    assert evaluation.misses(1) == ("failed",)
    assert "the index is down" in str(evaluation.errors["failed"])
    assert set(evaluation.unscored) == {"unlabelled", "none", "string"}
    assert set(evaluation.faults) == {"none", "string"}
    assert "the case has no expected_output" in str(evaluation.faults["none"])
    assert "retrieved items are the string 'a'" in str(evaluation.faults["string"])


def test_evaluation_of_repetitions():
    dataset = Dataset[Any, Any, Any](name="golden", cases=golden(), evaluators=[HitRateEvaluator(k=1)])
    with asyncio.Runner() as runner:
        report = runner.run(dataset.evaluate(as_coroutine(FOUND.get), progress=False, repeat=2))
    assert set(HitRateEvaluator().evaluation(report)) == {"q1", "q1 #2", "q2", "q2 #2"}


def test_repetitions_of_which_one_failed_keep_their_numbers():
    calls = []

    def flaky(query):
        calls.append(query)
        if calls == ["q1"]:
            raise ConnectionError("the index is down")
        return FOUND[query]

    dataset = Dataset[Any, Any, Any](name="golden", cases=golden(), evaluators=[HitRateEvaluator(k=2)])
    with asyncio.Runner() as runner:
        report = runner.run(dataset.evaluate(as_coroutine(flaky), progress=False, repeat=2, max_concurrency=1))
    assert [case.name for case in report.failures] == ["q1 [1/2]"]
    evaluation = HitRateEvaluator().evaluation(report)
    assert set(evaluation) == {"q1", "q2", "q1 #2", "q2 #2"}
    assert (list(evaluation.errors), evaluation.misses(2)) == (["q1"], ("q1",))


def test_grades_of_whole_numbers_come_back_from_a_file_where_the_dataset_is_typed():
    cases = [Case(name="q", inputs="q", expected_output={7: 2})]
    evaluators = [HitRateEvaluator(k=1)]
    for typed, expect in ((Dataset[Any, dict[int, int], Any], {"hit_rate@1": 1.0}), (Dataset[Any, Any, Any], {})):
        with TemporaryDirectory() as folder:
            file = Path(folder, "golden.yaml")
            typed(name="golden", cases=cases, evaluators=evaluators).to_file(
                file, custom_evaluator_types=[HitRateEvaluator]
            )
            report = run(typed.from_file(file, custom_evaluator_types=[HitRateEvaluator]), [], lambda _: [7])
        assert report.averages().scores == expect
    (failure,) = report.cases[0].evaluator_failures
    assert "one side has the key '7', a string, the other 7, a number" in failure.error_message


def test_evaluation_of_nothing_that_can_be_read_says_why():
    report = run(golden(q=["a"]), [], lambda _: {"ids": ["a"]})
    with pytest.raises(ValueError, match="the output has no 'documents'; it has 'ids'"):
        HitRateEvaluator(retrieved_key="documents").evaluation(report)


# The example


def test_example(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = importlib.import_module("pydantic_evals_example")
    report = run(example.DATASET, [], example.retrieve)
    assert report.averages().scores == {"hit_rate@1": 1 / 3, "hit_rate@2": 2 / 3, "mrr@10": 0.5}
    assert [case.name for case in report.cases if case.evaluator_failures] == ["bank"]
