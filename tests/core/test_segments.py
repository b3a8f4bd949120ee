"""Segments and weights: what is in each part, what a weighted score covers, and each error."""

import copy
import math
import pickle
import warnings
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hitrate_adapters as hr

QRELS = {"q1": ["d1"], "q2": ["d2"], "q3": ["d3"], "q4": ["d4"], "q5": []}
RUN = hr.Run(
    {"q1": ["d1"], "q2": ["x", "d2"], "q3": [], "q5": ["d1"], "q6": ["d1"]}, errors={"q3": RuntimeError("down")}
)
TYPES = {"q1": "faq", "q2": "faq", "q3": "code", "q4": "code", "q5": "chat"}


@pytest.fixture(scope="module")
def evaluation():
    return hr.evaluate(QRELS, RUN)


@pytest.fixture(scope="module")
def segments(evaluation):
    return evaluation.by(TYPES)


def of_hits(hits):
    """Return the evaluation of queries q0, q1, ... that hit or not."""
    qrels = {f"q{at}": ["gold"] for at in range(len(hits))}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no relevant id was ever retrieved")
        return hr.evaluate(qrels, {f"q{at}": ["gold" if hit else "x"] for at, hit in enumerate(hits)})


# Segments


def test_each_segment_is_an_evaluation(segments):
    assert list(segments) == ["faq", "code"]
    assert len(segments) == 2
    assert [float(segments["faq"].hit_rate(k)) for k in (1, 2)] == [0.5, 1.0]
    assert segments["faq"].hit_rate(1).interval == pytest.approx((0.0945, 0.9055), abs=1e-4)
    assert segments["code"].misses() == ("q3", "q4")
    assert segments["code"].missing == ("q4",)
    assert list(segments["code"].errors) == ["q3"]
    assert segments["faq"].missing == ()
    assert segments["faq"].errors == {}
    assert segments["faq"].qrels == {"q1": ["d1"], "q2": ["d2"]}
    assert segments["faq"].run == {"q1": ["d1"], "q2": ["x", "d2"]}
    assert segments["faq"].matches("q2")[0].rank == 2
    assert segments["faq"].judge is segments.whole.judge


def test_a_segment_of_which_nothing_can_be_scored_is_named(segments):
    assert segments.unscored == ("chat",)
    assert segments.table().splitlines()[-1] == "without a query that can be scored: chat"


def test_table(segments):
    assert segments.table(("hit_rate", "success@2"), 1).splitlines()[:4] == [
        "segment  n            hit_rate@1            hit_rate@2",
        "faq      2  0.500 [0.095, 0.905]  1.000 [0.342, 1.000]",
        "code     2  0.000 [0.000, 0.658]  0.000 [0.000, 0.658]",
        "all      4  0.250 [0.046, 0.699]  0.500 [0.150, 0.850]",
    ]
    assert str(segments) == segments.table("hit_rate@5")
    assert repr(segments) == "<Segments 'faq': 2, 'code': 2>"


def test_rows(segments):
    assert segments.rows("hit_rate", 1)[1] == {
        "segment": "code",
        "n": 2,
        "hit_rate@1": 0.0,
        "hit_rate@1_low": 0.0,
        "hit_rate@1_high": pytest.approx(0.6576, abs=1e-4),
    }
    assert segments.rows("recall@1")[0].keys() >= {"segment", "n", "recall@1"}


def test_a_function_names_the_segment(evaluation):
    assert list(evaluation.by(lambda query_id: query_id in ("q1", "q2"))) == [True, False]


def test_the_segments_add_up_to_the_whole(segments, evaluation):
    merged = segments["faq"] + segments["code"]
    assert merged.hit_rate(1) == evaluation.hit_rate(1)
    assert merged.records == evaluation.records


def test_a_matcher_is_not_asked_again():
    asked = []

    def match(retrieved, relevant):
        asked.append(retrieved)
        return retrieved == relevant

    evaluation = hr.evaluate({"a": ["1"], "b": ["2"]}, {"a": ["1"], "b": ["3"]}, match=match)
    n = len(asked)
    assert "all" in str(evaluation.by({"a": 1, "b": 2}))
    assert len(asked) == n


@pytest.mark.parametrize("item", [None, "3"])
def test_a_segment_in_which_nothing_was_found_gives_no_alarm(item):
    evaluation = hr.evaluate({"a": ["1"], "b": ["2"]}, {"a": ["1"], "b": [item]})
    missed = evaluation.by({"a": "ids", "b": "none"})["none"]
    assert missed.warnings == ()
    assert "warning" not in str(missed)
    assert not [warning for warning in hr.diagnose(missed).warnings if "id space" in warning]


def test_a_segment_keeps_the_alarm_of_the_whole():
    with pytest.warns(UserWarning, match="no relevant id was ever retrieved"):
        evaluation = hr.evaluate({"a": ["1"], "b": ["2"]}, {"a": ["8"], "b": ["9"]})
    assert evaluation.by({"a": 1, "b": 2})[1].warnings == evaluation.warnings


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=20))
def test_parts_by_hand(rows):
    segments = of_hits([hit for _, hit in rows]).by({f"q{at}": name for at, (name, _) in enumerate(rows)})
    expected = {name: [hit for other, hit in rows if other == name] for name, _ in rows}
    assert {name: segments[name].hit_rate(5) for name in segments} == {
        name: sum(hits) / len(hits) for name, hits in expected.items()
    }


