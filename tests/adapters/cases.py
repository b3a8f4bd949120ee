"""The conformance table: what every adapter reports, whatever the framework. Expected values are literals.

An adapter's test module `tests/adapters/test_<adapter>.py` defines

    drive(case) -> {metric: {query id: float, or None for the framework's own "not scored"}}

which runs the case *through the framework's own runner* with every metric of `case.expect`, and

    build(**configuration)

which makes the adapter's evaluator or metric from `k`, `theta` and the like. `test_conformance.py` does the rest.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hitrate_adapters import Evaluation, Metric, contains, overlap, same_text, similar

Values = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Case:
    """Gold and rankings by query id, and what every metric named in `expect` is for every query (None: not scored)."""

    name: str
    relevant: Mapping[str, list[str]]
    retrieved: Mapping[str, list[str]]
    expect: Values
    match_on: str = "ids"
    """Whether the items are "ids" or "texts"."""
    match: Callable[[str, str], bool] | None = None
    unique: bool = False
    source: str = "DESIGN.md, section 4"
    """Where the case is from."""


def one(
    name: str, relevant: list[str], retrieved: list[str], expect: dict[str, float | None], **options: object
) -> Case:
    """Make a case of one query."""
    return Case(
        name,
        {"q": relevant},
        {"q": retrieved},
        {metric: {"q": value} for metric, value in expect.items()},
        **options,  # type: ignore[arg-type]
    )


def evaluated(case: Case, evaluation: Callable[..., Evaluation], *args: object, **options: object) -> Values:
    """Give what an adapter's `evaluation` of a case has: metric -> query -> value, None where it is not scored."""
    expected = [value for values in case.expect.values() for value in values.values()]
    if expected.count(None) == len(expected):  # an evaluation of nothing raises
        return case.expect
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # nothing relevant was ever retrieved
        judged = evaluation(*args, **options)
    assert {*judged, *judged.unscored} == {*case.relevant}
    return {
        spec: {query: Metric.parse(spec)(judged[query]) if query in judged.records else None for query in case.relevant}
        for spec in case.expect
    }


ARTICLE = "a Chinese five-part article on hit rate for RAG"
VENDOR = "Future AGI's page on hit_rate"
LLAMA = "https://github.com/run-llama/llama_index"
RAGAS = "https://github.com/vibrantlabsai/ragas"
PARAGRAPH = "Refunds take five days. They go to the card that paid."

