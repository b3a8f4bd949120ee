"""A golden set whose index was cut anew: hit rate by the old ids, by spans of characters, and re-anchored by `drift`.

    python examples/rechunked_index.py DIR    a folder with questions.jsonl and corpora/*.md

A row of questions.jsonl is {"query_id", "question", "corpus", "references": [{"start", "end"}]}, in characters of the
corpus of that name. The golden set was made on chunks of 400 characters: those that hold a part of a reference are
relevant. An id is that of the corpus and the number of the chunk. Then the corpora are cut anew, and searched by BM25.
What is re-anchored is the text of the relevant chunks, or of the references themselves. Of the labels, "right" is the
share that hold a part of a reference; "kept" is the share, of all chunks that do, which are labelled.
"""

import json
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from retrieval import bm25

import hitrate_adapters as hr

K = 5
LABELLED = ("", 400, 400)  # what ids begin with, characters of a chunk, and from its start to that of the next
CUTS = {
    "400, new ids": ("new-", 400, 400),
    "300": ("", 300, 300),
    "500": ("", 500, 500),
    "800": ("", 800, 800),
    "400 every 200": ("", 400, 200),
}
Cut = tuple[str, int, int]
Spans = Mapping[str, list[hr.Span]]


def main(folder: str) -> None:
    """Print a row for each cut, what became of the chunks in one of them, and why queries miss there."""
    corpora = {path.stem: path.read_text("utf-8") for path in sorted(Path(folder, "corpora").glob("*.md"))}
    rows = [json.loads(line) for line in Path(folder, "questions.jsonl").read_text("utf-8").splitlines()]
    spans = {
        row["query_id"]: [hr.Span(row["corpus"], each["start"], each["end"]) for each in row["references"]]
        for row in rows
    }
    chunks, labelled = texts_of(cut_up(corpora, LABELLED), corpora), holding(spans, LABELLED)
    chunks = {item: chunks[item] for items in labelled.values() for item in items}
    names = {query: {f"{query}/{n}": span for n, span in enumerate(each)} for query, each in spans.items()}
    references = texts_of({name: span for each in names.values() for name, span in each.items()}, corpora)
    warnings.filterwarnings("ignore", "no relevant id was ever retrieved")  # that is what this is about

    print(f"{len(rows)} questions, {len(chunks)} relevant chunks, {len(references)} references; hit_rate@{K} of BM25")
    print(f"{'':13}  old ids  spans   by chunks  right   kept   by references  right   kept")
    for name, cut in CUTS.items():
        places, truth = cut_up(corpora, cut), holding(spans, cut)
        corpus = texts_of(places, corpora)
        run = dict(zip(spans, bm25(corpus)([row["question"] for row in rows], K), strict=True))
        span_run = {query: [places[item] for item in items] for query, items in run.items()}
        by_span, by_id = hr.evaluate(spans, span_run, match=hr.span_overlap()), hr.evaluate(labelled, run)
        line = f"{name:13}  {by_id.hit_rate(K):7.3f}  {by_span.hit_rate(K):5.3f}"
        for texts, gold, width in ((chunks, labelled, 10), (references, {q: set(names[q]) for q in names}, 14)):
            qrels = {query: set(items) for query, items in hr.drift(texts, corpus).reanchor(gold).items()}
            right = sum(len(truth[query] & items) for query, items in qrels.items())
            shares = [right / sum(map(len, labels.values())) for labels in (qrels, truth)]
            line += f"  {hr.evaluate(qrels, run).hit_rate(K):{width}.3f}  {shares[0]:5.2f}  {shares[1]:5.2f}"
        print(line)
        if name == "300":
            queries = {row["query_id"]: row["question"] for row in rows}
            moved = hr.drift(chunks, corpus)
            found = hr.diagnose(by_id, K, texts=chunks, queries=queries, corpus=corpus)
            hits = set(found.misses).difference(by_span.misses(K))
    print(
        "\nThe chunks of 400 characters in those of 300, and why queries miss by the old ids:", moved, found, sep="\n"
    )
    explained = hits.intersection(found.of("other_granularity"))
    print(f"{len(hits)} of the misses are hits by spans; {len(explained)} of these are named as another granularity")


def cut_up(corpora: Mapping[str, str], cut: Cut) -> dict[str, hr.Span]:
    """Return the chunks of an index by id."""
    prefix, size, step = cut
    return {
        f"{prefix}{name}/{start // step}": hr.Span(name, start, min(start + size, len(text)))
        for name, text in corpora.items()
        for start in range(0, len(text), step)
    }


def holding(spans: Spans, cut: Cut) -> dict[str, set[str]]:
    """Return query -> the ids of the chunks that hold a part of a reference."""
    prefix, size, step = cut
    return {
        query: {
            f"{prefix}{name}/{number}"
            for name, start, end in references
            for number in range(max(0, (start - size) // step + 1), (end - 1) // step + 1)
        }
        for query, references in spans.items()
    }


def texts_of(spans: Mapping[str, hr.Span], corpora: Mapping[str, str]) -> dict[str, str]:
    """Return id -> text."""
    return {item: corpora[str(name)][start:end] for item, (name, start, end) in spans.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