@pytest.mark.parametrize(
    ("segment_of", "error", "message"),
    [
        ({"q1": "faq"}, ValueError, "3 of 4 queries have no segment: q2, q3, q4: give them one, such as"),
        (lambda _: None, ValueError, "4 of 4 queries have no segment"),
        (dict.fromkeys(QRELS, math.nan), ValueError, "4 of 4 queries have no segment"),
        (["faq"], TypeError, "segment_of must be a mapping of query id -> segment, or a function"),
        (lambda _: ["faq"], TypeError, "unhashable"),
    ],
)
def test_wrong_segments(evaluation, segment_of, error, message):
    with pytest.raises(error, match=message):
        evaluation.by(segment_of)


def test_a_function_that_fails_names_the_query(evaluation):
    with pytest.raises(KeyError) as raised:
        evaluation.by(lambda query_id: {"q1": "faq"}[query_id])
    assert raised.value.__notes__ == ["while asking for the segment of query 'q2'"]


@pytest.mark.parametrize("segment_of", [{"q1": ["faq"]}, lambda _: ["faq"]])
def test_a_segment_without_a_hash_names_its_query(evaluation, segment_of):
    with pytest.raises(TypeError, match="unhashable") as raised:
        evaluation.by(segment_of)
    assert raised.value.__notes__ == ["while asking for the segment of query 'q1'"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [(("all", "faq"), ["'all'", "'faq'", "all"]), ((1, "1"), ["1", "'1'", "all"]), (("a", "b"), ["a", "b", "all"])],
)
def test_segments_that_would_look_alike_are_told_apart(names, shown):
    table = of_hits([True, False]).by(dict(zip(("q0", "q1"), names, strict=True))).table()
    assert [line.split()[0] for line in table.splitlines()[1:]] == shown


@pytest.mark.parametrize("unit", [1e-320, 1e-200, 1e200, 1e307])
def test_weights_may_be_in_any_unit(unit):
    evaluation = of_hits([True, False, True])
    by_query = evaluation.hit_rate(5, weights={"q0": unit, "q1": 2 * unit, "q2": unit})
    assert (by_query, by_query.n_effective) == (0.5, pytest.approx(8 / 3))
    segments = evaluation.by({"q0": "a", "q1": "b", "q2": "b"})
    weighted, plain = (segments.score("hit_rate@5", {"a": each, "b": 3 * each}) for each in (unit, 1))
    assert (weighted, weighted.n_effective) == (plain, pytest.approx(plain.n_effective))


# Weights of queries


def test_a_weighted_hit_rate_by_hand():
    score = of_hits([True, False, True]).hit_rate(5, weights={"q0": 5, "q1": 3, "q2": 2, "elsewhere": 7})
    assert score == 0.7
    assert score.n == 3
    assert score.n_effective == pytest.approx(100 / 38)  # Kish: (5 + 3 + 2)**2 / (25 + 9 + 4)
    assert score.interval == pytest.approx((0.2089, 0.9538), abs=1e-4)  # wilson(0.7 * 100 / 38, 100 / 38)
    assert repr(score).endswith("(n=3, as good as 2.6 of equal weight)")


def test_a_weighted_metric_without_an_interval(evaluation):
    score = evaluation.score("mrr", weights={"q1": 1, "q2": 1, "q3": 0, "q4": 2})
    assert score == 0.375
    assert score.n == 3
    assert score.interval is None


@pytest.mark.parametrize("weight", [1, 0.1, 1e-3, 10**12])
def test_equal_weights_change_nothing(weight):
    evaluation = of_hits([True] * 7 + [False] * 4)
    plain, weighted = evaluation.hit_rate(5), evaluation.hit_rate(5, weights=dict.fromkeys(evaluation, weight))
    assert weighted == pytest.approx(plain)
    assert weighted.n_effective == weighted.n == plain.n_effective == 11
    assert weighted.interval == plain.interval


def test_a_weight_of_zero_leaves_a_query_out():
    score = of_hits([True, False, True]).hit_rate(weights={"q0": 1, "q1": 0, "q2": 1})
    assert score == 1.0
    assert score.n == score.n_effective == 2


def test_a_weighted_score_copies_and_pickles():
    score = of_hits([True, False]).hit_rate(5, weights={"q0": 3, "q1": 1})
    for again in (copy.copy(score), copy.deepcopy(score), pickle.loads(pickle.dumps(score))):  # noqa: S301
        assert (again, again.n, again.n_effective, again.interval) == (0.75, 2, score.n_effective, score.interval)


