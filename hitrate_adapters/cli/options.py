"""The options that several commands have."""

from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from hitrate_adapters._extras import extra
from hitrate_adapters.formats.layouts import FORMATS

from .parsing import matcher

with extra("cli", "typer"):
    import typer

_FILES, _FIELDS, _RULES, _GATES = "Files", "Fields, where they have other names", "Rules of judging", "Gates"
_KINDS = ", ".join(FORMATS)


class Format(StrEnum):
    """How a result is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class GateFormat(StrEnum):
    """How a result is printed that may have gates."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    junit = "junit"


class OnError(StrEnum):
    """What becomes of a row that cannot be read."""

    raise_ = "raise"
    skip = "skip"


class Side(StrEnum):
    """What a file holds."""

    qrels = "qrels"
    run = "run"


class On(StrEnum):
    """What a bound is put on."""

    point = "point"
    lower_end = "lower"


_FORMAT = typer.Option("--format", "-f", help="How to print the result.")
FormatOption = Annotated[Format, _FORMAT]
GateFormatOption = Annotated[GateFormat, _FORMAT]
OnErrorOption = Annotated[
    OnError, typer.Option(help="Stop at a row that cannot be read, or leave it out and say so.", rich_help_panel=_FILES)
]
MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="hit_rate, recall, precision, mrr, map or ndcg; with a cutoff of its own, mrr@10; hit_rate>=0.5 asks for "
        "half of what is relevant. Several by commas, or the option again.",
    ),
]
CutoffsOption = Annotated[
    list[str] | None,
    typer.Option("--k", "-k", metavar="K", help="Cutoffs, such as 1,5,10, or all. Again for more."),
]
MarginOption = Annotated[
    float, typer.Option(metavar="D", help="The smallest difference that matters, for the verdict.", min=0, max=1)
]
AnywayOption = Annotated[
    bool, typer.Option("--anyway", metavar="", help="Compare also what was judged by other gold or rules.")
]
MaxDropOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC=D",
        help="How far a metric may fall, such as hit_rate@5=0.02: exit code 1 where it fell further and is worse, 3 "
        "where that is neither shown nor excluded.",
        rich_help_panel=_GATES,
    ),
]
FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC=BOUND",
        help="The lowest good value, such as hit_rate@5=0.85. Again for more.",
        rich_help_panel=_GATES,
    ),
]
OnOption = Annotated[
    On,
    typer.Option(
        help="What --fail-under looks at: the value, or the lower end of its 95 % interval, where exit code 3 says "
        "that the interval has the bound in it.",
        rich_help_panel=_GATES,
    ),
]
BaselineOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A saved evaluation, for --max-drop.", rich_help_panel=_GATES)
]


@dataclass(frozen=True)
class Reading:
    """How files are read and judged: options of every command that evaluates."""

    qrels_format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{_KINDS}. Default: by the end of its name.", rich_help_panel=_FILES),
    ] = None
    run_format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The same for runs.", rich_help_panel=_FILES),
    ] = None
    on_error: OnErrorOption = OnError.raise_
    qrels_query_id: Annotated[
        str | None, typer.Option(metavar="FIELD", help="In QRELS, the query's id.", rich_help_panel=_FIELDS)
    ] = None
    qrels_items: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="In QRELS, what is relevant: reference.ids", rich_help_panel=_FIELDS),
    ] = None
    run_query_id: Annotated[
        str | None, typer.Option(metavar="FIELD", help="In runs, the query's id.", rich_help_panel=_FIELDS)
    ] = None
    run_items: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="In runs, what was retrieved: outputs.documents", rich_help_panel=_FIELDS),
    ] = None
    id_key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Of items that are documents, the key that is the id.", rich_help_panel=_FIELDS
        ),
    ] = None
    match: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="When an item counts as relevant: of texts same_text, contains, overlap=0.5 or similar=0.9; of spans "
            "span_overlap or span_overlap=0.5. Default: when it is equal.",
            rich_help_panel=_RULES,
        ),
    ] = None
    unique: Annotated[
        bool,
        typer.Option(
            "--unique", metavar="", help="Drop repeats from a ranking before any cutoff.", rich_help_panel=_RULES
        ),
    ] = False
    relevance_level: Annotated[
        float | None,
        typer.Option(
            metavar="GRADE", help="The lowest grade that is relevant. Default: above 0.", rich_help_panel=_RULES
        ),
    ] = None

    skipped: dict[str, int] = field(default_factory=dict, init=False, compare=False)
    """No option: the files in which rows were left out -> how many."""

    @property
    def qrels_fields(self) -> dict[str, Any]:
        """The names of fields, for `read_qrels`."""
        return {"query_id": self.qrels_query_id, "items": self.qrels_items, "id_key": self.id_key}

    @property
    def run_fields(self) -> dict[str, Any]:
        """The names of fields, for `read_run`."""
        return {"query_id": self.run_query_id, "items": self.run_items, "id_key": self.id_key}

    @property
    def rules(self) -> dict[str, Any]:
        """The rules of judging, for `evaluate`."""
        return {"match": matcher(self.match), "unique": self.unique, "relevance_level": self.relevance_level}

    def refuse(self) -> None:
        """Raise ValueError where an option is given, as a saved evaluation was read and judged before."""
        given = [each.name for each in fields(self) if each.init and getattr(self, each.name) != each.default]
        if given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ValueError(f"saved evaluations were judged when they were made: leave out {names}")
