"""How much memory and time does `hitrate eval` take for a million queries?

    python tests/benchmarks/bench_cli.py             # a million queries with ten results each: a minute or two
    python tests/benchmarks/bench_cli.py 100000      # fewer

The golden set and the run are made up, of two million documents, in JSON lines in a temporary folder. Exit status 1
where a million queries take LIMIT megabytes or more.
"""

# ruff: noqa: T201
from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

LIMIT = 500
DOCUMENTS = 2_000_000
DEPTH = 10


def make(folder: Path, n: int) -> tuple[Path, Path]:
    """Write a golden set and a run in which four of five queries are hit, at any rank."""
    chance = random.Random(0)
    qrels, run = folder / "qrels.jsonl", folder / "run.jsonl"
    with qrels.open("w", encoding="utf-8") as gold, run.open("w", encoding="utf-8") as found:
        for number in range(n):
            query = f"query-{number:07d}"
            ids = [f"document-{chance.randrange(DOCUMENTS):07d}" for _ in range(DEPTH + 1)]
            relevant = ids[chance.randrange(DEPTH)] if chance.random() < 0.8 else ids[DEPTH]
            gold.write(json.dumps({"query_id": query, "relevant": [relevant]}) + "\n")
            found.write(json.dumps({"query_id": query, "retrieved": ids[:DEPTH]}) + "\n")
    return qrels, run


def main() -> int:
    """Print what the command prints, and what it took."""
    n = int(sys.argv[1]) if sys.argv[1:] else 1_000_000
    with TemporaryDirectory() as folder:
        qrels, run = make(Path(folder), n)
        megabytes = run.stat().st_size / 1e6
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "hitrate_adapters", "eval", str(qrels), str(run)], check=True)
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    cpu = used.ru_utime + used.ru_stime
    print(f"{n:,} queries, a run of {megabytes:,.0f} MB: {peak:,.0f} MB, {seconds:.0f} s, of which {cpu:.0f} s of CPU")
    return int(n >= 1_000_000 and peak >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