@given(st.lists(st.tuples(st.booleans(), st.floats(0.01, 100)), min_size=1, max_size=20))
def test_a_weighted_score_is_a_mean(rows):
    weights = {f"q{at}": weight for at, (_, weight) in enumerate(rows)}
    score = of_hits([hit for hit, _ in rows]).hit_rate(5, weights=weights)
    assert 0 <= score.interval[0] <= score <= score.interval[1] <= 1
    assert 1 <= score.n_effective <= len(rows) * (1 + 1e-9)
    assert all(hit for hit, _ in rows) == (score == 1)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1, 2], TypeError, "weights must be a mapping of query -> weight, got list"),
        ({"q1": 1}, ValueError, "no weight of query 'q0' and 1 more: 0 leaves one out"),
        ({"q0": 1, "q1": 1}, ValueError, "no weight of query 'q2': 0"),
        ({"q0": -1, "q1": 1, "q2": 1}, ValueError, "the weight of query 'q0' must be finite and at least 0, got -1"),
        ({"q0": math.inf, "q1": 1, "q2": 1}, ValueError, "must be finite"),
        ({"q0": math.nan, "q1": 1, "q2": 1}, ValueError, "the weight of query 'q0' must be a number, got NaN"),
        ({"q0": "5", "q1": 1, "q2": 1}, TypeError, "must be a number"),
        ({"q0": True, "q1": 1, "q2": 1}, TypeError, "must be a number"),
        ({"q0": 0, "q1": 0, "q2": 0}, ValueError, "every weight is 0, of 3 in all"),
    ],
)
def test_wrong_weights(weights, error, message):
    with pytest.raises(error, match=message):
        of_hits([True, False, True]).score("hit_rate@5", weights=weights)


# Weights of segments


def post_stratified(hits_of, weights):
    """Return the score of segments given as (hits, n)."""
    hits = [at < hit for hit, n in hits_of for at in range(n)]
    names = [name for name, (_, n) in enumerate(hits_of) for _ in range(n)]
    segments = of_hits(hits).by({f"q{at}": name for at, name in enumerate(names)})
    return segments.score("hit_rate@5", dict(enumerate(weights)))


def test_a_post_stratified_hit_rate_by_hand():
    score = post_stratified([(8, 10), (3, 20)], (3, 1))
    assert score == pytest.approx(0.75 * 0.8 + 0.25 * 0.15)
    assert score.n == 30
    # with a hit and a miss added: 9 / 12 and 4 / 22; their mean 0.60795; 0.5625 * 0.1875 / 10 + 0.0625 * 0.14876 / 20
    assert score.n_effective == pytest.approx(0.6079545 * 0.3920455 / (0.010546875 + 0.0004648760), rel=1e-6)
    assert score.interval == pytest.approx((0.4290, 0.8046), abs=1e-4)


def test_one_segment_is_unweighted():
    score = post_stratified([(8, 10)], (3,))
    assert score.interval == of_hits([True] * 8 + [False] * 2).hit_rate(5).interval
    assert score.n_effective == 10
    assert post_stratified([(8, 10), (3, 20)], (1, 0)).interval == score.interval


def test_weights_by_size_give_the_mean_of_the_whole():
    assert post_stratified([(8, 10), (3, 20)], (10, 20)) == pytest.approx(11 / 30)


def coverage(shares, sizes, weights):
    """Return how probable it is that the interval covers the weighted share: over every outcome, by its probability."""
    truth = sum(weight * share for weight, share in zip(weights, shares, strict=True)) / sum(weights)
    covered = 0.0
    for hits in product(*(range(size + 1) for size in sizes)):
        probability = 1.0
        for hit, size, share in zip(hits, sizes, shares, strict=True):
            probability *= comb(size, hit) * share**hit * (1 - share) ** (size - hit)
        if probability > 1e-7:
            low, high = post_stratified(list(zip(hits, sizes, strict=True)), weights).interval
            covered += probability * (low <= truth <= high)
    return covered


@pytest.mark.parametrize(
    ("shares", "sizes", "weights"),
    [
        ((0.9, 0.5), (20, 10), (0.7, 0.3)),
        ((0.8, 0.8), (15, 15), (0.5, 0.5)),
        ((0.5, 0.95), (8, 30), (0.5, 0.5)),  # where a design effect of equal variances covers 0.90 or less
        ((0.95, 0.3), (20, 10), (0.9, 0.1)),
    ],
)
def test_the_interval_covers_as_often_as_it_says(shares, sizes, weights):
    assert 0.93 < coverage(shares, sizes, weights) < 0.99


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"faq": 1}, "no weight of segment 'code'"),
        (
            {"faq": 1, "code": 1, "chat": 1},
            "weights of segments without a query that can be scored: chat; there are faq, code",
        ),
        ({"faq": 0, "code": 0}, "every weight is 0"),
        ({"faq": -1, "code": 1}, "at least 0"),
    ],
)
def test_wrong_weights_of_segments(segments, weights, message):
    with pytest.raises(ValueError, match=message):
        segments.score("hit_rate@5", weights)


def test_a_segment_left_out_may_have_no_queries(segments):
    assert segments.score("hit_rate@1", {"faq": 1, "code": 3, "chat": 0}) == 0.125
