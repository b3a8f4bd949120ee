"""When a retrieved text counts as a relevant one."""

import inspect
import pickle
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate_adapters import contains, overlap, same_text, similar
from hitrate_adapters.core import matching

PARAGRAPH = "Refunds take five days. They go to the card that paid."

SAME = [
    ("Paris", "paris"),
    ("  Paris is\tthe\ncapital ", "paris is the capital"),
    ("\uff21\uff11", "a1"),
    ("\ufb01ne", "FINE"),
    ("STRASSE", "straße"),
    ("\u210cans", "hans"),
    ("a\u00a0b", "a b"),
    ("e\u0301tude", "étude"),
    ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ("re\u00adfund", "refund"),  # a soft hyphen
    ("data\u200bbase", "database"),  # a zero-width space
    ("\ufeffrefund", "refund"),  # a byte order mark
    ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645"),  # Persian
    ("\u2764\ufe0f", "\u2764"),  # a heart, red or not
    ("e\u034f\u0301", "\u00e9"),  # a joiner between a letter and its accent
]
BLANK = ["", " ", "\n\t", "\u00a0", "\u3000", "\u200b", "\ufeff\u00ad"]


@pytest.mark.parametrize(("retrieved", "relevant"), SAME)
def test_same_text_folds_case_width_and_white_space(retrieved, relevant):
    assert same_text(retrieved, relevant) is True


@pytest.mark.parametrize(("retrieved", "relevant"), [("a", "b"), ("a b", "ab"), ("café", "cafe"), ("a.", "a")])
def test_same_text_folds_nothing_else(retrieved, relevant):
    assert same_text(retrieved, relevant) is False


def test_same_text_is_not_containment():
    assert same_text("Refunds take five days.", PARAGRAPH) is False


@pytest.mark.parametrize("match", [same_text, contains, overlap(0.01), similar(0.01)], ids=repr)
@pytest.mark.parametrize("blank", BLANK, ids=repr)
def test_blank_text_matches_nothing(match, blank):
    assert match(blank, "text") is False
    assert match("text", blank) is False
    assert match(blank, blank) is False


@pytest.mark.parametrize("match", [same_text, contains, overlap(0.5), similar(0.5)], ids=repr)
@pytest.mark.parametrize("other", [None, 1, 0.5, b"text", ("text",)], ids=repr)
def test_what_is_no_text_is_refused(match, other):
    with pytest.raises(TypeError, match=r"compares texts, found .*pass texts, or leave match= out to compare ids"):
        match(other, "text")
    with pytest.raises(TypeError, match=r"compares texts, found .*pass texts, or leave match= out to compare ids"):
        match("text", other)


@pytest.mark.parametrize(("retrieved", "relevant"), SAME)
def test_contains_folds_as_same_text_does(retrieved, relevant):
    assert contains(retrieved, relevant) is True
    assert contains(f"before {retrieved} after", relevant) is True


def test_contains_finds_the_gold_text_in_the_chunk_however_short():
    assert contains("The capital of France is Paris.", "Paris") is True


def test_contains_finds_a_chunk_of_twenty_characters_in_a_gold_text():
    assert contains("x" * 20, "x" * 1000) is True


def test_contains_finds_no_chunk_of_nineteen_characters_in_a_long_gold_text():
    assert contains("x" * 19, "x" * 1000) is False


def test_contains_finds_a_chunk_of_half_a_short_gold_text():
    assert contains("abcd", "abcdefgh") is True


def test_contains_finds_no_chunk_of_less_than_half_a_short_gold_text():
    assert contains("abc", "abcdefgh") is False


def test_contains_counts_the_characters_after_folding():
    assert contains(" a ", "abcdefgh") is False


def test_overlap_is_the_share_of_the_gold_texts_words():
    assert overlap(0.75)("one two three nine", "one two three four") is True
    assert overlap(0.76)("one two three nine", "one two three four") is False


def test_overlap_takes_a_share_that_is_met_exactly():
    assert overlap(0.1)("a", "a b c d e f g h i j") is True


def test_overlap_does_not_mind_the_chunks_other_words_or_their_order():
    assert overlap(1)("six four five three two one", "one two three") is True


def test_overlap_asks_for_a_repeated_word_as_often():
    assert overlap(1)("a b", "a a b") is False
    assert overlap(1)("a b a", "a a b") is True


def test_overlap_folds_and_leaves_out_punctuation():
    assert overlap(1)("REFUNDS, five!", "refunds (five)") is True


@pytest.mark.parametrize(
    ("retrieved", "relevant"),
    [("今天天气", "今天天气很好"), ("きょうは", "きょうはいい"), ("ไปไหน", "ไปไหนมา")],
    ids=["Han", "kana", "Thai"],
)
def test_overlap_counts_characters_where_a_script_has_no_spaces(retrieved, relevant):
    assert overlap(0.6)(retrieved, relevant) is True
    assert overlap(0.9)(retrieved, relevant) is False


def test_overlap_of_a_gold_text_without_words_is_equality():
    assert overlap(0.5)("++", "++") is True
    assert overlap(0.5)("+", "++") is False


SHARED = pytest.mark.parametrize("make", [overlap, similar])


@SHARED
@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), float("inf")])
def test_a_share_outside_0_and_1_is_refused(make, share):
    with pytest.raises(ValueError, match="share must be"):
        make(share)


@SHARED
@pytest.mark.parametrize("share", ["0.5", None, True, [0.5]], ids=repr)
def test_a_share_that_is_no_number_is_refused(make, share):
    with pytest.raises(TypeError, match=r"share must be a number, got"):
        make(share)


