"""LangSmith: an evaluator through `evaluate`, `aevaluate` and `Client.evaluate`, all of which send nothing here."""

import asyncio
import os
import subprocess
import sys
import threading
import uuid
import warnings
from datetime import UTC, datetime

import pytest
from langsmith import Client, aevaluate, evaluate, traceable
from langsmith.schemas import Example, Run

import hitrate_adapters as hr
from hitrate_adapters.langsmith import HitRateEvaluator

BETA = ".*parameter is in beta"
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{BETA}"),  # of upload_results=False
    pytest.mark.filterwarnings("ignore:no relevant (id|text|item) was ever retrieved"),
]

INFO = {"version": "0", "instance_flags": {"zstd_compression_enabled": True}}
CLIENT = Client(api_url="http://127.0.0.1:9", tracing_sampling_rate=0.0, info=INFO)
OFFLINE = {"client": CLIENT, "upload_results": False}


def example(relevant=("d2",), *, key="relevant", **inputs):
    outputs = None if relevant is None else {key: relevant if isinstance(relevant, (dict, str)) else list(relevant)}
    return Example(id=uuid.uuid4(), inputs=inputs or {"question": "?"}, outputs=outputs)


def feedback(row):
    return {result.key: result for result in row["evaluation_results"]["results"]}


def score(target, hits, relevant=("d2",), **options):
    """Evaluate one row and return its one result."""
    (row,) = evaluate(target, data=[example(relevant, **options)], evaluators=[hits], **OFFLINE)
    (result,) = feedback(row).values()
    return result


def retrieved(*documents):
    return lambda inputs: {"documents": list(documents)}


def drive(case):
    """Run a case by evaluate and aevaluate, with documents in the outputs and in a retriever run: all agree."""
    hits = HitRateEvaluator(
        k=None, metrics=list(case.expect), match_on=case.match_on, match=case.match, unique=case.unique
    )
    ids = {query: uuid.uuid4() for query in case.relevant}
    examples = [
        Example(id=ids[query], inputs={"query": query}, outputs={"relevant": gold})
        for query, gold in case.relevant.items()
    ]

    def look_up(query):
        if case.match_on == "texts":
            return [{"page_content": text, "metadata": {}, "type": "Document"} for text in case.retrieved[query]]
        return [{"id": item, "page_content": "any text", "metadata": {}} for item in case.retrieved[query]]

    def returns(inputs):
        return {"answer": "?", "documents": look_up(inputs["query"])}

    def traces(inputs):
        traceable(look_up, run_type="retriever")(inputs["query"])
        return {"answer": "?"}

    found = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", BETA)
        for target in (returns, traces):
            for run in (list_of, alist_of):
                rows = {row["example"].id: feedback(row) for row in run(target, data=examples, evaluators=[hits])}
                found.append(
                    {
                        metric: {query: rows[ids[query]][key].score for query in ids}
                        for metric, key in zip(case.expect, hits.feedback_keys, strict=True)
                    }
                )
    assert found == [found[0]] * 4
    return found[0]


def list_of(target, **options):
    """Return the rows of evaluate."""
    return list(evaluate(target, **OFFLINE, **options))


def alist_of(target, **options):
    """Return the rows of aevaluate."""

    async def atarget(inputs):
        return target(inputs)

    async def collect():
        return [row async for row in await aevaluate(atarget, **OFFLINE, **options)]

    return asyncio.run(collect())


def build(**configuration):
    return HitRateEvaluator(**configuration)


# --- what a row shows


def test_results_reach_pandas():
    # https://github.com/langchain-ai/langsmith-docs/issues/478
    pytest.importorskip("pandas")
    hits = HitRateEvaluator(k=(1, 5), metrics=("hit_rate", "mrr"))
    table = evaluate(retrieved("d1", "d2"), data=[example()], evaluators=[hits], **OFFLINE).to_pandas()
    columns = {name: table[f"feedback.{name}"][0] for name in hits.feedback_keys}
    assert columns == {"hit_rate@1": 0.0, "hit_rate@5": 1.0, "mrr@1": 0.0, "mrr@5": 0.5}


def test_comments_say_why():
    result = score(retrieved("d1", "d2"), HitRateEvaluator(k=5))
    assert (result.key, result.score) == ("hit_rate@5", 1.0)
    assert result.comment == "first relevant item at rank 2; 1 of 1 relevant in the top 5"


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({}, ["hit_rate@5"]),
        ({"name": "bm25"}, ["bm25"]),
        ({"name": "bm25", "k": (1, 5)}, ["bm25_hit_rate@1", "bm25_hit_rate@5"]),
        ({"k": None, "theta": 0.5}, ["hit_rate>=0.5"]),
        ({"metrics": "mrr@10"}, ["mrr@10"]),
        ({"match": hr.contains, "unique": True}, ["hit_rate@5[contains, unique]"]),
        ({"match_on": "texts"}, ["hit_rate@5[texts]"]),
    ],
    ids=str,
)
def test_feedback_keys(options, keys):
    hits = HitRateEvaluator(**options)
    assert hits.feedback_keys == keys
    (row,) = evaluate(retrieved("d2"), data=[example()], evaluators=[hits], **OFFLINE)
    assert list(feedback(row)) == keys


