"""Hit Rate@K for LangSmith: an evaluator for `evaluate`, `aevaluate` and `Client.evaluate`, and for pytest.

LangChain need not be installed.

>>> hits = HitRateEvaluator(k=(1, 3))
>>> for feedback in hits(outputs={"documents": ["d1", "d2"]}, reference_outputs={"relevant": ["d2"]}):
...     print(feedback["key"], feedback["score"], feedback["comment"])
hit_rate@1 0.0 no relevant item in the top 1; the first is at rank 2 of 2 retrieved
hit_rate@3 1.0 first relevant item at rank 2; 1 of 1 relevant in the top 3
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._documents import IdKey, ItemOf
from ._extras import extra
from .core.evaluation import Evaluation, evaluate
from .core.metrics import Metric, metrics_at
from .core.records import Items, Judge, Matcher
from .core.retrieval import Run as RetrievalRun

with extra("langsmith", "langsmith"):
    from langsmith.evaluation import EvaluationResult, EvaluationResults, RunEvaluator
    from langsmith.schemas import Example, Run

__all__ = ["DOCUMENT_KEYS", "REFERENCE_KEYS", "HitRateEvaluator"]

DOCUMENT_KEYS = ("documents", "docs", "source_documents", "context", "output")
"""Where retrieved documents are looked for without a `documents_key`: the first that is a list."""

REFERENCE_KEYS = ("relevant", "relevant_ids", "expected_ids", "document_ids", "documents")
"""Where relevant items are looked for without a `reference_key`: the first that is there."""

OutputsKey = str | Callable[[Mapping[str, Any]], Any] | None
_RETRIEVALS = {"all": slice(None), "first": slice(1), "last": slice(-1, None)}


class HitRateEvaluator(RunEvaluator):
    """A LangSmith evaluator of retrieval: one score per metric and k, for hit rate 1.0 or 0.0.

    Give it to `evaluate` as `evaluators=[hits]`, and as `summary_evaluators=[hits.summary]` for the means. A row
    without documents, or without the wanted ids, becomes LangSmith's error feedback; one without relevant items has the
    score None; one whose retrieval failed is a miss.

    Args:
        k: the cutoff, several, or None for all that was retrieved.
        metrics: "hit_rate", "recall", "precision", "mrr", "map", "ndcg", also with a cutoff of their own: "mrr@10".
        name: the feedback key of a single score, and the beginning of the keys of several: "bm25" gives
            "bm25_hit_rate@5". None: the metric's name.
        documents_key: where the retrieved documents are: a key of the target's outputs, or a function of them. None:
            the usual keys. Where the outputs have none, the traced retriever runs inside the target are taken: the
            outermost on each branch, so that an ensemble counts once.
        reference_key: where the relevant items are, a list of ids, texts or documents, or item -> grade: a key of the
            example's outputs, or a function of them. None: the usual keys.
        id_key: where a document's id is: a key of its metadata, or a function of the document. None: its `id`, else
            `metadata["id"]`.
        theta: a query is hit when that share of its relevant items is found, in (0, 1]. None: when any is.
        match_on: "ids", "texts", or "auto": texts where `match` is given, else ids.
        match: when a retrieved text counts as a relevant one, such as `contains`. None: equality.
        unique: drop repeats before the cutoff, for document ids that chunks share.
        retriever_name: score the retriever runs of this name, at whatever depth, and not the outputs.
        retrievals: which retriever runs of one row count: "all", one after the other, the "first", or the "last".

    Raises:
        TypeError, ValueError: an argument is wrong.
    """

    def __init__(  # noqa: PLR0913 - options, by name only
        self,
        k: int | Iterable[int | None] | None = 5,
        *,
        metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
        name: str | None = None,
        documents_key: OutputsKey = None,
        reference_key: OutputsKey = None,
        id_key: IdKey = None,
        theta: float | None = None,
        match_on: str = "auto",
        match: Matcher | None = None,
        unique: bool = False,
        retriever_name: str | None = None,
        retrievals: str = "all",
    ) -> None:
        """Refuse a configuration that cannot be followed."""
        if retrievals not in _RETRIEVALS:
            raise ValueError(f"retrievals must be one of {', '.join(_RETRIEVALS)}; got {retrievals!r}")
        wanted = metrics_at(metrics, k, theta)
        if name is None or len(wanted) > 1:
            self._metrics = {f"{name}_{metric}" if name else str(metric): metric for metric in wanted}
        else:
            self._metrics = {name: wanted[0]}
        self._judge = Judge(match=match, unique=unique)
        if match_on == "auto":
            match_on = "ids" if match is None else "texts"
        self._item_of = ItemOf(id_key, match_on)
        self._documents_key = documents_key
        self._reference_key = reference_key
        self._retriever_name = retriever_name
        self._retrievals = _RETRIEVALS[retrievals]

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the scores: LangSmith reports a row that cannot be read under each of them."""
        return list(self._metrics)

    def evaluate_run(
        self,
        run: Run,
        example: Example | None = None,
        evaluator_run_id: object = None,  # noqa: ARG002 - the base class has it
    ) -> EvaluationResults:
        """Return one result per metric and k for one row; LangSmith's runners call this.

        Raises:
            TypeError, ValueError: the row holds no documents, or they lack the wanted ids.
        """
        row = self._read(run, example)
        return {"results": [EvaluationResult(**feedback) for feedback in self._feedback(row)]}

    def __call__(
        self,
        inputs: object = None,  # noqa: ARG002 - LangSmith's order of arguments
        outputs: object = None,
        reference_outputs: object = None,
    ) -> list[dict[str, Any]]:
        """Return the key, score and comment of each metric and k for plain outputs, as in a pytest test.

        Raises:
            TypeError, ValueError: the outputs hold no documents, or they lack the wanted ids.
        """
        documents = self._documents_in(outputs)
        if documents is None:
            raise self._no_documents(outputs)
        return self._feedback(self._row(documents, reference_outputs))

    def summary(self, runs: Sequence[Run], examples: Sequence[Example]) -> EvaluationResults:
        """Return the mean per metric and k over the rows that can be scored, for `summary_evaluators`."""
        try:
            evaluation, unread = self._evaluate(zip(runs, examples, strict=True))
        except Exception as error:  # LangSmith would leave the summary out
            return {
                "results": [
                    EvaluationResult(key=key, comment=str(error), extra={"error": True}) for key in self._metrics
                ]
            }
        left_out = f"; not scored: {len(evaluation.unscored)} ({len(unread)} in error)"
        scores = {key: evaluation.score(metric) for key, metric in self._metrics.items()}
        return {
            "results": [
                EvaluationResult(key=key, score=float(score), comment=f"{score!r}{left_out}")
                for key, score in scores.items()
            ]
        }

    def evaluation(self, rows: Iterable[Mapping[str, Any]]) -> Evaluation:
        """Return an `Evaluation` of the rows that `evaluate` returned, or `[row async for row in ...]` of `aevaluate`.

        Its query ids are the examples' ids as str; further repetitions of an example are "ID #2" and so on.

        Raises:
            TypeError, ValueError: no row can be scored.
        """
        return self._evaluate((row["run"], row["example"]) for row in rows)[0]

    def __repr__(self) -> str:
        """Show the feedback keys."""
        return f"<HitRateEvaluator of {', '.join(self._metrics)}>"

    def _feedback(self, row: _Row) -> list[dict[str, Any]]:
        record = self._judge(row.relevant, row.retrieved)
        return [
            {
                "key": key,
                "score": metric(record) if record.n_relevant else None,
                "comment": "; ".join(filter(None, (metric.explain(record), row.failure, row.note))),
            }
            for key, metric in self._metrics.items()
        ]

    def _evaluate(self, pairs: Iterable[tuple[Run, Example]]) -> tuple[Evaluation, list[Exception]]:
        """Return the evaluation, and what was raised by rows that cannot be read, which it leaves unscored."""
        qrels: dict[str, Items] = {}
        retrieved, unread, seen = RetrievalRun(), [], Counter[str]()
        for run, example in pairs:
            query_id = str(example.id)
            seen[query_id] += 1
            if seen[query_id] > 1:
                query_id = f"{query_id} #{seen[query_id]}"
            retrieved[query_id] = []
            try:
                row = self._read(run, example)
                self._judge(row.relevant, row.retrieved)
            except Exception as error:
                unread.append(error)
                continue
            qrels[query_id], retrieved[query_id] = row.relevant, row.retrieved
            if row.failure and not row.retrieved:
                retrieved.errors[query_id] = RuntimeError(row.failure)
        if unread and not qrels:
            raise unread[0]
        return evaluate(qrels, retrieved, match=self._judge.match, unique=self._judge.unique), unread

    def _read(self, run: Run, example: Example | None) -> _Row:
        """Find what was retrieved, in the target's outputs or in the retriever runs inside it."""
        reference = example.outputs if example else None
        if self._retriever_name is None and not run.error:
            documents = self._documents_in(run.outputs)
            if documents is not None:
                return self._row(documents, reference)
        retrievals = list(_retriever_runs(run, self._retriever_name))[self._retrievals]
        if not retrievals and not run.error:
            raise self._no_documents(run.outputs)
        retrieved: list[Any] = []
        failures = [] if retrievals else [f"the target failed: {_first_line(run.error)}"]
        for retrieval in retrievals:
            if retrieval.error:
                failures.append(f"{retrieval.name} failed: {_first_line(retrieval.error)}")
                continue
            documents = self._documents_in(retrieval.outputs)
            if documents is None:
                raise self._no_documents(retrieval.outputs)
            retrieved += _listed(documents)
        return self._row(retrieved, reference, "; ".join(failures))

    def _row(self, documents: object, reference: object, failure: str = "") -> _Row:
        relevant = _look_up(reference, self._reference_key, REFERENCE_KEYS, object)
        note = ""
        if relevant is None:
            note = f"the reference outputs have {_keys(reference)}: reference_key= says where the relevant items are"
        return _Row(
            relevant=() if relevant is None else self._item_of.of_relevant(relevant),
            retrieved=[self._item_of(document) for document in _listed(documents)],
            failure=failure,
            note=note,
        )

    def _documents_in(self, outputs: object) -> Any:
        return _look_up(outputs, self._documents_key, DOCUMENT_KEYS, (list, tuple))

    def _no_documents(self, outputs: object) -> ValueError:
        by_key = "" if self._documents_key is None else f" by documents_key={self._documents_key!r}"
        retriever = "retriever run" if self._retriever_name is None else f"run of a retriever {self._retriever_name!r}"
        return ValueError(
            f"no list of retrieved documents{by_key}: the outputs have {_keys(outputs)}, and no {retriever} was traced "
            "inside (a loaded experiment needs load_nested=True): documents_key= says where the documents are"
        )


