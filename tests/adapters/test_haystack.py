"""Haystack: in a Pipeline, before and after serialisation, beside its own evaluators and in an EvaluationRunResult."""

import importlib
import inspect
import math
import re
import warnings
from collections import deque
from pathlib import Path
from uuid import UUID

import pytest
from haystack import Document, Pipeline, component
from haystack.components.evaluators import DocumentMRREvaluator, DocumentRecallEvaluator
from haystack.components.preprocessors import DocumentSplitter
from haystack.core.errors import DeserializationError, SerializationError
from haystack.evaluation import EvaluationRunResult

from hitrate_adapters import Evaluation, contains, diagnose, overlap, span_overlap
from hitrate_adapters.haystack import HitRateEvaluator

ROOT = Path(__file__).parents[2]
HAS_ALLOWLIST = "allowed_modules" in inspect.signature(Pipeline.loads).parameters  # since Haystack 3
TRUST = {"allowed_modules": ["hitrate_adapters.*"]} if HAS_ALLOWLIST else {}


# The conformance table


def drive(case):
    evaluator = HitRateEvaluator(
        k=None, metrics=list(case.expect), match_on=case.match_on, match=case.match, unique=case.unique
    )
    field = "id" if case.match_on == "ids" else "content"
    relevant, retrieved = (
        [[Document(**{field: item}) for item in side[query]] for query in case.relevant]
        for side in (case.relevant, case.retrieved)
    )
    made = pipeline(evaluator)
    output = run(made, relevant, retrieved)
    assert repr(output["individual_scores"]) == repr(next(iter(output["results"].values()))["individual_scores"])
    if case.match is None or hasattr(case.match, "__name__"):  # Haystack serialises functions only
        again = Pipeline.loads(made.dumps(), **TRUST)
        assert repr(run(again, relevant, retrieved)["results"]) == repr(output["results"])  # NaN differs from itself

    report = EvaluationRunResult("drive", inputs={"query": [*case.relevant]}, results=output["results"])
    columns = report.detailed_report()
    return {
        spec: {
            query: None if math.isnan(value) else value
            for query, value in zip(columns["query"], columns[name], strict=True)
        }
        for spec, name in zip(case.expect, output["results"], strict=True)
    }


def build(**configuration):
    return HitRateEvaluator(**configuration)


def pipeline(evaluator):
    made = Pipeline()
    made.add_component("hits", evaluator)
    return made


def run(made, relevant, retrieved):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no relevant (id|text|item) was ever retrieved", UserWarning)
        data = {"ground_truth_documents": relevant, "retrieved_documents": retrieved}
        return made.run({"hits": data})["hits"]


def evaluate(evaluator, relevant, retrieved):
    return run(pipeline(evaluator), relevant, retrieved)


def ids(*names):
    return [Document(id=name) for name in names]


RELEVANT = [ids("d1"), ids("d3"), []]
RETRIEVED = [ids("d2", "d1"), ids("d3"), ids("d4")]


# In a pipeline


