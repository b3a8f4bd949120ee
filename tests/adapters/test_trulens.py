"""TruLens: a live app, an ingested table and a batch agree; its traps are closed."""

import atexit
import gc
import math
import shutil
import tempfile
import uuid
import warnings
from contextlib import contextmanager, suppress
from functools import cache

import numpy as np
import pandas as pd
import pytest
from trulens.apps.app import TruApp
from trulens.core import Metric as TruLensMetric
from trulens.core import Selector, TruSession
from trulens.core.batch import BatchEvaluator
from trulens.core.otel.instrument import instrument
from trulens.core.run import Mode, RunConfig
from trulens.otel.semconv.trace import SpanAttributes

from hitrate_adapters import Metric, contains
from hitrate_adapters.trulens import evaluation, hit_rate_metrics
from tests.adapters.cases import evaluated

RETRIEVAL = SpanAttributes.RETRIEVAL


@cache
def session():
    """Give the one session that TruLens has in a process, on a SQLite file."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return TruSession(database_url=f"sqlite:///{folder}/trulens.sqlite")


@contextmanager
def quiet():
    """Let TruLens leave the event loops of its threads open, and collect them here, where no other test sees it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unclosed", ResourceWarning)
        yield
        gc.collect()


SPANS = {RETRIEVAL.QUERY_TEXT: "question", RETRIEVAL.RETRIEVED_CONTEXTS: "return", "retrieved_ids": "return"}
"""Attribute of the retrieval span -> the argument or the return value that it has."""


class App:
    """A RAG without a model: a retriever that is a table, and an answer that is the first text."""

    def __init__(self, run):
        self.run = run

    @instrument(span_type=SpanAttributes.SpanType.RETRIEVAL, attributes=SPANS)
    def retrieve(self, question):
        found = self.run[question]
        if isinstance(found, Exception):
            raise found
        return found

    @instrument()
    def answer(self, question):
        return " ".join(map(str, self.retrieve(question)[:1])) or "I do not know."


def records(app):
    return session().get_records_and_feedback(app_name=app.app_name)[0]


def scores(app, names):
    """Give the values that the database has: metric -> query -> value, None where there is none."""
    table = records(app)
    return {
        name: {
            query: None if pd.isna(value) else value
            for query, value in zip(table["input"], table.get(name, [math.nan] * len(table)), strict=True)
        }
        for name in names
    }


def run_app(run, metrics, app_class=App):
    """Give the values of an instrumented app."""
    return scores(asked(run, metrics, app_class), [metric.name for metric in metrics])


@quiet()
def asked(run, metrics, app_class=App):
    """Give an instrumented app that was asked every question and scored."""
    rag = app_class(run)
    connector = session().connector
    app = TruApp(rag, app_name=str(uuid.uuid4()), main_method=rag.answer, feedbacks=metrics, connector=connector)
    with app:
        for question in run:
            with suppress(LookupError):  # of a retriever that fails
                rag.answer(question)
    session().force_flush()
    app.compute_feedbacks(raise_error_on_no_feedbacks_computed=False)
    session().force_flush()
    return app


@quiet()
def run_ingested(run, metrics):
    """Give the values of a table that was ingested."""
    rag = App({})
    app = TruApp(rag, app_name=str(uuid.uuid4()), main_method=rag.answer, connector=session().connector)
    spec = {
        "record_root.input": "question",
        "record_root.output": "answer",
        "retrieval.query_text": "question",
        "retrieval.retrieved_contexts": "found",
    }
    config = RunConfig(
        run_name=str(uuid.uuid4()),
        dataset_name="golden",
        source_type="DATAFRAME",
        dataset_spec=spec,
        mode=Mode.LOG_INGESTION,
    )
    ingestion = app.add_run(config)
    ingestion.start(
        input_df=pd.DataFrame([{"question": q, "answer": "none", "found": found} for q, found in run.items()])
    )
    ingestion.compute_metrics(metrics)
    session().force_flush()
    return scores(app, [metric.name for metric in metrics])


def run_batch(run, metrics):
    """Give the values of `BatchEvaluator`."""
    rows = [{"query": query, "retrieved": found} for query, found in run.items()]
    table = BatchEvaluator(metrics).evaluate(rows)
    return {
        metric.name: {
            query: None if pd.isna(value) else value for query, value in zip(run, table[metric.name], strict=True)
        }
        for metric in metrics
    }


