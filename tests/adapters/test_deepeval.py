"""DeepEval: `evaluate`, async and not, `assert_test` and `measure` agree; what cannot be scored never fails as a 0."""

import asyncio
import importlib
import inspect
import json
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from deepeval import assert_test, evaluate
from deepeval.constants import PYTEST_RUN_TEST_NAME
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import ExactMatchMetric
from deepeval.test_case import LLMTestCase, RetrievedContextData

from hitrate_adapters import Metric, contains, span_overlap
from hitrate_adapters.deepeval import (
    HitRateAtK,
    HitRateEvaluator,
    MAPAtK,
    MRRAtK,
    NDCGAtK,
    PrecisionAtK,
    RecallAtK,
)
from tests.adapters.cases import evaluated

ROOT = Path(__file__).parents[2]
CLASSES = {
    "hit_rate": HitRateAtK,
    "recall": RecallAtK,
    "precision": PrecisionAtK,
    "mrr": MRRAtK,
    "map": MAPAtK,
    "ndcg": NDCGAtK,
}


@contextmanager
def alone():
    """Keep DeepEval's files out of the working directory, and close its event loop: one that it makes stays open."""
    with TemporaryDirectory() as folder, chdir(folder), asyncio.Runner() as runner:
        runner.get_loop()
        yield


@pytest.fixture(autouse=True)
def each_test_alone():
    with alone():
        yield


# The conformance table


def drive(case):
    rows = [test_case(query, case.match_on, case.relevant[query], case.retrieved[query]) for query in case.relevant]
    metrics = []
    for spec in case.expect:
        metric = Metric.parse(spec)
        theta = {} if metric.theta is None else {"theta": metric.theta}
        metrics.append(CLASSES[metric.name](metric.k, name=spec, match=case.match, unique=case.unique, **theta))
    at_once = HitRateEvaluator(k=None, metrics=list(case.expect), match=case.match, unique=case.unique)

    values = by_metric(run(rows, metrics))
    assert values == evaluated(case, at_once.evaluation, rows)
    assert values == by_metric(run(rows, metrics, run_async=False))
    assert list(values.values()) == list(by_metric(run(rows, at_once)).values())
    for metric in metrics:
        assert values[metric.name] == {row.name: metric.measure(row) for row in rows}
        with asyncio.Runner() as runner:
            assert values[metric.name] == {row.name: runner.run(metric.a_measure(row)) for row in rows}
    return values


def build(**configuration):
    return HitRateAtK(**configuration)


def test_case(name, match_on, relevant, retrieved):
    if match_on == "ids":
        items = {"metadata": {"relevant_ids": relevant, "retrieved_ids": retrieved}}
    else:
        items = {"context": relevant, "retrieval_context": retrieved}
    return LLMTestCase(name=name, input=f"the question {name}", actual_output="an answer", **items)


test_case.__test__ = False  # it makes one of DeepEval's


def run(rows, metrics, *, run_async=True, **errors):
    """Give DeepEval's results by the test cases' names."""
    return {result.name: result for result in report(rows, metrics, run_async=run_async, **errors)}


def report(rows, metrics, *, run_async=True, **errors):
    with alone():
        return evaluate(
            rows,
            metrics,
            async_config=AsyncConfig(run_async=run_async),
            display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
            cache_config=CacheConfig(write_cache=False),
            error_config=ErrorConfig(**errors),
        ).test_results


def by_metric(results):
    """Give metric -> test case -> score; a test case that has no score has no verdict either, but a reason."""
    values = {}
    for name, result in results.items():
        for data in result.metrics_data:
            values.setdefault(data.name, {})[name] = data.score
            assert (data.score is None) == (data.success is None)
            assert data.reason
            assert data.error is None
    return values


HIT = test_case("hit", "ids", ["d1"], ["d2", "d1"])
MISS = test_case("miss", "ids", ["d1"], ["d2", "d3"])
UNLABELLED = test_case("unlabelled", "ids", [], ["d2", "d3"])
EMPTY = test_case("empty", "ids", ["d1"], [])
BARE = LLMTestCase(name="bare", input="?", actual_output="an answer")
BOTH_MODES = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])


# In evaluate


@BOTH_MODES
def test_stands_beside_other_metrics(run_async):
    rows = [HIT.model_copy(update={"expected_output": "an answer"})]
    result = run(rows, [*HitRateEvaluator(k=(1, 2)), ExactMatchMetric()], run_async=run_async)["hit"]
    assert [(data.name, data.score, data.success) for data in result.metrics_data] == [
        ("hit_rate@1", 0.0, False),
        ("hit_rate@2", 1.0, True),
        ("Exact Match", 1.0, True),
    ]
    assert result.success is False


