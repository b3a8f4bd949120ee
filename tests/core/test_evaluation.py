"""Judging a whole run: what is counted, what is left out and named, and what is refused."""

import copy
import json
import math
import operator
import pickle
import warnings

import pytest

from hitrate_adapters import (
    METRICS,
    Evaluation,
    Metric,
    QueryRecord,
    Run,
    Score,
    contains,
    evaluate,
    judge,
    overlap,
    run_retriever,
    same_text,
)
from hitrate_adapters.core.scores import mean

QRELS = {"q1": {"d2", "d7"}, "q2": {"d1", "d11"}}
RUN = {"q1": ["d1", "d2", "d3", "d4", "d5"], "q2": ["d6", "d7", "d8", "d9", "d10"]}


@pytest.fixture
def evaluation():
    return evaluate(QRELS, RUN)


# The means


@pytest.mark.parametrize(("k", "right"), [(1, 0.0), (2, 0.5), (5, 0.5), (None, 0.5)])
def test_hit_rate(evaluation, k, right):
    assert evaluation.hit_rate(k) == right


def test_hit_rate_with_theta(evaluation):
    assert evaluation.hit_rate(5, theta=0.5) == 0.5
    assert evaluation.hit_rate(5, theta=0.51) == 0.0


@pytest.mark.parametrize(
    ("name", "right"),
    [("recall", 0.25), ("precision", 0.1), ("mrr", 0.25), ("map", 0.125), ("ndcg", 0.19342640361727081)],
)
def test_the_other_metrics(evaluation, name, right):
    assert getattr(evaluation, name)(5) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("k", [1, 2, None])
def test_a_metric_by_its_name_is_the_method(evaluation, name, k):
    spec = name if k is None else f"{name}@{k}"
    assert evaluation.score(spec) == getattr(evaluation, name)(k)


def test_a_score_by_a_name_with_theta(evaluation):
    assert evaluation.score("hit_rate@5>=0.5") == 0.5


def test_a_score_by_a_metric(evaluation):
    assert evaluation.score(Metric("success", 5)) == 0.5


def test_an_unknown_metric_is_refused(evaluation):
    with pytest.raises(ValueError, match="unknown metric 'hits'"):
        evaluation.score("hits@5")


@pytest.mark.parametrize(
    ("k", "error"), [(0, ValueError), (-3, ValueError), (True, TypeError), (5.0, TypeError), ("5", TypeError)]
)
@pytest.mark.parametrize("ask", [*METRICS, "misses", "table"])
def test_a_k_that_is_no_count_is_refused(evaluation, ask, k, error):
    with pytest.raises(error, match=f"k must be .* got {k!r}"):
        getattr(evaluation, ask)(k)


@pytest.mark.parametrize("name", METRICS)
def test_a_huge_k_is_all_that_was_retrieved(evaluation, name):
    if name == "precision":
        assert evaluation.precision(10**30) == 5e-31
    else:
        assert getattr(evaluation, name)(10**30) == getattr(evaluation, name)()


def test_matching_and_unique_and_relevance_level_are_those_of_the_judge():
    qrels, run = {"q": {"A": 1, "B": 2}}, {"q": ["a", "a", "b"]}
    evaluation = evaluate(qrels, run, match=same_text, unique=True, relevance_level=2)
    assert evaluation["q"] == judge(qrels["q"], run["q"], match=same_text, unique=True, relevance_level=2)
    assert evaluation["q"].hit_ranks == (2,)


@pytest.mark.parametrize(
    ("scores", "right"),
    [([1.0, 0.0], 0.5), ([None, 1.0, math.nan, 0.5], 0.75), ([0.1] * 10, 0.1), ([None, math.nan], None), ([], None)],
)
def test_a_mean_leaves_out_what_was_not_scored(scores, right):
    assert mean(scores) == right


# A score


def test_a_score_is_a_float(evaluation):
    score = evaluation.hit_rate(5)
    assert isinstance(score, float)
    assert score >= 0.45
    assert f"{score:.2f}" == "0.50"
    assert str(score) == "0.5"


def test_a_score_shows_its_name_interval_and_n(evaluation):
    assert repr(evaluation.hit_rate(5)) == "hit_rate@5 = 0.500 [0.095, 0.905] (n=2)"


