"""Evaluating rows of which some cannot be read or judged: they are named, and the others are not lost."""

import pytest

from hitrate_adapters import Run, evaluate
from hitrate_adapters.core.records import Judge
from hitrate_adapters.core.sound import evaluate_rows, evaluate_sound


def test_queries_that_cannot_be_judged_are_unscored_and_named():
    def match(retrieved, relevant):
        return {"y": True, "n": False}[retrieved] and relevant == "a"

    evaluation, faults = evaluate_sound({"q1": ["a"], "q2": ["a"]}, Run({"q1": ["y"], "q2": ["?"]}), Judge(match=match))
    assert (evaluation.hit_rate(), evaluation.unscored) == (1.0, ("q2",))
    assert [type(error) for error in faults.values()] == [KeyError]


def test_a_fault_of_every_query_is_raised():
    with pytest.raises(ZeroDivisionError):
        evaluate_sound({"q": ["a"]}, Run({"q": ["x"]}), Judge(match=lambda *_: 1 / 0))


def test_iterators_beside_a_query_that_cannot_be_judged():
    evaluation, faults = evaluate_sound({"q": iter("a"), "r": [None]}, Run({"q": iter("xa"), "r": ["a"]}), Judge())
    assert evaluation.hit_rate(2) == 1
    assert list(faults) == ["r"]


def test_a_matcher_goes_by_its_own_name_beside_a_query_that_cannot_be_judged():
    def my_match(retrieved, _):
        return {"n": False}[retrieved]

    with pytest.warns(UserWarning, match="by match=my_match"):
        evaluate_sound({"q1": ["a"], "q2": ["a"]}, Run({"q1": ["n"], "q2": ["?"]}), Judge(match=my_match))


def test_rows_that_could_not_be_read_or_judged_are_named_as_such():
    rows = {"good": (["a"], ["a"]), "unread": None, "bad": ([None], ["a"]), "failed": (["a"], ValueError("down"))}
    evaluation, faults = evaluate_rows(rows.items(), lambda row: row[:2], Judge())
    assert list(faults) == ["unread", "bad"]
    assert evaluation.faults == faults
    assert list(evaluation.errors) == ["failed"]
    other = evaluate({"q": ["a"]}, {"q": ["a"], "more": ["a"]})
    for each in (evaluation + other, other + evaluation, (evaluation + other).within(9, texts={"a": "text"})):
        assert "2 queries that could not be read or judged, left out of every mean: unread, bad" in str(each)
        assert "1 query without judgements, left out of every mean: more" in str(each)


FAILED = TimeoutError("no answer")


def test_rows_are_misses_where_retrieval_failed_and_unscored_where_they_cannot_be_read_or_judged():
    rows = {"q1": (["a"], ["a"]), "q2": (["a"], FAILED), "q3": ([], ["a"]), "q4": None, "q5": (["a"], "a")}
    evaluation, faults = evaluate_rows(rows.items(), lambda row: (row[0], row[1]), Judge())
    assert (evaluation.hit_rate(), evaluation.misses(), evaluation.errors) == (0.5, ("q2",), {"q2": FAILED})
    assert (evaluation.missing, set(evaluation.unscored)) == ((), {"q3", "q4", "q5"})
    assert {query_id: type(error) for query_id, error in faults.items()} == {"q4": TypeError, "q5": TypeError}


def test_no_row_of_a_repeated_id_is_lost():
    rows = [("q", 1), ("q", 2), ("q #2", 3), ("q", 4), (7, 5), (7, 6)]
    evaluation, _ = evaluate_rows(rows, lambda row: ([row], [row]), Judge())
    assert {query_id: items[0] for query_id, items in evaluation.run.items()} == {
        "q": 1,
        "q #2": 2,
        "q #2 #2": 3,
        "q #3": 4,
        7: 5,
        "7 #2": 6,
    }


def test_what_the_first_row_raised_is_raised_where_none_can_be_read():
    with pytest.raises(KeyError, match="relevant"):
        evaluate_rows([("q1", {}), ("q2", {})], lambda row: (row["relevant"], []), Judge())
