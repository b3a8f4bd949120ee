"""What a conversion leaves behind, and what no output may replace."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hitrate_adapters.formats.layouts import format_of

from .output import counted, listed

_HOLD_NOTHING = ("jsonl", "json")
"""The formats that have a place for a query without items."""


def refuse_input(option: str, target: Path, *sources: Path | None) -> None:
    """Raise ValueError where a file that is to be written is one of those that are read."""
    if any(
        source is not None and source.exists() and target.exists() and source.samefile(target) for source in sources
    ):
        raise ValueError(f"{option} {target}: this file is read too, and would be lost: write to another one")


def refuse_unsavable(target: Path, *sources: Path | None) -> None:
    """Raise ValueError for a file that is read, or that has the name of another format than of saved evaluations."""
    if not target.name.endswith((".jsonl", ".jsonl.gz")):
        raise ValueError(f"--save {target}: evaluations are saved as JSON lines: end the name in .jsonl or .jsonl.gz")
    refuse_input("--save", target, *sources)


def left_behind(found: Mapping[Any, Any], target: Path, to: str | None, errors: Mapping[Any, Exception]) -> list[str]:
    """Return how many queries the file that was written has, and which of the others, or of their errors, it lacks."""
    kind = format_of(target, to)
    lacking = [] if kind in _HOLD_NOTHING else [query_id for query_id, items in found.items() if not items]
    lines = [f"{counted(len(found) - len(lacking), 'query', 'queries')} written to {target}"]
    if lacking:
        one, many = "query without items", "queries without items"
        lines.append(f"{counted(len(lacking), one, many)} left out, for which {kind} has no place: {listed(lacking)}")
    if errors and kind != "jsonl":
        lines.append(f"{counted(len(errors), 'error')} left out, for which {kind} has no place: {listed(errors)}")
    return lines