def test_evaluators_of_other_rules_keep_their_own_columns():
    pytest.importorskip("pandas")
    evaluators = [HitRateEvaluator(k=2), HitRateEvaluator(k=2, unique=True)]
    table = evaluate(retrieved("d1", "d1", "d2"), data=[example()], evaluators=evaluators, **OFFLINE).to_pandas()
    columns = {name: table[f"feedback.{name}"][0] for name in ("hit_rate@2", "hit_rate@2[unique]")}
    assert columns == {"hit_rate@2": 0.0, "hit_rate@2[unique]": 1.0}


def test_client_evaluate():
    (row,) = CLIENT.evaluate(
        retrieved("d2"), data=[example()], evaluators=[HitRateEvaluator(k=1)], upload_results=False
    )
    assert feedback(row)["hit_rate@1"].score == 1.0


def test_an_empty_list_is_a_miss():
    result = score(retrieved(), HitRateEvaluator(k=5))
    assert (result.score, result.comment, result.extra) == (0.0, "nothing was retrieved", None)


@pytest.mark.parametrize(
    "outputs", [{"answer": "five days"}, {"context": "a joined text"}, {"documents": None}, {}, "five days"], ids=str
)
@pytest.mark.parametrize("run", [list_of, alist_of])
def test_absent_documents_are_an_error_row_that_names_retrieved_key(outputs, run):
    # https://github.com/langchain-ai/langsmith-sdk/issues/1440
    (row,) = run(lambda inputs: outputs, data=[example()], evaluators=[HitRateEvaluator(k=(1, 5))])
    assert list(feedback(row)) == ["hit_rate@1", "hit_rate@5"]
    for result in feedback(row).values():
        assert result.score is None
        assert result.extra == {"error": True}
        assert "no retriever run was traced inside" in result.comment
        assert "retrieved_key=" in result.comment


def test_a_wrong_retrieved_key_names_the_keys_that_are_there():
    result = score(retrieved("d2"), HitRateEvaluator(retrieved_key="hits"))
    assert result.extra == {"error": True}
    assert "no list of retrieved documents by retrieved_key='hits': the outputs have 'documents'" in result.comment
    assert "traced" not in result.comment


def test_a_retrieved_key_that_raises_is_named():
    def by_docs(outputs):
        return outputs["docs"]

    result = score(retrieved("d2"), HitRateEvaluator(retrieved_key=by_docs))
    assert result.extra == {"error": True}
    assert "retrieved_key=by_docs raised KeyError('docs')" in result.comment
    result = score(retrieved("d2"), HitRateEvaluator(relevant_key=by_docs))
    assert result.extra == {"error": True}
    assert "relevant_key=by_docs raised KeyError('docs')" in result.comment


def test_retrieved_key_reads_the_target_and_not_the_retrievers_inside():
    def target(inputs):
        documents = [{"id": item, "page_content": "t", "metadata": {}} for item in [inputs["question"], "d9"]]
        found = traced(documents)
        if inputs["question"] != "d2":
            raise RuntimeError("no model")
        return {"docs": found, "answer": "?"}

    examples = [example(question=question) for question in ("d2", "d3", "d4", "d5")]
    for hits in (HitRateEvaluator(k=5), HitRateEvaluator(k=5, retrieved_key="docs")):
        rows = list_of(target, data=examples, evaluators=[hits])
        assert sorted(feedback(row)["hit_rate@5"].score for row in rows) == [0.0, 0.0, 0.0, 1.0]
        assert hits.evaluation(rows).hit_rate(5) == 0.25
        assert len(hits.evaluation(rows)) == 4


def test_a_retrieved_key_that_the_outputs_lack_is_an_error_in_spite_of_retrievers_inside():
    def target(inputs):  # noqa: ARG001
        retrieve("d2")
        return {"answer": "?"}

    result = score(target, HitRateEvaluator(retrieved_key="docs"))
    assert (result.score, result.extra) == (None, {"error": True})
    assert "by retrieved_key='docs': the outputs have 'answer'" in result.comment


def test_a_retriever_without_a_list_is_named():
    @traceable(run_type="retriever")
    def search():
        return {"hits": ["d2"]}

    def target(inputs):  # noqa: ARG001
        search()
        return {"answer": "?"}

    result = score(target, HitRateEvaluator())
    assert result.extra == {"error": True}
    assert "the outputs of the retriever run 'search' have 'hits'" in result.comment


