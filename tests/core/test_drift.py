"""Where gold texts went: each status, the golden set repaired, and a search by brute force as the oracle."""

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hitrate_adapters.core.drift import Anchor, drift
from hitrate_adapters.core.matching import _fold, _in_order, contains, same_text

REFUNDS = "Refunds take five days. They go to the card that paid, or to the account that you name."
SHIPPING = "Shipping is free in the whole of Italy, and costs nine euros to every other country of the Union."
HOURS = "We are open from nine to six on weekdays, and from ten to two on the Saturdays of December."


def anchor(text, corpus, key="d1"):
    return drift({key: text}, corpus).anchors[key]


# What became of a text


def test_valid():
    assert anchor(REFUNDS, {"d1": REFUNDS, "d2": SHIPPING}) == Anchor("d1", "valid", ("d1",), 1.0, reused=False)


def test_valid_once_folded():
    assert anchor(REFUNDS, {"d1": f" {REFUNDS.upper()}\n"}).status == "valid"


def test_valid_needs_no_copy():
    assert anchor(REFUNDS, {"d0": REFUNDS, "d1": REFUNDS}).new_ids == ("d1",)


def test_moved_to_every_copy():
    assert anchor(REFUNDS, {"a": REFUNDS, "b": SHIPPING, "c": REFUNDS}) == Anchor("d1", "moved", ("a", "c"), 1.0, False)


def test_moved_where_the_id_names_another_text():
    assert anchor(REFUNDS, {"d1": SHIPPING, "d2": REFUNDS}) == Anchor("d1", "moved", ("d2",), 1.0, reused=True)


def test_merged():
    corpus = {"a": f"{HOURS} {REFUNDS}", "b": SHIPPING, "c": f"{REFUNDS} {SHIPPING}"}
    assert anchor(REFUNDS, corpus) == Anchor("d1", "merged", ("a", "c"), 1.0, reused=False)


def test_merged_in_its_own_chunk():
    assert anchor(REFUNDS, {"d1": f"{REFUNDS} {HOURS}"}) == Anchor("d1", "merged", ("d1",), 1.0, reused=False)


def test_merged_where_cut_within_words():
    assert anchor(REFUNDS[3:-4], {"a": f"{HOURS} {REFUNDS}"}).status == "merged"


def test_one_is_told_in_the_singular():
    assert str(drift({"d1": REFUNDS}, {"d1": REFUNDS})).startswith("1 gold text in a corpus of 1 chunk\n")


def test_merged_short():
    assert anchor(
        "Five days.", {"a": "Refunds take five days. Returns are free.", "b": "Fifty-five daysailers"}
    ) == Anchor("d1", "merged", ("a",), 1.0, reused=False)


def test_split():
    corpus = {"a": f"{HOURS} {REFUNDS[:40]}", "b": f"{REFUNDS[40:]} {SHIPPING}", "c": SHIPPING}
    found = anchor(REFUNDS, corpus)
    assert (found.status, found.new_ids) == ("split", ("a", "b"))
    assert found.share == 17 / 18  # "th|ey" is cut in two


def test_split_where_the_pieces_reach_the_ends():
    """Their only runs of five words are at the ends of the text."""
    corpus = {
        "n1": "Terms. Refunds of paid orders take",
        "n2": "five to nine working days. Shipping is free.",
    }
    found = anchor("Refunds of paid orders take five to nine working days.", corpus)
    assert found == Anchor("d1", "split", ("n1", "n2"), 1.0, reused=False)


