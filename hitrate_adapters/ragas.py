"""Hit Rate@K and the metrics beside it as RAGAS metrics, and `HitRateEvaluator`, several of them at once.

Every metric reads the columns that RAGAS has for this: `retrieved_context_ids` and `reference_context_ids`, or
`retrieved_contexts` and `reference_contexts`. Ids are compared as RAGAS compares them, by their `str()`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

from ._extras import extra
from .core.evaluation import Evaluation
from .core.items import string_id
from .core.metrics import Cutoffs, Metric, column_name, metrics_at
from .core.records import Judge, Matcher
from .core.retrieval import Run
from .core.scores import Score
from .core.sound import evaluate_sound

with extra("ragas", "ragas", cures={"langchain_community": "pip install 'langchain-community<0.4.2'"}):
    from ragas.dataset_schema import EvaluationResult, SingleTurnSample
    from ragas.metrics.base import MetricType, SimpleBaseMetric, SingleTurnMetric
    from ragas.metrics.result import MetricResult

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "HitRateAtK",
    "HitRateEvaluator",
    "HitRateResult",
    "MAPAtK",
    "MRRAtK",
    "NDCGAtK",
    "PrecisionAtK",
    "RecallAtK",
    "answer_scores",
]

_COLUMNS = {
    "ids": ("reference_context_ids", "retrieved_context_ids"),
    "texts": ("reference_contexts", "retrieved_contexts"),
}
_Column = Sequence[str | int] | None


class _AtK(SingleTurnMetric, SimpleBaseMetric):
    """What the metrics share: RAGAS' two protocols around one `Metric` of the core."""

    allowed_values = (0.0, 1.0)
    _metric: ClassVar[str]

    def __init__(  # noqa: PLR0913 - the words that all adapters share
        self,
        k: int | None = None,
        *,
        name: str | None = None,
        theta: float | None = None,
        match_on: str = "auto",
        match: Matcher | None = None,
        unique: bool = False,
    ) -> None:
        if match_on not in (*_COLUMNS, "auto"):
            raise ValueError(f'match_on must be "ids", "texts" or "auto", got {match_on!r}')
        self.metric = Metric(self._metric, k, theta)
        self.judge = Judge(match=match, unique=unique)
        self.match_on = "texts" if match is not None and match_on == "auto" else match_on
        self.name = name or column_name(self.metric, match_on, match, unique=unique)
        pairs = {kind: set(columns) for kind, columns in _COLUMNS.items()}
        optional = {f"{column}:optional" for column in set.union(*pairs.values())}
        self._required_columns = {MetricType.SINGLE_TURN: pairs.get(self.match_on, optional)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def init(self, run_config: object) -> None:
        """Do nothing: there is no model to set up."""

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: object) -> float:  # noqa: ARG002
        value: float = self.score(**sample.to_dict()).value
        return value

    def score(
        self,
        *,
        retrieved_context_ids: _Column = None,
        reference_context_ids: _Column = None,
        retrieved_contexts: _Column = None,
        reference_contexts: _Column = None,
        **ignored: object,
    ) -> MetricResult:
        """Return a `MetricResult`: the value in [0, 1], or NaN where the row has no references, and the reason.

        Other columns of the row are ignored, so that `score(**row)` works. It is a plain function: it works inside a
        running event loop too, and sends nothing.

        Raises:
            ValueError: a column is missing, or holds what is neither an id nor a text.
            TypeError: a column holds something else than a list, such as a string.
        """
        row = {
            **ignored,
            "retrieved_context_ids": retrieved_context_ids,
            "reference_context_ids": reference_context_ids,
            "retrieved_contexts": retrieved_contexts,
            "reference_contexts": reference_contexts,
        }
        kind, relevant, retrieved = _items(row, self.match_on)
        record = self.judge(relevant, retrieved)
        value = self.metric(record) if record.n_relevant else nan
        return MetricResult(value, f"{self.metric.explain(record)} (matched on {kind})")

    async def ascore(
        self,
        *,
        retrieved_context_ids: _Column = None,
        reference_context_ids: _Column = None,
        retrieved_contexts: _Column = None,
        reference_contexts: _Column = None,
        **ignored: object,
    ) -> MetricResult:
        """Return what `score` returns."""
        return self.score(
            retrieved_context_ids=retrieved_context_ids,
            reference_context_ids=reference_context_ids,
            retrieved_contexts=retrieved_contexts,
            reference_contexts=reference_contexts,
            **ignored,
        )


