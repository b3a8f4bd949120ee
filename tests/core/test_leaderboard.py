"""Evaluations ranked, and those that the best cannot be told from."""

import pytest

import hitrate_adapters as hr


def evaluated(n_hits, n=100, first=0):
    """Return an evaluation of the queries 0, 1, ... that hits so many, from the first on, round the end."""
    hits = {(first + at) % n for at in range(n_hits)}
    qrels = {query: ["gold"] for query in range(n)}
    return hr.evaluate(qrels, {query: ["gold"] if query in hits else ["other"] for query in qrels})


@pytest.fixture(scope="module")
def board():
    return hr.leaderboard({"low": evaluated(60), "near": evaluated(78, first=2), "top": evaluated(80)}, "hit_rate@5")


def test_ranked(board):
    assert board.scores == {"top": 0.8, "near": 0.78, "low": 0.6}
    assert list(board.scores) == ["top", "near", "low"]
    assert board.best == "top"
    assert board.together == ("top", "near")


def test_each_is_compared_with_the_best(board):
    assert list(board.behind) == ["near", "low"]
    assert board.behind["low"].difference == pytest.approx(-0.2)
    assert board.behind["low"].verdict == "worse"
    assert board.behind["near"].verdict == "cannot be resolved at this size"


def test_holm_over_the_comparisons(board):
    assert board.behind["low"].p == pytest.approx(2**-19)
    assert board.behind["low"].adjusted == pytest.approx(2**-18)
    assert board.behind["near"].adjusted == board.behind["near"].p == 0.5


def test_print(board):
    assert str(board).splitlines() == [
        "                hit_rate@5          behind the best  p by Holm  won  lost                          verdict",
        "top   0.800 [0.711, 0.867]                                                                            best",
        "near  0.780 [0.689, 0.850]   -0.020 [-0.058, 0.019]        0.5    0     2  cannot be resolved at this size",
        "low   0.600 [0.502, 0.691]  -0.200 [-0.278, -0.114]    < 0.001    0    20                            worse",
        "100 queries compared",
    ]


def test_repr(board):
    assert repr(board) == "<Leaderboard: 'top' is the best of 3, 1 may equal it>"


def test_rows(board):
    assert [row["name"] for row in board.rows()] == ["top", "near", "low"]
    assert board.rows()[2] == {
        "rank": 3,
        "name": "low",
        "hit_rate@5": 0.6,
        "difference": pytest.approx(-0.2),
        "p_adjusted": pytest.approx(2**-18),
        "verdict": "worse",
    }


def test_equal_scores_keep_their_order():
    board = hr.leaderboard({"a": evaluated(50), "b": evaluated(50, first=50)}, "mrr@10")
    assert (list(board.scores), board.together) == (["a", "b"], ("a", "b"))


def test_one_alone():
    board = hr.leaderboard({"only": evaluated(50)}, "hit_rate@5")
    assert (board.best, board.together, board.behind) == ("only", ("only",), {})
    assert str(board).splitlines()[1].split() == ["only", "0.500", "[0.404,", "0.596]", "best"]


def test_only_queries_that_all_can_score():
    board = hr.leaderboard({"a": evaluated(50), "b": evaluated(50, n=60), "c": evaluated(20, n=70)}, "hit_rate@5")
    assert [score.n for score in board.scores.values()] == [60, 60, 60]
    assert board.left_out == tuple(range(60, 100))
    assert str(board).endswith("60 queries compared\n40 left out, which not all can score: 60, 61, 62, 63, 64, ...")


@pytest.mark.parametrize(
    ("evaluations", "error", "message"),
    [
        ({}, ValueError, "at least one evaluation is needed"),
        ([1], TypeError, "evaluations must be a mapping of name -> evaluation, got list"),
        ({"a": 1}, TypeError, "a must be an Evaluation, as `evaluate` makes it; got 1"),
        (
            {"a": evaluated(5, n=9), "b": hr.evaluate({0: ["x"]}, {0: ["x"]})},
            ValueError,
            r"of 1 of 1 queries differ, such as those of 0: \['gold'\] in a, \['x'\] in b",
        ),
    ],
)
def test_what_cannot_be_ranked(evaluations, error, message):
    with pytest.raises(error, match=message):
        hr.leaderboard(evaluations, "hit_rate@5")