# The conformance table


def drive(case):
    options = {"k": None, "metrics": list(case.expect), "match": case.match, "unique": case.unique}
    live = hit_rate_metrics(case.relevant, **options)
    batch = run_batch(case.retrieved, hit_rate_metrics(case.relevant, source="columns", **options))
    app = asked(case.retrieved, live)
    values = scores(app, list(batch))
    assert values == batch
    rules = {"match": case.match, "unique": case.unique}
    rows = [{"query": query, "retrieved": found} for query, found in case.retrieved.items()]
    for given in ((records(app), live[0].name), (rows,)):
        judged = evaluated(case, evaluation, case.relevant, *given, **rules)
        assert list(judged.values()) == list(values.values())
    return {spec: values[metric.name] for spec, metric in zip(case.expect, live, strict=True)}


def build(*, k, **configuration):
    return hit_rate_metrics({"q": ["a"]}, k=k, **configuration)


GOLDEN = {"dogs?": ["d1"], "refunds?": ["r1", "r2"], "bikes?": ["b1"]}
RUN = {"dogs?": ["d1", "x"], "refunds?": ["x", "r2"], "bikes?": ["x", "y"]}
HITS = {
    "hit_rate@1": {"dogs?": 1.0, "refunds?": 0.0, "bikes?": 0.0},
    "hit_rate@2": {"dogs?": 1.0, "refunds?": 1.0, "bikes?": 0.0},
}


def explanations(name):
    """Give what the database has as the explanation of every score of a metric: query -> explanation."""
    table, _ = session().get_records_and_feedback()
    calls = zip(table["input"], table[f"{name}_calls"], strict=True)
    return {query: call[0]["meta"]["explanation"] for query, call in calls if isinstance(call, list)}


def unique_name():
    return f"m{uuid.uuid4().hex}"


# In a session


def test_a_live_app_an_ingested_table_and_a_batch_agree():
    assert run_app(RUN, hit_rate_metrics(GOLDEN, k=(1, 2))) == HITS
    assert run_ingested(RUN, hit_rate_metrics(GOLDEN, k=(1, 2))) == HITS
    assert run_batch(RUN, hit_rate_metrics(GOLDEN, k=(1, 2), source="columns")) == HITS


@quiet()
def test_the_leaderboard_takes_the_mean_over_labelled_queries():
    def version(name, run):
        rag = App(run)
        metrics = hit_rate_metrics(GOLDEN, k=(1, 2), metrics=("hit_rate", "mrr@10"))
        app = TruApp(
            rag,
            app_name="shop",
            app_version=name,
            main_method=rag.answer,
            feedbacks=metrics,
            connector=session().connector,
        )
        with app:
            for question in run:
                rag.answer(question)
        session().force_flush()
        app.compute_feedbacks()

    version("bm25", RUN | {"a stranger?": ["d1"]})
    version("dense", {question: ["d1"] for question in GOLDEN})
    session().force_flush()
    leaderboard = session().get_leaderboard().loc["shop"][["hit_rate@1", "hit_rate@2", "mrr@10"]]
    assert leaderboard.to_dict(orient="index") == {
        "bm25": pytest.approx({"hit_rate@1": 1 / 3, "hit_rate@2": 2 / 3, "mrr@10": 0.5}),
        "dense": pytest.approx({"hit_rate@1": 1 / 3, "hit_rate@2": 1 / 3, "mrr@10": 1 / 3}),
    }


def test_an_unlabelled_query_has_no_score_and_the_rest_keeps_its_own(caplog):
    golden = {"dogs?": ["d1"], "refunds?": []}
    assert run_app(RUN, hit_rate_metrics(golden, k=1)) == {
        "hit_rate@1": {"dogs?": 1.0, "refunds?": None, "bikes?": None}
    }
    assert "skipped because the golden set has no query 'bikes?'" in caplog.text
    assert "skipped because cannot be scored: the query has no relevant items" in caplog.text


