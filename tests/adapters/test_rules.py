"""The table of cases has teeth: break any one rule of the core, and every adapter's conformance turns red.

Each mutation below breaks one rule in the core itself. An adapter that stayed green would be doing that part itself.
"""

import math
from bisect import bisect_right
from itertools import repeat

import pytest

from hitrate_adapters import METRICS, same_text
from hitrate_adapters.core import matching, metrics
from hitrate_adapters.core.records import Judge, Records
from tests.adapters.cases import BAD_CONFIGURATIONS, CASES, PARAGRAPH
from tests.adapters.test_conformance import FRAMEWORKS, adapter  # noqa: F401 - the fixture

RIGHT = Judge.__call__
FOLD, WORDS = matching._fold, matching._words
NAMED = {case.name: case for case in CASES}


def judge_as(monkeypatch, wrong):
    """Put `wrong(judge, relevant, retrieved)` in the place of the core's judging."""
    monkeypatch.setattr(
        Judge, "__call__", lambda self, relevant, retrieved, query_id=None: wrong(self, relevant, retrieved)
    )
    monkeypatch.setattr(
        Judge,
        "judge_all",
        lambda self, qrels, run: Records(
            qrels, [*range(len(qrels))], [self(gold, run.get(query, []), query) for query, gold in qrels.items()]
        ),
    )


def with_rules(judge, **changed):
    return Judge(**(judge.rules | changed))


def refuse_empty_retrieval(judge, relevant, retrieved):
    if not list(retrieved):
        raise ValueError("retrieved ids must be provided")
    return RIGHT(judge, relevant, retrieved)


def score_without_gold(judge, relevant, retrieved):
    record = RIGHT(judge, relevant, retrieved)
    return record if record.n_relevant else record._replace(n_relevant=1)


def count_repeats(judge, relevant, retrieved):
    record = RIGHT(judge, relevant, retrieved)
    if judge.match is not None:
        hits = [rank for rank, item in enumerate(retrieved, 1) if any(map(judge.match, repeat(item), relevant))]
    else:
        hits = [rank for rank, item in enumerate(retrieved, 1) if item in relevant]
    return record._replace(hit_ranks=tuple(hits), found_ranks=tuple(hits))


def count_repeated_gold(judge, relevant, retrieved):
    return RIGHT(judge, relevant, retrieved)._replace(n_relevant=len(list(relevant)))


def drop_repeats(judge, relevant, retrieved):
    return RIGHT(with_rules(judge, unique=True), relevant, retrieved)


def keep_repeats(judge, relevant, retrieved):
    return RIGHT(with_rules(judge, unique=False), relevant, retrieved)


def fold_unasked(judge, relevant, retrieved):
    return RIGHT(with_rules(judge, match=judge.match or same_text), relevant, retrieved)


def ignore_matcher(judge, relevant, retrieved):
    return RIGHT(with_rules(judge, match=None), relevant, retrieved)


def find_gold_once_per_chunk(judge, relevant, retrieved):
    record = RIGHT(judge, relevant, retrieved)
    ranks = tuple(sorted(set(record.found_ranks)))
    return record._replace(found_ranks=ranks, gain_ranks=ranks, gains=record.gains[: len(ranks)])


def judging(wrong):
    return lambda monkeypatch: judge_as(monkeypatch, wrong)


def metric(name, wrong):
    return lambda monkeypatch: monkeypatch.setitem(METRICS, name, wrong)


def attribute(module, name, wrong):
    return lambda monkeypatch: monkeypatch.setattr(module, name, wrong)


def uncut(name):
    right = METRICS[name]
    return metric(name, lambda record, k: right(record, None))


def theta_by_ceiling(record, k, theta=None):
    needed = 1 if theta is None else math.ceil(theta * record.n_relevant)
    return float(bisect_right(record.found_ranks, k or math.inf) >= needed)


def theta_ignored(record, k, theta=None):  # noqa: ARG001
    return METRICS["hit_rate"](record, k)


def full_ideal(record, k):
    ideal = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(record.ideal, 1))
    gained = zip(record.gain_ranks, record.gains, strict=True)
    return sum(gain / math.log2(rank + 1) for rank, gain in gained if rank <= (k or math.inf)) / ideal


def ranks_as_positions(record, k):
    ideal = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(record.ideal[:k], 1))
    gained = zip(record.gain_ranks, record.gains, strict=True)
    return sum(gain / math.log2(rank + 1) for rank, gain in gained if rank <= (k or math.inf)) / ideal


