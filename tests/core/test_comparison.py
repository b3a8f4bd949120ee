"""Two evaluations, query by query: the figures, the verdict, and what may not be compared."""

import pickle
import random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hitrate_adapters as hr

pytestmark = pytest.mark.filterwarnings("ignore:no relevant id was ever retrieved:UserWarning")  # in tiny runs


def run_with(*hits):
    """Return a run over the queries 0, 1, ... that finds "gold" at the rank given for each; 0 for a miss."""
    return {query: [*map(str, range(1, rank)), "gold"] if rank else ["other"] for query, rank in enumerate(hits)}


def evaluated(*hits):
    run = run_with(*hits)
    return hr.evaluate({query: ["gold"] for query in run}, run)


@pytest.fixture(scope="module")
def of_300():
    """Return the new and the old evaluation of 300 queries: 31 won, 19 lost, 190 hit by both, 60 by neither."""
    new = evaluated(*[1] * 31, *[0] * 19, *[1] * 190, *[0] * 60)
    old = evaluated(*[0] * 31, *[1] * 19, *[1] * 190, *[0] * 60)
    return new, old


@pytest.fixture(scope="module")
def compared(of_300):
    new, old = of_300
    return new.compare(old, "hit_rate@5")


# The figures


def test_hit_rates_of_300_queries(compared):
    assert (compared.n, compared.difference) == (300, pytest.approx(0.04))
    assert (compared.new, compared.old) == (221 / 300, 209 / 300)
    assert compared.interval == pytest.approx((-0.00685, 0.08632), abs=1e-5)
    assert compared.p == pytest.approx(0.1189, abs=5e-5)
    assert compared.adjusted == compared.p
    assert str(compared.metric) == "hit_rate@5"


def test_queries_are_named(compared):
    assert compared.won == tuple(range(31))
    assert compared.lost == tuple(range(31, 50))
    assert compared.tied == tuple(range(50, 300))
    assert compared.left_out == ()


def test_what_either_and_both_hit(compared):
    assert (compared.either, compared.both) == (pytest.approx(240 / 300), pytest.approx(190 / 300))


def test_what_could_be_detected(compared):
    assert compared.detectable == pytest.approx(0.0692, abs=1e-4)
    assert hr.sample_size(p=209 / 300, delta=compared.detectable, discordant=50 / 300) in (300, 301)


def test_in_one_line(compared):
    assert str(compared) == (
        "+0.040 [-0.007, 0.086], p = 0.12; 31 won, 19 lost, n = 300: cannot be resolved at this size"
    )
    assert repr(compared) == str(compared)


def test_a_metric_that_is_no_share():
    new = evaluated(1, 1, 1, 1, 2, 0, 3, 3)
    old = evaluated(2, 2, 1, 4, 1, 0, 3, 0)
    compared = new.compare(old, "mrr@3")
    assert (compared.won, compared.lost, compared.tied) == ((0, 1, 3, 7), (4,), (2, 5, 6))
    assert compared.difference == pytest.approx((0.5 + 0.5 + 1 - 0.5 + 1 / 3) / 8)
    assert compared.p == 10 / 32  # 17/6 less twice any part of .5, .5, 1, .5, 1/3 that is at most .5, either way
    assert compared.either == pytest.approx((1 + 1 + 1 + 1 + 1 + 0 + 1 / 3 + 1 / 3) / 8)
    assert compared.both == pytest.approx((0.5 + 0.5 + 1 + 0 + 0.5 + 0 + 1 / 3 + 0) / 8)


def test_recall_of_one_relevant_item_is_compared_as_its_hit_rate(of_300):
    new, old = of_300
    by_recall, by_hit_rate = new.compare(old, "recall@5"), new.compare(old, "hit_rate@5")
    assert (by_recall.p, by_recall.interval) == (by_hit_rate.p, by_hit_rate.interval)


def test_theta():
    qrels = {query: ["a", "b"] for query in range(10)}
    new = hr.evaluate(qrels, {query: ["a", "b"] for query in qrels})
    old = hr.evaluate(qrels, {query: ["a"] for query in qrels})
    assert new.compare(old, "hit_rate@5").difference == 0
    assert new.compare(old, hr.Metric("hit_rate", 5, 1.0)).difference == 1


