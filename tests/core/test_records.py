"""Judging one query: at which ranks something relevant is found, and which items are refused."""

import math
import operator
from collections import deque
from decimal import Decimal
from fractions import Fraction

import pytest

from hitrate_adapters import QueryRecord, contains, judge, overlap, same_text, similar, span_overlap
from hitrate_adapters.core.items import string_id
from hitrate_adapters.core.records import Judge

NAN = math.nan


class Document:
    """What retrievers return: it compares by its text, and so has no hash."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Document) and self.text == other.text

    __hash__ = None


class Text(str):
    """A str of a framework's own."""

    __slots__ = ()

    def __repr__(self):
        return f"Text({super().__repr__()})"


# What a record holds


def test_record_of_a_ranking():
    assert judge({"b", "d", "z"}, ["a", "b", "c", "d"]) == QueryRecord(
        hit_ranks=(2, 4),
        found_ranks=(2, 4),
        gain_ranks=(2, 4),
        gains=(1.0, 1.0),
        ideal=(1.0, 1.0, 1.0),
        n_relevant=3,
        n_retrieved=4,
    )


def test_record_of_a_graded_ranking():
    assert judge({"a": 1, "b": 3, "c": 0, "d": 2}, ["c", "a", "b"]) == QueryRecord(
        hit_ranks=(2, 3),
        found_ranks=(2, 3),
        gain_ranks=(2, 3),
        gains=(1.0, 3.0),
        ideal=(3.0, 2.0, 1.0),
        n_relevant=3,
        n_retrieved=3,
    )


def test_nothing_retrieved_leaves_no_rank():
    assert judge(["a"], []) == QueryRecord((), (), (), (), (1.0,), 1, 0)


@pytest.mark.parametrize("relevant", [[], set(), {}, (), {"a": 0}, {"a": 0, "b": -1}], ids=str)
def test_no_relevant_item_cannot_be_scored(relevant):
    assert judge(relevant, ["a", "b"]).n_relevant == 0


def test_queries_judged_alike_share_one_record():
    records = Judge().judge_all({1: ["a", "z"], 2: {"q", "y"}}, {1: ["x", "a"], 2: ["r", "q"]})
    assert records[1] is records[2]


def test_a_record_does_not_change_with_the_items():
    relevant, retrieved = {"a"}, ["x", "a"]
    record = judge(relevant, retrieved)
    relevant.clear()
    retrieved.clear()
    assert record == QueryRecord((2,), (2,), (2,), (1.0,), (1.0,), 1, 2)


def test_the_items_are_left_as_they_are():
    relevant, retrieved = {"a": 2, "b": 0}, ["x", "x", None, "a"]
    judge(relevant, retrieved, unique=True)
    assert (relevant, retrieved) == ({"a": 2, "b": 0}, ["x", "x", None, "a"])


def test_a_deep_ranking():
    assert judge([9_999], list(range(10_000))).hit_ranks == (10_000,)


def test_a_deep_ranking_under_a_matcher():
    assert judge(["THE END"], [*map(str, range(9_999)), "the end"], match=same_text).hit_ranks == (10_000,)


# Repeats


def test_a_repeat_in_the_ranking_keeps_its_slot():
    assert judge(["s2"], ["s1", "s1", "s2"]).hit_ranks == (3,)


def test_a_repeat_in_the_ranking_is_found_once():
    assert judge(["a"], ["x", "a", "a"]) == QueryRecord((2,), (2,), (2,), (1.0,), (1.0,), 1, 3)


def test_a_repeat_in_the_ranking_is_found_once_under_a_matcher():
    assert judge(["a"], ["x", "a", "a"], match=same_text).hit_ranks == (2,)


def test_items_that_differ_but_match_the_same_one_are_hits_each():
    record = judge(["a"], ["a", "A"], match=same_text)
    assert (record.hit_ranks, record.found_ranks) == ((1, 2), (1,))


def test_one_item_can_find_several():
    record = judge(["alpha beta", "gamma delta"], ["x", "alpha beta gamma delta"], match=contains)
    assert (record.hit_ranks, record.found_ranks) == ((2,), (2, 2))


def test_a_repeat_in_the_gold_counts_once():
    assert judge(["a", "a"], ["a"]).n_relevant == 1


def test_gold_texts_that_differ_are_counted_each_even_if_a_matcher_finds_them_together():
    record = judge(["Paris", "paris"], ["PARIS"], match=same_text)
    assert (record.n_relevant, record.found_ranks, record.hit_ranks) == (2, (1, 1), (1,))


