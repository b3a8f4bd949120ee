"""The pool, the candidates for missing labels with their bounds, and the golden set with labels added."""

import copy
import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hitrate_adapters as hr
from hitrate_adapters.core.labels import add_labels, missing_labels, pool
from hitrate_adapters.core.spans import Span, span_overlap

GOLD = "Refunds take five days. They go to the card that paid, or to the account that you name."
OTHER = "Shipping is free in the whole of Italy, and costs nine euros to every other country of the Union."
SIGNS = {
    "same": (GOLD.upper(), "is the text of", 1.0),
    "near": (GOLD.replace("five", "flve"), "is nearly the text of", 0.959),
    "around": (f"{OTHER} {GOLD}", "holds the text of", 1.0),
    "within": (GOLD[:23], "lies in the text of", 0.264),
    "words": (f"{OTHER} {GOLD.replace('take five', 'need ten')}", "overlaps the text of", 0.889),
    "other": (OTHER, None, None),
    "half": (f"{OTHER} Refunds take five days, or ten. They go to the card.", None, None),
}
TEXTS = {"gold": GOLD, **{item: text for item, (text, _, _) in SIGNS.items()}}


def judged(qrels, run, **options):
    return hr.evaluate({**qrels, "found": ["x"]}, {**run, "found": ["x"]}, **options)


# What may lack a label


@pytest.mark.parametrize("item", SIGNS)
def test_sign(item):
    found = missing_labels(judged({"q": ["gold"]}, {"q": [item]}), texts=TEXTS).rows()
    _, why, share = SIGNS[item]
    if why is None:
        assert found == []
    else:
        (row,) = found
        assert round(row.pop("share"), 3) == share
        assert row == {"query_id": "q", "item": item, "grade": 1, "rank": 1, "relevant": "gold", "why": why}


def test_the_strongest_first():
    found = missing_labels(judged({"q": ["gold"]}, {"q": list(reversed(SIGNS))}), k=10, texts=TEXTS)
    assert [each.item for each in found.candidates] == ["same", "near", "around", "within", "words"]
    assert [each.rank for each in found.candidates] == [7, 6, 5, 4, 3]


def test_the_strongest_sign_of_several_golds_and_its_grade():
    qrels = {"q": {"words": 1, "gold": 3, "other": 0}}
    (found,) = missing_labels(judged(qrels, {"q": ["other", "same", "same"]}), texts=TEXTS).candidates
    assert (found.item, found.rank, found.relevant, found.grade) == ("same", 2, "gold", 3)


def test_what_is_judged_is_no_candidate():
    qrels = {"q": {"gold": 2, "same": 0, "near": 1}}
    assert missing_labels(judged(qrels, {"q": ["same", "near"]}, relevance_level=2), texts=TEXTS).candidates == ()


def test_what_is_below_the_level_is_no_gold():
    qrels = {"q": {"gold": 1, "other": 2}}
    assert missing_labels(judged(qrels, {"q": ["same"]} | {"x": []}), texts=TEXTS).candidates
    evaluation = hr.evaluate(qrels, {"q": ["same", "other"]}, relevance_level=2)
    assert missing_labels(evaluation, texts=TEXTS).candidates == ()


def test_below_k_is_not_looked_at():
    evaluation = judged({"q": ["gold"]}, {"q": ["other", "same"]})
    assert missing_labels(evaluation, 1, texts=TEXTS).candidates == ()
    assert len(missing_labels(evaluation, None, texts=TEXTS).candidates) == 1


def test_unique_cuts_after_repeats():
    run = {"q": ["other", "other", "same"]}
    assert missing_labels(judged({"q": ["gold"]}, run), 2, texts=TEXTS).candidates == ()
    (found,) = missing_labels(judged({"q": ["gold"]}, run, unique=True), 2, texts=TEXTS).candidates
    assert found.rank == 2


def test_scores_and_a_missing_query_and_none():
    qrels = {"q": ["gold"], "absent": ["gold"], "unscored": []}
    (found,) = missing_labels(judged(qrels, {"q": {"other": 1.0, "same": 2.0}, "n": [None]}), texts=TEXTS).candidates
    assert (found.query_id, found.rank) == ("q", 1)


def test_texts_as_items():
    evaluation = hr.evaluate({"q": [GOLD], "p": [OTHER]}, {"q": [f"{OTHER} {GOLD}"], "p": [OTHER]}, match=hr.same_text)
    found = missing_labels(evaluation)
    assert [(each.query_id, each.why) for each in found.candidates] == [("q", "holds the text of")]
    assert (float(found.lower), float(found.upper)) == (0.5, 1.0)