@pytest.mark.parametrize("key", ["hits", lambda outputs: outputs["hits"]], ids=["key", "function"])
def test_retrieved_key(key):
    assert score(lambda inputs: {"hits": ["d2"]}, HitRateEvaluator(retrieved_key=key)).score == 1.0


def test_documents_that_are_no_list_are_an_error_row():
    for documents in ("d2", {"d2"}):
        result = score(lambda inputs: {"hits": documents}, HitRateEvaluator(retrieved_key="hits"))  # noqa: B023
        assert result.extra == {"error": True}
        assert "must be a list, best first" in result.comment


def test_a_target_that_returns_a_list():
    assert score(lambda inputs: ["d1", "d2"], HitRateEvaluator(k=2)).score == 1.0


@pytest.mark.parametrize("relevant", [None, []], ids=str)
def test_no_gold_is_not_scored(relevant):
    result = score(retrieved("d2"), HitRateEvaluator(k=5), relevant)
    assert (result.score, result.extra) == (None, None)
    assert "the query has no relevant items" in result.comment


def test_gold_under_another_name_is_not_scored_and_says_where_to_name_it():
    result = score(retrieved("d2"), HitRateEvaluator(k=5), key="gold")
    assert result.score is None
    assert "the reference outputs have 'gold': relevant_key=" in result.comment
    assert score(retrieved("d2"), HitRateEvaluator(k=5, relevant_key="gold"), key="gold").score == 1.0


def test_one_id_as_a_string_is_an_error_row_and_a_function_reads_it():
    result = score(retrieved("d2"), HitRateEvaluator(k=5), "d2")
    assert result.extra == {"error": True}
    assert "['d2']" in result.comment
    assert score(retrieved("d2"), HitRateEvaluator(relevant_key=lambda outputs: [outputs["relevant"]]), "d2").score == 1


def test_graded_gold():
    result = score(retrieved("d1", "d2"), HitRateEvaluator(k=2, metrics="ndcg"), {"d1": 1, "d2": 3, "d3": 0})
    assert result.score == pytest.approx(0.7967075809905066)


def test_gold_as_documents():
    gold = [{"page_content": "t", "metadata": {"source": "s"}}]
    hits = HitRateEvaluator(id_key="source")
    assert score(retrieved({"page_content": "x", "metadata": {"source": "s"}}), hits, gold).score == 1.0


# --- ids


def test_nothing_but_none_is_an_error_row():
    result = score(retrieved(None, None), HitRateEvaluator(k=5))
    assert (result.score, result.extra) == (None, {"error": True})
    assert "every retrieved item is None: where are the ids?" in result.comment
    assert score(retrieved(None, "d2"), HitRateEvaluator(k=5)).score == 1.0


def test_no_ids_are_an_error_row_that_names_id_key():
    # https://github.com/langchain-ai/langchain/issues/26860, https://github.com/langchain-ai/langchain-redis/issues/27
    chunk = {"id": None, "page_content": "t", "metadata": {"source": "d2"}}
    result = score(retrieved(chunk), HitRateEvaluator(k=5))
    assert (result.score, result.extra) == (None, {"error": True})
    assert "id_key=" in result.comment
    assert score(retrieved(chunk), HitRateEvaluator(k=5, id_key="source")).score == 1.0


def test_the_documents_own_id_wins():
    # https://github.com/langchain-ai/langchain/issues/11592
    chunk = {"id": "x", "page_content": "t", "metadata": {"id": "y"}}
    assert score(retrieved(chunk), HitRateEvaluator(k=5), ["x"]).score == 1.0
    assert score(retrieved(chunk), HitRateEvaluator(k=5), ["y"]).score == 0.0


@pytest.mark.parametrize("wrong", [float("nan"), "", " ", True, 1.0, ["a"]], ids=repr)
def test_what_can_be_no_id_is_an_error_row(wrong):
    chunk = {"page_content": "t", "metadata": {"source": wrong}}
    hits = HitRateEvaluator(id_key="source")
    result = score(retrieved(chunk), hits, [chunk])
    assert (result.score, result.extra) == (None, {"error": True})
    assert "id_key=" in result.comment
    fine = {"page_content": "t", "metadata": {"source": 1}}
    result = score(retrieved(fine), hits, [wrong])
    assert (result.score, result.extra) == (None, {"error": True})
    assert "a relevant item is" in result.comment
    examples = [example([1]), example([1]), example([wrong])]
    targets = iter([[chunk], [fine], [fine]])
    evaluation = hits.evaluation(
        evaluate(lambda inputs: {"docs": next(targets)}, data=examples, max_concurrency=0, **OFFLINE)
    )
    assert (len(evaluation), len(evaluation.unscored)) == (1, 2)


def test_a_uuid_is_what_json_makes_of_it():
    number, text = uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"
    for found in (number, {"id": number}, text):
        for gold in ([number], [text], {number: 2}, [{"id": number}]):
            assert score(retrieved(found), HitRateEvaluator(), gold).score == 1.0