def test_unique_drops_repeats():
    record = judge(["s2"], ["s1", "s1", "s2", "s2"], unique=True)
    assert (record.hit_ranks, record.n_retrieved) == ((2,), 2)


def test_unique_drops_equal_items_and_not_those_that_match_alike():
    assert judge(["x"], ["a", "A", "x"], unique=True, match=same_text).hit_ranks == (3,)


def test_unique_drops_repeats_that_have_no_hash():
    ranking = [Document("b"), Document("b"), Document("a")]
    assert judge(["a"], ranking, unique=True, match=lambda found, text: found.text == text).hit_ranks == (2,)


def test_unique_keeps_every_none():
    assert judge(["a"], [None, None, "b", "b", "a"], unique=True).hit_ranks == (4,)


# item -> score


def test_scores_put_the_ranking_in_descending_order():
    assert judge(["c"], {"a": 0.1, "b": 0.9, "c": 0.5}).hit_ranks == (2,)


def test_equal_scores_are_put_in_order_by_item_descending():
    assert judge(["b"], {"a": 1, "b": 1, "c": 1.0}).hit_ranks == (2,)


def test_scores_are_compared_in_double_precision():
    assert judge(["a"], {"a": 1 + 2**-40, "b": 1.0}).hit_ranks == (1,)


def test_scores_may_be_infinite():
    assert judge(["a"], {"a": -math.inf, "b": math.inf, "c": 0}).hit_ranks == (3,)


def test_a_score_that_is_nan_is_refused():
    with pytest.raises(ValueError, match=r"the score of 'a' .* NaN"):
        judge(["a"], {"b": 1.0, "a": NAN})


@pytest.mark.parametrize("score", ["1", None, True, 1j], ids=repr)
def test_a_score_that_is_no_number_is_refused(score):
    with pytest.raises(TypeError, match="the score of 'a' must be a number, got"):
        judge(["a"], {"a": score})


def test_equal_scores_of_items_without_an_order_are_refused():
    with pytest.raises(TypeError, match=r"equal score.*'str' and 'int'"):
        judge(["a"], {"a": 1, 2: 1})


# What is not a list of items


@pytest.mark.parametrize("retrieved", [{"a"}, frozenset("a")], ids=repr)
def test_a_set_is_no_ranking(retrieved):
    with pytest.raises(TypeError, match=rf"{type(retrieved).__name__}, which has no order.*swapped"):
        judge(["a"], retrieved)


@pytest.mark.parametrize("string", ["abc", b"abc", "", Text("abc")], ids=repr)
def test_a_string_is_no_list_of_relevant_items(string):
    with pytest.raises(TypeError, match=r"relevant items are the string .*pass a list, such as \["):
        judge(string, ["a"])


@pytest.mark.parametrize("string", ["abc", b"abc", "", Text("abc")], ids=repr)
def test_a_string_is_no_ranking(string):
    with pytest.raises(TypeError, match=r"retrieved items are the string .*pass a list, such as \["):
        judge(["a"], string)


@pytest.mark.parametrize("relevant", [None, 5, 0.5], ids=repr)
def test_relevant_items_that_are_no_collection_are_refused(relevant):
    with pytest.raises(TypeError, match=rf"must be a collection of ids or texts.*{type(relevant).__name__}"):
        judge(relevant, ["a"])


@pytest.mark.parametrize("retrieved", [None, 5], ids=repr)
def test_a_ranking_that_is_no_list_is_refused(retrieved):
    with pytest.raises(TypeError, match=rf"must be a list.*got {retrieved}: pass \[\] where nothing was retrieved"):
        judge(["a"], retrieved)


def test_a_list_for_an_id_is_refused():
    with pytest.raises(TypeError, match="unhashable type: 'list': give the id or the text of each item"):
        judge(["a"], [["a", "b"]])


def test_a_document_for_an_id_is_refused():
    with pytest.raises(TypeError, match="unhashable type: 'Document': give the id or the text of each item"):
        judge(["a"], [Document("a")])


def test_a_document_for_a_relevant_id_is_refused():
    with pytest.raises(TypeError, match=r"relevant items .* unhashable type: 'Document'"):
        judge([Document("a")], ["a"])


def test_a_document_for_a_graded_id_is_refused():
    with pytest.raises(TypeError, match="unhashable type: 'Document': give the id or the text of each item"):
        judge({"a": 2}, [Document("a")])


def test_a_document_is_fine_where_the_matcher_reads_it():
    ranking = [Document("b"), Document("a"), Document("a")]
    record = judge(["a"], ranking, match=lambda document, text: document.text == text)
    assert (record.hit_ranks, record.found_ranks) == ((2,), (2,))