def test_what_the_matcher_matched_is_no_candidate():
    evaluation = hr.evaluate({"q": [GOLD]}, {"q": [f"{OTHER} {GOLD}"]}, match=hr.contains)
    assert missing_labels(evaluation).candidates == ()


def test_spans_of_documents():
    text = f"{GOLD} {OTHER}"
    gold, copied, found = Span("a", 0, len(GOLD)), Span("b", 0, len(GOLD)), Span("a", 90, 100)
    evaluation = hr.evaluate({"q": [gold], "p": [found]}, {"q": [copied], "p": [found]}, match=span_overlap())
    for texts in ({"a": text, "b": text}, {gold: GOLD, copied: GOLD}):
        (row,) = missing_labels(evaluation, texts=texts).candidates
        assert (row.item, row.relevant, row.why) == (copied, gold, "is the text of")


# How far hit rate could move


def test_bounds():
    qrels = {"hit": ["gold"], "missed": ["gold"], "lost": ["gold"]}
    evaluation = hr.evaluate(qrels, {"hit": ["gold", "same"], "missed": ["other", "same"], "lost": ["other"]})
    found = missing_labels(evaluation, 2, texts=TEXTS)
    assert (repr(found.lower), repr(found.upper)) == (
        "hit_rate@2 = 0.333 [0.061, 0.792] (n=3)",
        "hit_rate@2 = 0.667 [0.208, 0.939] (n=3)",
    )
    assert evaluation.qrels is qrels
    assert qrels == {"hit": ["gold"], "missed": ["gold"], "lost": ["gold"]}
    assert hr.evaluate(add_labels(qrels, found.rows()), evaluation.run).hit_rate(2) == found.upper


@given(
    st.dictionaries(st.integers(0, 3), st.sets(st.sampled_from(sorted(TEXTS)), min_size=1), min_size=1),
    st.fixed_dictionaries({n: st.lists(st.sampled_from(sorted(TEXTS)), max_size=6) for n in range(4)}),
    st.integers(1, 6),
)
def test_upper_is_what_the_accepted_rows_give(qrels, run, k):
    evaluation = judged(qrels, run)
    found = missing_labels(evaluation, k, texts=TEXTS)
    labelled = add_labels(evaluation.qrels, found.rows())
    assert found.lower == evaluation.hit_rate(k)
    assert found.lower <= found.upper == hr.evaluate(labelled, evaluation.run).hit_rate(k)
    for each in found.candidates:
        assert run[each.query_id][each.rank - 1] == each.item
        assert each.rank <= k
        assert each.item not in qrels[each.query_id]


# What is not known


def test_unknown_texts_are_named():
    found = missing_labels(judged({"q": ["gold"]}, {"q": ["same", "p7"]}), texts={"gold": GOLD, "same": GOLD})
    assert [each.item for each in found.candidates] == ["same"]
    assert found.unknown == ("p7", "x")
    assert str(found).splitlines()[-1] == "unknown: 2 items have no text, such as 'p7'"


@pytest.mark.parametrize("texts", [None, {}, {"y": "z"}])
def test_no_texts_at_all(texts):
    with pytest.raises(ValueError, match="no text of any item is known, such as 'gold': give texts=, item -> text"):
        missing_labels(judged({"q": ["gold"]}, {"q": ["same"]}), texts=texts)


def test_refused():
    evaluation = judged({"q": ["gold"]}, {"q": ["same"]})
    with pytest.raises(TypeError, match="texts must be a mapping of item -> text, got list"):
        missing_labels(evaluation, texts=[GOLD])
    with pytest.raises(TypeError, match="needs an Evaluation, as `evaluate` returns it, got dict"):
        missing_labels({}, texts=TEXTS)
    with pytest.raises(ValueError, match="k must be at least 1"):
        missing_labels(evaluation, 0, texts=TEXTS)


# To be read


def test_table():
    qrels = {f"q{n}": ["gold"] for n in range(11)}
    found = missing_labels(judged(qrels, {query_id: ["same"] for query_id in qrels}), texts={**TEXTS, "x": OTHER})
    lines = str(found).splitlines()
    assert lines[:4] == [
        "11 candidates for missing labels, in 11 of 12 queries",
        "as labelled   hit_rate@5 = 0.083 [0.015, 0.354] (n=12)",
        "all accepted  hit_rate@5 = 1.000 [0.758, 1.000] (n=12)",
        "  q0, rank 1: same is the text of gold (100%)",
    ]
    assert lines[-1] == "  ... and 1 more in rows()"
    assert repr(found) == "<MissingLabels: 11 candidates, 0.083 to 1.000>"


