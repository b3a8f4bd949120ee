"""The pytest plugin: the fixture `hitrate`, a table of what it evaluated in the summary, and baselines.

It is loaded in every session of an environment in which the package is installed, so it imports pytest and what
`import hitrate_adapters` loads; all else is imported when a test uses the fixture. See docs/pytest.md.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import pytest

from hitrate_adapters.core.display import columns, remarks, some
from hitrate_adapters.core.evaluation import Evaluation, Qrels, RunLike, evaluate
from hitrate_adapters.core.metrics import DEFAULT_K, Metric, metrics_at
from hitrate_adapters.core.records import Matcher
from hitrate_adapters.core.scores import Score

if TYPE_CHECKING:
    from hitrate_adapters.core.comparison import Comparison

__all__ = ["HitRate", "hitrate"]

Bounded = tuple[float, tuple[float, float] | None]
"""A value and its interval."""


class Row(TypedDict):
    """What the summary shows of one evaluation, as plain data, which xdist sends from its workers."""

    test: str
    """The id of the test."""
    label: str
    """Which of the test's evaluations: its name, or "" for the first without a name, "2" for the second, ..."""
    title: str
    n: int
    scores: dict[str, Bounded]
    differences: dict[str, Bounded]
    """To the baseline; empty where there is none."""
    baseline: str
    """What became of its baseline, where that is to be said: "missing" or "written"."""
    notes: list[str]
    comparisons: list[tuple[str, bool]]
    """Each comparison with the baseline that the test made, and whether it is worse."""


_BASELINES = {
    "missing": "no baseline in {}, which --hitrate-update writes",
    "written": "baseline written to {}",
}
"""What became of a baseline -> how the summary says so, with its folder."""

ROWS = pytest.StashKey[list[Row]]()
"""Where a test keeps its rows."""