class HitRateAtK(_AtK):
    """1.0 where something relevant is in the top k, else 0.0; with theta, where that share of what is relevant is.

    It goes into `ragas.evaluate(metrics=[...])`, and has `score`, `ascore`, `batch_score` and `abatch_score` for
    `@experiment`. A row without references cannot be scored: NaN.

    Args:
        k: the cutoff; None: all that was retrieved.
        name: the column of the result. None: the metric and k, as "hit_rate@5", then what differs from the defaults,
            as "hit_rate@5[contains]": RAGAS keeps a single column of each name.
        theta: for hit rate only, the share of the relevant items that makes a hit, 0 < theta <= 1. None: at least one.
        match_on: "ids", "texts", or "auto": ids where the row has both sides of them, else texts. The two are never
            mixed. With `match`, "auto" is texts.
        match: when a retrieved item counts as a relevant one, `(retrieved, relevant) -> bool`. None: equality.
        unique: drop repeats from each ranking before the cut, for document ids of chunks.

    Raises:
        TypeError, ValueError: one of these is something else.

    >>> HitRateAtK(2).score(retrieved_context_ids=["d1", "d2", "d3"], reference_context_ids=["d2", "d7"])
    MetricResult(value=1.0, reason='first relevant item at rank 2; 1 of 2 relevant in the top 2 (matched on ids)')
    """

    _metric = "hit_rate"


class RecallAtK(_AtK):
    """The share of the relevant items that the top k holds. Arguments and columns: as `HitRateAtK`, without theta.

    >>> RecallAtK(3).score(retrieved_contexts=["a", "x", "y"], reference_contexts=["a", "b"]).value
    0.5
    """

    _metric = "recall"


class PrecisionAtK(_AtK):
    """The share of the k slots that hold something relevant. Arguments and columns: as `HitRateAtK`, without theta.

    >>> PrecisionAtK(4).score(retrieved_contexts=["x", "y", "z", "a"], reference_contexts=["a"]).value
    0.25
    """

    _metric = "precision"


class MRRAtK(_AtK):
    """One over the rank of the first relevant item. Arguments and columns: as `HitRateAtK`, without theta.

    >>> MRRAtK(10).score(retrieved_contexts=["x", "a"], reference_contexts=["a"]).value
    0.5
    """

    _metric = "mrr"


class MAPAtK(_AtK):
    """The average precision of the top k. Arguments and columns: as `HitRateAtK`, without theta.

    >>> MAPAtK(10).score(retrieved_contexts=["x", "a"], reference_contexts=["a"]).value
    0.5
    """

    _metric = "map"


class NDCGAtK(_AtK):
    """The normalised discounted cumulative gain of the top k. Arguments and columns: as `HitRateAtK`, without theta.

    >>> NDCGAtK(10).score(retrieved_contexts=["a", "x"], reference_contexts=["a"]).value
    1.0
    """

    _metric = "ndcg"


