"""Our values are those of trec_eval, the field's reference, on random, graded and tied data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate_adapters import Metric, evaluate

pytrec_eval = pytest.importorskip("pytrec_eval")
pytestmark = pytest.mark.filterwarnings("ignore:no relevant (id|text|item) was ever retrieved")

CUTOFFS = (1, 2, 3, 5, 10, 20)
UNCUT = {"hit_rate@1000": "success_1000", "mrr": "recip_rank", "map": "map", "ndcg": "ndcg"}
CUT = {"hit_rate": "success", "recall": "recall", "precision": "P", "map": "map_cut", "ndcg": "ndcg_cut"}
NAMES = UNCUT | {f"{ours}@{k}": f"{theirs}_{k}" for ours, theirs in CUT.items() for k in CUTOFFS}
"""Our name of each metric -> trec_eval's."""
MEASURES = {
    *("map", "ndcg", "recip_rank", "success.1000"),
    *(f"{theirs}.{','.join(map(str, CUTOFFS))}" for theirs in CUT.values()),
}

ITEMS = st.integers(0, 30).map("d{}".format)
TIED = st.integers(-2, 2).map(lambda step: step / 2)
EXACT = st.integers(-(2**20), 2**20).map(lambda step: step / 16)  # pytrec_eval keeps scores in single precision
QRELS = st.dictionaries(ITEMS, st.integers(0, 4), min_size=1, max_size=12)
RUNS = st.dictionaries(ITEMS, TIED, min_size=1, max_size=25) | st.dictionaries(ITEMS, EXACT, min_size=1, max_size=25)
QUERIES = st.lists(st.tuples(QRELS, RUNS), min_size=1, max_size=5)


def by_query(pairs):
    qrels = {f"q{number}": gold for number, (gold, _) in enumerate(pairs)}
    run = {f"q{number}": scores for number, (_, scores) in enumerate(pairs)}
    return {"sound": {"d0": 4}, **qrels}, {"sound": {"d0": 1.0}, **run}


@given(pairs=QUERIES, level=st.sampled_from([1, 2, 3]))
def test_every_metric_of_every_query_is_that_of_trec_eval(pairs, level):
    qrels, run = by_query(pairs)
    evaluation = evaluate(qrels, run, relevance_level=level)
    right = pytrec_eval.RelevanceEvaluator(qrels, MEASURES, relevance_level=level).evaluate(run)
    for query in evaluation:
        ours = {name: Metric.parse(name)(evaluation[query]) for name in NAMES}
        assert ours == pytest.approx({name: right[query][theirs] for name, theirs in NAMES.items()}, abs=1e-12)


@given(pairs=QUERIES, level=st.sampled_from([1, 2, 3]))
def test_what_we_leave_out_is_0_in_trec_eval(pairs, level):
    qrels, run = by_query(pairs)
    right = pytrec_eval.RelevanceEvaluator(qrels, {"success.1000"}, relevance_level=level).evaluate(run)
    unscored = evaluate(qrels, run, relevance_level=level).unscored
    assert [right[query]["success_1000"] for query in unscored] == [0.0] * len(unscored)
    assert {query for query, gold in qrels.items() if max(gold.values()) < level} == set(unscored)


@given(pairs=QUERIES)
def test_negative_grades_are_no_grades_in_either(pairs):
    qrels, run = by_query(pairs)
    qrels = {query: {item: grade or -1 for item, grade in gold.items()} for query, gold in qrels.items()}
    evaluation = evaluate(qrels, run)
    right = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    for query in evaluation:
        ours = {name: Metric.parse(name)(evaluation[query]) for name in NAMES}
        assert ours == pytest.approx({name: right[query][theirs] for name, theirs in NAMES.items()}, abs=1e-12)


@given(pairs=QUERIES)
def test_the_means_are_those_of_trec_eval(pairs):
    pairs = [({**gold, "d0": 1}, scores) for gold, scores in pairs]
    qrels, run = by_query(pairs)
    evaluation = evaluate(qrels, run)
    right = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    for name, theirs in NAMES.items():
        mean = pytrec_eval.compute_aggregated_measure(theirs, [right[query][theirs] for query in qrels])
        assert evaluation.score(name) == pytest.approx(mean, abs=1e-12)
