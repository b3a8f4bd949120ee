"""The curve over k, and rankings cut to a budget: numbers by hand, what is unknown, and each error."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hitrate_adapters as hr

TEXTS = {"a": "a" * 10, "b": "b" * 20, "c": "c" * 30, "d": "d" * 40}
QRELS = {"q1": ["a"], "q2": ["b"], "q3": ["c"], "q4": ["d"]}
RUN = {"q1": ["a", "b"], "q2": ["c", "b", "a"], "q3": ["a", "b", "c", "d"]}


@pytest.fixture(scope="module")
def evaluation():
    return hr.evaluate(QRELS, RUN)


# Of what the size is known


def same_page(retrieved, relevant):
    return retrieved.partition("#")[0] == relevant


def test_ids_that_a_matcher_of_your_own_compares_have_no_size():
    evaluation = hr.evaluate({"q": ["page"]}, {"q": ["other#1", "page#1"]}, match=same_page)
    assert [point.context for point in evaluation.curve().points] == [None, None]
    with pytest.raises(ValueError, match=r"texts= of item -> text; or, where your matcher .* compares to 'texts'"):
        evaluation.within(12)
    assert evaluation.within(12, texts={"other#1": "a" * 6, "page#1": "b" * 6}).hit_rate() == 1


def test_texts_that_a_matcher_of_your_own_compares_have_a_size():
    def match(retrieved, relevant):
        return relevant in retrieved

    match.compares = "texts"
    evaluation = hr.evaluate({"q": ["page"]}, {"q": ["other", "a page"]}, match=match)
    assert [point.context for point in evaluation.curve().points] == [5, 11]
    assert evaluation.within(10).hit_rate() == 0


def test_the_size_of_a_span_is_that_of_its_part_of_the_document():
    run = {"q": [hr.Span("d", 0, 20), hr.Span("d", 20, 50), None]}
    evaluation = hr.evaluate({"q": [hr.Span("d", 30, 40)]}, run, match=hr.span_overlap())
    assert [point.context for point in evaluation.curve(texts={"d": "x" * 50}).points] == [20, 50, 50]
    assert [evaluation.within(budget, texts={"d": "x" * 50}).hit_rate() for budget in (49, 50)] == [0, 1]
    with pytest.raises(ValueError, match=r"no text of Span\(document='d', start=20, end=50\), .* texts= has none"):
        evaluation.within(50, texts={"d": "x" * 20})


def test_what_is_absent_takes_no_room():
    evaluation = hr.evaluate({"q": ["a"]}, {"q": [float("nan"), "a"]})
    assert evaluation.within(1, texts={"a": "x"}).hit_rate() == 1


# The curve


def test_hit_rate_at_every_k(evaluation):
    curve = evaluation.curve()
    assert [(point.k, float(point.score), point.gain) for point in curve.points] == [
        (1, 0.25, 0.25),
        (2, 0.5, 0.25),
        (3, 0.75, 0.25),
        (4, 0.75, 0.0),
    ]
    assert [str(point.score.metric) for point in curve.points][:2] == ["hit_rate@1", "hit_rate@2"]
    assert {point.context for point in curve.points} == {None}


def test_context_at_every_k(evaluation):
    curve = evaluation.curve(texts=TEXTS)
    assert [point.context for point in curve.points] == [50 / 4, 110 / 4, 150 / 4, 190 / 4]  # q4 retrieved nothing


def test_context_in_another_unit(evaluation):
    assert evaluation.curve(texts=TEXTS, size=lambda text: len(text) // 10).points[0].context == 5 / 4


@pytest.mark.parametrize("metric", ["recall", "ndcg", "mrr", "precision", "map", "hit_rate>=0.5"])
def test_any_metric(evaluation, metric):
    name, _, theta = metric.partition(">=")
    points = evaluation.curve(metric).points
    assert [point.score for point in points] == [
        evaluation.score(f"{name}@{k}>={theta}" if theta else f"{name}@{k}") for k in (1, 2, 3, 4)
    ]
    assert sum(point.gain for point in points) == pytest.approx(points[-1].score)


def test_up_to(evaluation):
    assert [point.k for point in evaluation.curve(up_to=2).points] == [1, 2]
    assert len(evaluation.curve(up_to=9).points) == 9


def test_smallest_k(evaluation):
    curve = evaluation.curve()
    assert curve.smallest_k() == 3
    assert curve.smallest_k(tolerance=0.25) == 2
    assert curve.smallest_k(tolerance=0.3) == 2
    assert curve.smallest_k(tolerance=0.5) == 1


def test_a_tolerance_that_is_met_exactly_is_met():
    qrels = {at: ["gold"] for at in range(100)}
    run = {at: ["gold"] if at < 84 else ["x", "gold"] if at == 84 else ["x"] for at in range(100)}
    assert hr.evaluate(qrels, run).curve().smallest_k(tolerance=0.01) == 1  # 0.85 - 0.84 is above 0.01 in floats


def test_the_plateau_is_the_highest_of_the_curve():
    curve = hr.evaluate({"q": ["a"]}, {"q": ["a", "b", "c"]}).curve("precision")
    assert curve.smallest_k() == 1


def test_print(evaluation):
    assert str(evaluation.curve(texts=TEXTS)).splitlines() == [
        "k              hit_rate    gain  context",
        "1  0.250 [0.046, 0.699]  +0.250       12",
        "2  0.500 [0.150, 0.850]  +0.250       28",
        "3  0.750 [0.301, 0.954]  +0.250       38",
        "4  0.750 [0.301, 0.954]  +0.000       48",
        "within 0.01 of the highest from k = 3",
    ]
    assert str(evaluation.curve(up_to=2)).splitlines()[0] == "k              hit_rate    gain"
    assert str(evaluation.curve("mrr", up_to=2)).splitlines()[-2:] == [
        "within 0.01 of the highest from k = 2",
        "the last slot still adds 0.125: there is more to find below it",
    ]


def test_rows(evaluation):
    assert evaluation.curve(texts=TEXTS).rows()[1] == {"k": 2, "hit_rate": 0.5, "gain": 0.25, "context": 27.5}


def test_a_run_that_retrieved_nothing():
    curve = hr.evaluate({"q": ["a"]}, {"q": []}).curve(texts={})
    assert [(point.k, float(point.score), point.context) for point in curve.points] == [(1, 0.0, 0.0)]
    assert curve.smallest_k() == 1


def test_scored_runs_repeats_and_none():
    run = {"q1": {"a": 0.1, "b": 0.9}, "q2": ["b", None, "b", "c"]}
    contexts = {
        unique: [point.context for point in hr.evaluate(QRELS, run, unique=unique).curve(texts=TEXTS).points]
        for unique in (False, True)
    }
    assert contexts == {
        False: [40 / 4, 50 / 4, 70 / 4, 100 / 4],  # b and a, and b, nothing, b again and c
        True: [40 / 4, 50 / 4, 80 / 4],
    }


@given(st.dictionaries(st.sampled_from("pqr"), st.lists(st.sampled_from("abcd"), max_size=6), min_size=1))
def test_a_curve_rises_and_ends_at_the_whole(run):
    evaluation = hr.evaluate({query_id: ["a"] for query_id in run} | {"o": ["a"]}, {**run, "o": ["a"]})
    points = evaluation.curve(texts=TEXTS).points
    assert all(point.gain >= 0 for point in points)
    assert points[-1].score == evaluation.hit_rate()
    sizes = [point.context for point in points]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": "hit_rate@5"}, ValueError, "a curve is over every k, and 'hit_rate@5' has one"),
        ({"metric": "hits"}, ValueError, "unknown metric"),
        ({"up_to": 0}, ValueError, "k must be at least 1"),
        ({"texts": ["a"]}, TypeError, "texts must be a mapping of item -> text, got list"),
        ({"texts": TEXTS, "size": 5}, TypeError, "size must be a function of a text"),
        ({"texts": TEXTS, "size": str}, TypeError, "the size of 'a' must be a number"),
        ({"texts": TEXTS, "size": lambda _: -1}, ValueError, "the size of 'a' must be finite and at least 0, got -1"),
        ({"texts": {"a": "x"}}, ValueError, "no text of 'b', retrieved for query 'q1': texts= has none"),
        ({"texts": {**TEXTS, "b": 7}}, ValueError, "no text of 'b', retrieved for query 'q1': it is no str"),
    ],
)
def test_wrong_arguments(evaluation, arguments, error, message):
    with pytest.raises(error, match=message):
        evaluation.curve(**arguments)


def test_a_wrong_tolerance(evaluation):
    for tolerance, error in ((-0.1, ValueError), (1, ValueError), ("x", TypeError), (float("nan"), ValueError)):
        with pytest.raises(error):
            evaluation.curve().smallest_k(tolerance)


# A budget of context


@pytest.mark.parametrize(
    ("budget", "cut"),
    [
        (9, {"q1": [], "q2": [], "q3": []}),
        (10, {"q1": ["a"], "q2": [], "q3": ["a"]}),
        (30, {"q1": ["a", "b"], "q2": ["c"], "q3": ["a", "b"]}),
        (59.5, {"q1": ["a", "b"], "q2": ["c", "b"], "q3": ["a", "b"]}),
        (60, {"q1": ["a", "b"], "q2": ["c", "b", "a"], "q3": ["a", "b", "c"]}),
        (1000, RUN),
    ],
)
def test_a_ranking_ends_before_the_chunk_that_would_exceed_the_budget(evaluation, budget, cut):
    within = evaluation.within(budget, texts=TEXTS)
    assert within.run == cut
    again = hr.evaluate(QRELS, cut)
    assert within.records == again.records
    assert within.missing == again.missing == ("q4",)
    assert str(within) == str(again) or not any(cut.values())


def test_no_smaller_chunk_jumps_the_queue():
    evaluation = hr.evaluate({"q": ["a"]}, {"q": ["b", "d", "a"]})
    assert evaluation.within(30, texts=TEXTS).run == {"q": ["b"]}  # d is too long, and a, which would fit, comes after


def test_what_is_retrieved_is_its_own_text_where_texts_are_compared():
    evaluation = hr.evaluate(
        {"q": ["Refunds take five days."]}, {"q": ["Dogs are free.", "Refunds take five days. Ask."]}, match=hr.contains
    )
    assert [point.context for point in evaluation.curve().points] == [14, 42]
    assert [float(evaluation.within(budget).hit_rate()) for budget in (41, 42)] == [0.0, 1.0]


def test_errors_unscored_and_unjudged_queries_stay():
    run = hr.Run({"q1": ["a", "b"], "q2": [], "q9": ["z"]}, errors={"q2": RuntimeError("down")})
    within = hr.evaluate({"q1": ["b"], "q2": ["a"], "q3": []}, run).within(10, texts=TEXTS)
    assert within.run == {"q1": ["a"], "q2": [], "q9": ["z"]}
    assert list(within.errors) == ["q2"]
    assert within.unscored == ("q3", "q9")
    assert within.hit_rate() == 0.0
    assert within.warnings == ()


def test_a_budget_and_graded_relevance():
    qrels = {"q": {"a": 1, "b": 2, "c": 3}}
    evaluation = hr.evaluate(qrels, {"q": ["c", "a", "b"]})
    assert evaluation.within(40, texts=TEXTS).ndcg() == hr.evaluate(qrels, {"q": ["c", "a"]}).ndcg()
    assert evaluation.within(40, texts=TEXTS).recall() == 2 / 3


def test_unique_drops_repeats_before_the_budget():
    run = {"q": ["a", "a", "b"]}
    assert hr.evaluate({"q": ["b"]}, run).within(30, texts=TEXTS).hit_rate() == 0
    assert hr.evaluate({"q": ["b"]}, run, unique=True).within(30, texts=TEXTS).hit_rate() == 1


def test_none_takes_no_room():
    evaluation = hr.evaluate({"q": ["a"]}, {"q": [None, "b", None, "a"]})
    assert evaluation.within(30, texts=TEXTS).run == {"q": [None, "b", None, "a"]}
    assert evaluation.within(20, texts=TEXTS).run == {"q": [None, "b", None]}


def test_a_cut_evaluation_has_every_tool(evaluation):
    within = evaluation.within(30, texts=TEXTS)
    assert within.misses() == ("q2", "q3", "q4")
    assert within.matches("q1")[0].relevant == "a"
    assert len(within.curve(texts=TEXTS).points) == 2
    assert within.by(lambda query_id: query_id < "q3")[True].hit_rate() == 0.5
    assert copy.copy(within).hit_rate() == 0.25
    assert within.within(10, texts=TEXTS).hit_rate() == 0.25


@given(st.lists(st.one_of(st.none(), st.sampled_from("abcd")), max_size=8), st.integers(1, 120), st.booleans())
def test_within_is_judging_the_cut_ranking(ranking, budget, unique):
    evaluation = hr.evaluate({"q": ["a", "d"], "o": ["b"]}, {"q": ranking, "o": ["b"]}, unique=unique)
    within = evaluation.within(budget, texts=TEXTS)
    assert within["q"] == evaluation.judge(["a", "d"], within.run["q"])
    assert sum(len(TEXTS.get(item, "")) for item in within.run["q"]) <= budget


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"budget": 0, "texts": TEXTS}, ValueError, "budget must be above 0"),
        ({"budget": "all", "texts": TEXTS}, TypeError, "budget must be a number"),
        ({"budget": 10}, ValueError, "a budget needs the texts of what was retrieved"),
        ({"budget": 10, "texts": {}}, ValueError, "no text of 'a', retrieved for query 'q1'"),
    ],
)
def test_wrong_budgets(evaluation, arguments, error, message):
    with pytest.raises(error, match=message):
        evaluation.within(**arguments)
