"""When does a retrieved text count as a relevant one.

A matcher is any callable `(retrieved, relevant) -> bool`. Where none is given, items match when they are equal.
Each of these makes of a text what it compares, and keeps that for the next comparison: a text is prepared once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from numbers import Real
from typing import TypeVar
from unicodedata import category, normalize

# Scripts written without spaces, where a "word" is one character: Thai, Lao, Myanmar, Khmer, kana, bopomofo and Han.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W{_UNSPACED}]"
# What shows no trace of itself (Unicode's Default_Ignorable_Code_Point), such as soft hyphens and zero-width spaces.
_UNSEEN = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_GAP = rf" (?:(?=[{_UNSPACED}])|(?<=[{_UNSPACED}] ))"
# Apostrophes, quotation marks, and hyphens, dashes and the minus sign, as they are typed.
_TYPED = {
    **dict.fromkeys("\u02bc\u2018\u2019\u201a\u201b", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
}
_SIGN = f"[{''.join(_TYPED)}]"
_LONG = 4_000  # characters: of longer texts only a few are kept for the next comparison
_ENOUGH = 20  # characters: less than that is in every other text too
_COMPARED = ("ids", "texts", "spans")


def same_text(retrieved: str, relevant: str) -> bool:
    r"""Tell whether two texts are the same once case, character width and white space are folded.

    The folding is Unicode's NFKC_Casefold, which also unites composed and decomposed letters and drops what cannot be
    seen, such as soft hyphens. Typographic quotes and dashes are those that are typed, white space is one space, and
    none beside a character of a script without spaces. Blank text matches nothing.
    Raises TypeError where either side is not a str.

    >>> same_text("  Paris is the CAPITAL\nof France.", "Paris is the capital of France.")
    True
    """
    return bool(folded := _fold(retrieved)) and folded == _fold(relevant)


def contains(retrieved: str, relevant: str) -> bool:
    """Tell whether one text holds the other, after the folding of `same_text`.

    Use it where gold passages and chunks differ in size. A chunk that lies inside a gold text counts only when it has
    20 characters or half of that text, so that a crumb such as "the" does not. A text of less than 20 characters must
    be whole words of the other one, so that "5" is not in "15". Blank text matches nothing.
    Raises TypeError where either side is not a str.

    >>> contains("Refunds take five days.", "Refunds take five days. They go to the card that paid.")
    True
    >>> contains("the", "Refunds take five days. They go to the card that paid.")
    False
    """
    chunk, gold = _fold(retrieved), _fold(relevant)
    if not chunk or not gold:
        return False
    if gold in chunk:
        return len(gold) >= _ENOUGH or _in_whole_words(gold, chunk)
    if chunk not in gold:
        return False
    return len(chunk) >= _ENOUGH or (len(chunk) >= len(gold) / 2 and _in_whole_words(chunk, gold))


def overlap(share: float) -> Overlap:
    """Give a matcher that is true where the chunk holds at least `share` of the relevant text's words, 0 < share <= 1.

    Texts are folded as in `same_text`; in scripts without spaces each character is a word; a word that stands twice in
    the relevant text must stand twice in the chunk (the recall of ROUGE-1: Lin, 2004). A relevant text without words,
    such as "++", matches an equal text only. Raises TypeError or ValueError for a share that is not in (0, 1].

    >>> overlap(0.5)("Refunds take five days.", "Refunds take five working days.")
    True
    >>> overlap(0.9)("Refunds take five days.", "Refunds take five working days.")
    False
    """
    return Overlap(share)


@dataclass(frozen=True, slots=True)
class Overlap:
    """What `overlap` returns: a matcher that compares and pickles by its share."""

    share: float

    def __post_init__(self) -> None:
        """Refuse a share outside (0, 1]."""
        check_number("share", self.share, above=0, up_to=1)

    def __call__(self, retrieved: str, relevant: str) -> bool:
        """Tell whether enough of the relevant text's words are in the retrieved one."""
        return _share_held(retrieved, relevant) >= self.share

    def __repr__(self) -> str:
        """Show the call that makes it."""
        return f"overlap({float(self.share)!r})"


