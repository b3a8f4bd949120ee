"""Plant known faults in a real retrieval test, diagnose it, and print what each fault was found to be.

    python examples/plant_faults.py DIR        a folder with corpus.jsonl, queries.jsonl and qrels.jsonl

Each fault is planted alone, in a quarter of the queries that BM25 hits at 5, before the index is built.
"""

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from random import Random

from retrieval import Data, bm25, load

import hitrate_adapters as hr
from hitrate_adapters.core.causes import ADVICE

K, DEPTH = 5, 20


class World:
    """What faults are planted in: a corpus, queries, and what BM25 finds once it is asked for."""

    def __init__(self, data: Data) -> None:
        """Copy what faults change."""
        self.qrels = {
            query: [item for item, grade in items.items() if grade > 0] for query, items in data.qrels.items()
        }
        self.texts, self.corpus, self.queries, self.random = data.corpus, {**data.corpus}, {**data.queries}, Random(0)

    @cached_property
    def run(self) -> dict[str, list[str]]:
        """Query -> what is found in the corpus as it is when this is first read."""
        return dict(zip(self.queries, bm25(self.corpus)(list(self.queries.values()), DEPTH), strict=True))


def rename(world: World, query: str) -> None:
    """Give the gold new ids in the index."""
    for item in world.qrels[query]:
        if item in world.corpus:
            world.corpus[f"new-{item}"] = world.corpus.pop(item)


def cut(world: World, query: str) -> None:
    """Cut the gold in two in the index."""
    for item in world.qrels[query]:
        text = world.corpus.pop(item, "")
        middle = text.find(" ", len(text) // 2) % (len(text) or 1)
        world.corpus |= {f"{item}/1": text[:middle], f"{item}/2": text[middle:]} if text else {}


def recut(world: World, _query: str) -> None:
    """Cut the whole index anew, into chunks of at most 400 characters."""
    for item in world.texts:
        text = world.corpus.pop(item, "")
        world.corpus |= {f"{item}@{start}": text[start : start + 400] for start in range(0, len(text), 400)}


def remove(world: World, query: str) -> None:
    """Leave the gold out of the index."""
    for item in world.qrels[query]:
        world.corpus.pop(item, None)


def reword(world: World, query: str) -> None:
    """Put words of other queries in the place of this query's, but for those that a tenth of the queries have."""
    words_of = {other: re.findall(r"\w+", text) for other, text in world.queries.items()}
    n_queries = Counter(word for words in words_of.values() for word in dict.fromkeys(words))
    rare = [word for word, n in n_queries.items() if n <= len(words_of) / 10]
    words = [world.random.choice(rare) if word in rare else word for word in words_of[query]]
    world.queries[query] = " ".join(words)


def lose(world: World, query: str) -> None:
    """Lose the ranking: its list is empty, or it is absent."""
    world.run[query] = []
    if world.random.random() < 0.5:
        del world.run[query]


def push(world: World, query: str) -> None:
    """Push the gold below the cutoff."""
    ranking = [item for item in world.run[query] if item not in world.qrels[query]]
    ranking.insert(world.random.randint(K, DEPTH - 1), world.qrels[query][0])
    world.run[query] = ranking


FAULTS = {
    "gold renamed": rename,
    "gold cut in two": cut,
    "index cut anew": recut,
    "gold not indexed": remove,
    "query reworded": reword,
    "ranking lost": lose,
    "gold below 5": push,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each fault was found to be, and what it means to have few words in common with the gold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", metavar="DIR")
    data = load(parser.parse_args(arguments).folder)
    warnings.simplefilter("ignore", UserWarning)  # of runs that find nothing: that is what is planted
    world = World(data)
    misses = diagnose(world).misses
    hits = [query for query in world.qrels if world.qrels[query] and query not in misses]
    print_row("planted", "hit", *(cause.replace("_", " ") for cause in ADVICE))
    print_row(":--", *(["--:"] * (1 + len(ADVICE))))
    for name, fault in FAULTS.items():
        changed, planted = World(data), Random(0).sample(hits, len(hits) // 4)
        for query in planted:
            fault(changed, query)
        print_row(name, *counts(diagnose(changed), planted))
    print_row("nothing", *counts(diagnose(world), misses))

    without_gold = {q: [item for item in items if item not in world.qrels[q]] for q, items in world.run.items()}
    few = diagnose(world, without_gold).of("vocabulary")
    print()
    print_row("share of the query's words in the gold", f"hit_rate@{K}, 95 % interval")
    print_row(":--", ":--")
    for share, ids in (("below a quarter", few), ("above", [query for query in world.qrels if query not in few])):
        part = hr.evaluate({query: world.qrels[query] for query in ids}, world.run)
        print_row(share, repr(part.hit_rate(K)).partition(" = ")[2])


def diagnose(world: World, run: dict[str, list[str]] | None = None) -> hr.Diagnosis:
    """Return the diagnosis of a run, with all that is known."""
    evaluation = hr.evaluate(world.qrels, world.run if run is None else run)
    return hr.diagnose(evaluation, K, texts=world.texts, queries=world.queries, corpus=world.corpus)


def counts(found: hr.Diagnosis, queries: Iterable[object]) -> list[int]:
    """Return how many of the queries hit, and how many were found to have which cause."""
    causes = Counter(found.misses[query].cause if query in found.misses else "hit" for query in queries)
    return [causes[cause] for cause in ("hit", *ADVICE)]


def print_row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