def test_is_a_list_of_metrics():
    evaluator = HitRateEvaluator(k=(1, 5), metrics=("hit_rate", "mrr@10"), threshold=0.8)
    assert [(metric.name, metric.threshold) for metric in evaluator] == [
        ("hit_rate@1", 0.8),
        ("hit_rate@5", 0.8),
        ("mrr@10", 0.8),
    ]
    assert [data.name for data in run([HIT], evaluator)["hit"].metrics_data] == ["hit_rate@1", "hit_rate@5", "mrr@10"]


def test_the_names_of_several_have_one_beginning():
    evaluator = HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10"), name="bm25", retrieved_key="found")
    assert [metric.name for metric in evaluator] == ["bm25_hit_rate@1", "bm25_hit_rate@2", "bm25_mrr@10"]
    row = LLMTestCase(name="q", input="?", metadata={"found": ["x", "a"], "relevant_ids": ["a"]})
    assert {data.name: data.score for data in run([row], evaluator)["q"].metrics_data} == {
        "bm25_hit_rate@1": 0.0,
        "bm25_hit_rate@2": 1.0,
        "bm25_mrr@10": 0.5,
    }
    assert [metric.name for metric in HitRateEvaluator(k=5, name="mine")] == ["mine"]


@pytest.mark.parametrize(("name", "error"), [(" ", ValueError), (5, TypeError)])
def test_bad_names(name, error):
    for build_one in (HitRateAtK, HitRateEvaluator):
        with pytest.raises(error, match="name must"):
            build_one(5, name=name)


def test_every_option_of_a_metric_is_one_of_several():
    options = {
        "threshold": 0.25,
        "theta": 0.5,
        "match_on": "ids",
        "match": str.__eq__,
        "unique": True,
        "retrieved_key": "found",
        "relevant_key": "wanted",
        "name": "mine",
    }
    assert options.keys() == inspect.signature(HitRateAtK).parameters.keys() - {"k"}
    (metric,) = HitRateEvaluator(k=3, **options)
    assert {name: getattr(metric, name) for name in options} == options


@BOTH_MODES
def test_rows_keep_their_own_scores_in_a_concurrent_run(run_async):
    rows = [test_case(str(at), "ids", ["d1"], ["x"] * at + ["d1"]) for at in range(40)]
    values = by_metric(run(rows, [MRRAtK(name="mrr")], run_async=run_async))["mrr"]
    assert [values[str(at)] for at in (0, 1, 3, 4, 39)] == [1.0, 0.5, 0.25, 0.2, 0.025]


def test_every_option_survives_the_copies_that_evaluate_makes():
    options = {
        "k": 3,
        "threshold": 0.25,
        "name": "mine",
        "theta": 0.5,
        "match_on": "ids",
        "match": str.__eq__,
        "unique": True,
        "retrieved_key": "found",
        "relevant_key": "wanted",
    }
    assert options.keys() == inspect.signature(HitRateAtK).parameters.keys()
    metric = HitRateAtK(**options)
    assert {name: getattr(metric, name) for name in options} == options
    row = LLMTestCase(name="q", input="?", metadata={"found": ["x", "x", "a", "y"], "wanted": ["a", "b"]})
    (data,) = run([row], [metric])["q"].metrics_data
    assert (data.name, data.score, data.threshold, data.success) == ("mine", 1.0, 0.25, True)


@BOTH_MODES
def test_reason(run_async):
    (data,) = run([HIT], [HitRateAtK(5)], run_async=run_async)["hit"].metrics_data
    assert data.reason == "first relevant item at rank 2; 1 of 1 relevant in the top 5 (matched on ids)"


@BOTH_MODES
def test_the_cache_does_not_answer_for_other_ids(run_async):
    Path(".deepeval").mkdir()  # which DeepEval makes where it is imported
    texts = {"input": "?", "actual_output": "!"}
    scores = []
    for found in (["d1"], ["d2"]):
        row = LLMTestCase(**texts, metadata={"relevant_ids": ["d1"], "retrieved_ids": found})
        result = evaluate(
            [row],
            [HitRateAtK(1)],
            async_config=AsyncConfig(run_async=run_async),
            display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
            cache_config=CacheConfig(write_cache=True, use_cache=True),
        )
        scores.append(result.test_results[0].metrics_data[0].score)
    assert scores == [1.0, 0.0]


# The threshold


