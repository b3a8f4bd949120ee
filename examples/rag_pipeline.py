"""Hit rate beside context recall and faithfulness: one RAG pipeline, evaluated in RAGAS, LlamaIndex and LangSmith.

    python examples/rag_pipeline.py               on the handbook of a ferry company; offline, without a key
    python examples/rag_pipeline.py --data DIR    hit rates of your own corpus.jsonl, queries.jsonl and qrels.jsonl

HITRATE_JUDGE_MODEL=gpt-4o-mini puts a real model in the place of the offline judge: see judges.py.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from math import isclose
from pathlib import Path

if not os.environ.get("HITRATE_JUDGE_MODEL"):
    os.environ["TQDM_DISABLE"] = "1"  # before tqdm is imported: the frameworks' bars, of work that takes a second

from retrieval import Data, Retriever, bm25, dense, fuse, load

import hitrate_adapters as hr

HANDBOOK = Path(__file__).with_name("handbook")


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate the handbook in each framework, or the folder that --data names by hit rate."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog='The files are JSON lines: {"_id": ..., "text": ...} for passages and queries, and for the judgements '
        '{"query_id": ..., "relevant": [passage ids]}, or passage id -> grade. '
        "HITRATE_JUDGE_MODEL=gpt-4o-mini puts a real model in the place of the offline judge.",
    )
    parser.add_argument(
        "--data", metavar="DIR", help="a folder with corpus.jsonl, queries.jsonl and qrels.jsonl: print their hit rates"
    )
    folder = parser.parse_args(arguments).data
    if folder is None:
        evaluate_handbook()
        return
    try:
        evaluate_folder(folder)
    except (OSError, TypeError, ValueError) as error:
        parser.error(f"--data: {error}")


def evaluate_folder(folder: str) -> None:
    """Print the hit rates of each retriever, at 1, 5 and 10."""
    data = load(folder)
    print(f"{len(data.corpus):,} passages, {len(data.queries):,} queries", flush=True)
    evaluations = judge(data, retrievers(data), 10)
    print(scored(evaluations["bm25"]))
    unknown = {passage for relevant in data.qrels.values() for passage in relevant} - data.corpus.keys()
    if unknown:
        print(f"{len(unknown):,} relevant ids are not in corpus.jsonl, such as {min(unknown)!r}: nothing can find them")
    print()
    means = {name: {f"hit_rate@{k}": float(each.hit_rate(k)) for k in (1, 5, 10)} for name, each in evaluations.items()}
    print_table("", means, evaluations)
    print(conclusion(evaluations, 5))


def evaluate_handbook() -> None:
    """Print a table per framework: hit rates beside the metrics that the framework has."""
    data = load(HANDBOOK)
    print(f"The handbook of a ferry company: {len(data.corpus)} passages, {len(data.queries)} questions", flush=True)
    import rag_frameworks as frameworks  # takes seconds, and --data needs none of it

    evaluators, found = frameworks.evaluators(), retrievers(data)
    print(frameworks.ABOUT, end="\n\n")
    evaluations = judge(data, found, frameworks.DEPTH)
    reported = {}
    for title, evaluate in evaluators.items():
        means = {name: evaluate(data, frameworks.pipeline(data, retriever)) for name, retriever in found.items()}
        print_table(title, means, evaluations)
        reported[title] = means
    check_agreement(reported, evaluations)
    print(f"{', '.join(reported)}: the same hit rates in each.")
    print(conclusion(evaluations, frameworks.DEPTH))


def retrievers(data: Data) -> dict[str, Retriever]:
    """Return the retrievers that are compared."""
    by_words, by_meaning = bm25(data.corpus), dense(data.corpus)
    return {"bm25": by_words, "dense": by_meaning, "hybrid": fuse(by_words, by_meaning)}


def judge(data: Data, found: Mapping[str, Retriever], depth: int) -> dict[str, hr.Evaluation]:
    """Return the evaluation of each retriever, at cutoffs up to the depth."""
    queries = list(data.queries.values())
    runs = {name: dict(zip(data.queries, retriever(queries, depth), strict=True)) for name, retriever in found.items()}
    return {name: hr.evaluate(data.qrels, run) for name, run in runs.items()}


def scored(evaluation: hr.Evaluation) -> str:
    """Return how many queries the means are over, and which are not what one might think."""
    parts = [f"{len(evaluation):,} scored (in brackets, 95 % intervals)"]
    if evaluation.missing:
        parts.append(f"{len(evaluation.missing):,} of them absent from queries.jsonl, a miss each")
    if evaluation.unscored:
        parts.append(f"{len(evaluation.unscored):,} without relevant passages, in no mean")
    return ", ".join(parts)


def print_table(title: str, means: Mapping[str, Mapping[str, float]], evaluations: Mapping[str, hr.Evaluation]) -> None:
    """Print a row per retriever and a column per metric, hit rates with their 95 % interval."""

    def cell(name: str, metric: str) -> str:
        interval = evaluations[name].score(metric).interval if metric.startswith("hit_rate") else None
        within = " [{:.3f}, {:.3f}]".format(*interval) if interval else ""
        return f"{means[name][metric]:.3f}{within}"

    metrics = next(iter(means.values()))
    rows = [[f"{title:10}", *metrics], *([f"  {name}", *(cell(name, metric) for metric in metrics)] for name in means)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("   ".join(map(str.ljust, row, widths)).rstrip())
    print()


def check_agreement(
    reported: Mapping[str, Mapping[str, Mapping[str, float]]], evaluations: Mapping[str, hr.Evaluation]
) -> None:
    """Exit with a message where a framework reports another hit rate than the package by itself."""
    for title, means in reported.items():
        for name, row in means.items():
            for metric, value in row.items():
                if metric.startswith("hit_rate") and not isclose(value, evaluations[name].score(metric)):
                    sys.exit(f"{title} reports {metric} = {value} of {name}: {evaluations[name].score(metric)!r}")


def conclusion(evaluations: Mapping[str, hr.Evaluation], k: int) -> str:
    """Return which retriever hits more questions at k, and whether chance explains it."""
    board = hr.leaderboard(evaluations, f"hit_rate@{k}")
    return f"What to conclude at k = {k}, question by question:\n{board}"


if __name__ == "__main__":
    main()
