"""How many times faster than its peers is the core, and what share of their memory does it need? In one run.

    pip install '.[bench]'
    python tests/benchmarks/bench_speed.py            # all sizes, a few minutes; Linux, for the memory
    python tests/benchmarks/bench_speed.py 1000 10    # one size: queries, retrieved per query

Everyone starts from the same ordinary objects, `dict[str, list[str]]` and `dict[str, set[str]]`, and ends with the same
nine means: hit rate at 1, 3, 5, 10, 20 and 100, recall@10, MRR and nDCG@10, which must agree. Conversion is included.
The peers take turns; a time is the CPU time of the best call; memory is the growth of the peak resident size while
judging (VmHWM), of a process each. Exit status 1 where a target is missed.
"""

# ruff: noqa: T201
from __future__ import annotations

import gc
import math
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = {(1_000, 10): 3, (10_000, 100): 5, (100_000, 100): 5}
"""(queries, retrieved per query) -> how many times faster than pytrec_eval the core must be."""
MEMORY_SHARE = 0.1
"""What part of pytrec_eval's peak memory the core may need."""
SHAPES = ("sets", "lists", "grades")
"""What holds the relevant items of a query; the target is for sets, and the peers take part there only."""

HIT_RATE_AT = (1, 3, 5, 10, 20, 100)
METRICS = (*(f"hit_rate@{k}" for k in HIT_RATE_AT), "recall@10", "mrr", "ndcg@10")

Qrels = dict[str, "set[str] | list[str] | dict[str, int]"]
Ranking = dict[str, list[str]]


def data(n_queries: int, depth: int, shape: str) -> tuple[Qrels, Ranking]:
    """Make 1 to 5 relevant items a query, half of them retrieved; each id is a str of its own, as from JSON."""
    rng = random.Random(7)
    qrels: Qrels = {}
    run: Ranking = {}
    for query in range(n_queries):
        numbers = rng.sample(range(10_000_000), depth + 5)
        retrieved = numbers[:depth]
        relevant = {
            f"doc-{rng.choice(retrieved) if rng.random() < 0.5 else missed:07d}"
            for missed in numbers[depth : depth + rng.randint(1, 5)]
        }
        qrels[f"q{query}"] = {"sets": set, "lists": list, "grades": lambda ids: dict.fromkeys(ids, 1)}[shape](relevant)
        run[f"q{query}"] = [f"doc-{number:07d}" for number in retrieved]
    return qrels, run


def core(qrels: Qrels, run: Ranking) -> list[float]:
    """Use this package."""
    from hitrate_adapters import evaluate

    evaluation = evaluate(qrels, run)
    scores = [*map(evaluation.hit_rate, HIT_RATE_AT), evaluation.recall(10), evaluation.mrr(), evaluation.ndcg(10)]
    return list(map(float, scores))


def pytrec_eval(qrels: Qrels, run: Ranking) -> list[float]:
    """Use trec_eval's C, which wants dicts with scores."""
    from pytrec_eval import RelevanceEvaluator

    measures = {"success." + ",".join(map(str, HIT_RATE_AT)), "recall.10", "recip_rank", "ndcg_cut.10"}
    evaluator = RelevanceEvaluator(_graded(qrels), measures)
    results = evaluator.evaluate(_scored(run)).values()
    names = (*(f"success_{k}" for k in HIT_RATE_AT), "recall_10", "recip_rank", "ndcg_cut_10")
    return [sum(values[name] for values in results) / len(results) for name in names]


def ranx(qrels: Qrels, run: Ranking) -> list[float]:
    """Use ranx, which wants the same dicts; its compilation is in no turn but the first."""
    import ranx as library

    values = library.evaluate(library.Qrels.from_dict(_graded(qrels)), library.Run.from_dict(_scored(run)), [*METRICS])
    return [values[metric] for metric in METRICS]


def llama_index(qrels: Qrels, run: Ranking) -> list[float]:
    """Use LlamaIndex's metrics, which take the items of one query, cut at k by the caller."""
    from llama_index.core.evaluation.retrieval.metrics import MRR, NDCG, HitRate, Recall

    parts = [*((HitRate(), k) for k in HIT_RATE_AT), (Recall(), 10), (MRR(), None), (NDCG(), 10)]
    sums = [0.0] * len(parts)
    for query, relevant in qrels.items():
        expected, retrieved = list(relevant), run[query]
        for at, (metric, k) in enumerate(parts):
            sums[at] += metric.compute(expected_ids=expected, retrieved_ids=retrieved[:k]).score
    return [total / len(qrels) for total in sums]


