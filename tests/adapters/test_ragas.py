"""RAGAS: its legacy `evaluate`, its collections style and `HitRateEvaluator.evaluate` agree; its traps are closed."""

import asyncio
import copy
import importlib
import inspect
import json
import logging
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest
import ragas
from datasets import Dataset as HFDataset
from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample, experiment
from ragas.messages import HumanMessage
from ragas.metrics.result import MetricResult

from hitrate_adapters import Metric, contains, overlap
from hitrate_adapters.ragas import (
    HitRateAtK,
    HitRateEvaluator,
    MAPAtK,
    MRRAtK,
    NDCGAtK,
    PrecisionAtK,
    RecallAtK,
)

NOISE = [
    (r"a?evaluate\(\) is deprecated and will be removed", DeprecationWarning),
    ("Importing .* from 'ragas.metrics' is deprecated", DeprecationWarning),
    ("unclosed file .*uuid.json", ResourceWarning),  # which RAGAS reads at the first evaluation, and leaves open
]
pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}:{kind.__name__}") for message, kind in NOISE]
ROOT = Path(__file__).parents[2]
CLASSES = {
    "hit_rate": HitRateAtK,
    "recall": RecallAtK,
    "precision": PrecisionAtK,
    "mrr": MRRAtK,
    "map": MAPAtK,
    "ndcg": NDCGAtK,
}


# The conformance table


def drive(case):
    retrieved, relevant = {
        "ids": ("retrieved_context_ids", "reference_context_ids"),
        "texts": ("retrieved_contexts", "reference_contexts"),
    }[case.match_on]
    rows = [
        {"user_input": query, retrieved: case.retrieved[query], relevant: case.relevant[query]}
        for query in case.relevant
    ]
    options = {"match": case.match, "unique": case.unique}
    metrics = []
    for spec in case.expect:
        metric = Metric.parse(spec)
        theta = {} if metric.theta is None else {"theta": metric.theta}
        metrics.append(CLASSES[metric.name](metric.k, name=spec, **theta, **options))

    legacy = {metric.name: values for metric, values in zip(metrics, run_legacy(rows, metrics), strict=True)}
    modern = {metric.name: asyncio.run(run_modern(rows, metric)) for metric in metrics}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no relevant (id|text|item) was ever retrieved", UserWarning)
        alone = HitRateEvaluator(k=None, metrics=list(case.expect), **options).evaluate(rows)
    own = {
        metric.name: [row[column] for row in alone.rows()] for metric, column in zip(metrics, alone.means, strict=True)
    }
    assert repr(legacy) == repr(modern) == repr(own)  # repr, since NaN differs from itself
    return {
        name: {query: None if math.isnan(value) else value for query, value in zip(case.relevant, values, strict=True)}
        for name, values in legacy.items()
    }


def build(**configuration):
    return HitRateAtK(**configuration)


def run_legacy(rows, metrics, **options):
    """Give the values of each metric by the legacy runner, in the order of the rows."""
    with warnings.catch_warnings():
        for message, kind in NOISE:
            warnings.filterwarnings("ignore", message, kind)
        options = {"show_progress": False, "raise_exceptions": True} | options
        result = ragas.evaluate(EvaluationDataset.from_list(rows), metrics=metrics, **options)
    return [result[metric.name] for metric in metrics]


async def run_modern(rows, metric):
    """Give the values by all four methods of the collections style, having checked that they agree."""
    results = [await metric.ascore(**row) for row in rows]
    assert all(isinstance(result, MetricResult) and result.reason for result in results)
    for others in (metric.batch_score(rows), await metric.abatch_score(rows), [metric.score(**row) for row in rows]):
        assert list(map(repr, others)) == list(map(repr, results))
    return [result.value for result in results]


ROWS = [
    {"user_input": "q1", "retrieved_context_ids": ["d2", "d1"], "reference_context_ids": ["d1"]},
    {"user_input": "q2", "retrieved_context_ids": ["d3"], "reference_context_ids": ["d3"]},
    {"user_input": "q3", "retrieved_context_ids": ["x", "y"], "reference_context_ids": ["d4", "d5"]},
]


# In the legacy evaluate


