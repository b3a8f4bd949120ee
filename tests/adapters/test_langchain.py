"""LangChain: a retriever through its own `batch`."""

import re
import subprocess
import sys
import threading
import time
import uuid
import warnings

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumpd
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

import hitrate_adapters as hr
from hitrate_adapters.langchain import run_retriever


class Lookup(BaseRetriever):
    """Finds by query what it was given; an exception is raised."""

    found: dict

    def _get_relevant_documents(self, query, *, run_manager):  # noqa: ARG002
        found = self.found[query]
        if isinstance(found, Exception):
            raise found
        return found


def drive(case):
    if case.match_on == "texts":
        found = {query: [Document(text) for text in texts] for query, texts in case.retrieved.items()}
    else:
        found = {query: [Document("any text", id=item) for item in items] for query, items in case.retrieved.items()}
    run = run_retriever(Lookup(found=found), {query: query for query in found}, match_on=case.match_on)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no relevant (id|text|item) was ever retrieved")
        evaluation = hr.evaluate(case.relevant, run, match=case.match, unique=case.unique)
    rows = {row["query_id"]: row for row in evaluation.rows(case.expect, k=None)}
    return {metric: {query: rows[query][metric] for query in case.relevant} for metric in case.expect}


def build(*, k, theta=None, match=None):
    run = run_retriever(Lookup(found={"q": [Document("a", id="a")]}), {"q": "q"})
    return hr.evaluate({"q": ["a"]}, run, match=match).hit_rate(k, theta)


def run_one(documents, **options):
    return run_retriever(Lookup(found={"q": documents}), {"q": "q"}, **options)["q"]


CHUNK = Document("Refunds take five days.", id="c1", metadata={"source": "refunds.md", "id": "own"})


@pytest.mark.parametrize(
    ("options", "item"),
    [
        ({}, "c1"),
        ({"id_key": "source"}, "refunds.md"),
        ({"id_key": "id"}, "own"),
        ({"id_key": lambda document: document.metadata["source"].upper()}, "REFUNDS.MD"),
        ({"match_on": "texts"}, "Refunds take five days."),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda chunk: chunk, id="Document"),
        pytest.param(lambda chunk: chunk.model_dump(), id="dict"),
        pytest.param(dumpd, id="dumpd"),
        pytest.param(lambda chunk: (chunk, 0.5), id="with score"),
        pytest.param(lambda chunk: [chunk.model_dump(), 0.5], id="dict with score"),
    ],
)
def test_what_stands_for_a_document_in_every_form(options, item, form):
    chain = RunnableLambda(lambda _: [form(CHUNK)])
    assert run_retriever(chain, {"q": "q"}, **options) == {"q": [item]}


def test_metadata_id_where_the_document_has_none():
    assert run_one([Document("t", metadata={"id": "m"})]) == ["m"]


def test_plain_ids_and_texts():
    chain = RunnableLambda(lambda query: [query, "x"])
    assert run_retriever(chain, {"q": "a"}) == {"q": ["a", "x"]}
    assert run_retriever(chain, {"q": "a"}, match_on="texts") == {"q": ["a", "x"]}


def test_nothing_but_none_is_an_error_of_its_query():
    chain = RunnableLambda(lambda query: [None, None] if query == "a" else [None, query])
    run = run_retriever(chain, {"q1": "a", "q2": "b"})
    assert run == {"q1": [], "q2": [None, "b"]}
    assert "every retrieved item is None: where are the ids?" in str(run.errors["q1"])


def test_no_id_anywhere_names_id_key_and_the_metadata():
    # https://github.com/langchain-ai/langchain/issues/26860
    chunk = Document("Refunds take five days.", metadata={"source": "s"})
    with pytest.raises(ValueError, match=r"no `id` and no metadata\['id'\] \(its metadata has 'source'.*id_key="):
        run_one([chunk])
    assert run_one([chunk], id_key="source") == ["s"]


def test_a_wrong_id_key_is_loud():
    # https://github.com/deepset-ai/haystack/pull/11951
    found = {"q1": [CHUNK], "q2": [CHUNK], "q3": []}
    with pytest.raises(ValueError, match=r"no metadata\['sorce'\] \(its metadata has 'source', 'id'") as raised:
        run_retriever(Lookup(found=found), {query: query for query in found}, id_key="sorce")
    assert raised.value.__notes__ == ["and no document of the first 3 queries was of use"]