class HitRateEvaluator:
    """Several metrics at several k, to be unpacked into a list of RAGAS metrics, or to evaluate a dataset by itself.

    Args:
        k: one cutoff or several; None: all that was retrieved.
        metrics: their names, of "hit_rate", "recall", "precision", "mrr", "map" and "ndcg".
        theta, match_on, match, unique: as for `HitRateAtK`.

    Raises:
        TypeError, ValueError: one of these is something else.

    >>> evaluator = HitRateEvaluator(k=(1, 5), metrics=("hit_rate", "mrr@10"))
    >>> [*evaluator]
    [<HitRateAtK 'hit_rate@1'>, <HitRateAtK 'hit_rate@5'>, <MRRAtK 'mrr@10'>]
    >>> print(evaluator.evaluate([{"retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["d2"]}]))
    hit_rate@1  0.000  [0.000, 0.793]
    hit_rate@5  1.000  [0.207, 1.000]
    mrr@10      0.500  [0.055, 0.945]
    1 of 1 rows scored
    """

    def __init__(  # noqa: PLR0913 - the words that all adapters share
        self,
        k: Cutoffs = (1, 5, 10),
        metrics: str | Metric | Iterable[str | Metric] = ("hit_rate",),
        *,
        theta: float | None = None,
        match_on: str = "auto",
        match: Matcher | None = None,
        unique: bool = False,
    ) -> None:
        classes = {cls._metric: cls for cls in (HitRateAtK, RecallAtK, PrecisionAtK, MRRAtK, MAPAtK, NDCGAtK)}
        self._metrics = [
            classes[metric.name](metric.k, theta=metric.theta, match_on=match_on, match=match, unique=unique)
            for metric in metrics_at(metrics, k, theta)
        ]

    def __iter__(self) -> Iterator[_AtK]:
        """Give the RAGAS metrics."""
        return iter(self._metrics)

    def __len__(self) -> int:
        """Return how many metrics there are."""
        return len(self._metrics)

    def evaluate(self, dataset: Iterable[Any], query_id: str | None = None) -> HitRateResult:
        """Return the scores of every row, in the order of the rows, and the means, without running RAGAS.

        Nothing is sent anywhere. A row that cannot be judged, since it is malformed or the matcher raises, loses no
        other: it is named in the result's `errors`, and in no mean.

        Args:
            dataset: an EvaluationDataset, a RAGAS or a Hugging Face Dataset, a pandas DataFrame, or rows that are
                mappings or samples.
            query_id: the column that identifies a row in `.evaluation` and `.errors`. None: its number, from 0.

        Raises:
            TypeError: a row is neither a mapping nor a sample.
            ValueError: two rows have the same query_id or one has none, every row is malformed, or no row can be
                scored.
        """
        first = self._metrics[0]
        rows, qrels, run = _rows(dataset, query_id), {}, Run()
        errors: dict[Hashable, Exception] = {}
        for key, row in rows.items():
            try:
                _, qrels[key], retrieved = _items(row, first.match_on)
                run[key] = list(retrieved)
            except (TypeError, ValueError) as error:
                errors[key] = error
        if errors and not qrels:
            raise ValueError(f"every row is malformed; row {next(iter(errors))!r}: {next(iter(errors.values()))}")
        evaluation, faults = evaluate_sound(qrels, run, first.judge)
        return HitRateResult(
            _rows=[{**row, **self._values(evaluation, key)} for key, row in rows.items()],
            means={metric.name: evaluation.score(metric.metric) for metric in self},
            evaluation=evaluation,
            errors=errors | faults,
        )

    def _values(self, evaluation: Evaluation, key: Hashable) -> dict[str, float]:
        record = evaluation.records.get(key)
        return {each.name: nan if record is None else each.metric(record) for each in self}