def test_long_items_in_the_table():
    evaluation = hr.evaluate({"q": [GOLD], "p": ["x"]}, {"q": [f"{GOLD}\n{OTHER}"], "p": ["x"]}, match=hr.same_text)
    assert str(missing_labels(evaluation)).splitlines()[3] == (
        "  q, rank 1: Refunds take five days. ...of the Union. holds the text of "
        "Refunds take five days. ...hat you name. (100%)"
    )


# The golden set with labels added


@pytest.mark.parametrize(
    ("items", "grade", "expected"),
    [
        ({"d1"}, 1, {"d1", "d2"}),
        (["d1"], 2.0, ["d1", "d2"]),
        (("d1",), 1, ("d1", "d2")),
        (frozenset({"d1"}), 1, frozenset({"d1", "d2"})),
        ({"d1": 3}, 2, {"d1": 3, "d2": 2}),
        ({"d1": 3}, 0, {"d1": 3, "d2": 0}),
        ({"d1"}, 0, {"d1"}),
        ({"d1", "d2"}, 0, {"d1"}),
        ({"d1"}, None, {"d1"}),
        ({"d1": 3}, float("nan"), {"d1": 3}),
    ],
)
def test_add_labels_keeps_the_form(items, grade, expected):
    qrels = {"q": items, "p": copy.copy(items)}
    before = copy.deepcopy(qrels)
    found = add_labels(qrels, [{"query_id": "q", "item": "d2", "grade": grade, "rank": 3}])
    assert found == {"q": expected, "p": items}
    assert type(found["q"]) is type(expected)
    assert found["p"] is not qrels["p"] or isinstance(items, (tuple, frozenset))
    assert qrels == before


def test_add_labels_to_a_new_query():
    assert add_labels({"q": ["d1"]}, [{"query_id": "p", "item": "d2", "grade": 1}]) == {"q": ["d1"], "p": ["d2"]}
    assert add_labels({}, [{"query_id": "p", "item": "d2", "grade": 1}]) == {"p": {"d2": 1}}


def test_add_labels_takes_true_and_false_for_grades():
    numpy = pytest.importorskip("numpy")
    rows = [{"query_id": "q", "item": item, "grade": grade} for item, grade in {"a": True, "b": numpy.bool_(0)}.items()]
    assert add_labels({"q": {"d": 1}}, rows) == {"q": {"d": 1, "a": 1, "b": 0}}


def test_add_labels_takes_a_query_of_one_of_several_types():
    assert add_labels({"q": {"d"}, 1: {"d"}}, [{"query_id": 2, "item": "d", "grade": 1}])[2] == {"d"}


def test_add_labels_refuses_a_table():
    table = pytest.importorskip("pandas").DataFrame({"query_id": ["q"], "item": ["d"], "grade": [1]})
    with pytest.raises(TypeError, match=r'rows are a DataFrame: pass its .to_dict\("records"\)'):
        add_labels({"q": {"d1"}}, table)
    assert add_labels({"q": {"d1"}}, table.to_dict("records")) == {"q": {"d1", "d"}}


def test_pool_leaves_out_what_is_absent_and_takes_a_depth_of_numpy():
    pandas, numpy = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    rows = pool({"q": {"d1"}}, {"run": {"q": [math.nan, pandas.NA, None, "d2", "d3"]}}, depth=numpy.int64(4))
    assert [(row["item"], row["rank"]) for row in rows] == [("d2", 4)]


def test_items_of_a_matcher_of_your_own_are_no_texts_until_it_says_so():
    def match(retrieved, relevant):
        return retrieved.partition("#")[0] == relevant

    evaluation = hr.evaluate({"q": ["page-1"]}, {"q": ["page-2#1", "page-1#1"]}, match=match)
    with pytest.raises(ValueError, match=r"no text of any item is known, such as 'page-1': .* or, where your matcher"):
        missing_labels(evaluation)
    match.compares = "texts"
    assert missing_labels(evaluation).unknown == ()


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({"item": "d2"}, ValueError, "row 1 has no query_id and no grade: {'item': 'd2'}"),
        ({"query_id": "q", "item": "d2", "grade": "1"}, TypeError, "the grade of row 1 must be a number, got '1'"),
        (["q", "d2", 1], TypeError, "row 1 must be a mapping with query_id, item and grade, got"),
        ({"query_id": "q", "item": None, "grade": 1}, ValueError, "row 1 is graded, and of query 'q' and item None"),
        ({"query_id": "q", "item": math.nan, "grade": 1}, ValueError, "row 1 is graded, and of query 'q' and item nan"),
        ({"query_id": math.nan, "item": "d", "grade": 1}, ValueError, "row 1 is graded, and of query nan and item 'd'"),
        (
            {"query_id": 1, "item": "d", "grade": 1},
            ValueError,
            r"row 1 is of query 1 \(int\), which the golden set has not: its ids are such as 'q' \(str\)",
        ),
        ({"query_id": "q", "item": "d2", "grade": float("inf")}, ValueError, "grade of row 1 must be finite, got inf"),
    ],
)
def test_add_labels_refuses(row, error, message):
    good = {"query_id": "q", "item": "d3", "grade": 1}
    with pytest.raises(error, match=message):
        add_labels({"q": ["d1"]}, [good, row])


