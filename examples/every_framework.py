"""The same golden set and run in every framework, each through its own runner: the same numbers, in one table.

python examples/every_framework.py                                      what this Python has
python examples/every_framework.py --env mlflow=OTHER/bin/python        and what another one has; may be repeated
python examples/every_framework.py --install                            and all others, in environments of their own

It exits with 1 where two adapters differ in any number, or one fails. Frameworks that are nowhere are named as such.
"""

import argparse
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
import venv
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import hitrate_adapters as hr

GOLDEN: dict[str, list[str]] = {
    "How long do refunds take?": ["refund-time"],
    "Can I return a ticket?": ["refund-window", "refund-time"],
    "Is my dog free?": ["dogs"],
    "Where do bicycles go?": ["bikes"],
    "When does the bar open?": ["bar"],
    "Is there a bank?": [],  # nobody has looked yet: not scored, whatever was retrieved
}
RUN: dict[str, list[str]] = {
    "How long do refunds take?": ["refund-time", "refund-window", "bikes"],
    "Can I return a ticket?": ["dogs", "refund-window", "refund-time"],
    "Is my dog free?": ["bikes", "bikes", "bikes", "dogs"],  # repeats keep their slots: a miss at 3
    "Where do bicycles go?": ["dogs", "refund-time", "bikes"],
    "When does the bar open?": [],  # nothing retrieved: a miss
    "Is there a bank?": ["dogs", "bikes"],
}
METRICS = ["hit_rate@1", "hit_rate@3", "mrr"]
OPTIONS: dict[str, Any] = {"k": None, "metrics": METRICS}
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "RAGAS_DO_NOT_TRACK": "true",
}
"""Environment variables with which no framework sends anything."""

Values = dict[str, list[float | None]]
"""Query -> the value of each of METRICS, None for the framework's own "not scored"."""


def core() -> Values:
    """Run `hitrate_adapters.evaluate`."""
    return of_evaluation(hr.evaluate(GOLDEN, RUN))


def scorer() -> Values:
    """Call the plain scorer as frameworks call it."""
    hits = hr.scorer(**OPTIONS)
    return {query: [row["score"] for row in hits(query, RUN[query], GOLDEN[query])] for query in GOLDEN}


def futureagi() -> Values:
    """Run our `evaluate("hit_rate", ...)` on a batch of JSON, without Future AGI's package."""
    from hitrate_adapters.futureagi import evaluate

    batch = [[json.dumps(side[query]) for query in GOLDEN] for side in (RUN, GOLDEN)]
    scores = []
    for spec in METRICS:
        name, _, k = spec.partition("@")
        results: Any = evaluate(name, hypothesis=batch[0], reference=batch[1], k=int(k) if k else None)
        scores.append([result.score for result in results])
    return in_columns(scores)


def futureagi_sdk() -> Values:
    """Run `fi.evals.evaluate`, after `register()`."""
    from fi.evals import evaluate

    from hitrate_adapters.futureagi import register

    register()
    scores = []
    for spec in METRICS:
        name, _, k = spec.partition("@")
        options = {"k": int(k)} if k else {}
        scores.append([evaluate(name, hypothesis=RUN[q], reference=GOLDEN[q], **options).score for q in GOLDEN])
    return in_columns(scores)


