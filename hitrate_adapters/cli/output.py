"""Results on stdout, in the form that was asked for; notes, warnings and progress on stderr."""

import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree as ET

from hitrate_adapters._extras import extra
from hitrate_adapters.core.display import some

with extra("cli", "rich"):
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table
    from rich.text import Text

_STYLES = {
    "better": "green",
    "best": "green",
    "worse": "red",
    "cannot be resolved at this size": "yellow",
    "PASSED": "bold green",
    "FAILED": "bold red",
    "INCONCLUSIVE": "bold yellow",
}
_WORDS = {"verdict", "what to do", "such as"}
"""Headers of columns that hold words, not figures."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LABEL = 16  # columns of a label that are not folded, however narrow the terminal
_WIDE = 10_000  # columns: where no terminal asks for less, no line is folded


class Check(NamedTuple):
    """What became of a gate."""

    gate: str
    """What was asked, such as "hit_rate@5 must be at least 0.85"."""
    outcome: str
    """ "passed", "failed" or "inconclusive"."""
    found: str
    """What it was judged by."""
    what: str
    """What the queries are: "missed" or "lost"."""
    queries: tuple[Any, ...]
    """The queries to look at."""

    @property
    def line(self) -> str:
        """What is printed for people."""
        look_at = f"; {self.what}: {listed(self.queries)}" if self.queries and self.outcome != "passed" else ""
        return f"{self.outcome.upper()} {self.gate}: {self.found}{look_at}"


@dataclass(frozen=True)
class Result:
    """What a command found, in every form in which it can be printed."""

    title: str
    grids: list[list[list[str]]]
    """For people: tables of a header and rows; a cell may have several lines."""
    rows: list[dict[str, Any]]
    """For CSV."""
    data: dict[str, Any]
    """For JSON."""
    lines: list[str] = field(default_factory=list)
    """For people, below the tables."""
    checks: list[Check] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 where a gate failed, else 3 where one is inconclusive, else 0."""
        outcomes = {check.outcome for check in self.checks}
        return 1 if "failed" in outcomes else 3 if "inconclusive" in outcomes else 0


def note(message: str, kind: str = "note") -> None:
    """Print a message to stderr; a terminal's lines are folded between words."""
    if sys.stderr.isatty():
        Console(stderr=True).print(Text(f"{kind}: {message}"))
    else:
        print(f"{kind}: {message}", file=sys.stderr)  # noqa: T201


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number and what is counted, in the singular or the plural.

    >>> counted(1, "row"), counted(1000, "row"), counted(0, "query", "queries")
    ('1 row', '1,000 rows', '0 queries')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def listed(ids: Iterable[Any]) -> str:
    """Return the first five ids, each of 24 characters at most: of a question, how it begins and how it ends.

    >>> listed(["q1", "How long do refunds take when I have paid by card?"])
    'q1, How long do r...by card?'
    """
    return some(map(_shortened, ids))


def _shortened(query_id: object) -> str:
    told = " ".join(str(query_id).split())
    return told if len(told) <= 24 else f"{told[:13].rstrip()}...{told[-8:].lstrip()}"


def show(result: Result, form: str, skipped: Mapping[str, int] | None = None) -> None:
    """Print a result to stdout; where that has no place for the gates' lines, these go to stderr.

    Where files were read, `skipped` says of which of them rows were left out, and how many.
    """
    if skipped is not None:
        result.data["skipped"] = skipped
    _write({"table": _table, "json": _json, "csv": _csv, "markdown": _markdown, "junit": _junit}[form](result))
    if form != "table":
        for check in result.checks:
            print(check.line, file=sys.stderr)  # noqa: T201


def tracked(items: Iterable[Any], what: str, total: int | None) -> Iterator[Any]:
    """Give the items, and show on a terminal's stderr how many there were."""
    if not sys.stderr.isatty():
        yield from items
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(items, total=total, description=what)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on a terminal's stderr what is being done meanwhile."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(Text(what)):
        yield