def test_a_wrong_id_key_is_found_in_the_first_batch():
    calls = []
    retriever = RunnableLambda(lambda query: calls.append(query) or [CHUNK])
    with pytest.raises(ValueError, match="sorce"):
        run_retriever(retriever, dict.fromkeys(range(1000), "q"), id_key="sorce")
    assert len(calls) == 64


def test_one_document_without_an_id_loses_its_query_alone():
    run = run_retriever(Lookup(found={"q1": [CHUNK, Document("t")], "q2": [CHUNK]}), {"q1": "q1", "q2": "q2"})
    assert run == {"q1": [], "q2": ["c1"]}
    assert "id_key=" in str(run.errors["q1"])
    evaluation = hr.evaluate({"q1": ["c1"], "q2": ["c1"]}, run)
    assert evaluation.hit_rate(1) == 0.5
    assert list(evaluation.errors) == ["q1"]


@pytest.mark.parametrize("first", [[], RuntimeError("down")], ids=["empty", "failed"])
def test_no_id_anywhere_is_loud_at_the_end_where_other_queries_were_empty_or_failed(first):
    calls = []
    found = RunnableLambda(lambda query: calls.append(query) or [CHUNK])
    retriever = RunnableLambda(lambda query: Lookup(found={query: first}) if query == 0 else found)
    with pytest.raises(ValueError, match="sorce"):
        run_retriever(retriever, {number: number for number in range(100)}, id_key="sorce")
    assert len(calls) == 99


def test_one_document_without_an_id_among_others_of_one_query_is_recorded():
    chunks = [Document("t", id=f"c{number}") for number in range(9)]
    run = run_retriever(Lookup(found={"q": [*chunks, Document("t")]}), {"q": "q"})
    assert run == {"q": []}
    assert "id_key=" in str(run.errors["q"])


def test_a_failed_query_is_a_named_miss():
    run = run_retriever(Lookup(found={"q1": RuntimeError("down"), "q2": [CHUNK]}), {"q1": "q1", "q2": "q2"})
    assert run == {"q1": [], "q2": ["c1"]}
    assert str(run.errors["q1"]) == "down"
    assert hr.evaluate({"q1": ["c1"], "q2": ["c1"]}, run).misses(1) == ("q1",)


def test_on_error_raise_names_the_query():
    with pytest.raises(RuntimeError, match="down") as raised:
        run_retriever(Lookup(found={"text": RuntimeError("down")}), {"q1": "text"}, on_error="raise")
    assert raised.value.__notes__ == ["while retrieving for query 'q1'"]


def test_on_error_raise_stops_there():
    calls, stops = [], True

    def retrieve(query):
        calls.append(query)
        if query == 3:
            raise RuntimeError("down")
        time.sleep(0.05 if query > 3 and stops else 0)
        return ["d"]

    queries = {f"q{number}": number for number in range(200)}
    with pytest.raises(RuntimeError, match="down") as raised:
        run_retriever(RunnableLambda(retrieve), queries, max_concurrency=1, on_error="raise")
    assert calls[:4] == [0, 1, 2, 3]
    assert len(calls) < 64  # the pool may have begun the next
    assert raised.value.__notes__ == ["while retrieving for one of the queries 'q0' to 'q63'"]
    calls, stops = [], False
    assert len(run_retriever(RunnableLambda(retrieve), queries)) == len(calls) == 200


def test_on_error_raise_names_the_query_of_an_unreadable_document():
    found = {"a": [CHUNK], "b": [Document("t")]}
    with pytest.raises(ValueError, match="id_key=") as raised:
        run_retriever(Lookup(found=found), {"q1": "a", "q2": "b"}, on_error="raise")
    assert raised.value.__notes__ == ["while retrieving for query 'q2'"]


def test_chunks_of_one_source():
    # https://github.com/langchain-ai/langchain/issues/37046
    chunks = [Document("t", metadata={"source": source}) for source in ("s1", "s1", "s2")]
    run = run_retriever(Lookup(found={"q": chunks}), {"q": "q"}, id_key="source")
    assert hr.evaluate({"q": ["s2"]}, run).hit_rate(2) == 0.0
    assert hr.evaluate({"q": ["s2"]}, run, unique=True).hit_rate(2) == 1.0


