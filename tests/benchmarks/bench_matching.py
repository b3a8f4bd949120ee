"""How long do the matchers take, and how many times as long do difflib and RapidFuzz? In one run.

    python tests/benchmarks/bench_matching.py         # half a minute; RapidFuzz takes part where it is installed
    python tests/benchmarks/bench_matching.py DIR     # not that, but how alike passages of DIR/*.md are to `similar`

500 queries, each with 20 chunks and 5 gold texts of 1,000 characters, no two of them the same: 50,000 comparisons. A
time is the CPU time of `evaluate` on texts that were never seen before, the best of three; difflib compares a sample,
without its `autojunk`, by which every letter of so long a text is junk. The texts are made up, of words as frequent as
Zipf's law has it; one gold text in five is a chunk in which one letter in fifty is wrong. Exit status 1 where a matcher
takes more than LIMIT seconds, or prepares a text twice.
"""

# ruff: noqa: T201
from __future__ import annotations

import inspect
import random
import sys
import time
import warnings
from difflib import SequenceMatcher
from itertools import accumulate, islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import hitrate_adapters as hr
from hitrate_adapters.core import matching

if TYPE_CHECKING:
    from collections.abc import Callable

QUERIES, CHUNKS, GOLD, LENGTH = 500, 20, 5, 1_000
PAIRS = QUERIES * CHUNKS * GOLD
LIMIT = 10
"""Seconds for all comparisons, on the slowest machine on which this is of use."""
SAMPLE = 50
"""Comparisons by difflib."""
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"

Sides = tuple[dict[str, list], dict[str, list]]


def texts() -> Sides:
    """Make gold and chunks by query."""
    rng = random.Random(7)
    words = ["".join(rng.choices(LETTERS, range(26, 0, -1), k=rng.randint(2, 11))) for _ in range(5_000)]
    weights = list(accumulate(1 / rank for rank in range(1, 5_001)))

    def text() -> str:
        return " ".join(rng.choices(words, cum_weights=weights, k=LENGTH // 4)).capitalize()[:LENGTH]

    def misread(text: str) -> str:
        return "".join(rng.choice(LETTERS) if rng.random() < 0.02 else letter for letter in text)

    run = {f"q{query}": [text() for _ in range(CHUNKS)] for query in range(QUERIES)}
    return {query: [misread(found[-1]), *(text() for _ in range(GOLD - 1))] for query, found in run.items()}, run


def spans() -> Sides:
    """Make spans likewise."""
    rng = random.Random(7)

    def span() -> hr.Span:
        start = rng.randrange(100_000)
        return hr.Span(f"page {rng.randrange(5)}", start, start + LENGTH)

    run = {f"q{query}": [span() for _ in range(CHUNKS)] for query in range(QUERIES)}
    return {query: [span() for _ in range(GOLD)] for query in run}, run


def seconds(make: Callable[[], Sides], match: Callable[..., bool]) -> float:
    """Return the CPU time of judging everything, the best of three."""
    took = []
    for _ in range(3):
        sides = make()
        for cache in caches():
            cache.cache_clear()
        start = time.process_time()
        hr.evaluate(*sides, match=match)
        took.append(time.process_time() - start)
    return min(took)


def caches() -> list[Any]:
    """Return what keeps the prepared texts."""
    return [
        inspect.getclosurevars(kept).nonlocals["of_short"]
        for kept in (matching._folded, matching._counted, matching._cut)
    ]


def by_difflib() -> float:
    """Return the CPU time that difflib would take for all comparisons."""
    qrels, run = texts()
    pairs = islice(((chunk, gold) for query in run for chunk in run[query] for gold in qrels[query]), SAMPLE)
    start = time.process_time()
    for chunk, gold in pairs:
        SequenceMatcher(None, chunk, gold, autojunk=False).ratio()
    return (time.process_time() - start) / SAMPLE * PAIRS


def by_rapidfuzz() -> float | None:
    """Return the CPU time of RapidFuzz, in C++, where it is installed."""
    try:
        from rapidfuzz.fuzz import ratio
    except ImportError:
        return None
    return seconds(texts, lambda chunk, gold: ratio(chunk, gold) >= 80)


def likeness(folder: str) -> None:
    """Print the least, the median and the most that `similar` sees in pairs of passages of the same files."""
    rng = random.Random(7)
    documents = [path.read_text("utf-8") for path in sorted(Path(folder).glob("*.md"))]

    def wrong(letter: str) -> str:
        return rng.choice(["", rng.choice(LETTERS), rng.choice(LETTERS) + letter])

    def misread(text: str, share: float) -> str:
        return "".join(wrong(letter) if rng.random() < share else letter for letter in text)

    for size in (60, 200, 1_000, 4_000):
        found: dict[str, list[float]] = {}
        for text in documents * 60:
            start, other = (rng.randrange(len(text) - 3 * size) for _ in range(2))
            one = text[start : start + size]
            pairs = {f"1 letter in {n} misread": misread(one, 1 / n) for n in (50, 20, 10)}
            pairs["cut half a passage later"] = text[start + size // 2 : start + size // 2 + size]
            if abs(start - other) > 2 * size:
                pairs["another passage"] = text[other : other + size]
            for name, against in pairs.items():
                found.setdefault(name, []).append(matching._likeness(one, against))
        for name, values in found.items():
            print(f"{size:>5} characters, {name:26} {min(values):.2f} {median(values):.2f} {max(values):.2f}")


def main() -> int:
    """Print a line a matcher, and return the exit status."""
    warnings.filterwarnings("ignore", "no relevant text was ever retrieved")
    n_texts = QUERIES * (CHUNKS + GOLD)
    took, missed = {}, []
    for match in (hr.same_text, hr.contains, hr.overlap(0.5), hr.similar(0.8)):
        name = getattr(match, "__name__", repr(match))
        took[name] = seconds(texts, match)
        if max(cache.cache_info().misses for cache in caches()) > n_texts:
            missed.append(f"{name} prepared some of {n_texts} texts twice")
    took[repr(hr.span_overlap(0.5))] = seconds(spans, hr.span_overlap(0.5))
    missed += [f"{name} takes {each:.1f} s, more than {LIMIT}" for name, each in took.items() if each > LIMIT]
    peers = {"difflib's ratio": by_difflib(), "RapidFuzz's ratio": by_rapidfuzz()}
    ours = took["similar(0.8)"]
    print("                    seconds   times as long as similar")
    for name, each in (took | {name: each for name, each in peers.items() if each is not None}).items():
        print(f"{name:18} {each:8.2f}   {each / ours:8.2f}")
    print("\n".join(["missed:", *missed]) if missed else "all targets reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(likeness(sys.argv[1]) if len(sys.argv) > 1 else main())
