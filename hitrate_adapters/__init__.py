"""Hit Rate@K, and the metrics that belong beside it, for the evaluation framework that you already use."""

from .core.evaluation import Evaluation, evaluate
from .core.matching import contains, overlap, same_text, similar
from .core.metrics import METRICS, Metric
from .core.records import Match, QueryRecord, judge
from .core.retrieval import Run, run_retriever
from .core.scores import Score
from .core.scoring import scorer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .core.answers import HitsAndAnswers as HitsAndAnswers
    from .core.causes import Miss as Miss
    from .core.comparison import Comparison as Comparison
    from .core.comparison import Comparisons as Comparisons
    from .core.curve import Curve as Curve
    from .core.diagnosis import Diagnosis as Diagnosis
    from .core.diagnosis import diagnose as diagnose
    from .core.drift import Drift as Drift
    from .core.drift import drift as drift
    from .core.labels import MissingLabels as MissingLabels
    from .core.labels import add_labels as add_labels
    from .core.labels import missing_labels as missing_labels
    from .core.labels import pool as pool
    from .core.leaderboard import Leaderboard as Leaderboard
    from .core.leaderboard import leaderboard as leaderboard
    from .core.segments import Segments as Segments
    from .core.significance import sample_size as sample_size
    from .core.spans import Span as Span
    from .core.spans import span_overlap as span_overlap
    from .formats.reading import read_qrels as read_qrels
    from .formats.reading import read_run as read_run
    from .formats.reading import read_texts as read_texts
    from .formats.saved import load as load
    from .formats.saved import save as save
    from .formats.writing import write_qrels as write_qrels
    from .formats.writing import write_run as write_run

__all__ = [
    "METRICS",
    "Comparison",
    "Comparisons",
    "Curve",
    "Diagnosis",
    "Drift",
    "Evaluation",
    "HitsAndAnswers",
    "Leaderboard",
    "Match",
    "Metric",
    "Miss",
    "MissingLabels",
    "QueryRecord",
    "Run",
    "Score",
    "Segments",
    "Span",
    "add_labels",
    "contains",
    "diagnose",
    "drift",
    "evaluate",
    "judge",
    "leaderboard",
    "load",
    "missing_labels",
    "overlap",
    "pool",
    "read_qrels",
    "read_run",
    "read_texts",
    "run_retriever",
    "same_text",
    "sample_size",
    "save",
    "scorer",
    "similar",
    "span_overlap",
    "write_qrels",
    "write_run",
]
__version__ = "0.1.0"

_LATER = {
    "HitsAndAnswers": "answers",
    "Miss": "causes",
    "Comparison": "comparison",
    "Comparisons": "comparison",
    "Curve": "curve",
    "Diagnosis": "diagnosis",
    "diagnose": "diagnosis",
    "Drift": "drift",
    "drift": "drift",
    "MissingLabels": "labels",
    "add_labels": "labels",
    "missing_labels": "labels",
    "pool": "labels",
    "Leaderboard": "leaderboard",
    "leaderboard": "leaderboard",
    "Segments": "segments",
    "sample_size": "significance",
    "Span": "spans",
    "span_overlap": "spans",
    "read_qrels": ".formats.reading",
    "read_run": ".formats.reading",
    "read_texts": ".formats.reading",
    "load": ".formats.saved",
    "save": ".formats.saved",
    "write_qrels": ".formats.writing",
    "write_run": ".formats.writing",
}
"""Public name -> the module that has it, in the core unless it begins with a dot; imported when first asked for."""


def __getattr__(name: str) -> object:
    """Return a name of a module that is imported only now."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = _LATER[name]
    return getattr(import_module(module if module.startswith(".") else f".core.{module}", __name__), name)


def __dir__() -> list[str]:
    return __all__
