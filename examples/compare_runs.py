"""Which of several saved runs is best, and is the difference real? Offline, with the package alone.

    python examples/compare_runs.py DIR NEW OLD

DIR has qrels.jsonl, {"query_id": ..., "relevant": [ids] or {id: grade}}, and runs/NAME.jsonl for each run, among them
NEW and OLD: {"query_id": ..., "retrieved": [ids, best first]}.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hitrate_adapters as hr

METRICS = ("hit_rate@5", "recall@5", "mrr@10", "ndcg@10")


def read(path: Path, field: str) -> dict[str, Any]:
    """Return query id -> that field of its line."""
    with path.open(encoding="utf-8") as lines:
        return {row["query_id"]: row[field] for row in map(json.loads, lines)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a leaderboard of all runs, and all that can be said of two of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("old", metavar="OLD")
    given = parser.parse_args(arguments)
    qrels = read(given.folder / "qrels.jsonl", "relevant")
    runs = {path.stem: read(path, "retrieved") for path in sorted(given.folder.glob("runs/*.jsonl"))}
    if not {given.new, given.old} <= runs.keys():
        parser.error(f"{given.folder} has the runs {', '.join(runs) or '(none)'}")
    evaluations = {name: hr.evaluate(qrels, run) for name, run in runs.items()}
    print(hr.leaderboard(evaluations, "hit_rate@5"))

    new, old = evaluations[given.new], evaluations[given.old]
    print(f"\n{given.new} against {given.old}")
    print(new.compare(old, METRICS))

    one = new.compare(old, "hit_rate@5")
    print(f"\nhit_rate@5: {one}")
    print(f"{one.either:.1%} of the queries are hit by either, {one.both:.1%} by both")
    print(f"{one.n} queries show a difference of {one.detectable:.3f} in 80 % of trials")
    differ = (len(one.won) + len(one.lost)) / one.n
    needed = hr.sample_size(p=one.old, delta=0.05, discordant=max(differ, 0.05))
    print(f"to show a difference of 0.050 takes {needed}, where {differ:.1%} of the queries differ")


if __name__ == "__main__":
    main()
