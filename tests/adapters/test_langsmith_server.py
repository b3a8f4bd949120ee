"""LangSmith with a server standing in for its own: what is sent, and what is loaded from there."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import UUID

import pytest
from langsmith import Client
from langsmith.evaluation import evaluate_existing

from hitrate_adapters.langsmith import HitRateEvaluator

RECIPE = {"tracing_sampling_rate": 0.0, "info": {"version": "0", "instance_flags": {"zstd_compression_enabled": True}}}

SCRIPT = """
import asyncio, json, os, sys, uuid

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in os.environ["ABSENT"].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())

from hitrate_adapters.langsmith import HitRateEvaluator
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError:
    def target(inputs):
        return {"documents": [{"page_content": "SECRET text", "metadata": {"source": "d2"}}]}
else:
    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document("SECRET text", metadata={"source": "d2"})]

    def target(inputs):
        Fixed().invoke(inputs["question"])
        return {"answer": "?"}

hits = HitRateEvaluator(k=1, id_key="source")
options = {
    "data": [Example(id=uuid.uuid4(), inputs={"question": "?"}, outputs={"relevant": ["d2"]})],
    "evaluators": [hits],
    "summary_evaluators": [hits.summary],
    "client": Client(**json.loads(os.environ["CLIENT"])),
    "upload_results": False,
}

async def run():
    async def atarget(inputs):
        return target(inputs)

    return [row async for row in await aevaluate(atarget, **options)]

rows = [*evaluate(target, **options), *asyncio.run(run())]
print([result.score for row in rows for result in row["evaluation_results"]["results"]])
print("langchain_core" in sys.modules)
"""


def evaluate_in_a_process(url, client, absent="", **environment):
    """Run evaluate and aevaluate in a process of its own, to its exit, every default pointing at the server."""
    environment = {
        "LANGSMITH_ENDPOINT": url,
        "ABSENT": absent,
        "CLIENT": json.dumps({"api_url": url} | client),
    } | environment
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LANGSMITH_", "LANGCHAIN_"))}
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=inherited | environment)


@pytest.fixture
def server():
    """Listen on a free port, answer what `server.answers` holds by path, and keep every request."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.requests.append((self.command, self.path, body))
            resource = self.path.partition("?")[0]
            content = json.dumps(server.answers.get(resource, {})).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = answer  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url, server.requests, server.answers = f"http://127.0.0.1:{server.server_port}", [], {}
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "environment",
    [{}, {"LANGSMITH_API_KEY": "not-a-key", "LANGSMITH_TRACING": "true"}],
    ids=["no key", "key and tracing"],
)
def test_the_recipe_sends_nothing(server, environment):
    ended = evaluate_in_a_process(server.url, RECIPE, **environment)
    assert "[1.0, 1.0]" in ended.stdout, ended.stderr
    assert server.requests == []


@pytest.mark.parametrize(
    "environment",
    [{}, {"LANGSMITH_TRACING": "false"}, {"LANGSMITH_API_KEY": "not-a-key", "LANGSMITH_TRACING": "true"}],
    ids=["no key", "tracing off", "key and tracing"],
)
def test_without_the_recipe_texts_are_sent(server, environment):
    pytest.importorskip("langchain_core")
    ended = evaluate_in_a_process(server.url, {"info": {"version": "0"}}, **environment)
    assert "[1.0, 1.0]" in ended.stdout, ended.stderr
    assert any(b"SECRET text" in body for _, _, body in server.requests)


def test_without_langchain_core(server):
    ended = evaluate_in_a_process(server.url, RECIPE, absent="langchain_core")
    assert ended.stdout.splitlines()[-2:] == ["[1.0, 1.0]", "False"], ended.stderr


def test_absent_langsmith_is_advice(server):
    ended = evaluate_in_a_process(server.url, RECIPE, absent="langsmith")
    assert "ImportError: langsmith is not installed: pip install 'hitrate-adapters[langsmith]'" in ended.stderr


def uuid(number):
    return str(UUID(int=number))


EXPERIMENT, ROOT, DATASET, EXAMPLE, TIME = uuid(1), uuid(10), uuid(2), uuid(3), "2026-01-01T00:00:00+00:00"
SESSION = {"id": EXPERIMENT, "name": "exp", "start_time": TIME, "tenant_id": uuid(4), "reference_dataset_id": DATASET}


def stored_run(number, parent, run_type, outputs):
    return {
        "id": uuid(number),
        "trace_id": ROOT,
        "parent_run_id": parent and uuid(parent),
        "dotted_order": str(number),
        "name": f"run {number}",
        "run_type": run_type,
        "start_time": TIME,
        "inputs": {},
        "outputs": outputs,
        "session_id": EXPERIMENT,
        "reference_example_id": EXAMPLE,
    }


@pytest.mark.filterwarnings("ignore:The following arguments are no longer used")  # langsmith's own, of any summary
def test_an_experiment_that_already_ran(server):
    document = {"id": "d2", "page_content": "t", "metadata": {"source": "s"}, "type": "Document"}
    runs = [
        stored_run(10, None, "chain", {"answer": "?"}),
        stored_run(11, 10, "chain", {}),
        stored_run(12, 11, "retriever", {"documents": [document]}),
    ]
    example = {"id": EXAMPLE, "dataset_id": DATASET, "inputs": {}, "outputs": {"relevant": ["d2"]}, "created_at": TIME}
    server.answers = {
        f"/sessions/{EXPERIMENT}": SESSION,
        "/sessions": [SESSION],
        "/runs/query": {"runs": runs, "cursors": {}},
        "/examples": [example],
    }
    client = Client(api_url=server.url, info={"version": "0"})
    hits = HitRateEvaluator(k=1)
    options = {"evaluators": [hits], "summary_evaluators": [hits.summary], "client": client, "load_nested": True}
    rows = evaluate_existing(EXPERIMENT, **options)
    assert hits.evaluation(rows).hit_rate(1) == 1.0
    client.flush()
    posted = [json.loads(body) for method, path, body in server.requests if (method, path) == ("POST", "/feedback")]
    row, mean = sorted(posted, key=lambda feedback: feedback.get("run_id") is None)
    assert (row["run_id"], row["key"], row["score"]) == (ROOT, "hit_rate@1", 1.0)
    assert (mean["session_id"], mean["key"], mean["score"]) == (EXPERIMENT, "hit_rate@1", 1.0)