CASES = [
    Case(
        "two queries, one hit",
        {"q1": ["d2", "d7"], "q2": ["d1", "d11"]},
        {"q1": ["d1", "d2", "d3", "d4", "d5"], "q2": ["d6", "d7", "d8", "d9", "d10"]},
        {
            "hit_rate@1": {"q1": 0.0, "q2": 0.0},
            "hit_rate@5": {"q1": 1.0, "q2": 0.0},
            "mrr": {"q1": 0.5, "q2": 0.0},
            "recall@5": {"q1": 0.5, "q2": 0.0},
            "precision@5": {"q1": 0.2, "q2": 0.0},
        },
        source=ARTICLE,
    ),
    Case(
        "three texts, two hits",
        {
            "1": ["Paris is the capital of France.", "The Eiffel Tower was built in 1889."],
            "2": ["The sky is blue."],
            "3": ["The Louvre is in Paris."],
        },
        {
            "1": ["Paris is the capital of France.", "France is in Europe.", "Napoleon was born in Corsica."],
            "2": ["The sky is blue.", "Water is wet."],
            "3": ["Completely unrelated.", "Nothing matches."],
        },
        {"hit_rate": {"1": 1.0, "2": 1.0, "3": 0.0}, "recall": {"1": 0.5, "2": 1.0, "3": 0.0}},
        match_on="texts",
        source=VENDOR,
    ),
    one(
        "exact equality is exact",
        ["Paris is the capital of France."],
        ["paris is the capital of France.", "Paris  is the capital of France."],
        {"hit_rate": 0.0, "mrr": 0.0},
        match_on="texts",
        source=VENDOR,
    ),
    Case(
        "nothing retrieved is a miss",
        {"q1": ["a"], "q2": ["b"]},
        {"q1": [], "q2": ["b"]},
        {
            metric: {"q1": 0.0, "q2": 1.0}
            for metric in ("hit_rate@5", "recall@5", "precision", "mrr@5", "map@5", "ndcg@5", "hit_rate@5>=0.5")
        },
        source=f"{LLAMA}/issues/13926, {RAGAS}/pull/3024",
    ),
    Case(
        "no gold is not scored",
        {"q1": ["a"], "q2": []},
        {"q1": ["a"], "q2": ["a", "x"]},
        {metric: {"q1": 1.0, "q2": None} for metric in ("hit_rate@1", "recall@1", "precision@1", "mrr", "map", "ndcg")},
        source=f"{RAGAS}/issues/1379",
    ),
    Case(
        "no gold and nothing retrieved is not scored",
        {"q1": ["a"], "q2": []},
        {"q1": ["x"], "q2": []},
        {"hit_rate@1": {"q1": 0.0, "q2": None}},
    ),
    one("a repeat keeps its slot", ["s2"], ["s1", "s1", "s2"], {"hit_rate@2": 0.0, "hit_rate@3": 1.0, "mrr": 1 / 3}),
    one(
        "a repeat is found once",
        ["a"],
        ["a", "a"],
        {"hit_rate@2": 1.0, "recall@2": 1.0, "precision@2": 0.5, "map@2": 1.0, "ndcg@2": 1.0, "mrr@2": 1.0},
        source=f"{LLAMA}/pull/22683",
    ),
    one(
        "repeats in the top k do not fill recall",
        ["d", "e"],
        ["d", "d", "d"],
        {"recall@3": 0.5, "precision@3": 1 / 3},
        source="https://github.com/langchain-ai/langchain/issues/20884",
    ),
    one(
        "unique drops repeats before the cut",
        ["s2"],
        ["s1", "s1", "s2"],
        {"hit_rate@2": 1.0, "mrr": 0.5, "precision@2": 0.5},
        unique=True,
        source="https://github.com/langchain-ai/langchain/issues/37046",
    ),
    one(
        "a repeat in the gold counts once",
        ["a", "a"],
        ["a"],
        {"recall@1": 1.0, "ndcg@1": 1.0, "map@1": 1.0, "hit_rate@1>=1.0": 1.0},
        source=f"{LLAMA}/pull/22683",
    ),
    one(
        "several k in one run",
        ["a"],
        ["x", "y", "a"],
        {"hit_rate@1": 0.0, "hit_rate@3": 1.0, "mrr@2": 0.0, "mrr@3": 1 / 3},
        source=f"{LLAMA}/issues/11030, {RAGAS}/issues/1907",
    ),
    one(
        "hit rate is not recall",
        ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
        ["1", "2", "3", "4", "5"],
        {"hit_rate@5": 1.0, "recall@5": 0.5, "precision@5": 1.0},
        source=f"{LLAMA}/pull/12997",
    ),
    one(
        "k above what was retrieved",
        ["a", "b"],
        ["x", "a"],
        {"hit_rate@10": 1.0, "recall@10": 0.5, "precision@10": 0.1, "precision": 0.5, "ndcg@10": 0.38685280723454163},
    ),
    one(
        "the cut comes after rank k",
        ["a"],
        ["x", "y", "z", "a"],
        {
            **{f"{metric}@3": 0.0 for metric in ("hit_rate", "recall", "precision", "mrr", "map", "ndcg")},
            "hit_rate@4": 1.0,
            "recall@4": 1.0,
            "precision@4": 0.25,
            "mrr@4": 0.25,
            "map@4": 0.25,
            "ndcg@4": 0.43067655807339306,
        },
    ),
    one(
        "the ideal gain is cut at k",
        ["a", "b", "c"],
        ["a"],
        {"ndcg@1": 1.0, "ndcg@3": 0.46927872602275644, "ndcg": 0.46927872602275644},
        source=f"{LLAMA}/issues/17070",
    ),
    one(
        "average precision divides by all the gold",
        ["a", "b", "c", "d"],
        ["a", "x", "b"],
        {"map": 0.4166666666666667, "map@1": 0.25, "map@2": 0.25},
        source="trec_eval's map and map_cut",
    ),
    one(
        "theta: one of three",
        ["a", "b", "c"],
        ["a", "x", "y"],
        {"hit_rate@3>=0.5": 0.0, "hit_rate@3>=0.3": 1.0, "hit_rate@3": 1.0},
        source="https://github.com/langchain-ai/docs/issues/1504",
    ),
    one(
        "theta: a third is a third",
        ["a", "b", "c"],
        ["a"],
        {"hit_rate@1>=0.3333333333333333": 1.0, "hit_rate@1>=0.34": 0.0},
    ),
    one(
        "theta: seven of a hundred",
        [f"g{number}" for number in range(100)],
        [f"g{number}" for number in range(7)],
        {"hit_rate@7>=0.07": 1.0, "hit_rate@6>=0.07": 0.0},
    ),
    one("ids are compared as they are", ["doc-1"], ["Doc-1", " doc-1", "doc-10"], {"hit_rate": 0.0}),
    one(
        "an id of other scripts",
        ["päpste/№7 😀", "a b"],
        ["x", "päpste/№7 😀"],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0, "recall@2": 0.5},
    ),
    one(
        "ids differ, texts are equal",
        ["The bridge opens at nine."],
        ["Something else.", "The bridge opens at nine."],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0},
        match_on="texts",
        source=f"{LLAMA}/issues/17704, {RAGAS}/issues/816",
    ),
    one(
        "same_text folds case, width and white space",
        ["Paris is the\ncapital of France. \uff21\uff11"],
        ["  paris is  the capital of FRANCE. a1 "],
        {"hit_rate": 1.0, "recall": 1.0},
        match_on="texts",
        match=same_text,
    ),
    one(
        "same_text is not containment",
        [PARAGRAPH],
        ["Refunds take five days."],
        {"hit_rate": 0.0},
        match_on="texts",
        match=same_text,
    ),
    one(
        "a repeat under a matcher is a repeat too",
        ["t"],
        ["t", "t"],
        {"precision@2": 0.5, "recall@2": 1.0},
        match_on="texts",
        match=same_text,
    ),
    one(
        "a gold paragraph holds the chunk",
        [PARAGRAPH],
        ["Shipping is free.", "Refunds take five days."],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0, "recall@2": 1.0},
        match_on="texts",
        match=contains,
        source=ARTICLE,
    ),
    one(
        "the chunk holds a short gold text",
        ["Paris"],
        ["The capital of France is Paris."],
        {"hit_rate": 1.0},
        match_on="texts",
        match=contains,
    ),
    one(
        "a crumb is not contained in everything",
        [PARAGRAPH],
        ["the", "a"],
        {"hit_rate": 0.0},
        match_on="texts",
        match=contains,
    ),
    one(
        "blank text is not the same text",
        ["refunds", " "],
        [" ", "refunds"],
        {"hit_rate@1": 0.0, "recall": 0.5},
        match_on="texts",
        match=same_text,
    ),
    one(
        "a short gold text is whole words of the chunk",
        ["5"],
        ["It costs 15 euros.", "It costs 5 euros."],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0},
        match_on="texts",
        match=contains,
    ),
    one(
        "blank text matches nothing",
        [PARAGRAPH],
        ["", "  "],
        {"hit_rate": 0.0, "mrr": 0.0},
        match_on="texts",
        match=contains,
    ),
    one(
        "one chunk covers two gold passages",
        ["alpha beta", "gamma delta"],
        ["alpha beta gamma delta", "zeta"],
        {
            "hit_rate@1": 1.0,
            "recall@1": 1.0,
            "precision@1": 1.0,
            "precision@2": 0.5,
            "map": 1.0,
            "ndcg@1": 1.0,
            "ndcg@2": 1.0,
        },
        match_on="texts",
        match=contains,
    ),
    one(
        "two chunks cover one gold passage",
        [PARAGRAPH],
        ["Refunds take five days.", "They go to the card that paid.", "zeta"],
        {"hit_rate@1": 1.0, "recall@3": 1.0, "precision@2": 1.0, "map": 1.0, "ndcg@3": 1.0, "mrr": 1.0},
        match_on="texts",
        match=contains,
    ),
    one(
        "overlap asks for a share of the gold's words",
        ["one two three four"],
        ["four nine three", "one two three"],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0},
        match_on="texts",
        match=overlap(0.75),
    ),
    Case(
        "precision does not see where",
        {"first": ["a"], "last": ["a"], "ends": ["a", "b"]},
        {"first": ["a", "x", "y", "z"], "last": ["x", "y", "z", "a"], "ends": ["a", "x", "y", "b"]},
        {
            "precision@4": {"first": 0.25, "last": 0.25, "ends": 0.5},
            "hit_rate@3": {"first": 1.0, "last": 0.0, "ends": 1.0},
            "mrr": {"first": 1.0, "last": 0.25, "ends": 1.0},
        },
        source=f"{RAGAS}/issues/2013, {RAGAS}/issues/365",
    ),
    Case(
        "before and after a reranker",
        {"before": ["a"], "after": ["a"]},
        {"before": ["x", "y", "a"], "after": ["a", "x"]},
        {"hit_rate@2": {"before": 0.0, "after": 1.0}},
        source=f"{LLAMA}/issues/10238",
    ),
    one(
        "one of two labels found",
        ["a", "b"],
        ["a"],
        {"hit_rate": 1.0, "recall": 0.5},
        source="https://github.com/Marker-Inc-Korea/AutoRAG/issues/359",
    ),
    one(
        "composed and decomposed letters are one text to same_text",
        ["caf\u00e9"],
        ["cafe\u0301"],
        {"hit_rate": 1.0},
        match_on="texts",
        match=same_text,
    ),
    one(
        "a word that the gold text has twice must be there twice",
        ["no means no"],
        ["no means yes", "no means no"],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0},
        match_on="texts",
        match=overlap(1),
    ),
    one(
        "a gold text without words overlaps an equal text",
        ["++"],
        ["+ +", "++"],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0},
        match_on="texts",
        match=overlap(0.5),
    ),
    one(
        "overlap counts characters where a script has no spaces",
        ["\u9000\u6b3e\u9700\u8981\u4e94\u5929"],
        ["\u9000\u6b3e", "\u9000\u6b3e\u4e94\u5929"],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0},
        match_on="texts",
        match=overlap(0.6),
    ),
    one(
        "a misread text is similar",
        [PARAGRAPH],
        ["Refunds go to the card of those who paid.", "Refunds take flve days. They go to the card that pald."],
        {"hit_rate@1": 0.0, "hit_rate@2": 1.0},
        match_on="texts",
        match=similar(0.75),
    ),
    one(
        "what cannot be seen and how quotes are set is folded",
        ["It isn't a re\u00adfund."],
        ["\ufeffIt isn\u2019t a refund."],
        {"hit_rate": 1.0},
        match_on="texts",
        match=same_text,
    ),
]
"""Every case that every adapter passes."""

BAD_CONFIGURATIONS = [
    ({"k": 0}, ValueError, "0"),
    ({"k": -3}, ValueError, "-3"),
    ({"k": True}, TypeError, "True"),
    ({"k": 5.0}, TypeError, "5.0"),
    ({"k": "5"}, TypeError, "'5'"),
    ({"k": 5, "theta": 0}, ValueError, "theta"),
    ({"k": 5, "theta": 1.5}, ValueError, "1.5"),
    ({"k": 5, "theta": float("nan")}, ValueError, "theta"),
    ({"k": 5, "theta": "0.5"}, TypeError, "theta"),
    ({"k": 5, "match": "contains"}, TypeError, "match"),
]
"""Keyword arguments of an evaluator -> the error that building it raises, and a word of its message."""