def test_a_score_that_is_no_share_of_queries_has_an_interval_too(evaluation):
    assert repr(evaluation.mrr(10)) == "mrr@10 = 0.250 [0.027, 0.802] (n=2)"


def test_a_mean_of_many_has_the_bca_interval():
    places = {1: 90, 2: 30, 3: 20, 4: 10, 5: 8, 10: 2, 11: 40}
    ranks = [rank for rank, n in places.items() for _ in range(n)]
    run = {query: [*map(str, range(1, rank)), "gold"] for query, rank in enumerate(ranks)}
    score = evaluate({query: ["gold"] for query in run}, run).mrr(10)
    assert score.interval == pytest.approx((0.52275, 0.63608), abs=0.0003)  # SciPy's, with 400,000 resamples
    for twin in (pickle.loads(pickle.dumps(score)), copy.deepcopy(score)):  # noqa: S301
        assert (twin, twin.interval, repr(twin)) == (score, score.interval, repr(score))
    assert len(pickle.dumps(score)) < 500


def test_a_hit_rate_with_theta_has_an_interval(evaluation):
    assert evaluation.hit_rate(5, 0.5).interval == pytest.approx((0.0945, 0.9055), abs=5e-5)


def test_a_score_knows_its_metric_and_n(evaluation):
    score = evaluation.hit_rate(5)
    assert (score.metric, score.n) == (Metric("hit_rate", 5), 2)


def test_a_score_is_a_number_in_json(evaluation):
    assert json.dumps({"hit_rate@5": evaluation.hit_rate(5)}) == '{"hit_rate@5": 0.5}'


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_score_survives_pickling(evaluation, protocol):
    twin = pickle.loads(pickle.dumps(evaluation.hit_rate(5), protocol))  # noqa: S301
    assert (type(twin), repr(twin)) == (Score, "hit_rate@5 = 0.500 [0.095, 0.905] (n=2)")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_score_survives_copying(evaluation, copied):
    assert repr(copied(evaluation.hit_rate(5))) == "hit_rate@5 = 0.500 [0.095, 0.905] (n=2)"


# Which queries count


def test_nothing_retrieved_is_a_miss():
    evaluation = evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": [], "q2": ["b"]})
    assert evaluation.hit_rate(5) == 0.5
    assert evaluation.misses(5) == ("q1",)
    assert evaluation.missing == ()


def test_a_judged_query_absent_from_the_run_is_a_miss_and_counted():
    evaluation = evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": ["a"]})
    assert evaluation.hit_rate(5) == 0.5
    assert evaluation.misses(5) == ("q2",)
    assert evaluation.missing == ("q2",)
    assert evaluation["q2"] == QueryRecord((), (), (), (), (1.0,), 1, 0)


@pytest.mark.parametrize("relevant", [[], {}, {"x": 0}, {"x": -1, "y": 0}], ids=str)
def test_a_query_without_relevant_items_is_left_out_and_named(relevant):
    evaluation = evaluate({"q1": ["a"], "q2": relevant}, {"q1": ["a"], "q2": ["x"]})
    assert [float(evaluation.score(name)) for name in METRICS] == [1.0] * 6
    assert (len(evaluation), list(evaluation), evaluation.unscored) == (1, ["q1"], ("q2",))


def test_a_query_whose_grades_are_below_the_relevance_level_is_left_out():
    evaluation = evaluate({"q1": {"a": 2}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["b"]}, relevance_level=2)
    assert (evaluation.hit_rate(), evaluation.unscored) == (1.0, ("q2",))


def test_a_query_without_judgements_is_left_out_and_named():
    evaluation = evaluate({"q1": ["a"]}, {"q9": ["a"], "q1": ["x", "a"]})
    assert (evaluation.hit_rate(1), evaluation.hit_rate(2), evaluation.unscored) == (0.0, 1.0, ("q9",))


def test_a_query_that_cannot_be_scored_is_not_missing():
    assert evaluate({"q1": ["a"], "q2": []}, {"q1": ["a"]}).missing == ()


def test_a_query_that_cannot_be_scored_is_no_miss():
    assert evaluate({"q1": ["a"], "q2": []}, {"q1": ["a"], "q2": [], "q3": []}).misses() == ()