def test_absent_ids_never_match_each_other():
    # https://github.com/deepset-ai/haystack/pull/11951
    chunk = {"page_content": "t", "metadata": {}}
    other = {"page_content": "unrelated", "metadata": {}}
    for hits in (HitRateEvaluator(id_key="source"), HitRateEvaluator(id_key=lambda document: None)):
        assert score(retrieved(chunk), hits, [other]).score is None
    assert score(retrieved("d1"), HitRateEvaluator(), [None]).score is None


@pytest.mark.parametrize("match_on", ["ids", "texts"])
def test_none_is_a_slot_that_never_hits(match_on):
    scores = [score(retrieved(None, "d2"), HitRateEvaluator(k=k, match_on=match_on)).score for k in (1, 2)]
    assert scores == [0.0, 1.0]
    miss = score(retrieved(None, "d1"), HitRateEvaluator(k=2, match_on=match_on))
    assert (miss.score, miss.comment.rpartition("; ")[2]) == (0.0, "retrieved 'd1', relevant 'd2'")


def test_chunks_of_one_source_with_and_without_unique():
    # https://github.com/langchain-ai/langchain/issues/37046
    chunks = [{"page_content": "t", "metadata": {"source": source}} for source in ("s1", "s1", "d2")]
    assert score(retrieved(*chunks), HitRateEvaluator(k=2, id_key="source")).score == 0.0
    assert score(retrieved(*chunks), HitRateEvaluator(k=2, id_key="source", unique=True)).score == 1.0


def test_a_matcher_compares_texts():
    chunk = {"id": "x", "page_content": "Refunds take five days."}
    gold = ["Refunds take five days. They go to the card that paid."]
    assert score(retrieved(chunk), HitRateEvaluator(match=hr.contains), gold).score == 1.0
    assert score(retrieved(chunk), HitRateEvaluator(match_on="texts"), gold).score == 0.0


# --- what failed


def test_a_target_that_fails_is_a_miss():
    def target(inputs):  # noqa: ARG001
        raise RuntimeError("no index")

    result = score(target, HitRateEvaluator(k=5))
    assert (result.score, result.extra) == (0.0, None)
    assert result.comment == "nothing was retrieved; the target failed: RuntimeError('no index')"
    assert score(target, HitRateEvaluator(retrieved_key=lambda outputs: outputs["hits"])).score == 0.0


def test_a_retriever_that_fails_is_a_miss():
    @traceable(run_type="retriever")
    def search(query):  # noqa: ARG001
        raise RuntimeError("no index")

    def target(inputs):  # noqa: ARG001
        try:
            search("?")
        except RuntimeError:
            return {"answer": "sorry"}

    result = score(target, HitRateEvaluator(k=5))
    assert (result.score, result.extra) == (0.0, None)
    assert result.comment == "nothing was retrieved; search failed: RuntimeError('no index')"


def test_a_target_that_fails_after_its_retriever_is_scored_by_what_was_retrieved():
    def target(inputs):  # noqa: ARG001
        retrieve("d2")
        raise RuntimeError("no model")

    assert score(target, HitRateEvaluator(k=5)).score == 1.0


# --- retriever runs inside the target


@traceable(run_type="retriever")
def retrieve(*documents):
    return list(documents)


@traceable(run_type="retriever", name="ensemble")
def ensemble():
    both = [*retrieve("d1", "d2", langsmith_extra={"name": "bm25"}), *retrieve("d3", langsmith_extra={"name": "dense"})]
    return list(reversed(both))


@traceable(run_type="tool")
def tool():
    return ensemble()


def nested(inputs):  # noqa: ARG001
    tool()
    return {"answer": "five days"}


def test_an_ensemble_is_one_retrieval():
    scores = {k: score(nested, HitRateEvaluator(k=k)).score for k in (1, 2, 3)}
    assert scores == {1: 0.0, 2: 1.0, 3: 1.0}
    assert score(nested, HitRateEvaluator(k=None, metrics="precision")).score == 1 / 3


def test_a_stage_of_an_ensemble_by_its_name():
    assert score(nested, HitRateEvaluator(k=2, retriever_name="bm25")).score == 1.0
    assert score(nested, HitRateEvaluator(k=2, retriever_name="dense")).score == 0.0
    absent = score(nested, HitRateEvaluator(k=2, retriever_name="splade"))
    assert absent.extra == {"error": True}
    assert "'splade'" in absent.comment


def test_retrievals():
    def agent(inputs):  # noqa: ARG001
        retrieve("d1", "d1")
        retrieve("d2")
        return {"answer": "five days"}

    found = {
        (which, k): score(agent, HitRateEvaluator(k=k, retrievals=which)).score
        for which in ("all", "first", "last")
        for k in (1, 3)
    }
    assert found == {
        ("all", 1): 0.0,
        ("all", 3): 1.0,
        ("first", 1): 0.0,
        ("first", 3): 0.0,
        ("last", 1): 1.0,
        ("last", 3): 1.0,
    }


