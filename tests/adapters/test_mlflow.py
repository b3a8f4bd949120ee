"""MLflow: the scorers and the classic metrics agree, logged to a SQLite store; their traps are closed."""

import atexit
import json
import math
import re
import shutil
import tempfile
import warnings
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from uuid import UUID

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.entities import Document, SpanType
from mlflow.genai.scorers import Scorer

from hitrate_adapters import contains, overlap, span_overlap
from hitrate_adapters.mlflow import evaluation, hit_rate_metrics, hit_rate_scorers
from tests.adapters.cases import evaluated


@cache
def store():
    """Make the store: a SQLite file, and a folder of artifacts."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.sqlite")
    mlflow.create_experiment("hit rate", artifact_location=f"{folder}/artifacts")


@contextmanager
def in_store():
    """Work in the store, without MLflow's own warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store()
        mlflow.set_experiment("hit rate")
        yield


def rows_of(result, names):
    """Give the values of an evaluation: metric -> query -> value, None where there is none."""
    table = result.tables["eval_results"]
    queries = [(json.loads(request) if isinstance(request, str) else request)["query"] for request in table["request"]]
    values = {}
    for name in names:
        column = table.get(f"{name}/value", [math.nan] * len(table))
        values[name] = {query: None if pd.isna(value) else value for query, value in zip(queries, column, strict=True)}
    return values


@in_store()
def run_scorers(data, scorers, **options):
    """Run `mlflow.genai.evaluate`; give its result."""
    return mlflow.genai.evaluate(data=data, scorers=scorers, **options)


def static(relevant, retrieved):
    return [
        {"inputs": {"query": query}, "outputs": retrieved[query], "expectations": {"relevant": gold}}
        for query, gold in relevant.items()
    ]


@in_store()
def run_classic(relevant, retrieved, metrics):
    """Run `mlflow.models.evaluate`; give its result."""
    data = pd.DataFrame({"retrieved": [retrieved[query] for query in relevant], "relevant": list(relevant.values())})
    with mlflow.start_run():
        return mlflow.models.evaluate(
            data=data,
            predictions="retrieved",
            targets="relevant",
            model_type="retriever",
            extra_metrics=metrics,
            evaluators="default",
        )


def classic_values(result, relevant, names):
    table = result.tables["eval_results_table"]
    return {
        name: {
            query: None if pd.isna(value) else value
            for query, value in zip(relevant, table.get(f"{name}/score", [None] * len(table)), strict=True)
        }
        for name in names
    }


# The conformance table


def drive(case):
    options = {"k": None, "metrics": list(case.expect), "match": case.match, "unique": case.unique}
    scorers, metrics = hit_rate_scorers(match_on=case.match_on, **options), hit_rate_metrics(**options)
    names = [metric.name for metric in metrics]
    result = run_scorers(static(case.relevant, case.retrieved), scorers)
    found = rows_of(result, [scorer.name for scorer in scorers])
    values = dict(zip(names, found.values(), strict=True))
    rules = {"match_on": case.match_on, "match": case.match, "unique": case.unique}
    judged = evaluated(case, evaluation, result, query_id="query", **rules)
    assert list(judged.values()) == list(values.values())
    classic = run_classic(case.relevant, case.retrieved, metrics)
    assert classic_values(classic, case.relevant, names) == {
        name: {query: value if value is None else pytest.approx(value, abs=1e-9) for query, value in each.items()}
        for name, each in values.items()
    }  # whose table has ten digits
    return {spec: values[name] for spec, name in zip(case.expect, names, strict=True)}


def build(**configuration):
    hit_rate_metrics(**configuration)
    return hit_rate_scorers(**configuration)


RELEVANT = {"dogs?": ["d1"], "refunds?": ["r1", "r2"], "bikes?": ["b1"]}
RETRIEVED = {"dogs?": ["d1", "x"], "refunds?": ["x", "r2"], "bikes?": ["x", "y"]}
HITS = {
    "hit_rate_at_1": {"dogs?": 1.0, "refunds?": 0.0, "bikes?": 0.0},
    "hit_rate_at_2": {"dogs?": 1.0, "refunds?": 1.0, "bikes?": 0.0},
}
QUESTIONS = [{"inputs": {"query": query}, "expectations": {"relevant": gold}} for query, gold in RELEVANT.items()]


@mlflow.trace(span_type=SpanType.RETRIEVER)
def retrieve(query):
    found = RETRIEVED[query] if isinstance(query, str) else query
    return [Document(page_content=f"text of {item}", metadata={"doc_uri": item.upper()}, id=item) for item in found]


