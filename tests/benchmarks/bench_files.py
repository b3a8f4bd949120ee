"""How much memory and time do files of a million queries take? Each reading in a process of its own.

    python tests/benchmarks/bench_files.py            # some minutes, and 350 MB of disk
    python tests/benchmarks/bench_files.py 100000     # as many queries

Queries have ten retrieved ids out of as many ids as there are queries, and one relevant id. Memory is the peak of the
process (Linux), time its CPU time, beside that of `json.loads` on the same lines. Exit status 1 where a million queries
take LIMIT MB or more: the run alone, or the golden set with the run judged query by query, as the command line does it.
"""

# ruff: noqa: T201
from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hitrate_adapters as hr
from hitrate_adapters.core.records import Judge, QueryRecord, Records
from hitrate_adapters.formats.files import Place
from hitrate_adapters.formats.reading import rankings

LIMIT = 500


def write(folder: Path, queries: int) -> None:
    """Write a golden set and a run, in JSON lines, and a fifth of the run in the other formats."""
    rng = random.Random(1)
    with Path(folder, "gold.jsonl").open("w") as gold, Path(folder, "run.jsonl").open("w") as run:
        for number in range(queries):
            ids = [f"doc-{rng.randrange(queries):07d}" for _ in range(10)]
            gold.write(json.dumps({"query_id": f"q{number:07d}", "relevant": [rng.choice(ids)]}) + "\n")
            run.write(json.dumps({"query_id": f"q{number:07d}", "retrieved": ids}) + "\n")
    with Path(folder, "run.jsonl").open() as lines, Path(folder, "fifth.jsonl").open("w") as fifth:
        fifth.writelines(line for line, _ in zip(lines, range(queries // 5), strict=False))
    run = {query: list(dict.fromkeys(ids)) for query, ids in hr.read_run(folder / "fifth.jsonl").items()}
    for ending in ("trec", "csv", "parquet"):
        hr.write_run(run, folder / f"fifth.{ending}")


def bare(folder: Path) -> None:
    with Path(folder, "run.jsonl").open() as lines:
        for line in lines:
            json.loads(line)


def judged(folder: Path) -> None:
    """Judge a run without keeping it."""
    qrels, judge = hr.read_qrels(folder / "gold.jsonl"), Judge()
    records: dict[str, QueryRecord] = {}
    known: dict[QueryRecord, QueryRecord] = {}
    for query, retrieved, _ in rankings(Place(folder / "run.jsonl"), None, records):
        record = judge(qrels[query], retrieved, query)
        records[query] = known.setdefault(record, record)
    print(len(Records.of(records)), "judged", end="; ")


READINGS = {
    "json.loads alone": bare,
    "golden set": lambda folder: hr.read_qrels(folder / "gold.jsonl"),
    "run": lambda folder: hr.read_run(folder / "run.jsonl"),
    "golden set, run judged query by query": judged,
    "golden set and run, evaluated": lambda folder: hr.evaluate(
        hr.read_qrels(folder / "gold.jsonl"), hr.read_run(folder / "run.jsonl")
    ),
    **{
        f"a fifth of the run in {ending}": lambda folder, ending=ending: hr.read_run(folder / f"fifth.{ending}")
        for ending in ("jsonl", "trec", "csv", "parquet")
    },
}
BOUNDED = ("run", "golden set, run judged query by query")


def main() -> int:
    if len(sys.argv) == 3:
        start = time.process_time()
        READINGS[sys.argv[1]](Path(sys.argv[2]))
        taken = time.process_time() - start
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))  # of this program alone
        print(f"{int(peak[1]) // 1024} MB, {taken:.1f} s")
        return 0
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    too_much = []
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), queries)
        for name in READINGS:
            command = [sys.executable, __file__, name, folder]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
            print(f"{name}: {said}", flush=True)
            if name in BOUNDED and int(said.rpartition(" MB")[0].rpartition(" ")[2]) >= LIMIT:
                too_much.append(name)
    return bool(too_much)


if __name__ == "__main__":
    sys.exit(main())
