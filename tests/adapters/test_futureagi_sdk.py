"""Future AGI's own `fi.evals.evaluate`, `LocalEvaluator` and metrics after `register()`."""

import doctest
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from hitrate_adapters import contains
from hitrate_adapters.futureagi import METRIC_OF, register
from tests.adapters.test_futureagi import arguments

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of litellm and of theirs, as they are imported
    pytest.importorskip("fi.evals")

    from fi.evals import evaluate
    from fi.evals.local import LocalEvaluator
    from fi.evals.local.registry import get_registry

    register()


def drive(case):
    """Run a case by their `evaluate`, one row after the other, or by their evaluator of several rows."""
    form = (json.dumps, list)[len(case.name) % 2]
    found = {}
    for spec in case.expect:
        name, options = arguments(spec, case)
        rows = {
            query: {"hypothesis": form(case.retrieved[query]), "reference": form(case.relevant[query]), **options}
            for query in case.relevant
        }
        if len(case.name) % 3:
            found[spec] = {query: evaluate(name, **row).score for query, row in rows.items()}
        else:
            results = LocalEvaluator().evaluate(name, list(rows.values())).results.eval_results
            found[spec] = {query: result.output for query, result in zip(rows, results, strict=True)}
    return found


def build(**configuration):
    """Make their metric, which reads its configuration when it scores."""
    return get_registry().create("hit_rate", configuration).evaluate([{"hypothesis": ["a"], "reference": ["a"]}])


# --- fi.evals.evaluate


def test_a_row_shows_as_their_own():
    result = evaluate("hit_rate", hypothesis='["a", "b"]', reference='["b"]', k=2)
    assert (result.eval_name, result.score, result.passed, result.status) == ("hit_rate", 1.0, True, "completed")
    assert result.reason == "first relevant item at rank 2; 1 of 1 relevant in the top 2"


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ({"hypothesis": '["a"', "reference": '["a"]'}, "hypothesis is no JSON"),
        ({"hypothesis": '["a"', "reference": '["a"'}, "reference is no JSON"),
        ({"hypothesis": '["a"]'}, "missing 1 required keyword-only argument: 'reference'"),
        ({"contexts": ["a"], "relevance_scores": [1]}, "missing 2 required"),
        ({"hypothesis": ['["a"]', '["b"]'], "reference": ['["a"]', '["b"]']}, "pass a batch to hitrate_adapters"),
        ({"hypothesis": ["a"], "reference": ["a"], "k": 0}, "k must be at least 1"),
        ({"hypothesis": ["a"], "reference": ["a"], "config": {"top_k": 5}}, "unexpected keyword argument 'top_k'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["hit_rate", "recall_at_k"])
def test_what_cannot_be_read_is_failed(name, inputs, error):
    result = evaluate(name, **inputs)
    assert (result.score, result.passed, result.status) == (None, None, "failed")
    assert error in result.error


def test_an_empty_reference_has_no_score():
    result = evaluate("hit_rate", hypothesis='["a"]', reference="[]")
    assert (result.score, result.passed, result.status) == (None, None, "completed")  # they have no other word
    assert result.reason == "cannot be scored: the query has no relevant items"


def test_beside_their_own():
    results = evaluate(
        ["hit_rate", "contains"], hypothesis='["a"]', reference='["a"]', output="hello", keyword="hell", input="?"
    )
    assert {result.eval_name: result.score for result in results} == {"hit_rate": 1.0, "contains": 1.0}


def test_k_in_the_config():
    assert evaluate("mrr", hypothesis=["x", "a"], reference=["a"], config={"k": 1}).score == 0.0


def test_a_matcher():
    paragraph = "Refunds take five days. They go to the card that paid."
    result = evaluate("hit_rate", hypothesis=["Refunds take five days."], reference=[paragraph], match=contains)
    assert result.score == 1.0


# --- rows


def test_a_row_that_fails_loses_no_other():
    good = {"hypothesis": ["a"], "reference": ["a"]}
    rows = [good, {**good, "hypothesis": "["}, {**good, "reference": []}, {**good, "top_k": 5}, 5, good]
    done = LocalEvaluator().evaluate("hit_rate", rows)
    assert [result.output for result in done.results.eval_results] == [1.0, None, None, None, None, 1.0]
    assert not done.skipped
    assert not done.errors


def test_the_only_row_that_fails():
    done = LocalEvaluator().evaluate("hit_rate", [{"hypothesis": "[", "reference": ["a"]}])
    assert [result.output for result in done.results.eval_results] == [None]
    assert "hypothesis is no JSON" in done.errors["hit_rate"]


def test_the_session_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "futureagi.md").read_text(encoding="utf-8")
    (session,) = re.findall(r"^```text\n(>>> from fi.*?)^```", page, re.DOTALL | re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(session, {}, "futureagi.md", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_register_twice_is_register_once():
    register()
    assert set(METRIC_OF) <= set(get_registry().list_metrics())


OFFLINE = """
import sys
sys.addaudithook(lambda event, arguments: event.startswith("socket.") and print(event, arguments))
from hitrate_adapters.futureagi import register
register()
from fi.evals import evaluate
print(evaluate("hit_rate", hypothesis=["a"], reference=["a"]).score)
"""


def test_nothing_is_sent():
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    used = [line for line in done.stdout.splitlines() if not line.startswith(("socket.__new__", "socket.bind"))]
    assert used == ["1.0"]
