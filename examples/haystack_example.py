"""Hit rate in a Haystack pipeline, beside one of Haystack's evaluators. Offline: nothing is sent."""

import os
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"  # before Haystack is imported

from haystack import Document, Pipeline
from haystack.components.evaluators import DocumentRecallEvaluator
from haystack.evaluation import EvaluationRunResult

from hitrate_adapters.haystack import HitRateEvaluator

CORPUS = {
    "refund-time": "Refunds take five days. They go to the card that paid.",
    "refund-window": "A ticket can be returned until one hour before departure.",
    "dogs": "Dogs travel free on a lead. They stay off the seats.",
    "bikes": "Bicycles go in the last carriage.",
}
FOUND = {
    "How long do refunds take?": ["refund-window", "refund-time"],
    "Where does my refund go?": ["bikes", "dogs"],
    "Is my dog free?": ["dogs", "bikes"],
    "Is there a bank?": ["bikes", "dogs"],
}
RELEVANT = [["refund-time"], ["refund-time"], ["dogs"], []]


def documents(names: list[str]) -> list[Document]:
    """Return the documents of these ids."""
    return [Document(id=name, content=CORPUS[name]) for name in names]


def evaluate() -> EvaluationRunResult:
    """Return the report of both evaluators."""
    pipeline = Pipeline()
    pipeline.add_component("hits", HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10")))
    pipeline.add_component("recall", DocumentRecallEvaluator())
    data = {
        "ground_truth_documents": [documents(names) for names in RELEVANT],
        "retrieved_documents": [documents(names) for names in FOUND.values()],
    }
    output = pipeline.run({"hits": data, "recall": data})
    results = {**output["hits"]["results"], "recall": output["recall"]}
    return EvaluationRunResult("found", inputs={"question": list(FOUND)}, results=results)


if __name__ == "__main__":
    report = evaluate()
    columns: Any = report.aggregated_report()
    for metric, score in zip(columns["metrics"], columns["score"], strict=True):
        print(f"{metric:12}{score:.3f}")
    print(report.detailed_report())  # hit rate leaves out the question without relevant documents; recall calls it 0
