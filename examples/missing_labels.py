"""Which labels a golden set may lack: what several runs suggest to judge, and what resembles a relevant passage.

    python examples/missing_labels.py DIR    a folder with corpus.jsonl, queries.jsonl, qrels.jsonl and runs/*.jsonl

A row of a run is {"query_id": "q1", "retrieved": ["p1", "p2"]}, best first.
"""

import json
import sys
from pathlib import Path

from retrieval import load

import hitrate_adapters as hr

K = 5


def main(folder: str) -> None:
    """Print the pool's size and its first rows, the bounds of each run's hit rate, and the first run's candidates."""
    data = load(folder)
    runs = {}
    for path in sorted(Path(folder, "runs").glob("*.jsonl")):
        rows = map(json.loads, path.read_text("utf-8").splitlines())
        runs[path.stem] = {row["query_id"]: row["retrieved"] for row in rows}

    to_judge = hr.pool(data.qrels, runs, depth=K, labels=3)
    lacking = len({row["query_id"] for row in to_judge})
    first = sum(len(row["runs"]) == len(runs) for row in to_judge)
    print(f"{lacking} of {len(data.qrels)} queries have fewer than 3 relevant passages")
    print(f"{len(to_judge):,} passages to judge in the top {K} of {len(runs)} runs, {first} of them in every run")

    print(f"\n{f'hit_rate@{K}':12}  as labelled  all accepted  candidates  queries")
    found = {name: hr.missing_labels(hr.evaluate(data.qrels, run), K, texts=data.corpus) for name, run in runs.items()}
    for name, each in found.items():
        queries = len({candidate.query_id for candidate in each.candidates})
        print(f"{name:12}  {each.lower:11.3f}  {each.upper:12.3f}  {len(each.candidates):10}  {queries:7}")

    name = next(iter(found))
    print(f"\n{name}: {found[name]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