def test_the_reason_is_the_explanation():
    name = unique_name()
    run_app(RUN, hit_rate_metrics(GOLDEN, k=1, name=name))
    assert explanations(name) == {
        "dogs?": "first relevant item at rank 1; 1 of 1 relevant in the top 1",
        "refunds?": "no relevant item in the top 1; the first is at rank 2 of 2 retrieved",
        "bikes?": "no relevant item among 2 retrieved",
    }


def test_ids_come_from_an_attribute_of_the_retrieval_span():
    texts = {"d1": "Dogs travel free.", "x": "Hello.", "r2": "Five days.", "y": "Bye."}

    class Texts(App):
        @instrument(
            span_type=SpanAttributes.SpanType.RETRIEVAL,
            attributes=lambda ret, error, app, *args, **kwargs: {
                RETRIEVAL.RETRIEVED_CONTEXTS: ret,
                "document_ids": app.run[kwargs["question"]],
            },
        )
        def retrieve(self, question):
            return [texts[found] for found in self.run[question]]

        @instrument()
        def answer(self, question):
            return self.retrieve(question)[0]

    by_id = hit_rate_metrics(GOLDEN, k=(1, 2), retrieved="document_ids")
    by_text = hit_rate_metrics({"dogs?": ["dogs travel"]}, k=1, match=contains)
    values = run_app(RUN, [*by_id, *by_text], Texts)
    assert values.pop("hit_rate@1[contains]") == {"dogs?": 1.0, "refunds?": None, "bikes?": None}
    assert values == HITS


def test_ids_are_compared_as_strings():
    run = {"dogs?": [7, 8]}
    assert run_app(run, hit_rate_metrics({"dogs?": ["8"]}, k=2, retrieved="retrieved_ids")) == {
        "hit_rate@2": {"dogs?": 1.0}
    }
    assert run_ingested(run, hit_rate_metrics({"dogs?": [8]}, k=2)) == {"hit_rate@2": {"dogs?": 1.0}}


def test_a_selector_of_your_own():
    own = Selector(
        span_type=SpanAttributes.SpanType.RETRIEVAL,
        span_attributes_processor=lambda attributes: attributes["retrieved_ids"][1:],
    )
    assert run_app(RUN, hit_rate_metrics(GOLDEN, k=1, retrieved=own)) == {
        "hit_rate@1": {"dogs?": 0.0, "refunds?": 1.0, "bikes?": 0.0}
    }


def test_a_failed_retrieval_is_a_miss():
    run = RUN | {"dogs?": LookupError("the index is down")}
    name = unique_name()
    assert run_app(run, hit_rate_metrics(GOLDEN, k=2, name=name))[name] == {
        "dogs?": 0.0,
        "refunds?": 1.0,
        "bikes?": 0.0,
    }
    assert explanations(name)["dogs?"] == "nothing was retrieved"


def test_none_among_the_retrieved_keeps_its_slot():
    metrics = hit_rate_metrics(GOLDEN, k=(1, 2), retrieved="retrieved_ids")
    assert run_app({"dogs?": [None, "d1"]}, metrics) == {"hit_rate@1": {"dogs?": 0.0}, "hit_rate@2": {"dogs?": 1.0}}


def test_a_retriever_inside_a_retriever_counts_once():
    class Hybrid(App):
        @instrument(span_type=SpanAttributes.SpanType.RETRIEVAL, attributes=SPANS)
        def search(self, question):
            return self.retrieve(question)[::-1]

        @instrument()
        def answer(self, question):
            return self.search(question)[0]

    assert run_app(RUN, hit_rate_metrics(GOLDEN, k=1), Hybrid) == {
        "hit_rate@1": {"dogs?": 0.0, "refunds?": 1.0, "bikes?": 0.0}
    }


def test_every_retrieval_by_its_own_query():
    class Agent(App):
        @instrument()
        def answer(self, question):  # noqa: ARG002
            return " ".join(self.retrieve(part)[0] for part in ("dogs?", "refunds?"))

    name = unique_name()
    run_app({"both?": []} | RUN, hit_rate_metrics(GOLDEN, k=1, query=RETRIEVAL.QUERY_TEXT, name=name), Agent)
    table, _ = session().get_records_and_feedback()
    (calls,) = table.loc[(table["input"] == "both?") & table[name].notna(), f"{name}_calls"]
    assert {call["args"]["query"]: call["ret"] for call in calls if call["span_type"] == "eval"} == {
        "dogs?": 1.0,
        "refunds?": 0.0,
    }