@mlflow.trace
def answer(query):
    return retrieve(query)[0].page_content


def assessments(result, name):
    """Give the assessments of a scorer: query -> its value, its reason and its error."""
    table = result.tables["eval_results"]
    found = {}
    for request, listed in zip(table["request"], table["assessments"], strict=True):
        (each,) = [each for each in listed if each["assessment_name"] == name]
        feedback = each["feedback"]
        error = (feedback.get("error") or {}).get("error_message")
        found[request["query"]] = (feedback.get("value"), each.get("rationale"), error)
    return found


@in_store()
def traces_of(result):
    return [mlflow.get_trace(trace_id) for trace_id in result.tables["eval_results"]["trace_id"]]


TEXTS = {0: "Dogs travel free.", 18: "Refunds take five days."}  # where they start in their document


# In mlflow.genai.evaluate


def test_outputs_of_the_data_are_logged_as_a_run():
    result = run_scorers(static(RELEVANT, RETRIEVED), hit_rate_scorers(k=(1, 2)))
    assert rows_of(result, HITS) == HITS
    with in_store():
        logged = mlflow.get_run(result.run_id).data.metrics
    assert logged == pytest.approx({"hit_rate_at_1/mean": 1 / 3, "hit_rate_at_2/mean": 2 / 3})


def test_retriever_spans_of_predict_fn_and_of_traces():
    result = run_scorers(QUESTIONS, hit_rate_scorers(k=(1, 2)), predict_fn=answer)
    assert rows_of(result, HITS) == HITS

    def upper(expectations):
        return [item.upper() for item in expectations["relevant"]]

    by_uri = hit_rate_scorers(k=1, id_key="doc_uri", relevant_key=upper)
    assert rows_of(run_scorers(traces_of(result), by_uri), ["hit_rate_at_1_upper"]) == {
        "hit_rate_at_1_upper": HITS["hit_rate_at_1"]
    }


def test_texts_with_a_matcher():
    data = [{"inputs": {"query": "dogs?"}, "expectations": {"relevant": ["TEXT of d1"]}}]
    result = run_scorers(data, hit_rate_scorers(k=1, match=contains), predict_fn=answer)
    assert rows_of(result, ["hit_rate_at_1_contains"]) == {"hit_rate_at_1_contains": {"dogs?": 1.0}}


def test_the_outermost_retriever_spans_count_one_after_the_other():
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def hybrid(query):
        return retrieve(query)[::-1]

    @mlflow.trace
    def agent(query):
        hybrid(query)
        retrieve(["z"])
        return "done"

    relevant = [{"inputs": {"query": "dogs?"}, "expectations": {"relevant": ["z"]}}]
    result = run_scorers(relevant, hit_rate_scorers(k=(2, 3), metrics=("hit_rate", "mrr@5")), predict_fn=agent)
    assert rows_of(result, ["hit_rate_at_2", "hit_rate_at_3", "mrr_at_5"]) == {
        "hit_rate_at_2": {"dogs?": 0.0},
        "hit_rate_at_3": {"dogs?": 1.0},
        "mrr_at_5": {"dogs?": pytest.approx(1 / 3)},
    }


