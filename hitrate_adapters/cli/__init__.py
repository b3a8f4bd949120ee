"""The `hitrate` command: evaluate, compare and gate runs that are in files."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of the process; where typer is absent, say how to get it."""
    try:
        from .commands import app  # an extra: without it, advice is enough
    except ImportError as error:
        if not str(error).startswith("typer is not installed"):
            raise
        print(f"hitrate: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    app(prog_name="hitrate")