def _graded(qrels: Qrels) -> dict[str, dict[str, int]]:
    return {query: ids if isinstance(ids, dict) else dict.fromkeys(ids, 1) for query, ids in qrels.items()}


def _scored(run: Ranking) -> dict[str, dict[str, float]]:
    scores = [1 / rank for rank in range(1, max(map(len, run.values())) + 1)]
    return {query: dict(zip(ids, scores, strict=False)) for query, ids in run.items()}


Peer = Callable[[Qrels, Ranking], list[float]] if TYPE_CHECKING else object
PEERS: dict[str, Peer] = {peer.__name__: peer for peer in (core, pytrec_eval, ranx, llama_index)}


def times(n_queries: int, depth: int, shape: str) -> dict[str, float]:
    """Return peer -> CPU seconds of its best call, once all have agreed on the values."""
    qrels, run = data(n_queries, depth, shape)
    names = list(PEERS) if shape == "sets" else ["core", "pytrec_eval"]
    best = dict.fromkeys(names, math.inf)
    turns, calls = (3, 1) if n_queries * depth > 100_000 else (12, 5)
    for _ in range(turns):
        values = {}
        for name in names:
            gc.collect()
            for _ in range(calls):
                start = time.process_time()
                values[name] = PEERS[name](qrels, run)
                best[name] = min(best[name], time.process_time() - start)
        for name in names:
            for metric, right, found in zip(METRICS, values["core"], values[name], strict=True):
                if not math.isclose(right, found, rel_tol=1e-9):
                    raise SystemExit(f"{name} disagrees on {metric}: {found!r}, the core has {right!r}")
    return best


def peak_memory(name: str, n_queries: int, depth: int, shape: str) -> int:
    """Return by how many kB the peak resident size of a fresh process grows while judging."""
    call = [sys.executable, __file__, "--memory", name, str(n_queries), str(depth), shape]
    return int(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def _measure_memory(name: str, n_queries: int, depth: int, shape: str) -> int:
    PEERS[name](*data(50, depth, shape))  # what is imported or set up once
    qrels, run = data(n_queries, depth, shape)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = _peak()
    PEERS[name](qrels, run)
    return _peak() - before


def _peak() -> int:
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def main() -> int:
    """Print a line a size and shape, and return the exit status."""
    sizes = [(int(sys.argv[1]), int(sys.argv[2]))] if len(sys.argv) > 1 else list(SIZES)
    missed = []
    print("queries x depth, relevant items in | the core: ms, MB | times as much: pytrec_eval (MB), ranx, llama_index")
    for n_queries, depth in sizes:
        for shape in SHAPES:
            best = times(n_queries, depth, shape)
            ratio = {name: seconds / best["core"] for name, seconds in best.items()}
            kb, theirs = (peak_memory(name, n_queries, depth, shape) for name in ("core", "pytrec_eval"))
            others = "".join(f"{ratio[name]:8.0f}" for name in ("ranx", "llama_index") if name in ratio)
            print(
                f"{n_queries:>8} x {depth:<4} {shape:8} | {best['core'] * 1e3:8.2f} {kb / 1024:8.2f} |"
                f" {ratio['pytrec_eval']:8.2f} ({theirs / max(kb, 1):6.1f}) {others}",
                flush=True,
            )
            if shape == "sets" and ratio["pytrec_eval"] < SIZES.get((n_queries, depth), 0):
                missed.append(f"{n_queries} x {depth}: {ratio['pytrec_eval']:.2f} times, not {SIZES[n_queries, depth]}")
            if shape == "sets" and kb > MEMORY_SHARE * theirs:
                missed.append(f"{n_queries} x {depth}: {kb} kB, more than {MEMORY_SHARE} of {theirs} kB")
    print("\n".join(["missed:", *missed]) if missed else "all targets reached")
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        print(_measure_memory(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
    else:
        sys.exit(main())
