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

from ._documents import IdKey, ItemOf, call, is_document
from ._extras import extra
from .core.evaluation import Evaluation
from .core.matching import compared, name_of
from .core.metrics import Cutoffs, Metric
from .core.records import Items, Matcher
from .core.scoring import Key, QueryScorer, check_keys
from .core.sound import evaluate_rows

with extra("langsmith", "langsmith"):
    from langsmith.evaluation import EvaluationResult, EvaluationResults, RunEvaluator
    from langsmith.schemas import Example, Run

__all__ = ["RELEVANT_KEYS", "RETRIEVED_KEYS", "HitRateEvaluator", "answer_scores"]

RETRIEVED_KEYS = ("documents", "docs", "source_documents", "context", "output")
"""Where retrieved documents are looked for without a `retrieved_key`: lists of documents first, in this order."""

RELEVANT_KEYS = ("relevant", "relevant_ids", "expected_ids", "document_ids", "documents")
"""Where relevant items are looked for without a `relevant_key`: the first that is there."""

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
            "bm25_hit_rate@5". None: the metric and k, then what differs from the defaults, as "hit_rate@5[contains]".
        retrieved_key: where the retrieved documents are: a key of the target's outputs, or a function of them; a row
            whose outputs lack it is an error. None: a list of documents under a usual key; else the traced retriever
            runs inside the target, the outermost on each branch, so that an ensemble counts once; else a list of plain
            ids under a usual key. Where texts are compared, a list of texts counts as one of documents.
        relevant_key: where the relevant items are, a list of ids, texts or documents, or item -> grade: a key of the
            example's outputs, or a function of them. None: the usual keys.
        id_key: where a document's id is: a key of its metadata, or a function of the document. None: its `id`, else
            `metadata["id"]`; where spans are compared `metadata["source"]`.
        theta: a query is hit when that share of its relevant items is found, in (0, 1]. None: when any is.
        match_on: "ids", "texts", "spans", or "auto": what `match` compares, ids without one. Spans begin at the
            documents' `metadata["start_index"]`; the relevant ones are lists [document, start, end].
        match: when a retrieved text counts as a relevant one, such as `contains`. None: equality.
        unique: drop repeats before the cutoff, for document ids that chunks share.
        retriever_name: score the retriever runs of this name, at whatever depth, and not the outputs.
        retrievals: which retriever runs of one row count: "all", one after the other in the order of their start, the
            "first", or the "last".

    Raises:
        TypeError, ValueError: an argument is wrong.
    """

    def __init__(  # noqa: PLR0913 - options, by name only
        self,
        k: Cutoffs = 5,
        *,
        metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
        name: str | None = None,
        retrieved_key: Key = None,
        relevant_key: Key = None,
        id_key: IdKey = None,
        theta: float | None = None,
        match_on: str = "auto",
        match: Matcher | None = None,
        unique: bool = False,
        retriever_name: str | None = None,
        retrievals: str = "all",
    ) -> None:
        """Refuse a configuration that cannot be followed."""
        check_keys(retrieved_key=retrieved_key, relevant_key=relevant_key)
        if not isinstance(retriever_name, str | None):
            raise TypeError(f"retriever_name must be a str or None, got {retriever_name!r}")
        if retriever_name is not None and not retriever_name.strip():
            raise ValueError(f"retriever_name must not be blank, got {retriever_name!r}")
        if retrieved_key is not None and retriever_name is not None:
            raise ValueError("retrieved_key reads the target's outputs, retriever_name the runs inside: leave out one")
        if not isinstance(retrievals, str) or retrievals not in _RETRIEVALS:
            raise ValueError(f"retrievals must be one of {', '.join(_RETRIEVALS)}; got {retrievals!r}")
        self._scorer = QueryScorer(k, metrics, theta=theta, name=name, match_on=match_on, match=match, unique=unique)
        self._metrics = self._scorer.metrics
        self._item_of = ItemOf(id_key, compared(match_on, match))
        self._retrieved_key = retrieved_key
        self._relevant_key = relevant_key
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
        if isinstance(reference_outputs, (list, tuple)):
            raise TypeError("these are the reference outputs of many rows: summary_evaluators takes [hits.summary]")
        documents, _ = self._documents_in(outputs)
        if documents is None:
            raise ValueError(f"no list of retrieved documents: the outputs have {_keys(outputs)}. {_ADVICE}")
        return self._feedback(self._row(documents, reference_outputs))

    def summary(self, runs: Sequence[Run], examples: Sequence[Example]) -> EvaluationResults:
        """Return the mean per metric and k over the rows that can be scored, for `summary_evaluators`."""
        try:
            evaluation, faults = self._evaluate(zip(runs, examples, strict=True))
        except Exception as error:  # LangSmith would leave the summary out
            comment = f"{type(error).__name__}: {error}"
            return {
                "results": [EvaluationResult(key=key, comment=comment, extra={"error": True}) for key in self._metrics]
            }
        left_out = f"not scored: {len(evaluation.unscored)} ({len(faults)} in error)"
        scores = {key: evaluation.score(metric) for key, metric in self._metrics.items()}
        return {
            "results": [
                EvaluationResult(
                    key=key, score=float(score), comment="; ".join([repr(score), left_out, *evaluation.warnings])
                )
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
        record = self._scorer.judge(row.relevant, row.retrieved)
        notes = [row.failure, row.note]
        if record.n_relevant and record.n_retrieved and not record.hit_ranks:
            notes.insert(0, _one_of_each(row))
        return [
            {
                "key": key,
                "score": metric(record) if record.n_relevant else None,
                "comment": "; ".join(filter(None, [metric.explain(record), *notes])),
            }
            for key, metric in self._metrics.items()
        ]

    def _evaluate(self, pairs: Iterable[tuple[Run, Example]]) -> tuple[Evaluation, dict[Hashable, Exception]]:
        """Return the evaluation, and what reading or judging the rows that it leaves unscored has raised."""

        def read(pair: tuple[Run, Example]) -> tuple[Items, Items | Exception]:
            row = self._read(*pair)
            return row.relevant, RuntimeError(row.failure) if row.failure and not row.retrieved else row.retrieved

        return evaluate_rows(((str(pair[1].id), pair) for pair in pairs), read, self._scorer.judge)

    def _read(self, run: Run, example: Example | None) -> _Row:
        """Find what was retrieved, in the target's outputs or in the retriever runs inside it."""
        reference = example.outputs if example else None
        documents, is_sure = None, False
        if not run.error and self._retriever_name is None:
            documents, is_sure = self._documents_in(run.outputs)
        retrievals = [] if is_sure else self._retrievals_in(run)
        if documents is not None and not retrievals:
            return self._row(documents, reference)
        if not retrievals and not run.error:
            raise self._no_documents(run)
        retrieved: list[Any] = []
        notes = [] if documents is None else ["judged by the retriever runs inside, not by the plain items returned"]
        failures = [] if retrievals else [f"the target failed: {_first_line(run.error)}"]
        for retrieval in retrievals:
            if retrieval.error:
                failures.append(f"{retrieval.name} failed: {_first_line(retrieval.error)}")
                continue
            lists = _lists_in(retrieval.outputs)
            if not lists:
                raise ValueError(
                    f"no list of retrieved documents: the outputs of the retriever run {retrieval.name!r} have "
                    f"{_keys(retrieval.outputs)}. {_ADVICE}"
                )
            retrieved += next((items for items in lists if self._are_documents(items)), lists[0])
        return self._row(retrieved, reference, "; ".join(failures), "; ".join(notes))

    def _row(self, documents: object, reference: object, failure: str = "", note: str = "") -> _Row:
        if not isinstance(documents, (list, tuple)):
            raise TypeError(f"retrieved documents must be a list, best first; found {documents!r:.80}")
        if self._relevant_key is None:
            fields = _fields(reference)
            relevant = next((fields[key] for key in RELEVANT_KEYS if fields.get(key) is not None), None)
        else:
            relevant = _by_key("relevant_key", self._relevant_key, reference)
        if relevant is None:
            note = f"the reference outputs have {_keys(reference)}: relevant_key= says where the relevant items are"
        return _Row(
            relevant=() if relevant is None else self._item_of.of_relevant(relevant),
            retrieved=self._item_of.of_retrieved(documents),
            failure=failure,
            note=note,
        )

    def _documents_in(self, outputs: object) -> tuple[Any, bool]:
        """Return what the target returned, None for nothing, and whether no retriever run may be taken instead."""
        if self._retrieved_key is not None:
            found = _by_key("retrieved_key", self._retrieved_key, outputs)
            if found is None:
                by_key = f"retrieved_key={name_of(self._retrieved_key)}"
                raise ValueError(f"no list of retrieved documents by {by_key}: the outputs have {_keys(outputs)}")
            return found, True
        lists = _lists_in(outputs)
        of_documents = next(filter(self._are_documents, lists), None)
        return (next(iter(lists), None), False) if of_documents is None else (of_documents, True)

    def _are_documents(self, items: Sequence[object]) -> bool:
        """Tell whether these are surely documents, or texts where texts are compared; nothing at all is too."""
        plain = str if self._item_of.match_on == "texts" else ()
        return not items or any(is_document(item) or isinstance(item, plain) for item in items)

    def _retrievals_in(self, run: Run) -> list[Run]:
        runs = sorted(_retriever_runs(run, self._retriever_name), key=lambda each: each.start_time)
        return runs[self._retrievals]

    def _no_documents(self, run: Run) -> ValueError:
        traced = ", ".join(repr(each.name) for each in _retriever_runs(run, None))
        inside = f"the outermost there are {traced}" if traced else "a loaded experiment needs load_nested=True"
        if self._retriever_name is not None:
            return ValueError(f"no run of a retriever {self._retriever_name!r} was traced inside the target ({inside})")
        return ValueError(
            f"no list of retrieved documents: the outputs have {_keys(run.outputs)}, and no retriever run was traced "
            f"inside ({inside}). {_ADVICE}"
        )


