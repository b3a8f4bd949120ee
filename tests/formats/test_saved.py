"""A saved evaluation comes back with the same records, and is never matched again."""

import fractions
import functools
import json
import re
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hitrate_adapters as hr
from hitrate_adapters.core.evaluation import Evaluation
from hitrate_adapters.formats import load, save

QRELS = {"q1": {"d2", "d7"}, "q2": {"d1": 2, "d9": 0}, "q3": [], "q4": ["d4"], "q5": ["d5"]}
RUN = hr.Run(
    {"q1": ["d1", "d2", None], "q2": ["d1", "d1"], "q3": ["d1"], "q5": [], "q6": ["d6"]}, {"q5": TimeoutError("late")}
)


def state(evaluation):
    """Return all that an evaluation says, in forms that compare."""
    return (
        {query: evaluation[query] for query in evaluation},
        evaluation.unscored,
        evaluation.missing,
        [(query, str(error)) for query, error in evaluation.errors.items()],
        str(evaluation),
        evaluation.rows(),
        {**evaluation.judge.rules, "match": repr(evaluation.judge.match)},
    )


def once_more(evaluation, path, **options):
    save(evaluation, path)
    return load(path, **options)


def test_all_comes_back(tmp_path):
    evaluation = hr.evaluate(QRELS, RUN, unique=True, relevance_level=0.5)
    loaded = once_more(evaluation, tmp_path / "e.jsonl")
    assert isinstance(loaded, Evaluation)
    said, expected = state(loaded), state(evaluation)
    assert said[3] == [("q5", "TimeoutError: late")]
    assert said[:3] + said[4:] == expected[:3] + expected[4:]
    assert loaded.run == {**RUN}
    assert loaded.qrels == {**QRELS, "q1": ["d2", "d7"]}
    assert loaded.matches("q1") == evaluation.matches("q1")


def test_saved_again_it_is_the_same_file(tmp_path):
    loaded = once_more(hr.evaluate(QRELS, RUN), tmp_path / "e.jsonl")
    save(loaded, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "e.jsonl").read_bytes()


def test_what_the_file_says(tmp_path):
    save(hr.evaluate({"q": ["a"]}, {"q": ["b", "a"]}), tmp_path / "e.jsonl")
    head, query = map(json.loads, (tmp_path / "e.jsonl").read_text().splitlines())
    assert head == {
        "hitrate_adapters": hr.__version__,
        "saved": "evaluation",
        "version": 1,
        "queries": 1,
        "match": None,
        "unique": False,
        "relevance_level": None,
    }
    assert query == {
        "query_id": "q",
        "relevant": ["a"],
        "retrieved": ["b", "a"],
        "record": {
            "hit_ranks": [2],
            "found_ranks": [2],
            "gain_ranks": [2],
            "gains": [1.0],
            "ideal": [1.0],
            "n_relevant": 1,
            "n_retrieved": 2,
        },
    }


def test_numbers_of_other_kinds_are_saved_as_json_has_them(tmp_path):
    half = fractions.Fraction(1, 2)
    evaluation = hr.evaluate(
        {"q": {"a": half, "b": 2}}, {"q": ["b", "a"]}, relevance_level=half, match=hr.overlap(half)
    )
    loaded = once_more(evaluation, tmp_path / "e.jsonl")
    assert loaded.qrels == {"q": {"a": 0.5, "b": 2}}
    assert loaded.judge.rules == {"match": hr.overlap(0.5), "unique": False, "relevance_level": 0.5}
    assert loaded["q"] == evaluation["q"]


def test_numbers_of_numpy_are_saved(tmp_path):
    numpy = pytest.importorskip("numpy")
    level, share = numpy.int64(1), numpy.float64(0.5)
    evaluation = hr.evaluate(
        {"q": {"a": numpy.int64(1), "b": numpy.float32(2)}},
        {"q": ["b", "a"]},
        relevance_level=level,
        match=hr.overlap(share),
    )
    loaded = once_more(evaluation, tmp_path / "e.jsonl")
    assert loaded.qrels == {"q": {"a": 1, "b": 2.0}}
    assert loaded.judge.rules == {"match": hr.overlap(0.5), "unique": False, "relevance_level": 1}