class _Row(NamedTuple):
    """What one row was judged by; `failure` and `note` go into the comment."""

    relevant: Items
    retrieved: list[Hashable]
    failure: str
    note: str


def _look_up(outputs: object, key: OutputsKey, usual: Sequence[str], kind: type | tuple[type, ...]) -> Any:
    """Return what the key or function gives, or what of that kind stands under a usual key; None where nothing does."""
    fields = outputs if isinstance(outputs, Mapping) else {"output": outputs}
    if callable(key):
        return key(fields)
    if key is not None:
        return fields.get(key)
    found = (fields.get(name) for name in usual)
    return next((value for value in found if value is not None and isinstance(value, kind)), None)


def _retriever_runs(run: Run, name: str | None) -> Iterator[Run]:
    """Give the outermost retriever runs of each branch, or the outermost of that name, in the order of their start."""
    if run.run_type == "retriever" and name in (None, run.name):
        yield run
    else:
        for child in run.child_runs or ():
            yield from _retriever_runs(child, name)


def _listed(documents: object) -> list[Any] | tuple[Any, ...]:
    if isinstance(documents, (list, tuple)):
        return documents
    raise TypeError(f"retrieved documents must be a list, best first; found {documents!r:.80}")


def _keys(outputs: object) -> str:
    return (", ".join(map(repr, outputs)) if isinstance(outputs, Mapping) else "") or "nothing"


def _first_line(error: str | None) -> str:
    return (error or "").strip().partition("\n")[0].removesuffix("Traceback (most recent call last):")