def llama_index() -> Values:
    """Run `RetrieverEvaluator`'s loop over a dataset with a LlamaIndex retriever."""
    from llama_index.core import QueryBundle
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    from hitrate_adapters.llama_index import HitRateEvaluator

    class Table(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            found = RUN[query_bundle.query_str]  # chunks of documents: LlamaIndex itself drops a repeated node
            nodes = [TextNode(id_=f"chunk {at}", metadata={"id": item, "at": at}) for at, item in enumerate(found)]
            return [NodeWithScore(node=node, score=1 / rank) for rank, node in enumerate(nodes, 1)]

    evaluator = HitRateEvaluator(retriever=Table(), by="metadata:id", **OPTIONS)
    queries = {query: query for query in GOLDEN}
    results = evaluator.evaluate_dataset({"queries": queries, "relevant_docs": GOLDEN})
    return {query: [result.metric_vals_dict[each] for each in METRICS] for query, result in zip(GOLDEN, results)}  # noqa: B905


def langchain() -> Values:
    """Run a LangChain retriever's `batch`."""
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from hitrate_adapters.langchain import run_retriever

    class Table(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002
            return [Document("any text", id=item) for item in RUN[query]]

    return of_evaluation(hr.evaluate(GOLDEN, run_retriever(Table(), {query: query for query in GOLDEN})))


def langsmith() -> Values:
    """Run `langsmith.evaluate`, with a client that sends nothing."""
    from langsmith import Client, evaluate
    from langsmith.schemas import Example

    from hitrate_adapters.langsmith import HitRateEvaluator

    info = {"version": "0", "instance_flags": {"zstd_compression_enabled": True}}
    rows: Any = evaluate(
        lambda inputs: {"documents": [{"id": item, "page_content": ""} for item in RUN[inputs["query"]]]},
        data=[Example(id=uuid.uuid4(), inputs={"query": q}, outputs={"relevant": gold}) for q, gold in GOLDEN.items()],
        evaluators=[HitRateEvaluator(**OPTIONS)],
        client=Client(api_url="http://127.0.0.1:9", tracing_sampling_rate=0.0, info=info),
        upload_results=False,
    )
    feedback = {
        row["example"].inputs["query"]: {each.key: each.score for each in row["evaluation_results"]["results"]}
        for row in rows
    }
    return {query: [feedback[query][metric] for metric in METRICS] for query in GOLDEN}


def ragas() -> Values:
    """Run `ragas.evaluate`."""
    from ragas import EvaluationDataset, evaluate

    from hitrate_adapters.ragas import HitRateEvaluator

    rows = [{"user_input": q, "retrieved_context_ids": RUN[q], "reference_context_ids": GOLDEN[q]} for q in GOLDEN]
    result: Any = evaluate(EvaluationDataset.from_list(rows), metrics=[*HitRateEvaluator(**OPTIONS)])
    return in_columns([result[metric] for metric in METRICS])


def deepeval() -> Values:
    """Run `deepeval.evaluate`."""
    from deepeval import evaluate
    from deepeval.evaluate import CacheConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    from hitrate_adapters.deepeval import HitRateEvaluator

    items = {query: {"retrieved_ids": RUN[query], "relevant_ids": GOLDEN[query]} for query in GOLDEN}
    result = evaluate(
        [LLMTestCase(name=q, input=q, actual_output="any", metadata=both) for q, both in items.items()],
        HitRateEvaluator(**OPTIONS),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
        cache_config=CacheConfig(write_cache=False),
    )
    found = {row.name: {each.name: each.score for each in row.metrics_data or []} for row in result.test_results}
    return {query: [found[query][metric] for metric in METRICS] for query in GOLDEN}


def trulens() -> Values:
    """Run an instrumented app in a TruLens session on SQLite."""
    from trulens.apps.app import TruApp
    from trulens.core import TruSession
    from trulens.core.otel.instrument import instrument
    from trulens.otel.semconv.trace import SpanAttributes

    from hitrate_adapters.trulens import hit_rate_metrics

    class App:
        @instrument(span_type=SpanAttributes.SpanType.RETRIEVAL, attributes={"ids": "return"})  # type: ignore[untyped-decorator, unused-ignore]
        def retrieve(self, question: str) -> list[str]:
            return RUN[question]

        @instrument()  # type: ignore[untyped-decorator, unused-ignore]
        def answer(self, question: str) -> str:
            return f"{len(self.retrieve(question))} passages"

    session = TruSession(database_url="sqlite:///trulens.sqlite")
    metrics = hit_rate_metrics(GOLDEN, retrieved="ids", **OPTIONS)
    rag = App()
    app = TruApp(rag, app_name="golden", main_method=rag.answer, feedbacks=metrics)
    with app:
        for question in GOLDEN:
            rag.answer(question)
    session.force_flush()
    app.compute_feedbacks()
    session.force_flush()
    table, _ = session.get_records_and_feedback()
    found = table.set_index("input")
    return {query: [found.loc[query, metric.name] for metric in metrics] for query in GOLDEN}


def mlflow() -> Values:
    """Run `mlflow.genai.evaluate` in a store on SQLite."""
    import mlflow

    from hitrate_adapters.mlflow import hit_rate_scorers

    mlflow.set_tracking_uri("sqlite:///mlflow.sqlite")
    mlflow.create_experiment("golden", artifact_location="artifacts")
    mlflow.set_experiment("golden")
    scorers = hit_rate_scorers(**OPTIONS)
    data = [{"inputs": {"query": q}, "outputs": RUN[q], "expectations": {"relevant": GOLDEN[q]}} for q in GOLDEN]
    table = mlflow.genai.evaluate(data=data, scorers=scorers).tables["eval_results"]
    requests = [json.loads(request) if isinstance(request, str) else request for request in table["request"]]
    found = dict(zip([request["query"] for request in requests], table.to_dict("records"), strict=True))
    return {query: [found[query][f"{scorer.name}/value"] for scorer in scorers] for query in GOLDEN}


def pydantic_evals() -> Values:
    """Run `Dataset.evaluate`."""
    from pydantic_evals import Case, Dataset

    from hitrate_adapters.pydantic_evals import HitRateEvaluator

    cases = [Case(name=query, inputs=query, expected_output=gold) for query, gold in GOLDEN.items()]
    dataset = Dataset[str, list[str], Any](name="golden", cases=cases, evaluators=[HitRateEvaluator(**OPTIONS)])
    report = dataset.evaluate_sync(lambda query: RUN[query], progress=False)
    found = {case.name: {name: score.value for name, score in case.scores.items()} for case in report.cases}
    return {query: [found[query].get(metric) for metric in METRICS] for query in GOLDEN}


def haystack() -> Values:
    """Run a Haystack pipeline, and make its report."""
    from haystack import Document, Pipeline
    from haystack.evaluation import EvaluationRunResult

    from hitrate_adapters.haystack import HitRateEvaluator

    pipeline = Pipeline()
    pipeline.add_component("hits", HitRateEvaluator(**OPTIONS))
    relevant, retrieved = ([[Document(id=item) for item in side[q]] for q in GOLDEN] for side in (GOLDEN, RUN))
    output = pipeline.run({"hits": {"ground_truth_documents": relevant, "retrieved_documents": retrieved}})["hits"]
    report = EvaluationRunResult("golden", inputs={"query": list(GOLDEN)}, results=output["results"])
    columns: Any = report.detailed_report()
    return in_columns([columns[metric] for metric in METRICS])


def inspect_ai() -> Values:
    """Run `inspect_ai.eval` of a task, with Inspect's mock of a model."""
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    from hitrate_adapters.inspect_ai import hit_rate

    @solver  # type: ignore[untyped-decorator, unused-ignore]
    def retrieve() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - nothing is generated
            state.store.set("retrieved", RUN[state.input_text])
            return state

        return solve

    samples = [Sample(id=query, input=query, target=gold) for query, gold in GOLDEN.items()]
    task = inspect_ai.Task(dataset=samples, solver=retrieve(), scorer=hit_rate(**OPTIONS))
    (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir="logs")
    found: Any = {sample.id: next(iter((sample.scores or {}).values())).value for sample in log.samples or []}
    return {query: [found[query][metric] for metric in METRICS] for query in GOLDEN}


def phoenix() -> Values:
    """Run `phoenix.evals.evaluate_dataframe`."""
    import pandas as pd
    from phoenix.evals import evaluate_dataframe

    from hitrate_adapters.phoenix import hit_rate_evaluators

    rows = pd.DataFrame([{"retrieved": RUN[query], "relevant": gold} for query, gold in GOLDEN.items()])
    evaluators = hit_rate_evaluators(**OPTIONS)
    results = evaluate_dataframe(dataframe=rows, evaluators=evaluators, hide_tqdm_bar=True)
    return in_columns([[score.get("score") for score in results[f"{metric}_score"]] for metric in METRICS])


def in_columns(scores: Sequence[Sequence[float | None]]) -> Values:
    """Return the values by query, from a list for each metric in the order of the queries."""
    return {query: list(values) for query, values in zip(GOLDEN, zip(*scores, strict=True), strict=True)}


def of_evaluation(evaluation: hr.Evaluation) -> Values:
    """Return the values of every query, those that are not scored included."""
    metrics = list(map(hr.Metric.parse, METRICS))
    return {q: [each(evaluation[q]) if q in evaluation else None for each in metrics] for q in GOLDEN}


class Adapter(NamedTuple):
    """How to run one adapter, and what it needs."""

    drive: Callable[[], Values]
    module: str = "hitrate_adapters"
    """What must be importable."""
    package: str = "hitrate_adapters"
    """The distribution whose version is printed."""
    extra: str = ""
    """The extra that installs it."""


ADAPTERS = {
    "core": Adapter(core),
    "scorer": Adapter(scorer),
    "futureagi": Adapter(futureagi),
    "llama_index": Adapter(llama_index, "llama_index", "llama-index-core", "llama-index"),
    "langchain": Adapter(langchain, "langchain_core", "langchain-core", "langchain"),
    "langsmith": Adapter(langsmith, "langsmith", "langsmith", "langsmith"),
    "ragas": Adapter(ragas, "ragas", "ragas", "ragas"),
    "deepeval": Adapter(deepeval, "deepeval", "deepeval", "deepeval"),
    "trulens": Adapter(trulens, "trulens", "trulens-core", "trulens"),
    "mlflow": Adapter(mlflow, "mlflow", "mlflow", "mlflow"),
    "pydantic_evals": Adapter(pydantic_evals, "pydantic_evals", "pydantic-evals", "pydantic-evals"),
    "haystack": Adapter(haystack, "haystack", "haystack-ai", "haystack"),
    "inspect_ai": Adapter(inspect_ai, "inspect_ai", "inspect-ai", "inspect-ai"),
    "phoenix": Adapter(phoenix, "phoenix", "arize-phoenix-evals", "phoenix"),
    "futureagi_sdk": Adapter(futureagi_sdk, "fi", "ai-evaluation", "futureagi"),
}


def drive(name: str, file: Path) -> None:
    """Run one adapter in this process, and write its version and its values; NaN, which some print, becomes None."""
    warnings.simplefilter("ignore")  # theirs
    values = ADAPTERS[name].drive()
    plain = {query: [None if v is None or math.isnan(v) else float(v) for v in row] for query, row in values.items()}
    file.write_text(json.dumps([version(ADAPTERS[name].package), plain]), encoding="utf-8")


def run(name: str, python: str, folder: Path) -> tuple[str, Values] | str:
    """Run one adapter with that Python, in a folder of its own; return its version and values, or what went wrong."""
    folder.mkdir()
    file = folder / "values.json"
    python = str(Path(shutil.which(python) or python).absolute())
    command = [python, str(Path(__file__).resolve()), "--drive", name, str(file)]
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env={**os.environ, **QUIET}, capture_output=True, text=True, check=False
    )
    if done.returncode or not file.exists():
        return done.stderr.strip() or f"exit code {done.returncode}"
    release, values = json.loads(file.read_text(encoding="utf-8"))
    return release, values


def install(name: str, folder: Path) -> str:
    """Make an environment for one adapter, with uv where there is one; return its Python."""
    folder.mkdir(parents=True)
    target = f"{Path(__file__).resolve().parents[1]}[{ADAPTERS[name].extra}]"
    python = str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    if uv := shutil.which("uv"):
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, folder], check=True)  # noqa: S603
        subprocess.run([uv, "pip", "install", "-q", "--python", python, target], check=True)  # noqa: S603
    else:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", target], check=True)  # noqa: S603
    return python


