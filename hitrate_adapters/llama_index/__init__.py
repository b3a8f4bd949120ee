"""Hit Rate@K and the metrics beside it in LlamaIndex: metrics, a retriever evaluator, and a response evaluator.

Ids are strings in LlamaIndex, so an id that is an int is compared by its `str()`.
"""

from hitrate_adapters._extras import extra

with extra("llama-index", "llama_index.core"):
    from .answers import answer_scores
    from .dataset import DatasetResult
    from .metrics import HitRateAtK, MAPAtK, MRRAtK, NDCGAtK, PrecisionAtK, RecallAtK, register_metrics
    from .response import HitRateResponseEvaluator, results_table
    from .results import evaluation
    from .retriever import HitRateEvaluator

__all__ = [
    "DatasetResult",
    "HitRateAtK",
    "HitRateEvaluator",
    "HitRateResponseEvaluator",
    "MAPAtK",
    "MRRAtK",
    "NDCGAtK",
    "PrecisionAtK",
    "RecallAtK",
    "answer_scores",
    "evaluation",
    "register_metrics",
    "results_table",
]