def test_a_missing_attribute_is_named_and_loses_nothing_else(caplog):
    good, bad = hit_rate_metrics(GOLDEN, k=1), hit_rate_metrics(GOLDEN, k=2, retrieved="ids")
    values = run_app(RUN, [*bad, *good])
    assert values == {"hit_rate@1": HITS["hit_rate@1"], "hit_rate@2": dict.fromkeys(RUN)}
    assert "retrieved items must be a list, best first; found None (NoneType): retrieved= names" in caplog.text


LIST = "(list), which no golden set can have: query= names what has its text, such as the attribute"


def test_a_query_that_is_a_list_is_named_and_query_cures_it(caplog):
    lists = Selector(span_type=SpanAttributes.SpanType.RETRIEVAL, span_attributes_processor=lambda _: ["dogs?"])
    bad = hit_rate_metrics(GOLDEN, k=1, query=lists, name="bad")
    good = hit_rate_metrics(GOLDEN, k=1, query=RETRIEVAL.QUERY_TEXT, name="good")
    values = run_app({"dogs?": ["d1"]}, [*bad, *good])
    assert values == {"bad": {"dogs?": None}, "good": {"dogs?": 1.0}}
    assert f"the query is ['dogs?'] {LIST}" in caplog.text


def test_a_row_whose_query_is_a_list_loses_no_other():
    (metric,) = hit_rate_metrics(GOLDEN, k=1, source="columns")
    rows = [{"query": ["dogs?"], "retrieved": ["d1"]}, {"query": "dogs?", "retrieved": ["d1"]}]
    table = BatchEvaluator([metric]).evaluate(rows)
    assert table["hit_rate@1"].tolist() == pytest.approx([math.nan, 1.0], nan_ok=True)
    assert f"the query is ['dogs?'] {LIST}" in table["hit_rate@1_explanation"][0]["reason"]


# In a batch


def test_a_malformed_row_loses_no_other():
    run = {
        "dogs?": ["d1"],
        "refunds?": "['r1', 'r2']",
        "bikes?": math.nan,
        "cats?": [1.5],
        "birds?": '["b", null]',
        "a stranger?": ["d1"],
    }
    golden = {"dogs?": ["d1"], "refunds?": ["d1"], "bikes?": ["d1"], "cats?": ["d1"], "birds?": ["b"]}
    (metric,) = hit_rate_metrics(golden, k=1, source="columns")
    table = BatchEvaluator([metric]).evaluate(pd.DataFrame({"query": run.keys(), "retrieved": run.values()}))
    assert table["hit_rate@1"].tolist() == pytest.approx([1.0, *[math.nan] * 3, 1.0, math.nan], nan_ok=True)
    assert [explanation["reason"].partition(":")[0] for explanation in table["hit_rate@1_explanation"]] == [
        "first relevant item at rank 1; 1 of 1 relevant in the top 1",
        "retrieved items must be a list, best first; found \"['r1', 'r2']\" (str)",
        "retrieved items must be a list, best first; found nan (float)",
        "1.5 (float) is no id and no text",
        "first relevant item at rank 1; 1 of 1 relevant in the top 1",
        "Metric evaluation skipped because the golden set has no query 'a stranger?'",
    ]


def test_blank_text_among_the_retrieved_keeps_its_slot():
    metrics = hit_rate_metrics({"dogs?": ["d1"]}, k=(1, 2), source="columns")
    assert run_batch({"dogs?": [" ", "d1"]}, metrics) == {"hit_rate@1": {"dogs?": 0.0}, "hit_rate@2": {"dogs?": 1.0}}


def test_a_matcher_that_raises_loses_no_other():
    def fragile(found, wanted):
        if found == "x":
            raise RuntimeError("no x")
        return found == wanted

    values = run_batch(RUN, hit_rate_metrics(GOLDEN, k=1, match=fragile, source="columns"))
    assert values == {"hit_rate@1[fragile]": {"dogs?": None, "refunds?": None, "bikes?": None}}
    assert run_batch({"dogs?": ["d1"]}, hit_rate_metrics(GOLDEN, 1, match=fragile, source="columns")) == {
        "hit_rate@1[fragile]": {"dogs?": 1.0}
    }