def answer_scores(rows: Iterable[Mapping[str, Any]], key: str) -> dict[Hashable, float | None]:
    """Return query id -> the score of its answer, for `evaluation.with_answers`; None where a row has none.

    Args:
        rows: what `evaluate` returned, or `[row async for row in ...]` of `aevaluate`; the query ids are those of
            `HitRateEvaluator.evaluation(rows)`, repetitions and all.
        key: the feedback key of the evaluator that judged the answers.

    Raises:
        ValueError: no row has that key.
    """
    scores: dict[Hashable, float | None] = {}
    keys, seen = dict[str, None](), Counter[str]()
    for row in rows:
        found = {result.key: result.score for result in row["evaluation_results"]["results"]}
        keys.update(dict.fromkeys(found))
        scores[_query_id(row["example"], seen)] = found.get(key)
    if key not in keys:
        raise ValueError(f"no row has the feedback {key!r}; there is {_keys(keys)}")
    return scores


def _query_id(example: Example, seen: Counter[str]) -> str:
    """Return the id of an example, of its further repetitions with their number."""
    query_id = str(example.id)
    seen[query_id] += 1
    return query_id if seen[query_id] == 1 else f"{query_id} #{seen[query_id]}"


_ADVICE = "retrieved_key= says where in the target's outputs the documents are"