def test_retrievals_are_in_the_order_of_their_start():
    hits = {which: HitRateEvaluator(k=1, name=which, retrievals=which) for which in ("all", "first", "last")}

    @traceable
    async def slow(begun):
        await begun.wait()
        return retrieve("d9")

    @traceable
    async def quick(begun):
        found = retrieve("d2")
        begun.set()
        return found

    async def target(inputs):  # noqa: ARG001
        begun = asyncio.Event()
        await asyncio.gather(slow(begun), quick(begun))
        return {"answer": "?"}

    async def collect():
        results = await aevaluate(target, data=[example()], evaluators=list(hits.values()), **OFFLINE)
        return [row async for row in results]

    (row,) = asyncio.run(collect())
    assert {key: result.score for key, result in feedback(row).items()} == {"all": 1.0, "first": 1.0, "last": 0.0}


def as_documents(items):
    return [{"page_content": "any text", "metadata": {"id": item}} for item in items]


@traceable(run_type="retriever")
def traced(documents):
    return documents


@pytest.mark.parametrize("key", ["documents", "docs", "source_documents", "context", None])
@pytest.mark.parametrize(
    "form",
    [
        as_documents,
        lambda items: [{"id": item, "content": "any text"} for item in items],
        lambda items: [(document, 0.5) for document in as_documents(items)],
    ],
    ids=["documents", "dicts with an id", "with scores"],
)
def test_documents_that_are_returned_come_before_the_runs_inside(key, form):
    def reranked(inputs):  # noqa: ARG001
        traced(as_documents(["d1", "d2"]))
        documents = form(["d2", "d1"])
        return documents if key is None else {key: documents, "answer": "?"}

    assert score(reranked, HitRateEvaluator(k=1)).score == 1.0
    assert score(reranked, HitRateEvaluator(k=1, retriever_name="traced")).score == 0.0


def test_an_empty_list_that_is_returned_comes_before_the_runs_inside():
    def filtered(inputs):  # noqa: ARG001
        traced(as_documents(["d2"]))
        return {"documents": [], "answer": "?"}

    assert score(filtered, HitRateEvaluator(k=1)).score == 0.0


MESSAGES = [{"id": "m1", "role": "user", "content": "?"}, {"id": "m2", "type": "ai", "content": "five days"}]


@pytest.mark.parametrize(
    "outputs",
    [
        {"answer": "five days", "context": ["Refunds take five days.", "Dogs travel free."]},
        ["Refunds take five days.", "They go to the card that paid."],
        MESSAGES,
        {"documents": ["d3", "d4"]},
    ],
    ids=["context of texts", "sentences", "messages", "plain ids"],
)
def test_runs_inside_come_before_what_is_no_document(outputs):
    def target(inputs):  # noqa: ARG001
        traced(as_documents(["d1", "d2"]))
        return outputs

    result = score(target, HitRateEvaluator(k=2))
    assert result.score == 1.0
    assert result.comment.endswith("judged by the retriever runs inside, not by the plain items returned")


def test_documents_under_a_later_key_come_before_plain_items():
    target = {"documents": ["a text"], "context": as_documents(["d2"])}
    assert score(lambda inputs: target, HitRateEvaluator(k=1)).score == 1.0


def test_messages_alone_are_an_error_row():
    result = score(lambda inputs: MESSAGES, HitRateEvaluator(k=1))
    assert result.extra == {"error": True}
    assert "no document, id or text" in result.comment


def test_where_texts_are_compared_texts_that_are_returned_come_first():
    def target(inputs):  # noqa: ARG001
        traced([{"page_content": "Dogs travel free.", "metadata": {}}])
        return {"answer": "?", "context": ["Refunds take five days."]}

    assert score(target, HitRateEvaluator(match=hr.contains), ["Refunds take five days."]).score == 1.0
    assert score(target, HitRateEvaluator(match_on="texts"), ["Dogs travel free."]).score == 0.0


def test_retrieved_key_takes_plain_ids_in_spite_of_the_runs_inside():
    def reranked(inputs):  # noqa: ARG001
        return {"documents": retrieve("d1", "d2")[::-1]}

    assert score(reranked, HitRateEvaluator(k=1)).score == 0.0
    assert score(reranked, HitRateEvaluator(k=1, retrieved_key="documents")).score == 1.0


def test_a_miss_shows_an_id_of_each_side():
    target = retrieved("0f3a", "0f3b")
    result = score(target, HitRateEvaluator(k=1), ["refunds.md"])
    assert result.comment == "no relevant item among 2 retrieved; retrieved '0f3a', relevant 'refunds.md'"
    result = score(target, HitRateEvaluator(k=1), {"no.md": 0, "refunds.md": 2})
    assert result.comment.endswith("relevant 'refunds.md'")
    assert "relevant '" not in score(target, HitRateEvaluator(k=1), ["0f3b"]).comment