def test_output():
    output = evaluate(HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10")), RELEVANT, RETRIEVED)
    assert {name: result["score"] for name, result in output["results"].items()} == {
        "hit_rate@1": 0.5,
        "hit_rate@2": 1.0,
        "mrr@10": 0.75,
    }
    assert output["score"] == 0.5
    assert output["individual_scores"][:2] == [0.0, 1.0]
    assert math.isnan(output["individual_scores"][2])
    assert output["results"]["hit_rate@1"]["reasons"] == [
        "no relevant item in the top 1; the first is at rank 2 of 2 retrieved",
        "first relevant item at rank 1; 1 of 1 relevant in the top 1",
        "cannot be scored: the query has no relevant items",
    ]
    assert all(type(result["score"]) is float for result in output["results"].values())


def test_evaluation_gives_intervals_misses_and_other_k():
    evaluation = evaluate(HitRateEvaluator(k=1), RELEVANT, RETRIEVED)["evaluation"]
    assert isinstance(evaluation, Evaluation)
    assert evaluation.misses(1) == (0,)
    assert evaluation.unscored == (2,)
    assert evaluation.hit_rate(5) == 1.0
    assert evaluation.hit_rate(1).interval == pytest.approx((0.0945, 0.9055), abs=1e-4)


def test_evaluation_has_the_scores_of_the_report_and_knows_why_queries_missed():
    evaluator = HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10"), match=contains)
    gold = [["Refunds take five days. They go to the card."], ["Dogs are free."], []]
    found = [[Document(content=text) for text in ("Bikes.", "Refunds take five days.")], [], [Document(content="x")]]
    output = evaluate(evaluator, gold, found)
    report = EvaluationRunResult("bm25", inputs={"query": [0, 1, 2]}, results=output["results"]).aggregated_report()
    evaluation = output["evaluation"]
    assert report["score"] == [0.0, 0.5, 0.25]
    assert [float(evaluation.score(metric)) for metric in evaluator.metrics.values()] == report["score"]
    misses = diagnose(evaluation, k=1).misses
    assert {query: miss.cause for query, miss in misses.items()} == {0: "below_cutoff", 1: "nothing_retrieved"}


def test_stands_beside_haystacks_own_evaluators():
    made = pipeline(HitRateEvaluator(k=1, match_on="texts"))
    made.add_component("recall", DocumentRecallEvaluator())
    made.add_component("mrr", DocumentMRREvaluator())
    data = {
        "ground_truth_documents": [[Document(content="a")], [Document(content="b")]],
        "retrieved_documents": [[Document(content="x"), Document(content="a")], [Document(content="b")]],
    }
    output = made.run({"hits": data, "recall": data, "mrr": data})
    scores = {name: result["score"] for name, result in output.items()}
    assert scores == {"hits": 0.5, "recall": 1.0, "mrr": 0.75}
    report = EvaluationRunResult("bm25", inputs={"question": ["q1", "q2"]}, results=output)
    assert report.aggregated_report() == {"metrics": [*output], "score": [*scores.values()]}


def test_inputs_come_from_other_components():
    @component
    class Retrieve:
        @component.output_types(documents=list[list[Document]])
        def run(self, questions: list[str]):
            return {"documents": [ids("d2", "d1") for _ in questions]}

    made = pipeline(HitRateEvaluator(k=2))
    made.add_component("retrieve", Retrieve())
    made.connect("retrieve.documents", "hits.retrieved_documents")
    output = made.run({"retrieve": {"questions": ["q"]}, "hits": {"ground_truth_documents": [ids("d1")]}})
    assert output["hits"]["results"]["hit_rate@2"]["score"] == 1.0


# In an EvaluationRunResult


def test_report():
    output = evaluate(HitRateEvaluator(k=(1, 2)), RELEVANT, RETRIEVED)
    report = EvaluationRunResult("bm25", inputs={"question": ["q1", "q2", "q3"]}, results=output["results"])
    assert report.aggregated_report() == {"metrics": ["hit_rate@1", "hit_rate@2"], "score": [0.5, 1.0]}
    detailed = report.detailed_report()
    assert detailed["question"] == ["q1", "q2", "q3"]
    assert repr(detailed["hit_rate@1"]) == "[0.0, 1.0, nan]"
    frame = report.detailed_report(output_format="df")
    assert frame["hit_rate@1"].mean() == 0.5


def test_two_runs_compared():
    relevant, questions = RELEVANT[:2], {"question": ["q1", "q2"]}
    reports = [
        EvaluationRunResult(
            name, inputs=questions, results=evaluate(HitRateEvaluator(k=1), relevant, retrieved)["results"]
        )
        for name, retrieved in {"old": RETRIEVED[:2], "new": [ids("d1"), ids("d3")]}.items()
    ]
    assert reports[0].comparative_detailed_report(reports[1]) == {
        "question": ["q1", "q2"],
        "old_hit_rate@1": [0.0, 1.0],
        "new_hit_rate@1": [1.0, 1.0],
    }


# Names


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"k": 5}, ["hit_rate@5"]),
        ({"k": 5, "theta": 0.5}, ["hit_rate@5>=0.5"]),
        ({"k": 5, "unique": True}, ["hit_rate@5[unique]"]),
        ({"k": 5, "match": contains}, ["hit_rate@5[contains]"]),
        ({"k": 5, "name": "mine"}, ["mine"]),
        ({"k": (1, 5), "name": "bm25"}, ["bm25_hit_rate@1", "bm25_hit_rate@5"]),
    ],
)
def test_names(options, names):
    assert list(HitRateEvaluator(**options).metrics) == names


# Serialisation

OPTIONS = {
    "k": (1, None),
    "metrics": ("hit_rate", "mrr@10"),
    "name": "bm25",
    "id_key": "source",
    "theta": 0.07,
    "match_on": "ids",
    "match": contains,
    "unique": True,
}


def test_every_option_comes_back():
    assert OPTIONS.keys() == inspect.signature(HitRateEvaluator.__init__).parameters.keys() - {"self"}
    evaluator = HitRateEvaluator(**OPTIONS)
    again = Pipeline.loads(pipeline(evaluator).dumps(), **TRUST).get_component("hits")
    assert vars_of(again) == vars_of(evaluator)
    assert list(map(str, again.metrics.values())) == ["hit_rate@1>=0.07", "hit_rate>=0.07", "mrr@10"]