class _Row(NamedTuple):
    """What one row was judged by; `failure` and `note` go into the comment."""

    relevant: Items
    retrieved: list[Hashable]
    failure: str
    note: str


def _fields(outputs: object) -> Mapping[str, Any]:
    """Return outputs by key; LangSmith puts what is no mapping under "output"."""
    return outputs if isinstance(outputs, Mapping) else {"output": outputs}


def _by_key(option: str, key: str | Callable[[Mapping[str, Any]], Any], outputs: object) -> Any:
    """Return what the key or the function gives, None where it gives nothing."""
    fields = _fields(outputs)
    return call(option, key, fields) if callable(key) else fields.get(key)


def _lists_in(outputs: object) -> list[Sequence[Any]]:
    """Return the lists under the usual keys."""
    fields = _fields(outputs)
    return [found for key in RETRIEVED_KEYS if isinstance(found := fields.get(key), (list, tuple))]


def _retriever_runs(run: Run, name: str | None) -> Iterator[Run]:
    """Give the outermost retriever runs of each branch, or the outermost of that name."""
    if run.run_type == "retriever" and name in (None, run.name):
        yield run
    else:
        for child in run.child_runs or ():
            yield from _retriever_runs(child, name)


def _one_of_each(row: _Row) -> str:
    """Show an item of each side, by which ids or texts of two kinds can be seen."""
    graded = row.relevant.items() if isinstance(row.relevant, Mapping) else ((item, 1) for item in row.relevant)
    relevant = next((item for item, grade in graded if grade > 0), None)
    retrieved = next((item for item in row.retrieved if item is not None), None)
    return f"retrieved {retrieved!r:.60}, relevant {relevant!r:.60}"


def _keys(outputs: object) -> str:
    return (", ".join(map(repr, outputs)) if isinstance(outputs, Mapping) else "") or "nothing"


def _first_line(error: str | None) -> str:
    return (error or "").strip().partition("\n")[0].removesuffix("Traceback (most recent call last):")
