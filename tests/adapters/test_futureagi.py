"""Future AGI without Future AGI: `evaluate`, single and in batches, of JSON and of lists."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hitrate_adapters import Metric, contains
from hitrate_adapters.futureagi import METRIC_OF, Result, Results, evaluate
from tests.adapters.cases import evaluated

NAMES = {ours: theirs for theirs, ours in METRIC_OF.items()}


def arguments(spec, case):
    """Return what is passed to their `evaluate` for a metric of a case: their name of it, k and theta."""
    metric = Metric.parse(spec)
    options = {"k": metric.k, "theta": metric.theta, "match": case.match, "unique": case.unique}
    return NAMES[metric.name], {name: value for name, value in options.items() if value is not None}


def by_number(case, spec):
    """Return a case of one metric with its queries numbered, as the rows of a batch are."""
    relevant, expect = dict(enumerate(case.relevant.values())), dict(enumerate(case.expect[spec].values()))
    return replace(case, relevant=relevant, expect={spec: expect})


def drive(case):
    """Run a case as one batch of JSON or of lists, or row by row."""
    form = (json.dumps, list)[len(case.name) % 2]
    found = {}
    for spec in case.expect:
        name, options = arguments(spec, case)
        hypothesis = [form(case.retrieved[query]) for query in case.relevant]
        reference = [form(case.relevant[query]) for query in case.relevant]
        if len(case.name) % 3:
            results = evaluate(name, hypothesis=hypothesis, reference=reference, **options)
            by_row = evaluated(by_number(case, spec), lambda results: results.evaluation, results)
            assert list(by_row[spec].values()) == [result.score for result in results]
        else:
            rows = zip(hypothesis, reference, strict=True)
            results = [evaluate(name, hypothesis=one, reference=other, **options) for one, other in rows]
        found[spec] = {query: result.score for query, result in zip(case.relevant, results, strict=True)}
    return found


def build(**configuration):
    return evaluate("hit_rate", hypothesis=["a"], reference=["a"], **configuration)


PARIS = "Paris is the capital of France."


def hit(hypothesis, reference, **options):
    return evaluate("hit_rate", hypothesis=hypothesis, reference=reference, **options)


# --- what a row shows


def test_one_query_of_json():
    result = hit(json.dumps(["Water is wet.", PARIS]), json.dumps([PARIS]))
    assert result == Result(
        "hit_rate", 1.0, "first relevant item at rank 2; 1 of 1 relevant in all 2 retrieved", "completed"
    )
    assert (result.passed, result.error) == (True, None)


def test_a_miss():
    result = hit(json.dumps(["Water is wet."]), json.dumps([PARIS]))
    assert (result.score, result.passed, result.reason) == (0.0, False, "no relevant item among 1 retrieved")


def test_an_empty_list_is_a_miss():
    result = hit("[]", '["a"]')
    assert (result.score, result.status, result.reason) == (0.0, "completed", "nothing was retrieved")


@pytest.mark.parametrize("hypothesis", ["[]", '["a"]', [], ["a"]], ids=repr)
@pytest.mark.parametrize("reference", ["[]", []], ids=repr)
def test_an_empty_reference_is_skipped(hypothesis, reference):
    result = hit(hypothesis, reference)
    assert (result.score, result.passed, result.error, result.status) == (None, None, None, "skipped")
    assert result.reason == "cannot be scored: the query has no relevant items"


@pytest.mark.parametrize(
    ("hypothesis", "reason"),
    [
        ('["a"', "ValueError: hypothesis is no JSON (.*): '[\"a\"'"),
        ("Paris", "ValueError: hypothesis is no JSON (.*): 'Paris'"),
        ("", "ValueError: hypothesis is no JSON (.*): ''"),
        ("['a']", "ValueError: hypothesis is no JSON"),
        ("[" * 100_000, "ValueError: hypothesis is no JSON (maximum recursion depth exceeded"),
        ('"abc"', "TypeError: hypothesis must be a list, or one as JSON; found 'abc' (str)"),
        ("7", "TypeError: .* found 7 (int)"),
        ("null", "TypeError: .* found None (NoneType)"),
        (None, "TypeError: .* found None (NoneType)"),
        ({"a", "b"}, "TypeError: .* (set)"),
        ('[{"text": "a"}]', "ValueError: hypothesis holds {'text': 'a'} (dict): an item is a str"),
        ('[["a"], ["b"]]', "ValueError: hypothesis holds ['a'] (list)"),
        ("[1.5]", "ValueError: hypothesis holds 1.5 (float)"),
        ("[NaN]", "ValueError: hypothesis holds nan (float)"),
        ("[true]", "ValueError: hypothesis holds True (bool)"),
        ('{"a": "high"}', "TypeError: the score of 'a' must be a number"),
        ('{"a": 2, "b": 1, "a": 0}', "ValueError: hypothesis is no JSON ('a' has two values)"),
        ({1: 0.5, "1": 0.4}, "ValueError: '1' has two values"),
        ([{"text": "a"}], "ValueError: hypothesis holds {'text': 'a'} (dict)"),
    ],
    ids=lambda given: repr(given)[:40],
)
def test_what_cannot_be_read_is_failed(hypothesis, reason):
    result = hit(hypothesis, '["a"]')
    assert (result.score, result.passed, result.status) == (None, None, "failed")
    assert result.error == result.reason
    for part in reason.split(".*"):
        assert part.strip() in result.reason


def test_the_same_bad_json_twice_is_no_hit():
    assert hit('["a"', '["a"').status == "failed"


def test_none_in_the_reference_is_failed():
    result = hit(["a"], ["a", None])
    assert (result.status, result.reason) == (
        "failed",
        "ValueError: reference holds None (NoneType): an item is a str, or an int as an id",
    )


@pytest.mark.parametrize("reference", [[""], ["a", " "], '["\\n"]', {"": 1}], ids=repr)
def test_blank_text_in_the_reference_is_failed(reference):
    result = hit(["", "a"], reference)
    assert (result.score, result.status) == (None, "failed")
    assert result.reason == "ValueError: reference holds blank text, which nothing can match: leave it out"


def test_blank_text_in_the_hypothesis_is_a_slot():
    assert evaluate("mrr", hypothesis=["", " ", "a"], reference=["a"]).score == 1 / 3
    assert hit(["", "a"], ["a"], k=1).score == 0.0


def test_none_in_the_hypothesis_is_a_slot():
    assert evaluate("mrr", hypothesis="[null, null]", reference='["a"]').score == 0.0
    assert evaluate("mrr", hypothesis='[null, null, "a"]', reference='["a"]').score == 1 / 3


def test_a_matcher_that_raises_is_failed():
    result = hit(["a"], ["b"], match=lambda retrieved, relevant: 1 / 0)
    assert (result.status, result.reason) == ("failed", "ZeroDivisionError: division by zero")


def test_ids_are_equal_as_strings():
    assert hit("[7, 8]", '["8"]').score == 1.0
    assert hit([7], ["07"]).score == 0.0


def test_plain_lists_are_one_query():
    assert hit(["Water is wet.", PARIS], [PARIS], k=1).score == 0.0
    assert hit(("Water is wet.", PARIS), (PARIS,), k=2).score == 1.0
    assert hit([], [PARIS]).score == 0.0


def test_grades():
    grades = {"a": 3, "b": 1, "c": 0}
    for reference in (grades, json.dumps(grades)):
        result = evaluate("ndcg_at_k", hypothesis='["b", "a"]', reference=reference, k=2)
        assert result.score == pytest.approx(0.7967075809905066)
        assert hit('["c"]', reference).score == 0.0


def test_scores_put_the_retrieved_in_order():
    assert hit({"a": 0.1, "b": 0.9}, ["a"], k=1).score == 0.0


# --- batches

HYPOTHESIS = [["Water is wet.", PARIS], ["Water is wet."], []]
REFERENCE = [[PARIS], [PARIS], []]


@pytest.mark.parametrize("form", [json.dumps, list, tuple], ids=lambda form: form.__name__)
def test_a_batch_has_a_result_for_each_row(form):
    results = hit([form(row) for row in HYPOTHESIS], [form(row) for row in REFERENCE], k=2)
    assert isinstance(results, Results)
    assert [(result.score, result.status) for result in results] == [
        (1.0, "completed"),
        (0.0, "completed"),
        (None, "skipped"),
    ]


def test_the_mean_is_of_the_rows_with_a_score():
    mean = hit(HYPOTHESIS, REFERENCE, k=2).mean
    assert (mean, mean.n, str(mean.metric)) == (0.5, 2, "hit_rate@2")
    assert mean.interval == pytest.approx((0.094531, 0.905469), abs=1e-6)
    assert hit([["a"]], [[]]).mean is None


def test_a_row_that_fails_loses_no_other():
    results = hit(['["a"]', "oops", '["a"]'], ['["a"]', '["a"]', "oops"])
    assert [result.status for result in results] == ["completed", "failed", "failed"]
    assert results.mean == 1.0


def test_rows_of_two_forms():
    results = hit(['["a"]', ["b"]], [["a"], '{"b": 2}'])
    assert [result.score for result in results] == [1.0, 1.0]


@pytest.mark.parametrize("form", [json.dumps, dict], ids=lambda form: form.__name__)
def test_rows_may_have_scores_and_grades_alone(form):
    hypothesis = [form({"a": 0.9, "b": 0.1}), form({"c": 0.5})]
    results = hit(hypothesis, [form({"b": 2}), form({"c": 1})], k=1)
    assert [(result.score, result.status) for result in results] == [(0.0, "completed"), (1.0, "completed")]


def test_rows_that_are_all_broken_are_all_failed():
    results = hit(['["a"', '{"a"', "['a']"], ['["a"', '{"a"', "['a']"])
    assert [(result.score, result.status) for result in results] == [(None, "failed")] * 3


def test_strings_of_another_form_are_texts_of_one_query():
    assert hit(["null", "none"], ["null"], k=1).score == 1.0


@pytest.mark.parametrize("form", [json.dumps, list, np.array], ids=["JSON", "list", "array"])
@pytest.mark.parametrize(
    "column", [pd.Series, lambda rows: np.array([*rows, None], dtype=object)[:-1]], ids=["pandas", "NumPy"]
)
def test_columns_of_a_table(column, form):
    hypothesis, reference = [["x", "a"], ["b", "y"], ["z", "z"]], [["a"], ["b"], ["c"]]
    results = hit(column(list(map(form, hypothesis))), column(list(map(form, reference))), k=2)
    assert [result.score for result in results] == [1.0, 1.0, 0.0]


def test_an_array_is_one_query():
    assert hit(np.array(["x", "a"]), pd.Series(["a"]), k=2).score == 1.0
    assert hit(np.array([7, 8]), pd.Series([8]), k=1).score == 0.0


@pytest.mark.parametrize(
    ("hypothesis", "reference", "found"),
    [
        ([["a"], ["b"]], [["a"]], "the hypothesis, 2 rows, as in the reference, 1 rows"),
        ([["a"], ["b"]], '["a"]', "2 rows, as in the reference, no list but '\\[\"a\"\\]'"),
        ('["a"]', ['["a"]'], "no list but '\\[\"a\"\\]', as in the reference, 1 rows"),
        (["[a link] in a text", "b"], ["b"], r"pass texts of a single query that begin so as json.dumps\(texts\)"),
    ],
    ids=str,
)
def test_a_batch_has_two_sides(hypothesis, reference, found):
    with pytest.raises(ValueError, match=found):
        hit(hypothesis, reference)


# --- names and options


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hit_rate", 1.0),
        ("recall_at_k", 0.5),
        ("precision_at_k", 0.5),
        ("ndcg_at_k", 0.38685280723454163),
        ("mrr", 0.5),
        ("mean_average_precision", 0.25),
    ],
)
def test_names(name, value):
    result = evaluate(name, hypothesis=["x", "a"], reference=["a", "b"], k=2)
    assert (result.eval_name, result.score) == (name, pytest.approx(value))


@pytest.mark.parametrize("name", ["hitrate", "recall", "hit_rate@5", None, ["hit_rate"]], ids=str)
def test_unknown_names(name):
    with pytest.raises(ValueError, match=r"unknown evaluation .*: one of hit_rate, recall_at_k, precision_at_k"):
        evaluate(name, hypothesis=["a"], reference=["a"])


def test_several_k_are_refused():
    with pytest.raises(TypeError, match=r"k must be an int .* got \(1, 5\)"):
        hit(["a"], ["a"], k=(1, 5))


def test_theta_belongs_to_hit_rate():
    with pytest.raises(ValueError, match="theta belongs to hit_rate"):
        evaluate("mrr", hypothesis=["a"], reference=["a"], theta=0.5)


def test_a_matcher_and_unique():
    paragraph = f"{PARIS} It lies on the Seine."
    assert hit(json.dumps([PARIS]), json.dumps([paragraph])).score == 0.0
    assert hit(json.dumps([PARIS]), json.dumps([paragraph]), match=contains).score == 1.0
    assert hit(["x", "x", "a"], ["a"], k=2, unique=True).score == 1.0


def test_it_needs_nothing_installed_and_register_says_what_it_needs():
    code = """
