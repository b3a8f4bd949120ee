"""Golden sets, runs, texts and evaluations in files."""

from .reading import ReadQrels, ReadRun, ReadTexts, read_qrels, read_run, read_texts
from .saved import load, save
from .writing import write_qrels, write_run

__all__ = [
    "ReadQrels",
    "ReadRun",
    "ReadTexts",
    "load",
    "read_qrels",
    "read_run",
    "read_texts",
    "save",
    "write_qrels",
    "write_run",
]