# Collections that are fine


@pytest.mark.parametrize(
    "retrieved",
    [
        ["x", "a"],
        ("x", "a"),
        deque(["x", "a"]),
        (item for item in "xa"),
        dict.fromkeys("xa").keys(),
        {1: "x", 2: "a"}.values(),
        map(str.lower, "XA"),
        (Text("x"), Text("a")),
    ],
)
def test_a_ranking_is_anything_with_an_order(retrieved):
    assert judge(["a"], retrieved).hit_ranks == (2,)


@pytest.mark.parametrize(
    "relevant",
    [
        ["a"],
        ("a",),
        {"a"},
        frozenset("a"),
        {"a": 1},
        {"a": 1}.keys(),
        {1: "a"}.values(),
        (item for item in "a"),
        (Text("a"),),
    ],
)
def test_relevant_items_are_any_collection(relevant):
    assert judge(relevant, ["x", "a"]).hit_ranks == (2,)


@pytest.mark.parametrize("item", ["", " ", "päpste/№7 😀", b"a", 7, 7.5, ("doc", 3), Decimal("1.5"), True], ids=repr)
def test_an_item_is_anything_with_a_hash(item):
    assert judge([item], ["x", item]).hit_ranks == (2,)


def test_items_may_be_numpy_arrays():
    numpy = pytest.importorskip("numpy")
    assert judge(numpy.array([3, 8]), numpy.array([1, 8, 2])).hit_ranks == (2,)


def test_numpy_ids_equal_those_of_python():
    numpy = pytest.importorskip("numpy")
    assert judge(["b"], numpy.array(["a", "b"])).hit_ranks == (2,)


@pytest.mark.parametrize(("side", "number"), [("relevant", "grade"), ("retrieved", "score")])
def test_a_pandas_column_is_refused_since_its_items_may_be_its_index_or_its_values(side, number):
    column = pytest.importorskip("pandas").Series({5: 1, 7: 0})
    message = rf"query 'q7': {side} items are a Series: pass its .tolist\(\) .*its .to_dict\(\) .*item -> {number}"
    with pytest.raises(TypeError, match=message):
        Judge()(query_id="q7", **{"relevant": ["b"], "retrieved": ["a"], side: column})


def test_a_table_is_refused():
    table = pytest.importorskip("pandas").DataFrame({"b": ["a"]})
    with pytest.raises(TypeError, match="retrieved items are a DataFrame"):
        judge(["b"], table)


def test_grades_and_scores_may_be_of_numpy():
    numpy = pytest.importorskip("numpy")
    record = judge({"a": numpy.int64(2), "b": numpy.float32(1)}, {"a": numpy.float32(1), "b": numpy.int64(5)})
    assert (record.hit_ranks, record.gains) == ((1, 2), (1.0, 2.0))


@pytest.mark.parametrize("side", ["relevant", "retrieved"])
def test_an_array_without_dimension_is_refused(side):
    array = pytest.importorskip("numpy").array("a")
    with pytest.raises(TypeError, match=f"{side} items"):
        judge(**{"relevant": ["a"], "retrieved": ["a"], side: array})


def test_an_array_of_arrays_is_refused():
    array = pytest.importorskip("numpy").array([["a", "b"]])
    with pytest.raises(TypeError, match=r"unhashable type: 'numpy.ndarray': give the id or the text of each item"):
        judge(["a"], array)


# None and NaN


@pytest.mark.parametrize("match", [None, same_text], ids=repr)
@pytest.mark.parametrize("unique", [False, True])
def test_what_is_absent_from_a_slot_is_none(match, unique):
    na = pytest.importorskip("pandas").NA
    judge = Judge(match=match, unique=unique)
    assert judge(["a"], [NAN, na, None, NAN, na, "a", NAN]).hit_ranks == (6,)
    assert judge.sides(["a"], [NAN, na, None, NAN, na, "a"])[1] == [None, None, None, None, None, "a"]
    assert [match.rank for match in judge.matches(["a"], [NAN, na, "a"])] == [3]


def test_an_array_in_a_slot_is_not_absent():
    array = pytest.importorskip("numpy").array(["a", "b"])
    with pytest.raises(TypeError, match=r"unhashable .*: give the id or the text of each item"):
        judge(["a"], [array])


@pytest.mark.parametrize("blank", [None, NAN, Decimal("nan")], ids=repr)
@pytest.mark.parametrize("collection", [list, set, tuple, frozenset], ids=lambda made: made.__name__)
def test_none_and_nan_are_no_relevant_items(collection, blank):
    with pytest.raises(ValueError, match="query 'q7': the relevant items hold None or NaN"):
        Judge()(collection(["a", blank]), ["a"], "q7")


