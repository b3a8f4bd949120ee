"""Phoenix: `evaluate_dataframe` and its async twin give each row a score with its explanation, and lose no row."""

import asyncio
import importlib
from collections import deque
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from phoenix.evals import async_evaluate_dataframe, bind_evaluator, create_evaluator, evaluate_dataframe
from phoenix.evals.utils import to_annotation_dataframe

from hitrate_adapters import contains, span_overlap
from hitrate_adapters.phoenix import evaluation, hit_rate_evaluators

ROOT = Path(__file__).parents[2]


# The conformance table


def drive(case):
    evaluators = hit_rate_evaluators(
        k=None, metrics=list(case.expect), match_on=case.match_on, match=case.match, unique=case.unique
    )
    results = run(table(case.relevant, case.retrieved), evaluators)
    return {
        spec: {
            query: value_of(row) for query, row in zip(results.index, results[f"{evaluator.name}_score"], strict=True)
        }
        for spec, evaluator in zip(case.expect, evaluators, strict=True)
    }


def build(**configuration):
    return hit_rate_evaluators(**configuration)


def table(relevant, retrieved):
    rows = {"relevant": list(relevant.values()), "retrieved": [retrieved[query] for query in relevant]}
    return pd.DataFrame(rows, index=list(relevant), dtype=object)


def run(rows, evaluators):
    results = evaluate_dataframe(dataframe=rows, evaluators=evaluators, hide_tqdm_bar=True)
    for evaluator in evaluators:
        details = results[f"{evaluator.name}_execution_details"]
        assert {(row["status"], len(row["exceptions"])) for row in details} == {("COMPLETED", 0)}
    return results


def value_of(row):
    """Give the score, which has an explanation; or None where Phoenix has no score but the reason."""
    assert row["explanation"]
    assert (row["kind"], row["direction"]) == ("code", "maximize")
    assert ("score" in row) == ("cannot be scored" not in row["explanation"])
    return row.get("score")


GOLD = {"q1": ["d1"], "q2": ["d3"]}
FOUND = {"q1": ["d2", "d1"], "q2": ["d3"]}


# In a table


def test_several_k_and_metrics_stand_beside_other_evaluators():
    @create_evaluator(name="length", kind="code")
    def length(retrieved):
        return len(retrieved)

    evaluators = [*hit_rate_evaluators(k=(1, 2), metrics=("hit_rate", "mrr@10")), length]
    results = run(table(GOLD, FOUND), evaluators)
    names = ("hit_rate@1", "hit_rate@2", "mrr@10", "length")
    assert {name: [row["score"] for row in results[f"{name}_score"]] for name in names} == {
        "hit_rate@1": [0.0, 1.0],
        "hit_rate@2": [1.0, 1.0],
        "mrr@10": [0.5, 1.0],
        "length": [2, 1],
    }


def test_async():
    evaluating = async_evaluate_dataframe(
        dataframe=table(GOLD, FOUND), evaluators=hit_rate_evaluators(k=1), hide_tqdm_bar=True
    )
    with asyncio.Runner() as runner:
        results = runner.run(evaluating)
    assert [row["score"] for row in results["hit_rate@1_score"]] == [0.0, 1.0]


def test_annotations_for_phoenix():
    results = run(table(GOLD, FOUND), hit_rate_evaluators(k=1)).rename_axis("span_id")
    annotations = to_annotation_dataframe(dataframe=results.reset_index())
    assert annotations["annotation_name"].tolist() == ["hit_rate@1", "hit_rate@1"]
    assert annotations["score"].tolist() == [0.0, 1.0]


def test_columns_of_other_names():
    rows = table(GOLD, FOUND).rename(columns={"retrieved": "ids", "relevant": "gold"})
    (evaluator,) = hit_rate_evaluators(k=1)
    bound = bind_evaluator(evaluator=evaluator, input_mapping={"retrieved": "ids", "relevant": "gold"})
    assert [row["score"] for row in run(rows, [bound])["hit_rate@1_score"]] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"k": 1, "unique": True}, ["hit_rate@1[unique]"]),
        ({"k": 1, "match": contains}, ["hit_rate@1[contains]"]),
        ({"k": 1, "name": "bm25"}, ["bm25"]),
        ({"k": (1, 2), "name": "bm25"}, ["bm25_hit_rate@1", "bm25_hit_rate@2"]),
    ],
)
def test_names(options, names):
    assert [evaluator.name for evaluator in hit_rate_evaluators(**options)] == names


