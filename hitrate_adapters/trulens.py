"""Hit Rate@K for TruLens: metrics with their selectors, for live apps, ingested data and tables, without any provider.

>>> from trulens.core.batch import BatchEvaluator
>>> metrics = hit_rate_metrics({"Is my dog free?": ["dogs"]}, k=(1, 2), source="columns")
>>> rows = [{"query": "Is my dog free?", "retrieved": ["bikes", "dogs"]}]
>>> BatchEvaluator(metrics).evaluate(rows)[["query", "hit_rate@1", "hit_rate@2"]]
             query  hit_rate@1  hit_rate@2
0  Is my dog free?         0.0         1.0
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ._extras import extra
from .core.evaluation import Evaluation
from .core.items import is_absent, string_id
from .core.metrics import Cutoffs, Metric
from .core.records import Items, Judge, Matcher
from .core.scoring import QueryScorer
from .core.sound import evaluate_rows

with extra("trulens", "trulens.core"):
    from trulens.core import Metric as TruLensMetric
    from trulens.core import Selector
    from trulens.core.metric.metric import SkipEval
    from trulens.otel.semconv.trace import SpanAttributes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["evaluation", "hit_rate_metrics"]

_CONTEXTS = (SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS, SpanAttributes.CALL.RETURN)
_Score = Callable[[Any, Any], tuple[float | None, dict[str, str]]]


def hit_rate_metrics(  # noqa: PLR0913 - the words that all adapters share
    golden: Mapping[Any, Items] | Iterable[Any],
    k: Cutoffs = (1, 5, 10),
    metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
    *,
    theta: float | None = None,
    match: Matcher | None = None,
    unique: bool = False,
    source: str = "spans",
    query: str | Selector | None = None,
    retrieved: str | Selector | None = None,
    name: str | None = None,
) -> list[TruLensMetric]:
    """Return one TruLens `Metric` per metric and k, with selectors: each scores one retrieval in [0, 1], with a reason.

    They go into `TruApp(feedbacks=)`, `Run.compute_metrics` or, with `source="columns"`, `BatchEvaluator`. A query that
    the golden set lacks, or has nothing relevant for, is skipped: it has no score, and is in no mean.

    Args:
        golden: query -> relevant items (ids or texts, as strings or ints), or item -> grade; or TruLens' own ground
            truth, rows or a DataFrame with `query` and `expected_chunks`. Ids are compared by their `str()`.
        k: one cutoff or several; None: all that was retrieved.
        metrics: names, of "hit_rate", "recall", "precision", "mrr", "map" and "ndcg", also with a k: "mrr@10".
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match: when a retrieved item counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut, for document ids of chunks.
        source: "spans", what an instrumented app or an ingestion recorded, or "columns", the columns of a table.
        query: what has the query. Spans: None, the input of the record, or an attribute of its retrieval spans.
            Columns: the column, None: "query". Or a `Selector` of your own.
        retrieved: what has the retrieved items, best first. Spans: None, the retrieved contexts, which are texts, or
            the attribute of the retrieval spans that holds ids. Columns: the column, None: "retrieved". Or your own.
        name: the name of a single metric, and the beginning of the names of several: "bm25" gives "bm25_hit_rate@5".
            None: the metric and k, then the rules that are not the usual ones, as "hit_rate@5[contains]".

    Raises:
        TypeError, ValueError: an argument is something else, or the golden set cannot be judged by.

    >>> golden = {"Is my dog free?": ["dogs"], "How long do refunds take?": {"refund-time": 2, "refund-window": 1}}
    >>> [metric.name for metric in hit_rate_metrics(golden, k=(1, 5), metrics=("hit_rate", "ndcg@10"))]
    ['hit_rate@1', 'hit_rate@5', 'ndcg@10']
    """
    selectors = _selectors(source, query=query, retrieved=retrieved)
    verdicts = QueryScorer(k, metrics, theta=theta, name=name, match=match, unique=unique)
    qrels = _qrels(golden, verdicts.judge)
    return [
        TruLensMetric(
            name=column,
            implementation=_implementation(column, verdicts, qrels, source),
            selectors=selectors,
            higher_is_better=True,
        )
        for column in verdicts.metrics
    ]


def evaluation(  # noqa: PLR0913 - the words of `hit_rate_metrics` that say how rows are read and judged
    golden: Mapping[Any, Items] | Iterable[Any],
    table: pd.DataFrame | Iterable[Mapping[str, Any]],
    metric: str | None = None,
    *,
    match: Matcher | None = None,
    unique: bool = False,
    query: str = "query",
    retrieved: str = "retrieved",
) -> Evaluation:
    """Return an `Evaluation` of a session's records, or of a table, for intervals, misses, segments and comparisons.

    Its query ids are the queries; further retrievals of a query are "QUERY #2" and so on. One that cannot be scored is
    named in `unscored`. A query of the golden set that was not asked is in no mean, as on the leaderboard.

    Args:
        golden: as for `hit_rate_metrics`.
        table: with `metric`, the records that `session.get_records_and_feedback(...)` gives; else the rows, or
            DataFrame, that `BatchEvaluator` takes or returns.
        metric: the name of a metric of `hit_rate_metrics` that the records have: what it was given is read.
        match: as for `hit_rate_metrics`.
        unique: likewise.
        query: the column of a table that has the query.
        retrieved: the column of a table that has the retrieved items, best first.

    Raises:
        TypeError, ValueError: one of these is something else, or no row can be scored.

    >>> rows = [{"query": "Is my dog free?", "retrieved": ["bikes", "dogs"]}]
    >>> evaluation({"Is my dog free?": ["dogs"]}, rows).hit_rate(2)
    hit_rate@2 = 1.000 [0.207, 1.000] (n=1)
    """
    judge = Judge(match=match, unique=unique)
    qrels = _qrels(golden, judge)
    rows = _rows(table)
    if metric is not None:
        rows, query, retrieved = _calls_of(metric, rows), "query", "retrieved"

    def read(row: Mapping[str, Any]) -> tuple[Any, Any]:
        absent = [column for column in (query, retrieved) if column not in row]
        if absent:
            raise ValueError(f"there is no {', no '.join(map(repr, absent))}, but {', '.join(map(repr, row))}")
        try:
            return _relevant_to(row[query], qrels), _ranking(row[retrieved])
        except SkipEval as skipped:
            raise ValueError(skipped.reason) from None

    def name_of(row: Mapping[str, Any]) -> Hashable:
        found = row.get(query)
        return found if isinstance(found, Hashable) else repr(found)

    return evaluate_rows(((name_of(row), row) for row in rows), read, judge)[0]


def _calls_of(metric: str, records: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Give what each call of a metric was given; of a record without one its input alone."""
    column = f"{metric}_calls"
    for record in records:
        if column not in record:
            raise ValueError(f"no record has {column!r}: there is {', '.join(map(repr, record))}")
        calls = record[column] if isinstance(record[column], list) else []
        yield from [call["args"] for call in calls if "args" in call] or [{"query": record["input"]}]


