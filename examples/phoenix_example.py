"""Hit rate in a table of Arize Phoenix' evals. Offline: nothing here asks a model or sends anything."""

import pandas as pd
from phoenix.evals import evaluate_dataframe

from hitrate_adapters.phoenix import hit_rate_evaluators

ROWS = pd.DataFrame(
    {
        "query": ["How long do refunds take?", "Where does my refund go?", "Is my dog free?", "Is there a bank?"],
        "retrieved": [["refund-window", "refund-time"], ["bikes", "dogs"], ["dogs", "bikes"], ["bikes", "dogs"]],
        "relevant": [["refund-time"], ["refund-time"], ["dogs"], []],
    }
)
EVALUATORS = hit_rate_evaluators(k=(1, 2), metrics=("hit_rate", "mrr@10"))

if __name__ == "__main__":
    results = evaluate_dataframe(dataframe=ROWS, evaluators=EVALUATORS, hide_tqdm_bar=True)
    for evaluator in EVALUATORS:
        scores = pd.json_normalize(results[f"{evaluator.name}_score"])
        print(f"{evaluator.name}: {scores['score'].mean():.3f} of {scores['score'].count()} queries")
    for query, score in zip(results["query"], results["hit_rate@1_score"], strict=True):
        print(query, score.get("score"), score["explanation"], sep=" | ")