def test_more_queries_than_one_batch_keep_their_order():
    run = run_retriever(RunnableLambda(lambda query: [query]), {number: f"d{number}" for number in range(150)})
    assert list(run.items()) == [(number, [f"d{number}"]) for number in range(150)]


def test_no_queries():
    assert run_retriever(RunnableLambda(lambda query: [query]), {}) == {}


@pytest.mark.parametrize("limit", [1, 3])
def test_max_concurrency(limit):
    running, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(limit)

    def retrieve(query):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(timeout=10)
        with lock:
            running -= 1
        return [query]

    run_retriever(RunnableLambda(retrieve), dict.fromkeys(range(12), "d"), max_concurrency=limit)
    assert most == limit


def test_the_retrievers_own_batch_is_used():
    class Batched(Lookup):
        def batch(self, inputs, config=None, *, return_exceptions=False, **_):
            assert config["max_concurrency"] == 2
            assert return_exceptions is True
            return [[Document("t", id=f"{query} of {len(inputs)}")] for query in inputs]

    run = run_retriever(Batched(found={}), {"q1": "a", "q2": "b"}, max_concurrency=2)
    assert run == {"q1": ["a of 2"], "q2": ["b of 2"]}


def test_show_progress(capsys):
    pytest.importorskip("tqdm")
    run_retriever(RunnableLambda(lambda query: [query]), {"q1": "a", "q2": "b"}, show_progress=True)
    assert "retrieving: 100%" in (bar := capsys.readouterr().err)
    assert "2/2" in bar
    run_retriever(RunnableLambda(lambda query: [query]), {"q1": "a"})
    assert not capsys.readouterr().err


def test_tqdm_is_imported_only_for_a_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    retriever = RunnableLambda(lambda query: [query])
    assert run_retriever(retriever, {"q1": "a"}) == {"q1": ["a"]}
    with pytest.raises(ImportError, match="pip install tqdm"):
        run_retriever(retriever, {"q1": "a"}, show_progress=True)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"retriever": lambda query: [query]}, TypeError, r"must be a Runnable, got function.*as_retriever"),
        ({"queries": ["a", "b"]}, TypeError, "queries must be a mapping of query id -> query, got list"),
        ({"on_error": "ignore"}, ValueError, "'ignore'"),
        ({"match_on": "auto"}, ValueError, "'auto'"),
        ({"id_key": 5}, TypeError, "id_key.*5"),
        ({"id_key": "source", "match_on": "texts"}, ValueError, "leave out id_key='source'"),
        ({"max_concurrency": "8"}, TypeError, "max_concurrency must be an int of at least 1, or None; got '8'"),
        ({"max_concurrency": True}, TypeError, "max_concurrency must be an int of at least 1, or None; got True"),
        ({"max_concurrency": 0}, ValueError, "max_concurrency must be at least 1.*got 0"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        run_retriever(**{"retriever": RunnableLambda(lambda query: [query]), "queries": {"q": "a"}} | arguments)


@pytest.mark.parametrize("answer", ["an answer", {"context": [CHUNK], "answer": "five"}, None])
def test_a_chain_that_returns_no_list(answer):
    with pytest.raises(TypeError, match="must return a list of documents"):
        run_retriever(RunnableLambda(lambda _: answer), {"q": "a"})


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ([CHUNK, CHUNK], "score must be a number"),
        (("c1", 0.5), "no document, id or text"),
        (object(), "no document, id or text"),
    ],
    ids=["two documents", "id with score", "object"],
)
def test_what_is_no_document(item, words):
    with pytest.raises((TypeError, ValueError), match=words):
        run_retriever(RunnableLambda(lambda _: [item]), {"q": "a"})


@pytest.mark.parametrize("match_on", ["ids", "texts"])
def test_none_is_a_slot_that_never_hits(match_on):
    run = run_retriever(RunnableLambda(lambda _: [None, "a", None]), {"q": "?"}, match_on=match_on)
    assert (run, run.errors) == ({"q": [None, "a", None]}, {})
    evaluation = hr.evaluate({"q": ["a"]}, run)
    assert (evaluation.hit_rate(1), evaluation.hit_rate(2)) == (0.0, 1.0)