def test_queries_are_in_the_order_of_the_qrels():
    qrels = {"c": ["1"], "u": [], "a": ["1"], "b": ["1"], "t": []}
    evaluation = evaluate(qrels, {"z": [], "b": [], "a": [], "t": ["1"]})
    assert list(evaluation) == ["c", "a", "b"]
    assert evaluation.misses() == ("c", "a", "b")
    assert evaluation.missing == ("c",)
    assert evaluation.unscored == ("u", "t", "z")


def test_a_query_whose_retrieval_failed_is_a_miss_named_in_errors():
    error = TimeoutError("too late")
    evaluation = evaluate({"q1": ["a"], "q2": ["b"]}, Run({"q1": ["a"], "q2": []}, {"q2": error}))
    assert evaluation.hit_rate() == 0.5
    assert evaluation.errors == {"q2": error}


def test_a_plain_run_has_no_errors(evaluation):
    assert evaluation.errors == {}


@pytest.mark.parametrize("query_id", ["", 7, None, ("q", 7), 7.5, "päpste/№7 😀"], ids=repr)
def test_a_query_id_is_anything_with_a_hash(query_id):
    evaluation = evaluate({query_id: ["a"]}, {query_id: ["x"], "u": ["a"]})
    assert evaluation.misses() == (query_id,)


def test_query_ids_may_be_of_several_types():
    evaluation = evaluate({1: ["a"], "1": ["a"]}, {1: ["a"], "1": ["x"]})
    assert evaluation.misses() == ("1",)


def test_misses_follow_k_and_theta():
    evaluation = evaluate({"q1": ["a", "b"], "q2": ["c"]}, {"q1": ["a"], "q2": ["x", "c"]})
    assert evaluation.misses(1) == ("q2",)
    assert evaluation.misses(2) == ()
    assert evaluation.misses(2, theta=1) == ("q1",)


def test_items_are_not_copied_and_stay_as_they_are(evaluation):
    assert evaluation.qrels is QRELS
    assert evaluation.run is RUN


def test_a_mapping_of_any_kind_is_taken():
    class Lazy(dict):
        def __missing__(self, key):
            raise AssertionError(key)

    evaluation = evaluate(Lazy(q1=["a"], q2=["b"]), Lazy(q1=["a"]))
    assert evaluation.missing == ("q2",)


def test_an_answer_does_not_change_with_the_run_it_was_made_from():
    qrels, run = {"q": {"a"}}, {"q": ["a"]}
    evaluation = evaluate(qrels, run)
    qrels["q"].clear()
    run["q"].clear()
    assert evaluation.hit_rate(1) == 1.0


# Iterators


def test_iterators_are_read_once_and_kept():
    qrels = {"q": (item for item in ["gold"]), "r": ["x"]}
    run = {"q": filter(None, ["x", "gold"]), "r": map(str, ["y"])}
    evaluation = evaluate(qrels, run)
    assert (evaluation.hit_rate(1), evaluation.hit_rate(2)) == (0, 0.5)
    assert (evaluation.qrels, evaluation.run) == ({"q": ["gold"], "r": ["x"]}, {"q": ["x", "gold"], "r": ["y"]})
    assert [match.rank for match in evaluation.matches("q")] == [2]
    assert evaluation.within(2, texts=dict.fromkeys(["x", "y", "gold"], "a")).hit_rate() == 0.5
    assert evaluation.compare(evaluation, "hit_rate@2").difference == 0


def test_a_run_of_iterators_keeps_its_errors():
    evaluation = evaluate({"q": ["a"], "r": ["a"]}, Run({"q": iter("a"), "r": []}, {"r": ValueError("down")}))
    assert list(evaluation.errors) == list(evaluation.run.errors) == ["r"]


def test_a_run_without_iterators_is_not_copied():
    qrels, run = {"q": {"a"}}, {"q": ["a"]}
    evaluation = evaluate(qrels, run)
    assert evaluation.qrels is qrels
    assert evaluation.run is run


# What is refused


@pytest.mark.parametrize(
    ("qrels", "run", "name", "found"),
    [
        ([("q", ["a"])], {"q": ["a"]}, "qrels", "list"),
        ({"q": ["a"]}, [["a"]], "run", "list"),
        ({"q": ["a"]}, None, "run", "NoneType"),
        ("q", {"q": ["a"]}, "qrels", "str"),
    ],
)
def test_what_is_no_mapping_is_refused(qrels, run, name, found):
    with pytest.raises(TypeError, match=f"{name} must be a mapping of query id -> items, got {found}"):
        evaluate(qrels, run)


