"""Where did the gold texts go when the corpus was changed or cut anew."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from .items import Items, grades_of, in_form_of
from .matching import _ENOUGH, _fold, _in_order, _words, contains

MEANINGS = {
    "valid": "the same text, under the same id",
    "moved": "the same text, under another id",
    "merged": "the text lies in a larger chunk",
    "split": "the text is spread over several chunks",
    "changed": "one chunk holds most of the text, but not to the letter",
    "gone": "less than half of the text is left",
}
"""What may have become of a gold text -> in words."""

_RUN = 5  # words in a row: fewer of a gold text are found in other texts too
_COMMON = 100  # chunks: a run of words that more of them hold is a header or a form, and leads nowhere
_BLOCK = _ENOUGH // 2  # characters
_PIECE = 1 / 3  # of the gold text: what it lost to the chunk before or after is seldom what answered the query
_HALF = 1 / 2
_NEARLY = 0.9


class Anchor(NamedTuple):
    """What became of a gold text."""

    id: Hashable
    """Its id when it was labelled."""
    status: str
    """One of "valid", "moved", "merged", "split", "changed" and "gone"."""
    new_ids: tuple[Hashable, ...]
    """The chunks that hold the text, or its pieces, in the order of the corpus; none for what is gone."""
    share: float
    """How much of the text's words those chunks hold together, in [0, 1]; for what is gone, what was left of it."""
    reused: bool
    """Whether the id now names a chunk that is none of those."""