def cell(score: Any, between: str = " ") -> str:
    """Return a score and its interval for a table."""
    within = "" if score.interval is None else between + "[{:.3f}, {:.3f}]".format(*score.interval)
    return f"{score:.3f}{within}"


def _write(text: str) -> None:
    """Print text to stdout. What its encoding lacks is escaped; a reader such as `head` may have enough of it."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _table(result: Result) -> str:
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, emoji=False, width=_WIDE)
    with console.capture() as capture:
        for grid in result.grids:
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
            for at, name in enumerate(grid[0]):
                least = None if at else min(_LABEL, max(len(row[0]) for row in grid))
                table.add_column(Text(name), justify=_side(at, name), overflow="fold", min_width=least)
            for row in grid[1:]:
                table.add_row(*(Text(text, _STYLES.get(text, "")) for text in row))
            console.print(table)
            console.print()
        for line in result.lines:
            console.print(Text(line))
        for check in result.checks:
            told = Text(check.line)
            told.stylize(_STYLES[check.outcome.upper()], 0, len(check.outcome))
            console.print(told)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _side(at: int, header: str) -> Literal["left", "right"]:
    return "left" if at == 0 or header in _WORDS else "right"


def _json(result: Result) -> str:
    checks = [{**check._asdict(), "queries": list(check.queries)} for check in result.checks]
    encoding = getattr(sys.stdout, "encoding", None) or ""
    found = {**result.data, **({"gates": checks} if checks else {})}
    return json.dumps(found, indent=2, ensure_ascii=not encoding.lower().startswith("utf"), default=str) + "\n"


def _csv(result: Result) -> str:
    text = io.StringIO()
    table = csv.DictWriter(text, list(dict.fromkeys(name for row in result.rows for name in row)), lineterminator="\n")
    table.writeheader()
    table.writerows(result.rows)
    return text.getvalue()


def _markdown(result: Result) -> str:
    parts = [f"### {_escaped(result.title)}\n"]
    for header, *rows in result.grids:
        rule = ["---:" if _side(at, name) == "right" else "---" for at, name in enumerate(header)]
        parts.append("".join(f"| {' | '.join(map(_escaped, row))} |\n" for row in (header, rule, *rows)))
    parts += [f"{_escaped(line)}\n" for line in result.lines]
    parts.append(
        "".join(f"- **{check.outcome.upper()}** {_escaped(check.line.partition(' ')[2])}\n" for check in result.checks)
    )
    return "\n".join(filter(None, parts)) + "\n"


def _escaped(text: str) -> str:
    escaped = re.sub(r"([\\|`*])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
    return escaped.replace("\n", "<br>")


def _junit(result: Result) -> str:
    counts = {"tests": len(result.checks), "failures": 0, "errors": 0}
    suite = ET.Element("testsuite", name=_xml(result.title))
    properties = ET.SubElement(suite, "properties")
    for row in result.rows:
        (_, name), *figures = row.items()
        value = ", ".join(f"{figure} = {found}" for figure, found in figures)
        ET.SubElement(properties, "property", name=_xml(name), value=_xml(value))
    for name, n in result.data.get("skipped", {}).items():
        ET.SubElement(properties, "property", name=_xml(f"skipped in {name}"), value=str(n))
    for check in result.checks:
        case = ET.SubElement(suite, "testcase", classname=_xml(result.title), name=_xml(check.gate))
        if check.outcome != "passed":
            kind = "failure" if check.outcome == "failed" else "error"
            counts[f"{kind}s"] += 1
            body = ET.SubElement(case, kind, type=check.outcome, message=_xml(check.found))
            body.text = _xml("\n".join(map(str, check.queries)))
        else:
            ET.SubElement(case, "system-out").text = _xml(check.found)
    suite.attrib.update({name: str(count) for name, count in counts.items()})
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _xml(text: object) -> str:
    return _NO_XML.sub("?", str(text))