def test_swapped_sets_are_refused():
    with pytest.raises(TypeError, match=r"query 'q1'.*set, which has no order.*swapped"):
        evaluate(RUN, QRELS)


def test_no_query_in_common_is_refused_with_an_id_of_each_side_and_its_type():
    with pytest.raises(ValueError, match=r"share no query id: qrels has 1 \(int\), the run has '1' \(str\)"):
        evaluate({1: ["a"]}, {"1": ["a"]})


def test_an_empty_run_is_refused():
    with pytest.raises(ValueError, match=r"share no query id: qrels has 'q' \(str\), the run has nothing"):
        evaluate({"q": ["a"]}, {})


@pytest.mark.parametrize("qrels", [{}, {"q": []}, {"q": {"a": 0}, "p": []}], ids=str)
def test_nothing_that_can_be_scored_is_refused(qrels):
    with pytest.raises(ValueError, match=f"none of {len(qrels)} queries can be scored"):
        evaluate(qrels, {"q": ["a"]})


@pytest.mark.parametrize(
    ("relevant", "retrieved", "error", "words"),
    [
        ("abc", ["a"], TypeError, "relevant items are the string 'abc': pass a list"),
        ({"a"}, "abc", TypeError, "retrieved items are the string 'abc': pass a list"),
        (["a", None], ["a"], ValueError, "the relevant items hold None or NaN"),
        (["a", math.nan], ["a"], ValueError, "the relevant items hold None or NaN"),
        ({"a": math.nan}, ["a"], ValueError, "the grade of 'a' must be a number, got NaN"),
        ({"a": math.inf}, ["a"], ValueError, "the grade of 'a' must be finite, got inf"),
        ({"a": "1"}, ["a"], TypeError, "the grade of 'a' must be a number, got '1'"),
        ({"a"}, {"a": math.nan}, ValueError, "the score of 'a' must be a number, got NaN"),
        ({"a"}, {"a"}, TypeError, "set, which has no order"),
        ({"a"}, None, TypeError, r"got None: pass \[\] where nothing was retrieved"),
        ({"a"}, [["a"]], TypeError, "unhashable type: 'list': give the id or the text"),
        ([["a"]], ["a"], TypeError, "unhashable type: 'list'"),
        (None, ["a"], TypeError, "must be a collection of ids or texts"),
    ],
)
@pytest.mark.parametrize("collection", [list, set], ids=["lists", "sets"])
def test_a_fault_is_named_with_its_query_among_sound_ones(collection, relevant, retrieved, error, words):
    sound = {f"q{number}": collection(["a", "b"]) for number in range(7)}
    rankings = {query: ["x", "a"] for query in sound}
    with pytest.raises(error, match=f"query 'bad': .*{words}"):
        evaluate({**sound, "bad": relevant}, {**rankings, "bad": retrieved})


def test_a_set_with_none_is_named_with_its_query_among_sound_ones():
    with pytest.raises(ValueError, match="query 'bad': the relevant items hold None or NaN"):
        evaluate({"q": {"a"}, "bad": {"a", None}}, {"q": ["a"], "bad": ["a"]})


@pytest.mark.parametrize("match", ["contains", 0.5], ids=repr)
def test_a_match_that_cannot_be_called_is_refused(match):
    with pytest.raises(TypeError, match="match must be a callable"):
        evaluate(QRELS, RUN, match=match)


# Nothing found at all


@pytest.mark.parametrize("match", [None, same_text, operator.eq], ids=["equality", "same_text", "eq"])
def test_a_run_of_nothing_but_none_is_refused(match):
    with pytest.raises(ValueError, match="every retrieved item is None"):
        evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": [None, None], "q2": []}, match=match)


def test_a_single_query_of_nothing_but_none_is_a_miss():
    assert evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": [None], "q2": ["b"]}).misses() == ("q1",)


@pytest.mark.parametrize(
    ("relevant", "retrieved", "shown"),
    [
        (["1"], [1], r"The qrels have '1' \(str\), the run has 1 \(int\)"),
        (["doc-1"], ["1"], r"The qrels have 'doc-1' \(str\), the run has '1' \(str\)"),
        ({"1": 2}, {1: 0.5}, r"The qrels have '1' \(str\), the run has 1 \(int\)"),
    ],
)
def test_ids_of_two_id_spaces_are_warned_of(relevant, retrieved, shown):
    with pytest.warns(UserWarning, match=f"no relevant id was ever retrieved: are both in the same id space.*{shown}"):
        evaluation = evaluate({"q": relevant}, {"q": retrieved})
    assert evaluation.hit_rate() == 0.0