def test_add_labels_refuses_no_mapping():
    with pytest.raises(TypeError, match="qrels must be a mapping of query id -> items, got list"):
        add_labels([("q", "d1")], [])


def test_rows_through_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(pool({"q": {"d1"}}, {"a": {"q": ["d1", "d2", "d3"]}}))
    frame.loc[frame["item"] == "d3", "grade"] = 1
    assert add_labels({"q": {"d1"}}, frame.to_dict("records")) == {"q": {"d1", "d3"}}


# What to judge next

RUNS = {
    "bm25": {"q1": ["d1", "d2", "d3"], "q2": ["d5"], "full": ["d9"]},
    "dense": {"q1": {"d4": 0.9, "d3": 0.8, "d2": 0.1}, "q3": ["d6", None, "d6"]},
}
QRELS = {"q1": {"d1": 1, "d7": 0}, "q2": {"d5": 2}, "full": {"a", "b", "c"}}


def test_pool():
    assert pool(QRELS, RUNS) == [
        {"query_id": "q1", "item": "d2", "grade": None, "rank": 2, "runs": ("bm25", "dense"), "n_relevant": 1},
        {"query_id": "q1", "item": "d3", "grade": None, "rank": 2, "runs": ("bm25", "dense"), "n_relevant": 1},
        {"query_id": "q1", "item": "d4", "grade": None, "rank": 1, "runs": ("dense",), "n_relevant": 1},
        {"query_id": "q3", "item": "d6", "grade": None, "rank": 1, "runs": ("dense",), "n_relevant": 0},
    ]


def test_pool_depth_and_labels():
    assert [row["item"] for row in pool(QRELS, RUNS, depth=1)] == ["d4", "d6"]
    assert "d9" in {row["item"] for row in pool(QRELS, RUNS, labels=4)}
    assert {row["query_id"] for row in pool(QRELS, RUNS, labels=1)} == {"q3"}


def test_pool_takes_grades_above_zero_for_labels():
    runs = {"a": {"q": ["d9"]}}
    assert pool({"q": {"d1": 0, "d2": 0, "d3": -1}}, runs)[0]["n_relevant"] == 0
    assert pool({"q": {"d1": 1, "d2": 1, "d3": 2}}, runs) == []


@pytest.mark.parametrize(
    ("qrels", "runs", "options", "error", "message"),
    [
        ([], RUNS, {}, TypeError, "qrels must be a mapping of query id -> items, got list"),
        (QRELS, RUNS["bm25"], {}, TypeError, "runs must be a mapping of name -> run"),
        (QRELS, [RUNS], {}, TypeError, "runs must be a mapping of name -> run"),
        (QRELS, {"a": {"z": ["d1"]}}, {}, ValueError, "the run 'a' shares no query id with the qrels"),
        (QRELS, RUNS, {"depth": 0}, ValueError, "depth must be at least 1, got 0"),
        (QRELS, RUNS, {"labels": True}, TypeError, "labels must be an int of at least 1, got True"),
    ],
)
def test_pool_refuses(qrels, runs, options, error, message):
    with pytest.raises(error, match=message):
        pool(qrels, runs, **options)


def test_pool_says_where():
    with pytest.raises(TypeError, match="retrieved items are a set") as caught:
        pool(QRELS, {"a": {"q1": {"d1"}}})
    assert caught.value.__notes__ == ["in query 'q1' of the run 'a'"]


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
def test_real_pool():
    folder = Path(os.environ["HITRATE_TEST_DATA"], "cranfield")

    def rows(name):
        return map(json.loads, Path(folder, name).read_text(encoding="utf-8").splitlines())

    qrels = {row["query_id"]: row["relevant"] for row in rows("qrels.jsonl")}
    runs = {
        name: {row["query_id"]: row["retrieved"] for row in rows(f"runs/{name}.jsonl")} for name in ("bm25", "minilm")
    }
    found = pool(qrels, runs, depth=5)
    lacking = {q for q, items in qrels.items() if sum(grade > 0 for grade in items.values()) < 3}
    assert {row["query_id"] for row in found} <= lacking
    assert all(row["item"] not in qrels[row["query_id"]] for row in found)
    by_hand = {(q, item) for q in lacking for run in runs.values() for item in run[q][:5] if item not in qrels[q]}
    assert {(row["query_id"], row["item"]) for row in found} == by_hand
    assert len(found) == len(by_hand)
