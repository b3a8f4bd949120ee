"""Items that are places in documents."""

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hitrate_adapters as hr
from hitrate_adapters import Span, evaluate, judge, span_overlap
from hitrate_adapters.core.spans import as_span

GOLD = Span("d", 10, 20)


@pytest.mark.parametrize(
    ("retrieved", "any_character", "half_of_gold", "half_of_union"),
    [
        (("d", 10, 20), True, True, True),
        (("d", 0, 100), True, True, False),
        (("d", 12, 18), True, True, True),
        (("d", 14, 16), True, False, False),
        (("d", 15, 25), True, True, False),
        (("d", 16, 26), True, False, False),
        (("d", 19, 29), True, False, False),
        (("d", 20, 30), False, False, False),  # the end is exclusive
        (("d", 0, 10), False, False, False),
        (("other", 10, 20), False, False, False),
        ((("d", 1), 10, 20), False, False, False),
    ],
)
def test_what_the_spans_have_in_common(retrieved, any_character, half_of_gold, half_of_union):
    matchers = span_overlap(), span_overlap(0.5), span_overlap(0.5, of="union")
    assert [match(Span(*retrieved), GOLD) for match in matchers] == [any_character, half_of_gold, half_of_union]


@pytest.mark.parametrize("n", [1, 3, 7, 10, 21, 100])
def test_a_share_that_is_met_exactly_is_enough(n):
    for common in range(1, n + 1):
        assert span_overlap(common / n)(Span("d", 0, common), Span("d", 0, n)) is True
        assert span_overlap(common / n, of="union")(Span("d", 0, common), Span("d", 0, n)) is True


SPANS = st.builds(lambda start, size: Span("d", start, start + size), st.integers(0, 12), st.integers(1, 12))


@given(SPANS, SPANS, st.sampled_from([0.125, 0.25, 0.5, 0.75, 1]))
def test_it_is_the_definition(retrieved, relevant, share):
    found, gold = set(range(*retrieved[1:])), set(range(*relevant[1:]))
    assert span_overlap()(retrieved, relevant) is bool(found & gold)
    assert span_overlap(share)(retrieved, relevant) is (Fraction(len(found & gold), len(gold)) >= Fraction(share))
    of_union = Fraction(len(found & gold), len(found | gold))
    assert span_overlap(share, of="union")(retrieved, relevant) is (of_union >= Fraction(share))


def test_gold_survives_another_cut():
    gold = {"q": [Span("refunds.md", 120, 180)]}
    small = {"q": [Span("refunds.md", start, start + 50) for start in (0, 100, 150)]}
    large = {"q": [Span("refunds.md", start, start + 400) for start in (400, 0)]}
    assert judge(gold["q"], small["q"], match=span_overlap()).hit_ranks == (2, 3)
    assert judge(gold["q"], large["q"], match=span_overlap()).hit_ranks == (2,)
    assert judge(gold["q"], small["q"], match=span_overlap(0.5)).hit_ranks == (2, 3)  # 30 of 60 characters in each
    assert judge(gold["q"], small["q"], match=span_overlap(0.51)).hit_ranks == ()


def test_a_tuple_is_a_span():
    assert span_overlap()(("d", 0, 11), ("d", 10, 20)) is True
    assert judge([("d", 10, 20)], [("d", 0, 11)], match=span_overlap()).hit_ranks == (1,)


def test_offsets_may_be_of_numpy():
    np = pytest.importorskip("numpy")
    assert span_overlap(0.5)(Span("d", np.int64(0), np.int64(15)), GOLD) is True


def test_spans_may_be_graded_and_keep_their_grades():
    qrels = {"q": {Span("d", 0, 10): 2, Span("d", 50, 60): 1}}
    assert evaluate(qrels, {"q": [Span("d", 0, 60)]}, match=span_overlap()).recall(1) == 1.0


def test_what_matched_is_shown_as_spans():
    found = evaluate({"q": [GOLD]}, {"q": [Span("d", 0, 5), Span("d", 5, 15)]}, match=span_overlap())
    assert found.matches("q") == ((2, Span("d", 5, 15), GOLD),)


def test_unique_drops_equal_spans():
    run = {"q": [Span("d", 0, 5), Span("d", 0, 5), GOLD]}
    assert evaluate({"q": [GOLD]}, run, match=span_overlap(), unique=True).hit_rate(2) == 1.0


