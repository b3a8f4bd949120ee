"""The `hitrate` command: evaluate, compare and gate runs that are in files."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of the process; where typer or rich is absent, say how to get it."""
    try:
        from .commands import app  # an extra: without it, advice is enough
    except ImportError as error:
        if "hitrate-adapters[cli]" not in str(error):
            raise
        print(f"hitrate: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    app(prog_name="hitrate")
