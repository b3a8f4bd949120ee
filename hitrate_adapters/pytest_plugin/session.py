"""A session: what it was told, what its tests evaluated, and what it says of that."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Generator
from operator import itemgetter
from pathlib import Path
from textwrap import wrap

import pytest

from hitrate_adapters.core.display import some
from hitrate_adapters.core.metrics import metrics_at

from .table import Row, full_title, table

ROWS = pytest.StashKey[list[Row]]()
"""Where a test keeps its rows."""

_BASELINES = {
    "missing": "no baseline in {}, which --hitrate-update writes",
    "written": "baseline written to {}",
}
"""What became of a baseline -> how the summary says so, with its folder."""


class Session:
    """What a session was told, and what it has evaluated."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the configuration. Raises UsageError where it is wrong."""
        self.config = config
        self.explain: Callable[[str, object, object], list[str] | None] | None = None
        """Explains a failed comparison of two values by the test that runs now, if that uses the fixture."""
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

        title = full_title(test, label)
        readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", title).strip("-.")[-80:]
        return Path(self.baselines, f"{readable}-{sha256(title.encode('utf-8', 'replace')).hexdigest()[:8]}.jsonl")

    def shown(self, path: Path) -> str:
        """Return a path as a user of this session would write it."""
        here = self.config.invocation_params.dir
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Let the test explain why a comparison of two values failed."""
        return self.explain(op, left, right) if self.explain else None

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
        titles = [row["title"] if times[row["title"]] == 1 else full_title(row["test"], row["label"]) for row in rows]
        width = shutil.get_terminal_size().columns

        def write(head: str, text: str, **markup: bool) -> None:
            lines = [f"{head}: {text}"]
            if len(lines[0]) > width:
                lines = [f"{head}:", *wrap(text, width - 2, break_long_words=False, break_on_hyphens=False)]
            terminalreporter.write_line("\n  ".join(lines), **markup)

        terminalreporter.write_sep("=", "hit rate")
        for line in table(dict(zip(titles, rows, strict=True)), width):
            terminalreporter.write_line(line)
        for title, row in zip(titles, rows, strict=True):
            for note in row["notes"]:
                write(title, note)
            for verdict, line in row["comparisons"]:
                write(title, line, red=verdict == "worse")
        for became, phrase in _BASELINES.items():
            named = [title for title, row in zip(titles, rows, strict=True) if row["baseline"] == became]
            if named and self.baselines:
                write(phrase.format(self.shown(self.baselines)), some(named))