@pytest.fixture
def example(monkeypatch):
    """The example as a module: its rows and its judge."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    return importlib.import_module("ragas_example")


def test_hit_rate_stands_beside_context_recall_and_faithfulness(example):
    from ragas.metrics import context_recall, faithfulness

    result = ragas.evaluate(
        EvaluationDataset.from_list(example.ROWS),
        metrics=[*HitRateEvaluator(k=(1, 2)), context_recall, faithfulness],
        llm=example.JUDGE,
        show_progress=False,
    )
    assert list(result.scores[0]) == ["hit_rate@1", "hit_rate@2", "context_recall", "faithfulness"]
    assert [tuple(row.values()) for row in result.scores] == [
        (0.0, 1.0, 1.0, 1.0),
        (0.0, 0.0, 0.0, 0.0),
        (1.0, 1.0, 1.0, 0.5),
    ]
    assert str(result).startswith("{'hit_rate@1': 0.3333, 'hit_rate@2': 0.6667,")


def test_the_collections_give_the_same_from_the_same_judge(example):
    from ragas.metrics.collections import ContextRecall, Faithfulness

    async def score(row):
        judge, texts = example.JUDGE, {key: row[key] for key in ("user_input", "retrieved_contexts")}
        return (
            (await HitRateAtK(1).ascore(**row)).value,
            (await ContextRecall(llm=judge).ascore(**texts, reference=row["reference"])).value,
            (await Faithfulness(llm=judge).ascore(**texts, response=row["response"])).value,
        )

    assert [asyncio.run(score(row)) for row in example.ROWS] == [(0.0, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, 1.0, 0.5)]


def test_the_judge_reads_the_contexts(example):
    from ragas.metrics import faithfulness

    row = example.ROWS[2]
    dataset = [
        row,
        row
        | {
            "retrieved_contexts": [
                text.replace("Dogs travel free on a lead.", "") for text in row["retrieved_contexts"]
            ]
        },
    ]
    result = ragas.evaluate(
        EvaluationDataset.from_list(dataset), metrics=[faithfulness], llm=example.JUDGE, show_progress=False
    )
    assert result["faithfulness"] == [0.5, 0.0]


def test_aevaluate():
    dataset = EvaluationDataset.from_list(ROWS)
    result = asyncio.run(ragas.aevaluate(dataset, metrics=[HitRateAtK(1)], show_progress=False))
    assert result["hit_rate@1"] == [0.0, 1.0, 0.0]


def test_single_turn_score():
    assert HitRateAtK(2).single_turn_score(SingleTurnSample(**ROWS[0])) == 1.0


def test_a_hugging_face_dataset_with_a_column_map():
    data = {"found": [["a", "b"]], "gold": [["b"]]}
    result = ragas.evaluate(
        HFDataset.from_dict(data),
        metrics=[HitRateAtK(2)],
        column_map={"retrieved_contexts": "found", "reference_contexts": "gold"},
        show_progress=False,
    )
    assert result["hit_rate@2"] == [1.0]


def test_values_are_floats():
    ((hit, *_),) = run_legacy(ROWS, [HitRateAtK(1)])
    assert type(hit) is float


def test_a_row_without_references_is_in_no_mean():
    rows = [ROWS[1], {"user_input": "q", "retrieved_context_ids": ["a"], "reference_context_ids": []}]
    result = ragas.evaluate(EvaluationDataset.from_list(rows), metrics=[HitRateAtK(1)], show_progress=False)
    assert str(result) == "{'hit_rate@1': 1.0000}"
    assert math.isnan(result["hit_rate@1"][1])


def test_a_malformed_row_is_nan_and_logged(caplog):
    rows = [ROWS[1], {"user_input": "no contexts at all"}]
    with caplog.at_level(logging.ERROR):
        ((good, bad),) = run_legacy(rows, [HitRateAtK(1)], raise_exceptions=False)
    assert good == 1.0
    assert math.isnan(bad)
    assert "the row needs reference_context_ids and retrieved_context_ids, or reference_contexts and" in caplog.text


def test_a_malformed_row_raises_where_asked():
    with pytest.raises(ValueError, match="reference_contexts and retrieved_contexts; it has retrieved_contexts"):
        run_legacy([{"retrieved_contexts": ["a"]}], [HitRateAtK(1)])


@pytest.mark.parametrize(("match_on", "column"), [("ids", "reference_context_ids"), ("texts", "reference_contexts")])
def test_match_on_is_checked_before_the_run(match_on, column):
    with pytest.raises(ValueError, match=rf"requires the following additional columns \['?.*{column}"):
        run_legacy([{"user_input": "q"}], [HitRateAtK(1, match_on=match_on)])


def test_many_turns_are_refused_by_ragas():
    dataset = EvaluationDataset([MultiTurnSample(user_input=[HumanMessage(content="hello")])])
    with pytest.raises(ValueError, match="does not support the sample type"):
        ragas.evaluate(dataset, metrics=[HitRateAtK(1)], show_progress=False)


# Names: RAGAS keeps a single column of each


def test_two_k_are_two_columns():  # issue 1907
    assert run_legacy(ROWS, [HitRateAtK(1), HitRateAtK(5)]) == [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (HitRateAtK(), "hit_rate"),
        (HitRateAtK(5), "hit_rate@5"),
        (HitRateAtK(5, theta=0.5), "hit_rate@5>=0.5"),
        (HitRateAtK(5, match_on="texts"), "hit_rate@5[texts]"),
        (HitRateAtK(5, match=contains), "hit_rate@5[contains]"),
        (HitRateAtK(5, match=overlap(0.5)), "hit_rate@5[overlap(0.5)]"),
        (HitRateAtK(5, match_on="ids", match=str.startswith, unique=True), "hit_rate@5[ids, startswith, unique]"),
        (HitRateAtK(5, name="hit_rate_at_5"), "hit_rate_at_5"),
        (RecallAtK(5), "recall@5"),
        (PrecisionAtK(5), "precision@5"),
        (MRRAtK(5), "mrr@5"),
        (MAPAtK(5), "map@5"),
        (NDCGAtK(5), "ndcg@5"),
    ],
    ids=repr,
)
def test_a_name_says_what_differs_from_the_defaults(metric, name):
    row = {"retrieved_contexts": ["a"], "reference_contexts": ["a"]} | ROWS[1]
    result = ragas.evaluate(EvaluationDataset.from_list([row]), metrics=[metric], show_progress=False)
    assert list(result.scores[0]) == [name]


@pytest.mark.parametrize("attribute", ["mode", "llm", "embeddings"])
def test_no_attribute_that_ragas_reads(attribute):  # `mode` renames the column, the others are filled in
    assert not hasattr(HitRateAtK(5), attribute)


# In the collections style


def test_a_whole_row_can_be_unpacked():
    row = ROWS[0] | {"response": "r", "reference": "r", "difficulty": 3}
    assert asyncio.run(HitRateAtK(2).ascore(**row)) == 1.0


@pytest.mark.parametrize("method", ["score", "ascore"])
def test_a_filter_by_signature_keeps_the_columns(method):  # https://github.com/NVIDIA/NeMo-Agent-Toolkit/pull/1780
    accepted = inspect.signature(getattr(HitRateAtK(2), method)).parameters
    row = {key: value for key, value in (ROWS[0] | {"response": "r"}).items() if key in accepted}
    assert set(row) == {"retrieved_context_ids", "reference_context_ids"}
    assert HitRateAtK(2).score(**row).value == 1.0


def test_score_works_in_a_running_loop():
    async def notebook():
        return HitRateAtK(2).score(**ROWS[0]).value

    assert asyncio.run(notebook()) == 1.0


def test_experiment(tmp_path):
    dataset = ragas.Dataset("golden", "local/jsonl", data=ROWS, root_dir=str(tmp_path))
    dataset.save()
    loaded = ragas.Dataset.load("golden", "local/jsonl", root_dir=str(tmp_path))

    @experiment()
    async def retrieval(row):
        hit = await HitRateAtK(1).ascore(**row)
        return {"question": row["user_input"], "hit_rate@1": hit.value, "why": hit.reason}

    rows = asyncio.run(retrieval.arun(loaded, name="first"))
    assert {row["question"]: row["hit_rate@1"] for row in rows} == {"q1": 0.0, "q2": 1.0, "q3": 0.0}
    assert len((tmp_path / "experiments" / "first.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("columns", "value", "reason"),
    [
        ((["x", "a"], ["a", "b"]), 1.0, "first relevant item at rank 2; 1 of 2 relevant in the top 2 (matched on ids)"),
        (([], ["a"]), 0.0, "nothing was retrieved (matched on ids)"),
        ((["x"], ["a"]), 0.0, "no relevant item among 1 retrieved (matched on ids)"),
    ],
)
def test_the_reason(columns, value, reason):
    result = HitRateAtK(2).score(**dict(zip(("retrieved_context_ids", "reference_context_ids"), columns, strict=True)))
    assert (result.value, result.reason) == (value, reason)


def test_no_references_is_nan_with_the_reason():  # issue 1379, pull 3024
    result = HitRateAtK(1).score(retrieved_context_ids=["a"], reference_context_ids=[])
    assert math.isnan(result.value)
    assert result.reason == "cannot be scored: the query has no relevant items (matched on ids)"


# What is matched


def test_ids_are_compared_by_str():
    rows = [{"retrieved_context_ids": [1], "reference_context_ids": ["1"]}]
    rows += [{"retrieved_context_ids": ["01"], "reference_context_ids": [1]}]
    assert run_legacy(rows, [HitRateAtK(1)]) == [[1.0, 0.0]]
    assert [result.value for result in HitRateAtK(1).batch_score(rows)] == [1.0, 0.0]


def test_ids_win_over_texts():
    row = ROWS[1] | {"retrieved_contexts": ["other"], "reference_contexts": ["words"]}
    assert run_legacy([row], [HitRateAtK(1), HitRateAtK(1, match_on="texts")]) == [[1.0], [0.0]]


def test_an_id_side_is_never_mixed_with_a_text_side():
    row = {"retrieved_context_ids": ["a"], "reference_contexts": ["a"]}
    with pytest.raises(ValueError, match="it has retrieved_context_ids, reference_contexts"):
        HitRateAtK(1).score(**row)
    both = row | {"retrieved_contexts": ["b"]}
    assert run_legacy([both], [HitRateAtK(1)]) == [[0.0]]


def test_a_matcher_compares_texts():  # by ids, "d1" would be found in "d10"
    row = {"retrieved_context_ids": ["d10"], "reference_context_ids": ["d1"]}
    row |= {"retrieved_contexts": ["Ferries sail."], "reference_contexts": ["Dogs travel free."]}
    assert run_legacy([row], [HitRateAtK(1, match=contains)]) == [[0.0]]
    with pytest.raises(ValueError, match="the row needs reference_contexts and retrieved_contexts; it has"):
        HitRateAtK(1, match=contains).score(retrieved_context_ids=["d1"], reference_context_ids=["d1"])


def test_a_matcher_of_ids():
    def same_document(retrieved, relevant):
        return retrieved.startswith(f"{relevant}#")

    row = {"retrieved_context_ids": ["a#1", "b#7"], "reference_context_ids": ["b"]}
    assert run_legacy([row], [HitRateAtK(2, match_on="ids", match=same_document)]) == [[1.0]]


def test_reports_of_users():
    texts = {"retrieved_contexts": ["x", "ref"], "reference_contexts": ["ref"]}  # issue 816
    assert run_legacy([texts], [HitRateAtK(1), HitRateAtK(2)]) == [[0.0], [1.0]]
    first = {"retrieved_contexts": ["a", "x", "y", "z"], "reference_contexts": ["a"]}  # issue 2013
    last = {"retrieved_contexts": ["x", "y", "z", "a"], "reference_contexts": ["a"]}
    assert run_legacy([first, last], [PrecisionAtK(4), HitRateAtK(1), HitRateAtK(3)]) == [
        [0.25, 0.25],
        [1.0, 0.0],
        [1.0, 0.0],
    ]
    half = {"retrieved_contexts": ["a", "x", "y", "b"], "reference_contexts": ["a", "b"]}  # issue 365
    assert run_legacy([half], [PrecisionAtK(4)]) == [[0.5]]
    one_of_two = {"retrieved_contexts": ["a"], "reference_contexts": ["a", "b"]}  # Marker-Inc-Korea/AutoRAG, issue 359
    assert run_legacy([one_of_two], [HitRateAtK(), RecallAtK()]) == [[1.0], [0.5]]


def test_agrees_with_ragas_where_it_has_the_metric():
    from ragas.metrics import IDBasedContextRecall

    rows = [*ROWS, {"retrieved_context_ids": [], "reference_context_ids": ["a"]}]
    rows += [{"retrieved_context_ids": [1, 2], "reference_context_ids": ["2", "3"]}]
    ours, theirs = run_legacy(rows, [RecallAtK(), IDBasedContextRecall()])
    assert ours == theirs == [1.0, 1.0, 0.0, 0.0, 0.5]


# Bad input

IDS = {"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}
MALFORMED = [
    ({"retrieved_context_ids": "['a', 'b']"}, TypeError, "retrieved_context_ids must be a list, found .* JSON lines"),
    ({"reference_context_ids": "a"}, TypeError, "reference_context_ids must be a list, found 'a'"),
    ({"retrieved_context_ids": {"a", "b"}}, TypeError, "retrieved_context_ids must be a list, found .*set"),
    ({"retrieved_context_ids": 7}, TypeError, r"must be a list, found 7 \(int\)"),
    ({"reference_context_ids": ["a", None]}, ValueError, "reference_context_ids holds None"),
    ({"reference_context_ids": ["a", float("nan")]}, ValueError, "reference_context_ids holds nan"),
    ({"retrieved_context_ids": [1.0]}, ValueError, r"holds 1.0 \(float\): an id is an int or a str that is not blank"),
    ({"retrieved_context_ids": [True]}, ValueError, r"holds True \(bool\)"),
    ({"retrieved_context_ids": None}, ValueError, "it has reference_context_ids$"),
    ({"retrieved_context_ids": float("nan")}, ValueError, "it has reference_context_ids$"),
]


@pytest.mark.parametrize(("bad", "error", "message"), MALFORMED, ids=str)
def test_a_malformed_row_says_what_is_wrong(bad, error, message):
    with pytest.raises(error, match=message):
        HitRateAtK(1).score(**(IDS | bad))
    result = HitRateEvaluator(1).evaluate([IDS, IDS | bad])
    assert (result.n_scored, result.n_unscored, list(result.errors)) == (1, 1, [1])
    assert type(result.errors[1]) is error


def test_a_context_that_is_no_text():
    with pytest.raises(ValueError, match=r"retrieved_contexts holds 7 .*a context is a str"):
        HitRateAtK(1).score(retrieved_contexts=[7], reference_contexts=["a"])


def test_a_misspelt_column_is_shown():
    with pytest.raises(ValueError, match=r"retrieved_contexts; it has retrieved_ids, reference_context_ids$"):
        HitRateAtK(1).score(retrieved_ids=["a"], reference_context_ids=["a"])


def test_an_unknown_slot_never_hits():
    row = {"retrieved_context_ids": [None, "a"], "reference_context_ids": ["a"]}
    assert [result.value for result in (HitRateAtK(1).score(**row), HitRateAtK(2).score(**row))] == [0.0, 1.0]


def test_lists_that_went_through_csv(tmp_path):
    dataset = ragas.Dataset("golden", "local/csv", data=[IDS], root_dir=str(tmp_path))
    dataset.save()
    (row,) = ragas.Dataset.load("golden", "local/csv", root_dir=str(tmp_path))
    with pytest.raises(TypeError, match="keep the dataset as JSON lines"):
        HitRateAtK(1).score(**row)


@pytest.mark.parametrize("make", [HitRateAtK, HitRateEvaluator])
def test_match_on_must_be_known(make):
    with pytest.raises(ValueError, match='match_on must be "ids", "texts" or "auto", got \'id\''):
        make(5, match_on="id")


def test_theta_belongs_to_hit_rate():
    with pytest.raises(ValueError, match="theta belongs to hit_rate: recall takes none"):
        RecallAtK(5, theta=0.5)


# HitRateEvaluator


@pytest.mark.parametrize(
    ("configuration", "error"),
    [({"k": 0}, ValueError), ({"k": (1, "5")}, TypeError), ({"metrics": "hits"}, ValueError), ({"k": ()}, ValueError)],
    ids=str,
)
def test_an_evaluator_refuses_a_bad_configuration(configuration, error):
    with pytest.raises(error):
        HitRateEvaluator(**configuration)


def test_an_evaluator_unpacks_into_metrics():
    evaluator = HitRateEvaluator((1, 5), ("hit_rate", "mrr"), theta=0.5, match=contains)
    names = ["hit_rate@1>=0.5", "hit_rate@5>=0.5", "mrr@1", "mrr@5"]
    assert [metric.name for metric in evaluator] == [f"{name}[contains]" for name in names]
    assert len(evaluator) == 4


SAMPLES = [SingleTurnSample(**row) for row in ROWS]
DATASETS = {
    "list of dicts": ROWS,
    "list of samples": SAMPLES,
    "EvaluationDataset": EvaluationDataset.from_list(ROWS),
    "Hugging Face": HFDataset.from_list(ROWS),
    "DataFrame": pd.DataFrame(ROWS),
    "RAGAS Dataset": ragas.Dataset("golden", "inmemory", data=ROWS),
    "RAGAS Dataset with a model": ragas.Dataset("golden", "inmemory", SingleTurnSample, SAMPLES),
}


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_every_kind_of_dataset(dataset):
    result = HitRateEvaluator((1, 5)).evaluate(dataset)
    assert [(row["user_input"], row["hit_rate@1"], row["hit_rate@5"]) for row in result.rows()] == [
        ("q1", 0.0, 1.0),
        ("q2", 1.0, 1.0),
        ("q3", 0.0, 0.0),
    ]
    assert result.means == {"hit_rate@1": pytest.approx(1 / 3), "hit_rate@5": pytest.approx(2 / 3)}
    assert result.evaluation.misses(1) == (0, 2)


def test_a_data_frame_of_arrays_with_empty_cells(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame([*ROWS, {"user_input": "q4"}]).to_parquet(tmp_path / "golden.parquet")
    result = HitRateEvaluator(1).evaluate(pd.read_parquet(tmp_path / "golden.parquet"), query_id="user_input")
    assert (result.n_scored, list(result.errors)) == (3, ["q4"])
    assert str(result.errors["q4"]).endswith("it has user_input")


def test_the_result():
    rows = [*ROWS, {"user_input": "q4", "retrieved_context_ids": ["a"], "reference_context_ids": []}]
    rows.append({"user_input": "q5", "retrieved_context_ids": ["a"]})
    result = HitRateEvaluator(1, ("hit_rate", "mrr@10")).evaluate(rows, query_id="user_input")
    assert (result.n_scored, result.n_unscored) == (3, 2)
    assert result.evaluation.unscored == ("q4",)
    assert [row["user_input"] for row in result.rows()] == ["q1", "q2", "q3", "q4", "q5"]
    assert math.isnan(result.rows()[4]["hit_rate@1"])
    assert str(result).splitlines() == [
        "hit_rate@1  0.333  [0.061, 0.792]",
        "mrr@10      0.500  [0.125, 0.875]",
        "3 of 5 rows scored; not:",
        "  'q4': no references",
        f"  'q5': ValueError: {result.errors['q5']}",
    ]
    frame = result.to_pandas()
    assert list(frame.columns) == [
        "user_input",
        "retrieved_context_ids",
        "reference_context_ids",
        "hit_rate@1",
        "mrr@10",
    ]
    assert frame["hit_rate@1"].mean() == pytest.approx(1 / 3)
    assert json.dumps(result.means) == '{"hit_rate@1": 0.3333333333333333, "mrr@10": 0.5}'


def test_a_printed_result_stays_short():
    result = HitRateEvaluator(1).evaluate([*ROWS, *[{"user_input": "x"}] * 1000])
    assert len(str(result).splitlines()) == 8
    assert str(result).endswith("  ...")


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([], ValueError, "none of 0 queries can be scored"),
        ([{"user_input": "q"}], ValueError, "every row is malformed; row 0: the row needs"),
        (["retrieved_contexts"], TypeError, "row 0 must be a mapping of columns or a sample, got 'retrieved_contexts'"),
        ({"retrieved_contexts": [["a"]]}, TypeError, "row 0 must be a mapping"),
    ],
)
def test_a_dataset_without_a_row_that_can_be_scored(rows, error, message):
    with pytest.raises(error, match=message):
        HitRateEvaluator(1).evaluate(rows)


def test_many_turns_have_no_contexts():
    dataset = EvaluationDataset([MultiTurnSample(user_input=[HumanMessage(content="hello")])])
    with pytest.raises(ValueError, match=r"every row is malformed; row 0: .*it has user_input"):
        HitRateEvaluator(1).evaluate(dataset)


@pytest.mark.parametrize(("key", "message"), [("user_input", "row 1 has the user_input 'q1'"), ("id", "row 0 has")])
def test_query_ids_tell_rows_apart(key, message):
    with pytest.raises(ValueError, match=message):
        HitRateEvaluator(1).evaluate([ROWS[0], ROWS[0]], query_id=key)


def test_ids_of_another_space_are_told():
    rows = [{"retrieved_context_ids": ["a.md"], "reference_context_ids": ["1"]}]
    with pytest.warns(UserWarning, match="are both in the same id space"):
        HitRateEvaluator(1).evaluate(rows)


def test_an_evaluator_reports_to_nobody_and_ragas_does(monkeypatch):
    events = []
    monkeypatch.setattr("ragas._analytics.track", events.append)
    HitRateEvaluator(1).evaluate(ROWS)
    HitRateAtK(1).batch_score(ROWS)
    assert events == []
    run_legacy(ROWS, [HitRateAtK(1)])
    assert events


# When it is copied and when it is imported


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda metric: pickle.loads(pickle.dumps(metric))])  # noqa: S301
def test_copies(copied):
    metric = HitRateAtK(1, theta=0.5, match=contains)
    metric.score(retrieved_contexts=["a"], reference_contexts=["a"])
    twin = copied(metric)
    assert twin.name == metric.name
    assert twin.score(retrieved_contexts=["a"], reference_contexts=["a"]).value == 1.0
    evaluator = copied(HitRateEvaluator(1))
    assert copied(evaluator.evaluate(ROWS)).means == {"hit_rate@1": pytest.approx(1 / 3)}


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_import_is_free_of_deprecations():  # issue 2626
    code = (
        "import warnings, ragas\n"
        "with warnings.catch_warnings():\n"
        "    warnings.simplefilter('error')\n"
        "    import hitrate_adapters.ragas"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("absent", "advice"),
    [
        ("langchain_community.chat_models.vertexai", "pip install 'langchain-community<0.4.2'"),  # issue 2741
        ("ragas", "ragas is not installed: pip install 'hitrate-adapters[ragas]'"),
    ],
)
def test_an_import_failure_names_its_cure(absent, advice):
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {absent!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import hitrate_adapters.ragas"
    )
    done = run_python(code)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert advice in last


def test_a_matcher_that_raises_on_one_row_loses_no_other():
    def match(retrieved, relevant):
        return {"a": True, "b": False}[retrieved] and relevant == "a"

    rows = [{"retrieved_contexts": [text], "reference_contexts": ["a"]} for text in ("a", "b", "?")]
    result = HitRateEvaluator(k=1, match=match).evaluate(rows)
    assert {key: type(error) for key, error in result.errors.items()} == {2: KeyError}
    assert (float(result.means["hit_rate@1[match]"]), result.n_scored, result.n_unscored) == (0.5, 2, 1)
    assert [row["hit_rate@1[match]"] for row in result.rows()] == [1.0, 0.0, pytest.approx(math.nan, nan_ok=True)]


def test_the_printed_result_tells_of_ids_of_two_kinds():
    rows = [{"retrieved_context_ids": ["7f3a"], "reference_context_ids": ["refunds.md"]}]
    with pytest.warns(UserWarning, match="same id space"):
        result = HitRateEvaluator(k=1).evaluate(rows)
    assert str(result).splitlines()[-1].startswith("warning: no relevant id was ever retrieved: are both in the same")


def test_a_matcher_that_fails_now_and_then_loses_one_row():
    calls = []

    def match(retrieved, relevant):
        calls.append(retrieved)
        if len(calls) == 3:
            raise ConnectionError("429")
        return retrieved == relevant

    rows = [{"retrieved_contexts": [text], "reference_contexts": [text]} for text in ("a", "b", "c", "d")]
    result = HitRateEvaluator(k=1, match=match).evaluate(rows)
    assert result.n_scored + result.n_unscored == 4
    assert float(result.means["hit_rate@1[match]"]) == 1.0
