"""The fixture `hitrate` of one test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import pytest

from hitrate_adapters.core.display import remarks, some
from hitrate_adapters.core.evaluation import Evaluation, Qrels, RunLike, evaluate
from hitrate_adapters.core.metrics import Metric
from hitrate_adapters.core.records import Matcher
from hitrate_adapters.core.scores import Score

from .session import ROWS, Session
from .table import Row, full_title

if TYPE_CHECKING:
    from hitrate_adapters.core.comparison import Comparison

P = ParamSpec("P")
R = TypeVar("R")


def _without_our_frames(method: Callable[Concatenate[HitRate, P], R]) -> Callable[Concatenate[HitRate, P], R]:
    """Return the method such that what it refuses is shown at the test's line; with --full-trace at the package's."""

    @wraps(method)
    def wrapper(self: HitRate, /, *args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = not self._item.config.option.fulltrace
        try:
            return method(self, *args, **kwargs)
        except (TypeError, ValueError, pytest.fail.Exception) as error:
            frames = error.__traceback__
            while __tracebackhide__ and frames and _is_ours(frames.tb_frame):
                frames = frames.tb_next
            raise error.with_traceback(frames) from error.__cause__  # frames of the test's own matcher stay

    return wrapper


def _gone(old: Evaluation, new: Evaluation) -> str:
    """Say which queries of the baseline the golden set has no more: what is left of it may pass without them."""
    gone = [query_id for query_id in old if query_id not in new.records]
    what = f"{len(gone)} of its {len(old)} queries are not in the golden set any more, such as {some(gone)}"
    return what if gone else ""


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("hitrate_adapters.")


class HitRate:
    """The fixture `hitrate`: called with a golden set and a run it evaluates, and shows the result in the summary.

    >>> hitrate = getfixture("hitrate")  # what a test has as its argument
    >>> evaluation = hitrate({"q1": {"d2"}, "q2": {"d1"}}, {"q1": ["d1", "d2"], "q2": ["d6"]})
    >>> assert evaluation.hit_rate(5) >= 0.5
    """

    def __init__(self, item: pytest.Item, session: Session) -> None:
        """Begin a test."""
        self._item = item
        self._session = session
        parent = "" if item.parent is None else item.parent.nodeid
        self._test = f"{parent}::{item.name}"  # the node id, to which `xdist --dist loadgroup` adds the group
        self._evaluations: dict[str, Evaluation] = {}
        self._baselines: dict[str, Evaluation] = {}
        self._rows: dict[str, Row] = {}
        item.stash[ROWS] = []
        session.explain = self._explain

    @_without_our_frames
    def __call__(  # noqa: PLR0913 - those of `evaluate`
        self,
        qrels: Qrels,
        run: RunLike,
        *,
        name: str | None = None,
        match: Matcher | None = None,
        unique: bool = False,
        relevance_level: float | None = None,
    ) -> Evaluation:
        """Return the evaluation of a run, as `hitrate_adapters.evaluate` does with the same arguments, and remember it.

        Args:
            qrels: query id -> relevant items, such as `hitrate_adapters.read_qrels(path)` returns.
            run: query id -> retrieved items, best first.
            name: what it is called beside the test's name in the summary, in JUnit XML and among the baselines; needed
                only where a test evaluates several times. None: as the test is called.
            match: see `evaluate`.
            unique: see `evaluate`.
            relevance_level: see `evaluate`.

        Raises:
            TypeError, ValueError: as `evaluate`; or the test has an evaluation of that name.
        """
        evaluation = evaluate(qrels, run, match=match, unique=unique, relevance_level=relevance_level)
        return self.add(evaluation, name=name)

    @_without_our_frames
    def add(self, evaluation: Evaluation, *, name: str | None = None) -> Evaluation:
        """Return an evaluation that was made elsewhere, such as that of a segment, and remember it, as a call does.

        Raises:
            TypeError, ValueError: this is no evaluation; or the test has one of that name.
        """
        if not isinstance(evaluation, Evaluation):
            raise TypeError(f"an Evaluation is needed, as `evaluate` makes it; got {evaluation!r:.60}")
        if name is not None and (not isinstance(name, str) or not name.strip()):
            raise ValueError(f"name must be a str that is not blank, or None; got {name!r}")
        number = str(len(self._evaluations) + 1) if self._evaluations else ""
        label = number if name is None else name
        if label in self._evaluations:
            raise ValueError(f"{self._test} has evaluated {label!r} already: give each evaluation a name of its own")
        scores = list(map(evaluation.score, self._session.metrics))
        row = Row(
            test=self._test,
            label=label,
            title=full_title(self._item.name, label),
            n=len(evaluation),
            scores={str(score.metric): (float(score), score.interval) for score in scores},
            differences={},
            unchanged=False,
            baseline="",
            notes=remarks(evaluation)[1:],
            comparisons=[],
        )
        self._show_baseline(evaluation, row)
        self._evaluations[label] = evaluation
        self._rows[label] = row
        self._item.stash[ROWS].append(row)
        self._record_properties(label, scores)
        return evaluation

    @_without_our_frames
    def baseline(self, evaluation: Evaluation) -> Evaluation:
        """Return the saved evaluation that one which this test made is to be compared with.

        With --hitrate-update this is the evaluation itself, since it was written just now. The test fails where there
        is no baseline, and says how to write one.

        Raises:
            ValueError: `evaluation` is none of this test's; or the file is no saved evaluation.
        """
        label = next((label for label, each in self._evaluations.items() if each is evaluation), None)
        if label is None:
            raise ValueError(f"{evaluation!r} is none that this test made: evaluate it by hitrate(qrels, run) first")
        if self._session.update:
            return evaluation
        path = self._session.baseline_path(self._test, label)
        if path is None:
            pytest.fail(
                "no baseline to compare with: say where baselines are, by --hitrate-baseline baselines, or by "
                'hitrate_baseline = "baselines" in pytest\'s configuration (in pyproject.toml under '
                "[tool.pytest.ini_options], since only pytest 9 reads [tool.pytest]), and write them once with "
                "--hitrate-update"
            )
        if not path.exists():
            pytest.fail(
                f"no baseline of {full_title(self._test, label)} at {self._session.shown(path)}: write it with "
                "--hitrate-update, look at the scores, and commit it"
            )
        return self._load(path, label, evaluation)

    @_without_our_frames
    def compare(
        self, evaluation: Evaluation, metric: str | Metric, *, margin: float = 0.05, anyway: bool = False
    ) -> Comparison:
        """Return the comparison of an evaluation that this test made with its baseline; see `Evaluation.compare`.

        Gate by `assert hitrate.compare(evaluation, "hit_rate@5").verdict != "worse"`. It stands in the summary, and the
        queries that were lost in the report of a test that fails. The test fails where there is no baseline, and where
        that was judged by different gold or rules.

        Raises:
            TypeError, ValueError: as `baseline` and `Evaluation.compare`.
        """
        from hitrate_adapters.core.comparison import over_the_same  # not in every session, for what it loads

        old = self.baseline(evaluation)
        label = next(label for label, each in self._evaluations.items() if each is evaluation)
        try:
            over_the_same({"this test": evaluation, "its baseline": old}, anyway=anyway)
        except ValueError as error:
            pytest.fail(
                f"not comparable with the baseline of {full_title(self._test, label)}: {error}. Where the change is "
                "meant, write new baselines with --hitrate-update"
            )
        if (gone := _gone(old, evaluation)) and not anyway:
            pytest.fail(
                f"not comparable with the baseline of {full_title(self._test, label)}: {gone}. Where that is meant, "
                "write new baselines with --hitrate-update, or pass anyway=True"
            )
        comparison = evaluation.compare(old, Metric.parse(metric), margin=margin, anyway=anyway)
        line = f"{comparison.metric}: {comparison!r}"
        if not self._session.update:  # with itself
            self._rows[label]["comparisons"].append((comparison.verdict, line))
        if comparison.lost:
            lost = self._reasons(evaluation, comparison.metric, comparison.lost)
            self._item.add_report_section("call", "hitrate", "\n".join([line, "lost:", *lost]))
        return comparison

    def __repr__(self) -> str:
        """Show the test, since pytest shows the fixture where it fails."""
        return f"<hitrate of {self._item.name}>"

    def _explain(self, op: str, left: object, right: object) -> list[str] | None:
        """Explain the failure of a verdict by its comparison, and that of a score by the queries that it misses."""
        if isinstance(left, str):
            comparisons = [each for row in self._rows.values() for each in row["comparisons"]]
            lines = [line for verdict, line in comparisons if verdict == left]
            return [f"{left!r} {op} {right!r}: {'; '.join(lines)}"] if lines else None
        scores = [side for side in (left, right) if isinstance(side, Score)]
        lines = [line for score in scores for line in self._missed(score)]
        return [f"{left!r} {op} {right!r}", *lines] if lines else None

    def _missed(self, score: Score) -> Iterator[str]:
        """Give lines on the queries that a score misses, of each evaluation of this test that has that score."""
        for label, evaluation in self._evaluations.items():
            again = evaluation.score(score.metric)
            if (again, again.n, again.n_effective) == (score, score.n, score.n_effective):
                missed = [query_id for query_id, record in evaluation.records.items() if not score.metric(record)]
                name = f"{label}: " if label else ""
                yield f"{name}{len(missed)} of {len(evaluation)} queries missed{':' if missed else ''}"
                yield from self._reasons(evaluation, score.metric, missed)

    def _show_baseline(self, evaluation: Evaluation, row: Row) -> None:
        """Put the difference to the baseline in the row, and write the baseline where that is asked for."""
        path = self._session.baseline_path(self._test, row["label"])
        if path is None:
            return
        if path.exists():
            try:
                old = self._load(path, row["label"], evaluation)
                compared = evaluation.compare(old, self._session.metrics)
                row["differences"] = {name: (each.difference, each.interval) for name, each in compared.items()}
                row["unchanged"] = not any(each.won or each.lost or each.left_out for each in compared.values())
                if gone := _gone(old, evaluation):
                    row["notes"].append(f"of the baseline, {gone}")
            except Exception as error:  # a test that compares nothing is not to fail for a file that is no baseline
                row["notes"].append(f"not compared with the baseline: {error}")
        else:
            row["baseline"] = "missing"
        if self._session.update:
            from hitrate_adapters.formats import save

            path.parent.mkdir(parents=True, exist_ok=True)
            save(evaluation, path)
            row["baseline"] = "written"

    def _reasons(self, evaluation: Evaluation, metric: Metric, query_ids: Iterable[object]) -> list[str]:
        """Return for each of the queries why its value is what it is; of the first 20, unless pytest runs with -vv."""
        lines = []
        for query_id in query_ids:
            why = metric.explain(evaluation.records[query_id])
            if query_id in evaluation.errors:
                why = f"its retrieval failed: {evaluation.errors[query_id]!r:.200}"
            elif query_id in evaluation.missing:
                why = "not in the run"
            lines.append(f"  {query_id}: {why}")
        if self._item.config.option.verbose >= 2 or len(lines) <= 20:
            return lines
        return [*lines[:20], f"  and {len(lines) - 20} more, which -vv shows"]

    def _load(self, path: Path, label: str, evaluation: Evaluation) -> Evaluation:
        from hitrate_adapters.formats import load

        if label not in self._baselines:
            self._baselines[label] = load(path, evaluation.judge.match)
        return self._baselines[label]

    def _record_properties(self, label: str, scores: Iterable[Score]) -> None:
        """Put the scores among the test's properties, for JUnit XML; a test that is run again replaces its own."""
        prefix = ".".join(filter(None, ["hitrate", label]))
        found = {f"{prefix}.{score.metric}": float(score) for score in scores}
        kept = [each for each in self._item.user_properties if each[0] not in found]
        self._item.user_properties[:] = [*kept, *found.items()]
