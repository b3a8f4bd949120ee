"""When a retrieved text counts as a relevant one."""

import inspect
import pickle
from collections import Counter
from fractions import Fraction
from functools import cache, partial
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitrate_adapters import contains, overlap, same_text, similar, span_overlap
from hitrate_adapters.core import matching
from hitrate_adapters.core.matching import compared, compares_of
from hitrate_adapters.core.records import Judge

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
    assert contains("abcd", "abcd efg") is True


def test_contains_finds_no_chunk_of_less_than_half_a_short_gold_text():
    assert contains("abc", "abc defg") is False


def test_contains_counts_the_characters_after_folding():
    assert contains(" abc ", "abc defg") is False


@pytest.mark.parametrize(
    ("text", "part"),
    [("15", "5"), ("woman", "man"), ("cannot", "not"), ("2010s", "2010"), ("x" * 30, "x" * 19), ("résumé", "sumé")],
)
def test_contains_wants_whole_words_of_short_texts_either_way(text, part):
    assert contains(text, part) is False
    assert contains(part, text) is False
    assert contains(f"{text} {part}", part) is True


# What a matcher compares


def own(retrieved, relevant):
    return retrieved.partition("#")[0] == relevant


def test_what_the_matchers_of_the_package_compare():
    found = [compares_of(match) for match in (None, same_text, contains, overlap(0.5), similar(0.5), span_overlap(0.5))]
    assert found == ["ids", "texts", "texts", "texts", "texts", "spans"]


def test_what_a_matcher_of_your_own_compares_is_unknown_until_it_says_so():
    def match(retrieved, relevant):
        return own(retrieved, relevant)

    assert compares_of(match) is None
    match.compares = "ids"
    assert compares_of(match) == "ids"


def test_what_a_matcher_that_remembers_its_answers_compares():
    assert [compares_of(cache(match)) for match in (contains, overlap(0.5), span_overlap(), own)] == [
        "texts",
        "texts",
        "spans",
        None,
    ]


def test_a_matcher_that_compares_what_there_is_not_is_refused():
    def match(retrieved, relevant):
        return own(retrieved, relevant)

    match.compares = "text"
    for use in (compares_of, partial(compared, "auto"), lambda match: Judge(match=match)):
        with pytest.raises(ValueError, match=r'compares of match=.* must be "ids", "texts" or .* is \'text\''):
            use(match)


def test_auto_takes_a_matcher_of_your_own_for_one_of_texts():
    assert compared("auto", own) == "texts"


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
        ("\u0928", "\u0915\u093f\u0928", False),  # Hindi: na, kin
        ("\u0e01", "\u0e01\u0e35", False),  # Thai: ko, ki
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


# Hard texts: which of the four matchers see through what. Each pair is tried from both sides but for overlap.