def test_a_document_without_text():
    with pytest.raises(TypeError, match="no text"):
        run_retriever(RunnableLambda(lambda _: [{"id": "a"}]), {"q": "a"}, match_on="texts")


@pytest.mark.parametrize(
    "wrong",
    [float("nan"), "", " ", True, False, 1.0, ["a"], ("a", []), {}],
    ids=repr,
)
@pytest.mark.parametrize("id_key", ["source", "id", None, lambda document: document.metadata["id"]], ids=str)
def test_what_can_be_no_id_loses_its_query_alone(wrong, id_key):
    chunk = Document("Refunds take five days.", metadata={"source": wrong, "id": wrong})
    run = run_retriever(Lookup(found={"q1": [CHUNK, chunk], "q2": [CHUNK]}), {"q1": "q1", "q2": "q2"}, id_key=id_key)
    assert list(run.errors) == ["q1"]
    assert re.search(r"id.*(is|returned) .*its metadata has 'source', 'id'.*id_key=", str(run.errors["q1"]))
    assert run["q1"] == []
    assert run["q2"] != []


def test_pandas_na_is_no_id():
    pandas = pytest.importorskip("pandas")
    chunk = Document("t", metadata={"source": pandas.NA})
    with pytest.raises(ValueError, match=r"its metadata\['source'\] is <NA>"):
        run_one([chunk], id_key="source")


def test_numpys_scalars():
    numpy = pytest.importorskip("numpy")
    for wrong in (numpy.float32(1), numpy.bool_(True)):
        with pytest.raises(ValueError, match="ids are strings that are not blank, whole numbers"):
            run_one([Document("t", metadata={"id": wrong})])
    assert run_one([Document("t", metadata={"id": numpy.int64(1)})]) == [1]
    assert run_retriever(RunnableLambda(lambda _: [numpy.int64(1)]), {"q": "a"}) == {"q": [1]}


def test_an_id_key_that_raises_is_named():
    def by_url(document):
        return document.metadata["url"]

    with pytest.raises(ValueError, match=r"id_key=by_url raised KeyError\('url'\)"):
        run_one([CHUNK], id_key=by_url)


def test_an_id_of_several_parts():
    assert run_one([CHUNK], id_key=lambda document: (document.metadata["source"], 1)) == [("refunds.md", 1)]


def test_a_uuid_is_what_json_makes_of_it():
    number = uuid.UUID(int=7)
    for found in (Document("t", metadata={"id": number}), {"id": number}, number):
        run = run_retriever(RunnableLambda(lambda _: [found]), {"q": "a"})  # noqa: B023
        assert hr.evaluate({"q": ["00000000-0000-0000-0000-000000000007"]}, run).hit_rate(1) == 1.0


def test_messages_of_a_chat_are_no_documents():
    for message in ({"role": "user", "content": "?", "id": "m1"}, {"type": "ai", "content": "!", "id": "m2"}):
        with pytest.raises(TypeError, match="no document, id or text"):
            run_retriever(RunnableLambda(lambda _: [message]), {"q": "a"})  # noqa: B023
    pdf = {"type": "pdf", "content": "?", "id": "d1"}
    assert run_retriever(RunnableLambda(lambda _: [pdf]), {"q": "a"}) == {"q": ["d1"]}


def test_an_id_of_another_type_is_another_id():
    # https://github.com/run-llama/llama_index/issues/10186
    run = run_retriever(RunnableLambda(lambda _: [Document("t", metadata={"n": 1})]), {"q": "a"}, id_key="n")
    with pytest.warns(UserWarning, match=r"'1' \(str\), the run has 1 \(int\)"):
        assert hr.evaluate({"q": ["1"]}, run).hit_rate(1) == 0.0


# --- spans

GUIDE = "Refunds take five days.\n\nThey go to the card that paid.\n\nDogs travel free on a lead.\n\nBicycles go last."