def similar(share: float) -> Similar:
    """Give a matcher that is true where two texts are alike by at least `share`, 0 < share <= 1: nearly the same text.

    Use it where one side was scanned, retyped, corrected or loaded by another program. Texts are folded as in
    `same_text`; how alike they are is the Sørensen-Dice coefficient `2 |A & B| / (|A| + |B|)` of the sets A and B of
    all that stands in three neighbouring characters, whatever the script. 1 stands for equal sets, which a text keeps
    when it repeats itself. Blank text matches nothing. Raises TypeError or ValueError for a share not in (0, 1].

    This takes time in proportion to the texts. difflib's ratio, which also asks for the same order, takes it with the
    product of their lengths: 270 times as long for texts of 1,000 characters (tests/benchmarks/bench_matching.py).

    >>> similar(0.7)("Refunds take flve days", "Refunds take five days.")
    True
    >>> similar(0.7)("Refunds go to your card.", "Refunds take five days.")
    False
    """
    return Similar(share)


@dataclass(frozen=True, slots=True)
class Similar:
    """What `similar` returns: a matcher that compares and pickles by its share."""

    share: float

    def __post_init__(self) -> None:
        """Refuse a share outside (0, 1]."""
        check_number("share", self.share, above=0, up_to=1)

    def __call__(self, retrieved: str, relevant: str) -> bool:
        """Tell whether the two texts are alike enough."""
        return _likeness(retrieved, relevant) >= self.share

    def __repr__(self) -> str:
        """Show the call that makes it."""
        return f"similar({float(self.share)!r})"


def compares_of(match: object) -> str | None:
    """Return what a matcher compares: "ids" where there is none, "texts" or "spans"; None where that is not known.

    A matcher of your own says it in an attribute: `my_matcher.compares = "texts"`. Raises ValueError for another word.

    >>> compares_of(None), compares_of(contains), compares_of(str.startswith)
    ('ids', 'texts', None)
    """
    if match is None:
        return "ids"
    if (said := _said(match)) is not None:
        return said
    match = getattr(match, "__wrapped__", match)  # of functools.cache
    if match is same_text or match is contains or isinstance(match, (Overlap, Similar)):
        return "texts"
    return _said(match)


def compared(match_on: str, match: object) -> str:
    """Return what is compared, "ids", "texts" or "spans"; "auto" stands for what the matcher compares, ids without one.

    A matcher of which that is not known (see `compares_of`) is taken for one of texts. Raises ValueError for another
    `match_on`, and for one that is not what the matcher says.
    """
    if match_on not in ("auto", *_COMPARED):
        raise ValueError(f'match_on must be "ids", "texts", "spans" or "auto", got {match_on!r}')
    if match_on == "auto":
        return compares_of(match) or "texts"
    if (own := _said(match) or match_on) != match_on:
        raise ValueError(f"match={name_of(match)} compares {own}, not {match_on}: leave out match_on={match_on!r}")
    return match_on


def name_of(option: object) -> str:
    """Return how an option is named, the same in every run of Python: a function by its name, others as they are shown.

    What shows no more than its address is named by its class, a partial and a cache by its function.

    >>> name_of(contains), name_of(overlap(0.5)), name_of(None)
    ('contains', 'overlap(0.5)', 'None')
    """
    option = getattr(option, "func", getattr(option, "__wrapped__", option))
    if type(option).__repr__ is object.__repr__:
        option = type(option)
    return str(getattr(option, "__name__", None) or repr(option))