@pytest.mark.parametrize(("threshold", "success"), [(0.5, True), (0.51, False), (0, True), (1, False), (None, None)])
@BOTH_MODES
def test_threshold(threshold, success, run_async):
    row = test_case("half", "ids", ["a", "b"], ["a", "x"])
    metrics = [RecallAtK(2, threshold=threshold), HitRateAtK(2)]  # DeepEval wants one that has a threshold
    data, _ = run([row], metrics, run_async=run_async)["half"].metrics_data
    assert (data.score, data.success) == (0.5, success)


@pytest.mark.parametrize(
    ("threshold", "error"), [(1.5, ValueError), ("0.5", TypeError), (True, TypeError), (float("nan"), ValueError)]
)
def test_bad_threshold(threshold, error):
    with pytest.raises(error, match="threshold"):
        HitRateAtK(5, threshold=threshold)


def test_bad_match_on():
    with pytest.raises(ValueError, match=r"match_on must be .*, got 'id'"):
        HitRateAtK(5, match_on="id")


# In assert_test


@BOTH_MODES
def test_assert_test_passes(run_async):
    assert_test(HIT, [HitRateAtK(2)], run_async=run_async)


@BOTH_MODES
@pytest.mark.parametrize("row", [MISS, EMPTY], ids=lambda row: row.name)
def test_assert_test_fails(row, run_async):
    with pytest.raises(AssertionError, match=r"hit_rate@2 \(score: 0.0, threshold: 0.5.* retrieved"):
        assert_test(row, [HitRateAtK(2)], run_async=run_async)


@BOTH_MODES
def test_assert_test_does_not_fail_what_cannot_be_scored(run_async):
    assert_test(UNLABELLED, [HitRateAtK(2)], run_async=run_async)
    assert_test(UNLABELLED, [HitRateAtK(2), PrecisionAtK(1)], run_async=run_async)


# What cannot be scored


@BOTH_MODES
def test_no_relevant_items_is_no_verdict_with_a_reason(run_async):
    (data,) = run([UNLABELLED], [HitRateAtK(2)], run_async=run_async)["unlabelled"].metrics_data
    assert (data.score, data.success, data.error) == (None, None, None)
    assert data.reason == "cannot be scored: the query has no relevant items (matched on ids)"


@BOTH_MODES
def test_no_relevant_items_are_in_no_mean(run_async, tmp_path):
    evaluate(
        [HIT, MISS, UNLABELLED],
        [HitRateAtK(2)],
        async_config=AsyncConfig(run_async=run_async),
        display_config=DisplayConfig(
            show_indicator=False, print_results=False, inspect_after_run=False, results_folder=str(tmp_path / "out")
        ),
    )
    (file,) = (tmp_path / "out").rglob("*.json")
    (scores,) = json.loads(file.read_text(encoding="utf-8"))["metricsScores"]
    assert sorted(scores["scores"]) == [0.0, 1.0]
    assert (scores["passes"], scores["fails"], scores["errors"]) == (1, 1, 1)


@BOTH_MODES
def test_a_score_does_not_outlive_its_row(run_async):
    results = run([HIT, UNLABELLED, BARE, MISS], [HitRateAtK(2)], run_async=run_async, ignore_errors=True)
    assert {name: result.metrics_data[0].score for name, result in results.items()} == {
        "hit": 1.0,
        "unlabelled": None,
        "bare": None,
        "miss": 0.0,
    }
    metric = HitRateAtK(2)
    metric.measure(HIT)
    with pytest.raises(MissingTestCaseParamsError):
        metric.measure(BARE)
    assert (metric.score, metric.reason) == (None, None)


NEEDS = r"hit_rate@2 needs metadata\['relevant_ids'\] and metadata\['retrieved_ids'\], or context and retrieval_context"


@BOTH_MODES
def test_missing_items_are_skipped_where_asked(run_async):
    results = run([HIT, BARE], [HitRateAtK(2)], run_async=run_async, skip_on_missing_params=True)
    assert results["bare"].metrics_data is None or results["bare"].metrics_data == []
    assert results["hit"].metrics_data[0].score == 1.0


@BOTH_MODES
def test_missing_items_are_errors_where_asked(run_async):
    results = run([HIT, BARE], [HitRateAtK(2)], run_async=run_async, ignore_errors=True)
    (data,) = results["bare"].metrics_data
    assert data.score is None
    assert data.error is not None
    assert results["hit"].metrics_data[0].score == 1.0