def test_a_loaded_evaluation_adds_to_a_new_one(tmp_path):
    old = once_more(hr.evaluate({"q": ["a"]}, {"q": ["a"]}), tmp_path / "e.jsonl")
    assert (old + hr.evaluate({"p": ["a"]}, {"p": ["b", "a"]})).hit_rate(1) == 0.5


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
ids = words | st.integers(-3, 3) | st.tuples(words, st.integers(0, 5), st.integers(6, 9)) | st.tuples(words, words)
gold = st.lists(ids, min_size=1, unique=True) | st.dictionaries(ids, st.floats(0.5, 3), min_size=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.dictionaries(ids, gold, min_size=1), st.data())
@pytest.mark.filterwarnings("ignore:no relevant (id|text|item) was ever retrieved")
def test_ids_keep_their_types(tmp_path, qrels, data):
    run = {query: data.draw(st.lists(ids)) for query in qrels}
    evaluation = hr.evaluate(qrels, run)
    loaded = once_more(evaluation, tmp_path / "e.jsonl")
    assert (loaded.qrels, loaded.run, loaded.rows()) == (qrels, run, evaluation.rows())


# Matchers


class Blunt:
    def __call__(self, retrieved, relevant):
        return retrieved[0] == relevant[0]


def first_letter(retrieved, relevant):
    return retrieved[0] == relevant[0]


@pytest.mark.parametrize("match", [hr.same_text, hr.contains, hr.overlap(0.5), hr.similar(0.25)], ids=repr)
def test_our_matchers_come_back(tmp_path, match):
    evaluation = hr.evaluate({"q": ["a b c d"]}, {"q": ["a b c d"]}, match=match)
    loaded = once_more(evaluation, tmp_path / "e.jsonl")
    assert loaded.judge.match == match
    assert loaded.matches("q") == evaluation.matches("q")


@pytest.mark.parametrize("match", [hr.span_overlap(), hr.span_overlap(0.5), hr.span_overlap(0.5, of="union")], ids=repr)
def test_matchers_of_spans_come_back(tmp_path, match):
    evaluation = hr.evaluate({"q": [hr.Span("a", 0, 9)]}, {"q": [hr.Span("a", 0, 9)]}, match=match)
    loaded = once_more(evaluation, tmp_path / "e.jsonl")
    assert loaded.judge.match == match
    assert isinstance(loaded.run["q"][0], hr.Span)


@pytest.mark.parametrize(
    ("match", "name"),
    [
        (first_letter, rf"{__name__}.first_letter"),
        (Blunt(), rf"{__name__}.<Blunt>.Blunt"),
        (lambda retrieved, relevant: retrieved[0] == relevant[0], rf"{__name__}.<lambda>"),
        (functools.partial(first_letter), "functools.<partial>.first_letter"),
    ],
    ids=["function", "object", "lambda", "partial"],
)
def test_a_matcher_of_your_own_is_named_and_given_again(tmp_path, match, name):
    evaluation = hr.evaluate({"q": ["ab"]}, {"q": ["ac"]}, match=match)
    loaded = once_more(evaluation, tmp_path / "e.jsonl")
    assert loaded.hit_rate(1) == 1
    assert repr(loaded.judge.match) == name
    with pytest.raises(
        RuntimeError, match=rf"this was judged by {re.escape(name)}, .*load\(path, match=...\) gives it"
    ):
        loaded.matches("q")
    assert repr(once_more(loaded, tmp_path / "again.jsonl").judge.match) == name
    if "<" not in name:
        assert load(tmp_path / "e.jsonl", match=match).matches("q") == evaluation.matches("q")


def test_matchers_of_one_name_may_differ(tmp_path):
    evaluation = hr.evaluate({"q": ["ab"]}, {"q": ["ac"]}, match=first_letter)
    one, other = once_more(evaluation, tmp_path / "e.jsonl"), load(tmp_path / "e.jsonl")
    for each in (evaluation, other):
        with pytest.raises(ValueError, match="judged by different rules"):
            one.compare(each, "mrr")
    with pytest.raises(ValueError, match="whose matchers share but a name: judge both alike"):
        one.compare(other, "mrr")
    assert one.compare(other, "mrr", anyway=True).difference == 0
    assert load(tmp_path / "e.jsonl", match=first_letter).compare(evaluation, "mrr").difference == 0


def decorated(matcher):
    @functools.wraps(matcher)
    def opposite(retrieved, relevant):
        return not matcher(retrieved, relevant)

    return opposite


