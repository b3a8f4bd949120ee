"""Hit Rate@K, and the metrics that belong beside it, for the evaluation framework that you already use."""

from .core.evaluation import Evaluation, Score, evaluate
from .core.matching import contains, overlap, same_text
from .core.metrics import METRICS, Metric
from .core.records import Match, QueryRecord, judge
from .core.retrieval import Run, run_retriever
from .core.scoring import scorer

__all__ = [
    "METRICS",
    "Evaluation",
    "Match",
    "Metric",
    "QueryRecord",
    "Run",
    "Score",
    "contains",
    "evaluate",
    "judge",
    "overlap",
    "run_retriever",
    "same_text",
    "scorer",
]
__version__ = "0.1.0"
