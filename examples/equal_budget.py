"""Compare chunk sizes at an equal k, and at an equal budget of context, on questions whose answers are spans of text.

    python examples/equal_budget.py DIR    a folder with questions.jsonl and corpora/*.md

A row of questions.jsonl is {"query_id", "question", "corpus", "references": [{"start", "end"}]}, in characters of the
corpus of that name. A chunk is relevant where it holds half of a reference or more. Retrieval is BM25.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from retrieval import bm25

import hitrate_adapters as hr

SIZES = (200, 400, 800)  # characters of a chunk
CUTOFFS = (1, 5, 10)
BUDGETS = (1_000, 2_000, 4_000, 8_000)  # characters of context


def main(folder: str) -> None:
    """Print the hit rate of each chunk size at each k and within each budget, and the mean context that it takes."""
    judged = {size: evaluate(folder, size) for size in SIZES}
    print_row("chunks of", (f"k = {k}" for k in CUTOFFS))
    for size, (evaluation, texts) in judged.items():
        points = evaluation.curve(up_to=max(CUTOFFS), texts=texts).points
        print_row(f"{size} characters", (f"{points[k - 1].score:.3f} ({points[k - 1].context:,.0f})" for k in CUTOFFS))
    print()
    print_row("chunks of", (f"{budget:,} characters" for budget in BUDGETS))
    for size, (evaluation, texts) in judged.items():
        ends = [evaluation.within(budget, texts=texts).curve(texts=texts).points[-1] for budget in BUDGETS]
        print_row(f"{size} characters", (f"{end.score:.3f} ({end.context:,.0f})" for end in ends))


def evaluate(folder: str, size: int, depth: int = 50) -> tuple[hr.Evaluation, dict[hr.Span, str]]:
    """Cut the corpora into chunks of that size, and return the judged retrieval and the text of each chunk."""
    texts = {}
    for path in sorted(Path(folder, "corpora").glob("*.md")):
        text = path.read_text("utf-8")
        for start in range(0, len(text), size):
            texts[hr.Span(path.stem, start, min(start + size, len(text)))] = text[start : start + size]
    chunks = {str(number): chunk for number, chunk in enumerate(texts)}
    rows = [json.loads(line) for line in Path(folder, "questions.jsonl").read_text("utf-8").splitlines()]
    found = bm25({name: texts[chunk] for name, chunk in chunks.items()})([row["question"] for row in rows], depth)
    qrels, run = {}, {}
    for row, names in zip(rows, found, strict=True):
        query_id = row["corpus"], row["query_id"]
        qrels[query_id] = [hr.Span(row["corpus"], each["start"], each["end"]) for each in row["references"]]
        run[query_id] = [chunks[name] for name in names]
    return hr.evaluate(qrels, run, match=hr.span_overlap(0.5)), texts


def print_row(head: str, cells: Iterable[str]) -> None:
    """Print a row of a table."""
    print(f"{head:16}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main(sys.argv[1])