@given(st.integers(10, 60), st.data())
def test_a_text_cut_in_two_is_found_whole(n, data):
    words = [f"w{i}" for i in range(n)]
    least = max(5, -(-n // 3))
    cut = data.draw(st.integers(least, n - least))
    corpus = {"a": " ".join(["x"] * n + words[:cut]), "b": " ".join(words[cut:] + ["y"] * n)}
    assert anchor(" ".join(words), corpus) == Anchor("d1", "split", ("a", "b"), 1.0, reused=False)


def test_split_into_what_it_is_made_of():
    words = [f"w{i}" for i in range(100)]
    corpus = {i: " ".join(words[i * 20 : i * 20 + 20]) for i in range(5)}
    assert anchor(" ".join(words), corpus) == Anchor("d1", "split", (0, 1, 2, 3, 4), 1.0, reused=False)


def test_a_piece_holds_a_third():
    words = [f"w{i}" for i in range(60)]
    others = [f"x{i}" for i in range(60)]
    corpus = {"a": " ".join(others + words[:19]), "b": " ".join(words[19:40]), "c": " ".join(words[40:] + others)}
    assert anchor(" ".join(words), corpus) == Anchor("d1", "split", ("b", "c"), 41 / 60, reused=False)


def test_changed_in_its_place():
    new = REFUNDS.replace("five days", "ten days")
    assert anchor(REFUNDS, {"d1": new, "d2": SHIPPING}) == Anchor("d1", "changed", ("d1",), 15 / 18, reused=False)


def test_changed_under_another_id():
    new = REFUNDS.replace("five days", "ten days")
    assert anchor(REFUNDS, {"d1": SHIPPING, "d2": new}) == Anchor("d1", "changed", ("d2",), 15 / 18, reused=True)


def test_changed_all_over_in_its_place():
    new = "The refunds take six days. They now go to the credit card that paid, or the account you name."
    found = anchor(REFUNDS, {"d1": new})
    assert (found.status, found.new_ids, round(found.share, 3)) == ("changed", ("d1",), 0.833)


def test_rewritten_elsewhere_is_gone():
    new = "The refunds take six days. They now go to the credit card that paid, or the account you name."
    assert anchor(REFUNDS, {"d2": new}).status == "gone"


def test_gone():
    assert anchor(REFUNDS, {"d2": SHIPPING}) == Anchor("d1", "gone", (), 0.0, reused=False)


def test_gone_where_the_id_names_another_text():
    assert anchor(REFUNDS, {"d1": SHIPPING}) == Anchor("d1", "gone", (), 0.0, reused=True)


def test_gone_for_the_most_part():
    found = anchor(f"{REFUNDS} {SHIPPING} {HOURS}", {"a": f"{SHIPPING} And so on."})
    assert (found.status, found.new_ids, found.share) == ("gone", (), 19 / 56)


def test_blank_matches_nothing():
    assert anchor(" ", {"a": "", "b": REFUNDS}).status == "gone"
    assert anchor(" ", {"d1": REFUNDS}).status == "gone"
    assert anchor(" ", {"d1": ""}).status == "valid"


def test_no_words():
    assert anchor("++", {"a": "++"}).status == "moved"
    assert anchor("++", {"a": "C++ and C"}).status == "merged"
    assert anchor("++", {"a": "C+ and C"}).status == "gone"
    assert anchor("— " * 30, {"a": "— " * 60}).status == "merged"


def test_scripts_without_spaces():
    text = "退款需要五个工作日。款项将退回到付款时使用的银行卡,或者退到您指定的账户。"
    corpus = {"a": f"我们在工作日上午九点开门。{text[:20]}", "b": text[20:], "c": "意大利全境免运费。"}
    found = anchor(text, corpus)
    assert (found.status, found.new_ids, found.share) == ("split", ("a", "b"), 1.0)
    assert anchor(text, {"a": f"工作日{text}免运费"}).status == "merged"


def test_what_every_chunk_has_leads_nowhere():
    header = "The annual report of the company for the year that ended on the last of June"
    corpus = {i: f"{header} {i} " + " ".join(f"w{i}x{j}" for j in range(20)) for i in range(150)}
    found = anchor(f"{header} " + " ".join(f"w7x{j}" for j in range(18)), corpus)
    assert (found.status, found.new_ids) == ("changed", (7,))
    assert anchor(header, corpus).new_ids == tuple(range(150))


def test_few_and_long_words():
    text = "Donaudampfschifffahrtsgesellschaft"
    corpus = {"a": f"Die {text}skapitänin.", "b": text[:-1], "c": f"{text}, gegründet 1829"}
    assert anchor(text, corpus) == Anchor("d1", "merged", ("a", "c"), 1.0, reused=False)
    assert anchor("-" * 20, {"a": f"Terms\n{'-' * 25}", "b": "-" * 19}).new_ids == ("a",)


def test_the_time_grows_with_the_gold_texts_and_the_corpus_not_with_their_product():
    def seconds(n):
        gold = {i: f"Verwaltungsvorschrift{i} Durchführungsbestimmung" for i in range(n)}
        corpus = {i: " ".join(f"Wort{(i * 31 + j * j) % 9973}" for j in range(30)) for i in range(n)}
        start = time.process_time()
        assert drift(gold, {**corpus, "new": f"Siehe {gold[7]}."}).of("merged") == (7,)
        return time.process_time() - start

    seconds(100)
    assert seconds(5_000) / seconds(1_000) < 12  # 5 where it is linear, 25 where it is not


WORDS = st.lists(st.sampled_from(["a", "b", "to", "the", "é", "e\u0301", "退", "款", "क्षि", "x-y", "C++"]), max_size=14)
TEXTS = WORDS.map(" ".join) | WORDS.map("".join) | st.text("ab", min_size=18, max_size=30)


@example(texts=["退"], corpus=[""], around=("", "\u0301"))
@example(texts=["a"], corpus=[""], around=("\u0301", ""))
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=4),
    corpus=st.lists(TEXTS, min_size=1, max_size=6),
    around=st.tuples(st.text("ab \u0301退", max_size=3), st.text("ab \u0301退", max_size=3)),
)
def test_whole_texts_are_found_as_brute_force_finds_them(texts, corpus, around):
    corpus = dict(enumerate([*corpus, around[0] + texts[0] + around[1]]))
    for key, found in drift(dict(enumerate(texts)), corpus).anchors.items():
        text = texts[key]
        same = [chunk for chunk in corpus if same_text(corpus[chunk], text)]
        holding = [chunk for chunk in corpus if contains(corpus[chunk], text) and _fold(text) in _fold(corpus[chunk])]
        if key in same or (key in corpus and not _fold(text) and not _fold(corpus[key])):
            assert found == Anchor(key, "valid", (key,), 1.0, reused=False)
        elif same:
            assert found == Anchor(key, "moved", tuple(same), 1.0, reused=key in corpus)
        elif holding:
            assert found == Anchor(key, "merged", tuple(holding), 1.0, reused=key in corpus and key not in holding)
        else:
            assert found.status in ("split", "changed", "gone")
        assert 0 <= found.share <= 1
        assert (found.status == "gone") == (not found.new_ids)