DOCUMENTS = [
    {"page_content": "Dogs are free.", "id": "1", "metadata": {"source": "dogs.md"}},
    {"page_content": "Refunds take five days.", "id": "2", "metadata": {"source": "refunds.md"}},
]


@pytest.mark.parametrize(
    ("options", "gold"),
    [
        ({}, ["2"]),
        ({"id_key": "source"}, ["refunds.md"]),
        ({"match_on": "texts"}, ["Refunds take five days."]),
        ({"match": contains}, ["Refunds take five days. They go to the card."]),
    ],
)
def test_documents(options, gold):
    results = run(table({"q": gold}, {"q": DOCUMENTS}), hit_rate_evaluators(k=(1, 2), name="x", **options))
    assert [value_of(results[f"x_hit_rate@{k}_score"]["q"]) for k in (1, 2)] == [0.0, 1.0]


SPAN_DOCUMENTS = [
    {"document.content": "Dogs are free.", "document.id": "1", "document.metadata": {"file": {"name": "dogs.md"}}},
    {
        "document.content": "Refunds take five days.",
        "document.id": "2",
        "document.score": 0.5,
        "document.metadata": {"file": {"name": "refunds.md"}},
    },
]
"""What `get_spans_dataframe` of Phoenix 20.26 has in the column "attributes.retrieval.documents"."""


@pytest.mark.parametrize("is_query", [False, True], ids=["spans", "query"])
@pytest.mark.parametrize(
    ("options", "gold"),
    [
        ({}, ["2"]),
        ({"id_key": "file.name"}, ["refunds.md"]),
        ({"match_on": "texts"}, ["Refunds take five days."]),
        ({"match": contains}, ["Refunds take five days. They go to the card."]),
    ],
)
def test_documents_of_spans(options, gold, is_query):
    documents = SPAN_DOCUMENTS
    if is_query:  # what SpanQuery().select("retrieval.documents") gives
        documents = [{"document": {key[9:]: value for key, value in each.items()}} for each in documents]
    results = run(table({"q": gold}, {"q": documents}), hit_rate_evaluators(k=(1, 2), name="x", **options))
    assert [value_of(results[f"x_hit_rate@{k}_score"]["q"]) for k in (1, 2)] == [0.0, 1.0]


def test_spans():
    found = [
        ["faq.md", 0, 23],
        {"document.content": "Dogs.", "document.metadata": {"source": "faq.md", "start_index": 24}},
    ]
    evaluators = hit_rate_evaluators(k=(1, 2), name="x", match=span_overlap(0.5))
    results = run(table({"q": [["faq.md", 24, 29]]}, {"q": found}), evaluators)
    assert [value_of(results[f"x_hit_rate@{k}_score"]["q"]) for k in (1, 2)] == [0.0, 1.0]


COLLECTIONS = {
    "tuple": tuple,
    "deque": deque,
    "values": lambda documents: {document["id"]: document for document in documents}.values(),
    "array": lambda documents: np.array(documents, dtype=object),
    "series": pd.Series,
}


@pytest.mark.parametrize("make", COLLECTIONS.values(), ids=COLLECTIONS)
def test_collections_of_documents_are_rankings(make):
    rows = table({"q": make(DOCUMENTS[1:])}, {"q": make(DOCUMENTS)})
    results = run(rows, hit_rate_evaluators(k=(1, 2), name="x"))
    assert [value_of(results[f"x_hit_rate@{k}_score"]["q"]) for k in (1, 2)] == [0.0, 1.0]


def test_arrays_as_of_a_parquet_file():
    rows = table({"q": np.array(["a"], dtype=object)}, {"q": np.array(["b", "a"], dtype=object)})
    assert value_of(run(rows, hit_rate_evaluators(k=2))["hit_rate@2_score"]["q"]) == 1.0


@pytest.mark.parametrize("match_on", ["ids", "texts"])
def test_none_is_a_slot_that_never_hits(match_on):
    results = run(table({"q": ["a"]}, {"q": [None, "a"]}), hit_rate_evaluators(k=(1, 2), name="x", match_on=match_on))
    assert [value_of(results[f"x_hit_rate@{k}_score"]["q"]) for k in (1, 2)] == [0.0, 1.0]