RULES = {
    "nothing retrieved is a miss": (judging(refuse_empty_retrieval), ["nothing retrieved is a miss"]),
    "no gold is not scored": (judging(score_without_gold), ["no gold is not scored"]),
    "a repeat is found once": (judging(count_repeats), ["a repeat is found once"]),
    "a repeat under a matcher": (judging(count_repeats), ["a repeat under a matcher is a repeat too"]),
    "a repeat keeps its slot": (judging(drop_repeats), ["a repeat keeps its slot"]),
    "unique drops repeats": (judging(keep_repeats), ["unique drops repeats before the cut"]),
    "repeated gold counts once": (judging(count_repeated_gold), ["a repeat in the gold counts once"]),
    "equality is exact": (judging(fold_unasked), ["exact equality is exact", "ids are compared as they are"]),
    "the matcher decides": (judging(ignore_matcher), ["the chunk holds a short gold text"]),
    "one chunk, two gold passages": (judging(find_gold_once_per_chunk), ["one chunk covers two gold passages"]),
    "one position for each gold passage": (metric("ndcg", ranks_as_positions), ["one chunk covers two gold passages"]),
    "hit rate is cut at k": (uncut("hit_rate"), ["several k in one run"]),
    "recall is cut at k": (uncut("recall"), ["the cut comes after rank k"]),
    "mrr is cut at k": (uncut("mrr"), ["several k in one run"]),
    "map is cut at k": (uncut("map"), ["average precision divides by all the gold"]),
    "precision divides by k": (uncut("precision"), ["k above what was retrieved"]),
    "the ideal is cut at k": (metric("ndcg", full_ideal), ["the ideal gain is cut at k"]),
    "map divides by all the gold": (
        metric("map", lambda record, k: METRICS["precision"](record, len(record.found_ranks) or 1)),
        ["average precision divides by all the gold"],
    ),
    "theta by division": (attribute(metrics, "hit_rate", theta_by_ceiling), ["theta: seven of a hundred"]),
    "theta counts": (attribute(metrics, "hit_rate", theta_ignored), ["theta: one of three"]),
    "folding": (
        lambda monkeypatch: monkeypatch.setattr(matching, "_fold", lambda text: text),
        ["same_text folds case, width and white space"],
    ),
    "blank text is not the same text": (
        lambda monkeypatch: monkeypatch.setattr(matching, "_fold", lambda text: FOLD(text) or "blank"),
        ["blank text is not the same text"],
    ),
    "blank text is in nothing": (
        lambda monkeypatch: monkeypatch.setattr(matching, "_fold", lambda text: FOLD(text) or PARAGRAPH.casefold()),
        ["blank text matches nothing"],
    ),
    "short gold texts are whole words": (
        attribute(matching, "_in_whole_words", lambda *_: True),
        ["a short gold text is whole words of the chunk"],
    ),
    "words are counted": (
        attribute(matching, "_words", lambda text: {(word, 0) for word, _ in WORDS(text)}),
        ["a word that the gold text has twice must be there twice"],
    ),
    "texts without words are compared": (
        attribute(matching, "same_text", lambda *_: True),
        ["a gold text without words overlaps an equal text"],
    ),
    "likeness counts": (
        attribute(matching, "_likeness", lambda *_: 1.0),
        ["a misread text is similar"],
    ),
    "crumbs do not count": (
        attribute(matching, "_ENOUGH", 0),
        ["a crumb is not contained in everything"],
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_breaking_a_rule_turns_the_adapter_red(adapter, rule, monkeypatch):  # noqa: F811
    break_it, cases = RULES[rule]
    break_it(monkeypatch)
    assert any(differs(adapter, NAMED[name]) for name in cases)


def differs(adapter, case):  # noqa: F811
    try:
        values = adapter.drive(case)
    except Exception:
        return True
    return any(
        values[name].get(query) != (value if value is None else pytest.approx(value))
        for name, expected in case.expect.items()
        for query, value in expected.items()
    )


@pytest.mark.parametrize(
    ("module", "name"), [(metrics, "cutoff"), (metrics, "check_number")], ids=["k is checked", "theta is checked"]
)
def test_breaking_a_check_turns_the_adapter_red(adapter, module, name, monkeypatch):  # noqa: F811
    monkeypatch.setattr(module, name, lambda *given, **_: given[0])
    refused = []
    for configuration, error, _ in BAD_CONFIGURATIONS:
        try:
            adapter.build(**configuration)
        except error:
            refused.append(configuration)
        except Exception:  # another error than the check's
            continue
    assert len(refused) < len(BAD_CONFIGURATIONS)