@pytest.mark.parametrize("grade", [1, 2])
@pytest.mark.parametrize("blank", [None, NAN], ids=repr)
def test_none_and_nan_are_no_relevant_items_with_a_grade_either(blank, grade):
    with pytest.raises(ValueError, match="query 'q7': the relevant items hold None or NaN"):
        Judge()({"a": 1, blank: grade}, ["a"], "q7")


def test_nan_of_numpy_is_no_relevant_item():
    array = pytest.importorskip("numpy").array([1.0, NAN])
    with pytest.raises(ValueError, match="the relevant items hold None or NaN"):
        judge(array, [1.0])


def test_nan_is_no_relevant_item_for_a_matcher_either():
    with pytest.raises(ValueError, match="the relevant items hold None or NaN"):
        judge(["a", NAN], ["a"], match=operator.eq)


@pytest.mark.parametrize("blank", [None, NAN], ids=repr)
def test_none_and_nan_in_the_ranking_are_slots_that_never_hit(blank):
    assert judge(["a"], [blank, "a"]).hit_ranks == (2,)


def test_none_in_the_ranking_is_no_repeat_of_another():
    assert judge(["a"], [None, None, "a"]).n_retrieved == 3


def test_a_matcher_is_not_asked_about_none():
    assert judge(["a"], [None, "A"], match=same_text).hit_ranks == (2,)


# Equality


@pytest.mark.parametrize(
    ("relevant", "retrieved"), [("1", 1), (1, "1"), ("a", b"a"), ("a", "A"), ("a", "a ")], ids=repr
)
def test_items_are_compared_as_they_are(relevant, retrieved):
    assert judge([relevant], [retrieved]).hit_ranks == ()


# Grades


def test_a_grade_of_zero_or_less_is_not_relevant():
    record = judge({"a": 0, "b": -2, "c": 1}, ["a", "b", "c"])
    assert (record.hit_ranks, record.n_relevant, record.ideal) == ((3,), 1, (1.0,))


def test_a_grade_between_zero_and_one_is_relevant():
    assert judge({"a": 0.25}, ["a"]).gains == (0.25,)


def test_a_fraction_is_a_grade():
    assert judge({"a": Fraction(1, 2)}, ["a"]).gains == (0.5,)


def test_relevance_level_is_the_lowest_relevant_grade():
    record = judge({"a": 1, "b": 2, "c": 3}, ["a", "b", "c"], relevance_level=2)
    assert (record.hit_ranks, record.found_ranks, record.n_relevant) == ((2, 3), (2, 3), 2)


def test_relevance_level_leaves_the_gains_as_they_are():
    record = judge({"a": 1, "b": 2, "c": 3}, ["a", "b"], relevance_level=2)
    assert (record.gain_ranks, record.gains, record.ideal) == ((1, 2), (1.0, 2.0), (3.0, 2.0, 1.0))


def test_relevance_level_above_every_grade_leaves_nothing_relevant():
    assert judge({"a": 1}, ["a"], relevance_level=2).n_relevant == 0


def test_relevant_items_without_grades_have_grade_one():
    assert judge(["a"], ["a"], relevance_level=1).n_relevant == 1
    assert judge(["a"], ["a"], relevance_level=1.5).n_relevant == 0


def test_larger_gains_come_first_at_the_same_rank():
    assert judge({"a b": 1, "b c": 3}, ["a b c"], match=contains).gains == (3.0, 1.0)


def test_only_a_match_of_something_relevant_is_a_hit():
    record = judge({"a": 1, "b": 2}, ["A", "B"], match=same_text, relevance_level=2)
    assert (record.hit_ranks, record.found_ranks, record.gain_ranks) == ((2,), (2,), (1, 2))


