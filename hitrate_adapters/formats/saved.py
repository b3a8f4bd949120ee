"""Evaluations in files, with all that is needed to compare with them and to look into them later: baselines."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from types import FunctionType
from typing import Any

from hitrate_adapters import __version__
from hitrate_adapters.core.evaluation import Evaluation
from hitrate_adapters.core.items import Items, ranked_items
from hitrate_adapters.core.matching import name_of
from hitrate_adapters.core.records import Judge, Matcher, Records
from hitrate_adapters.core.retrieval import Run
from hitrate_adapters.core.spans import Span

from .files import PathLike, Place, lines, written
from .ids import grade, number
from .matchers import matcher_of
from .recorded import record_of
from .rows import json_object
from .writers import dumped
from .writing import told

VERSION = 1
"""Of the layout of these files; a reader refuses a later one."""


def save(evaluation: Evaluation, path: PathLike) -> None:
    """Write an evaluation as JSON lines, which `load` gives back; an older file stays until the new one is whole.

    The file holds the rules, and for each query what was relevant, what was retrieved, best first, what its retrieval
    raised, and its record: nothing is matched again when it is loaded. Its first line says so; each other is a query.

    Args:
        evaluation: what `evaluate` returned. Ids and items are strings, numbers, None or tuples, such as spans.
        path: the file; one whose name ends in .gz is packed.

    Raises:
        OSError: the file cannot be written.
        TypeError: an id or an item is something else, such as a UUID; says of which query.
    """
    query_ids = dict.fromkeys([*evaluation.qrels, *evaluation.run, *evaluation.unscored])
    head = {
        "hitrate_adapters": __version__,
        "saved": "evaluation",
        "version": VERSION,
        "queries": len(query_ids),
        **evaluation.judge.rules,
        "match": _name(evaluation.judge.match),
    }
    if head["relevance_level"] is not None:
        head["relevance_level"] = number(head["relevance_level"], "relevance_level")
    with written(path) as file:
        file.write(f"{dumped(head)}\n")
        for query_id in query_ids:
            try:
                file.write(f"{dumped(dict(_fields(evaluation, query_id)))}\n")
            except TypeError as error:
                raise TypeError(f"query {query_id!r}: {error}") from None


def is_saved(path: PathLike) -> bool:
    """Return whether a file begins as those do that `save` writes. Raises OSError where it cannot be opened."""
    try:
        return json_object(next(lines(Place(path)), b"")).get("saved") == "evaluation"
    except ValueError:
        return False


def load(path: PathLike, match: Matcher | None = None) -> Evaluation:
    """Return an evaluation that `save` wrote: the same records, so the same scores, whatever the version that judges.

    Args:
        path: the file.
        match: the matcher, where it is one of your own, which no file can hold. Without it all works but what matches
            again, such as `matches`, which then raises RuntimeError.

    Raises:
        OSError: the file cannot be opened.
        ValueError: this is no such file, one of a later version, one that is cut off, one with what no evaluation has
            (says the line), or one that was judged by another matcher, by its name, than `match`. Only a plain
            function of a module is known by its name.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import hitrate_adapters as hr
    >>> evaluation = hr.evaluate({"q1": {"d2"}, "q2": {"d1"}}, {"q1": ["d1", "d2"], "q2": ["d6"]})
    >>> with TemporaryDirectory() as folder:
    ...     save(evaluation, Path(folder, "baseline.jsonl"))
    ...     load(Path(folder, "baseline.jsonl")).hit_rate(5)
    hit_rate@5 = 0.500 [0.095, 0.905] (n=2)
    """
    place = Place(path)
    try:
        return _loaded(place, match)
    except KeyError as error:
        raise place.fault(f"line {place.at!r} lacks {error}") from None


def _loaded(place: Place, match: Matcher | None) -> Evaluation:
    rows = (json_object(line) for line in lines(place))
    head = _head(rows, place)
    own = _matcher(head["match"], match, place)
    with place:
        judge = Judge(match=own, unique=head["unique"], relevance_level=head["relevance_level"])
    qrels: dict[Hashable, Items] = {}
    run, records, unscored = Run(), {}, dict[Hashable, None]()
    with place:
        for row in rows:
            query_id = _decoded(row["query_id"])
            if query_id in records or query_id in unscored:
                raise ValueError(f"query {query_id!r} is on an earlier line too")
            if "relevant" in row:
                qrels[query_id] = _gold(row)
            if "retrieved" in row:
                run[query_id] = list(map(_decoded, _list(row, "retrieved")))
            if "error" in row:
                run.errors[query_id] = RuntimeError(row["error"])
            if "record" in row:
                records[query_id] = record_of(row["record"])
                _ = row["relevant"]  # without which nothing could have been judged
            else:
                unscored[query_id] = None
    n = len(records) + len(unscored)
    if n != head["queries"]:
        raise place.fault(f"this is cut off: it has {n} of {head['queries']} queries")
    if not records:
        raise place.fault("none of its queries was scored")
    return Evaluation(
        records=Records.of(records),
        unscored=tuple(unscored),
        missing=tuple(query_id for query_id in records if query_id not in run),
        errors=run.errors,
        qrels=qrels,
        run=run,
        judge=judge,
    )


def _head(rows: Iterator[dict[str, Any]], place: Place) -> dict[str, Any]:
    with place:
        head = next(rows, {})
        if head.get("saved") == "evaluation" and (type(head["version"]) is not int or head["version"] < 1):
            raise ValueError(f"the version must be a whole number of at least 1, found {head['version']!r:.60}")
    if head.get("saved") != "evaluation":
        raise place.fault("this is no evaluation that was saved: its first line does not say so")
    if head["version"] > VERSION:
        raise place.fault(
            f"saved by hitrate_adapters {head.get('hitrate_adapters')}, later than this {__version__}: upgrade"
        )
    return head


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """Stands for a matcher that no file can hold; it equals none but itself, as others may have its name."""

    name: str

    def __call__(self, *_: object) -> bool:
        """Raise RuntimeError: what it does is not known."""
        raise RuntimeError(
            f"this was judged by {self.name}, which no file can hold: load(path, match=...) gives it back"
        )

    def __repr__(self) -> str:
        """Show the name."""
        return self.name


def _name(match: Matcher | None) -> str | None:
    """Return the call or the name that makes one of our matchers; of any other where it is from and its name.

    What is not known by its name, such as a partial or a decorated function, has a "<" in it.
    """
    if match is None or isinstance(match, Unknown) or _is_ours(match):
        return None if match is None else name_of(match)
    is_plain = isinstance(match, FunctionType) and not hasattr(match, "__wrapped__")
    name = match.__qualname__ if is_plain else f"<{type(match).__name__}>.{name_of(match)}"
    return f"{getattr(match, '__module__', '')}.{name}"


def _is_ours(match: Matcher) -> bool:
    try:
        return matcher_of(name_of(match)) == match
    except (TypeError, ValueError):  # a function of another that has the name of one of our makers
        return False


def _matcher(name: str | None, given: Matcher | None, place: Place) -> Matcher | None:
    """Return the matcher of a name, or the one that was given for a name that no file can bring back."""
    try:
        own = None if name is None else matcher_of(name) or Unknown(name)
    except (TypeError, ValueError) as error:
        raise place.fault(f"its matcher is {name}: {error}") from None
    if given is None or given == own:
        return own
    its = _name(given) or ""
    if isinstance(own, Unknown) and not _is_ours(given) and own.name.split(".")[-1] == its.split(".")[-1]:
        if "<" in own.name + its:
            raise place.fault(
                f"judged by {own.name}, which may be another one than {its}: a lambda, a partial, and a function that "
                "is within another or decorated are not known by their names. Evaluate with a plain function of a "
                "module, and save that"
            )
        return given  # the same name, though its module may have been __main__
    raise place.fault(f"judged by {name or 'equality'}, not by {its}")


def _fields(evaluation: Evaluation, query_id: Hashable) -> Iterator[tuple[str, Any]]:
    yield "query_id", _encoded(query_id)
    if query_id in evaluation.qrels:
        relevant = evaluation.qrels[query_id]
        if isinstance(relevant, (set, frozenset)):
            relevant = sorted(relevant, key=repr)  # the same file every time
        yield "relevant", list(map(_encoded, relevant))
        if isinstance(relevant, Mapping):
            yield "grades", [grade(value, f"the grade of {item!r}") for item, value in relevant.items()]
    if query_id in evaluation.run:
        yield "retrieved", list(map(_encoded, ranked_items(evaluation.run[query_id])))
    if query_id in evaluation.errors:
        yield "error", told(evaluation.errors[query_id])
    if query_id in evaluation.records:
        yield "record", evaluation.records[query_id]._asdict()


def _encoded(item: Any) -> Any:
    if item is None or type(item) in (str, int, float, bool):
        return item
    if isinstance(item, tuple):
        return list(map(_encoded, item))
    if isinstance(item, Integral):  # NumPy's
        return int(item)
    advice = "evaluate ids, texts or spans: strings, numbers, or tuples of them; of a UUID its str(), on both sides"
    raise TypeError(f"{item!r:.80} ({type(item).__name__}) cannot be saved: {advice}")


def _list(row: dict[str, Any], field: str) -> list[Any]:
    found = row[field]
    if not isinstance(found, list):
        raise TypeError(f"expected a list in {field!r}, found {found!r:.60}")
    return found


def _gold(row: dict[str, Any]) -> Items:
    relevant = list(map(_decoded, _list(row, "relevant")))
    if "grades" not in row:
        return relevant
    given = zip(relevant, _list(row, "grades"), strict=True)
    return {item: grade(value, f"the grade of {item!r}") for item, value in given}


def _decoded(found: Any) -> Any:
    if isinstance(found, dict):
        raise TypeError(f"expected an id, a text or a span, found {found!r:.60}")
    if not isinstance(found, list):
        return found
    items = tuple(map(_decoded, found))
    return Span(*items) if len(items) == 3 and {int}.issuperset(map(type, items[1:])) else items