SEERS = {"same": same_text, "contains": contains, "overlap": overlap(1), "similar": similar(0.8)}
ALL, NONE = set(SEERS), set()
HARD = {
    # What folding sees through
    "decomposed letters": ("La cr\u00e8me est pr\u00eate.", "La cre\u0300me est pre\u0302te.", ALL),
    "decomposed Hangul": ("\ud658\ubd88\uc740 \uc624\uc77c", normalize("NFD", "\ud658\ubd88\uc740 \uc624\uc77c"), ALL),
    "full-width forms": ("\uff21\uff22\uff23\uff11\uff12\uff13 \u8fd4\u91d1", "abc123 \u8fd4\u91d1", ALL),
    "half-width katakana": ("\uff98\uff8c\uff67\uff9d\uff84\uff9e", "\u30ea\u30d5\u30a1\u30f3\u30c9", ALL),
    "ligatures": ("The o\ufb03ce \ufb01nds \ufb02aws.", "The office finds flaws.", ALL),
    "soft hyphens": ("Re\u00adfunds take five days.", "Refunds take five days.", ALL),
    "zero-width spaces": (
        "\u0e01\u0e32\u0e23\u200b\u0e04\u0e37\u0e19\u200b\u0e40\u0e07\u0e34\u0e19",
        "\u0e01\u0e32\u0e23\u0e04\u0e37\u0e19\u0e40\u0e07\u0e34\u0e19",
        ALL,
    ),
    "two spellings of a Thai vowel": (
        "\u0e19\u0e49\u0e33\u0e15\u0e32\u0e25",
        "\u0e19\u0e49\u0e4d\u0e32\u0e15\u0e32\u0e25",
        ALL,
    ),
    "no-break spaces": ("5\u00a0000\u202feuros", "5 000 euros", ALL),
    "typographic signs": ("\u201cIt isn\u2019t paid\u201d \u2013 yet", '"It isn\'t paid" - yet', ALL),
    "lines of Chinese": (
        "\u9000\u6b3e\u9700\u8981\n  \u4e94\u5929\u3002\n\u72d7",
        "\u9000\u6b3e\u9700\u8981\u4e94\u5929\u3002\u72d7",
        ALL,
    ),
    "spaces in Japanese": ("\u8fd4\u91d1 \u306f 5 \u65e5", "\u8fd4\u91d1\u306f5\u65e5", ALL),
    "indentation of code": ("def pay(x):\n\tif x:\n\t\treturn x", "def pay(x):\n    if x:\n        return x", ALL),
    "superscripts, which are digits then": ("10\u00b2 metres", "102 metres", ALL),
    "case in code": ("class User", "class user", ALL),
    # What stands beside words
    "emphasis in Markdown": (
        "Refunds take **five** working days.",
        "Refunds take five working days.",
        {"overlap", "similar"},
    ),
    "a link in Markdown": ("Ask [the desk](https://example.org/desk).", "Ask the desk.", {"overlap"}),
    "a heading in Markdown": (
        "# Refunds\n\nThey take five working days.",
        "Refunds They take five working days.",
        {"contains", "overlap", "similar"},
    ),
    "bullets": (
        "- Refunds take five days.\n- Dogs travel free.",
        "Refunds take five days. Dogs travel free.",
        {"overlap", "similar"},
    ),
    "a table and its cells": ("| item | days |\n|---|---|\n| refund | five |", "item days refund five", {"overlap"}),
    "a table in other columns": (
        "| item   | days |\n| ------ | ---- |\n| refund | five |",
        "| item | days |\n|---|---|\n| refund | five |",
        {"overlap", "similar"},
    ),
    "tags": ("<p>Refunds take <b>five</b> days.</p>", "Refunds take five days.", {"overlap"}),
    "an entity": ("Refunds &amp; returns take five days.", "Refunds & returns take five days.", {"overlap", "similar"}),
    "spaces in code": ("total=price+tax", "total = price + tax", {"overlap"}),
    "a full stop": (
        "\u8fd4\u91d1\u306f\u4e94\u65e5\u304b\u304b\u308a\u307e\u3059\u3002",
        "\u8fd4\u91d1\u306f\u4e94\u65e5\u304b\u304b\u308a\u307e\u3059",
        {"contains", "overlap", "similar"},
    ),
    # What stands inside words
    "misread letters": (
        "Refunds take flve working days to arrlve.",
        "Refunds take five working days to arrive.",
        {"similar"},
    ),
    "a word broken at the end of its line": (
        "They take more than five days in sum-\nmer.",
        "They take more than five days in summer.",
        {"similar"},
    ),
    "accents that were lost": ("La creme brulee", "La cr\u00e8me br\u00fbl\u00e9e", NONE),
    "vowel signs of Arabic": (
        "\u0627\u0644\u0633\u0644\u0627\u0645",
        "\u0627\u0644\u0633\u064e\u0651\u0644\u0627\u0645\u064f",
        NONE,
    ),
    "traditional and simplified Chinese": ("\u9000\u6b3e\u6642\u9593", "\u9000\u6b3e\u65f6\u95f4", NONE),
    "camel case and underscores": ("getUserName(id)", "get_user_name(id)", NONE),
    "figures and words": ("5 days", "five days", NONE),
    # What they do not see: the order of sentences, and meaning
    "another order": (
        "Dogs travel free. Bicycles go in the last carriage.",
        "Bicycles go in the last carriage. Dogs travel free.",
        {"overlap", "similar"},
    ),
    "another number": ("Refunds take nine working days.", "Refunds take five working days.", {"similar"}),
    "the opposite": (
        "Refunds do not take five working days.",
        "Refunds do take five working days.",
        {"overlap", "similar"},
    ),
    "something else": ("Dogs travel free of charge on a lead.", "Refunds take five working days.", NONE),
}


@pytest.mark.parametrize("name", HARD)
def test_what_each_matcher_sees_through(name):
    chunk, gold, seers = HARD[name]
    assert {seer for seer, match in SEERS.items() if match(chunk, gold)} == seers
    assert {seer for seer, match in SEERS.items() if match(gold, chunk)} - {"overlap"} == seers - {"overlap"}


@pytest.mark.parametrize("name", [name for name, (_, _, seers) in HARD.items() if seers is ALL])
@pytest.mark.parametrize("around", ["{}", "\u72d7 {} \u72d7", "Before. {} After."])
def test_contains_finds_hard_texts_in_a_chunk(name, around):
    chunk, gold, _ = HARD[name]
    assert contains(around.format(chunk), gold)
    assert contains(around.format(gold), chunk)


@pytest.mark.parametrize(
    ("gold", "chunk", "is_in"),
    [
        ("5", "\u8fd4\u91d1\u306f 15 \u65e5", False),
        ("5", "\u8fd4\u91d1\u306f 5 \u65e5", True),
        ("5", "\u8fd4\u91d1\u306f5\u65e5", True),
        ("API", "\u8fd4\u91d1APIs \u306f", False),
        ("API", "\u8fd4\u91d1API\u306f", True),
    ],
)
def test_a_short_gold_text_is_whole_words_beside_a_script_without_spaces(gold, chunk, is_in):
    assert contains(chunk, gold) is is_in


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


class Alike:
    def __call__(self, retrieved, relevant):
        return retrieved == relevant


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (contains, "contains"),
        (overlap(0.5), "overlap(0.5)"),
        (overlap(Fraction(1, 2)), "overlap(0.5)"),
        (str.startswith, "startswith"),
        (partial(contains), "contains"),
        (Alike(), "Alike"),
        (lambda *_: True, "<lambda>"),
        (None, "None"),
        ("source", "'source'"),
    ],
)
def test_an_option_is_named_without_an_address(option, name):
    assert matching.name_of(option) == name


def test_rules_are_shown_without_an_address():
    assert repr(Judge(match=contains)) == "Judge(match=contains, unique=False, relevance_level=None)"


def test_few_long_texts_are_kept():
    for number in range(20):
        contains(f"{number} " * 10_000, "b " * 10_000)
    for prepare in (matching._folded, matching._counted, matching._cut):
        assert kept(prepare)[1].cache_info().currsize <= 8


def test_a_cached_matcher_may_say_itself_what_it_compares():
    cached = cache(lambda retrieved, relevant: retrieved == relevant)
    assert compares_of(cached) is None
    cached.compares = "texts"
    assert compares_of(cached) == "texts"