@BOTH_MODES
def test_missing_items_stop_the_run_by_default_as_in_deepeval(run_async):
    with pytest.raises(MissingTestCaseParamsError, match=NEEDS):
        run([HIT, BARE], [HitRateAtK(2)], run_async=run_async)


@pytest.mark.parametrize(
    ("match_on", "needs"),
    [
        ("ids", r"hit_rate needs metadata\['relevant_ids'\] and metadata\['retrieved_ids'\] of"),
        ("texts", r"hit_rate needs context and retrieval_context of"),
    ],
)
def test_one_side_alone_is_missing(match_on, needs):
    row = LLMTestCase(input="?", context=["a"], metadata={"relevant_ids": ["a"]})
    with pytest.raises(MissingTestCaseParamsError, match=needs):
        HitRateAtK(name="hit_rate", match_on=match_on).measure(row)


BAD = {
    "a string": ({"relevant_ids": "d1", "retrieved_ids": ["d1"]}, "relevant items are the string 'd1'"),
    "a set": ({"relevant_ids": ["d1"], "retrieved_ids": {"d1"}}, "which has no order"),
    "None alone": ({"relevant_ids": ["d1"], "retrieved_ids": [None, None]}, "every retrieved item is None"),
    "a number": ({"relevant_ids": ["d1"], "retrieved_ids": 7}, "retrieved items must be a list"),
    "no id": ({"relevant_ids": [None], "retrieved_ids": ["d1"]}, "None"),
    "no hash": ({"relevant_ids": [["d1"]], "retrieved_ids": ["d1"]}, "['d1'] (list), which is no id"),
    "True": ({"relevant_ids": [1], "retrieved_ids": [True]}, "True (bool)"),
    "True in the gold": ({"relevant_ids": [True], "retrieved_ids": [1]}, "True (bool), which is no id"),
    "a float": ({"relevant_ids": [1], "retrieved_ids": [1.0]}, "1.0 (float)"),
    "blank": ({"relevant_ids": [""], "retrieved_ids": [""]}, "'' (str), which is no id"),
}


@BOTH_MODES
@pytest.mark.parametrize("bad", BAD)
def test_bad_items_are_an_error_of_their_row_alone(bad, run_async):
    metadata, message = BAD[bad]
    rows = [HIT, LLMTestCase(name="bad", input="?", actual_output="!", metadata=metadata), MISS]
    results = run(rows, [HitRateAtK(2)], run_async=run_async, ignore_errors=True)
    (data,) = results["bad"].metrics_data
    assert data.score is None
    assert message in data.error
    assert [results[name].metrics_data[0].score for name in ("hit", "miss")] == [1.0, 0.0]


# Ids, texts and spans


TEXTS = {"context": ["Refunds take five days."], "retrieval_context": ["Dogs are free.", "Refunds take five days."]}


def test_auto_takes_ids_where_both_sides_have_them():
    row = LLMTestCase(input="?", **TEXTS, metadata={"relevant_ids": ["d1"], "retrieved_ids": ["d2"]})
    assert HitRateAtK().measure(row) == 0.0
    assert HitRateAtK(match_on="texts").measure(row) == 1.0


def test_auto_takes_texts_where_a_side_of_ids_is_missing():
    row = LLMTestCase(input="?", **TEXTS, metadata={"relevant_ids": ["d1"]})
    metric = HitRateAtK()
    assert metric.measure(row) == 1.0
    assert metric.reason.endswith("(matched on texts)")


def test_none_among_the_retrieved_is_a_slot():
    row = LLMTestCase(input="?", metadata={"relevant_ids": ["d1"], "retrieved_ids": [None, "d1"]})
    assert [HitRateAtK(k).measure(row) for k in (1, 2)] == [0.0, 1.0]


def test_places_in_documents_stand_where_ids_do():
    row = LLMTestCase(
        name="q",
        input="?",
        **TEXTS,
        metadata={"relevant_ids": [["faq.md", 20, 40]], "retrieved_ids": [["faq.md", 0, 10], ["faq.md", 10, 35]]},
    )
    data = run([row], HitRateEvaluator(k=(1, 2), match=span_overlap(0.5)))["q"].metrics_data
    assert [(each.name, each.score) for each in data] == [
        ("hit_rate@1[span_overlap(0.5)]", 0.0),
        ("hit_rate@2[span_overlap(0.5)]", 1.0),
    ]


def test_a_matcher_takes_texts():
    row = LLMTestCase(
        input="?",
        context=["Refunds take five days. They go to the card."],
        retrieval_context=["Refunds take five days."],
        metadata={"relevant_ids": ["d1"], "retrieved_ids": ["d2"]},
    )
    metric = HitRateAtK(1, match=contains)
    assert (metric.measure(row), metric.name) == (1.0, "hit_rate@1[contains]")


