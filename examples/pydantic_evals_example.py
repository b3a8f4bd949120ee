"""Hit rate in a pydantic-evals report, from cases in YAML. Offline: nothing here asks a model, nothing is sent."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic_evals import Case, Dataset

from hitrate_adapters.pydantic_evals import HitRateEvaluator

FOUND = {
    "How long do refunds take?": ["refund-window", "refund-time"],
    "Where does my refund go?": ["bikes", "dogs"],
    "Is my dog free?": ["dogs", "bikes"],
    "Is there a bank?": ["bikes", "dogs"],
}


def retrieve(question: str) -> list[str]:
    """Return the ids of the passages found for a question, best first: in the place of a retriever."""
    return FOUND[question]


DATASET = Dataset[str, list[str], Any](
    name="golden",
    cases=[
        Case(name="refund-time", inputs="How long do refunds take?", expected_output=["refund-time"]),
        Case(name="refund-way", inputs="Where does my refund go?", expected_output=["refund-time"]),
        Case(name="dogs", inputs="Is my dog free?", expected_output=["dogs"]),
        Case(name="bank", inputs="Is there a bank?", expected_output=[]),
    ],
    evaluators=[HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10"))],
)

if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        file = Path(folder, "golden.yaml")
        DATASET.to_file(file, custom_evaluator_types=[HitRateEvaluator])
        print(file.read_text(encoding="utf-8").partition("evaluators:\n- Hit")[2], end="\n\n")
        dataset = Dataset[str, list[str], Any].from_file(file, custom_evaluator_types=[HitRateEvaluator])

    report = dataset.evaluate_sync(retrieve, progress=False)
    report.print(include_durations=False, width=100)  # the case without relevant passages is in no average
    for case in report.cases:
        print(case.name, {name: score.value for name, score in case.scores.items()})
