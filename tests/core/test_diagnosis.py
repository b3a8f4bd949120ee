"""Why each miss missed, cause by cause; what is not known; and what looks wrong in a whole set."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hitrate_adapters as hr
from hitrate_adapters.core.causes import ADVICE

ROOT = Path(__file__).parents[2]
REFUNDS = "Refunds take five working days and go to the card that paid for the order."
SHIPPING = "Shipping is free in the whole of Italy for orders above thirty euros."
RETURNS = "Returns are picked up at your door by the courier on the next working day."
TEXTS = {"refunds": REFUNDS, "shipping": SHIPPING, "returns": RETURNS}


def diagnose(gold, retrieved, *, k=2, match=None, also=(), **known):
    """Return the miss of a query q, beside a query that hits, so that the set as a whole looks sound."""
    qrels = {"q": gold, "sound": ["shipping" if match is None else SHIPPING]}
    run = {"sound": qrels["sound"], **({} if retrieved is None else {"q": retrieved})}
    evaluation = hr.evaluate(qrels, run, match=match)
    return hr.diagnose(evaluation, k, **known, **dict(also)).misses["q"]


# Each cause


def test_a_query_that_the_run_lacks():
    assert diagnose(["refunds"], None) == hr.Miss("nothing_retrieved", "the run has no such query")


def test_a_query_whose_list_is_empty():
    assert diagnose(["refunds"], []) == hr.Miss("nothing_retrieved", "the run has an empty list")


def test_a_query_whose_slots_are_empty():
    assert diagnose(["refunds"], [None, None]) == hr.Miss("nothing_retrieved", "each of 2 slots is None")


def test_a_query_whose_slots_have_no_value():
    for absent in (float("nan"), pytest.importorskip("pandas").NA):
        assert diagnose(["refunds"], [absent, None]) == hr.Miss("nothing_retrieved", "each of 2 slots is None")
        assert diagnose(["refunds"], ["a", absent], texts=TEXTS, corpus=["a"]).cause == "not_in_corpus"


def test_a_query_whose_retrieval_failed():
    run = hr.Run({"q": [], "sound": ["a"]}, {"q": TimeoutError("no answer\nin 30 s")})
    found = hr.diagnose(hr.evaluate({"q": ["b"], "sound": ["a"]}, run))
    assert found.misses["q"].evidence == "the retrieval failed: TimeoutError: no answer in 30 s"
    assert found.of("nothing_retrieved") == ["q"]


def test_below_the_cutoff():
    miss = diagnose(["refunds"], ["a", "b", "refunds", "c"])
    assert miss == hr.Miss("below_cutoff", "'refunds' is at rank 3 of 4", 3, "refunds")


def test_below_the_cutoff_by_the_rules_of_the_evaluation():
    evaluation = hr.evaluate({"q": {"a": 1, "b": 2}}, {"q": {"c": 9, "a": 8, "d": 7, "b": 6}}, relevance_level=2)
    assert hr.diagnose(evaluation, 3).misses["q"].evidence == "'b' is at rank 4 of 4"
    evaluation = hr.evaluate({"q": ["a"]}, {"q": ["c", "c", "d", "a"]}, unique=True)
    assert hr.diagnose(evaluation, 2).misses["q"].evidence == "'a' is at rank 3 of 3"


def test_below_the_cutoff_of_a_budget():
    texts = {"big": "x" * 500, "small": "x" * 80, "gold": "x" * 60}
    qrels = {"q": ["gold"], "r": ["gold"], "s": ["gold"], "t": ["old"], "u": ["gold"]}
    run = {"q": ["big", "gold"], "r": ["small", "gold"], "s": ["gold"], "t": ["small", "big"]}
    cut = hr.evaluate(qrels, run).within(100, texts=texts)
    for evaluation in (cut, cut.within(99, texts=texts), cut.by(str)["q"] + cut.by(str)["r"] + cut.by(str)["t"]):
        found = hr.diagnose(evaluation, None)
        assert found.misses["q"] == hr.Miss("below_cutoff", "'gold' is at rank 2 of 2, beyond the budget", 2, "gold")
        assert found.misses["r"].evidence == "'gold' is at rank 2 of 2, beyond the budget"
        assert found.misses["t"].evidence == "2 retrieved, none relevant"
    assert hr.diagnose(cut).misses["u"].evidence == "the run has no such query"
    roomy = hr.evaluate(qrels, run).within(1000, texts=texts)
    assert hr.diagnose(roomy, 1).misses["r"].evidence == "'gold' is at rank 2 of 2"
    assert (cut.uncut is roomy.uncut, cut.within(9, texts=texts).uncut is cut.uncut) == (False, True)


def test_without_a_cutoff_nothing_is_below_it():
    assert diagnose(["refunds"], ["a", "b", "refunds"], k=1).cause == "below_cutoff"
    assert diagnose(["refunds"], ["a", "b"], k=None).cause == "not_retrieved"


@pytest.mark.parametrize(
    ("chunk", "evidence", "share"),
    [
        (REFUNDS.upper(), "rank 2: 'new' has the same text as 'refunds'", 1.0),
        (f"Read this. {REFUNDS} Thanks.", "rank 2: 'new' holds the text of 'refunds'", 1.0),
        ("Refunds take five working days", "rank 2: 'new' is a part of 'refunds'", 30 / 74),
        (
            "Our terms: working days and go to the card that paid for the order. Until then",
            "rank 2: 'new' shares 73% of the shorter text with 'refunds'",
            8 / 11,
        ),
    ],
)
def test_another_granularity(chunk, evidence, share):
    miss = diagnose(["refunds"], ["returns", "new"], texts={**TEXTS, "new": chunk})
    assert (miss.cause, miss.evidence, miss.rank, miss.retrieved, miss.relevant) == (
        "other_granularity",
        evidence,
        2,
        "new",
        "refunds",
    )
    assert miss.share == pytest.approx(share)
    assert miss.unknown == ()


def test_another_granularity_in_a_script_without_spaces():
    gold = "退款需要五个工作日,款项将退回到付款时使用的银行卡。"
    texts = {"refunds": gold, "new": "说明:工作日,款项将退回到付款时使用的银行卡。谢谢"}
    assert diagnose(["refunds"], ["new"], texts=texts).cause == "other_granularity"


def test_a_part_of_a_relevant_text_that_the_corpus_has_is_no_other_granularity():
    part, whole = "Refunds take five working days", f"{REFUNDS} Really."
    for chunk, cause in ((part, "not_retrieved"), (whole, "other_granularity")):
        corpus = {**TEXTS, "new": chunk}
        assert diagnose(["refunds"], ["new"], corpus=corpus).cause == cause
    miss = diagnose(["refunds"], ["new"], corpus=corpus)
    assert miss.evidence == "rank 1: 'new' holds the text of 'refunds', also in the corpus"
    miss = diagnose(["refunds"], ["new"], texts=TEXTS, corpus={"new": part, "shipping": SHIPPING})
    assert miss.evidence == "rank 1: 'new' is a part of 'refunds', not in the corpus"


def test_a_piece_that_is_in_the_corpus_under_another_id():
    texts = {"refunds": "Refunds of paid orders take five to nine working days."}
    corpus = {
        "n1": "Terms. Refunds of paid orders take",
        "n2": "five to nine working days. Shipping is free, and so are returns.",
        "shipping": SHIPPING,
    }
    miss = diagnose(["refunds"], ["shipping", "n2"], texts=texts, corpus=corpus)
    evidence = "rank 2: 'n2' has a piece of 'refunds', not in the corpus"
    assert miss == hr.Miss("other_granularity", evidence, 2, "n2", "refunds")
    assert diagnose(["refunds"], ["an unknown text", "n2"], texts=texts, corpus=corpus) == miss


def test_not_in_the_corpus_by_id():
    miss = diagnose(["refunds"], ["returns"], corpus=["returns", "shipping"])
    assert (miss.cause, miss.evidence) == ("not_in_corpus", "'refunds' is not in the corpus, by id alone")
    assert miss.unknown == ("other_granularity",)
    miss = diagnose(["refunds", "r2"], ["returns"], corpus=["returns", "shipping"])
    assert miss.evidence == "none of 2 relevant items, such as 'refunds', is in the corpus, by id alone"
    assert diagnose(["refunds", "r2"], ["returns"], corpus=["returns", "r2", "shipping"]).cause == "not_retrieved"


def test_not_in_the_corpus_by_text():
    corpus = {"returns": RETURNS, "shipping": SHIPPING}
    miss = diagnose(["refunds"], ["returns"], texts=TEXTS, corpus=corpus)
    assert (miss.cause, miss.evidence) == ("not_in_corpus", "'refunds' is not in the corpus, by id or by text")
    assert miss.unknown == ()


@pytest.mark.parametrize("text", [REFUNDS, f"{REFUNDS} Thanks.", REFUNDS[:50]])
def test_in_the_corpus_under_another_id(text):
    corpus = {"returns": RETURNS, "shipping": SHIPPING, "new": text}
    miss = diagnose(["refunds"], ["returns"], texts=TEXTS, corpus=corpus)
    assert miss.cause == "not_retrieved"
    assert re.search("'refunds' is in the corpus as 'new'", miss.evidence)


def test_an_id_that_now_names_another_text():
    corpus = {"returns": RETURNS, "shipping": SHIPPING, "refunds": "Our shops are open from nine to seven."}
    assert diagnose(["refunds"], ["returns"], texts=TEXTS, corpus=corpus).cause == "not_in_corpus"


def test_an_id_that_was_given_to_a_chunk_that_holds_the_text():
    """What was retrieved under a reused id has the text that the corpus has now, not the one that was labelled."""
    was = {"d1": "Refunds take five working days.", "d2": "They go to the card that paid for the order."}
    now = {"d1": f"{was['d1']} {was['d2']}", "d3": "Shipping is free in the whole of Italy."}
    miss = diagnose(["d2"], ["d1", "d3"], texts={**TEXTS, **was}, corpus={**TEXTS, **now})
    assert (miss.cause, miss.retrieved, miss.relevant) == ("other_granularity", "d1", "d2")
    assert miss.evidence == "rank 1: 'd1' holds the text of 'd2', not in the corpus"


def test_vocabulary():
    queries = {"q": "reimbursement delay of purchases", "sound": "is shipping free"}
    miss = diagnose(["refunds"], ["returns"], corpus=TEXTS, queries=queries)
    assert (miss.cause, miss.relevant, miss.share) == ("vocabulary", "refunds", 0.0)
    assert miss.evidence == "'refunds' has 0% of the query's words, by weight; not delay, of, purchases, reimbursement"


def test_vocabulary_looks_at_the_best_relevant_text():
    queries = {"q": "how many working days does a refund take", "sound": "is shipping free"}
    assert diagnose(["refunds", "shipping"], ["returns"], corpus=TEXTS, queries=queries).cause == "not_retrieved"
    assert diagnose(["shipping"], ["returns"], corpus=TEXTS, queries=queries).cause == "vocabulary"


def test_words_that_are_in_every_query_count_little():
    asked = {f"q{n}": f"what does the handbook say about topic{n}" for n in range(50)}
    texts = {f"d{n}": f"what does the handbook say: matter {n} is of importance to some" for n in range(50)}
    run = {query: ["d0", "d1"] for query in asked}
    found = hr.diagnose(hr.evaluate({f"q{n}": [f"d{n}"] for n in range(50)}, run), 2, queries=asked, corpus=texts)
    assert found.totals["vocabulary"] == 48


def test_vocabulary_in_a_script_without_spaces():
    texts = {"refunds": "退款需要五个工作日", "shipping": "满三十欧元免运费", "returns": "快递员上门取件"}
    for query, cause in (("退款要几天", "not_retrieved"), ("何时能拿回钱", "vocabulary")):
        assert diagnose(["refunds"], ["returns"], corpus=texts, queries={"q": query, "sound": "运费"}).cause == cause


def test_none_of_these():
    queries = {"q": "when do refunds go to the card", "sound": "is shipping free"}
    miss = diagnose(["refunds"], ["returns"], corpus=TEXTS, queries=queries)
    assert (miss.cause, miss.unknown) == ("not_retrieved", ())
    assert miss.evidence == "1 retrieved, none relevant; 'refunds' has 68% of the query's words, by weight"
    assert miss.advice == ADVICE["not_retrieved"]


# Items that are no ids


def test_texts():
    queries = {"q": "how long do refunds take", "sound": "is shipping free"}
    chunk = "Our terms: working days and go to the card that paid for the order. Until then"
    assert diagnose([REFUNDS], [chunk], match=hr.contains).cause == "other_granularity"
    miss = diagnose([REFUNDS], [RETURNS], match=hr.contains, corpus=[RETURNS, SHIPPING], queries=queries)
    assert (miss.cause, miss.unknown) == ("not_in_corpus", ())
    for corpus in ([RETURNS, SHIPPING, REFUNDS[:50]], {"a": RETURNS, "b": REFUNDS}):
        miss = diagnose([REFUNDS], [RETURNS], match=hr.contains, corpus=corpus, queries=queries)
        assert miss.cause == "not_retrieved"


def test_ids_that_a_matcher_compared():
    qrels, run = {"q": ["terms"], "sound": ["faq"]}, {"q": ["faq#1"], "sound": ["faq#1"]}
    evaluation = hr.evaluate(qrels, run, match=lambda chunk, document: chunk.startswith(document))
    corpus, texts = {"faq#1": SHIPPING, "terms#1": REFUNDS}, {"terms": f"{REFUNDS} {RETURNS}"}

    def miss(**known):
        return hr.diagnose(evaluation, queries={"q": "when do refunds go to the card"}, **known).misses["q"]

    for known in ({}, {"texts": {}}, {"corpus": ["faq#1"]}):  # ids are no texts
        assert miss(**known).unknown == ("other_granularity", "not_in_corpus", "vocabulary")
    assert miss(corpus=corpus).unknown == ("other_granularity", "not_in_corpus", "vocabulary")
    assert (miss(corpus=corpus, texts=texts).cause, miss(corpus=corpus, texts=texts).unknown) == ("not_retrieved", ())
    del corpus["terms#1"]
    assert miss(corpus=corpus, texts=texts).cause == "not_in_corpus"


def test_spans():
    document = f"{REFUNDS} {SHIPPING} {RETURNS}"
    gold, near, far = hr.Span("faq", 0, 74), hr.Span("faq", 30, 90), hr.Span("faq", 150, 200)
    evaluation = hr.evaluate(
        {"q": [gold], "far": [gold], "gone": [hr.Span("old", 0, 9)], "hit": [far]},
        {"q": [near], "far": [far], "gone": [far], "hit": [far]},
        match=hr.span_overlap(0.9),
    )
    queries = {"far": "when is money returned"}
    found = hr.diagnose(evaluation, texts={"faq": document}, corpus=["faq"], queries=queries)
    assert {query: miss.cause for query, miss in found.misses.items()} == {
        "q": "other_granularity",
        "far": "vocabulary",
        "gone": "not_in_corpus",
    }
    assert found.misses["q"].share == pytest.approx(44 / 60)
    assert hr.diagnose(evaluation, corpus=[near, far]).misses["gone"].cause == "not_in_corpus"
    assert hr.diagnose(evaluation, corpus=["faq", 7]).misses["gone"].cause == "not_in_corpus"


# What is not known


def test_what_is_not_known_is_said():
    evaluation = hr.evaluate({"q": ["refunds"], "r": ["x"]}, {"q": ["returns"], "r": ["x"]})
    found = hr.diagnose(evaluation)
    assert found.misses["q"].unknown == ("other_granularity", "not_in_corpus", "vocabulary")
    assert found.unknown == {"other_granularity": 1, "not_in_corpus": 1, "vocabulary": 1}
    assert re.search(r"^vocabulary +\?  ", str(found), re.MULTILINE)
    assert "not looked for in 1: not in corpus, which takes the corpus" in str(found)


@pytest.mark.parametrize("unknown", ["refunds", "returns"])
def test_a_text_that_is_not_known(unknown):
    texts = {item: text for item, text in TEXTS.items() if item != unknown}
    assert "other_granularity" in diagnose(["refunds"], ["returns"], texts=texts).unknown


def test_a_relevant_text_that_is_not_known_may_have_the_words_of_the_query():
    queries = {"q": "reimbursement delay", "sound": "free shipping"}
    miss = diagnose(["refunds", "other"], ["returns"], texts=TEXTS, queries=queries)
    assert (miss.cause, miss.unknown[-1]) == ("not_retrieved", "vocabulary")


@pytest.mark.parametrize("query", [None, "", "  ?!"])
def test_a_query_that_has_no_words(query):
    queries = {"q": query, "sound": "is shipping free"}
    assert diagnose(["refunds"], ["returns"], corpus=TEXTS, queries=queries).unknown == ("vocabulary",)


# The whole


def test_totals_lists_and_rows():
    qrels = {n: ["a"] for n in range(4)}
    found = hr.diagnose(hr.evaluate(qrels, {0: ["a"], 1: ["b", "a"], 2: [], 3: ["b", "a"]}), 1)
    assert found.totals == {
        "nothing_retrieved": 1,
        "below_cutoff": 2,
        "other_granularity": 0,
        "not_in_corpus": 0,
        "vocabulary": 0,
        "not_retrieved": 0,
    }
    assert found.of("below_cutoff") == [1, 3]
    assert list(found.misses) == [1, 2, 3]
    assert found.rows()[0] == {
        "query_id": 1,
        "cause": "below_cutoff",
        "evidence": "'a' is at rank 2 of 2",
        "rank": 2,
        "retrieved": "a",
        "relevant": None,
        "share": None,
        "unknown": (),
        "advice": "raise k or the budget, or rerank what is retrieved",
    }
    assert repr(found) == "<Diagnosis: 1 nothing_retrieved, 2 below_cutoff>"
    assert str(found).startswith(
        "3 of 4 queries miss: hit_rate@1 = 0.250\n"
        "nothing retrieved      1   33%  read the errors; look at filters, and at queries that the run lacks\n"
        "                                2\n"
        "below cutoff           2   67%  raise k or the budget, or rerank what is retrieved\n"
        "                                1, 3\n"
        "other granularity      0    0%  "
    )


def test_no_misses():
    found = hr.diagnose(hr.evaluate({"q": ["a"], "r": ["a", "c"]}, {"q": ["a", "b"], "r": ["b", "a"]}))
    assert (found.misses, found.unknown) == ({}, {})
    assert repr(found) == "<Diagnosis: no misses>"
    assert str(found).splitlines()[:2] == [
        "0 of 2 queries miss: hit_rate@5 = 1.000",
        *(f"warning: {warning}" for warning in found.warnings[:1]),
    ]


def warnings(qrels, run, k=5, **known):
    evaluation = hr.evaluate(qrels, run)
    return [re.split("[:;]", warning)[0] for warning in hr.diagnose(evaluation, k, **known).warnings]


MANY = range(500)
SOUND = {n: [f"a{n}", f"b{n}"] for n in MANY}
RANKED = {n: ["x", f"a{n}", "y", "z", "u", "v"] for n in MANY}


def test_a_sound_set_has_no_warnings():
    assert warnings(SOUND, RANKED, context_k=5) == []


def test_labels_that_were_made_from_the_run():
    says = ["every query retrieved exactly what is relevant, before all else"]
    for run in ({n: SOUND[n][::-1] for n in MANY}, {n: [*SOUND[n], "x"] for n in MANY}):
        assert warnings(SOUND, run, 2) == says
    assert warnings(SOUND, {n: [*SOUND[n][:1], "x"] for n in MANY}, 2) == []


def test_one_relevant_item_a_query():
    says = ["every query has one relevant item"]
    assert warnings({n: [f"a{n}"] for n in MANY}, RANKED) == says
    assert warnings({**SOUND, 0: ["a0"]}, RANKED) == []


def test_a_k_that_is_larger_than_what_was_retrieved():
    says = ["most queries retrieved fewer than 10 items (6 at most)"]
    assert warnings(SOUND, RANKED, 10) == says
    assert warnings(SOUND, {**{n: [] for n in MANY}, 0: ["a0"], 1: ["a1"]}, 10) == []


def test_a_k_that_is_larger_than_what_the_model_sees():
    says = "hit_rate@5 looks at more than the 3 items that the model is shown"
    assert warnings(SOUND, RANKED, context_k=3) == [says]
    assert warnings(SOUND, RANKED, None, context_k=3) == [says.replace("@5", "")]


def test_few_queries():
    n = 100
    qrels, run = ({query: side[query] for query in range(n)} for side in (SOUND, RANKED))
    (warning,) = hr.diagnose(hr.evaluate(qrels, {**run, **{q: ["x"] * 6 for q in range(20)}})).warnings
    assert warning == (
        "100 queries say little: hit_rate@5 is in [0.711, 0.867] (95 %), 16 points wide; "
        "with 500 it would be 7 points wide"
    )


def test_one_query_says_little():
    (warning,) = hr.diagnose(hr.evaluate({"q": ["a"]}, {"q": ["x", "a"]}), 2).warnings
    assert warning.startswith("1 query says little: hit_rate@2 is in [0.207, 1.000]")


def test_nothing_was_ever_retrieved():
    with pytest.warns(UserWarning, match="are both in the same id space"):
        evaluation = hr.evaluate(SOUND, {n: ["x"] * 6 for n in MANY})
    assert hr.diagnose(evaluation).warnings == evaluation.warnings


# Wrong input


@pytest.fixture
def evaluation():
    return hr.evaluate({"q": ["refunds"], "r": ["shipping"]}, {"q": ["returns"], "r": ["shipping"]})


@pytest.mark.parametrize(
    ("known", "error", "says"),
    [
        ({"k": 0}, ValueError, "k must be at least 1"),
        ({"k": "5"}, TypeError, "k must be an int"),
        ({"context_k": 0}, ValueError, "k must be at least 1"),
        ({"texts": [REFUNDS]}, TypeError, "texts must be a mapping of id -> text, got list"),
        ({"queries": [REFUNDS]}, TypeError, "queries must be a mapping of id -> text, got list"),
        ({"corpus": "refunds"}, TypeError, "corpus must be a collection of ids, or id -> text, got str"),
        ({"corpus": 7}, TypeError, "corpus must be a collection of ids, or id -> text, got int"),
        (
            {"texts": {1: REFUNDS}},
            ValueError,
            r"texts has nothing of the evaluation: it has 1 \(int\), the evaluation has 'refunds' \(str\)",
        ),
        (
            {"queries": {1: "when"}},
            ValueError,
            r"queries has nothing of the evaluation: it has 1 \(int\), the evaluation has 'q' \(str\)",
        ),
        (
            {"corpus": [1, 2]},
            ValueError,
            r"corpus has nothing of what was retrieved: it has 1 \(int\), what was retrieved has 'returns' \(str\)",
        ),
        ({"corpus": []}, ValueError, "corpus has nothing of what was retrieved: it has nothing"),
    ],
)
def test_wrong_input(evaluation, known, error, says):
    with pytest.raises(error, match=says):
        hr.diagnose(evaluation, **known)


def test_no_evaluation():
    with pytest.raises(TypeError, match="must be what evaluate\\(\\) returned, got dict"):
        hr.diagnose({"q": ["a"]})


def test_no_such_cause(evaluation):
    with pytest.raises(ValueError, match="unknown cause 'bad luck': one of nothing_retrieved"):
        hr.diagnose(evaluation).of("bad luck")


# Properties


words = st.text("abc ", min_size=1, max_size=12)
items = st.sampled_from(["a", "b", "c", "d", "e"])
rankings = st.lists(items | st.none(), max_size=6)


@given(
    st.dictionaries(st.integers(0, 5), st.tuples(st.sets(items, min_size=1), rankings), min_size=1),
    st.integers(1, 4),
    st.none() | st.dictionaries(items, words, min_size=5),
    st.none() | st.dictionaries(st.integers(0, 5), words, min_size=6),
    st.none() | st.dictionaries(items, words, min_size=5) | st.sets(items, min_size=5),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_miss_has_one_cause_and_what_is_known_is_not_unknown(sides, k, texts, queries, corpus):
    if all(item is None for _, ranking in sides.values() for item in ranking):
        sides[0] = ({"a"}, ["a"])
    qrels, run = ({query: side[at] for query, side in sides.items()} for at in (0, 1))
    evaluation = hr.evaluate(qrels, run)
    found = hr.diagnose(evaluation, k, texts=texts, queries=queries, corpus=corpus)
    assert tuple(found.misses) == evaluation.misses(k)
    assert sum(found.totals.values()) == len(found.misses)
    order = list(ADVICE)
    for miss in found.misses.values():
        assert miss.cause in order
        assert all(order.index(cause) < order.index(miss.cause) for cause in miss.unknown)
        assert (corpus is None) >= ("not_in_corpus" in miss.unknown)
    assert len(str(found).splitlines()) >= 1


# On real data, and much of it


def test_the_time_grows_with_the_queries_and_the_corpus_not_with_their_product():
    def seconds(n):
        corpus = {
            i: f"chunk {i} is about matter {i % 977} and about number {i * 7919 % 100_003}" for i in range(10 * n)
        }
        run = {q: [(q * 31 + at * 1009) % len(corpus) for at in range(20)] for q in range(n)}
        qrels = {q: [run[q][7]] if q % 3 else [q + len(corpus)] for q in run}
        texts = {**corpus, **{q + len(corpus): f"matter {q} is about something else" for q in run}}
        queries = {q: f"what is matter {q % 977}" for q in run}
        start = time.process_time()
        found = hr.diagnose(hr.evaluate(qrels, run), queries=queries, texts=texts, corpus=corpus)
        assert found.totals["below_cutoff"] == n * 2 // 3
        return time.process_time() - start

    seconds(300)
    assert seconds(3000) / seconds(600) < 12  # 5 where it is linear, 25 where it is not


MATRIX = {
    "code_chunks": {
        "gold renamed": "0 0 0 42 0 0 0",
        "gold cut in two": "0 0 0 42 0 0 0",
        "index cut anew": "0 0 0 42 0 0 0",
        "gold not indexed": "0 0 0 6 34 0 2",
        "query reworded": "2 0 1 1 0 37 1",
        "ranking lost": "0 42 0 0 0 0 0",
        "gold below 5": "0 0 42 0 0 0 0",
        "nothing": "0 0 44 0 0 22 12",
        "below a quarter": "0.250 [0.152, 0.382] (n=52)",
        "above": "0.801 [0.740, 0.851] (n=196)",
    },
    "cranfield": {
        "gold renamed": "0 0 0 44 0 0 0",
        "gold cut in two": "0 0 0 44 0 0 0",
        "index cut anew": "0 0 0 43 0 0 1",
        "gold not indexed": "0 0 0 2 42 0 0",
        "query reworded": "1 0 8 0 0 33 2",
        "ranking lost": "0 44 0 0 0 0 0",
        "gold below 5": "0 0 44 0 0 0 0",
        "nothing": "0 0 33 0 0 14 2",
        "below a quarter": "0.226 [0.114, 0.398] (n=31)",
        "above": "0.871 [0.817, 0.911] (n=194)",
    },
}
"""Set -> the rows that the example prints and docs/diagnosis.md publishes: hit, then the causes in order."""


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
@pytest.mark.parametrize("name", MATRIX)
def test_planted_faults_are_found(name):
    for package in ("bm25s", "wordllama", "tqdm", "Stemmer"):
        pytest.importorskip(package)
    command = [
        sys.executable,
        str(ROOT / "examples" / "plant_faults.py"),
        str(Path(os.environ["HITRATE_TEST_DATA"], name)),
    ]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    rows = dict(re.findall(r"^\| ([a-z\d ]+) \| (\d.*) \|$", printed, re.MULTILINE))
    assert {row: cells.replace(" | ", " ") for row, cells in rows.items()} == MATRIX[name]
    for table in printed.strip().split("\n\n"):
        assert table in (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")
