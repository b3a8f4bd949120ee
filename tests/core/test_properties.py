"""What holds whatever is judged: repeats, Nones, grades and any relation of matching."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate_adapters import METRICS, Metric, Span, contains, evaluate, judge, overlap, same_text, similar, span_overlap

pytestmark = pytest.mark.filterwarnings("ignore:no relevant (id|text|span|item) was ever retrieved")

ITEMS = st.sampled_from("abcdefgh")
GRADES = st.integers(-1, 3) | st.floats(0.125, 4, width=16)
GOLD = st.lists(ITEMS, min_size=1, max_size=6) | st.dictionaries(ITEMS, GRADES, min_size=1, max_size=6)
GOLD = GOLD.filter(lambda gold: not isinstance(gold, dict) or max(gold.values()) > 0)
RANKINGS = st.lists(st.none() | ITEMS, max_size=12)
RELATIONS = st.frozensets(st.tuples(ITEMS, ITEMS), max_size=20).map(lambda pairs: lambda *items: items in pairs)
MATCHERS = st.none() | st.just(operator.eq) | RELATIONS
WORDS = st.lists(st.sampled_from(["one", "two", "Three", "four"]), min_size=1, max_size=5).map(" ".join)
SHARES = st.floats(0.001, 1)
SPANS = st.builds(
    lambda document, start, size: Span(document, start, start + size),
    st.sampled_from("de"),
    st.integers(0, 9),
    st.integers(1, 9),
)
TEXTS = WORDS | st.text("ab \n\u4e94\u5929\u0301", max_size=30)
PARTIAL = {
    "overlap": (overlap, TEXTS),
    "similar": (similar, TEXTS),
    "span_overlap": (span_overlap, SPANS),
    "span_overlap of the union": (lambda share: span_overlap(share, of="union"), SPANS),
}
"""Matcher -> how to make it of a share, and its items."""
WHOLE = [(same_text, TEXTS), (contains, TEXTS), (span_overlap(), SPANS)]
CUTOFFS = st.integers(1, 14)
ANY_K = st.none() | CUTOFFS
QUERIES = st.lists(st.tuples(GOLD, RANKINGS), min_size=1, max_size=25)
RULES = st.fixed_dictionaries({"match": MATCHERS, "unique": st.booleans()})
SPECS = [name if k is None else f"{name}@{k}" for name in METRICS for k in (1, 2, 3, 7, None)] + [
    "hit_rate@3>=0.5",
    "hit_rate>=1.0",
]


def value(name, record, k):
    return Metric(name, k)(record)


def sides(queries, name="q"):
    """Make qrels and run of pairs of gold and ranking; a sound query keeps a run of Nones from being refused."""
    qrels = {f"{name}{number}": gold for number, (gold, _) in enumerate(queries)}
    run = {f"{name}{number}": ranking for number, (_, ranking) in enumerate(queries)}
    return {**qrels, f"{name} sound": ["z"]}, {**run, f"{name} sound": ["y"]}


def scores(evaluation):
    return {spec: float(evaluation.score(spec)) for spec in SPECS}


@given(gold=GOLD, ranking=RANKINGS, rules=RULES, k=ANY_K, level=st.none() | st.sampled_from([1, 2]))
def test_every_metric_lies_within_0_and_1(gold, ranking, rules, k, level):
    record = judge(gold, ranking, **rules, relevance_level=level)
    if record.n_relevant:
        assert all(0.0 <= value(name, record, k) <= 1.0 for name in METRICS)


@pytest.mark.parametrize("name", ["hit_rate", "recall", "mrr", "map"])
@given(gold=GOLD, ranking=RANKINGS, rules=RULES)
def test_a_larger_k_never_lowers(name, gold, ranking, rules):
    record = judge(gold, ranking, **rules)
    values = [value(name, record, k) for k in (*range(1, 14), None)]
    assert values == sorted(values)


@given(gold=GOLD, ranking=RANKINGS, rules=RULES, k=ANY_K)
def test_a_query_without_a_hit_has_0_for_every_metric(gold, ranking, rules, k):
    record = judge(gold, ranking, **rules)
    others = [value(name, record, k) > 0 for name in METRICS if name != "hit_rate"]
    assert others == [value("hit_rate", record, k) == 1.0] * 5


@given(item=ITEMS, ranking=RANKINGS, rules=RULES, k=ANY_K)
def test_hit_rate_is_recall_for_a_single_relevant_item(item, ranking, rules, k):
    record = judge([item], ranking, **rules)
    assert value("hit_rate", record, k) == value("recall", record, k)


@given(gold=GOLD, ranking=RANKINGS, rules=RULES, k=ANY_K, thetas=st.tuples(*[st.floats(0.001, 1)] * 2))
def test_a_stricter_theta_never_raises(gold, ranking, rules, k, thetas):
    record = judge(gold, ranking, **rules)
    loose, strict = (Metric("hit_rate", k, theta)(record) for theta in sorted(thetas))
    assert strict <= loose <= value("hit_rate", record, k)


@given(data=st.data(), share=SHARES, unique=st.booleans())
def test_every_matcher_keeps_the_metrics_within_0_and_1_and_a_larger_k_never_lowers(data, share, unique):
    matchers = [*WHOLE, *((make(share), items) for make, items in PARTIAL.values())]
    match, items = data.draw(st.sampled_from(matchers))
    gold = data.draw(st.lists(items, min_size=1, max_size=5) | st.dictionaries(items, GRADES, min_size=1, max_size=5))
    record = judge(gold, data.draw(st.lists(st.none() | items, max_size=8)), match=match, unique=unique)
    if record.n_relevant:
        values = {name: [value(name, record, k) for k in (*range(1, 10), None)] for name in METRICS}
        assert all(0.0 <= each <= 1.0 for at_every_k in values.values() for each in at_every_k)
        assert all(values[name] == sorted(values[name]) for name in ("hit_rate", "recall", "mrr", "map"))


@pytest.mark.parametrize("name", PARTIAL)
@given(data=st.data(), shares=st.tuples(SHARES, SHARES), k=ANY_K)
def test_a_stricter_share_never_raises(name, data, shares, k):
    make, items = PARTIAL[name]
    gold, ranking = data.draw(st.lists(items, min_size=1, max_size=5)), data.draw(st.lists(items, max_size=8))
    loose, strict = (judge(gold, ranking, match=make(share)) for share in sorted(shares))
    for metric in METRICS.keys() - {"map"}:
        assert value(metric, strict, k) <= value(metric, loose, k)


def test_a_stricter_share_can_raise_map_and_with_grades_ndcg():
    # MAP: the later of two passages is found where two of three chunks are hits, no more where one of two is.
    ranking = ["four", "one", "one one"]
    loose, strict = (judge(["one", "one one"], ranking, match=overlap(share)) for share in (0.5, 0.9))
    assert value("map", loose, None) == pytest.approx(1 / 2)
    assert value("map", strict, None) == pytest.approx((1 / 2 + 2 / 3) / 2)
    # nDCG: the second passage that a chunk holds takes a place, from which it pushes one of a higher grade.
    gold = {Span("d", 0, 10): 1, Span("d", 8, 18): 1, Span("d", 50, 60): 9}
    ranking = [Span("d", 0, 10), Span("d", 50, 60)]
    loose, strict = (judge(gold, ranking, match=span_overlap(share)) for share in (0.2, 0.5))
    assert value("ndcg", loose, None) < value("ndcg", strict, None)


@given(gold=st.lists(TEXTS, min_size=1), ranking=st.lists(TEXTS))
def test_what_is_the_same_text_is_contained_overlaps_wholly_and_is_similar(gold, ranking):
    same = set(judge(gold, ranking, match=same_text).hit_ranks)
    for match in (contains, overlap(1), similar(1)):
        assert same <= set(judge(gold, ranking, match=match).hit_ranks)


@given(gold=st.lists(SPANS, min_size=1), ranking=st.lists(SPANS), share=SHARES)
def test_what_overlaps_the_union_overlaps_the_gold_and_has_a_character_of_it(gold, ranking, share):
    matchers = None, span_overlap(share, of="union"), span_overlap(share), span_overlap()
    ranks = [set(judge(gold, ranking, match=match).hit_ranks) for match in matchers]
    assert ranks[0] <= ranks[1] <= ranks[2] <= ranks[3]


@given(queries=QUERIES, unique=st.booleans(), level=st.sampled_from([None, 1, 2]))
def test_matching_by_equality_is_matching_without_a_matcher(queries, unique, level):
    qrels, run = sides(queries)
    qrels["q sound"] = {"z": 3}
    plain = evaluate(qrels, run, unique=unique, relevance_level=level)
    general = evaluate(qrels, run, unique=unique, relevance_level=level, match=operator.eq)
    assert plain.records == general.records
    assert plain.unscored == general.unscored
    assert scores(plain) == scores(general)


@given(queries=QUERIES)
def test_sets_and_lists_are_judged_alike(queries):
    queries = [(set(gold), ranking) for gold, ranking in queries]
    qrels, run = sides(queries)
    lists = evaluate({query: list(gold) for query, gold in qrels.items()}, run)
    sets = evaluate({query: set(gold) for query, gold in qrels.items()}, run)
    assert sets.records == lists.records
    assert scores(sets) == scores(lists)


@given(queries=QUERIES, rules=RULES)
def test_grades_of_1_are_no_grades(queries, rules):
    qrels, run = sides(queries)
    graded = evaluate({query: dict.fromkeys(gold, 1) for query, gold in qrels.items()}, run, **rules)
    plain = evaluate({query: set(gold) for query, gold in qrels.items()}, run, **rules)
    assert graded.records == plain.records
    assert scores(graded) == scores(plain)


@given(queries=QUERIES, match=MATCHERS)
def test_unique_is_dropping_the_repeats_before(queries, match):
    qrels, run = sides([(gold, [item for item in ranking if item]) for gold, ranking in queries])
    unique = evaluate(qrels, run, match=match, unique=True)
    before = evaluate(qrels, {query: list(dict.fromkeys(ranking)) for query, ranking in run.items()}, match=match)
    assert unique.records == before.records


@given(queries=QUERIES)
def test_scores_are_an_order(queries):
    qrels, run = sides([(gold, [item for item in ranking if item]) for gold, ranking in queries])
    run = {query: list(dict.fromkeys(ranking)) for query, ranking in run.items()}
    scored = {
        query: {item: -float(rank) for rank, item in reversed(list(enumerate(ranking)))}
        for query, ranking in run.items()
    }
    assert evaluate(qrels, scored).records == evaluate(qrels, run).records


@given(queries=QUERIES, rules=RULES)
def test_judging_one_query_is_judging_it_among_others(queries, rules):
    qrels, run = sides(queries)
    evaluation = evaluate(qrels, run, **rules)
    assert all(evaluation[query] == judge(qrels[query], run[query], **rules) for query in evaluation)


@given(queries=QUERIES, rules=RULES, spec=st.sampled_from(SPECS))
def test_a_score_is_the_mean_over_the_queries(queries, rules, spec):
    evaluation = evaluate(*sides(queries), **rules)
    values = [Metric.parse(spec)(evaluation[query]) for query in evaluation]
    assert evaluation.score(spec) == pytest.approx(sum(values) / len(values), rel=1e-12)


@given(queries=QUERIES, rules=RULES, k=ANY_K)
def test_misses_are_the_queries_that_the_hit_rate_lacks(queries, rules, k):
    evaluation = evaluate(*sides(queries), **rules)
    misses = evaluation.misses(k)
    assert evaluation.hit_rate(k) == (len(evaluation) - len(misses)) / len(evaluation)
    assert all(evaluation[query].hit_ranks[:1] > (k or 99,) or not evaluation[query].hit_ranks for query in misses)


@given(queries=QUERIES, rules=RULES, data=st.data())
def test_the_order_of_the_queries_changes_nothing(queries, rules, data):
    qrels, run = sides(queries)
    shuffled = data.draw(st.permutations(list(qrels)))
    evaluation = evaluate(qrels, run, **rules)
    other = evaluate({query: qrels[query] for query in shuffled}, run, **rules)
    assert other.records == evaluation.records
    assert scores(other) == scores(evaluation)


@given(shards=st.lists(QUERIES, min_size=2, max_size=4), rules=RULES, data=st.data())
def test_adding_is_evaluating_all_at_once_to_the_last_bit_in_any_order(shards, rules, data):
    parts = [sides(queries, name=f"shard {number} q") for number, queries in enumerate(shards)]
    whole = evaluate(
        {query: gold for qrels, _ in parts for query, gold in qrels.items()},
        {query: ranking for _, run in parts for query, ranking in run.items()},
        **rules,
    )
    first, *others = data.draw(st.permutations([evaluate(*part, **rules) for part in parts]))
    for other in others:
        first += other
    assert first.records == whole.records
    assert scores(first) == scores(whole)