def _implementation(column: str, verdicts: QueryScorer, qrels: Mapping[Hashable, Items], source: str) -> _Score:
    """Return the function that TruLens calls; its arguments are named as the selectors."""

    def score(query: Any, retrieved: Any) -> tuple[float | None, dict[str, str]]:
        verdict = verdicts(_relevant_to(query, qrels), _ranking(retrieved), query)[column]
        if verdict.score is None:
            raise SkipEval(verdict.reason)
        return verdict.score, {"reason": verdict.reason}

    def score_row(query: Any, retrieved: Any) -> tuple[float | None, dict[str, str]]:
        try:
            return score(query, retrieved)
        except Exception as error:  # it would end the whole batch, and the reason of a SkipEval would be lost
            return None, {"reason": str(error)}

    return score_row if source == "columns" else score


def _relevant_to(query: Any, qrels: Mapping[Hashable, Items]) -> Items:
    try:
        if query in qrels:
            return qrels[query]
    except TypeError:  # it has no hash
        raise TypeError(
            f"the query is {query!r:.80} ({type(query).__name__}), which no golden set can have: query= names what has "
            f"its text, such as the attribute {SpanAttributes.RETRIEVAL.QUERY_TEXT!r} of the retrieval span"
        ) from None
    raise SkipEval(f"the golden set has no query {query!r:.80}")


