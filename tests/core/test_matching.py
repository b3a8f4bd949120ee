"""When a retrieved text counts as a relevant one."""

import pickle

import pytest

from hitrate_adapters import contains, overlap, same_text
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
]
BLANK = ["", " ", "\n\t", "\u00a0", "\u3000"]


@pytest.mark.parametrize(("retrieved", "relevant"), SAME)
def test_same_text_folds_case_width_and_white_space(retrieved, relevant):
    assert same_text(retrieved, relevant) is True


@pytest.mark.parametrize(("retrieved", "relevant"), [("a", "b"), ("a b", "ab"), ("café", "cafe"), ("a.", "a")])
def test_same_text_folds_nothing_else(retrieved, relevant):
    assert same_text(retrieved, relevant) is False


def test_same_text_is_not_containment():
    assert same_text("Refunds take five days.", PARAGRAPH) is False


@pytest.mark.parametrize("match", [same_text, contains, overlap(0.01)], ids=repr)
@pytest.mark.parametrize("blank", BLANK, ids=repr)
def test_blank_text_matches_nothing(match, blank):
    assert match(blank, "text") is False
    assert match("text", blank) is False
    assert match(blank, blank) is False


@pytest.mark.parametrize("match", [same_text, contains, overlap(0.5)], ids=repr)
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


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), float("inf")])
def test_overlap_refuses_a_share_outside_0_and_1(share):
    with pytest.raises(ValueError, match="share must be"):
        overlap(share)


@pytest.mark.parametrize("share", ["0.5", None, True, [0.5]], ids=repr)
def test_overlap_refuses_a_share_that_is_no_number(share):
    with pytest.raises(TypeError, match=r"share must be a number, got"):
        overlap(share)


def test_overlaps_of_equal_share_are_equal():
    assert overlap(0.5) == overlap(0.5)
    assert overlap(0.5) != overlap(0.6)


def test_overlap_shows_the_call_that_makes_it():
    assert repr(overlap(0.7)) == "overlap(0.7)"


def test_overlap_survives_pickling():
    assert pickle.loads(pickle.dumps(overlap(0.7))) == overlap(0.7)  # noqa: S301


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


def test_long_texts_are_not_kept():
    contains("a " * 10_000, "b " * 10_000)
    before = matching._folded.cache_info().currsize
    for number in range(3):
        contains(f"{number} " * 10_000, "b " * 10_000)
    assert matching._folded.cache_info().currsize == before