def vars_of(evaluator):
    return {name: value for name, value in vars(evaluator).items() if not name.startswith("__haystack")}


def test_options_that_are_left_out_come_back_as_defaults():
    again = HitRateEvaluator.from_dict({"type": "hitrate_adapters.haystack.HitRateEvaluator", "init_parameters": {}})
    assert vars_of(again) == vars_of(HitRateEvaluator())


@pytest.mark.parametrize("match", [lambda a, b: a == b, overlap(0.5)], ids=["lambda", "overlap"])
def test_a_matcher_without_a_module_cannot_be_serialised(match):
    with pytest.raises(SerializationError):
        HitRateEvaluator(match=match).to_dict()


@pytest.mark.skipif(not HAS_ALLOWLIST, reason="this Haystack trusts every module")
def test_haystack_3_wants_the_module_to_be_allowed():
    with pytest.raises(DeserializationError, match="hitrate_adapters"):
        Pipeline.loads(pipeline(HitRateEvaluator()).dumps())


# Where the items are


def documents(**meta):
    return [
        Document(content="Dogs are free.", meta={"source": "x"}),
        Document(content="Refunds take five days.", meta=meta),
    ]


@pytest.mark.parametrize(
    ("options", "relevant"),
    [
        ({"id_key": "source"}, ["faq.md"]),
        ({"id_key": "source"}, [Document(content="another chunk", meta={"source": "faq.md"})]),
        ({"match_on": "texts"}, ["Refunds take five days."]),
        ({"match_on": "texts"}, [Document(content="Refunds take five days.")]),
        ({"match": contains}, ["Refunds take five days. They go to the card."]),
        ({"id_key": "source"}, {"faq.md": 2, "x": 0}),
    ],
)
def test_items(options, relevant):
    output = evaluate(HitRateEvaluator(k=(1, 2), **options), [relevant], [documents(source="faq.md")])
    assert [result["score"] for result in output["results"].values()] == [0.0, 1.0]


@pytest.mark.parametrize("key", ["source.url", "meta.source.url"])
def test_a_path_of_keys_as_haystacks_own_evaluators_have_it(key):
    relevant = [[Document(meta={"source": {"url": "/b"}})], [Document(meta={"source": {"url": "/c"}})]]
    retrieved = [[Document(content=url, meta={"source": {"url": url}}) for url in ("/a", "/b")] for _ in relevant]
    evaluator = HitRateEvaluator(k=(1, 2), id_key=key)
    made = Pipeline.loads(pipeline(evaluator).dumps(), **TRUST)
    results = run(made, relevant, retrieved)["results"]
    assert {name: result["individual_scores"] for name, result in results.items()} == {
        "hit_rate@1": [0.0, 0.0],
        "hit_rate@2": [1.0, 0.0],
    }
    if "document_comparison_field" in inspect.signature(DocumentRecallEvaluator).parameters:
        theirs = DocumentRecallEvaluator(document_comparison_field="meta.source.url").run(relevant, retrieved)
        assert theirs["individual_scores"] == [1.0, 0.0]


def test_a_key_with_a_dot_is_a_key_before_it_is_a_path():
    found = [Document(meta={"a.b": "flat", "a": {"b": "nested"}})]
    assert evaluate(HitRateEvaluator(k=1, id_key="a.b"), [["flat"]], [found])["score"] == 1.0


@pytest.mark.parametrize("gold", [UUID(int=7), str(UUID(int=7)), Document(meta={"key": UUID(int=7)})], ids=repr)
@pytest.mark.parametrize("found", [UUID(int=7), str(UUID(int=7))], ids=repr)
def test_a_uuid_is_compared_as_a_string(gold, found):
    retrieved = [Document(meta={"key": found})]
    assert evaluate(HitRateEvaluator(k=1, id_key="key"), [[gold]], [retrieved])["score"] == 1.0


@pytest.mark.parametrize("match_on", ["ids", "texts"])
def test_none_is_a_slot_that_never_hits(match_on):
    output = evaluate(HitRateEvaluator(k=(1, 2), match_on=match_on), [["a"]], [[None, Document(id="a", content="a")]])
    assert [result["score"] for result in output["results"].values()] == [0.0, 1.0]