@pytest.mark.parametrize(
    "item", ["d1", 7, 0.5, ("d", 0), ("d", 0, 4, 9), {"document": "d", "start": 0, "end": 4}], ids=repr
)
def test_what_is_no_span_is_refused(item):
    for sides in ((item, GOLD), (GOLD, item)):
        with pytest.raises(
            TypeError, match=r"spans are compared, found .*: each side is a list of Span\(document, start"
        ):
            span_overlap()(*sides)


def test_a_list_from_json_becomes_a_span():
    with pytest.raises(TypeError, match=r"found \['d', 0, 4\] \(list\): make Span\(\*item\) of each list"):
        span_overlap()(["d", 0, 4], GOLD)
    with pytest.raises(TypeError, match=r"query 'q': .*unhashable type: 'list'.*make Span\(\*item\)"):
        evaluate({"q": [["d", 0, 4]]}, {"q": [GOLD]}, match=span_overlap())
    with pytest.raises(TypeError, match=r"query 'q': .*make Span\(\*item\) of each list"):
        evaluate({"q": [GOLD]}, {"q": [["d", 0, 4]]}, match=span_overlap())


def test_as_span_takes_what_json_has():
    assert as_span(["d", 0, 4]) == as_span(("d", 0, 4)) == as_span(Span("d", 0, 4)) == Span("d", 0, 4)
    assert type(as_span(["d", 0, 4])) is Span
    for item in ("d", ["d", 0], ["d", 4, 0], ["d", 0.0, 4]):
        with pytest.raises((TypeError, ValueError), match=r"spans are compared, found|is no span"):
            as_span(item)


def test_a_single_span_is_no_list_of_spans():
    with pytest.raises(TypeError, match=r"query 'q': .*found .*each side is a list of Span"):
        evaluate({"q": GOLD}, {"q": [GOLD]}, match=span_overlap())


@pytest.mark.parametrize("offsets", [(0.0, 4), (0, 4.0), (False, 4), (0, True), ("0", "4"), (None, 4)], ids=repr)
def test_offsets_are_whole_numbers(offsets):
    with pytest.raises(TypeError, match="is no span: start and end are whole numbers of characters"):
        span_overlap()(Span("d", *offsets), GOLD)


@pytest.mark.parametrize("offsets", [(5, 4), (4, 4), (0, 0), (-1, 4)], ids=repr)
def test_a_span_holds_characters(offsets):
    with pytest.raises(ValueError, match=r"is no span: it needs 0 <= start < end"):
        span_overlap()(GOLD, Span("d", *offsets))


@pytest.mark.parametrize("document", [None, float("nan")])
def test_a_span_is_of_a_document(document):
    with pytest.raises(ValueError, match=r"is no span: its document is (None|nan)"):
        span_overlap()(Span(document, 0, 4), GOLD)


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan")])
def test_a_share_outside_0_and_1_is_refused(share):
    with pytest.raises(ValueError, match="share must be"):
        span_overlap(share)


@pytest.mark.parametrize("share", ["0.5", True, [0.5]], ids=repr)
def test_a_share_that_is_no_number_is_refused(share):
    with pytest.raises(TypeError, match="share must be a number"):
        span_overlap(share)


@pytest.mark.parametrize("of", ["chunk", None, 0.5], ids=repr)
def test_a_share_is_of_gold_or_union(of):
    with pytest.raises(ValueError, match='of must be "gold" or "union"'):
        span_overlap(0.5, of=of)


def test_of_union_says_nothing_without_a_share():
    with pytest.raises(ValueError, match=r"of='union' says what share= is a share of"):
        span_overlap(of="union")


@pytest.mark.parametrize(
    ("match", "call"),
    [
        (span_overlap(), "span_overlap()"),
        (span_overlap(0.5), "span_overlap(0.5)"),
        (span_overlap(0.5, of="union"), "span_overlap(0.5, of='union')"),
    ],
    ids=repr,
)
def test_a_matcher_shows_the_call_and_survives_pickling(match, call):
    assert repr(match) == call
    assert pickle.loads(pickle.dumps(match)) == match  # noqa: S301
    assert match.compares == "spans"


def test_spans_survive_pickling():
    assert pickle.loads(pickle.dumps(GOLD)) == GOLD  # noqa: S301
    assert hr.Span is Span


def test_nothing_found_at_all_shows_a_span_of_each_side():
    with pytest.warns(UserWarning, match=r"no relevant span was ever retrieved, by match=span_overlap\(\). The qrels"):
        evaluate({"q": [GOLD]}, {"q": [Span("D", 10, 20)]}, match=span_overlap())
