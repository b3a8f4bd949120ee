"""The metrics of one query, their names, and the cutoffs that they refuse."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest

from hitrate_adapters import METRICS, Metric, contains, judge, overlap, same_text
from hitrate_adapters.core.metrics import column_name, metrics_at

BAD_K = [
    (0, ValueError, "0"),
    (-3, ValueError, "-3"),
    (True, TypeError, "True"),
    (False, TypeError, "False"),
    (5.0, TypeError, "5.0"),
    (math.nan, TypeError, "nan"),
    ("5", TypeError, "'5'"),
    (b"5", TypeError, "b'5'"),
    (Decimal(5), TypeError, r"Decimal\('5'\)"),
]


def value(spec, relevant, retrieved, **rules):
    return Metric.parse(spec)(judge(relevant, retrieved, **rules))


def close(number):
    return pytest.approx(number, rel=1e-12)


# The values


@pytest.mark.parametrize(("k", "right"), [(1, 0.0), (2, 1.0), (3, 1.0), (None, 1.0)])
def test_hit_rate_is_1_from_the_rank_of_the_first_hit(k, right):
    assert Metric("hit_rate", k)(judge(["a", "b"], ["x", "a", "y"])) == right


@pytest.mark.parametrize(("k", "right"), [(1, 0.0), (2, 0.25), (4, 0.5), (None, 0.5)])
def test_recall_is_the_share_of_the_relevant_items(k, right):
    assert Metric("recall", k)(judge(["a", "b", "c", "d"], ["x", "a", "y", "b"])) == right


@pytest.mark.parametrize(("k", "right"), [(1, 0.0), (2, 0.5), (4, 0.5), (None, 0.5)])
def test_precision_is_the_share_of_the_slots(k, right):
    assert Metric("precision", k)(judge(["a", "b", "c"], ["x", "a", "y", "b"])) == right


def test_precision_divides_by_k_however_few_were_retrieved():
    assert value("precision@10", ["a"], ["a"]) == 0.1


@pytest.mark.parametrize(("k", "right"), [(1, 0.0), (2, 0.0), (3, 1 / 3), (None, 1 / 3)])
def test_mrr_is_one_over_the_first_rank(k, right):
    assert Metric("mrr", k)(judge(["a", "b"], ["x", "y", "a", "b"])) == right


@pytest.mark.parametrize(("k", "right"), [(1, 1 / 3), (2, 1 / 3), (3, 5 / 9), (None, 5 / 9)])
def test_average_precision_is_over_all_relevant_items(k, right):
    assert Metric("map", k)(judge(["a", "b", "z"], ["a", "x", "b"])) == close(right)


def test_average_precision_of_two_found_at_one_rank():
    assert value("map", ["a b", "c d", "e"], ["x", "a b c d"], match=contains) == close((1 / 2 + 1 / 2) / 3)


@pytest.mark.parametrize(
    ("k", "right"), [(1, 0.0), (2, 0.38685280723454163), (3, 0.2960819109658652), (None, 0.2960819109658652)]
)
def test_ndcg_discounts_by_the_logarithm_and_cuts_the_ideal(k, right):
    assert Metric("ndcg", k)(judge(["a", "b", "c"], ["x", "a"])) == close(right)


def test_ndcg_is_linear_in_the_grades():
    # Järvelin and Kekäläinen's linear gain: (1 + 3 / log2(3)) / (3 + 1 / log2(3))
    assert value("ndcg", {"a": 1, "b": 3}, ["a", "b"]) == close(0.7967075809905066)


def test_ndcg_of_two_found_at_one_rank_is_not_above_1():
    assert value("ndcg@1", {"a b": 1, "c d": 3}, ["a b c d"], match=contains) == 1.0
    assert value("ndcg@2", {"a b": 1, "c d": 3}, ["a b c d"], match=contains) == 1.0


def test_ndcg_gives_the_next_position_to_what_is_found_at_the_same_rank():
    # found at rank 2, 2 and 3: positions 2, 3 and 4
    ranking = ["x", "a b", "c"]
    assert value("ndcg", ["a", "b", "c"], ranking, match=contains) == close(
        (1 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))
    )
    assert value("ndcg@3", ["a", "b", "c"], ranking, match=contains) == close(
        (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))
    )


def test_ndcg_counts_grades_below_the_relevance_level():
    record = judge({"a": 1, "b": 2}, ["a"], relevance_level=2)
    assert Metric("hit_rate")(record) == 0.0
    assert Metric("ndcg")(record) == close(1 / (2 + 1 / math.log2(3)))


def test_ndcg_of_grades_an_ulp_apart_is_not_above_1():
    relevant = {"a": 62083901.91100001, "b": 62083901.911, "c": 62083901.911000006}
    assert value("ndcg", relevant, ["a", "b", "c"]) == 1.0


@pytest.mark.parametrize("name", METRICS)
class TestEveryMetric:
    @pytest.mark.parametrize("k", [1, 5, 10**30, None])
    def test_is_0_where_nothing_was_retrieved(self, name, k):
        assert Metric(name, k)(judge(["a"], [])) == 0.0

    @pytest.mark.parametrize("k", [1, 5, 10**30, None])
    def test_is_0_where_nothing_was_found(self, name, k):
        assert Metric(name, k)(judge(["a"], ["x", "y"])) == 0.0

    def test_is_1_where_the_relevant_items_come_first_and_alone(self, name):
        assert Metric(name, 3)(judge({"a": 3, "b": 2, "c": 1}, ["a", "b", "c"])) == 1.0
        assert Metric(name)(judge({"a": 3, "b": 2, "c": 1}, ["a", "b", "c"])) == 1.0

    def test_does_not_see_what_is_below_k(self, name):
        relevant = {"a": 2, "b": 1}
        assert Metric(name, 2)(judge(relevant, ["x", "b"])) == Metric(name, 2)(judge(relevant, ["x", "b", "a"]))

    def test_is_a_python_float(self, name):
        assert type(Metric(name, 2)(judge(["a"], ["a"]))) is float

    def test_takes_a_k_of_numpy(self, name):
        numpy = pytest.importorskip("numpy")
        metric = Metric(name, numpy.int64(5))
        assert (metric, type(metric.k)) == (Metric(name, 5), int)

    def test_cannot_be_scored_without_relevant_items(self, name):
        with pytest.raises(ValueError, match=rf"{name}@5 cannot be scored: the query has no relevant items"):
            Metric(name, 5)(judge([], ["a"]))

    @pytest.mark.parametrize(("k", "error", "word"), BAD_K, ids=repr)
    def test_refuses_a_k_that_is_no_count(self, name, k, error, word):
        with pytest.raises(error, match=f"k must be .* got {word}"):
            Metric(name, k)


@pytest.mark.parametrize("name", [name for name in METRICS if name != "hit_rate"])
def test_theta_belongs_to_hit_rate(name):
    with pytest.raises(ValueError, match=f"theta belongs to hit_rate: {name} takes none, got 0.5"):
        Metric(name, 5, 0.5)


# theta


@pytest.mark.parametrize(("theta", "right"), [(0.01, 1.0), (0.3, 1.0), (1 / 3, 1.0), (0.34, 0.0), (0.5, 0.0), (1, 0.0)])
def test_theta_is_the_share_that_makes_a_hit(theta, right):
    assert Metric("hit_rate", 3, theta)(judge(["a", "b", "c"], ["a", "x", "y"])) == right


def test_theta_of_1_asks_for_every_relevant_item():
    assert value("hit_rate@2>=1", ["a", "b"], ["a", "b"]) == 1.0
    assert value("hit_rate@1>=1", ["a", "b"], ["a", "b"]) == 0.0


@pytest.mark.parametrize("count", range(1, 101))
def test_theta_is_met_by_an_equal_share(count):
    relevant = list(range(100))
    assert Metric("hit_rate", None, count / 100)(judge(relevant, relevant[:count])) == 1.0
    assert Metric("hit_rate", count - 1 or None, count / 100)(judge(relevant, relevant[: count - 1])) == 0.0


def test_theta_counts_what_was_found_and_not_the_hits():
    chunks = ["first half", "second half"]
    assert value("hit_rate>=0.5", ["FIRST HALF", "x", "y"], ["first half", "First Half"], match=same_text) == 0.0
    assert value("hit_rate@1>=1", ["first", "half"], chunks, match=contains) == 1.0


@pytest.mark.parametrize("theta", [0, -0.5, 1.5, math.nan, math.inf], ids=repr)
def test_theta_outside_0_and_1_is_refused(theta):
    with pytest.raises(ValueError, match="theta must be"):
        Metric("hit_rate", 5, theta)


@pytest.mark.parametrize("theta", ["0.5", True, [0.5], Decimal("0.5")], ids=repr)
def test_theta_that_is_no_number_is_refused(theta):
    with pytest.raises(TypeError, match="theta must be a number, got"):
        Metric("hit_rate", 5, theta)


def test_theta_may_be_a_fraction():
    assert Metric("hit_rate", 5, Fraction(1, 3)) == Metric("hit_rate", 5, 1 / 3)


# Names


@pytest.mark.parametrize(
    ("spec", "metric"),
    [
        ("mrr", Metric("mrr")),
        ("hit_rate@5", Metric("hit_rate", 5)),
        ("hit_rate@5>=0.5", Metric("hit_rate", 5, 0.5)),
        ("hit_rate>=0.5", Metric("hit_rate", None, 0.5)),
        ("hit_rate@10>=1", Metric("hit_rate", 10, 1.0)),
        ("hit_rate@5>=1e-05", Metric("hit_rate", 5, 1e-05)),
        ("success@5", Metric("hit_rate", 5)),
        (" ndcg@10\n", Metric("ndcg", 10)),
    ],
)
def test_a_name_is_parsed(spec, metric):
    assert Metric.parse(spec) == metric


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (Metric("mrr"), "mrr"),
        (Metric("hit_rate", 5), "hit_rate@5"),
        (Metric("hit_rate", 5, 0.5), "hit_rate@5>=0.5"),
        (Metric("hit_rate", None, 1), "hit_rate>=1.0"),
        (Metric("hit_rate", 5, 1e-05), "hit_rate@5>=1e-05"),
    ],
    ids=repr,
)
def test_the_name_of_a_metric_is_what_parse_reads(metric, name):
    assert str(metric) == name
    assert Metric.parse(name) == metric


def test_success_is_another_name_of_hit_rate():
    assert str(Metric("success", 5)) == "hit_rate@5"


def test_a_metric_is_parsed_to_itself():
    metric = Metric("mrr", 3)
    assert Metric.parse(metric) is metric


@pytest.mark.parametrize(
    "spec", ["", "@5", "hitrate@5", "hit_rate@", "hit_rate@five", "hit_rate@5.0", "hit_rate 5", "HIT_RATE@5", "mrr@5@5"]
)
def test_an_unknown_name_is_refused_with_those_there_are(spec):
    with pytest.raises(ValueError, match=r"unknown metric '.*hit_rate, recall, precision, mrr, map, ndcg"):
        Metric.parse(spec)


@pytest.mark.parametrize("theta", ["nan", "x", "", "."])
def test_a_name_whose_theta_is_no_number_is_refused(theta):
    with pytest.raises(ValueError, match="hit_rate@5>="):
        Metric.parse(f"hit_rate@5>={theta}")


@pytest.mark.parametrize("spec", ["hit_rate@0", "hit_rate@-2"])
def test_a_name_whose_k_is_no_count_is_refused(spec):
    with pytest.raises(ValueError, match="k must be at least 1"):
        Metric.parse(spec)


@pytest.mark.parametrize("spec", ["hit_rate@5>=0", "hit_rate@5>=1.5", "hit_rate@5>=-1"])
def test_a_name_whose_theta_is_outside_0_and_1_is_refused(spec):
    with pytest.raises(ValueError, match="theta must be above 0 and at most 1"):
        Metric.parse(spec)


def test_a_name_that_gives_theta_to_another_metric_is_refused():
    with pytest.raises(ValueError, match="theta belongs to hit_rate"):
        Metric.parse("mrr@5>=0.5")


@pytest.mark.parametrize("spec", [None, 5, b"mrr", ("mrr", 5)], ids=repr)
def test_a_name_that_is_no_str_is_refused(spec):
    with pytest.raises(TypeError, match="a metric is named by a str such as 'hit_rate@5', got"):
        Metric.parse(spec)


@pytest.mark.parametrize("name", ["hits", "", None, "hit_rate@5"], ids=repr)
def test_a_metric_of_an_unknown_name_is_refused(name):
    with pytest.raises(ValueError, match="unknown metric"):
        Metric(name)


def test_metrics_are_values():
    assert {Metric("mrr", 5), Metric("mrr", 5), Metric("mrr", 3)} == {Metric("mrr", 3), Metric("mrr", 5)}


def test_a_metric_survives_pickling():
    metric = Metric("hit_rate", 5, 0.5)
    assert pickle.loads(pickle.dumps(metric)) == metric  # noqa: S301


# What the value rests on


@pytest.mark.parametrize(
    ("k", "relevant", "retrieved", "reason"),
    [
        (2, [], ["a"], "cannot be scored: the query has no relevant items"),
        (2, ["a"], [], "nothing was retrieved"),
        (2, ["a"], ["x"], "no relevant item among 1 retrieved"),
        (2, ["a"], ["x", "y", "a"], "no relevant item in the top 2; the first is at rank 3 of 3 retrieved"),
        (2, ["a", "b"], ["x", "a", "b"], "first relevant item at rank 2; 1 of 2 relevant in the top 2"),
        (None, ["a", "b"], ["x", "a", "b"], "first relevant item at rank 2; 2 of 2 relevant in all 3 retrieved"),
    ],
)
def test_the_reason_for_a_value(k, relevant, retrieved, reason):
    assert Metric("hit_rate", k).explain(judge(relevant, retrieved)) == reason


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("retrieved", [[], ["x"], ["x", "x", "a"], ["a"]], ids=str)
def test_the_reason_is_one_line_of_ascii(name, retrieved):
    reason = Metric(name, 2).explain(judge(["a"], retrieved))
    assert reason.isascii()
    assert "\n" not in reason


# Several at once


def names(*args, **options):
    return [str(metric) for metric in metrics_at(*args, **options)]


def test_metrics_at_is_every_metric_at_every_cutoff():
    assert names(("hit_rate", "mrr"), (1, 5)) == ["hit_rate@1", "hit_rate@5", "mrr@1", "mrr@5"]


def test_metrics_at_takes_a_single_metric_and_a_single_k():
    assert names("mrr", 5) == ["mrr@5"]
    assert names(Metric("mrr"), 5) == ["mrr@5"]


def test_metrics_at_takes_none_as_all_that_was_retrieved():
    assert names("mrr", None) == ["mrr"]
    assert names("mrr", (1, None)) == ["mrr@1", "mrr"]


@pytest.mark.parametrize(
    "k", [[1, 2], range(1, 3), (k for k in (1, 2)), {1: "", 2: ""}], ids=lambda k: type(k).__name__
)
def test_metrics_at_takes_any_collection_of_cutoffs(k):
    assert names("mrr", k) == ["mrr@1", "mrr@2"]


def test_metrics_at_takes_an_array_of_cutoffs():
    assert names("mrr", pytest.importorskip("numpy").array([1, 2])) == ["mrr@1", "mrr@2"]


def test_metrics_at_leaves_a_metric_its_own_cutoff():
    assert names(("hit_rate", "mrr@10"), (1, 5)) == ["hit_rate@1", "hit_rate@5", "mrr@10"]


def test_metrics_at_gives_theta_to_hit_rate_only():
    assert names(("hit_rate", "mrr"), 5, 0.5) == ["hit_rate@5>=0.5", "mrr@5"]


def test_metrics_at_leaves_a_metric_its_own_theta():
    assert names("hit_rate>=0.2", 5, 0.5) == ["hit_rate@5>=0.2"]


def test_metrics_at_gives_each_once():
    assert names(("hit_rate", "success", "hit_rate@5"), (5, 5)) == ["hit_rate@5"]


@pytest.mark.parametrize(("metrics", "k"), [((), 5), ("mrr", ()), ((), ())])
def test_metrics_at_refuses_to_measure_nothing(metrics, k):
    with pytest.raises(ValueError, match="at least one metric and one k are needed"):
        metrics_at(metrics, k)


@pytest.mark.parametrize("several", [False, True], ids=["alone", "among others"])
@pytest.mark.parametrize(("k", "error", "word"), BAD_K, ids=repr)
def test_metrics_at_refuses_a_k_that_is_no_count(k, error, word, several):
    with pytest.raises(error, match=f"k must be .* got {word}"):
        metrics_at("mrr", (1, k) if several else k)


def test_metrics_at_refuses_nested_cutoffs():
    with pytest.raises(TypeError, match=r"k must be .* got \(1, 5\)"):
        metrics_at("mrr", ((1, 5), 10))


@pytest.mark.parametrize("metrics", ["hits", ("mrr", "hits")], ids=str)
def test_metrics_at_refuses_an_unknown_metric(metrics):
    with pytest.raises(ValueError, match="unknown metric 'hits'"):
        metrics_at(metrics, 5)


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ({}, "hit_rate@5>=0.5"),
        ({"match_on": "texts"}, "hit_rate@5>=0.5[texts]"),
        ({"match": contains}, "hit_rate@5>=0.5[contains]"),
        ({"match": overlap(0.5), "unique": True}, "hit_rate@5>=0.5[overlap(0.5), unique]"),
        ({"match_on": "ids", "match": str.startswith}, "hit_rate@5>=0.5[ids, startswith]"),
    ],
    ids=str,
)
def test_a_column_name_tells_what_differs_from_the_usual_rules(rules, name):
    assert column_name(Metric("hit_rate", 5, 0.5), **rules) == name


def test_theta_is_checked_where_no_metric_takes_it():
    with pytest.raises(ValueError, match=r"theta must be above 0 and at most 1, got 7"):
        metrics_at(("mrr", "recall"), 5, theta=7)


@pytest.mark.parametrize("metrics", [None, 5])
def test_metrics_that_are_no_names_are_refused(metrics):
    with pytest.raises(TypeError, match="metrics must be a name such as 'hit_rate@5', or several; got"):
        metrics_at(metrics, 5)