def loaded(outputs, children=None, **options):
    """Return a run as the client loads it from the server."""
    options = {"name": "target", "run_type": "chain", "error": None} | options
    ids = {"id": uuid.uuid4(), "trace_id": uuid.uuid4(), "dotted_order": "1"}
    return Run(inputs={}, outputs=outputs, child_runs=children, start_time=datetime.now(UTC), **ids, **options)


CHUNK = {"id": "d2", "page_content": "t", "metadata": {"source": "s"}, "type": "Document"}
DUMPED = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "document", "Document"], "kwargs": CHUNK}


@pytest.mark.parametrize("document", [CHUNK, DUMPED, [CHUNK, 0.5]], ids=["dict", "dumpd", "with score"])
def test_loaded_runs(document):
    retriever = loaded({"documents": [document]}, name="VectorStoreRetriever", run_type="retriever")
    for run in (loaded({"documents": [document]}), loaded({"answer": "?"}, [loaded({}, [retriever])]), retriever):
        (result,) = HitRateEvaluator(k=1).evaluate_run(run, example())["results"]
        assert result.score == 1.0


def test_a_loaded_run_without_its_children_says_load_nested():
    # https://github.com/langchain-ai/langsmith-sdk/issues/2852
    with pytest.raises(ValueError, match="retrieved_key=") as raised:
        HitRateEvaluator(k=1).evaluate_run(loaded({"answer": "?"}), example())
    assert "load_nested=True" in str(raised.value)


# --- LangChain inside the target


def test_langchain_retrievers_inside_the_target():
    documents = pytest.importorskip("langchain_core.documents")
    runnables = pytest.importorskip("langchain_core.runnables")
    BaseRetriever = pytest.importorskip("langchain_core.retrievers").BaseRetriever  # noqa: N806

    class Fixed(BaseRetriever):
        found: list

        def _get_relevant_documents(self, query, *, run_manager):  # noqa: ARG002
            return [documents.Document("t", id=item, metadata={"source": item.upper()}) for item in self.found]

    class Ensemble(BaseRetriever):
        parts: list

        def _get_relevant_documents(self, query, *, run_manager):
            lists = [part.invoke(query, {"callbacks": run_manager.get_child()}) for part in self.parts]
            return [document for each in lists for document in each][::-1]

    ensemble = Ensemble(parts=[Fixed(found=["d2", "d1"]), Fixed(found=["d3"])])
    chain = (
        runnables.RunnableLambda(lambda inputs: inputs["question"]) | {"context": ensemble} | (lambda _: "five days")
    )

    def target(inputs):
        return {"answer": chain.invoke(inputs)}

    found = {k: score(target, HitRateEvaluator(k=k)).score for k in (2, 3)}
    assert found == {2: 0.0, 3: 1.0}
    assert score(target, HitRateEvaluator(k=3, id_key="source"), ["D2"]).score == 1.0
    assert score(target, HitRateEvaluator(k=1, retriever_name="Fixed")).score == 1.0
    assert score(lambda inputs: {"context": ensemble.invoke("?")}, HitRateEvaluator(k=3)).score == 1.0
    chain_as_target = runnables.RunnableLambda(lambda inputs: inputs["question"]) | ensemble
    assert score(chain_as_target, HitRateEvaluator(k=3)).score == 1.0


# --- means


def summary(target, hits, examples):
    results = evaluate(target, data=examples, summary_evaluators=[hits.summary], **OFFLINE)
    return {result.key: result for result in results._summary_results["results"]}


def by_question(inputs):
    if inputs["question"] == "fails":
        raise RuntimeError("no index")
    return {"documents": ["d1", "d2"]} if inputs["question"] == "found" else {"answer": "?"}


def test_summary_leaves_out_what_cannot_be_scored():
    examples = [
        example(question="found"),
        example(["z"], question="found"),
        example(question="fails"),
        example(["d1"], question="found"),
        example([], question="found"),
        example(question="no documents"),
    ]
    results = summary(by_question, HitRateEvaluator(k=(1, 2)), examples)
    assert {key: result.score for key, result in results.items()} == {"hit_rate@1": 0.25, "hit_rate@2": 0.5}
    assert results["hit_rate@2"].comment == ("hit_rate@2 = 0.500 [0.150, 0.850] (n=4); not scored: 2 (1 in error)")


def test_summary_says_what_looks_wrong():
    (result,) = summary(retrieved("0f3a"), HitRateEvaluator(k=1), [example(["refunds.md"])]).values()
    assert result.score == 0.0
    assert "no relevant id was ever retrieved: are both in the same id space?" in result.comment
    assert "'refunds.md'" in result.comment
    assert "'0f3a'" in result.comment


def test_the_evaluator_in_place_of_its_summary_is_named_in_the_log(caplog):
    hits = HitRateEvaluator(k=1)
    results = evaluate(retrieved("d2"), data=[example()], summary_evaluators=[hits], **OFFLINE)
    assert results._summary_results["results"] == []
    assert "summary_evaluators takes [hits.summary]" in caplog.text


