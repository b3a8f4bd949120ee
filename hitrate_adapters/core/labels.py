"""Which labels a golden set may lack: what to judge next, and what looks relevant but is not labelled."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from math import fsum, isfinite
from numbers import Integral
from operator import itemgetter
from typing import Any, NamedTuple

from .display import one_of
from .evaluation import Evaluation, Qrels, RunLike
from .items import Items, grades_of, in_form_of, is_absent, ranked_items, text_of
from .matching import _fold, _likeness, _share_held, check_number, compares_of, contains
from .metrics import cutoff
from .scores import Score

Rows = list[dict[str, Any]]
"""What an annotator fills in."""

_WHY = ("is the text of", "is nearly the text of", "holds the text of", "lies in the text of", "overlaps the text of")
"""How an item can resemble a gold text, the strongest sign first."""

_NEAR = 0.9  # of the pieces of three characters that two texts have: by less, figures and names may differ
_OVERLAP = 0.8  # of the gold text's words
_CONSTANT = 60  # of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)


class Candidate(NamedTuple):
    """An item that was retrieved, is not labelled, and resembles one that is relevant."""

    query_id: Hashable
    """The query."""
    item: Hashable
    """What may lack a label."""
    grade: float
    """The grade of the relevant item: what `add_labels` would give."""
    rank: int
    """Where it was retrieved, from 1."""
    relevant: Hashable
    """The relevant item that it resembles most."""
    why: str
    """How: it is, is nearly, holds, lies in or overlaps "the text of" that item; the strongest that applies."""
    share: float
    """How much, in [0, 1]: how alike they are where it is nearly that text, else how much of it the item has."""


@dataclass(frozen=True, repr=False, eq=False)
class MissingLabels:
    """Candidates for missing labels, and how far hit rate could move. Made by `missing_labels`."""

    candidates: tuple[Candidate, ...]
    """What to look at, the strongest first."""
    lower: Score
    """Hit rate as labelled."""
    upper: Score
    """Hit rate if every candidate were labelled."""
    unknown: tuple[Hashable, ...]
    """Items whose text is not known, so that nothing can be said of them."""

    def rows(self) -> Rows:
        """Return one mapping per candidate, for `pandas.DataFrame(...)` and, once looked at, for `add_labels`."""
        return [candidate._asdict() for candidate in self.candidates]

    def __repr__(self) -> str:
        """Show how many there are, and the bounds."""
        n = len(self.candidates)
        return f"<MissingLabels: {n} candidate{'s' * (n != 1)}, {self.lower:.3f} to {self.upper:.3f}>"

    def __str__(self) -> str:
        """Return the bounds and the strongest candidates, to be printed."""
        n, queries = len(self.candidates), len({candidate.query_id for candidate in self.candidates})
        lines = [
            f"{n:,} candidate{'s' * (n != 1)} for missing labels, in {queries:,} of {self.lower.n:,} queries",
            f"as labelled   {self.lower!r}",
            f"all accepted  {self.upper!r}",
        ]
        for each in self.candidates[:10]:
            where = f"{_short(each.query_id)}, rank {each.rank}: {_short(each.item)}"
            lines.append(f"  {where} {each.why} {_short(each.relevant)} ({each.share:.0%})")
        if len(self.candidates) > 10:
            lines.append(f"  ... and {len(self.candidates) - 10:,} more in rows()")
        if self.unknown:
            lines.append(f"unknown: {len(self.unknown):,} items have no text, such as {self.unknown[0]!r:.60}")
        return "\n".join(lines)


def missing_labels(
    evaluation: Evaluation, k: int | None = 5, *, texts: Mapping[Any, str] | None = None
) -> MissingLabels:
    """Return the unlabelled items of the top k whose text resembles that of a relevant item of the same query.

    Where a label is missing, hit rate counts a good answer as a miss. An item resembles a gold text that is the same
    (`same_text`), near-equal (`similar(0.9)`), in it or around it (`contains`), or of whose words it has most
    (`overlap(0.8)`). Only a person can tell whether it answers the query: look at the rows, then `add_labels`.

    Args:
        evaluation: the judged run.
        k: the cutoff; None for all that was retrieved.
        texts: item -> text, of the relevant and of the retrieved items; of spans, document -> text will do. None where
            a matcher of texts was given: the items are the texts.

    Raises:
        TypeError, ValueError: an argument is something else, or no text is known of any item.

    >>> from hitrate_adapters import evaluate
    >>> texts = {"d1": "Refunds take five days.", "d2": "Shipping is free.", "p9": "Note: refunds take five days."}
    >>> missing = missing_labels(evaluate({"q1": ["d1"]}, {"q1": ["d2", "p9", "d1"]}), k=2, texts=texts)
    >>> missing.candidates[0].item, missing.candidates[0].why, float(missing.lower), float(missing.upper)
    ('p9', 'holds the text of', 0.0, 1.0)
    """
    k = cutoff(k)
    if not isinstance(evaluation, Evaluation):
        raise TypeError(
            f"missing_labels needs an Evaluation, as `evaluate` returns it, got {type(evaluation).__name__}"
        )
    if texts is not None and not isinstance(texts, Mapping):
        raise TypeError(f"texts must be a mapping of item -> text, got {type(texts).__name__}")
    qrels, judge = evaluation.qrels, evaluation.judge
    kind = compares_of(judge.match)
    has_texts = texts is not None or kind == "texts"

    def text(item: Hashable) -> str | None:
        return text_of(item, texts, are_spans=kind == "spans") if has_texts else None

    found: list[Candidate] = []
    known: dict[Hashable, bool] = {}
    for query_id in evaluation:
        gold, ranking = judge.sides(qrels[query_id], evaluation.run.get(query_id, ()))
        grades = grades_of(qrels[query_id])
        settled = {None, *grades, *(match.retrieved for match in evaluation.matches(query_id))}
        ranks = {item: rank for item, rank in _ranks(ranking[:k]).items() if item not in settled}
        known |= {item: text(item) is not None for item in (*gold, *ranks)}
        for item, rank in ranks.items():
            signs = [(*sign, wanted) for wanted in gold if (sign := _sign(text(item), text(wanted)))]
            if signs:
                nth, share, relevant = min(signs, key=lambda each: (each[0], -each[1]))
                found.append(Candidate(query_id, item, grades[relevant], rank, relevant, _WHY[nth], share))
    if not any(known.values()):
        own = "; or, where your matcher compares texts, set its attribute compares to 'texts'" if kind is None else ""
        raise ValueError(
            f"no text of any item is known, such as {next(iter(known))!r:.60}: give texts=, item -> text{own}"
        )
    found.sort(key=lambda each: (_WHY.index(each.why), -each.share, each.rank))
    labelled = add_labels(qrels, [candidate._asdict() for candidate in found])
    accepted = replace(evaluation, qrels=labelled, records=judge.judge_all(labelled, evaluation.run))
    return MissingLabels(
        candidates=tuple(found),
        lower=evaluation.hit_rate(k),
        upper=accepted.hit_rate(k),
        unknown=tuple(item for item, is_known in known.items() if not is_known),
    )


def pool(qrels: Qrels, runs: Mapping[str, RunLike], *, depth: int = 10, labels: int = 3) -> Rows:
    """Return what to judge next: the unjudged items in the top of any run, of each query with too few relevant ones.

    This is the pooling of TREC. Items that many runs rank high come first, by the sum of 1 / (60 + rank) (reciprocal
    rank fusion); judge from the top, three to five relevant items a query are a good golden set. A row has `query_id`,
    `item`, `grade` (None: write the judgement there, 0 for not relevant, and give the rows to `add_labels`), the best
    `rank`, the names of the `runs` that have it, and `n_relevant`, how many relevant items the query has so far.

    Args:
        qrels: query id -> relevant items, or item -> grade; an item of any grade is judged.
        runs: name -> run, each query id -> retrieved items, best first, or item -> score. The more the runs differ, the
            less will be missed. Queries without judgements are pooled too.
        depth: how many items of each ranking to look at.
        labels: how many relevant items are enough for a query.

    Raises:
        TypeError, ValueError: an argument is something else, or a run shares no query with the qrels.

    >>> runs = {"bm25": {"q1": ["d1", "d2", "d3"]}, "dense": {"q1": ["d4", "d3", "d1"]}}
    >>> [(row["item"], row["rank"], row["runs"]) for row in pool({"q1": {"d1"}}, runs)]
    [('d3', 2, ('bm25', 'dense')), ('d4', 1, ('dense',)), ('d2', 2, ('bm25',))]
    """
    depth, labels = _at_least_one("depth", depth), _at_least_one("labels", labels)
    _check_mapping(qrels)
    _check_runs(qrels, runs)
    scored = []
    for query_id in dict.fromkeys(chain(qrels, *runs.values())):
        grades = grades_of(qrels.get(query_id, ()))
        n_relevant = sum(grade > 0 for grade in grades.values())
        if n_relevant >= labels:
            continue
        ranks: dict[Hashable, dict[str, int]] = {}
        for name, run in runs.items():
            try:
                ranking = ranked_items(run.get(query_id, ()))[:depth]
            except (TypeError, ValueError) as error:
                error.add_note(f"in query {query_id!r} of the run {name!r}")
                raise
            for item, rank in _ranks(ranking).items():
                if not (is_absent(item) or item in grades):
                    ranks.setdefault(item, {})[name] = rank
        for item, by in ranks.items():
            row = {"query_id": query_id, "item": item, "grade": None, "rank": min(by.values()), "runs": tuple(by)}
            scored.append((fsum(1 / (_CONSTANT + rank) for rank in by.values()), {**row, "n_relevant": n_relevant}))
    return [row for _, row in sorted(scored, key=itemgetter(0), reverse=True)]


def add_labels(qrels: Qrels, rows: Iterable[Mapping[str, Any]]) -> dict[Any, Items]:
    """Return a new golden set with the judgements of rows, as `pool` and `MissingLabels.rows` give them.

    A row needs `query_id`, `item` and `grade`; more than 0 is relevant, as is True. A grade that is None or NaN is not
    judged yet, and adds nothing. Sets stay sets, and keep what is relevant only; item -> grade stays that, and keeps
    every grade. A query that is new must have an id of a type that the golden set has, so that 1 does not pass by "1".

    Raises TypeError or ValueError for a row that is something else; says which.

    >>> add_labels({"q1": {"d1"}}, [{"query_id": "q1", "item": "d2", "grade": 1}])["q1"] == {"d1", "d2"}
    True
    """
    _check_mapping(qrels)
    if hasattr(rows, "columns"):
        raise TypeError(f'rows are a {type(rows).__name__}: pass its .to_dict("records")')
    grades = {query_id: grades_of(items) for query_id, items in qrels.items()}
    kinds = set(map(type, grades))
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number} must be a mapping with query_id, item and grade, got {row!r:.200}")
        missing = [key for key in ("query_id", "item", "grade") if key not in row]
        if missing:
            raise ValueError(f"row {number} has no {' and no '.join(missing)}: {row!r:.200}")
        query_id, item, grade = row["query_id"], row["item"], row["grade"]
        if is_absent(grade):
            continue
        if is_absent(query_id) or is_absent(item):
            raise ValueError(f"row {number} is graded, and of query {query_id!r} and item {item!r}: which are they?")
        if query_id not in grades and kinds and type(query_id) not in kinds:
            raise ValueError(
                f"row {number} is of query {query_id!r} ({type(query_id).__name__}), which the golden set has not: its "
                f"ids are such as {one_of(qrels)}"
            )
        if type(grade).__name__ in ("bool", "bool_"):  # NumPy's too
            grade = int(grade)
        check_number(f"the grade of row {number}", grade)
        if not isfinite(grade):
            raise ValueError(f"the grade of row {number} must be finite, got {grade!r}")
        grades.setdefault(query_id, {})[item] = grade
    form = next(iter(qrels.values()), {})
    return {query_id: in_form_of(qrels.get(query_id, form), judged) for query_id, judged in grades.items()}


def _sign(text: str | None, gold: str | None) -> tuple[int, float] | None:
    """Return how a text resembles a gold text, as an index of `_WHY`, and how much; None where it does not."""
    chunk, whole = _fold(text or ""), _fold(gold or "")
    if not chunk or not whole:
        return None
    if chunk == whole:
        return 0, 1.0
    if (alike := _likeness(chunk, whole)) >= _NEAR:
        return 1, alike
    if contains(chunk, whole):
        return (2, 1.0) if whole in chunk else (3, len(chunk) / len(whole))
    return (4, share) if (share := _share_held(chunk, whole)) >= _OVERLAP else None


def _short(item: Hashable) -> str:
    """Return an item in one line, without the middle of a long one: the ends of ids tell them apart."""
    line = " ".join(str(item).split())
    return line if len(line) <= 40 else f"{line[:24]}...{line[-13:]}"


def _ranks(ranking: list[Hashable]) -> dict[Hashable, int]:
    """Return item -> the rank at which it stands first."""
    ranks: dict[Hashable, int] = {}
    for rank, item in enumerate(ranking, 1):
        ranks.setdefault(item, rank)
    return ranks


def _check_mapping(qrels: Qrels) -> None:
    if not isinstance(qrels, Mapping):
        raise TypeError(f"qrels must be a mapping of query id -> items, got {type(qrels).__name__}")


def _check_runs(qrels: Qrels, runs: Mapping[str, RunLike]) -> None:
    if not isinstance(runs, Mapping) or not all(isinstance(run, Mapping) for run in runs.values()):
        raise TypeError('runs must be a mapping of name -> run, such as {"bm25": {"q1": ["d1", "d2"]}}')
    for name, run in runs.items():
        if qrels and qrels.keys().isdisjoint(run):
            raise ValueError(f"the run {name!r} shares no query id with the qrels")


def _at_least_one(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an int of at least 1, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)