import sys; sys.path.insert(0, sys.argv[1])
from hitrate_adapters.futureagi import evaluate, register
print(evaluate("hit_rate", hypothesis=["a"], reference=["a"]).score)
register()
"""
    command = [sys.executable, "-I", "-S", "-c", code, str(Path(__file__).parents[2])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "1.0\n"
    assert done.stderr.endswith("fi.evals is not installed: pip install 'hitrate-adapters[futureagi]'\n")


# --- what a batch comes to


def test_evaluation_has_the_mean_of_the_batch_and_loses_no_row():
    results = evaluate(
        "mrr",
        hypothesis=['["d1", "d2"]', "[]", '["d3"]', '["d4"', '["d5"]', [{"id": "d6"}]],
        reference=['["d2"]', '["d1"]', "[]", '["d4"]', '["d5", " "]', '["d6"]'],
        k=5,
    )
    assert [row.status for row in results] == ["completed", "completed", "skipped", "failed", "failed", "failed"]
    judged = results.evaluation
    assert judged.score("mrr@5") == results.mean == 0.25
    assert (set(judged), set(judged.unscored)) == ({0, 1}, {2, 3, 4, 5})
    assert (judged.hit_rate(2), judged.misses(2)) == (0.5, (1,))


def test_evaluation_of_nothing_that_has_a_score_raises():
    with pytest.raises(ValueError, match=r"none of 1 queries can be scored"):
        _ = evaluate("hit_rate", hypothesis=[["d1"]], reference=[[]]).evaluation