SESSION = pytest.StashKey["Session"]()
"""Where the configuration keeps what the session evaluated."""


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
            name: what it is called in the summary, in JUnit XML and among the baselines; needed only where a test
                evaluates several times. None: as the test is called.
            match: see `evaluate`.
            unique: see `evaluate`.
            relevance_level: see `evaluate`.

        Raises:
            TypeError, ValueError: as `evaluate`; or the test has an evaluation of that name.
        """
        evaluation = evaluate(qrels, run, match=match, unique=unique, relevance_level=relevance_level)
        return self.add(evaluation, name=name)

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
            title=name or f"{self._item.name} {number}".rstrip(),
            n=len(evaluation),
            scores={str(score.metric): (float(score), score.interval) for score in scores},
            differences={},
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

    def baseline(self, evaluation: Evaluation) -> Evaluation:
        """Return the saved evaluation that one which this test made is to be compared with.

        With --hitrate-update this is the evaluation itself, since it was written just now. The test fails where there
        is no baseline, and says how to write one.

        Raises:
            ValueError: `evaluation` is none of this test's; or the file is no saved evaluation.
        """
        __tracebackhide__ = True
        label = next((label for label, each in self._evaluations.items() if each is evaluation), None)
        if label is None:
            raise ValueError(f"{evaluation!r} is none that this test made: evaluate it by hitrate(qrels, run) first")
        if self._session.update:
            return evaluation
        path = self._session.baseline_path(self._test, label)
        if path is None:
            pytest.fail(
                "no baseline to compare with: say where baselines are, by hitrate_baseline = baselines in pytest's "
                "configuration or --hitrate-baseline baselines, and write them once with --hitrate-update"
            )
        try:
            return self._load(path, label, evaluation)
        except FileNotFoundError:
            pytest.fail(
                f"no baseline of {_full_title(self._test, label)} at {self._session.shown(path)}: write it with "
                "--hitrate-update, look at the scores, and commit it"
            )

    def compare(
        self, evaluation: Evaluation, metric: str | Metric, *, margin: float = 0.05, anyway: bool = False
    ) -> Comparison:
        """Return the comparison of an evaluation that this test made with its baseline; see `Evaluation.compare`.

        Gate by `assert hitrate.compare(evaluation, "hit_rate@5").verdict != "worse"`. It stands in the summary, and the
        queries that were lost in the report of a test that fails.

        Raises:
            TypeError, ValueError: as `baseline` and `Evaluation.compare`, such as for a baseline by different gold.
        """
        __tracebackhide__ = True
        old = self.baseline(evaluation)
        comparison = evaluation.compare(old, Metric.parse(metric), margin=margin, anyway=anyway)
        told = f"{comparison.metric}: {comparison!r}"
        label = next(label for label, each in self._evaluations.items() if each is evaluation)
        self._rows[label]["comparisons"].append((told, comparison.verdict == "worse"))
        if comparison.lost:
            lost = self._session.reasons(evaluation, comparison.metric, comparison.lost)
            self._item.add_report_section("call", "hitrate", "\n".join([told, "lost:", *lost]))
        return comparison

    def explain(self, score: Score) -> Iterator[str]:
        """Give lines on the queries that a score misses, of each evaluation of this test that has that score."""
        for label, evaluation in self._evaluations.items():
            again = evaluation.score(score.metric)
            if (again, again.n, again.n_effective) == (score, score.n, score.n_effective):
                missed = [query_id for query_id, record in evaluation.records.items() if not score.metric(record)]
                name = f"{label}: " if label else ""
                yield f"{name}{len(missed)} of {len(evaluation)} queries missed{':' if missed else ''}"
                yield from self._session.reasons(evaluation, score.metric, missed)

    def __repr__(self) -> str:
        """Show the test, since pytest shows the fixture where it fails."""
        return f"<hitrate of {self._item.name}>"

    def _show_baseline(self, evaluation: Evaluation, row: Row) -> None:
        """Put the difference to the baseline in the row, and write the baseline where that is asked for."""
        path = self._session.baseline_path(self._test, row["label"])
        if path is None:
            return
        try:
            compared = evaluation.compare(self._load(path, row["label"], evaluation), self._session.metrics)
        except FileNotFoundError:
            row["baseline"] = "missing"
        except ValueError as error:
            row["notes"].append(f"not compared with the baseline: {error}")
        else:
            row["differences"] = {name: (each.difference, each.interval) for name, each in compared.items()}
        if self._session.update:
            from hitrate_adapters.formats import save

            path.parent.mkdir(parents=True, exist_ok=True)
            save(evaluation, path)
            row["baseline"] = "written"

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


class Session:
    """What a session was told, and what it has evaluated."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the configuration. Raises UsageError where it is wrong."""
        self.config = config
        self.test: HitRate | None = None
        """The test that runs now, if it uses the fixture."""
        self.rows: dict[tuple[str, str], Row] = {}
        self.update: bool = config.getoption("hitrate_update")
        settings = (str(config.getini(name)) for name in ("hitrate_k", "hitrate_metrics"))
        k, names = (setting.replace(",", " ").split() for setting in settings)
        try:
            self.metrics = metrics_at(names, list(map(int, k)))
        except ValueError as error:
            raise pytest.UsageError(
                f"hitrate_k = {' '.join(k)}, hitrate_metrics = {' '.join(names)}: {error}"
            ) from None
        given, usual = config.getoption("hitrate_baseline"), config.getini("hitrate_baseline")
        self.baselines = (
            Path(config.invocation_params.dir, given) if given else Path(config.rootpath, usual) if usual else None
        )
        self.one_baseline = self.baselines is not None and (
            self.baselines.is_file() or self.baselines.suffix in (".jsonl", ".gz")
        )
        """Whether all is compared with one evaluation in a file; otherwise each has a file of its own in a folder."""
        if self.update and self.baselines is None:
            raise pytest.UsageError("--hitrate-update needs --hitrate-baseline FOLDER, where baselines are written")
        if self.update and self.one_baseline:
            raise pytest.UsageError(
                f"--hitrate-update writes one file for each evaluation: give a folder, not the file {given or usual}, "
                "or write that one by hitrate_adapters.save"
            )

    def baseline_path(self, test: str, label: str) -> Path | None:
        """Return the file of an evaluation's baseline, which depends on nothing else of the session."""
        if self.baselines is None or self.one_baseline:
            return self.baselines
        from hashlib import sha256  # not in every session, for what it loads

        title = _full_title(test, label)
        readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", title).strip("-.")[-80:]
        return Path(self.baselines, f"{readable}-{sha256(title.encode('utf-8', 'replace')).hexdigest()[:8]}.jsonl")

    def shown(self, path: Path) -> str:
        """Return a path as a user of this session would write it."""
        here = self.config.invocation_params.dir
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    def reasons(self, evaluation: Evaluation, metric: Metric, query_ids: Iterable[object]) -> list[str]:
        """Return for each of the queries why its value is what it is; of the first 20, unless pytest runs with -vv."""
        lines = []
        for query_id in query_ids:
            why = metric.explain(evaluation.records[query_id])
            if query_id in evaluation.errors:
                why = f"its retrieval failed: {evaluation.errors[query_id]!r:.200}"
            elif query_id in evaluation.missing:
                why = "not in the run"
            lines.append(f"  {query_id}: {why}")
        if self.config.option.verbose >= 2 or len(lines) <= 20:
            return lines
        return [*lines[:20], f"  and {len(lines) - 20} more, which -vv shows"]

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Explain a comparison of a score that failed, by the queries that it misses."""
        scores = [side for side in (left, right) if isinstance(side, Score)]
        lines = [line for score in scores for line in self.test.explain(score)] if self.test else []
        return [f"{left!r} {op} {right!r}", *lines] if lines else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the rows of a test to its report, which comes from a worker to where the summary is written."""
        report = yield
        if ROWS in item.stash:
            report.hitrate = item.stash[ROWS]  # type: ignore[attr-defined]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the rows; those of a test that is run again take the place of the earlier ones."""
        rows: list[Row] = getattr(report, "hitrate", [])
        self.rows.update(((row["test"], row["label"]), row) for row in rows)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the table, what is to be said of single evaluations, and comparisons that tests made."""
        if not self.rows:
            return
        rows = sorted(self.rows.values(), key=itemgetter("test"))
        times = Counter(row["title"] for row in rows)
        titles = [row["title"] if times[row["title"]] == 1 else _full_title(row["test"], row["label"]) for row in rows]
        terminalreporter.section("hit rate")
        for line in _table(dict(zip(titles, rows, strict=True)), shutil.get_terminal_size().columns):
            terminalreporter.write_line(line)
        for title, row in zip(titles, rows, strict=True):
            for note in row["notes"]:
                terminalreporter.write_line(f"{title}: {note}")
            for told, worse in row["comparisons"]:
                terminalreporter.write_line(f"{title}: {told}", red=worse)
        for became, told in _BASELINES.items():
            named = [title for title, row in zip(titles, rows, strict=True) if row["baseline"] == became]
            if named and self.baselines:
                terminalreporter.write_line(f"{told.format(self.shown(self.baselines))}: {some(named)}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the settings."""
    group = parser.getgroup("hitrate", "hit rate of retrievers")
    group.addoption(
        "--hitrate-baseline",
        metavar="PATH",
        help="folder with a saved evaluation for each that is made, or a file with one for all, to compare with",
    )
    group.addoption(
        "--hitrate-update", action="store_true", help="write what is evaluated as baselines, into that folder"
    )
    parser.addini("hitrate_baseline", "--hitrate-baseline where it is not given, from the root directory", "string", "")
    parser.addini("hitrate_k", "cutoffs of the table in the summary", "string", " ".join(map(str, DEFAULT_K)))
    parser.addini("hitrate_metrics", "metrics of that table, such as hit_rate mrr@10", "string", "hit_rate")


