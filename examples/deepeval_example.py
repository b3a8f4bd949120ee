"""Hit rate in DeepEval's `evaluate` and `assert_test`. Offline: nothing here asks a model, nothing is sent."""

import os

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"

from deepeval import assert_test, evaluate
from deepeval.evaluate import CacheConfig, DisplayConfig
from deepeval.test_case import LLMTestCase

from hitrate_adapters.deepeval import HitRateAtK, HitRateEvaluator

CORPUS = {
    "refund-time": "Refunds take five days. They go to the card that paid.",
    "refund-window": "A ticket can be returned until one hour before departure.",
    "dogs": "Dogs travel free on a lead. They stay off the seats.",
    "bikes": "Bicycles go in the last carriage.",
}


def case(name: str, question: str, retrieved: list[str], relevant: list[str]) -> LLMTestCase:
    """Return a test case that holds texts, for DeepEval's own metrics, and ids, for hit rate."""
    return LLMTestCase(
        name=name,
        input=question,
        actual_output=CORPUS[retrieved[0]],
        retrieval_context=[CORPUS[passage] for passage in retrieved],
        metadata={"retrieved_ids": retrieved, "relevant_ids": relevant},
    )


CASES = [
    case("refund-time", "How long do refunds take?", ["refund-window", "refund-time"], ["refund-time"]),
    case("refund-way", "Where does my refund go?", ["bikes", "dogs"], ["refund-time"]),
    case("dogs", "Is my dog free?", ["dogs", "bikes"], ["dogs"]),
    case("bank", "Is there a bank?", ["bikes", "dogs"], []),
]
METRICS = HitRateEvaluator(k=(1, 2), metrics=("hit_rate", "mrr@10"))

if __name__ == "__main__":
    quiet = DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False)
    result = evaluate(CASES, METRICS, display_config=quiet, cache_config=CacheConfig(write_cache=False))
    for row in sorted(result.test_results, key=lambda row: str(row.name)):
        print(row.name)
        for data in row.metrics_data or []:
            print(f"  {data.name:10}  {data.score}  {data.reason}")

    assert_test(CASES[0], [HitRateAtK(2)])  # in a test: passes
    try:
        assert_test(CASES[1], [HitRateAtK(2)])
    except AssertionError as error:
        print(error)
