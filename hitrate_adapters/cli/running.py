"""How a command runs: what it raises becomes a message and an exit code."""

import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from hitrate_adapters._extras import extra

from .options import Reading
from .output import note

with extra("cli", "typer"):
    import typer


_ARGUMENTS = {"anyway": "--anyway", "id_key": "--id-key", "match": "--match RULE, such as --match contains"}


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Return a command that ends in a message and exit code 2 whatever it raises; `reading` stands for its options."""
    own, shared = dict(signature(run).parameters), dict(signature(Reading).parameters)
    takes_reading = own.pop("reading", None) is not None
    parameters = [*own.values(), *(shared.values() if takes_reading else ())]

    @wraps(run)
    def guarded(**given: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_, **__: note(
                "\n".join([str(message), *_meant(str(message), _ARGUMENTS)]), "warning"
            )
            try:
                if takes_reading:
                    given["reading"] = Reading(**{name: given.pop(name) for name in shared})
                with named(**_ARGUMENTS):
                    run(**given)
            except (OSError, ValueError, TypeError, ImportError) as error:
                note("\n".join([_told(error), *getattr(error, "__notes__", ())]), "error")
                raise typer.Exit(2) from None
            except typer.Exit:
                raise
            except Exception as error:  # whatever it is, it must not look like a gate that failed: exit code 1
                at = traceback.extract_tb(error.__traceback__)[-1]
                told = f"{type(error).__name__}: {error} ({Path(at.filename).name}, line {at.lineno})"
                note(f"this is a fault of hitrate itself, please report it: {told}", "error")
                raise typer.Exit(2) from None
            except KeyboardInterrupt:
                raise typer.Exit(130) from None

    guarded.__signature__ = signature(run).replace(  # type: ignore[attr-defined]
        parameters=[each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    )
    guarded.__annotations__ = {each.name: each.annotation for each in parameters}
    return guarded


@contextmanager
def named(**options: str) -> Iterator[None]:
    """Say, below what is raised inside, which option stands for an argument of the library that it speaks of."""
    try:
        yield
    except (ValueError, TypeError) as error:
        for line in _meant(str(error), options):
            error.add_note(line)
        raise


def _meant(message: str, options: Mapping[str, str]) -> Iterator[str]:
    """Give a line for each argument of the library that a message speaks of."""
    for argument, option in options.items():
        if re.search(rf"\b{argument}=(True\b|(?!\w))", message):  # and not a file that is called items=a.jsonl
            yield f"{argument}= is the option {option}"


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