@SHARED
def test_matchers_of_equal_share_are_equal(make):
    assert make(0.5) == make(0.5)
    assert hash(make(0.5)) == hash(make(0.5))
    assert make(0.5) != make(0.6)
    assert overlap(0.5) != similar(0.5)


@SHARED
def test_a_matcher_shows_the_call_that_makes_it(make):
    assert repr(make(0.7)) == f"{make.__name__}(0.7)"


@SHARED
def test_a_matcher_survives_pickling(make):
    assert pickle.loads(pickle.dumps(make(0.7))) == make(0.7)  # noqa: S301


def test_similar_is_twice_the_shared_trigrams_over_all_of_both():
    # " abcd " has " ab abc bcd cd ", " abce " has " ab abc bce ce "
    assert similar(0.5)("abce", "abcd") is True
    assert similar(0.51)("abce", "abcd") is False


def test_similar_takes_a_share_that_is_met_exactly():
    assert similar(0.8)("abcx", "abc") is False  # 2 of 3 and 4: 4 / 7
    assert similar(4 / 7)("abcx", "abc") is True


def test_similar_is_the_same_from_both_sides():
    assert similar(0.6)("Refunds take flve days", "Refunds take five days.")
    assert similar(0.6)("Refunds take five days.", "Refunds take flve days")


@pytest.mark.parametrize("text", ["a", "ab", "\u4e94", "++", "\U0001f600", "x" * 50])
def test_similar_to_the_last_share_are_equal_texts_however_short(text):
    assert similar(1)(text, text) is True
    assert similar(1)(f" {text.upper()}\n", text) is True


def test_similar_to_any_share_are_no_texts_without_a_common_trigram():
    assert similar(0.001)("abc", "xyz") is False


def test_similar_sees_neither_repeats_nor_far_order():
    assert similar(1)("ab ab", "ab ab ab") is True
    assert similar(0.8)("Bicycles go last. Dogs travel free.", "Dogs travel free. Bicycles go last.") is True


@given(st.text(alphabet="ab c", min_size=1), st.text(alphabet="ab c", min_size=1))
def test_similar_is_the_definition(retrieved, relevant):
    def trigrams(text):
        padded = f" {' '.join(text.split())} "
        return {padded[at : at + 3] for at in range(len(padded) - 2)} if text.strip() else set()

    one, other = trigrams(retrieved), trigrams(relevant)
    dice = Fraction(2 * len(one & other), max(1, len(one) + len(other)))
    for share in (0.01, 0.25, 0.5, 0.75, 1):
        assert similar(share)(retrieved, relevant) is (bool(one and other) and dice >= Fraction(share))


@given(st.text(alphabet="ab c"), st.text(alphabet="ab c"))
def test_overlap_is_the_definition(retrieved, relevant):
    gold = Counter(relevant.split())
    shared = (gold & Counter(retrieved.split())).total()
    for share in (0.01, 0.25, 0.5, 0.75, 1):
        assert overlap(share)(retrieved, relevant) is (bool(gold) and shared >= Fraction(share) * gold.total())


@pytest.mark.parametrize(
    ("gold", "chunk", "is_in"),
    [
        ("5", "It costs 15 euros.", False),
        ("5", "It costs 5 euros.", True),
        ("Paris", "The Parisian metro", False),
        ("Paris", "(Paris)", True),
        ("$5", "US$5", True),
        ("C++", "in C++20", True),
        ("\u4e94\u5929", "\u9700\u8981\u4e94\u5929\u3002", True),
        ("\u0915\u0932", "\u0915\u0932\u093e", False),  # Hindi: kal, kala
        ("\u0915\u0932", "\u092f\u0939 \u0915\u0932 \u0939\u0948", True),
        ("x" * 19, "x" * 20, False),
        ("x" * 20, "x" * 21, True),
    ],
)
def test_a_short_gold_text_must_be_whole_words_of_the_chunk(gold, chunk, is_in):
    assert contains(chunk, gold) is is_in


@pytest.mark.parametrize(
    ("gold", "chunk"),
    [
        ("\u0926\u093e\u0928", "\u0926\u093f\u0928"),  # Hindi: daan, din
        ("\u05e1\u05b5\u05e4\u05b6\u05e8", "\u05e1\u05b8\u05e4\u05b7\u05e8"),  # Hebrew: sefer, safar
        ("x\u0304", "x\u0302"),
    ],
    ids=["Hindi", "Hebrew", "letters without a composed form"],
)
def test_combining_marks_are_part_of_a_word(gold, chunk):
    assert not overlap(0.1)(chunk, gold)
    assert overlap(1)(f"{gold} {chunk}", gold)


def kept(prepare):
    """Return what keeps the short texts and what keeps the long ones."""
    inside = inspect.getclosurevars(prepare).nonlocals
    return inside["of_short"], inside["of_long"]


@pytest.mark.parametrize(
    ("match", "prepare"),
    [(contains, matching._folded), (overlap(0.5), matching._counted), (similar(0.5), matching._cut)],
    ids=["contains", "overlap", "similar"],
)
@pytest.mark.parametrize("size", [100, 10_000])
def test_each_text_is_prepared_once(match, prepare, size):
    golds, chunks = ([f"{side} {number} " + "x y z " * size for number in range(5)] for side in ("gold", "chunk"))
    before = [cache.cache_info().misses for cache in kept(prepare)]
    for chunk in chunks:
        for gold in golds:
            match(chunk, gold)
    assert sum(cache.cache_info().misses for cache in kept(prepare)) - sum(before) == 10


def test_few_long_texts_are_kept():
    for number in range(20):
        contains(f"{number} " * 10_000, "b " * 10_000)
    for prepare in (matching._folded, matching._counted, matching._cut):
        assert kept(prepare)[1].cache_info().currsize <= 8