@pytest.mark.parametrize(
    "match",
    [
        lambda retrieved, relevant: retrieved == relevant,
        functools.partial(first_letter),
        functools.cache(first_letter),
        Blunt(),
        decorated(first_letter),
        decorated(hr.contains),
    ],
    ids=["lambda", "partial", "cache", "object", "decorated", "ours, decorated"],
)
def test_what_is_not_known_by_its_name_is_not_given_again(tmp_path, match):
    save(hr.evaluate({"q": ["ab", "x"]}, {"q": ["ab"]}, match=match), tmp_path / "e.jsonl")
    assert repr(load(tmp_path / "e.jsonl").judge.match) != "contains"
    with pytest.raises(ValueError, match=r"judged by \S+, which may be another one than \S+: a lambda, a partial, and"):
        load(tmp_path / "e.jsonl", match=match)


def test_a_matcher_of_your_own_with_the_name_of_ours_is_another(tmp_path):
    def contains(retrieved, relevant):
        return retrieved == relevant

    contains.__qualname__ = "contains"
    save(hr.evaluate({"q": ["ab"]}, {"q": ["ab"]}, match=contains), tmp_path / "e.jsonl")
    with pytest.raises(ValueError, match=rf"judged by {__name__}\.contains, not by contains"):
        load(tmp_path / "e.jsonl", match=hr.contains)


@pytest.mark.parametrize(
    ("judged_by", "given", "told"),
    [
        (hr.contains, hr.overlap(0.5), "judged by contains, not by overlap(0.5)"),
        (None, hr.overlap(0.5), "judged by equality, not by overlap(0.5)"),
        (first_letter, hr.contains, f"judged by {__name__}.first_letter, not by contains"),
        (first_letter, Blunt(), f"judged by {__name__}.first_letter, not by {__name__}.<Blunt>.Blunt"),
    ],
)
def test_another_matcher_than_the_one_that_judged(tmp_path, judged_by, given, told):
    save(hr.evaluate({"q": ["ab"]}, {"q": ["ab"]}, match=judged_by), tmp_path / "e.jsonl")
    with pytest.raises(ValueError, match=re.escape(f"e.jsonl: {told}")):
        load(tmp_path / "e.jsonl", match=given)


# What is refused


def test_items_that_no_file_can_hold(tmp_path):
    item = frozenset({"a"})
    with pytest.raises(
        TypeError, match=r"query 'q': frozenset\(\{'a'\}\) \(frozenset\) cannot be saved: evaluate ids, texts"
    ):
        save(hr.evaluate({"q": [item]}, {"q": [item]}), tmp_path / "e.jsonl")
    assert not list(tmp_path.iterdir())


def test_a_uuid_is_refused_with_advice(tmp_path):
    item = uuid.UUID(int=7)
    for qrels in ({"q": [item]}, {item: ["a"]}):
        with pytest.raises(TypeError, match=r"\(UUID\) cannot be saved: .*of a UUID its str\(\), on both sides"):
            save(hr.evaluate(qrels, qrels), tmp_path / "e.jsonl")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: lines[:2], "this is cut off: it has 1 of 2 queries"),
        (lambda lines: [lines[0], lines[1][:20]], "line 2: this is no JSON: "),
        (lambda lines: [lines[0], "{}", lines[2]], "line 2 lacks 'query_id'"),
        (lambda lines: lines[1:], "this is no evaluation that was saved: its first line does not say so"),
        (lambda lines: [], "this is no evaluation that was saved"),
        (lambda lines: [lines[0].replace('"version": 1', '"version": 2'), *lines[1:]], r"this \S+: upgrade"),
        (lambda lines: [lines[0].replace('"unique": false, ', ""), *lines[1:]], "line 1 lacks 'unique'"),
        (lambda lines: [lines[0].replace("false", '"x"'), *lines[1:]], "line 1: unique must be True or False"),
        (lambda lines: [lines[0], lines[1], lines[1]], "line 3: query 'q' is on an earlier line too"),
        (lambda lines: [lines[0].replace('queries": 2', 'queries": 0')], "e.jsonl: none of its queries was scored"),
        (
            lambda lines: [lines[0].replace('"match": null', '"match": "overlap(9)"'), *lines[1:]],
            r"e.jsonl: its matcher is overlap\(9\): share must be above 0",
        ),
    ],
)
def test_a_file_that_is_none(tmp_path, change, told):
    path = tmp_path / "e.jsonl"
    save(hr.evaluate({"q": ["a"], "p": ["a"]}, {"q": ["a"]}), path)
    path.write_text("\n".join(change(path.read_text().splitlines())))
    with pytest.raises(ValueError, match=told):
        load(path)