def test_evaluation_judges_each_row_once_and_leaves_out_what_the_matcher_cannot_judge():
    judged = []

    def match(text, gold):
        judged.append(gold)
        if gold == "bad":
            raise RuntimeError("no model")
        return text == gold

    hits = HitRateEvaluator(k=1, match=match)
    rows = list_of(retrieved("d2"), data=[example(), example(["d3"])])
    assert hits.evaluation(rows).hit_rate(1) == 0.5
    assert sorted(judged) == ["d2", "d3"]
    rows = list_of(retrieved("d2"), data=[example(), example(["bad"])])
    assert hits.evaluation(rows).hit_rate(1) == 1.0
    assert len(hits.evaluation(rows).unscored) == 1
    result = hits.summary([row["run"] for row in rows], [row["example"] for row in rows])["results"][0]
    assert result.comment.endswith("not scored: 1 (1 in error)")
    with pytest.raises(RuntimeError, match="no model"):
        hits.evaluation(list_of(retrieved("d2"), data=[example(["bad"])]))


def test_summary_of_nothing_but_errors_says_so():
    (result,) = summary(by_question, HitRateEvaluator(k=1), [example(question="no documents")]).values()
    assert (result.key, result.score, result.extra) == ("hit_rate@1", None, {"error": True})
    assert "retrieved_key=" in result.comment


def test_summary_without_gold_says_so():
    (result,) = summary(by_question, HitRateEvaluator(k=1), [example([], question="found")]).values()
    assert result.score is None
    assert "none has a relevant item" in result.comment


def test_summary_follows_the_rules_of_the_rows():
    refunds = {"page_content": "Refunds take five days."}
    gold = ["Refunds take five days. They go to the card that paid."]
    target = retrieved({"page_content": "Shipping is free."}, {"page_content": "Shipping is free."}, refunds)
    hits = HitRateEvaluator(k=2, match=hr.contains, unique=True)
    assert summary(target, hits, [example(gold)])["hit_rate@2[contains, unique]"].score == 1.0
    assert hits.evaluation(evaluate(target, data=[example(gold)], **OFFLINE)).hit_rate(2) == 1.0


def test_summary_in_aevaluate():
    async def target(inputs):
        return by_question(inputs)

    hits = HitRateEvaluator(k=2)
    examples = [example(question="found"), example(["z"], question="found")]

    async def run():
        results = await aevaluate(target, data=examples, summary_evaluators=[hits.summary], **OFFLINE)
        rows = [row async for row in results]
        return results._summary_results["results"], rows

    (result,), rows = asyncio.run(run())
    assert result.score == 0.5
    assert hits.evaluation(rows).hit_rate(2) == 0.5


def test_evaluation_of_concurrent_repetitions():
    examples = [example([f"d{number}"], question=number) for number in range(6)]
    counts, lock = dict.fromkeys(range(6), 0), threading.Lock()

    def target(inputs):
        number = inputs["question"]
        with lock:
            counts[number] += 1
            is_first = counts[number] == 1
        if number == 5:
            raise RuntimeError("no index")
        return {"documents": [f"d{number}"] if is_first else ["x"]}

    hits = HitRateEvaluator(k=1)
    rows = evaluate(target, data=examples, evaluators=[hits], max_concurrency=4, num_repetitions=3, **OFFLINE)
    evaluation = hits.evaluation(rows)
    assert len(evaluation) == 18
    assert evaluation.hit_rate(1) == 5 / 18
    assert {str(each.id) for each in examples} <= set(evaluation)
    assert set(evaluation.errors) == {f"{examples[5].id}{more}" for more in ("", " #2", " #3")}
    first_hits = {query_id.partition(" ")[0] for query_id in evaluation if evaluation[query_id].hit_ranks}
    assert first_hits == {str(each.id) for each in examples[:5]}


def test_evaluation_names_what_it_left_out():
    examples = [example(question="found"), example([], question="found"), example(question="no documents")]
    hits = HitRateEvaluator(k=2)
    evaluation = hits.evaluation(evaluate(by_question, data=examples, **OFFLINE))
    assert evaluation.hit_rate(2) == 1.0
    assert set(evaluation.unscored) == {str(examples[1].id), str(examples[2].id)}
    with pytest.raises(ValueError, match="retrieved_key="):
        hits.evaluation(evaluate(by_question, data=examples[2:], **OFFLINE))


# --- by itself