@given(st.permutations(range(6)), st.integers(10, 60))
def test_a_corpus_cut_anew_loses_nothing(order, size):
    words = [f"w{i}" for i in range(240)]
    old = {f"o{i}": " ".join(words[i * 40 : i * 40 + 40]) for i in range(6)}
    new = {f"n{i}": " ".join(words[i : i + size]) for i in range(0, 240, size)}
    found = drift({f"o{i}": old[f"o{i}"] for i in order}, new)
    assert list(found.anchors) == [f"o{i}" for i in order]
    assert found.totals["gone"] == 0


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
@pytest.mark.parametrize(("size", "gone", "elsewhere"), [(200, 9, 1), (300, 10, 1), (400, 6, 0)])
def test_sentences_of_real_texts_that_were_cut_anew(size, gone, elsewhere):
    """Each is there, in one chunk or in two; "gone" are short ones, of which neither has five words in a row."""
    folder = Path(os.environ["HITRATE_TEST_DATA"], "spans", "corpora")
    texts = {name: (folder / f"{name}.md").read_text("utf-8") for name in ("state_of_the_union", "wikitexts")}
    sentences = {
        (name, found.start()): found[0]
        for name, text in texts.items()
        for found in re.finditer(r"[A-Z][^.!?\n]{30,90}[.!?]", text)
    }
    corpus = {
        (name, start): text[start : start + size] for name, text in texts.items() for start in range(0, len(text), size)
    }
    found = drift(sentences, corpus)
    assert (len(sentences), found.totals["gone"]) == (959, gone)
    assert all(len(_in_order(_fold(sentences[item]))) < 10 for item in found.of("gone"))
    lost = 0
    for (name, start), anchor in found.anchors.items():
        end = start + len(sentences[name, start])
        held = [chunk for chunk in anchor.new_ids if chunk[0] == name and chunk[1] < end and start < chunk[1] + size]
        lost += anchor.status != "gone" and not held
    assert lost == elsewhere


# The golden set, repaired