def test_columns_of_other_names_and_arrays():
    metrics = hit_rate_metrics(GOLDEN, k=1, source="columns", query="question", retrieved="ids")
    table = BatchEvaluator(metrics).evaluate([{"question": "dogs?", "ids": np.array(["d1", "x"])}])
    assert table["hit_rate@1"].tolist() == [1.0]


# The golden set


def test_the_ground_truth_of_a_session():
    rows = [
        {"query": "dogs?", "expected_chunks": [{"text": "d1", "expect_score": 1}]},
        {
            "query": "refunds?",
            "expected_chunks": [{"text": "r1", "expect_score": 2}, {"text": "r2"}, {"text": "x", "expect_score": 0}],
        },
        {"query": "bikes?", "expected_chunks": ["b1"]},
    ]
    wanted = {
        "hit_rate@1": HITS["hit_rate@1"],
        "ndcg@2": {"dogs?": 1.0, "refunds?": pytest.approx(0.63093 / 2.63093, abs=1e-5), "bikes?": 0.0},
    }
    metrics = ("hit_rate@1", "ndcg@2")
    assert run_batch(RUN, hit_rate_metrics(rows, metrics=metrics, source="columns")) == wanted
    session().add_ground_truth_to_dataset("golden", pd.DataFrame(rows[:2]), {"domain": "trains"})
    stored = session().get_ground_truth("golden")
    values = run_batch(RUN, hit_rate_metrics(stored, metrics=metrics, source="columns"))
    assert values == {name: each | {"bikes?": None} for name, each in wanted.items()}


def test_a_ground_truth_without_chunks_is_not_labelled():
    table = pd.DataFrame([{"query": "dogs?", "expected_chunks": None}, {"query": "bikes?", "expected_chunks": ["b1"]}])
    assert run_batch(RUN, hit_rate_metrics(table, k=2, source="columns")) == {
        "hit_rate@2": {"dogs?": None, "refunds?": None, "bikes?": 0.0}
    }


@pytest.mark.parametrize("chunks", [np.array(["b1"]), {"b1": 1}, {"b1"}, ("b1",)], ids=repr)
def test_expected_chunks_of_another_form_are_labels(chunks):
    golden = [{"query": "bikes?", "expected_chunks": chunks}]
    assert run_batch(RUN, hit_rate_metrics(golden, k=2, source="columns"))["hit_rate@2"]["bikes?"] == 0.0


@pytest.mark.parametrize(
    ("golden", "error", "message"),
    [
        ({"q": "d1"}, TypeError, "query 'q': relevant items are the string 'd1'"),
        ({"q": None}, TypeError, "query 'q': relevant items must be a collection"),
        ({"q": ["d1", None]}, ValueError, "query 'q': the relevant items hold None or NaN"),
        ({"q": [math.nan]}, ValueError, r"nan \(float\) is no id"),
        ({"q": {"d1": math.nan}}, ValueError, "query 'q'.*d1"),
        ({"q": ["d1", " "]}, ValueError, "query 'q': the relevant items hold blank text"),
        ("d1", TypeError, "golden must be"),
        (5, TypeError, "golden must be"),
        ([["d1"]], ValueError, "golden row 0 must have query and expected_chunks"),
        (
            [{"query": "q", "expected_chunks": "d1"}],
            TypeError,
            "row 0, query 'q': expected_chunks must be a list, got 'd1'",
        ),
        ([{"query": "q", "expected_chunks": []}] * 2, ValueError, "row 1 has the query 'q' again"),
    ],
    ids=str,
)
def test_a_golden_set_that_cannot_be_judged_by(golden, error, message):
    with pytest.raises(error, match=message):
        hit_rate_metrics(golden)


# The metrics


def test_names_tell_the_rules_apart():
    def names(**options):
        return [metric.name for metric in hit_rate_metrics(GOLDEN, **options)]

    assert names() == ["hit_rate@1", "hit_rate@5", "hit_rate@10"]
    assert names(k=5, match=contains, unique=True) == ["hit_rate@5[contains, unique]"]
    assert names(k=5, theta=0.5) == ["hit_rate@5>=0.5"]
    assert names(k=5, name="hits") == ["hits"]
    assert names(k=(1, None), name="bm25") == ["bm25_hit_rate@1", "bm25_hit_rate"]


