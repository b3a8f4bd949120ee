"""Hits beside answers: the table, its shares and ids, what is left out, and each error."""

import math
import pickle

import pytest

import hitrate_adapters as hr
from hitrate_adapters.core.answers import Answered

# Ten hits, of which eight are answered right, then five misses, of which one is, then three queries without a score.
RIGHT = dict(zip("abcdefghijklmno", [1] * 8 + [0] * 2 + [1] + [0] * 4, strict=True))
QRELS = {query_id: ["gold"] for query_id in "abcdefghijklmnopq"} | {"r": []}
RUN = {query_id: ["x", "gold"] if query_id < "k" else ["x"] for query_id in QRELS}


@pytest.fixture(scope="module")
def evaluation():
    return hr.evaluate(QRELS, RUN)


@pytest.fixture(scope="module")
def table(evaluation):
    return evaluation.with_answers({**RIGHT, "p": None, "r": True, "z": 0}, k=5)


def test_shares_and_their_wilson_intervals(table):
    assert table.correct_given_hit == (0.8, pytest.approx((0.4902, 0.9433), abs=1e-4), 10)
    assert table.correct_given_miss == (0.2, pytest.approx((0.0362, 0.6245), abs=1e-4), 5)
    assert table.wrong_given_hit == (0.2, pytest.approx((0.0567, 0.5098), abs=1e-4), 10)
    assert table.miss_given_correct == (1 / 9, pytest.approx((0.0199, 0.4350), abs=1e-4), 9)


def test_phi(table):
    assert table.phi.value == pytest.approx(30 / (10 * 5 * 9 * 6) ** 0.5)  # (8 * 4 - 2 * 1) / ...
    assert table.phi.n == 15
    assert table.phi.interval == pytest.approx((-0.0027, 0.8081), abs=1e-4)
    assert table.point_biserial == table.phi
    assert table.undefined is None


def test_queries_of_each_cell(table):
    assert table.queries(hit=True, correct=False) == ("i", "j")
    assert table.queries(hit=False, correct=True) == ("k",)
    assert table.queries(hit=True, correct=True) == tuple("abcdefgh")
    assert table.queries(hit=False, correct=False) == tuple("lmno")
    assert table.queries(hit=False) == tuple("klmno")
    assert table.queries(correct=False) == tuple("ijlmno")
    assert table.queries() == tuple(RIGHT)
    assert len(table) == 15


def test_what_is_left_out_is_named(table):
    assert table.unanswered == ("p", "q")
    assert table.unscored == ("r", "z")


def test_print(table):
    assert str(table).splitlines() == [
        "hit_rate@5  right  wrong              P(right)",
        "hit             8      2  0.800 [0.490, 0.943]",
        "miss            1      4  0.200 [0.036, 0.624]",
        "phi = 0.577 [-0.003, 0.808] (n=15)",
        "20.0% of the hits are answered wrong: the generator's part",
        "11.1% of the right answers are misses: known without the retrieval, or a label is missing",
        "left out: 2 whose answer has no score: p, q",
        "left out: 2 whose retrieval cannot be scored: r, z",
    ]
    assert repr(table) == "<HitsAndAnswers: 15 queries by hit_rate@5, 2 unanswered>"


def test_rows(table):
    assert table.rows()[8] == {"query_id": "i", "hit": True, "score": 0.0, "correct": False}
    assert table.answered[8] == Answered("i", hit=True, score=0.0, correct=False)


def test_pickle(table):
    assert pickle.loads(pickle.dumps(table)) == table  # noqa: S301


def test_k_and_theta_say_what_a_hit_is(evaluation):
    assert evaluation.with_answers(RIGHT, k=1).queries(hit=True) == ()
    two = hr.evaluate({"a": ["gold", "other"]}, {"a": ["gold"]})
    assert two.with_answers({"a": 1}, k=1, theta=0.5).queries(hit=True) == ("a",)
    assert two.with_answers({"a": 1}, k=1, theta=1).queries(hit=True) == ()
    assert str(two.with_answers({"a": 1}, k=1, theta=1).metric) == "hit_rate@1>=1.0"


# What is not there is None, never 0