def test_a_call_gives_what_log_feedback_takes():
    hits = HitRateEvaluator(k=1)
    outputs, reference = {"documents": ["d2"]}, {"relevant": ["d2"]}
    expected = [
        {"key": "hit_rate@1", "score": 1.0, "comment": "first relevant item at rank 1; 1 of 1 relevant in the top 1"}
    ]
    assert hits({"question": "?"}, outputs, reference) == expected
    assert hits(outputs=outputs, reference_outputs=reference) == expected
    assert hits(outputs=["d2"], reference_outputs=reference) == expected
    with pytest.raises(ValueError, match="retrieved_key="):
        hits(outputs={"answer": "?"}, reference_outputs=reference)


@pytest.mark.parametrize(
    ("configuration", "error", "word"),
    [
        ({"retrievals": "any"}, ValueError, "'any'"),
        ({"retrievals": ["all"]}, ValueError, r"all, first, last; got \['all'\]"),
        ({"retrieved_key": 5}, TypeError, "retrieved_key must be a key, a function or None, got .*5"),
        ({"retrieved_key": ["a"]}, TypeError, "retrieved_key must be a key, a function or None, got .*'a'"),
        ({"relevant_key": 5}, TypeError, "relevant_key must be a key, a function or None, got .*5"),
        ({"retriever_name": 5}, TypeError, "retriever_name must be a str or None, got 5"),
        ({"retriever_name": ""}, ValueError, "retriever_name must not be blank"),
        ({"name": 5}, TypeError, "name must be a str or None, got 5"),
        ({"name": ""}, ValueError, "name must not be blank"),
        ({"retrieved_key": "docs", "retriever_name": "bm25"}, ValueError, "leave out one"),
        ({"match_on": "text"}, ValueError, "'text'"),
        ({"metrics": "hits"}, ValueError, "hits"),
        ({"id_key": 5}, TypeError, "id_key"),
        ({"id_key": "source", "match": hr.contains}, ValueError, "id_key='source'"),
        ({"K": 5}, TypeError, "K"),
    ],
    ids=str,
)
def test_bad_configuration(configuration, error, word):
    with pytest.raises(error, match=word):
        HitRateEvaluator(**configuration)


PYTEST_FILE = """
import pytest
from langsmith import testing as t
from hitrate_adapters.langsmith import HitRateEvaluator

hits = HitRateEvaluator(k=(1, 5))

@pytest.mark.langsmith
def test_retriever():
    t.log_inputs({"question": "?"})
    outputs, reference = {"documents": ["d1", "d2"]}, {"relevant": ["d2"]}
    t.log_outputs(outputs)
    t.log_reference_outputs(reference)
    scores = hits(outputs=outputs, reference_outputs=reference)
    for feedback in scores:
        t.log_feedback(**feedback)
    assert scores[1]["score"] == 1.0
"""


def test_langsmiths_pytest_plugin(tmp_path):
    (tmp_path / "test_it.py").write_text(PYTEST_FILE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = os.environ | {"LANGSMITH_TEST_TRACKING": "false"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert "1 passed" in ended.stdout, ended.stdout


# --- spans


def chunk(text, start, **metadata):
    return {"page_content": text, "metadata": {"source": "guide.md", "start_index": start, **metadata}}


@pytest.mark.parametrize(
    "relevant",
    [
        [["guide.md", 20, 30]],  # as a dataset of LangSmith has it
        [hr.Span("guide.md", 20, 30)],
        {hr.Span("guide.md", 20, 30): 2},
        [chunk("0123456789", 20)],
    ],
    ids=["JSON", "Span", "graded", "document"],
)
def test_spans(relevant):
    hits = HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "recall"), match=hr.span_overlap(0.5))
    target = retrieved(chunk("Refunds take", 0), chunk("five days. They go", 12))
    (row,) = evaluate(target, data=[example(relevant)], evaluators=[hits], **OFFLINE)
    scores = {key.removesuffix("[span_overlap(0.5)]"): result.score for key, result in feedback(row).items()}
    assert scores == {"hit_rate@1": 0.0, "hit_rate@2": 1.0, "recall@1": 0.0, "recall@2": 1.0}
    assert hits.evaluation([row]).matches(str(row["example"].id)) == (
        (2, hr.Span("guide.md", 12, 30), hr.Span("guide.md", 20, 30)),
    )


def test_a_document_without_a_start_is_an_error_of_its_row():
    result = score(
        retrieved({"page_content": "t", "metadata": {"source": "s"}}), HitRateEvaluator(match_on="spans"), [["s", 0, 1]]
    )
    assert result.extra == {"error": True}
    assert "no metadata[\\'start_index\\']" in result.comment
    assert "add_start_index=True" in result.comment


def test_relevant_ids_are_no_spans():
    result = score(retrieved(chunk("t", 0)), HitRateEvaluator(match=hr.span_overlap()), relevant=["guide.md"])
    assert "spans are compared, found 'guide.md' (str)" in result.comment


def test_a_matcher_of_spans_compares_no_ids():
    with pytest.raises(ValueError, match=r"match=span_overlap\(\) compares spans, not ids: leave out match_on='ids'"):
        HitRateEvaluator(match_on="ids", match=hr.span_overlap())
