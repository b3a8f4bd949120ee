"""Running a retriever over queries."""

import copy
import pickle

import pytest

from hitrate_adapters import Run, evaluate, run_retriever

QUERIES = {"q1": "b a c", "q2": "bad", "q3": "d"}


def words(query, k=None):
    if query == "bad":
        raise LookupError("no index")
    return sorted(query.split())[:k]


def test_a_run_is_what_was_retrieved():
    assert run_retriever(words, {"q1": "b a c", "q3": "d"}) == {"q1": ["a", "b", "c"], "q3": ["d"]}


def test_k_is_passed_to_the_retriever():
    assert run_retriever(words, {"q1": "b a c"}, k=2) == {"q1": ["a", "b"]}


def test_without_k_the_retriever_gets_the_query_alone():
    assert run_retriever(lambda *args: [len(args)], {"q": "x"}) == {"q": [1]}


def test_queries_may_be_anything():
    assert run_retriever(lambda query: query["ids"], {7: {"ids": ["a"]}}) == {7: ["a"]}


def test_any_iterable_of_items_becomes_a_list():
    assert run_retriever(lambda _: (item for item in "ab"), {"q": "x"}) == {"q": ["a", "b"]}


def test_no_queries_make_an_empty_run():
    assert run_retriever(words, {}) == {}


def test_a_query_that_fails_retrieved_nothing():
    assert run_retriever(words, QUERIES) == {"q1": ["a", "b", "c"], "q2": [], "q3": ["d"]}


def test_a_query_that_fails_is_named_with_its_exception():
    errors = run_retriever(words, QUERIES).errors
    assert list(errors) == ["q2"]
    assert repr(errors["q2"]) == "LookupError('no index')"


def test_a_query_that_fails_while_its_items_are_read_is_named_too():
    run = run_retriever(lambda query: (words(query) for _ in "x"), {"q2": "bad"})
    assert (run, list(run.errors)) == ({"q2": []}, ["q2"])


def test_a_query_that_fails_is_a_miss_of_the_evaluation():
    evaluation = evaluate({"q1": ["a"], "q2": ["b"]}, run_retriever(words, QUERIES))
    assert evaluation.misses() == ("q2",)
    assert list(evaluation.errors) == ["q2"]


def test_on_error_raise_stops_with_a_note_that_names_the_query():
    with pytest.raises(LookupError) as caught:
        run_retriever(words, QUERIES, on_error="raise")
    assert caught.value.__notes__ == ["while retrieving for query 'q2'"]


def test_an_interrupt_stops():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_retriever(interrupt, QUERIES)


@pytest.mark.parametrize("answer", ["abc", b"abc", {"a"}, frozenset("a")], ids=repr)
def test_a_retriever_that_returns_no_list_failed(answer):
    error = run_retriever(lambda _: answer, {"q": "x"}).errors["q"]
    assert isinstance(error, TypeError)
    assert "pass a list" in str(error)


def test_a_retriever_may_return_scores():
    assert run_retriever(lambda _: {"a": 0.1, "b": 0.9}, {"q": "x"}) == {"q": ["b", "a"]}


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (True, TypeError), ("5", TypeError)])
def test_a_k_that_is_no_cutoff_is_refused_before_anything_is_retrieved(k, error):
    with pytest.raises(error, match="k must be"):
        run_retriever(lambda *_: pytest.fail("retrieved"), {"q": "x"}, k)


def test_queries_without_ids_are_refused():
    with pytest.raises(TypeError, match="queries must be a mapping of query id -> query, got list"):
        run_retriever(lambda _: [], ["x"])


@pytest.mark.parametrize("answer", [None, 5], ids=repr)
def test_a_retriever_that_returns_no_collection_failed(answer):
    with pytest.raises(TypeError):
        run_retriever(lambda _: answer, {"q": "x"}, on_error="raise")


def test_an_unknown_on_error_is_refused_before_anything_is_retrieved():
    with pytest.raises(ValueError, match='on_error must be "record" or "raise", got \'ignore\''):
        run_retriever(lambda _: pytest.fail("retrieved"), QUERIES, on_error="ignore")


def test_a_run_is_a_dict():
    assert dict(Run({"q": ["a"]})) == {"q": ["a"]}
    assert Run([("q", ["a"])]) == {"q": ["a"]}


def test_a_run_has_no_errors_of_itself():
    assert Run({"q": ["a"]}).errors == {}


def test_a_run_keeps_its_errors_when_copied_and_pickled():
    run = Run({"q": []}, {"q": LookupError("no index")})
    for twin in (copy.copy(run), copy.deepcopy(run), pickle.loads(pickle.dumps(run))):  # noqa: S301
        assert twin == {"q": []}
        assert repr(twin.errors["q"]) == "LookupError('no index')"
