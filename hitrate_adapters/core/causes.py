"""The causes of a miss, and how each is looked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, product
from math import fsum, log
from typing import Any

from .display import _line, one_of
from .drift import _RUN, _runs, drift
from .evaluation import Evaluation
from .items import text_of
from .matching import _fold, _in_order, compares_of, contains

ADVICE = {
    "nothing_retrieved": "read the errors; look at filters, and at queries that the run lacks",
    "below_cutoff": "raise k or the budget, or rerank what is retrieved",
    "other_granularity": "re-anchor the golden set (drift), or match by text (contains) or by spans (span_overlap)",
    "not_in_corpus": "index what is missing, or correct the labels",
    "vocabulary": "rewrite queries, add synonyms, retrieve by meaning as well as by words",
    "not_retrieved": "read some of them: the embedding, the chunking or the label may be at fault",
}
"""Cause of a miss -> what to do; in the order in which the causes are looked for."""

NEEDS = {
    "other_granularity": "the texts of what is relevant and of what was retrieved",
    "not_in_corpus": "the corpus",
    "vocabulary": "the queries and the texts of what is relevant",
}
"""Cause -> what has to be known to look for it."""

_WHERE = {True: ", also in the corpus", False: ", not in the corpus"}
_HALF = 0.5  # of a text's runs: wherever a text is cut in two, one part has half of it
_FEW = 0.25  # of a query's words, by weight: measured in docs/diagnosis.md
_SAMPLE = 5_000  # texts: enough to tell common words from rare ones


@dataclass(frozen=True, slots=True)
class Miss:
    """Why one query missed."""

    cause: str
    """A key of `ADVICE`, such as "below_cutoff"."""
    evidence: str
    """What that rests on, in one line for people."""
    rank: int | None = None
    """The rank of the retrieved item that the evidence is about, from 1."""
    retrieved: Hashable = None
    """That retrieved item."""
    relevant: Hashable = None
    """The relevant item that the evidence is about."""
    share: float | None = None
    """Of "other_granularity", how much of one text is in the other; of "vocabulary", the query's words; in [0, 1]."""
    unknown: tuple[str, ...] = ()
    """Causes that come first and could not be looked for: it may be one of those instead."""

    @property
    def advice(self) -> str:
        """What to do."""
        return ADVICE[self.cause]


@dataclass(slots=True)
class _Case:
    """A miss whose cause is looked for."""

    relevant: list[Hashable]
    ranking: list[Hashable]
    unknown: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


_Cases = Mapping[Hashable, _Case]
_Found = Iterator[tuple[Hashable, Miss]]