def check_number(name: str, value: object, *, above: float = -inf, up_to: float = inf) -> None:
    """Raise TypeError for what is no number, ValueError for NaN and for what is not in (above, up_to]."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Real)):
        raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__})")
    if value != value:  # noqa: PLR0124 - NaN
        raise ValueError(f"{name} must be a number, got NaN")
    if not (above == -inf or above < value) or value > up_to:  # type: ignore[operator]
        raise ValueError(f"{name} must be above {above:g} and at most {up_to:g}, got {value!r}")


def _said(match: object) -> str | None:
    said = getattr(match, "compares", None)
    if said is None or said in _COMPARED:
        return said
    raise ValueError(
        f'the attribute compares of match={name_of(match)} must be "ids", "texts" or "spans", it is {said!r}'
    )


def _share_held(retrieved: str, relevant: str) -> float:
    """Return the share of the relevant text's words that are in the retrieved one."""
    words = _words(relevant)
    return len(words & _words(retrieved)) / len(words) if words else float(same_text(retrieved, relevant))


def _likeness(retrieved: str, relevant: str) -> float:
    """Return the Sørensen-Dice coefficient of two texts' trigrams; 0.0 where one is blank."""
    chunk, gold = _trigrams(retrieved), _trigrams(relevant)
    return 2 * len(chunk & gold) / (len(chunk) + len(gold)) if chunk and gold else 0.0


def _letter(text: str) -> str:
    r"""Return a pattern of the characters of words, with the combining marks of the text, which are not in \w."""
    marks = "".join(sorted(c for c in set(text) if category(c).startswith("M")))
    return rf"(?:{_LETTER}|[{marks}])" if marks else _LETTER


def _in_whole_words(part: str, text: str) -> bool:
    letter = _letter(text)
    before = rf"(?<!{letter})" if re.match(letter, part) else ""
    after = rf"(?!{letter})" if re.match(letter, part[-1]) else rf"(?!(?!{_LETTER}){letter})"
    return re.search(before + re.escape(part) + after, text) is not None


_Prepared = TypeVar("_Prepared")


def _kept(n_texts: int) -> Callable[[Callable[[str], _Prepared]], Callable[[str], _Prepared]]:
    """Return a decorator that keeps what a function makes of the last texts: of so many, but of 8 long ones."""

    def keep(prepare: Callable[[str], _Prepared]) -> Callable[[str], _Prepared]:
        of_short, of_long = lru_cache(n_texts)(prepare), lru_cache(8)(prepare)
        return lambda text: of_short(text) if len(text) <= _LONG else of_long(text)

    return keep


def _fold(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"this matcher compares texts, found {text!r:.80} ({type(text).__name__}): "
            "pass texts, or leave match= out to compare ids"
        )
    return _folded(text)


def _words(text: str) -> frozenset[tuple[str, int]]:
    return _counted(_fold(text))


def _trigrams(text: str) -> frozenset[str]:
    return _cut(_fold(text))


@_kept(4096)
def _folded(text: str) -> str:
    if text.isascii():
        return " ".join(text.lower().split())
    seen = normalize("NFKC", re.sub(_UNSEEN, "", text)).casefold()
    typed = re.sub(_SIGN, lambda sign: _TYPED[sign[0]], seen)
    return normalize("NFKC", re.sub(_GAP, "", " ".join(typed.split())))


@_kept(1024)
def _counted(folded: str) -> frozenset[tuple[str, int]]:
    """Return each word with how many times it stood there before, so that a set holds what is there twice."""
    return frozenset((word, number) for word, n in Counter(_in_order(folded)).items() for number in range(n))


def _in_order(folded: str) -> list[str]:
    letter = _letter(folded)
    return re.findall(rf"[{_UNSPACED}](?:(?!{_LETTER}){letter})*|{letter}+", folded)


@_kept(256)
def _cut(folded: str) -> frozenset[str]:
    padded = f" {folded} " if folded else ""
    return frozenset(map("".join, zip(padded, padded[1:], padded[2:], strict=False)))
