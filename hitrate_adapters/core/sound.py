"""Evaluate the rows of a framework, of which one that cannot be read or judged must not lose the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from .evaluation import Evaluation, Qrels, evaluate
from .items import Items, relevant_items
from .records import Judge
from .retrieval import Run, read_once

Row = TypeVar("Row")


def evaluate_sound(qrels: Qrels, run: Run, judge: Judge) -> tuple[Evaluation, dict[Hashable, Exception]]:
    """Return an evaluation in which queries that cannot be judged are unscored, and what judging each of them raises.

    The evaluation's `faults` have that too. Raises it where it leaves no query that can be scored.
    """
    match, unique, level = judge.match, judge.unique, judge.relevance_level
    qrels, ranked = read_once(qrels), read_once(run)
    try:
        return evaluate(qrels, ranked, match=match, unique=unique, relevance_level=level), {}
    except Exception as error:
        if match is not None:
            match = cache(match)  # what it has answered it is not asked again: it may fail now and then
        faults = Judge(match=match, unique=unique, relevance_level=level).faults(qrels, ranked)
        sound = {query_id: relevant for query_id, relevant in qrels.items() if query_id not in faults}
        if not any(map(relevant_items, sound.values())):
            raise next(iter(faults.values()), error) from None
    rest = {query_id: [] if query_id in faults else items for query_id, items in ranked.items()}
    evaluation = evaluate(sound, Run(rest, {**run.errors, **faults}), match=match, unique=unique, relevance_level=level)
    return replace(evaluation, judge=judge), faults


def evaluate_rows(
    rows: Iterable[tuple[Hashable, Row]], read: Callable[[Row], tuple[Any, Any]], judge: Judge
) -> tuple[Evaluation, dict[Hashable, Exception]]:
    """Return an evaluation of a framework's rows, and what reading or judging each of the unscored ones raised.

    Args:
        rows: query id -> row, as pairs; further rows of an id are "ID #2" and so on.
        read: gives what is relevant in a row, and what was retrieved, or the exception of a retrieval that failed.
        judge: the rules.

    Raises what the first row raised where no query can be scored.
    """
    qrels, run, unread, seen = dict[Hashable, Items](), Run(), dict[Hashable, Exception](), Counter[Hashable]()
    for name, row in rows:
        query_id = name
        while query_id in run:
            seen[name] += 1
            query_id = f"{name} #{seen[name] + 1}"
        run[query_id] = []
        try:
            relevant, retrieved = read(row)
        except Exception as error:
            unread[query_id] = run.errors[query_id] = error
            continue
        qrels[query_id] = relevant
        if isinstance(retrieved, Exception):
            run.errors[query_id] = retrieved
        else:
            run[query_id] = retrieved
    if unread and not qrels:
        raise next(iter(unread.values()))
    evaluation, faults = evaluate_sound(qrels, run, judge)
    return evaluation, unread | faults
