"""Hit rate in MLflow, on SQLite: scorers of what the RETRIEVER spans of an app hold."""

import os
import tempfile
from typing import Any

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow
from mlflow.entities import Document, SpanType

from hitrate_adapters.mlflow import hit_rate_scorers

CORPUS = {
    "refund-time": "Refunds take five days. They go to the card that paid.",
    "refund-window": "A ticket can be returned for a refund until one hour before departure.",
    "dogs": "Dogs travel free on a lead. They stay off the seats.",
    "bikes": "Bicycles go in the last carriage. They travel free.",
}
GOLDEN = {
    "How many days do refunds take?": ["refund-time"],
    "How long before departure can I return a ticket?": ["refund-window"],
    "Do bicycles travel free?": ["bikes"],
}


def search(question: str) -> list[str]:
    """Return the ids of all passages, those with more of the question's words first."""
    words = set(question.strip("?").split())
    return sorted(CORPUS, key=lambda passage: -len(words.intersection(CORPUS[passage].split())))


def answer(question: str) -> str:
    """Return the best passage."""
    with mlflow.start_span("retrieve", span_type=SpanType.RETRIEVER) as span:
        span.set_inputs({"question": question})
        found = search(question)
        span.set_outputs([Document(id=passage, page_content=CORPUS[passage]) for passage in found])
    return CORPUS[found[0]]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.sqlite")
        mlflow.create_experiment("retrieval", artifact_location=f"{folder}/artifacts")
        mlflow.set_experiment("retrieval")
        result: Any = mlflow.genai.evaluate(
            data=[{"inputs": {"question": q}, "expectations": {"relevant": gold}} for q, gold in GOLDEN.items()],
            predict_fn=answer,
            scorers=hit_rate_scorers(k=(1, 2), metrics=("hit_rate", "mrr@10")),
        )
    for name in sorted(result.metrics):
        print(f"{name.replace('_at_', '@'):20} {result.metrics[name]:.3f}")
