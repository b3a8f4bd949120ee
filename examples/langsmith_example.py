"""Hit rate of a target with its retriever inside, in LangSmith's evaluate. Offline: nothing is sent. Needs pandas."""

import warnings
from pathlib import Path
from typing import Any
from uuid import uuid4

from langsmith import Client, evaluate, traceable
from langsmith.schemas import Example
from retrieval import bm25, load

from hitrate_adapters.langsmith import HitRateEvaluator

warnings.filterwarnings("ignore", ".*parameter is in beta")  # upload_results=False

DATA = load(Path(__file__).parent / "handbook")
SEARCH = bm25(DATA.corpus)
CLIENT = Client(  # records runs in memory and sends none; with an account: Client()
    api_url="http://127.0.0.1:9",
    tracing_sampling_rate=0.0,
    info={"version": "0", "instance_flags": {"zstd_compression_enabled": True}},
)


@traceable(run_type="retriever")
def retrieve(question: str) -> list[dict[str, Any]]:
    """Return documents as LangSmith likes to show them; a LangChain retriever is traced like this by itself."""
    (found,) = SEARCH([question], 10)
    return [{"id": passage, "page_content": DATA.corpus[passage], "metadata": {}} for passage in found]


def target(inputs: dict[str, Any]) -> dict[str, Any]:
    """Answer with the first sentence of the best passage; the evaluator finds the documents in the retriever's run."""
    documents = retrieve(inputs["question"])
    return {"answer": documents[0]["page_content"].partition(". ")[0] if documents else "I do not know."}


if __name__ == "__main__":
    examples = [
        Example(id=uuid4(), inputs={"question": question}, outputs={"relevant": DATA.qrels[query]})
        for query, question in DATA.queries.items()
    ]
    hits = HitRateEvaluator(k=(1, 5), metrics=("hit_rate", "mrr@10"))
    results: Any = evaluate(
        target,
        data=examples,
        evaluators=[hits],
        summary_evaluators=[hits.summary],
        client=CLIENT,
        upload_results=False,
    )
    columns = ["inputs.question", *(f"feedback.{key}" for key in hits.feedback_keys)]
    print(results.to_pandas()[columns].head(5).to_string(index=False), end="\n\n")

    evaluation = hits.evaluation(results)
    print(evaluation, end="\n\n")
    questions = {str(example.id): (example.inputs or {})["question"] for example in examples}
    print("missed at 5:", *(f"- {questions[str(missed)]}" for missed in evaluation.misses(5)[:3]), sep="\n")