def split(size, **options):
    """Return the chunks that LangChain's own splitter makes of the guide."""
    splitters = pytest.importorskip("langchain_text_splitters")
    splitter = splitters.RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0, **options)
    return splitter.split_documents([Document(GUIDE, metadata={"source": "guide.md"})])


def place(text):
    return hr.Span("guide.md", GUIDE.index(text), GUIDE.index(text) + len(text))


@pytest.mark.parametrize("size", [12, 30, 60, 500])
def test_gold_spans_survive_every_size_of_chunk(size):
    chunks = split(size, add_start_index=True)
    run = run_retriever(Lookup(found={"q": chunks}), {"q": "q"}, match_on="spans")
    assert [GUIDE[start:end] for _, start, end in run["q"]] == [chunk.page_content for chunk in chunks]
    evaluation = hr.evaluate({"q": [place("to the card")]}, run, match=hr.span_overlap(0.5))
    (match, *_) = evaluation.matches("q")
    assert "card" in GUIDE[match.retrieved.start : match.retrieved.end]
    assert evaluation.hit_rate() == 1.0


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda chunk: chunk, id="Document"),
        pytest.param(lambda chunk: chunk.model_dump(), id="dict"),
        pytest.param(dumpd, id="dumpd"),
        pytest.param(lambda chunk: (chunk, 0.5), id="with score"),
        pytest.param(lambda chunk: hr.Span("guide.md", 5, 5 + len(chunk.page_content)), id="Span"),
        pytest.param(lambda chunk: ["guide.md", 5, 5 + len(chunk.page_content)], id="list"),
    ],
)
@pytest.mark.parametrize("start", [5, 5.0])  # some vector stores make a float of it
def test_the_span_of_a_document_in_every_form(form, start):
    chunk = Document("Dogs", metadata={"source": "guide.md", "start_index": start})
    run = run_retriever(RunnableLambda(lambda _: [form(chunk)]), {"q": "q"}, match_on="spans")
    assert run == {"q": [hr.Span("guide.md", 5, 9)]}
    assert type(run["q"][0].start) is int


@pytest.mark.parametrize(
    ("id_key", "document"),
    [("page", 3), (lambda chunk: (chunk.metadata["source"], chunk.metadata["page"]), ("a.pdf", 3))],
    ids=["key", "function"],
)
def test_id_key_names_the_document_of_a_span(id_key, document):
    chunk = Document("Dogs", id="c1", metadata={"source": "a.pdf", "page": 3, "start_index": 5})
    assert run_one([chunk], id_key=id_key, match_on="spans") == [hr.Span(document, 5, 9)]


@pytest.mark.parametrize(
    ("metadata", "what"),
    [
        ({"source": "s"}, r"no metadata\['start_index'\] \(its metadata has 'source'; it begins 'Dogs'\)"),
        ({"source": "s", "start_index": -1}, "start_index=-1, as its splitter did not find the chunk"),
        ({"source": "s", "start_index": 0.5}, "start_index=0.5"),
        ({"source": "s", "start_index": True}, "start_index=True"),
        ({"source": "s", "start_index": "7"}, "start_index='7'"),
    ],
    ids=str,
)
def test_no_start_index_is_advice(metadata, what):
    with pytest.raises(ValueError, match=what + r".*add_start_index=True.*match_on=\"texts\""):
        run_one([Document("Dogs", metadata=metadata)], match_on="spans")


def test_chunks_of_a_splitter_that_notes_no_start_are_advice():
    with pytest.raises(ValueError, match=r"no metadata\['start_index'\]"):
        run_one(split(30), match_on="spans")


def test_a_span_without_its_document_names_id_key():
    with pytest.raises(ValueError, match=r"no metadata\['source'\] .*id_key="):
        run_one([Document("Dogs", id="c1", metadata={"start_index": 0})], match_on="spans")


def test_a_chunk_without_text_is_no_span():
    with pytest.raises(ValueError, match="is no span: it needs 0 <= start < end"):
        run_one([Document("", metadata={"source": "s", "start_index": 4})], match_on="spans")


ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "langchain_core":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


def test_absent_langchain_is_advice():
    code = f"{ABSENT}\nimport hitrate_adapters.langchain"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: langchain_core is not installed: pip install 'hitrate-adapters[langchain]'" in ended.stderr
