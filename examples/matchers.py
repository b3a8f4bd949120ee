"""The hit rate at 5 of one retriever, as each way of matching sees it, on an index whose chunks were cut anew.

    python examples/matchers.py DIR    a folder with questions.jsonl and corpora/*.md

A row of questions.jsonl is {"query_id", "question", "corpus", "references": [{"start", "end", "text"}]}, in characters
of the corpus of that name. The golden set was made on chunks of 300 characters: its ids and texts are of those that
hold half of a reference. Retrieval is BM25.
"""

import json
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from retrieval import bm25

import hitrate_adapters as hr

SIZES = (300, 200, 400, 800)  # characters of a chunk
WAYS: dict[str, list[Any]] = {
    "spans": [hr.span_overlap(), hr.span_overlap(0.5), hr.span_overlap(1)],
    "ids of old chunks": [None],
    "texts of old chunks": [hr.same_text, hr.similar(0.8), hr.contains, hr.overlap(0.5), hr.overlap(0.8)],
    "texts of references": [hr.contains, hr.overlap(0.5), hr.overlap(0.8)],
}


def main(folder: str) -> None:
    """Print a row for each way of matching, with its hit rate for every size of chunk."""
    corpora = {path.stem: path.read_text("utf-8") for path in sorted(Path(folder, "corpora").glob("*.md"))}
    rows = [json.loads(line) for line in Path(folder, "questions.jsonl").read_text("utf-8").splitlines()]
    old = cut(corpora, SIZES[0])
    gold: dict[str, dict[int, list[object]]] = {kind: {} for kind in WAYS}
    for number, row in enumerate(rows):
        spans = [hr.Span(row["corpus"], each["start"], each["end"]) for each in row["references"]]
        held = [name for name, chunk in old.items() if any(hr.span_overlap(0.5)(chunk, span) for span in spans)]
        gold["spans"][number] = list(spans)
        gold["ids of old chunks"][number] = list(held)
        gold["texts of old chunks"][number] = [text_of(old[name], corpora) for name in held]
        gold["texts of references"][number] = [text_of(span, corpora) for span in spans]
    warnings.filterwarnings("ignore", "no relevant (id|text) was ever retrieved")  # that is what this is about
    hit_rates: dict[tuple[str, str], list[float]] = {}
    for size in SIZES:
        chunks = cut(corpora, size)
        texts = {name: text_of(chunk, corpora) for name, chunk in chunks.items()}
        ranked = dict(enumerate(bm25(texts)([row["question"] for row in rows], 5)))
        items: dict[str, Mapping[str, Any]] = {"spans": chunks, "ids of old chunks": {name: name for name in chunks}}
        for kind, matchers in WAYS.items():
            run = {number: [items.get(kind, texts)[name] for name in names] for number, names in ranked.items()}
            for match in matchers:
                way = kind, "" if match is None else getattr(match, "__name__", repr(match))
                hit_rates.setdefault(way, []).append(hr.evaluate(gold[kind], run, match=match).hit_rate(5))
    print(f"{'chunks of':38}", *(f"{size:5}" for size in SIZES))
    for (kind, matcher), values in hit_rates.items():
        print(f"{kind:20} {matcher:17}", *(f"{value:.3f}" for value in values))
    unheld = sum(not held for held in gold["ids of old chunks"].values())
    print(f"{len(rows)} questions; of {unheld} no old chunk holds half a reference")


def cut(corpora: Mapping[str, str], size: int) -> dict[str, hr.Span]:
    """Return the chunks of an index by id."""
    return {
        f"{name}-{number}": hr.Span(name, start, min(start + size, len(text)))
        for name, text in corpora.items()
        for number, start in enumerate(range(0, len(text), size))
    }


def text_of(span: hr.Span, corpora: Mapping[Any, str]) -> str:
    """Return the characters of a span."""
    return corpora[span.document][span.start : span.end]


if __name__ == "__main__":
    main(sys.argv[1])
