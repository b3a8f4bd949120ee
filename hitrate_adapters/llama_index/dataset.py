"""What a dataset asks, and what its evaluation comes to."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from llama_index.core.evaluation import RetrievalEvalResult
from llama_index.core.evaluation.retrieval.base import RetrievalEvalMode

from hitrate_adapters.core.evaluation import Evaluation, evaluate
from hitrate_adapters.core.items import Items

from ._items import string_ids


class Question(NamedTuple):
    """A query and what it expects: items, or item -> grade."""

    query_id: Hashable
    query: str
    expected_ids: Any
    expected_texts: Any
    mode: RetrievalEvalMode


def questions(dataset: Any, kind: str) -> list[Question]:
    """Return what a dataset asks, in its order, with the texts where `kind` says that "texts" are compared."""
    if isinstance(dataset, (str, PathLike)):
        try:
            dataset = json.loads(Path(dataset).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{dataset} is not a JSON file: {error}") from error
    names = ("queries", "relevant_docs", "corpus", "mode")
    parts = [dataset.get(name) if isinstance(dataset, Mapping) else getattr(dataset, name, None) for name in names]
    queries, relevant_docs, corpus, mode = parts
    if not isinstance(queries, Mapping) or not isinstance(relevant_docs, Mapping):
        raise TypeError(f"a dataset has mappings `queries` and `relevant_docs`, got {dataset!r:.80}")
    evaluate(relevant_docs, dict.fromkeys(queries, ()))  # raises where nothing can be scored, before it is retrieved
    asked = []
    for query_id, query in queries.items():
        relevant = relevant_docs.get(query_id, ())
        try:
            if not isinstance(query, str):
                raise TypeError(f"a query must be a str, got {query!r:.60}")
            ids = string_ids(relevant) if kind == "ids" or corpus else ()
            texts = _texts(relevant, corpus) if kind == "texts" else None
        except (TypeError, ValueError) as error:
            raise type(error)(f"query {query_id!r}: {error}") from None
        asked.append(Question(query_id, query, ids, texts, RetrievalEvalMode(mode or "text")))
    return asked


def _texts(relevant: Items, corpus: Mapping[Hashable, str] | None) -> Items:
    """Return the texts of relevant ids; without a corpus to look them up in, they are the texts."""
    texts = {item: corpus.get(item) if corpus else item for item in relevant}
    for item, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"the corpus has no text for {item!r}" if corpus else f"{item!r} is no text")
    if isinstance(relevant, Mapping):
        return {texts[item]: grade for item, grade in relevant.items()}
    return list(texts.values())


@dataclass(frozen=True, repr=False, eq=False)
class DatasetResult:
    """What a dataset's evaluation comes to; printed, it is a table.

    Iteration gives the `results`, so it goes wherever the list of LlamaIndex' own `aevaluate_dataset` went, such as
    `get_retrieval_results_df`.
    """

    results: list[RetrievalEvalResult]
    """The result of each query, in the order of the dataset."""
    evaluation: Evaluation
    """The judged queries, for any other metric and k, and their misses."""
    errors: dict[Hashable, Exception]
    """Query id -> what its retrieval raised (then it is a miss), or one of its metrics (then that one is NaN)."""
    k: tuple[int | None, ...]
    """The cutoffs of the printed table."""

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per query, for `pandas.DataFrame(...)`: its id and text, its scores, and what was found.

        A score that is not there is None, which pandas leaves out of a mean.
        """
        found = {row.pop("query_id"): row for row in self.evaluation.rows("hit_rate", None)}
        return [
            {
                "query_id": query_id,
                "query": result.query,
                **{name: None if isnan(score) else score for name, score in result.metric_vals_dict.items()},
                **{column: value for column, value in found[query_id].items() if column != "hit_rate"},
                "error": self.errors.get(query_id),
            }
            for query_id, result in zip(self.evaluation.qrels, self.results, strict=True)
        ]

    def __iter__(self) -> Iterator[RetrievalEvalResult]:
        """Give the results in the order of the dataset."""
        return iter(self.results)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.results)

    def __str__(self) -> str:
        """Return the table of every metric at the evaluator's cutoffs."""
        return self.evaluation.table(self.k)

    __repr__ = __str__