@pytest.mark.parametrize("version", ["0", "-1", "true", "1.0", '"1"', "null"])
def test_a_version_that_there_is_not(tmp_path, version):
    path = tmp_path / "e.jsonl"
    save(hr.evaluate({"q": ["a"]}, {"q": ["a"]}), path)
    path.write_text(path.read_text().replace('"version": 1', f'"version": {version}'))
    with pytest.raises(ValueError, match="line 1: the version must be a whole number of at least 1, found"):
        load(path)


@pytest.mark.parametrize(
    ("field", "found", "told"),
    [
        ("query_id", {"a": 1}, "expected an id, a text or a span, found {'a': 1}"),
        ("relevant", "a", "expected a list in 'relevant', found 'a'"),
        ("relevant", [{}], "expected an id, a text or a span, found {}"),
        ("relevant", [["a", ["b", {}]]], "expected an id, a text or a span, found {}"),
        ("grades", {"a": 2}, "expected a list in 'grades', found {'a': 2}"),
        ("grades", [2, "x"], "the grade of 'b' must be a number, found 'x'"),
        ("grades", [2], "is shorter"),
        ("retrieved", None, "expected a list in 'retrieved', found None"),
        ("record", None, "the record must be an object, found None"),
        ("hit_ranks", "x", "hit_ranks of the record cannot be 'x'"),
        ("hit_ranks", [-1], "hit_ranks of the record cannot be [-1]"),
        ("hit_ranks", [2, 4], "hit_ranks of the record cannot be [2, 4]"),
        ("hit_ranks", [2, 2], "hit_ranks of the record cannot be [2, 2]"),
        ("hit_ranks", [3, 2], "hit_ranks of the record cannot be [3, 2]"),
        ("hit_ranks", [2.0, 3.0], "hit_ranks of the record cannot be [2.0, 3.0]"),
        ("hit_ranks", [], "found_ranks of the record cannot be [2, 3]"),
        ("found_ranks", [], "found_ranks of the record cannot be []"),
        ("found_ranks", [3], "found_ranks of the record cannot be [3]"),
        ("found_ranks", 2, "found_ranks of the record cannot be 2"),
        ("found_ranks", [2, 2, 3], "found_ranks of the record cannot be [2, 2, 3]"),
        ("gain_ranks", [True, 3], "gain_ranks of the record cannot be [True, 3]"),
        ("gain_ranks", [2], "gains of the record cannot be [2.0, 1.0]"),
        ("gains", [2.0, -1.0], "gains of the record cannot be [2.0, -1.0]"),
        ("gains", [2.0, "1"], "gains of the record cannot be [2.0, '1']"),
        ("ideal", [1.0, 2.0], "ideal of the record cannot be [1.0, 2.0]"),
        ("ideal", [float("inf"), 2.0], "ideal of the record cannot be [inf, 2.0]"),
        ("ideal", [2.0], "ideal of the record cannot be [2.0]"),
        ("n_relevant", -1, "n_relevant of the record cannot be -1"),
        ("n_relevant", 0, "n_relevant of the record cannot be 0"),
        ("n_relevant", 1.5, "n_relevant of the record cannot be 1.5"),
        ("n_relevant", True, "n_relevant of the record cannot be True"),
        ("n_retrieved", -1, "n_retrieved of the record cannot be -1"),
        ("n_retrieved", None, "n_retrieved of the record cannot be None"),
    ],
)
def test_what_no_evaluation_has_is_told_with_the_line(tmp_path, field, found, told):
    path = tmp_path / "e.jsonl"
    save(hr.evaluate({"q": {"a": 2, "b": 1}}, {"q": ["c", "a", "b"]}), path)
    head, row = map(json.loads, path.read_text().splitlines())
    (row if field in row else row["record"])[field] = found
    path.write_text(f"{json.dumps(head)}\n{json.dumps(row)}\n")
    with pytest.raises(ValueError, match=rf"e\.jsonl, line 2: .*{re.escape(told)}"):
        load(path)


@pytest.mark.parametrize("field", ["relevant", "gains"])
def test_a_field_that_is_lacking(tmp_path, field):
    path = tmp_path / "e.jsonl"
    save(hr.evaluate({"q": ["a"]}, {"q": ["a"]}), path)
    head, row = map(json.loads, path.read_text().splitlines())
    del (row if field in row else row["record"])[field]
    path.write_text(f"{json.dumps(head)}\n{json.dumps(row)}\n")
    with pytest.raises(ValueError, match=f"line 2 lacks '{field}'"):
        load(path)