@pytest.mark.parametrize(("grade", "word"), [(NAN, "NaN"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_a_grade_that_is_not_finite_is_refused(grade, word):
    with pytest.raises(ValueError, match=f"query 'q7': the grade of 'b' must be .* {word}"):
        Judge()({"a": 1, "b": grade}, ["a"], "q7")


@pytest.mark.parametrize("grade", ["1", "", None, True, False, [1], 1j, Decimal(1)], ids=repr)
def test_a_grade_that_is_no_number_is_refused(grade):
    with pytest.raises(TypeError, match="query 'q7': the grade of 'b' must be a number, got"):
        Judge()({"a": 1, "b": grade}, ["a"], "q7")


# Rules that cannot be followed


@pytest.mark.parametrize("match", ["contains", 0.5, True, ["contains"]], ids=repr)
def test_a_match_that_cannot_be_called_is_refused(match):
    with pytest.raises(TypeError, match="match must be a callable"):
        Judge(match=match)


@pytest.mark.parametrize("level", [0, -1, NAN], ids=repr)
def test_a_relevance_level_that_is_not_above_zero_is_refused(level):
    with pytest.raises(ValueError, match="relevance_level must be"):
        Judge(relevance_level=level)


@pytest.mark.parametrize("level", ["1", True, [1]], ids=repr)
def test_a_relevance_level_that_is_no_number_is_refused(level):
    with pytest.raises(TypeError, match="relevance_level must be a number, got"):
        Judge(relevance_level=level)


def test_rules_are_the_arguments():
    assert Judge(match=contains, unique=True, relevance_level=2).rules == {
        "match": contains,
        "unique": True,
        "relevance_level": 2,
    }


# What a matcher may do


def test_a_matcher_is_called_with_the_retrieved_and_the_relevant_item():
    asked = []

    def match(*items):
        asked.append(items)
        return False

    judge(["relevant"], ["retrieved"], match=match)
    assert asked == [("retrieved", "relevant")]


@pytest.mark.parametrize("answer", [None, 0.7, 1, 0, "yes", [], NotImplemented], ids=repr)
def test_a_matcher_that_returns_no_bool_is_refused(answer):
    with pytest.raises(TypeError, match=r"query 'q7': match must return True or False, .* returned "):
        Judge(match=lambda *_: answer)(["a"], ["a"], "q7")


@pytest.mark.parametrize(("answer", "ranks"), [(True, (1,)), (False, ())])
def test_a_matcher_may_return_a_bool_of_numpy(answer, ranks):
    numpy = pytest.importorskip("numpy")
    assert judge(["a"], ["a"], match=lambda *_: numpy.bool_(answer)).hit_ranks == ranks


def test_what_a_matcher_raises_passes_with_a_note_that_names_the_query():
    with pytest.raises(ZeroDivisionError) as caught:
        Judge(match=lambda *_: 1 // 0)(["a"], ["a"], "q7")
    assert caught.value.__notes__ == ["while judging query 'q7'"]


def test_overlap_without_its_share_is_refused():
    with pytest.raises(TypeError, match=r"match=overlap makes matchers: call it .* match=overlap\(0.5\)"):
        Judge(match=overlap)
    for maker in (similar, span_overlap):
        with pytest.raises(TypeError, match="makes matchers"):
            Judge(match=maker)


def test_a_matcher_of_texts_refuses_ids():
    with pytest.raises(TypeError, match=r"query 'q7': .* found 1 \(int\): pass texts, or leave match= out"):
        Judge(match=same_text)([1], [1], "q7")


# Which query an error names


@pytest.mark.parametrize("query_id", ["q7", 7, ("q", 7), ""], ids=repr)
def test_an_error_names_the_query(query_id):
    with pytest.raises(TypeError) as caught:
        Judge()("abc", ["a"], query_id)
    assert str(caught.value).startswith(f"query {query_id!r}: relevant items are the string 'abc'")


def test_an_error_of_a_single_query_names_none():
    with pytest.raises(TypeError, match=r"^relevant items are the string 'abc'"):
        judge("abc", ["a"])


# Ids as strings


@pytest.mark.parametrize(("found", "string"), [("a", "a"), ("", ""), (7, "7"), (Text("b"), "b"), (-1, "-1")], ids=repr)
def test_an_id_is_a_str_or_an_int(found, string):
    assert string_id(found) == string
    assert type(string_id(found)) is str


@pytest.mark.parametrize("found", [None, True, 1.0, NAN, b"a", ["a"], Decimal(7)], ids=repr)
def test_whatever_else_is_no_id(found):
    assert string_id(found) is None


def test_faults_are_what_judging_raises_by_query():
    def match(retrieved, relevant):
        return {"y": True, "n": False}[retrieved] and relevant == "a"

    faults = Judge(match=match).faults({"q1": ["a"], "q2": ["a"], "q3": "a", "q4": ["a"]}, {"q1": ["y"], "q2": ["?"]})
    assert {query_id: type(error) for query_id, error in faults.items()} == {"q2": KeyError, "q3": TypeError}


def test_a_matcher_that_raises_stop_iteration_is_a_runtime_error():
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        judge(["a"], ["a"], match=lambda *_: next(iter(())))