def pytest_configure(config: pytest.Config) -> None:
    """Begin a session."""
    config.stash[SESSION] = Session(config)
    config.pluginmanager.register(config.stash[SESSION], "hitrate-session")


@pytest.fixture
def hitrate(request: pytest.FixtureRequest) -> Iterator[HitRate]:
    """Return a function that evaluates a run and shows it in the summary: `hitrate(qrels, run).hit_rate(5)`."""
    session = request.config.stash[SESSION]
    test = session.test = HitRate(request.node, session)
    yield test
    session.test = None


def _full_title(test: str, label: str) -> str:
    return f"{test} {label}".rstrip()


def _table(rows: dict[str, Row], width: int) -> list[str]:
    """Return the lines of the table, with intervals beside the values if that fits the width, otherwise below them."""
    names = list(next(iter(rows.values()))["scores"])
    grid = [("", "n", [(name, "") for name in names])]
    for title, row in rows.items():
        grid.append((title, str(row["n"]), [_cell(row["scores"][name], ".3f") for name in names]))
        if row["differences"]:
            grid.append(("  against baseline", "", [_cell(row["differences"][name], "+.3f") for name in names]))
    beside = columns([[title, n, *(" ".join(cell).rstrip() for cell in cells)] for title, n, cells in grid])
    if max(map(len, beside)) <= width:
        return beside
    below = []
    for title, n, cells in grid:
        values, intervals = zip(*cells, strict=True)
        below += [[title, n, *values], ["", "", *intervals]]
    return columns([row for row in below if any(row)])


def _cell(bounded: Bounded, form: str) -> tuple[str, str]:
    value, interval = bounded
    return format(value, form), "" if interval is None else "[{:.3f}, {:.3f}]".format(*interval)