def test_the_warning_is_of_the_callers_line():
    with pytest.warns(UserWarning, match="no relevant id") as caught:
        evaluate({"q": ["a"]}, {"q": ["b"]})
    assert caught[0].filename == __file__


def test_ids_that_another_query_retrieved_are_not_warned_of():
    with warnings.catch_warnings(action="error"):
        assert evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": ["b"], "q2": ["a"]}).hit_rate() == 0.0


def test_a_matcher_that_finds_nothing_is_warned_of():
    with pytest.warns(UserWarning, match=r"no relevant text was ever retrieved, by match=same_text.*'a' \(str\)"):
        assert evaluate({"q": ["a"]}, {"q": ["b"]}, match=same_text).hit_rate() == 0.0


def test_texts_that_differ_are_told_of_matchers():
    with pytest.warns(UserWarning, match="no relevant text was ever retrieved to the letter: see match="):
        evaluate({"q": ["Refunds take five days."]}, {"q": ["Refunds take five days"]})


def test_a_retriever_that_fails_on_every_query_is_warned_of():
    run = run_retriever(lambda query: query["text"], {"q1": "x", "q2": "y"})
    with pytest.warns(
        UserWarning, match=r"the retrieval of every query failed; of query 'q1' by TypeError: string ind"
    ):
        evaluation = evaluate({"q1": ["a"], "q2": ["b"]}, run)
    assert "warning: the retrieval of every query failed" in str(evaluation)


def test_warnings_are_kept():
    with pytest.warns(UserWarning, match="same id space"):
        evaluation = evaluate({"q": [1]}, {"q": ["1"]})
    (warning,) = evaluation.warnings
    assert warning.endswith("same id space? The qrels have 1 (int), the run has '1' (str)")
    assert evaluate({"q": [1]}, {"q": [1]}).warnings == ()


def test_a_run_that_retrieved_nothing_is_not_warned_of():
    with warnings.catch_warnings(action="error"):
        assert evaluate({"q1": ["a"], "q2": ["b"]}, {"q1": []}).hit_rate() == 0.0


def test_a_query_without_judgements_may_hold_anything():
    evaluation = evaluate({"q": ["a"]}, {"q": ["a"], "u": [["no", "id"]]})
    assert evaluation.unscored == ("u",)


# Merging


def test_a_sum_holds_the_queries_of_both():
    first = evaluate({"q1": ["a"], "q2": []}, {"q1": ["a"], "q2": [], "r": []})
    second = evaluate({"q3": ["a"], "q4": ["a"]}, Run({"q3": []}, {"q3": (error := OSError())}))
    both = first + second
    assert list(both) == ["q1", "q3", "q4"]
    assert both.unscored == ("q2", "r")
    assert both.missing == ("q4",)
    assert both.errors == {"q3": error}
    assert both.hit_rate() == 1 / 3
    assert both.qrels == {"q1": ["a"], "q2": [], "q3": ["a"], "q4": ["a"]}
    assert both.run == {"q1": ["a"], "q2": [], "r": [], "q3": []}


def test_a_sum_leaves_its_parts_as_they_are():
    first, second = evaluate({"q1": ["a"]}, {"q1": ["a"]}), evaluate({"q2": ["a", "b"]}, {"q2": ["b"]})
    assert (first + second).hit_rate() == 1.0
    assert (list(first), list(second)) == (["q1"], ["q2"])


def test_a_sum_is_that_of_one_run_to_the_last_bit():
    def shard(name, ranks):
        qrels = {f"{name}{number}": ["a"] for number in range(len(ranks))}
        return qrels, {query: ["x"] * (rank - 1) + ["a"] for query, rank in zip(qrels, ranks, strict=True)}

    (qrels_1, run_1), (qrels_2, run_2) = shard("p", [2, 3, 2, 8, 4]), shard("q", [7, 7, 3, 6, 8, 3, 8])
    merged = evaluate(qrels_1, run_1) + evaluate(qrels_2, run_2)
    assert merged.mrr() == evaluate(qrels_1 | qrels_2, run_1 | run_2).mrr()