def test_values_that_differ_by_rounding_are_tied():
    qrels = {"q": ["a", "b", "c", "d"]}
    first = hr.evaluate(qrels, {"q": ["x1", "a", "b"]})  # (1/2 + 2/3) / 4
    second = hr.evaluate(qrels, {"q": ["a", *(f"x{rank}" for rank in range(2, 12)), "b"]})  # (1 + 2/12) / 4
    assert first.map() != second.map()
    assert first.compare(second, "map").tied == ("q",)


# The verdict


@pytest.mark.parametrize(
    ("won", "lost", "tied", "verdict"),
    [
        (9, 1, 20, "better"),
        (1, 9, 20, "worse"),
        (8, 2, 20, "cannot be resolved at this size"),
        (0, 0, 30, "cannot be resolved at this size"),
        (0, 0, 300, "no difference shown"),
        (8, 4, 988, "no difference shown"),
        (1, 0, 0, "cannot be resolved at this size"),
    ],
)
def test_verdict(won, lost, tied, verdict):
    new = evaluated(*[1] * won, *[0] * lost, *[1] * tied)
    old = evaluated(*[0] * won, *[1] * lost, *[1] * tied)
    assert new.compare(old, "hit_rate@5").verdict == verdict


def test_the_margin_is_the_smallest_difference_that_matters(of_300):
    new, old = of_300
    assert new.compare(old, "hit_rate@5", margin=0.09).verdict == "no difference shown"
    assert new.compare(old, "hit_rate@5", margin=0.08).verdict == "cannot be resolved at this size"
    assert old.compare(new, "hit_rate@5", margin=0.08).verdict == "cannot be resolved at this size"


# Several metrics


def test_holm_over_several_metrics():
    new = evaluated(*[1] * 7, *[0] * 1, *[1] * 12)
    old = evaluated(*[3] * 7, *[1] * 1, *[1] * 12)
    found = new.compare(old, ("hit_rate@1", "hit_rate@5", "mrr@10"))
    assert list(found) == ["hit_rate@1", "hit_rate@5", "mrr@10"]
    assert found["hit_rate@1"].p == pytest.approx(18 / 256)
    assert found["hit_rate@5"].p == 1
    assert found["mrr@10"].p == pytest.approx(14 / 128, abs=0.05)
    assert found["hit_rate@1"].adjusted == pytest.approx(3 * 18 / 256)
    assert found["hit_rate@5"].adjusted == 1


def test_the_adjusted_p_decides():
    new = evaluated(*[1] * 8, *[0] * 1, *[1] * 12)
    old = evaluated(*[0] * 8, *[1] * 1, *[1] * 12)
    alone = new.compare(old, "hit_rate@1")
    assert (alone.p, alone.verdict) == (pytest.approx(20 / 512), "better")
    first = new.compare(old, ("hit_rate@1", "hit_rate@2"))["hit_rate@1"]
    assert (first.p, first.adjusted) == (alone.p, pytest.approx(40 / 512))
    assert first.verdict == "cannot be resolved at this size"
    assert "p = 0.039 (= 0.078 by Holm); " in str(first)


def test_table(of_300):
    new, old = of_300
    assert str(new.compare(old, ["hit_rate@5", "mrr"])).splitlines() == [
        "              old    new              difference     p  by Holm  won  lost                          verdict",
        "hit_rate@5  0.697  0.737  +0.040 [-0.007, 0.086]  0.12     0.24   31    19  cannot be resolved at this size",
        "mrr         0.697  0.737  +0.040 [-0.007, 0.086]  0.12     0.24   31    19  cannot be resolved at this size",
        "300 queries compared",
    ]


def test_rows(of_300):
    new, old = of_300
    (row,) = new.compare(old, ["hit_rate@5"]).rows()
    assert row["metric"] == "hit_rate@5"
    assert (row["won"], row["lost"], row["n"], row["left_out"]) == (31, 19, 300, 0)
    assert row["verdict"] == "cannot be resolved at this size"
    assert row["low"] < row["difference"] < row["high"]
    assert pytest.importorskip("pandas").DataFrame([row]).loc[0, "either"] == 0.8