@dataclass(frozen=True, repr=False, eq=False)
class Drift:
    """What became of each gold text: printed as a table, and `reanchor` repairs a golden set. Made by `drift`."""

    anchors: Mapping[Hashable, Anchor]
    """Id when it was labelled -> what became of it."""
    n_chunks: int
    """How many chunks the corpus has."""

    @property
    def totals(self) -> dict[str, int]:
        """How many gold texts have each status."""
        return {status: len(self.of(status)) for status in MEANINGS}

    def of(self, status: str) -> tuple[Hashable, ...]:
        """Return the gold ids that have a status. Raises ValueError for a status that there is not."""
        if status not in MEANINGS:
            raise ValueError(f"unknown status {status!r}: one of {', '.join(MEANINGS)}")
        return tuple(anchor.id for anchor in self.anchors.values() if anchor.status == status)

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per gold text, for `pandas.DataFrame(...)`: the fields of its `Anchor`."""
        return [anchor._asdict() for anchor in self.anchors.values()]

    def reanchor(self, qrels: Mapping[Any, Items]) -> dict[Any, Items]:
        """Return the golden set with the ids of the current corpus; the given one stays as it is.

        Each new id has the grade of the old one, or the highest where several became one. What is gone is left out:
        `of("gone")` names it, and a query that loses all of its items stays without any, which `evaluate` reports as
        unscored. Sets stay sets, lists stay lists, and item -> grade stays item -> grade.

        Raises ValueError for an item that is none of the gold texts which `drift` was given, TypeError for no mapping.

        >>> drift({"d1": "Refunds take five days."}, {"p7": "Refunds take five days."}).reanchor({"q1": {"d1": 2}})
        {'q1': {'p7': 2}}
        """
        if not isinstance(qrels, Mapping):
            raise TypeError(f"qrels must be a mapping of query id -> items, got {type(qrels).__name__}")
        repaired = {}
        for query_id, items in qrels.items():
            grades: dict[Hashable, float] = {}
            for item, grade in grades_of(items).items():
                if item not in self.anchors:
                    raise ValueError(
                        f"query {query_id!r}: the item {item!r:.60} is none of the {len(self.anchors):,} gold texts: "
                        "give drift() the text of every item of the golden set, as it was when it was labelled"
                    )
                for new_id in self.anchors[item].new_ids:
                    grades[new_id] = max(grade, grades.get(new_id, grade))
            repaired[query_id] = in_form_of(items, grades)
        return repaired

    def __repr__(self) -> str:
        """Show the totals."""
        return f"<Drift: {', '.join(f'{n} {status}' for status, n in self.totals.items() if n)}>"

    def __str__(self) -> str:
        """Return the table of totals, and the ids that need a person."""
        texts, chunks = len(self.anchors), self.n_chunks
        lines = [f"{texts:,} gold text{'s' * (texts != 1)} in a corpus of {chunks:,} chunk{'s' * (chunks != 1)}"]
        for status, meaning in MEANINGS.items():
            found = [anchor for anchor in self.anchors.values() if anchor.status == status]
            lines.append(f"{status:<8}{len(found):>8,}{len(found) / len(self.anchors):>8.1%}  {meaning}")
            if found and status in ("changed", "gone"):
                first = ", ".join(f"{anchor.id!s:.40} ({anchor.share:.0%} held)" for anchor in islice(found, 5))
                lines.append(f"{'':26}{first}{', ...' if len(found) > 5 else ''}")
        if reused := sum(anchor.reused for anchor in self.anchors.values()):
            lines.append(f"{reused:,} of the gold ids now name another text: by id, a hit on it is no hit")
        return "\n".join(lines)


def drift(texts: Mapping[Any, str], corpus: Mapping[Any, str]) -> Drift:
    """Return what became of each gold text in the current corpus: valid, moved, merged, split, changed or gone.

    Texts are compared after the folding of `same_text`. What is not there as a whole is looked for by runs of five
    words (characters in scripts without spaces) that a chunk has too. Its pieces are the chunks that hold a third
    of it or are half made of it; where they do not hold half of it together it is gone. Where one of them holds nine
    tenths of all that is left it is "changed", and else "split". The time grows with the size of the corpus and of the
    gold texts, not with their product.

    Args:
        texts: gold id -> its text as it was when it was labelled.
        corpus: id -> text of every chunk of the current index.

    Raises:
        TypeError: an argument is no mapping of id -> str; names the id.
        ValueError: one of them is empty.

    >>> was = {"d1": "Refunds take five days.", "d2": "Shipping is free in the whole of Italy."}
    >>> now = {"c1": "Refunds take five days. They go to the card that paid.", "c2": "Returns are free."}
    >>> found = drift(was, now)
    >>> found.anchors["d1"].status, found.anchors["d1"].new_ids, found.anchors["d2"].status
    ('merged', ('c1',), 'gone')
    """
    for name, given in (("texts", texts), ("corpus", corpus)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{name} must be a mapping of id -> text, got {type(given).__name__}")
        if not given:
            raise ValueError(f"{name} is empty: give it the text of each {'gold item' if name == 'texts' else 'chunk'}")
        for key, text in given.items():
            if not isinstance(text, str):
                raise TypeError(f"{name} must be id -> text; that of {key!r:.60} is {text!r:.60}")
    index = _Index(texts, corpus)
    return Drift({key: _anchor(key, text, index) for key, text in texts.items()}, len(corpus))


def _anchor(key: Hashable, text: str, index: _Index) -> Anchor:
    if key in index.corpus and _fold(index.corpus[key]) == _fold(text):
        return Anchor(key, "valid", (key,), 1.0, reused=False)
    if same := index.same(text):
        status, new_ids, share = "moved", same, 1.0
    elif around := index.around(text):
        status, new_ids, share = "merged", around, 1.0
    else:
        status, new_ids, share = _pieces(key, text, index)
    return Anchor(key, status, tuple(new_ids), share, reused=key in index.corpus and key not in new_ids)


def _pieces(key: Hashable, text: str, index: _Index) -> tuple[str, list[Hashable], float]:
    """Return the status, the chunks and the share of a text that no chunk holds as a whole."""
    words, held, pieces = _in_order(_fold(text)), {}, []
    for chunk in index.near(text):
        runs, size = index.runs(chunk)
        held[chunk] = _held(words, runs)
        if len(held[chunk]) >= min(_PIECE * len(words), _HALF * size):
            pieces.append(chunk)
    share = len(set().union(*map(held.__getitem__, pieces))) / len(words) if words else 0.0
    if share >= _HALF:
        left = len(set().union(*held.values()))
        most = [chunk for chunk in pieces if len(held[chunk]) >= _NEARLY * left]
        return ("changed", most, max(map(len, held.values())) / len(words)) if most else ("split", pieces, share)
    if key in index.corpus:  # written anew in its place: its words count, in any order
        was, now = _words(text), _words(index.corpus[key])
        if was and len(was & now) >= _HALF * max(len(was), len(now)):
            return "changed", [key], len(was & now) / len(was)
    return "gone", [], share


class _Index:
    """The chunks of a corpus by the gold texts that they are, and by the runs of words that they share with them."""

    def __init__(self, texts: Mapping[Any, str], corpus: Mapping[Any, str]) -> None:
        """Read the corpus once."""
        self.corpus = corpus
        self._ids = list(corpus)
        golds = {folded: _inner_runs(folded) for text in texts.values() if (folded := _fold(text))}
        self._same: dict[str, list[int]] = {gold: [] for gold in golds}
        self._within: dict[str, list[int]] = {gold: [] for gold, runs in golds.items() if not runs}
        self._sharing: dict[tuple[str, ...], list[int]] = {
            run: [] for gold, runs in golds.items() for run in (*runs, *_runs(_in_order(gold), _RUN))
        }
        sizes, found_in = set(map(len, self._sharing)), _Finder(self._within)
        for at, text in enumerate(corpus.values()):
            folded = _fold(text)
            if folded in golds:
                self._same[folded].append(at)
            for gold in found_in(folded):
                self._within[gold].append(at)
            words = _in_order(folded)
            for size in sizes:
                for run in set(_runs(words, size)):
                    if run in self._sharing:
                        self._sharing[run].append(at)
        self.runs = lru_cache(maxsize=4096)(self._runs_of)

    def same(self, text: str) -> list[Hashable]:
        """Return the chunks whose text is the same."""
        return [self._ids[at] for at in self._same.get(_fold(text), ())]

    def around(self, text: str) -> list[Hashable]:
        """Return the chunks in which the text lies, by the rule of `contains`."""
        gold = _fold(text)
        rarest = self._within.get(gold) or min(map(self._sharing.__getitem__, _inner_runs(gold)), key=len, default=[])
        chunks = (self._ids[at] for at in rarest)
        return [chunk for chunk in chunks if gold in _fold(self.corpus[chunk]) and contains(self.corpus[chunk], text)]

    def near(self, text: str) -> list[Hashable]:
        """Return the chunks that share a run of words with the text, but for runs that are common."""
        shared = [chunks for run in _runs(_in_order(_fold(text)), _RUN) if (chunks := self._sharing[run])]
        rare = [chunks for chunks in shared if len(chunks) <= _COMMON] or [min(shared, key=len, default=[])]
        return [self._ids[at] for at in sorted(set().union(*rare))]

    def _runs_of(self, chunk: Hashable) -> tuple[set[tuple[str, ...]], int]:
        words = _in_order(_fold(self.corpus[chunk]))
        return set(_runs(words, _RUN)), len(words)


class _Finder:
    """Which of some texts lie in another one, without a look at each: for texts that have no run of inner words."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Read the texts."""
        self._few: list[str] = []
        self._blocks: dict[str, list[str]] = {}
        for text in texts:
            if len(text) < 2 * _BLOCK:
                self._few.append(text)
            else:  # whatever holds it has one of these at a multiple of their length
                for block in {text[start : start + _BLOCK] for start in range(_BLOCK)}:
                    self._blocks.setdefault(block, []).append(text)

    def __call__(self, whole: str) -> list[str]:
        """Return those that lie in this one."""
        maybe = set(self._few)
        if self._blocks:
            for start in range(0, len(whole), _BLOCK):
                maybe.update(self._blocks.get(whole[start : start + _BLOCK], ()))
        return [text for text in maybe if text in whole]


def _runs(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """Give each run of so many words."""
    return zip(*(words[start:] for start in range(size)), strict=False)


def _held(words: list[str], runs: Collection[tuple[str, ...]]) -> set[int]:
    """Return where the words stand that lie in one of these runs of five."""
    return {at + i for at, run in enumerate(_runs(words, _RUN)) if run in runs for i in range(_RUN)}


def _inner_runs(folded: str) -> list[tuple[str, ...]]:
    """Return the runs, of five words or of as many as there are, that whatever has this text in it has too.

    Its first and its last word may be parts of longer ones there, but for a text so short that `contains` forbids it.
    """
    words = _in_order(folded)
    if len(folded) >= _ENOUGH:
        words = words[1:-1]
    return list(_runs(words, min(_RUN, len(words)))) if words else []