def test_evaluations_with_a_query_in_common_are_not_added(evaluation):
    with pytest.raises(ValueError, match=r"in both evaluations, such as 'q2' \(1 in all\)"):
        evaluation + evaluate({"q2": ["a"], "q3": ["a"]}, {"q2": ["a"], "q3": ["a"]})


def test_evaluations_by_different_rules_are_not_added():
    with pytest.raises(ValueError, match=r"different rules cannot be added: .*unique=False.*unique=True"):
        evaluate({"q1": ["a"]}, {"q1": ["a"]}) + evaluate({"q2": ["a"]}, {"q2": ["a"]}, unique=True)


def test_evaluations_by_equal_matchers_are_added():
    first = evaluate({"q1": ["a"]}, {"q1": ["A"]}, match=overlap(0.5))
    assert (first + evaluate({"q2": ["a"]}, {"q2": ["A"]}, match=overlap(0.5))).hit_rate() == 1.0


@pytest.mark.parametrize("other", [1, 0.5, {}, None], ids=repr)
def test_nothing_else_is_added_to_an_evaluation(evaluation, other):
    with pytest.raises(TypeError, match="unsupported operand"):
        evaluation + other


# An evaluation as a mapping and a table


def test_an_evaluation_gives_the_record_of_a_query(evaluation):
    assert evaluation["q1"] == QueryRecord((2,), (2,), (2,), (1.0,), (1.0, 1.0), 2, 5)


def test_an_evaluation_has_no_record_of_what_cannot_be_scored():
    evaluation = evaluate({"q1": ["a"], "q2": []}, {"q1": ["a"]})
    with pytest.raises(KeyError):
        evaluation["q2"]


def test_an_evaluation_is_a_collection_of_query_ids(evaluation):
    assert (list(evaluation), len(evaluation), "q1" in evaluation, "d1" in evaluation) == (["q1", "q2"], 2, True, False)


def test_an_evaluation_shows_its_sizes():
    evaluation = evaluate({"q1": ["a"], "q2": [], "q3": ["a"]}, {"q1": ["a"], "r": []})
    assert repr(evaluation) == "<Evaluation: 2 scored, 2 unscored, 1 missing>"


def test_an_evaluation_cannot_be_changed(evaluation):
    with pytest.raises(AttributeError):
        evaluation.run = {}


def test_an_evaluation_survives_pickling(evaluation):
    twin = pickle.loads(pickle.dumps(evaluation))  # noqa: S301
    assert isinstance(twin, Evaluation)
    assert repr(twin.hit_rate(5)) == "hit_rate@5 = 0.500 [0.095, 0.905] (n=2)"
    assert twin.misses(5) == ("q2",)


def test_an_evaluation_that_was_asked_before_survives_pickling(evaluation):
    before = [evaluation.score(f"{name}@5") for name in METRICS]
    twin = pickle.loads(pickle.dumps(evaluation))  # noqa: S301
    assert [twin.score(f"{name}@5") for name in METRICS] == before


def test_rows_are_one_mapping_per_query():
    evaluation = evaluate({"q1": ["a", "b"], "q2": [], "q3": ["c"]}, {"q1": ["x", "a"], "q2": ["a"]})
    assert evaluation.rows(("hit_rate", "mrr@10"), k=(1, 2)) == [
        {
            "query_id": "q1",
            "hit_rate@1": 0.0,
            "hit_rate@2": 1.0,
            "mrr@10": 0.5,
            "first_hit_rank": 2,
            "n_found": 1,
            "n_relevant": 2,
            "n_retrieved": 2,
        },
        {
            "query_id": "q3",
            "hit_rate@1": 0.0,
            "hit_rate@2": 0.0,
            "mrr@10": 0.0,
            "first_hit_rank": None,
            "n_found": 0,
            "n_relevant": 1,
            "n_retrieved": 0,
        },
        {
            "query_id": "q2",
            "hit_rate@1": None,
            "hit_rate@2": None,
            "mrr@10": None,
            "first_hit_rank": None,
            "n_found": None,
            "n_relevant": None,
            "n_retrieved": None,
        },
    ]