@pytest.mark.parametrize("make", [tuple, deque, lambda found: dict(enumerate(found)).values()], ids=repr)
def test_collections_of_documents_are_rankings(make):
    output = HitRateEvaluator(k=(1, 2)).run([make(ids("d1"))], [make(ids("d2", "d1"))])
    assert [result["score"] for result in output["results"].values()] == [0.0, 1.0]


def test_spans_of_split_documents():
    file = Document(content="Refunds take five days. Dogs are free. Bikes cost two euros.", meta={"file": "faq.md"})
    chunks = DocumentSplitter(split_by="period", split_length=1).run(documents=[file])["documents"]
    evaluator = HitRateEvaluator(k=(1, 2), id_key="file", match=span_overlap(0.5), name="x")
    for gold in (["faq.md", 24, 38], ("faq.md", 20, 40), chunks[1]):
        output = HitRateEvaluator.run(evaluator, [[gold]], [chunks])
        assert [result["score"] for result in output["results"].values()] == [0.0, 1.0]


def test_an_id_that_haystack_made_depends_on_the_meta():
    same_text = (
        [Document(content="Refunds take five days.", meta={"page": 1})],
        [Document(content="Refunds take five days.")],
    )
    assert evaluate(HitRateEvaluator(k=1), *([side] for side in same_text))["score"] == 0.0
    assert evaluate(HitRateEvaluator(k=1, match_on="texts"), *([side] for side in same_text))["score"] == 1.0


# Bad input


BAD = {
    "lengths": ([ids("a")], [], ValueError, "ground_truth_documents has 1, retrieved_documents 0"),
    "a string": ([ids("a")], ["a"], TypeError, "query 0: retrieved items are the string 'a'"),
    "nothing at all": ([ids("a"), ids("b")], [ids("a"), None], TypeError, "query 1: retrieved items must be a list"),
    "a set": ([ids("a")], [{"a"}], TypeError, "query 0: .* which has no order"),
    "None among the relevant": ([[None]], [ids("a")], ValueError, "query 0: .*None"),
    "a generator": ([ids("a")], [iter(ids("a"))], TypeError, "query 0: retrieved items are a list_iterator"),
    "no relevant documents": ([[]], [ids("a")], ValueError, "none of 1 queries can be scored"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_an_error_that_names_the_query(bad):
    relevant, retrieved, error, message = BAD[bad]
    with pytest.raises(error, match=message):
        HitRateEvaluator(k=1).run(relevant, retrieved)


@pytest.mark.parametrize("key", ["url", "meta.url", "source.url"])
def test_an_absent_id_is_an_error_that_says_where(key):
    wanted = re.escape(key.removeprefix("meta."))
    with pytest.raises(
        ValueError, match=rf"query 0: a document has no metadata\['{wanted}'\].*metadata has 'source'.*id_key="
    ):
        HitRateEvaluator(id_key=key).run([["a"]], [documents(source="faq.md")])


@pytest.mark.parametrize("wrong", [True, 1.0, float("nan"), " ", ["a"]], ids=repr)
def test_what_can_be_no_id_never_matches(wrong):
    with pytest.raises(ValueError, match=r"query 0: a document has no id: .*ids are strings that are not blank, whole"):
        HitRateEvaluator(id_key="page").run([[1]], [[Document(meta={"page": wrong})]])
    with pytest.raises(ValueError, match=r"query 0: a relevant item is .* which is no id"):
        HitRateEvaluator(id_key="page").run([[wrong]], [[Document(meta={"page": 1})]])


def test_an_absent_text_is_an_error():
    with pytest.raises(TypeError, match="query 1: a document has no text: Document\\(id=d1"):
        HitRateEvaluator(match_on="texts").run([["a"], ["a"]], [[Document(content="a")], ids("d1")])


def test_ids_of_another_space_are_a_warning():
    with pytest.warns(UserWarning, match="no relevant id was ever retrieved"):
        HitRateEvaluator(k=1).run([["faq.md"]], [ids("d1")])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"match_on": "id"}, ValueError, "match_on must be"),
        ({"match": contains, "id_key": "source"}, ValueError, "texts are compared, .*: leave out id_key='source'"),
        ({"id_key": len}, TypeError, "id_key must be a key of Document.meta or None, got <built-in function len>"),
        ({"name": 5}, TypeError, "name must be a str or None, got 5"),
        ({"metrics": 5}, TypeError, "metrics must be a name"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        HitRateEvaluator(**options)


# The example


def test_example(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    report = importlib.import_module("haystack_example").evaluate()
    assert report.aggregated_report() == {
        "metrics": ["hit_rate@1", "hit_rate@2", "mrr@10", "recall"],
        "score": [1 / 3, 2 / 3, 0.5, 0.5],
    }