@dataclass(frozen=True, repr=False)
class HitRateResult:
    """What `HitRateEvaluator.evaluate` returns; printed, it is a table of the means."""

    _rows: list[dict[str, Any]]
    means: dict[str, Score]
    """Metric -> its mean over the rows that could be scored."""
    evaluation: Evaluation
    """The judged rows, for any other metric and k, and their misses. Malformed rows are not in it."""
    errors: dict[Hashable, Exception]
    """Row that could not be judged -> what is wrong with it."""

    def rows(self) -> list[dict[str, Any]]:
        """Return each row of the dataset, in order, with a column per metric; NaN where it could not be scored."""
        return self._rows

    @property
    def n_scored(self) -> int:
        """How many rows the means are over."""
        return len(self.evaluation)

    @property
    def n_unscored(self) -> int:
        """How many rows are in no mean: without references (`evaluation.unscored`) or malformed (`errors`)."""
        return len(self._rows) - self.n_scored

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame."""
        import pandas as pd  # slow, and for this alone

        return pd.DataFrame(self._rows)

    def __str__(self) -> str:
        """Return the means, with the 95 % interval of hit rates, and the first few rows that are not in them."""
        width = max(map(len, self.means))
        lines = [f"{name:{width}}  {mean:.3f}{_interval(mean)}" for name, mean in self.means.items()]
        why = {key: f"{type(error).__name__}: {error}" for key, error in self.errors.items()}
        unscored = list((dict.fromkeys(self.evaluation.unscored, "no references") | why).items())
        lines.append(f"{self.n_scored} of {len(self._rows)} rows scored" + ("; not:" if unscored else ""))
        lines += [f"  {key!r:.60}: {reason}" for key, reason in unscored[:5]]
        lines += ["  ..."] if unscored[5:] else []
        return "\n".join([*lines, *(f"warning: {message}" for message in self.evaluation.warnings)])

    __repr__ = __str__


def answer_scores(result: Any, metric: str, query_id: str | None = None) -> dict[Hashable, Any]:
    """Return query id -> the score of its answer, for `evaluation.with_answers`; NaN or None where it has none.

    Args:
        result: what RAGAS' `evaluate` returned; or rows that hold the score, as of an experiment: a RAGAS Dataset, a
            DataFrame or mappings.
        metric: the metric that judged the answers, such as "faithfulness", or the column of its scores.
        query_id: the column that identifies a row, as in `HitRateEvaluator.evaluate`. None: its number, from 0.

    Raises:
        ValueError: there is no such metric, or two rows have the same query_id, or one has none.

    >>> answer_scores([{"id": "q1", "correct": 1.0}, {"id": "q2", "correct": 0.0}], "correct", query_id="id")
    {'q1': 1.0, 'q2': 0.0}
    """
    if isinstance(result, EvaluationResult):
        scored: Mapping[Hashable, Mapping[str, Any]] = dict(
            zip(_rows(result.dataset, query_id), result.scores, strict=True)
        )
    else:
        scored = _rows(result, query_id)
    columns = dict.fromkeys(column for row in scored.values() for column in row)
    if metric not in columns:
        raise ValueError(f"no row has {metric!r}; there is {', '.join(map(repr, columns)) or 'nothing'}")
    return {key: row.get(metric) for key, row in scored.items()}


def _items(row: Mapping[str, object], match_on: str) -> tuple[str, list[str | None], list[str | None]]:
    """Return what the row is matched on, "ids" or "texts", its relevant items and its retrieved ones."""
    kinds = list(_COLUMNS) if match_on == "auto" else [match_on]
    present = {column: value for column, value in row.items() if not _is_absent(value)}
    for kind in kinds:
        relevant, retrieved = _COLUMNS[kind]
        if relevant in present and retrieved in present:
            return kind, _listed(relevant, present[relevant], kind), _listed(retrieved, present[retrieved], kind)
    needed = ", or ".join(" and ".join(_COLUMNS[kind]) for kind in kinds)
    raise ValueError(f"the row needs {needed}; it has {', '.join(present) or 'neither'}")


def _is_absent(value: object) -> bool:
    """Tell whether it is None or the NaN that pandas puts into an empty cell."""
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124 - NaN


def _listed(column: str, value: Any, kind: str) -> list[str | None]:
    """Return the ids of a column as `str`, or its texts."""
    items = value.tolist() if hasattr(value, "tolist") else value  # arrays of NumPy, pandas and Parquet
    if not isinstance(items, (list, tuple)):
        advice = ": lists become strings in CSV, so keep the dataset as JSON lines" if isinstance(items, str) else ""
        raise TypeError(f"{column} must be a list, found {value!r:.60} ({type(value).__name__}){advice}")
    return [_item(column, item, kind) for item in items]


def _item(column: str, item: object, kind: str) -> str | None:
    if item is None and column.startswith("retrieved"):  # a slot that never hits
        return None
    found = string_id(item) if kind == "ids" or isinstance(item, str) else None
    if found is None or (kind == "ids" and not found.strip()):
        wanted = "an id is an int or a str that is not blank" if kind == "ids" else "a context is a str"
        raise ValueError(f"{column} holds {item!r:.60} ({type(item).__name__}): {wanted}")
    return found


def _rows(dataset: Any, query_id: str | None) -> dict[Hashable, dict[str, Any]]:
    """Return the rows by their ids, in the order of the dataset."""
    records = dataset.to_dict(orient="records") if hasattr(dataset, "iterrows") else dataset
    rows: dict[Hashable, dict[str, Any]] = {}
    for number, record in enumerate(records):
        row = record.model_dump(exclude_none=True) if hasattr(record, "model_dump") else record
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number} must be a mapping of columns or a sample, got {row!r:.60}")
        key = number if query_id is None else row.get(query_id)
        if _is_absent(key) or key in rows:
            raise ValueError(f"row {number} has the {query_id} {key!r}: every row needs one of its own")
        rows[key] = dict(row)
    return rows


def _interval(mean: Score) -> str:
    return "" if mean.interval is None else "  [{:.3f}, {:.3f}]".format(*mean.interval)