def test_contexts_with_a_source_are_compared_by_their_text():
    found = [RetrievedContextData(context="Refunds take five days.", source="faq.md")]
    row = LLMTestCase(name="q", input="?", context=["Refunds take five days."], retrieval_context=found)
    assert run([row], [HitRateAtK(1)])["q"].metrics_data[0].score == 1.0


def test_grades():
    row = LLMTestCase(input="?", metadata={"relevant_ids": {"a": 3, "b": 1, "c": 0}, "retrieved_ids": ["b", "c", "a"]})
    assert NDCGAtK(3).measure(row) == pytest.approx(0.6885289)
    assert RecallAtK(3).measure(row) == 1.0


def test_own_keys():
    row = LLMTestCase(input="?", metadata={"sources": ["a.md", "a.md", "b.md"], "gold": ["b.md"]})
    keys = {"retrieved_key": "sources", "relevant_key": "gold"}
    assert HitRateAtK(2, **keys).measure(row) == 0.0
    assert HitRateAtK(2, unique=True, **keys).measure(row) == 1.0
    assert [metric.measure(row) for metric in HitRateEvaluator(k=(2, 3), **keys)] == [0.0, 1.0]


# The example


def test_example(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = importlib.import_module("deepeval_example")
    results = run(example.CASES, example.METRICS)
    assert {name: [data.score for data in result.metrics_data] for name, result in results.items()} == {
        "refund-time": [0.0, 1.0, 0.5],
        "refund-way": [0.0, 0.0, 0.0],
        "dogs": [1.0, 1.0, 1.0],
        "bank": [None, None, None],
    }


def test_metrics_of_two_retrievers_have_two_names():
    names = [HitRateAtK(1, retrieved_key=key).name for key in ("bm25_ids", "dense_ids", "retrieved_ids")]
    assert names == ["hit_rate@1 bm25_ids", "hit_rate@1 dense_ids", "hit_rate@1"]
    assert HitRateAtK(1, relevant_key="gold").name == "hit_rate@1 gold"


# What test cases come to


def test_evaluation_has_the_means_of_the_report(monkeypatch):
    monkeypatch.delenv(PYTEST_RUN_TEST_NAME, raising=False)  # by which its plugin names test cases
    cases = [
        test_case("refunds", "ids", ["r1"], ["x", "r1"]),
        test_case(None, "ids", ["d1"], ["d1"]),
        test_case("refunds", "texts", ["Refunds take five days."], []),
        test_case("bank", "ids", [], ["b1"]),
        test_case("bar", "ids", ["b1"], "b1"),
        LLMTestCase(name="zoo", input="Is there a zoo?"),
    ]
    evaluator = HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10"))
    judged = evaluator.evaluation(cases)
    assert set(judged) == {"refunds", "test_case_1", "refunds #2"}
    assert set(judged.unscored) == {"bank", "bar", "zoo"}
    results = report(cases, evaluator, ignore_errors=True)
    assert "test_case_1" in {result.name for result in results}
    scores = {}
    for result in results:
        for data in result.metrics_data:
            scores.setdefault(data.name, []).append(data.score)
    means = {name: sum(filter(None, values)) / 3 for name, values in scores.items()}
    assert means == {name: pytest.approx(float(judged.score(name))) for name in ("hit_rate@1", "hit_rate@2", "mrr@10")}
    assert means["hit_rate@2"] == pytest.approx(2 / 3)


def test_evaluation_takes_test_cases_of_which_one_can_be_scored():
    evaluator = HitRateEvaluator(match=contains)
    cases = [test_case("refunds", "texts", ["Refunds"], [])]
    assert evaluator.evaluation(cases)["refunds"].n_retrieved == 0
    with pytest.raises(TypeError, match=r"the test cases that `evaluate` was given, got TestResult"):
        evaluator.evaluation(report(cases, evaluator))
    with pytest.raises(MissingTestCaseParamsError, match=r"needs context and retrieval_context"):
        evaluator.evaluation([test_case("refunds", "ids", ["r1"], ["r1"])])


@pytest.mark.parametrize("wrong", [True, " "])
def test_a_plain_id_that_is_none_is_spoken_of_as_one(wrong):
    with pytest.raises(ValueError, match=r"a retrieved item is .* which is no id: ids are strings that are not blank"):
        HitRateAtK(1).measure(test_case("q", "ids", ["d1"], [wrong]))
