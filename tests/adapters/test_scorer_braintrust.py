"""The plain scorer in a framework that takes it as it is: Braintrust's `Eval`, which sends nothing here."""

import pytest

from hitrate_adapters import scorer

pytest.importorskip("braintrust")

from braintrust import Eval


def evaluate(output, expected, **options):
    """Return the result of each row: `output` and `expected` are by query."""
    return Eval(
        "golden",
        data=[{"input": query, "expected": items} for query, items in expected.items()],
        task=lambda query: output[query],
        scores=[scorer(**options)],
        no_send_logs=True,
    )


def drive(case):
    options = {"k": None, "metrics": list(case.expect), "match": case.match, "unique": case.unique}
    done = evaluate(case.retrieved, case.relevant, **options).results
    found = {row.input: list(row.scores.values()) for row in done}
    return {spec: {query: found[query][at] for query in case.relevant} for at, spec in enumerate(case.expect)}


def build(**configuration):
    return scorer(**configuration)


def test_the_summary_is_over_the_rows_that_are_scored():
    done = evaluate({"q1": ["x", "a"], "q2": ["a"], "q3": ["a"]}, {"q1": ["a"], "q2": ["a"], "q3": None}, k=(1, 2))
    assert {name: score.score for name, score in done.summary.scores.items()} == {"hit_rate@1": 0.5, "hit_rate@2": 1.0}


def test_an_output_that_cannot_be_judged_is_an_error_of_its_row():
    good, bad = evaluate({"q1": ["a"], "q2": "a"}, {"q1": ["a"], "q2": ["a"]}).results
    assert good.scores == {"hit_rate@5": 1.0}
    assert bad.scores == {}
    assert "retrieved items are the string 'a'" in bad.metadata["scorer_errors"]["hit_rate@5"]


def test_a_task_that_fails_has_no_score():
    good, bad = evaluate({"q1": ["a"]}, {"q1": ["a"], "q2": ["a"]}).results
    assert good.scores == {"hit_rate@5": 1.0}
    assert isinstance(bad.error, KeyError)
    assert bad.scores == {}