def test_they_are_metrics_of_which_more_is_better():
    (metric,) = hit_rate_metrics(GOLDEN, k=1)
    assert isinstance(metric, TruLensMetric)
    assert metric.higher_is_better


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"source": "span"}, ValueError, "'span'"),
        ({"query": 5}, TypeError, "query must be the name of an attribute"),
        ({"retrieved": ["ids"]}, TypeError, "retrieved must be the name of an attribute"),
        ({"metrics": "hits"}, ValueError, "unknown metric 'hits'"),
    ],
    ids=str,
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        hit_rate_metrics(GOLDEN, **options)


# What records and tables come to


def test_evaluation_has_the_means_of_the_leaderboard():
    class Twice(App):
        @instrument()
        def answer(self, question):
            return f"{self.retrieve(question)} {self.retrieve(question)}"

    golden = GOLDEN | {"cats?": [], "down?": ["d1"], "odd?": ["o1"]}
    run = RUN | {"cats?": ["c1"], "down?": LookupError("no index"), "odd?": "no list", "stranger?": ["d1"]}
    app = asked(run, hit_rate_metrics(golden, k=(1, 2), retrieved="retrieved_ids"), Twice)
    board = session().get_leaderboard(app_ids=[app.app_id])
    judged = evaluation(golden, records(app), "hit_rate@1")
    twice = {f"{query} #2" for query in RUN}
    assert set(judged) == {*RUN, *twice, "down?"}
    assert {query.removesuffix(" #2") for query in judged.unscored} == {"cats?", "odd?", "stranger?"}
    of_records = {query: judged[query] for query in [*RUN, "down?"]}
    for metric in ("hit_rate@1", "hit_rate@2"):
        values = [Metric.parse(metric)(record) for record in of_records.values()]
        assert board[metric].item() == pytest.approx(sum(values) / 4)


def test_evaluation_of_a_table_has_the_means_of_the_batch():
    table = pd.DataFrame(
        {"question": [*RUN, "cats?", "odd?"], "ids": [*map(np.array, RUN.values()), ["c1"], "no list"]}
    )
    golden = GOLDEN | {"cats?": [], "odd?": ["o1"]}
    places = {"query": "question", "retrieved": "ids"}
    scored = BatchEvaluator(hit_rate_metrics(golden, k=(1, 2), source="columns", **places)).evaluate(table)
    judged = evaluation(golden, scored, **places)
    assert {metric: float(judged.score(metric)) for metric in HITS} == {
        metric: scored[metric].mean() for metric in HITS
    }
    assert (set(judged), set(judged.unscored)) == (set(RUN), {"cats?", "odd?"})


def test_evaluation_names_a_record_that_was_never_scored():
    app = asked(RUN, hit_rate_metrics(GOLDEN, k=1))
    table = records(app)
    table["hit_rate@1_calls"] = [None, *table["hit_rate@1_calls"][1:]]
    judged = evaluation(GOLDEN, table, "hit_rate@1")
    assert judged.unscored == (table["input"][0],)
    assert len(judged) == 2


def test_evaluation_says_what_is_missing():
    with pytest.raises(ValueError, match=r"no record has 'mrr@10_calls': there is 'input'"):
        evaluation(GOLDEN, [{"input": "dogs?"}], "mrr@10")
    with pytest.raises(ValueError, match=r"there is no 'retrieved', but 'query', 'ids'"):
        evaluation(GOLDEN, [{"query": "dogs?", "ids": ["d1"]}])
    with pytest.raises(ValueError, match=r"the golden set has no query 'stranger\?'"):
        evaluation(GOLDEN, [{"query": "stranger?", "retrieved": ["d1"]}])
    with pytest.raises(TypeError, match=r"which no golden set can have"):
        evaluation(GOLDEN, [{"query": ["dogs?"], "retrieved": ["d1"]}])
    with pytest.raises(ValueError, match=r"blank text"):
        evaluation({"dogs?": [" "]}, [{"query": "dogs?", "retrieved": ["d1"]}])