def test_a_comparison_survives_pickling(of_300):
    new, old = of_300
    found = new.compare(old, ("hit_rate@5", "mrr@10"))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301


# Over which queries


def test_only_queries_that_both_can_score():
    qrels = {"q1": ["a"], "q2": ["a"], "q3": ["a"], "q4": []}
    run = {"q1": ["a"], "q2": ["b"], "q3": ["a"], "q4": ["a"]}
    new = hr.evaluate({query: qrels[query] for query in ("q2", "q3", "q4")}, run)
    old = hr.evaluate({query: qrels[query] for query in ("q1", "q2", "q3")}, {**run, "q2": ["a"]})
    compared = new.compare(old, "hit_rate@5")
    assert (compared.n, compared.lost, compared.tied, compared.left_out) == (2, ("q2",), ("q3",), ("q1",))
    assert (compared.new, compared.old) == (0.5, 1.0)
    assert ", n = 2, 1 left out: " in str(compared)
    assert str(new.compare(old, ["mrr"])).endswith("2 queries compared\n1 left out, which not all can score: q1")


def test_no_query_in_common():
    new, old = evaluated(1, 1), hr.evaluate({"q": ["a"]}, {"q": ["a"]})
    with pytest.raises(ValueError, match=r"no query can be scored in each .*: new has 0, 1, old has q"):
        new.compare(old, "hit_rate@5")


# What may not be compared


def test_gold_in_arrays_is_compared_by_what_it_holds():
    numpy = pytest.importorskip("numpy")
    run = {"q": ["a"]}
    new, old, other = (hr.evaluate({"q": numpy.array(items)}, run) for items in (["a", "b"], ["b", "a"], ["a", "c"]))
    assert new.compare(old, "hit_rate@1").difference == 0
    assert "new" in str(hr.leaderboard({"new": new, "old": old}, "hit_rate@1"))
    with pytest.raises(ValueError, match=r"array\(\['a', 'b'\].* in new, array\(\['a', 'c'\].* in old"):
        new.compare(other, "hit_rate@1")


def test_different_gold_is_refused():
    qrels = {"q1": ["a"], "q2": ["b"], "q3": ["c"]}
    new = hr.evaluate(qrels, qrels)
    old = hr.evaluate({**qrels, "q2": ["b", "z"], "q3": ["y"]}, qrels)
    with pytest.raises(
        ValueError, match=r"of 2 of 3 queries differ, such as those of 'q2': \['b'\] in new, \['b', 'z'\]"
    ):
        new.compare(old, "hit_rate@5")
    assert new.compare(old, "hit_rate@5", anyway=True).won == ("q3",)


def test_the_same_gold_in_another_form_is_the_same():
    new = hr.evaluate({"q": ["a", "b"]}, {"q": ["a"]})
    old = hr.evaluate({"q": {"b": 1, "a": 1, "c": 0}}, {"q": ["a"]})
    assert new.compare(old, "hit_rate@5").tied == ("q",)


def test_the_verdict_goes_by_p_where_the_interval_says_otherwise():
    old = hr.evaluate({q: ["a"] for q in range(25)}, {q: ["b"] if q < 5 else ["a"] for q in range(25)})
    new = hr.evaluate(old.qrels, dict(old.qrels))
    assert str(new.compare(old, "hit_rate@5")) == (
        "+0.200 [0.006, 0.364], p = 0.062; 5 won, 0 lost, n = 25: cannot be resolved at this size"
    )


def test_other_grades_are_other_gold():
    new, old = hr.evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a"]}), hr.evaluate({"q": {"a": 2, "b": 1}}, {"q": ["a"]})
    with pytest.raises(ValueError, match="of 1 of 1 queries differ"):
        new.compare(old, "ndcg@5")


@pytest.mark.parametrize("rules", [{"unique": True}, {"match": hr.contains}, {"relevance_level": 1}])
def test_different_rules_are_refused(rules):
    qrels = {"q": ["a text"]}
    new, old = hr.evaluate(qrels, qrels, **rules), hr.evaluate(qrels, qrels)
    with pytest.raises(
        ValueError,
        match=r"new and old were judged by different rules, Judge\(.*\) and Judge\(.*: judge both alike, or pass any",
    ):
        new.compare(old, "hit_rate@5")
    assert new.compare(old, "hit_rate@5", anyway=True).n == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("hit_rate@0",), ValueError, "k must be at least 1"),
        ((5,), TypeError, "'int' object is not iterable|metric"),
        (((),), ValueError, "at least one metric is needed"),
    ],
)
def test_bad_metrics(of_300, arguments, error, message):
    new, old = of_300
    with pytest.raises(error, match=message):
        new.compare(old, *arguments)