def test_grades():
    results = run(table({"q": {"a": 3, "b": 1, "c": 0}}, {"q": ["b", "c", "a"]}), hit_rate_evaluators(3, "ndcg"))
    assert value_of(results["ndcg@3_score"]["q"]) == pytest.approx(0.6885289)


# What cannot be scored


UNSCORED = {
    "no relevant items": ([], ["a"], "the query has no relevant items"),
    "missing": (float("nan"), ["a"], "relevant items must be"),
    "a string": (["a"], "a", "retrieved items are the string 'a'"),
    "nothing at all": (["a"], None, "retrieved items must be a list"),
    "None alone": (["a"], [None, None], "every retrieved item is None: where are the ids?"),
    "None among the relevant": ([None], ["a"], "None"),
    "no document": (["a"], [{"page_content": "x", "metadata": {}}], "id_key"),
    "no id in a span": (["a"], [{"document.content": "x"}], "id_key"),
    "a generator": (["a"], iter(["a"]), "can be read only once"),
}


@pytest.mark.parametrize("why", UNSCORED)
def test_what_cannot_be_scored_has_no_score_but_the_reason_and_costs_no_other_row(why):
    gold, found, message = UNSCORED[why]
    rows = table({"bad": gold, "good": ["a"]}, {"bad": found, "good": ["a"]})
    bad, good = run(rows, hit_rate_evaluators(k=1))["hit_rate@1_score"]
    assert (value_of(bad), value_of(good)) == (None, 1.0)
    assert message in bad["explanation"]
    assert bad["explanation"].count("cannot be scored") == 1


def test_bad_options():
    with pytest.raises(ValueError, match="match_on"):
        hit_rate_evaluators(match_on="id")
    with pytest.raises(ValueError, match="texts are compared, so no id is looked up"):
        hit_rate_evaluators(match=contains, id_key="source")


# What a table comes to


def test_evaluation_has_the_means_of_the_results():
    gold = {"q1": ["Refunds take five days."], "q2": ["Dogs are free."], "q3": ["Bikes."], "q4": []}
    rows = table(gold, {"q1": ["x", "Refunds take five days."], "q2": ["Dogs are free."], "q3": [], "q4": ["x"]})
    metrics = ["hit_rate@1", "hit_rate@2", "mrr@10"]
    evaluators = hit_rate_evaluators(metrics=metrics, match=contains)
    results = run(rows, evaluators)
    judged = evaluation(results, match=contains)
    columns = {metric: results[f"{each.name}_score"] for metric, each in zip(metrics, evaluators, strict=True)}
    means = {metric: pd.Series(list(map(value_of, column)), dtype=float).mean() for metric, column in columns.items()}
    assert means == {"hit_rate@1": pytest.approx(1 / 3), "hit_rate@2": pytest.approx(2 / 3), "mrr@10": 0.5}
    assert {metric: float(judged.score(metric)) for metric in metrics} == means
    assert (list(judged), judged.unscored) == (["q1", "q2", "q3"], ("q4",))


def test_evaluation_reads_bound_columns_and_documents():
    traces = pd.DataFrame({0: [{"docs": [SPAN_DOCUMENTS[0], *SPAN_DOCUMENTS]}], "gold": [["refunds.md"]]})
    columns = {"retrieved": lambda row: row["0"]["docs"], "relevant": "gold"}
    judged = evaluation(traces, columns, id_key="file.name", unique=True)
    assert judged[0].hit_ranks == (2,)


def test_evaluation_names_what_cannot_be_scored_and_loses_no_row():
    rows = {"relevant": [["a"], ["a"], ["a"], None], "retrieved": [["a"], "a", ["b"], ["a"]]}
    judged = evaluation(pd.DataFrame(rows, index=["q1", "q2", "q1", "q3"]))
    assert (list(judged), set(judged.unscored)) == (["q1", "q1 #2"], {"q2", "q3"})
    assert judged.hit_rate(1) == 0.5


def test_evaluation_without_a_column_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="retrieved"):
        evaluation(pd.DataFrame({"relevant": [["a"]]}))


# The example


def test_example(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = importlib.import_module("phoenix_example")
    results = run(example.ROWS, example.EVALUATORS)
    values = {name: [value_of(row) for row in results[f"{name}_score"]] for name in ("hit_rate@1", "mrr@10")}
    assert values == {"hit_rate@1": [0.0, 0.0, 1.0, None], "mrr@10": [0.5, 0.0, 1.0, None]}