def test_a_failed_retrieval_is_a_miss():
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def down(query):
        raise RuntimeError(f"no index for {query}")

    @mlflow.trace
    def agent(query):
        if query == "refunds?":
            raise RuntimeError("the app is down")
        return down(query) if query == "bikes?" else retrieve(query)[0].page_content

    result = run_scorers(QUESTIONS, hit_rate_scorers(k=2), predict_fn=agent)
    assert rows_of(result, ["hit_rate_at_2"]) == {"hit_rate_at_2": {"dogs?": 1.0, "refunds?": 0.0, "bikes?": 0.0}}
    assert result.metrics["hit_rate_at_2/mean"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("key", [None, "documents", lambda outputs: outputs["documents"]], ids=repr)
def test_an_app_that_fails_after_its_retriever(key):
    @mlflow.trace
    def app(query):
        documents = retrieve(query)
        if query == "refunds?":
            raise TimeoutError("the model does not answer")
        return {"documents": documents, "answer": "Yes."}

    (hit,) = hit_rate_scorers(k=2, retrieved_key=key, name="hit")
    values = rows_of(run_scorers(QUESTIONS, [hit], predict_fn=app), ["hit"])["hit"]
    by_its_span, nothing = 1.0, 0.0  # of what a key of the outputs stands for, who asked got nothing
    assert values == {"dogs?": 1.0, "refunds?": by_its_span if key is None else nothing, "bikes?": 0.0}


def test_documents_as_mlflow_reads_them():
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(query):
        form = {
            "dogs?": lambda text: {"content": text, "doc_uri": "d1"},
            "refunds?": lambda text: {"text": text, "metadata": {"doc_uri": "r2"}},
            "bikes?": lambda text: {"page_content": text, "content": "not this"},
        }[query]
        return [form(f"{item} of {query}") for item in ("the first", "the second")]

    @mlflow.trace
    def app(query):
        return search(query)[0].get("answer", "Yes.")

    data = [
        {
            "inputs": {"query": query},
            "expectations": {"expected_retrieved_context": [{"content": f"The SECOND of {query}"}]},
        }
        for query in RELEVANT
    ]
    result = run_scorers(data, hit_rate_scorers(k=(1, 2), match=contains, name="hit"), predict_fn=app)
    assert result.metrics == {"hit_hit_rate_at_1/mean": 0.0, "hit_hit_rate_at_2/mean": 1.0}


def test_places_in_documents():
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(query):
        return [
            Document(page_content=text, metadata={"source": query, "start_index": at}) for at, text in TEXTS.items()
        ]

    @mlflow.trace
    def app(query):
        return search(query)[0].page_content

    data = [{"inputs": {"query": query}, "expectations": {"relevant": [[query, 20, 30]]}} for query in RELEVANT]
    result = run_scorers(data, hit_rate_scorers(k=(1, 2), match=span_overlap(0.5)), predict_fn=app)
    assert result.metrics == {
        "hit_rate_at_1_span_overlap_0.5/mean": 0.0,
        "hit_rate_at_2_span_overlap_0.5/mean": 1.0,
    }


def test_a_span_may_hold_its_documents_under_a_usual_key_and_nothing_else():
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def component(query):
        return {"documents": [{"id": "d1", "content": "Dogs."}]} if query == "dogs?" else {"passages": ["r1"]}

    @mlflow.trace
    def app(query):
        return str(component(query))

    result = run_scorers(QUESTIONS[:2], hit_rate_scorers(k=1), predict_fn=app)
    found = assessments(result, "hit_rate_at_1")
    assert found["dogs?"][0] == 1.0
    assert found["refunds?"][2] == (
        "the outputs of the RETRIEVER span 'component' are no list, best first: {'passages': ['r1']}"
    )


WHERE_TO_LOOK = (
    "relevant_key= says where to look, and MLflow keeps none that JSON cannot hold: no set, UUID or NumPy number"
)
BY_SPANS = "judged by the RETRIEVER spans, not by the plain items returned"
FIRST = "first relevant item at rank 1; 1 of 1 relevant in the top 1"


@pytest.mark.parametrize(
    ("outputs", "note"),
    [
        ({"answer": "Yes.", "context": ["text of d1"]}, BY_SPANS),
        ({"answer": "Yes.", "documents": ["see page 3"]}, BY_SPANS),
        (["It travels free.", "On a lead."], BY_SPANS),
        ("It travels free.", ""),
        ({"context": ["text of x"], "documents": [{"id": "d1", "content": "text of d1"}]}, ""),
    ],
)
def test_retriever_spans_come_before_plain_items(outputs, note):
    @mlflow.trace
    def app(query):
        retrieve(query)
        return outputs

    result = run_scorers(QUESTIONS[:1], hit_rate_scorers(k=1), predict_fn=app)
    assert assessments(result, "hit_rate_at_1") == {"dogs?": (1.0, f"{FIRST}; {note}" if note else FIRST, None)}
    assert evaluation(result).hit_rate(1) == 1.0


@pytest.mark.parametrize(
    ("outputs", "value"),
    [
        ({"retrieved_ids": ["d1", "b"], "context": []}, 1.0),
        ({"documents": [], "retrieved_ids": ["d1"]}, 1.0),
        ({"documents": [], "context": [{"id": "d1", "content": "Dogs."}]}, 1.0),
        ({"documents": [], "context": []}, 0.0),
        ([], 0.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("from_span", [False, True])
def test_an_empty_list_is_what_was_retrieved_only_where_no_other_has_items(outputs, value, from_span):
    @mlflow.trace(span_type=SpanType.RETRIEVER if from_span else SpanType.CHAIN)
    def search(_query):
        return outputs

    @mlflow.trace
    def app(query):
        found = search(query)
        return "Yes." if from_span else found

    result = run_scorers(QUESTIONS[:1], hit_rate_scorers(k=1), predict_fn=app)
    assert result.metrics == {"hit_rate_at_1/mean": value}
    assert evaluation(result, query_id="query").misses(1) == (() if value else ("dogs?",))


@pytest.mark.parametrize("outputs", [[], {"documents": [], "answer": "Yes."}], ids=str)
def test_an_empty_list_that_is_returned_comes_after_the_spans(outputs):
    @mlflow.trace
    def app(query):
        retrieve(query)
        return outputs

    result = run_scorers(QUESTIONS[:1], hit_rate_scorers(k=1), predict_fn=app)
    by_spans = "judged by the RETRIEVER spans, not by the empty list returned"
    assert assessments(result, "hit_rate_at_1") == {"dogs?": (1.0, f"{FIRST}; {by_spans}", None)}


@pytest.mark.parametrize("is_down", [True, False])
@pytest.mark.parametrize(
    ("outputs", "gold"),
    [
        (["d1"], "d1"),
        ({"retrieved_ids": ["d1"], "documents": []}, "d1"),
        ({"retrieved_ids": [np.int64(7)]}, "7"),
        ([UUID(int=7)], str(UUID(int=7))),
    ],
    ids=str,
)
def test_plain_ids_that_are_returned_for_a_retriever_that_failed_or_found_nothing(outputs, gold, is_down):
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(_query):
        if is_down:
            raise RuntimeError("no index")
        return []

    @mlflow.trace
    def app(query):
        with suppress(RuntimeError):
            search(query)
        return {"dogs?": outputs, "refunds?": [], "bikes?": "No."}[query]

    data = [{"inputs": {"query": "dogs?"}, "expectations": {"relevant": [gold]}}, *QUESTIONS[1:]]
    result = run_scorers(data, hit_rate_scorers(k=1), predict_fn=app)
    judged = evaluation(result, query_id="query")
    values = {query: value for query, (value, _, _) in assessments(result, "hit_rate_at_1").items()}
    assert values == {"dogs?": 1.0, "refunds?": 0.0, "bikes?": 0.0}
    assert set(judged.misses(1)) == {"refunds?", "bikes?"}
    assert set(judged.errors) == ({"refunds?", "bikes?"} if is_down else set())


@pytest.mark.parametrize(
    ("outputs", "match", "gold"),
    [
        ([{"role": "assistant", "content": "I do not know."}], None, ["d1"]),
        ({"context": [0.5]}, None, ["d1"]),
        ({"context": ["see page 3"]}, span_overlap(0.5), [["d1", 0, 9]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_down", [True, False])
def test_what_is_returned_and_is_no_id_leaves_a_failed_or_empty_retrieval_a_miss(outputs, match, gold, is_down):
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(_query):
        if is_down:
            raise RuntimeError("no index")
        return []

    @mlflow.trace
    def app(query):
        with suppress(RuntimeError):
            search(query)
        return outputs

    data = [{"inputs": {"query": "dogs?"}, "expectations": {"relevant": gold}}]
    result = run_scorers(data, hit_rate_scorers(k=1, match=match, name="hit"), predict_fn=app)
    assert result.metrics == {"hit/mean": 0.0}
    with pytest.warns(UserWarning, match="of every query failed") if is_down else nullcontext():
        assert len(evaluation(result, match=match).errors) == is_down


def test_documents_and_texts_that_are_returned_come_before_the_spans():
    @mlflow.trace
    def app(query):
        retrieve(query)
        return {"documents": [{"id": "d9", "content": "Dogs travel free."}], "context": ["Dogs travel free."]}

    data = [{"inputs": {"query": "dogs?"}, "expectations": {"relevant": ["d9"], "texts": ["Dogs travel free."]}}]
    scorers = [*hit_rate_scorers(k=1), *hit_rate_scorers(k=1, match=contains, relevant_key="texts")]
    result = run_scorers(data, scorers, predict_fn=app)
    assert result.metrics == {"hit_rate_at_1/mean": 1.0, "hit_rate_at_1_contains_texts/mean": 1.0}


def test_plain_items_that_are_returned_count_by_their_key():
    @mlflow.trace
    def app(query):
        retrieve(query)
        return {"answer": "Yes.", "retrieved_ids": ["d9"]}

    data = [{"inputs": {"query": "dogs?"}, "expectations": {"relevant": ["d9"]}}]
    scorers = [*hit_rate_scorers(k=1), *hit_rate_scorers(k=1, retrieved_key="retrieved_ids", name="returned")]
    assert run_scorers(data, scorers, predict_fn=app).metrics == {"hit_rate_at_1/mean": 0.0, "returned/mean": 1.0}


class Chunk:
    """A document that has no form in JSON."""

    def __init__(self, item):
        self.id, self.page_content, self.metadata = item, "Dogs travel free.", {}


@pytest.mark.parametrize("from_span", [False, True])
@pytest.mark.parametrize(
    ("retrieved", "relevant"),
    [
        ([np.int64(7)], [7]),
        ([7], ["7"]),
        (["7"], [7]),
        ([{"id": np.int64(7)}], [7]),
        ([7], {7: 1}),
        ([Document(page_content="Dogs.", id="7")], [7]),
        ([UUID(int=7)], [str(UUID(int=7))]),
    ],
    ids=str,
)
def test_ids_are_the_same_as_numbers_and_as_strings(retrieved, relevant, from_span):
    @mlflow.trace(span_type=SpanType.RETRIEVER if from_span else SpanType.CHAIN)
    def search(_query):
        return retrieved

    @mlflow.trace
    def app(query):
        found = search(query)
        return "Yes." if from_span else found

    data = [{"inputs": {"query": "dogs?"}, "expectations": {"relevant": relevant}}]
    result = run_scorers(data, hit_rate_scorers(k=1), predict_fn=app)
    assert result.metrics == {"hit_rate_at_1/mean": 1.0}
    assert evaluation(result).hit_rate(1) == 1.0


@pytest.mark.parametrize("options", [{}, {"match": contains}], ids=str)
def test_an_object_that_a_trace_cannot_hold_is_an_error_of_its_row(options):
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(_query):
        return [Chunk("d1")]

    @mlflow.trace
    def app(query):
        return "Yes." if query == "bikes?" and search(query) else retrieve(query)[0].page_content

    result = run_scorers(QUESTIONS, hit_rate_scorers(k=1, name="hit", **options), predict_fn=app)
    value, _, error = assessments(result, "hit")["bikes?"]
    assert value is None
    assert re.match(r"an item is '<\S+Chunk object at 0x\w+>', all that a trace has of an object: return ids", error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # texts that are not those
        judged = evaluation(result, query_id="query", **options)
    assert set(judged.unscored) == {"bikes?"}


@pytest.mark.parametrize("relevant", [[("d", 1)], [b"d1"]], ids=str)
def test_what_can_be_no_id_in_json_is_an_error_of_its_row(relevant):
    result = run_scorers(static({"dogs?": relevant}, {"dogs?": ["d1"]}), hit_rate_scorers(k=1))
    assert "is no id in JSON: these are strings or whole numbers" in assessments(result, "hit_rate_at_1")["dogs?"][2]


def test_a_row_without_relevant_items_is_in_no_mean():
    data = static(RELEVANT | {"dogs?": []}, RETRIEVED)
    del data[2]["expectations"]["relevant"]
    data[2]["expectations"]["answer"] = "Yes."
    result = run_scorers(data, hit_rate_scorers(k=2))
    assert result.metrics == {"hit_rate_at_2/mean": 1.0}
    assert assessments(result, "hit_rate_at_2") == {
        "dogs?": (None, "cannot be scored: the query has no relevant items", None),
        "refunds?": (1.0, "first relevant item at rank 2; 1 of 2 relevant in the top 2", None),
        "bikes?": (
            None,
            f"cannot be scored: the expectations are {{'answer': 'Yes.'}}: {WHERE_TO_LOOK}",
            None,
        ),
    }


def test_a_row_that_cannot_be_read_loses_no_other():
    data = static(RELEVANT, RETRIEVED | {"dogs?": "d1", "bikes?": [{"page_content": "no id", "metadata": {}}]})
    result = run_scorers(data, hit_rate_scorers(k=2))
    assert result.metrics == {"hit_rate_at_2/mean": 1.0}
    errors = {query: error for query, (_, _, error) in assessments(result, "hit_rate_at_2").items()}
    assert errors["dogs?"].startswith("no list of retrieved documents: the outputs are 'd1', and the trace has no RETR")
    assert "id_key=" in errors["bikes?"]
    assert errors["refunds?"] is None


@pytest.mark.parametrize(
    ("outputs", "options"),
    [
        ({"answer": "yes", "documents": ["x", "d1"]}, {}),
        ({"answer": "yes", "ids": ["x", "d1"]}, {"retrieved_key": "ids"}),
        ({"ids": "x d1"}, {"retrieved_key": lambda outputs: outputs["ids"].split()}),
        ("x d1", {"retrieved_key": str.split}),
        ([{"page_content": "t", "metadata": {"id": item}} for item in ("x", "d1")], {}),
        ({"ids": np.array(["x", "d1"])}, {"retrieved_key": "ids"}),
        ({"scores": {"x": 0.9, "d1": 0.3}}, {"retrieved_key": "scores"}),
        ([None, "d1"], {}),
    ],
)
def test_where_the_documents_are(outputs, options):
    first, second = hit_rate_scorers(k=(1, 2), name="hit", **options)
    given = {"outputs": outputs, "expectations": {"relevant": ["d1"]}}
    assert (first(**given).value, second(**given).value) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("key", "named"), [("rerankd", "'rerankd'"), ("nothing", "'nothing'"), (lambda _: None, "<lambda>")]
)
def test_a_wrong_retrieved_key_is_not_answered_by_the_spans(key, named):
    @mlflow.trace
    def agent(query):
        retrieve(query)
        return {"reranked": ["d1"], "nothing": None}

    result = run_scorers(QUESTIONS, hit_rate_scorers(k=1, retrieved_key=key, name="hit"), predict_fn=agent)
    assert result.metrics == {}
    errors = [error for _, _, error in assessments(result, "hit").values()]
    assert all(f"no list of retrieved documents by retrieved_key={named}" in error for error in errors)


@pytest.mark.parametrize(
    ("expectations", "options"),
    [
        ({"expected_retrieved_context": [{"doc_uri": "a.md"}]}, {"id_key": "doc_uri"}),
        ({"gold": ["a.md"]}, {"relevant_key": "gold"}),
        ({"relevant": {"a.md": 2, "b.md": 0}}, {}),
    ],
)
def test_where_the_relevant_items_are(expectations, options):
    (hit,) = hit_rate_scorers(k=1, **options)
    assert hit.name == "hit_rate_at_1" + "_gold" * ("relevant_key" in options)
    documents = [{"page_content": "t", "metadata": {"doc_uri": "a.md"}, "id": "a.md"}]
    assert hit(outputs=documents, expectations=expectations).value == 1.0


# In the classic evaluation


def test_the_means_are_logged():
    result = run_classic(RELEVANT, RETRIEVED, hit_rate_metrics(k=(1, 2)))
    means = {name: value for name, value in result.metrics.items() if name.startswith("hit_rate")}
    assert means == pytest.approx({"hit_rate_at_1/mean": 1 / 3, "hit_rate_at_2/mean": 2 / 3})
    assert classic_values(result, RELEVANT, HITS) == HITS
    assert result.tables["eval_results_table"]["hit_rate_at_1/justification"].tolist() == [
        "first relevant item at rank 1; 1 of 1 relevant in the top 1",
        "no relevant item in the top 1; the first is at rank 2 of 2 retrieved",
        "no relevant item among 2 retrieved",
    ]


def test_the_name_of_a_metric_of_mlflow_stands_for_ours():
    result = run_classic({"q": ["a"]}, {"q": ["a"]}, hit_rate_metrics(k=3, metrics="precision"))
    assert result.metrics["precision_at_3/mean"] == pytest.approx(1 / 3)  # MLflow divides by the one retrieved
    assert result.metrics["recall_at_3/mean"] == 1.0  # MLflow's own


def test_classic_ids_are_the_same_as_numbers_and_as_strings():
    result = run_classic({"a": [7], "b": ["7"], "c": [7]}, {"a": ["7"], "b": [7], "c": [8]}, hit_rate_metrics(k=1))
    assert result.metrics["hit_rate_at_1/mean"] == pytest.approx(2 / 3)


def test_a_classic_row_without_relevant_items_is_in_no_mean():
    result = run_classic(RELEVANT | {"bikes?": []}, RETRIEVED, hit_rate_metrics(k=1))
    assert result.metrics["hit_rate_at_1/mean"] == 0.5
    assert classic_values(result, RELEVANT, ["hit_rate_at_1"])["hit_rate_at_1"]["bikes?"] is None


def test_classic_rows_that_cannot_be_judged_lose_no_other():
    (metric,) = hit_rate_metrics(k=1)
    gold = [["a"], np.array(["a"]), "a", [None], math.nan, ["a"]]
    found = metric.eval_fn(pd.Series([["a"], np.array(["a"]), ["a"], ["a"], ["a"], "a"]), pd.Series(gold))
    assert found.scores == [1.0, 1.0, None, None, None, None]
    assert found.aggregate_results == {"mean": 1.0}
    assert "relevant items are the string 'a'" in found.justifications[2]
    assert metric.eval_fn(pd.Series([["a"]]), pd.Series([[]])).aggregate_results == {}


# Names and options


def test_classic_rows_that_mlflow_cannot_judge():
    table = pd.DataFrame({"retrieved": [["a"], ["b"], ["c"]], "relevant": [["a"], None, "c"]})
    with in_store(), mlflow.start_run():
        options = {"data": table, "predictions": "retrieved", "targets": "relevant", "evaluators": "default"}
        with pytest.raises(ValueError, match="Length of values"):
            mlflow.models.evaluate(model_type="retriever", extra_metrics=hit_rate_metrics(k=1), **options)
        result = mlflow.models.evaluate(extra_metrics=hit_rate_metrics(k=1), **options)
    assert result.metrics == {"hit_rate_at_1/mean": 1.0}


def test_scorers_of_two_retrievers_have_two_means():
    data = [{"inputs": {"query": "?"}, "outputs": {"bm25": ["a"], "dense": ["b"]}, "expectations": {"relevant": ["a"]}}]
    scorers = [*hit_rate_scorers(k=1, retrieved_key="bm25"), *hit_rate_scorers(k=1, retrieved_key="dense")]
    assert run_scorers(data, scorers).metrics == {"hit_rate_at_1_bm25/mean": 1.0, "hit_rate_at_1_dense/mean": 0.0}


@pytest.mark.parametrize("option", ["match", "retrieved_key", "relevant_key"])
def test_a_lambda_needs_a_name(option):
    with pytest.raises(ValueError, match="every lambda has the same: pass name="):
        hit_rate_scorers(**{option: lambda *_: True})
    assert hit_rate_scorers(k=1, name="mine", **{option: lambda *_: True})[0].name == "mine"


def test_a_lambda_needs_a_name_in_the_classic_evaluation_too():
    with pytest.raises(ValueError, match="every lambda has the same"):
        hit_rate_metrics(match=lambda *_: True)


def test_names_are_ones_that_mlflow_can_log():
    def names(**options):
        scorers = hit_rate_scorers(**options)
        assert all(isinstance(scorer, Scorer) for scorer in scorers)
        return [scorer.name for scorer in scorers]

    assert names() == ["hit_rate_at_1", "hit_rate_at_5", "hit_rate_at_10"]
    assert names(k=5, theta=0.5) == ["hit_rate_at_5_theta_0.5"]
    assert names(k=5, match=contains, unique=True) == ["hit_rate_at_5_contains_unique"]
    assert names(k=5, match=overlap(0.75)) == ["hit_rate_at_5_overlap_0.75"]
    assert names(k=5, match_on="texts", retrieved_key="bm25 v2") == ["hit_rate_at_5_texts_bm25 v2"]
    assert names(k=5, name="hits") == ["hits"]
    assert names(k=5, name="hit_rate@5, bm25") == ["hit_rate_at_5_bm25"]
    assert names(k=(1, None), name="bm25") == ["bm25_hit_rate_at_1", "bm25_hit_rate"]
    assert names(k=1, name="bm25/v 2", retrieved_key="ids", match=lambda found, wanted: True) == ["bm25/v 2"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"name": " "}, ValueError, "name must not be blank"),
        ({"retrieved_key": 5}, TypeError, "retrieved_key must be a key, a function or None, got 5"),
        ({"relevant_key": ["gold"]}, TypeError, "relevant_key must be a key"),
        ({"metrics": "hits"}, ValueError, "unknown metric 'hits'"),
        ({"match_on": "id"}, ValueError, "match_on"),
        ({"id_key": 5}, TypeError, "id_key"),
        ({"match": contains, "id_key": "source"}, ValueError, "id_key"),
    ],
    ids=str,
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        hit_rate_scorers(**options)


# What a result comes to


def test_evaluation_has_the_means_of_the_result():
    data = static(RELEVANT | {"cats?": [], "hens?": [None]}, RETRIEVED | {"cats?": ["c1"], "hens?": ["h1"]})
    result = run_scorers(data, hit_rate_scorers(k=(1, 2), metrics=("hit_rate", "mrr@10")))
    assert result.metrics == {
        "hit_rate_at_1/mean": pytest.approx(1 / 3),
        "hit_rate_at_2/mean": pytest.approx(2 / 3),
        "mrr_at_10/mean": 0.5,
    }
    judged = evaluation(result, query_id="query")
    for name, mean in result.metrics.items():
        assert judged.score(name.removesuffix("/mean").replace("_at_", "@")) == pytest.approx(mean)
    assert (set(judged), set(judged.unscored)) == (set(RELEVANT), {"cats?", "hens?"})


def test_evaluation_reads_the_spans_of_an_app_and_names_what_failed():
    @mlflow.trace
    def app(query):
        if query == "refunds?":
            raise TimeoutError("the index does not answer")
        return answer(query)

    result = run_scorers(QUESTIONS, hit_rate_scorers(k=2, id_key="doc_uri"), predict_fn=app)
    with pytest.warns(UserWarning, match="The qrels have 'd1' .*, the run has 'D1'"):
        upper = evaluation(result, id_key="doc_uri", query_id=lambda inputs: inputs["query"])
    assert (upper["dogs?"].n_retrieved, upper["dogs?"].hit_ranks) == (2, ())
    judged = evaluation(result, query_id="query")
    assert judged["dogs?"].hit_ranks == (1,)
    assert {query: str(error) for query, error in judged.errors.items()} == {
        "refunds?": "TimeoutError: the index does not answer"
    }
    assert judged.hit_rate(2) == pytest.approx(1 / 3)


@pytest.mark.parametrize("relevant", [{"d1"}, [np.int64(7)], [UUID(int=7)]], ids=str)
def test_evaluation_says_that_a_trace_has_no_such_gold(relevant):
    data = static(RELEVANT | {"dogs?": relevant}, RETRIEVED | {"dogs?": list(relevant)})
    result = run_scorers(data, hit_rate_scorers(k=2))
    assert result.metrics == {"hit_rate_at_2/mean": pytest.approx(2 / 3)}
    judged = evaluation(result, query_id="query")
    assert set(judged.unscored) == {"dogs?"}
    with pytest.raises(ValueError, match=re.escape(f"the expectations are {{}}: {WHERE_TO_LOOK}")):
        evaluation([trace for trace in traces_of(result) if trace.data.spans[0].inputs["query"] == "dogs?"])


def test_evaluation_names_failed_retrievals_and_nothing_else_that_failed():
    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(query):
        if query == "refunds?":
            raise RuntimeError("no index")
        return [] if query == "bikes?" else RETRIEVED[query]

    @mlflow.trace(span_type=SpanType.TOOL)
    def tool():
        raise RuntimeError("the tool is down")

    @mlflow.trace
    def app(query):
        if query == "trams?":
            raise RuntimeError("the app is down")
        for step in (tool, lambda: search(query)):
            with suppress(RuntimeError):
                step()
        if query == "bikes?":
            raise RuntimeError("the model is down")
        return "Yes."

    data = [*QUESTIONS, {"inputs": {"query": "trams?"}, "expectations": {"relevant": ["t1"]}}]
    result = run_scorers(data, hit_rate_scorers(k=1), predict_fn=app)
    judged = evaluation(result, query_id="query")
    assert judged.hit_rate(1) == 0.25
    assert {query: str(error) for query, error in judged.errors.items()} == {
        "refunds?": "RuntimeError: no index",
        "trams?": "RuntimeError: the app is down",
    }


def test_evaluation_by_a_key_names_the_app_that_failed():
    @mlflow.trace
    def app(query):
        documents = retrieve(query)
        if query == "refunds?":
            raise TimeoutError("the model does not answer")
        return {"reranked": documents}

    result = run_scorers(QUESTIONS, hit_rate_scorers(k=1, retrieved_key="reranked"), predict_fn=app)
    judged = evaluation(result, query_id="query", retrieved_key="reranked")
    assert {query: str(error) for query, error in judged.errors.items()} == {
        "refunds?": "TimeoutError: the model does not answer"
    }


@pytest.mark.filterwarnings("ignore:::mlflow")
def test_evaluation_of_traces_is_that_of_their_result():
    result = run_scorers(QUESTIONS, hit_rate_scorers(k=2), predict_fn=answer)
    traces = mlflow.search_traces(run_id=result.run_id, return_type="list")
    of_traces, of_result = evaluation(traces), evaluation(result)
    assert set(of_traces) == set(of_result) == set(result.result_df["trace_id"])
    assert of_traces.hit_rate(2) == of_result.hit_rate(2) == pytest.approx(2 / 3)


def test_evaluation_says_what_is_missing():
    result = run_scorers(static(RELEVANT, RETRIEVED), hit_rate_scorers(k=2))
    with pytest.raises(ValueError, match=r"relevant_key= says where to look"):
        evaluation(result, relevant_key="gold")
    with pytest.raises(ValueError, match=r"no id by query_id='question': the inputs are \{'query': "):
        evaluation(result, query_id="question")
    with pytest.raises(TypeError, match=r"query_id must be a key, a function or None, got 1"):
        evaluation(result, query_id=1)
    result.result_df = None
    with pytest.raises(ValueError, match=r"no table: pass the traces of its run, mlflow.search_traces\(run_id="):
        evaluation(result)
