"""What a dataset asks, and what its evaluation comes to."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import isnan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.evaluation import RetrievalEvalResult
from llama_index.core.evaluation.retrieval.base import RetrievalEvalMode

from hitrate_adapters.core.evaluation import Evaluation, evaluate
from hitrate_adapters.core.items import Items
from hitrate_adapters.core.scores import Score

from ._items import Kind, highest, listed, spans, string_ids

if TYPE_CHECKING:
    import pandas as pd


class Question(NamedTuple):
    """A query and what it expects: items, or item -> grade."""

    query_id: Hashable
    query: str
    expected_ids: Any
    expected_texts: Any
    mode: RetrievalEvalMode
    expected_spans: Any = ()


def questions(dataset: Any, kind: Kind) -> list[Question]:
    """Return what a dataset asks, in its order, with the texts or spans where `kind` says that these are compared."""
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
    relevant_docs = {query_id: _read(query_id, items, kind) for query_id, items in relevant_docs.items()}
    evaluate(relevant_docs, dict.fromkeys(queries, ()))  # raises where nothing can be scored, before it is retrieved
    asked = []
    for query_id, query in queries.items():
        relevant = relevant_docs.get(query_id, ())
        try:
            if not isinstance(query, str):
                raise TypeError(f"a query must be a str, got {query!r:.60}")
            ids = string_ids(relevant) if kind == "ids" or (kind == "texts" and corpus is not None) else ()
            texts = _texts(relevant, corpus) if kind == "texts" else None
        except (TypeError, ValueError) as error:
            raise type(error)(f"query {query_id!r}: {error}") from None
        asked.append(Question(query_id, query, ids, texts, RetrievalEvalMode(mode or "text"), relevant))
    return asked


def _read(query_id: Hashable, items: Any, kind: Kind) -> Any:
    try:
        return spans(items) if kind == "spans" else listed(items)
    except (TypeError, ValueError) as error:
        raise type(error)(f"query {query_id!r}: {error}") from None


def _texts(relevant: Items, corpus: Mapping[Hashable, str] | None) -> Items:
    """Return the texts of relevant ids; without a corpus to look them up in, they are the texts."""
    if corpus is not None and not isinstance(corpus, Mapping):
        raise TypeError(f"the corpus must be a mapping of id -> text, got {type(corpus).__name__}")
    texts = {}
    for item in relevant:
        text = item if corpus is None else corpus.get(item, corpus.get(str(item)))
        if not isinstance(text, str):
            raise TypeError(
                f"{item!r:.60} is no text" if corpus is None else f"the corpus has no text for {item!r:.60}"
            )
        texts[item] = text
    if isinstance(relevant, Mapping):
        return highest((texts[item], grade) for item, grade in relevant.items())
    return list(texts.values())


@dataclass(frozen=True, repr=False, eq=False)
class DatasetResult:
    """What a dataset's evaluation comes to; printed, it is a table of the means.

    Iteration gives the `results`, so it goes wherever the list of LlamaIndex' own `aevaluate_dataset` went, such as
    `get_retrieval_results_df`.
    """

    query_ids: list[Hashable]
    """The ids of the queries, in the order of the dataset."""
    results: list[RetrievalEvalResult]
    """The result of each query, in that order."""
    means: dict[str, float]
    """Metric -> its mean over the queries that it scored: a `Score`, which knows its interval, or of a metric of
    LlamaIndex' own a plain float."""
    evaluation: Evaluation
    """The judged queries, for any other metric and k, and their misses. Queries whose judging failed are not in it."""
    errors: dict[Hashable, Exception]
    """Query id -> what its retrieval raised (then it is a miss, as in `evaluation.errors`), its judging (then it is not
    scored), or a metric of LlamaIndex' own (then that metric is NaN)."""

    @property
    def n_scored(self) -> int:
        """How many queries the means are over."""
        return len(self.evaluation)

    @property
    def n_unscored(self) -> int:
        """How many queries are in no mean: without relevant items (`evaluation.unscored`), or their judging failed."""
        return len(self) - self.n_scored

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per query: its id and text, its scores, and what was found.

        A score that is not there is None, which pandas leaves out of a mean.
        """
        judged = {row["query_id"]: row for row in self.evaluation.rows("hit_rate", None)}
        return [
            {
                "query_id": query_id,
                "query": result.query,
                **{name: None if isnan(score) else score for name, score in result.metric_vals_dict.items()},
                **{column: judged.get(query_id, {}).get(column) for column in _COUNTS},
                "error": self.errors.get(query_id),
            }
            for query_id, result in zip(self.query_ids, self.results, strict=True)
        ]

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame; needs pandas."""
        import pandas as pd  # slow, and for this alone

        return pd.DataFrame(self.rows())

    def __iter__(self) -> Iterator[RetrievalEvalResult]:
        """Give the results in the order of the dataset."""
        return iter(self.results)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.results)

    def __str__(self) -> str:
        """Return the means, with the 95 % interval of hit rates, and the first few queries that failed or do not count.

        A metric of LlamaIndex' own that scored fewer queries than the others has their number beside it.
        """
        width = max(map(len, self.means))
        lines = [f"{name:{width}}  {mean:.3f}{self._beside(name, mean)}" for name, mean in self.means.items()]
        judged, missed = self.evaluation.qrels, self.evaluation.errors
        unscored: dict[Hashable, object] = dict.fromkeys(self.evaluation.unscored, "no relevant items")
        unscored |= {query_id: self.errors[query_id] for query_id in self.query_ids if query_id not in judged}
        lines += _some(f"{self.n_scored} of {len(self)} queries scored" + ("; not:" if unscored else ""), unscored)
        lines += _some(f"{len(missed)} whose retrieval failed, a miss each:", missed) if missed else []
        return "\n".join([*lines, *(f"warning: {message}" for message in self.evaluation.warnings)])

    __repr__ = __str__

    def _beside(self, name: str, mean: float) -> str:
        if isinstance(mean, Score):
            return "" if mean.interval is None else "  [{:.3f}, {:.3f}]".format(*mean.interval)
        n = len([result for result in self.results if not isnan(result.metric_vals_dict[name])])
        return "" if n == self.n_scored else f"  (n={n})"


_COUNTS = ("first_hit_rank", "n_found", "n_relevant", "n_retrieved")


def _some(title: str, reasons: Mapping[Hashable, object]) -> list[str]:
    """Return a title and the first five reasons, each in a line."""
    some = [f"  {query_id!r:.60}: {_reason(reason):.120}" for query_id, reason in islice(reasons.items(), 5)]
    return [title, *some, *(["  ..."] if len(reasons) > 5 else [])]


def _reason(reason: object) -> str:
    text = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason)
    return " ".join(text.split())