@pytest.mark.parametrize(
    ("margin", "error"), [(0, ValueError), (-0.1, ValueError), ("5 %", TypeError), (2, ValueError)]
)
def test_bad_margin(of_300, margin, error):
    new, old = of_300
    with pytest.raises(error, match="margin"):
        new.compare(old, "hit_rate@5", margin=margin)


def test_only_an_evaluation_can_be_compared_with(of_300):
    with pytest.raises(TypeError, match=r"old must be an Evaluation, as `evaluate` makes it; got 0.5"):
        of_300[0].compare(0.5, "hit_rate@5")


# Properties

HITS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=50)
METRICS = st.sampled_from(["hit_rate@3", "mrr", "ndcg@5", "map@4", "precision@2"])


@given(HITS, METRICS)
def test_turned_round(hits, metric):
    new, old = (evaluated(*each) for each in zip(*hits, strict=True))
    there, back = new.compare(old, metric), old.compare(new, metric)
    assert (there.difference, there.p) == (-back.difference, back.p)
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]))
    assert (there.won, there.lost, there.tied) == (back.lost, back.won, back.tied)
    assert (there.either, there.both, there.detectable) == (back.either, back.both, back.detectable)


@given(HITS, METRICS)
def test_bounds(hits, metric):
    new, old = (evaluated(*each) for each in zip(*hits, strict=True))
    compared = new.compare(old, metric)
    low, high = compared.interval
    assert 0 < compared.p <= 1
    assert -1 <= low <= compared.difference <= high <= 1
    assert compared.both - 1e-12 <= min(compared.new, compared.old)
    assert max(compared.new, compared.old) <= compared.either + 1e-12
    assert len(compared.won) + len(compared.lost) + len(compared.tied) == compared.n == len(hits)


@given(HITS, METRICS, st.randoms())
def test_the_order_of_the_queries_changes_nothing(hits, metric, shuffler):
    new, old = (run_with(*each) for each in zip(*hits, strict=True))
    queries = list(new)
    shuffler.shuffle(queries)
    qrels = {query: ["gold"] for query in new}
    first = hr.evaluate(qrels, new).compare(hr.evaluate(qrels, old), metric)
    shuffled = {query: ["gold"] for query in queries}
    second = hr.evaluate(shuffled, new).compare(hr.evaluate(qrels, old), metric)
    for field in ("difference", "interval", "p", "either", "both", "detectable", "new", "old"):
        assert getattr(first, field) == getattr(second, field)
    assert sorted(second.won) == list(first.won)


# Speed


def test_ten_thousand_queries_take_as_long_as_ten_thousand_sums_of_them():
    """In one run: about half a second on a free core."""
    draw = random.Random(5)
    ranks = [[draw.randrange(12) for _ in range(10_000)] for _ in range(2)]
    new, old = (evaluated(*each) for each in ranks)
    start = process_time()
    new.compare(old, "mrr@10")
    took = process_time() - start
    numbers = [draw.random() for _ in range(10_000)]
    start = process_time()
    for _ in range(10_000):
        sum(numbers)
    assert took < 2 * (process_time() - start)


def test_a_comparison_is_no_truth():
    """`assert new.compare(old, ...)`, without the verdict, must not pass."""
    evaluation = hr.evaluate({"q": ["a"]}, {"q": ["a"]})
    with pytest.raises(TypeError, match="a comparison is neither true nor false: ask for its verdict"):
        bool(evaluation.compare(evaluation, "hit_rate@5"))


def test_a_query_whose_gold_was_emptied_has_different_gold():
    old = hr.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["b"]})
    new = hr.evaluate({"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": ["a"], "q2": ["x"]})
    with pytest.raises(ValueError, match="the relevant items of 1 of 2 queries differ, such as those of 'q2'"):
        new.compare(old, "hit_rate@5")