def disagreements(found: Mapping[str, Values]) -> list[str]:
    """Return a line for every number in which an adapter differs from the first one."""
    (first, expected), *others = found.items()
    return [
        f"{name} differs from {first} in {metric} of {query!r}: {value} and {wanted}"
        for name, values in others
        for query in GOLDEN
        for metric, value, wanted in zip(METRICS, values[query], expected[query], strict=True)
        if (value is None) != (wanted is None) or not math.isclose(value or 0, wanted or 0, abs_tol=1e-12)
    ]


def line(name: str, found: str, values: Values) -> str:
    """Return an adapter's line of the table: the means over the queries that it scored."""
    scored = [row for row in values.values() if None not in row]
    means = [math.fsum(filter(None, column)) / len(scored) for column in zip(*scored, strict=True)]
    cells = "".join(f"{mean:12.4f}" for mean in means)
    return f"{name:16}{found:10}{cells}{len(scored):8}{len(values) - len(scored):12}"


def main() -> int:
    """Run every adapter that can be run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adapters", nargs="*", metavar="ADAPTER", help=f"of {', '.join(ADAPTERS)}; none: all")
    parser.add_argument("--env", action="append", default=[], metavar="ADAPTER=PYTHON", help="run it with that Python")
    parser.add_argument("--install", action="store_true", help="install what is absent, in temporary environments")
    parser.add_argument("--drive", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drive:
        drive(arguments.drive[0], Path(arguments.drive[1]))
        return 0
    pythons = dict(each.split("=", 1) if "=" in each else (each, "") for each in arguments.env)
    for name in (*arguments.adapters, *pythons):
        if name not in ADAPTERS:
            parser.error(f"{name!r} is no adapter: it is one of {', '.join(ADAPTERS)}")
        if name in pythons and not shutil.which(pythons[name]):
            parser.error(f"--env {name}={pythons[name]}: there is no such Python")

    found: dict[str, Values] = {}
    absent, broken = [], []
    print(
        f"{'adapter':16}{'version':10}{''.join(f'{metric:>12}' for metric in METRICS)}{'scored':>8}{'not scored':>12}"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name in arguments.adapters or ADAPTERS:
            adapter = ADAPTERS[name]
            if name in pythons:
                python = pythons[name]
            elif importlib.util.find_spec(adapter.module):
                python = sys.executable
            elif arguments.install:
                python = install(name, Path(folder, "environments", name))
            else:
                absent.append(f"{name:16}not installed: pip install 'hitrate-adapters[{adapter.extra}]'")
                continue
            match run(name, python, Path(folder, name)):
                case (release, values):
                    found[name] = values
                    print(line(name, release, values), flush=True)
                case error:
                    broken.append(f"{name} failed:\n{error}")
    print(*absent, sep="\n", end="\n" if absent else "")
    wrong = broken + (disagreements(found) if found else [])
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    verdict = f"differences and failures: {len(wrong)}" if wrong else "all agree on every query"
    print(f"{len(found)} adapters ran; {verdict}")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
