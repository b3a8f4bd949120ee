"""How the time of `drift` grows: python tests/benchmarks/bench_drift.py [CHUNKS] [GOLD TEXTS]."""

# ruff: noqa: T201

import random
import resource
import sys
from time import perf_counter

import hitrate_adapters as hr


def main(n_chunks=100_000, n_gold=5_000):
    """Print the time for that many chunks and gold texts, and how it grows with each."""
    random.seed(1)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 9))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]  # Zipf
    stream = random.choices(words, weights, k=n_chunks * 160)
    corpus = {at: " ".join(stream[at * 160 : at * 160 + 160]) for at in range(n_chunks)}
    starts = random.sample(range(len(stream) - 130), n_gold)
    gold = {start: " ".join(stream[start : start + 130]) for start in starts}
    seconds = {}
    for chunks, golds in ((n_chunks // 2, n_gold), (n_chunks, n_gold // 2), (n_chunks, n_gold)):
        start = perf_counter()
        found = hr.drift(dict(list(gold.items())[:golds]), dict(list(corpus.items())[:chunks]))
        seconds[chunks, golds] = perf_counter() - start
        print(f"{chunks:>9,} chunks {golds:>7,} gold texts {seconds[chunks, golds]:7.1f} s  {found!r}")
    whole = seconds[n_chunks, n_gold]
    print(f"twice the chunks: {whole / seconds[n_chunks // 2, n_gold]:.1f} times as long")
    print(f"twice the gold texts: {whole / seconds[n_chunks, n_gold // 2]:.1f} times as long")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB, texts and all")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