def test_rows_have_every_metric_at_the_usual_cutoffs(evaluation):
    columns = [f"{name}@{k}" for name in METRICS for k in (1, 3, 5, 10)]
    assert [name for name in evaluation.rows()[0] if "@" in name] == columns


def test_rows_make_a_table_of_pandas_with_the_same_means():
    pandas = pytest.importorskip("pandas")
    evaluation = evaluate({"q1": ["a"], "q2": [], "q3": ["c"]}, {"q1": ["x", "a"], "q2": ["a"]})
    frame = pandas.DataFrame(evaluation.rows())
    assert frame["mrr@3"].mean() == 0.25
    assert frame["hit_rate@3"].mean() == 0.5


def test_rows_refuse_to_hold_no_metric(evaluation):
    with pytest.raises(ValueError, match="at least one metric"):
        evaluation.rows(())


def test_shards_of_the_qrels_with_the_whole_run_are_added():
    run = {"q1": ["a"], "q2": ["x", "b"]}
    merged = evaluate({"q1": ["a"]}, run) + evaluate({"q2": ["b"]}, run)
    assert (merged.hit_rate(1), merged.unscored, merged.missing) == (0.5, (), ())


def test_a_failed_retrieval_of_a_query_that_cannot_be_scored_is_no_miss():
    run = Run({"q1": ["a"], "q2": []}, {"q2": OSError("down")})
    assert evaluate({"q1": ["a"], "q2": []}, run).errors == {}


def test_nothing_found_with_odd_items_elsewhere_in_the_run_is_a_warning():
    with pytest.warns(UserWarning, match="no relevant id was ever retrieved"):
        assert evaluate({"q": ["a"]}, {"q": ["x"], "unjudged": [["y"]], "none": None}).hit_rate() == 0.0


def test_missing_values_of_pandas_in_the_gold_are_refused():
    na = pytest.importorskip("pandas").NA
    with pytest.raises(ValueError, match=r"query 'q': the relevant items hold None or NaN"):
        evaluate({"q": ["a", na]}, {"q": ["a"]})


def test_none_among_graded_gold_is_refused_whatever_its_grade():
    with pytest.raises(ValueError, match=r"query 'q': the relevant items hold None or NaN"):
        evaluate({"q": {None: 0, "a": 1}}, {"q": ["a"]})


def test_unique_is_a_bool():
    with pytest.raises(TypeError, match="unique must be True or False, got 'no'"):
        evaluate({"q": ["a"]}, {"q": ["a"]}, unique="no")


def test_a_merged_run_holds_what_each_shard_was_judged_by():
    first = evaluate({"a": ["x"]}, {"a": ["x"], "b": ["x"]})
    for merged in (
        first + evaluate({"b": ["x"], "c": ["y"]}, {"c": ["y"]}),
        evaluate({"b": ["x"], "c": ["y"]}, {"c": ["y"]}) + first,
    ):
        assert merged.missing == ("b",)
        assert "b" not in merged.run
        assert evaluate(merged.qrels, merged.run).hit_rate() == merged.hit_rate()


# Which items matched


def test_matches_are_the_pairs_that_hits_rest_on():
    gold = {"q": ["Refunds take five days.", "They go to the card.", "Shipping is free."]}
    found = {"q": ["A shop.", "Refunds take five days. They go to the card.", "Refunds take five days.", None]}
    matches = evaluate(gold, found, match=contains).matches("q")
    assert matches == (
        (2, "Refunds take five days. They go to the card.", "Refunds take five days."),
        (2, "Refunds take five days. They go to the card.", "They go to the card."),
        (3, "Refunds take five days.", "Refunds take five days."),
    )
    assert matches[0].relevant == "Refunds take five days."


def test_matches_follow_the_rules_of_judging():
    evaluation = evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "b", "b", "a"]}, unique=True, relevance_level=2)
    assert evaluation.matches("q") == ((3, "a", "a"),)
    assert evaluation["q"].hit_ranks == (3,)


def test_a_query_that_retrieved_nothing_has_no_matches():
    assert evaluate({"q": ["a"], "r": ["a"]}, {"q": ["a"]}).matches("r") == ()


def test_matches_of_a_query_that_cannot_be_scored_are_an_error():
    with pytest.raises(KeyError, match="query 'r' is none of those that can be scored"):
        evaluate({"q": ["a"], "r": []}, {"q": ["a"]}).matches("r")