class Known:
    """What is known of the items, which are ids, or texts themselves, or spans of documents."""

    def __init__(
        self,
        evaluation: Evaluation,
        texts: Mapping[Any, str] | None,
        queries: Mapping[Any, str] | None,
        corpus: Collection[Hashable] | Mapping[Any, str] | None,
    ) -> None:
        """Refuse what has nothing to do with the evaluation."""
        for name, given in (("texts", texts), ("queries", queries)):
            if not isinstance(given, Mapping | None):
                raise TypeError(f"{name} must be a mapping of id -> text, got {type(given).__name__}")
        if isinstance(corpus, str) or not isinstance(corpus, Iterable | None):
            raise TypeError(f"corpus must be a collection of ids, or id -> text, got {type(corpus).__name__}")
        self.shown, self.evaluation = evaluation, evaluation.uncut or evaluation
        self.texts, self.queries = texts or {}, queries or {}
        both = zip(*map(self.sides, evaluation), strict=True)
        relevant, retrieved = ([item for items in side for item in items if item is not None] for side in both)
        compares = compares_of(evaluation.judge.match)
        has_ids = isinstance(corpus, Mapping) and not corpus.keys().isdisjoint(retrieved)
        self.are_texts = compares == "texts" and texts is None and not has_ids
        self.are_spans = compares == "spans"
        by_equality = evaluation.judge.match is None
        self.has_own_ids = not (by_equality or self.are_texts or self.are_spans)  # whose match only the matcher tells
        self.corpus_texts: dict[Any, str] = {}
        now = () if corpus is None else corpus
        by_id = now if isinstance(now, Mapping) else {item: self.text(item) for item in now}
        self.corpus_texts = {item: text for item, text in by_id.items() if isinstance(text, str)}
        self.corpus = None if corpus is None else set(by_id.values() if self.are_texts else by_id)
        if self.are_spans and self.corpus is not None:
            self.corpus |= {item[0] for item in self.corpus if isinstance(item, tuple)}
        if queries is not None and evaluation.records.keys().isdisjoint(queries):
            raise ValueError(_unfit("queries", queries, "the evaluation", evaluation))
        if texts and not any(self._is_in(texts, item) for item in chain(relevant, retrieved)):
            raise ValueError(_unfit("texts", texts, "the evaluation", relevant))
        if self.corpus is not None and retrieved and not any(self._is_in(self.corpus, item) for item in retrieved):
            raise ValueError(_unfit("corpus", self.corpus, "what was retrieved", retrieved))

    def sides(self, query_id: Hashable) -> tuple[list[Hashable], list[Hashable]]:
        """Return the relevant and the retrieved items of a query."""
        evaluation = self.evaluation
        return evaluation.judge.sides(evaluation.qrels[query_id], evaluation.run.get(query_id, ()))

    def text(self, item: Any, *, now: bool = False) -> str | None:
        """Return the text of an item, as it was when it was labelled or as it is now; None where it is not known."""
        if self.are_texts:
            return text_of(item)
        known = (self.corpus_texts, self.texts) if now else (self.texts, self.corpus_texts)
        found = (text_of(item, texts, are_spans=self.are_spans) for texts in known)
        return next((text for text in found if text is not None), None)

    def holds(self, item: Hashable) -> bool:
        """Tell whether the corpus has an item, with the text that it had; of a span, whether it has the document."""
        if self.corpus is None or not self._is_in(self.corpus, item):
            return False
        was, now = self.text(item), text_of(item, self.corpus_texts)
        return was is None or now is None or was == now or _fold(was) == _fold(now)

    def _is_in(self, given: Collection[Any], item: Any) -> bool:
        return item in given or (self.are_spans and item[0] in given)

    @cached_property
    def weight(self) -> Callable[[str], float]:
        """How much a word counts: the less, the more texts or queries have it (inverse document frequency).

        The smaller of the two, since "what" and "how" are rare in texts and say nothing in a query.
        """
        items = chain(self.texts, chain.from_iterable(chain.from_iterable(map(self.sides, self.evaluation))))
        pool = sorted({*self.corpus_texts.values()} or {*filter(None, map(self.text, dict.fromkeys(items)))})
        asked = [query for query in self.queries.values() if isinstance(query, str)]
        kinds = [pool[:: len(pool) // _SAMPLE + 1], asked]
        counts = [Counter(chain.from_iterable(map(_vocabulary_of, kind))) for kind in kinds]

        def weight(word: str) -> float:
            return min(log((len(kind) + 1) / (n[word] + 0.5)) for kind, n in zip(kinds, counts, strict=True))

        return weight


def causes(evaluation: Evaluation, k: int | None, known: Known) -> dict[Hashable, Miss]:
    """Return query id -> why it missed, for every query that misses at k."""
    query_ids = evaluation.misses(k)
    left = {query_id: _Case(*known.sides(query_id)) for query_id in query_ids}
    found: dict[Hashable, Miss] = {}
    for look in (_nothing_retrieved, _below_cutoff, _other_granularity, _not_in_corpus, _vocabulary, _not_retrieved):
        for query_id, miss in look(left, known):
            found[query_id] = replace(miss, unknown=tuple(left[query_id].unknown))
        left = {query_id: case for query_id, case in left.items() if query_id not in found}
    return {query_id: found[query_id] for query_id in query_ids}


def _nothing_retrieved(cases: _Cases, known: Known) -> _Found:
    errors, run = known.evaluation.errors, known.evaluation.run
    for query_id, case in cases.items():
        if query_id in errors:
            error = errors[query_id]
            yield (
                query_id,
                Miss("nothing_retrieved", f"the retrieval failed: {type(error).__name__}: {_line(str(error), 200)}"),
            )
        elif query_id not in run:
            yield query_id, Miss("nothing_retrieved", "the run has no such query")
        elif not case.ranking:
            yield query_id, Miss("nothing_retrieved", "the run has an empty list")
        elif all(item is None for item in case.ranking):
            yield query_id, Miss("nothing_retrieved", f"each of {len(case.ranking)} slots is None")


def _below_cutoff(cases: _Cases, known: Known) -> _Found:
    for query_id, case in cases.items():
        if ranks := known.evaluation[query_id].hit_ranks:
            item = case.ranking[ranks[0] - 1]
            beyond = ", beyond the budget" if ranks[0] > known.shown[query_id].n_retrieved else ""
            evidence = f"{_short(item)} is at rank {ranks[0]} of {len(case.ranking)}{beyond}"
            yield query_id, Miss("below_cutoff", evidence, ranks[0], item)


def _other_granularity(cases: _Cases, known: Known) -> _Found:
    """Find the first retrieved item that has much of a relevant one; of one that the corpus has, all of it."""
    for query_id, case in cases.items():
        golds = [(gold, known.text(gold), known.holds(gold)) for gold in case.relevant]
        chunks = [
            (rank, item, known.text(item, now=True)) for rank, item in enumerate(case.ranking, 1) if item is not None
        ]
        for (rank, item, chunk), (gold, text, is_held) in product(chunks, golds):
            if known.are_spans:
                shared = _span_shared(item, gold)
            else:
                shared = None if chunk is None or text is None else _shared(chunk, text, whole=is_held)
            if shared:
                how, share = shared
                where = "" if known.corpus is None or known.are_spans else _WHERE[is_held]
                evidence = f"rank {rank}: {_short(item)} {how} {_short(gold)}{where}"
                yield query_id, Miss("other_granularity", evidence, rank, item, gold, share)
                break
        else:
            if not known.are_spans and None in [text for _, text, _ in golds] + [text for *_, text in chunks]:
                case.unknown.append("other_granularity")


def _not_in_corpus(cases: _Cases, known: Known) -> _Found:
    """Find the cases of which the corpus has no relevant item: not by id, nor as a text under another one.

    Where such a text is there in pieces, of which one was retrieved, that is another granularity.
    """
    if known.corpus is None:
        for case in cases.values():
            case.unknown.append("not_in_corpus")
        return
    lost = {query_id: case for query_id, case in cases.items() if not any(map(known.holds, case.relevant))}
    golds = dict.fromkeys(item for case in lost.values() for item in case.relevant)
    texts = {item: text for item in golds if (text := known.text(item))}
    anchors = drift(texts, known.corpus_texts).anchors if texts and known.corpus_texts else {}
    complete = len(known.corpus_texts) >= len(known.corpus)
    for query_id, case in lost.items():
        there = [anchors[item] for item in case.relevant if item in anchors and anchors[item].status != "gone"]
        ranked = product(enumerate(case.ranking, 1), there)
        if pieces := [(rank, item, gold.id) for (rank, item), gold in ranked if item in gold.new_ids]:
            rank, item, gold_id = pieces[0]
            evidence = f"rank {rank}: {_short(item)} has a piece of {_short(gold_id)}, not in the corpus"
            case.unknown.clear()
            yield query_id, Miss("other_granularity", evidence, rank, item, gold_id)
            continue
        if there:
            gold = there[0]
            case.notes.append(f"{_short(gold.id)} is in the corpus as {_short(gold.new_ids[0])} ({gold.status})")
            continue
        by_text = complete and all(item in anchors for item in case.relevant)
        if known.has_own_ids and not by_text:
            case.unknown.append("not_in_corpus")
            continue
        by = "by id or by text" if by_text else "by id alone"
        first, n = _short(case.relevant[0]), len(case.relevant)
        which = f"{first} is not" if n == 1 else f"none of {n} relevant items, such as {first}, is"
        yield query_id, Miss("not_in_corpus", f"{which} in the corpus, {by}", relevant=case.relevant[0])


def _vocabulary(cases: _Cases, known: Known) -> _Found:
    """Find the cases whose relevant texts have few of the query's words, by weight."""
    for query_id, case in cases.items():
        texts = [(item, known.text(item)) for item in case.relevant]
        words = _vocabulary_of(text_of(query_id, known.queries) or "")
        held = [(item, words & _vocabulary_of(text)) for item, text in texts if text is not None]
        if not words or not held:
            case.unknown.append("vocabulary")
            continue
        item, best = max(held, key=lambda each: _total(each[1], known))
        share = _total(best, known) / _total(words, known)
        if share >= _FEW:
            case.notes.append(f"{_short(item)} has {share:.0%} of the query's words, by weight")
        elif len(held) < len(texts):
            case.unknown.append("vocabulary")
        else:
            lacks = sorted(words - best, key=lambda word: (-known.weight(word), word))
            evidence = f"{_short(item)} has {share:.0%} of the query's words, by weight; not {', '.join(lacks[:5])}"
            yield query_id, Miss("vocabulary", "; ".join([evidence, *case.notes]), relevant=item, share=share)


def _not_retrieved(cases: _Cases, _known: Known) -> _Found:
    for query_id, case in cases.items():
        evidence = "; ".join([f"{len(case.ranking)} retrieved, none relevant", *case.notes])
        yield query_id, Miss("not_retrieved", evidence, relevant=case.relevant[0])


def _shared(chunk: str, gold: str, *, whole: bool) -> tuple[str, float] | None:
    """Return what a retrieved text has of a relevant one, in words and as a share; None where that is little.

    With `whole`, only all of it counts.
    """
    found, wanted = _fold(chunk), _fold(gold)
    if found and found == wanted:
        return "has the same text as", 1.0
    if contains(chunk, gold):
        if wanted in found:
            return "holds the text of", 1.0
        return None if whole else ("is a part of", len(found) / len(wanted))
    if whole or not (runs := _runs_of(found)) or not (gold_runs := _runs_of(wanted)):
        return None
    share = len(runs & gold_runs) / min(len(runs), len(gold_runs))
    return (f"shares {share:.0%} of the shorter text with", share) if share >= _HALF else None


def _span_shared(chunk: Any, gold: Any) -> tuple[str, float] | None:
    """Return the same of two spans."""
    common = min(chunk[2], gold[2]) - max(chunk[1], gold[1])
    if chunk[0] != gold[0] or common <= 0:
        return None
    share = common / min(chunk[2] - chunk[1], gold[2] - gold[1])
    return (f"shares {share:.0%} of the shorter span with", share) if share >= _HALF else None


@lru_cache(maxsize=1024)
def _runs_of(folded: str) -> frozenset[tuple[str, ...]]:
    return frozenset(_runs(_in_order(folded), _RUN))


def _vocabulary_of(text: str) -> set[str]:
    return set(_in_order(_fold(text)))


def _total(words: Iterable[str], known: Known) -> float:
    return fsum(map(known.weight, words))


def _unfit(name: str, given: Iterable[Hashable], whose: str, wanted: Iterable[Hashable]) -> str:
    return f"{name} has nothing of {whose}: it has {one_of(given)}, {whose} has {one_of(wanted)}"


def _short(item: Hashable) -> str:
    return _line(repr(item), 90)  # ids made by hashing have 64 characters, and a number
