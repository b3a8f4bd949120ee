"""The plain scorer: what it takes, what it gives, and what it refuses."""

import pytest

from hitrate_adapters import contains, scorer


def scores(hits, *arguments, **named):
    return {each["name"]: each["score"] for each in hits(*arguments, **named)}


def test_a_score_is_a_name_a_number_and_a_reason():
    assert scorer(k=5)("?", ["d1", "d2"], ["d2", "d7"]) == [
        {
            "name": "hit_rate@5",
            "score": 1.0,
            "metadata": {"reason": "first relevant item at rank 2; 1 of 2 relevant in the top 5"},
        }
    ]


def test_arguments_by_name_in_any_order_and_more_than_it_needs():
    assert scores(scorer(1), expected=["a"], output=["a"], input="?", metadata={}, trace=None) == {"hit_rate@1": 1.0}
    assert scores(scorer(1), output=["a"], expected=["b"]) == {"hit_rate@1": 0.0}


def test_several_metrics_and_k():
    assert scores(scorer(k=(1, 2), metrics=("hit_rate", "mrr@10")), "?", ["x", "a"], ["a"]) == {
        "hit_rate@1": 0.0,
        "hit_rate@2": 1.0,
        "mrr@10": 0.5,
    }


def test_k_is_5_where_none_is_given():
    assert list(scores(scorer(), "?", ["a"], ["a"])) == ["hit_rate@5"]
    assert list(scores(scorer(None), "?", ["a"], ["a"])) == ["hit_rate"]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"name": "bm25"}, ["bm25"]),
        ({"name": "bm25", "k": (1, 5)}, ["bm25_hit_rate@1", "bm25_hit_rate@5"]),
        ({"match": contains}, ["hit_rate@5[contains]"]),
        ({"unique": True}, ["hit_rate@5[unique]"]),
        ({"theta": 0.5}, ["hit_rate@5>=0.5"]),
    ],
    ids=str,
)
def test_names(options, names):
    hits = scorer(**options)
    assert list(scores(hits, "?", ["a"], ["a"])) == names
    assert hits.__name__ == ", ".join(names)  # what frameworks call a function


# --- where the items are


def test_keys():
    hits = scorer(output_key="ids", expected_key="relevant")
    assert scores(hits, "?", {"ids": ["a"], "answer": "!"}, {"relevant": ["a"], "answer": "!"}) == {"hit_rate@5": 1.0}


def test_functions():
    hits = scorer(output_key=lambda output: [chunk["source"] for chunk in output], expected_key=str.split)
    assert scores(hits, "?", [{"source": "a"}], "a b") == {"hit_rate@5": 1.0}


def test_grades_and_scores_are_items_too():
    hits = scorer(1, metrics="ndcg", output_key=dict)
    assert scores(hits, "?", {"a": 0.2, "b": 0.9}, {"a": 1, "b": 2}) == {"ndcg@1": 1.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"ids": ["a"]}, ["a"]), "the output is a mapping with 'ids': output_key= says where its items are"),
        (({"latency": 1.0}, ["a"]), "the output is a mapping with 'latency': output_key="),
        ((["a"], {"relevant": ["a"]}), "the expected is a mapping with 'relevant': expected_key= says"),
    ],
    ids=str,
)
def test_a_mapping_needs_a_key(arguments, message):
    with pytest.raises(TypeError, match=message):
        scorer()("?", *arguments)


@pytest.mark.parametrize(
    ("output", "found"),
    [({"answer": "!"}, "'answer'"), ({}, "nothing"), (["a"], r"\['a'\] \(list\)"), (None, r"None \(NoneType\)")],
    ids=str,
)
def test_an_absent_key_is_an_error(output, found):
    with pytest.raises(ValueError, match=f"output_key='ids' is no key of the output, which has {found}"):
        scorer(output_key="ids")("?", output, ["a"])


def test_an_absent_key_of_what_is_expected():
    with pytest.raises(ValueError, match="expected_key='ids' is no key of the expected, which has 'answer'"):
        scorer(expected_key="ids")("?", ["a"], {"answer": "!"})


# --- edge cases


@pytest.mark.parametrize("expected", [None, [], {}], ids=str)
@pytest.mark.parametrize("options", [{}, {"expected_key": lambda expected: expected}], ids=["whole", "by function"])
def test_nothing_expected_is_not_scored(expected, options):
    (score,) = scorer(**options)("?", ["a"], expected)
    assert score["score"] is None
    assert score["metadata"]["reason"] == "cannot be scored: the query has no relevant items"


def test_nothing_retrieved_is_a_miss():
    (score,) = scorer()("?", [], ["a"])
    assert (score["score"], score["metadata"]["reason"]) == (0.0, "nothing was retrieved")


@pytest.mark.parametrize(
    ("output", "error", "word"),
    [
        (None, TypeError, r"pass \[\] where nothing was retrieved"),
        ("d1", TypeError, "the string"),
        ({"d1"}, TypeError, "has no order"),
        ([{"id": "d1"}], TypeError, "give the id or the text of each item"),
    ],
    ids=str,
)
def test_an_output_that_cannot_be_judged_is_an_error(output, error, word):
    with pytest.raises(error, match=word):
        scorer()("?", output, ["a"])


@pytest.mark.parametrize("option", ["output_key", "expected_key"])
def test_a_key_is_a_str_or_a_function(option):
    with pytest.raises(TypeError, match=f"{option} must be a key, a function or None, got 3"):
        scorer(**{option: 3})
