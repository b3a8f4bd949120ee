"""TREC's files give trec_eval's own figures, to the four decimals that it prints; where ours differ is tested too."""

import os
from pathlib import Path

import pytest

import hitrate_adapters as hr
from hitrate_adapters.formats import read_qrels, read_run

MEASURES = {
    "map": "map",
    "recip_rank": "mrr",
    "ndcg": "ndcg",
    **{f"success_{k}": f"hit_rate@{k}" for k in (1, 2, 5, 10, 20)},
    **{f"recall_{k}": f"recall@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"P_{k}": f"precision@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"map_cut_{k}": f"map@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"ndcg_cut_{k}": f"ndcg@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
}
"""trec_eval's name -> ours."""


@pytest.fixture
def data():
    if "HITRATE_TEST_DATA" not in os.environ:
        pytest.skip("HITRATE_TEST_DATA names no folder of data sets")
    return Path(os.environ["HITRATE_TEST_DATA"], "trec_eval")


@pytest.mark.parametrize(
    ("output", "files", "level", "n_compared"),
    [
        ("out.test.a", ("qrels.test", "results.test"), None, 42),
        ("out.test.aq", ("qrels.test", "results.test"), None, 168),
        ("out.test.aqc", ("qrels.test", "results.trunc"), None, 168),
        ("out.test.aql", ("qrels.rel_level", "results.test"), 2, 168),
        ("out.test.meas_params", ("qrels.test", "results.test"), None, 28),
    ],
)
def test_trec_eval(data, output, files, level, n_compared):
    qrels, run = read_qrels(data / files[0], "trec"), read_run(data / files[1], "trec")
    evaluation = hr.evaluate(qrels, run, relevance_level=level)
    assert len(evaluation) == 3
    compared = 0
    for line in (data / output).read_text(encoding="utf-8").splitlines():
        measure, query_id, theirs = line.split()
        if measure in MEASURES:
            ours = hr.Metric.parse(MEASURES[measure])
            value = evaluation.score(ours) if query_id == "all" else ours(evaluation[query_id])
            assert f"{value:.4f}" == theirs, (measure, query_id)
            compared += 1
    assert compared == n_compared


def test_a_topic_without_relevant_items_is_left_out_where_trec_eval_counts_0(file):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = read_qrels(file("gold.trec", "1 0 a 1\n1 0 b 0\n2 0 a 0\n"))
    run = read_run(file("run.trec", "1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n2 Q0 a 1 1 x\n"))
    evaluation = hr.evaluate(qrels, run)
    assert (float(evaluation.hit_rate(1)), evaluation.unscored) == (1.0, ("2",))
    scores = {query_id: {item: -rank for rank, item in enumerate(items)} for query_id, items in run.items()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"success.1"}).evaluate(scores)
    assert {query_id: measures["success_1"] for query_id, measures in theirs.items()} == {"1": 1.0, "2": 0.0}