def test_all_hits(evaluation):
    table = evaluation.with_answers({"a": True, "b": False})
    assert table.correct_given_miss is None
    assert table.phi is table.point_biserial is None
    assert table.undefined == "every query is a hit"
    assert "miss            0      0                     -" in str(evaluation.with_answers({"a": 1, "b": 0}, k=5))
    assert "phi = none: every query is a hit" in str(table)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"k": True, "l": False}, "every query is a miss"),
        ({"a": True, "k": True}, "every answer is right"),
        ({"a": False, "k": False}, "every answer is wrong"),
        ({"a": 0.5, "k": 0.5}, "every answer has the score 0.5"),
    ],
)
def test_no_correlation_and_why(evaluation, answers, why):
    table = evaluation.with_answers(answers)
    assert table.phi is None
    assert table.point_biserial is None
    assert table.undefined == why
    assert f"none: {why}" in str(table)


def test_all_wrong(evaluation):
    table = evaluation.with_answers({"a": False, "k": False})
    assert table.miss_given_correct is None
    assert table.correct_given_hit.value == 0.0
    assert "right answers" not in str(table)


# Continuous scores

SCORES = {"a": 0.9, "b": 0.7, "c": 0.8, "k": 0.2, "l": 0.6}


def test_continuous_scores(evaluation):
    table = evaluation.with_answers(SCORES, k=5)
    assert table.mean_given_hit == pytest.approx(0.8)
    assert table.mean_given_miss == pytest.approx(0.4)
    assert table.point_biserial.value == pytest.approx(0.4 * (0.6 * 0.4) ** 0.5 / 0.24166**1, abs=1e-3)
    assert table.correct_given_hit is table.correct_given_miss is table.wrong_given_hit is table.phi is None
    assert table.miss_given_correct is table.undefined is None
    assert str(table).splitlines()[:3] == [
        "hit_rate@5  n  mean score",
        "hit         3       0.800",
        "miss        2       0.400",
    ]
    assert "point-biserial correlation = 0.81" in str(table)
    with pytest.raises(ValueError, match="continuous scores: with_answers"):
        table.queries(correct=True)


def test_threshold(evaluation):
    table = evaluation.with_answers(SCORES, k=5, threshold=0.7)
    assert table.queries(correct=True) == ("a", "b", "c")
    assert table.correct_given_hit.value == 1.0
    assert table.phi.value == pytest.approx(1)
    assert table.phi.interval[0] < 1
    assert table.point_biserial == evaluation.with_answers(SCORES, k=5).point_biserial
    assert table.mean_given_hit == pytest.approx(0.8)


def test_means_of_one_side_only(evaluation):
    assert evaluation.with_answers({"a": 0.5}).mean_given_miss is None
    assert evaluation.with_answers({"k": 0.5}).mean_given_hit is None
    assert "-" in str(evaluation.with_answers({"a": 0.5}))


@pytest.mark.parametrize("absent", [None, math.nan])
def test_an_absent_score_is_no_wrong_answer(evaluation, absent):
    table = evaluation.with_answers({"a": 1, "b": absent})
    assert table.queries() == ("a",)
    assert "b" in table.unanswered


def test_numpy_scores(evaluation):
    numpy = pytest.importorskip("numpy")
    answers = {"a": numpy.True_, "b": numpy.float32(0.0), "c": numpy.int64(1), "d": numpy.nan}
    table = evaluation.with_answers(answers)
    assert table.queries(correct=True) == ("a", "c")
    assert "d" in table.unanswered


# Errors


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ([True], TypeError, r"correct must be a mapping .* got list: dict\(zip\(query_ids, scores\)\)"),
        ({1: True}, ValueError, r"share no query id: the evaluation has 'a' \(str\), the answers have 1 \(int\)"),
        ({}, ValueError, "the answers have nothing"),
        ({"a": None}, ValueError, "none of 17 queries has an answer's score"),
        ({"a": "pass"}, TypeError, "the answer's score of query 'a' must be a number, got 'pass'"),
        ({"a": math.inf}, ValueError, "the answer's score of query 'a' must be finite"),
        ({"a": -1.7e308}, ValueError, "the answer's score of query 'a' must be finite, at most .*, got -1"),
    ],
)
def test_wrong_answers(evaluation, answers, error, message):
    with pytest.raises(error, match=message):
        evaluation.with_answers(answers)


def test_wrong_options(evaluation):
    with pytest.raises(ValueError, match="k must be at least 1"):
        evaluation.with_answers(RIGHT, k=0)
    with pytest.raises(TypeError, match="threshold must be a number"):
        evaluation.with_answers(RIGHT, threshold="high")
    with pytest.raises(ValueError, match="theta"):
        evaluation.with_answers(RIGHT, theta=2)
