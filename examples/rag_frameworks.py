"""One RAG pipeline, and its evaluation in RAGAS, LlamaIndex and LangSmith. Offline: nothing is sent anywhere."""

import os
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import NAMESPACE_OID, uuid5

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before ragas is imported; "1" would not do

import ragas
from judges import judge_model, llama_index_judge, ragas_judge
from langchain_core.documents import Document
from langsmith import Client, evaluate
from langsmith.schemas import Example
from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import BatchEvalRunner, FaithfulnessEvaluator
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from offline_judge import sentences
from ragas.metrics import context_recall, faithfulness
from retrieval import Data, Retriever, bm25

from hitrate_adapters.langsmith import HitRateEvaluator as LangSmithHitRate
from hitrate_adapters.llama_index import HitRateResponseEvaluator, results_table
from hitrate_adapters.ragas import HitRateEvaluator as RagasHitRate

K = (1, 5)
DEPTH = max(K)
INVENTED = "This has been the rule since the spring of 2019."
ABOUT = f"""\
{DEPTH} passages are retrieved for each; in brackets stand 95 % intervals.
Generator: a stand-in that copies a sentence, and adds an invented one where it is unsure.
Judge: {judge_model() or "OfflineRagasJudge and OfflineLlamaIndexJudge, rules in place of a model"}.
Faithfulness is the supported share of each answer in RAGAS, all or nothing in LlamaIndex."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the pipeline gives for a question: an answer, and the ids and the texts of the passages that it saw."""

    text: str
    ids: list[str]
    contexts: list[str]


Pipeline = Callable[[str], Answer]
Means = dict[str, float]
"""Metric -> its mean over the questions."""


def pipeline(data: Data, retriever: Retriever) -> Pipeline:
    """Return the pipeline: a function from a question to its answer."""

    def ask(question: str) -> Answer:
        (ids,) = retriever([question], DEPTH)
        contexts = [data.corpus[passage] for passage in ids]
        return Answer(stand_in_generator(question, contexts), ids, contexts)

    return ask


def stand_in_generator(question: str, contexts: list[str]) -> str:
    """Return the sentence of the contexts that fits the question best, in place of a language model's answer.

    Where that sentence is not in the first context it is unsure, and adds a sentence that no context has.
    """
    candidates = {sentence: sentence for context in contexts for sentence in sentences(context)}
    found = bm25(candidates)([question], 1)[0] if candidates else []
    return found[0] if found and found[0] in contexts[0] else " ".join([*found, INVENTED])


def evaluators() -> dict[str, Callable[[Data, Pipeline], Means]]:
    """Return the frameworks, each a function that evaluates a pipeline; exits where the judge cannot be had."""
    return {
        "RAGAS": partial(in_ragas, ragas_judge()),
        "LlamaIndex": partial(in_llama_index, llama_index_judge()),
        "LangSmith": in_langsmith,
    }


def in_ragas(judge: Any, data: Data, ask: Pipeline) -> Means:
    """Return the means of RAGAS' `evaluate`, where hit rates stand in the list of metrics."""
    rows = []
    for query_id, question in data.queries.items():
        answer = ask(question)
        rows.append(
            {
                "user_input": question,
                "retrieved_context_ids": answer.ids,
                "retrieved_contexts": answer.contexts,
                "reference_context_ids": list(data.qrels[query_id]),
                "response": answer.text,
                "reference": data.references[query_id],
            }
        )
    result: Any = ragas.evaluate(
        ragas.EvaluationDataset.from_list(rows),
        metrics=[*RagasHitRate(k=K), context_recall, faithfulness],
        llm=judge,
        show_progress=bool(judge_model()),
    )
    means = result.to_pandas()[[*result.scores[0]]].mean()  # without the rows that a judge failed on
    return {str(metric): float(mean) for metric, mean in means.items()}


class PipelineQueryEngine(CustomQueryEngine):
    """The pipeline in the form that LlamaIndex runs."""

    ask: Pipeline

    def custom_query(self, query_str: str) -> Response:
        """Return the answer, with the passages as its source nodes."""
        answer = self.ask(query_str)
        passages = zip(answer.ids, answer.contexts, strict=True)
        nodes = [NodeWithScore(node=TextNode(id_=passage, text=text)) for passage, text in passages]
        return Response(answer.text, source_nodes=nodes)


def in_llama_index(judge: Any, data: Data, ask: Pipeline) -> Means:
    """Return the means of LlamaIndex' `BatchEvalRunner`, where hit rates stand beside its FaithfulnessEvaluator."""
    evaluators = {
        **{f"hit_rate@{k}": HitRateResponseEvaluator(k=k) for k in K},
        "faithfulness": FaithfulnessEvaluator(llm=judge),
    }
    expected_ids: Any = [list(data.qrels[query_id]) for query_id in data.queries]
    results = BatchEvalRunner(evaluators, workers=8).evaluate_queries(
        PipelineQueryEngine(ask=ask), queries=list(data.queries.values()), expected_ids=expected_ids
    )
    table: Any = results_table(results)
    return {row["evaluator"]: row["mean"] for row in table}


def in_langsmith(data: Data, ask: Pipeline) -> Means:
    """Return the summary of LangSmith's `evaluate` over a dataset in memory, with a client that sends nothing."""

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        answer = ask(inputs["question"])
        passages = zip(answer.ids, answer.contexts, strict=True)
        return {"answer": answer.text, "documents": [Document(text, id=passage) for passage, text in passages]}

    examples = [
        Example(
            id=uuid5(NAMESPACE_OID, query_id),
            inputs={"question": question},
            outputs={"relevant": data.qrels[query_id], "answer": data.references[query_id]},
        )
        for query_id, question in data.queries.items()
    ]
    hits = LangSmithHitRate(k=K)
    info = {"version": "0", "instance_flags": {"zstd_compression_enabled": True}}
    client = Client(api_key="none", info=info, tracing_sampling_rate=0.0)
    warnings.filterwarnings("ignore", "'upload_(runs|results)' parameter is in beta")
    with redirect_stdout(None):  # "Starting evaluation of experiment"
        results: Any = evaluate(
            target,
            data=examples,
            evaluators=[hits],
            summary_evaluators=[hits.summary],
            client=client,
            upload_results=False,
        )
    return {result.key: result.score for result in results._summary_results["results"]}  # noqa: SLF001 - no public name