def _selectors(source: str, **places: str | Selector | None) -> dict[str, Selector]:
    """Return the selectors of the query and of the retrieved items."""
    if source not in ("spans", "columns"):
        raise ValueError(f'source must be "spans" or "columns", got {source!r}')
    selectors = {}
    for word, place in places.items():
        if isinstance(place, Selector):
            selectors[word] = place
        elif not isinstance(place, str | None):
            raise TypeError(f"{word} must be the name of an attribute or a column, a Selector or None; got {place!r}")
        elif source == "columns":
            selectors[word] = Selector.from_column(word if place is None else place)
        elif word == "query" and place is None:
            selectors[word] = Selector.select_record_input()
        else:
            selectors[word] = Selector(
                span_type=SpanAttributes.SpanType.RETRIEVAL,
                span_attributes_processor=partial(_read, word, _CONTEXTS if place is None else (place,)),
                match_only_if_no_ancestor_matched=True,  # a retriever inside a retriever counts once
            )
    return selectors


def _read(word: str, names: Iterable[str], attributes: Mapping[str, Any]) -> Any:
    """Return the first of these attributes that a retrieval span has, or None."""
    if word == "retrieved" and attributes.get(SpanAttributes.CALL.ERROR):
        return []  # the retrieval failed: who asked got nothing
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def _ranking(given: Any) -> list[str | None]:
    """Return the retrieved items as strings, from a list, an array, or the JSON as which TruLens keeps mixed lists."""
    items = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(items, str):
        with suppress(ValueError):
            items = json.loads(items)
    if not isinstance(items, (list, tuple)):
        raise TypeError(
            f"retrieved items must be a list, best first; found {given!r:.80} ({type(given).__name__}): "
            "retrieved= names the attribute of the retrieval span, or the column, that holds them"
        )
    return [_item(item) for item in items]


def _is_blank(item: object) -> bool:
    return isinstance(item, str) and not item.strip()


def _qrels(golden: Any, judge: Judge) -> dict[Hashable, Items]:
    """Return query -> relevant items, or item -> grade, as strings. Raises for what could not be judged by."""
    qrels = _golden(golden)
    for query, relevant in qrels.items():
        judge(relevant, [], query)
        if judge.match is None and any(map(_is_blank, relevant)):
            raise ValueError(
                f"query {query!r}: the relevant items hold blank text, which nothing can match: leave it out"
            )
    return qrels


def _golden(golden: Any) -> dict[Hashable, Items]:
    """Return query -> relevant items, or item -> grade, as strings."""
    if isinstance(golden, Mapping):
        return {query: _relevant(items) for query, items in golden.items()}
    rows = _rows(golden)
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise TypeError(f"golden must be query -> relevant items, or rows with expected_chunks; got {golden!r:.80}")
    qrels: dict[Hashable, Items] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or not {"query", "expected_chunks"} <= row.keys():
            raise ValueError(f"golden row {number} must have query and expected_chunks; got {row!r:.80}")
        if row["query"] in qrels:
            raise ValueError(f"golden row {number} has the query {row['query']!r:.80} again: each has one row")
        chunks = row["expected_chunks"]
        chunks = chunks.tolist() if hasattr(chunks, "tolist") else chunks  # arrays of NumPy and Parquet
        if is_absent(chunks):
            qrels[row["query"]] = []  # not labelled
        elif isinstance(chunks, Mapping):
            qrels[row["query"]] = _relevant(chunks)
        elif isinstance(chunks, (list, tuple, set, frozenset)):
            qrels[row["query"]] = _relevant(dict(map(_chunk, chunks)))
        else:
            raise TypeError(
                f"golden row {number}, query {row['query']!r:.80}: expected_chunks must be a list, got {chunks!r:.80}"
            )
    return qrels


def _rows(table: Any) -> Any:
    """Return the rows of a DataFrame, or what is none as it is."""
    return table.to_dict(orient="records") if hasattr(table, "iterrows") else table


def _chunk(chunk: Any) -> tuple[Any, float]:
    """Return the text and the grade of an expected chunk."""
    return (chunk.get("text"), chunk.get("expect_score", 1)) if isinstance(chunk, Mapping) else (chunk, 1)


def _relevant(items: Any) -> Any:
    if isinstance(items, Mapping):
        return {_item(item): grade for item, grade in items.items()}
    if isinstance(items, str) or not isinstance(items, Iterable):
        return items  # the core says what is wrong with it
    return [_item(item) for item in items]


def _item(given: object) -> str | None:
    found = string_id(given)
    if found is None and given is not None:
        raise ValueError(f"{given!r:.80} ({type(given).__name__}) is no id and no text: these are a str or an int")
    return found