@pytest.fixture
def moved():
    """Two gold texts that became one chunk, one that became two, and one that is gone."""
    halves = SHIPPING[:48], SHIPPING[48:]
    return drift(
        {"d1": REFUNDS, "d2": HOURS, "d3": SHIPPING, "d4": "No chunk has this."},
        {"a": f"{REFUNDS} {HOURS}", "b": f"{halves[0]} Etc.", "c": halves[1]},
    )


@pytest.mark.parametrize(
    ("items", "repaired"),
    [
        ({"d1", "d2"}, {"a"}),
        (["d3", "d1"], ["b", "c", "a"]),
        (("d1", "d4"), ("a",)),
        (frozenset({"d3"}), frozenset({"b", "c"})),
        ({"d1": 1, "d2": 3, "d3": 2}, {"a": 3, "b": 2, "c": 2}),
        ({"d1": 1, "d2": 0, "d3": 0}, {"a": 1, "b": 0, "c": 0}),
        ({"d1": -1}, {"a": -1}),
        ({"d4": 2}, {}),
        ({"d4"}, set()),
        ([], []),
    ],
)
def test_reanchor_keeps_the_form_and_the_grades(moved, items, repaired):
    given_set = {"q": items}
    before = {"q": type(items)(items)}
    found = moved.reanchor(given_set)
    assert found == {"q": repaired}
    assert type(found["q"]) is type(repaired)
    assert given_set == before


def test_reanchor_names_an_item_without_a_text(moved):
    with pytest.raises(ValueError, match="query 'q2': the item 'd9' is none of the 4 gold texts: give drift"):
        moved.reanchor({"q1": {"d1"}, "q2": {"d9"}})


def test_reanchor_refuses_what_is_no_golden_set(moved):
    with pytest.raises(TypeError, match="relevant items are the string 'd1'"):
        moved.reanchor({"q1": "d1"})
    with pytest.raises(TypeError, match="qrels must be a mapping of query id -> items, got list"):
        moved.reanchor([{"d1"}])


# To be read


def test_totals_and_rows(moved):
    assert moved.totals == {"valid": 0, "moved": 0, "merged": 2, "split": 1, "changed": 0, "gone": 1}
    assert moved.of("gone") == ("d4",)
    assert moved.rows()[0] == {"id": "d1", "status": "merged", "new_ids": ("a",), "share": 1.0, "reused": False}
    assert repr(moved) == "<Drift: 2 merged, 1 split, 1 gone>"


def test_unknown_status(moved):
    with pytest.raises(ValueError, match="unknown status 'lost': one of valid, moved, merged, split, changed, gone"):
        moved.of("lost")


def test_table():
    found = drift(
        {"d1": REFUNDS, "d2": HOURS, 3: SHIPPING}, {"d1": REFUNDS, "d2": HOURS.replace("six", "seven"), 3: "Other."}
    )
    assert str(found).splitlines() == [
        "3 gold texts in a corpus of 3 chunks",
        "valid          1   33.3%  the same text, under the same id",
        "moved          0    0.0%  the same text, under another id",
        "merged         0    0.0%  the text lies in a larger chunk",
        "split          0    0.0%  the text is spread over several chunks",
        "changed        1   33.3%  one chunk holds most of the text, but not to the letter",
        "                          d2 (95% held)",
        "gone           1   33.3%  less than half of the text is left",
        "                          3 (0% held)",
        "1 of the gold ids now name another text: by id, a hit on it is no hit",
    ]


# What is refused


@pytest.mark.parametrize(
    ("texts", "corpus", "error", "message"),
    [
        (["a"], {"a": "b"}, TypeError, "texts must be a mapping of id -> text, got list"),
        ({"a": "b"}, ["a"], TypeError, "corpus must be a mapping of id -> text, got list"),
        ({}, {"a": "b"}, ValueError, "texts is empty"),
        ({"a": "b"}, {}, ValueError, "corpus is empty"),
        ({"q1": {"d1"}}, {"a": "b"}, TypeError, "texts must be id -> text; that of 'q1' is {'d1'}"),
        ({"a": "b"}, {"a": None}, TypeError, "corpus must be id -> text; that of 'a' is None"),
    ],
)
def test_refused(texts, corpus, error, message):
    with pytest.raises(error, match=message):
        drift(texts, corpus)
