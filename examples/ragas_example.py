"""Hit rate in one table with RAGAS' context_recall and faithfulness, and on its own. Offline: a rule is the judge."""
# ruff: noqa: E402 - two settings come before RAGAS is imported

import asyncio
import os
import warnings
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # "1" would not do
warnings.filterwarnings("ignore", "Importing .* from 'ragas.metrics' is deprecated", DeprecationWarning)

from offline_judge import OfflineRagasJudge
from ragas import EvaluationDataset, evaluate
from ragas.metrics import context_recall, faithfulness

from hitrate_adapters.ragas import HitRateAtK, HitRateEvaluator

CORPUS = {
    "refund-time": "Refunds take five days. They go to the card that paid.",
    "refund-window": "A ticket can be returned until one hour before departure.",
    "dogs": "Dogs travel free on a lead. They stay off the seats.",
    "bikes": "Bicycles go in the last carriage.",
}


def row(question: str, retrieved: list[str], relevant: list[str], response: str, reference: str) -> dict[str, Any]:
    """Return a row in RAGAS' columns: texts for its judge, ids for hit rate."""
    return {
        "user_input": question,
        "retrieved_context_ids": retrieved,
        "retrieved_contexts": [CORPUS[passage] for passage in retrieved],
        "reference_context_ids": relevant,
        "response": response,
        "reference": reference,
    }


SLOW, LATE, FREE = "Refunds take five days.", "Refunds take one hour.", "Dogs travel free on a lead."
ROWS = [
    row("How long do refunds take?", ["refund-window", "refund-time"], ["refund-time"], SLOW, SLOW),
    row("Where does my refund go?", ["bikes", "dogs"], ["refund-time"], LATE, "They go to the card that paid."),
    row("Is my dog free?", ["dogs", "bikes"], ["dogs"], f"{FREE} They may sit on seats.", FREE),
]
JUDGE: Any = OfflineRagasJudge()  # a real one: llm_factory("gpt-4o-mini", client=AsyncOpenAI())

if __name__ == "__main__":
    hits = HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10"))
    dataset = EvaluationDataset.from_list(ROWS)
    result: Any = evaluate(dataset, metrics=[*hits, context_recall, faithfulness], llm=JUDGE, show_progress=False)
    print(result.to_pandas()[["user_input", *result.scores[0]]].to_string(index=False))
    print(result, end="\n\n")

    print(asyncio.run(HitRateAtK(1).ascore(**ROWS[0])), end="\n\n")  # as inside @experiment

    print(hits.evaluate(ROWS))  # without RAGAS' runner: intervals, nothing sent, rows in order
