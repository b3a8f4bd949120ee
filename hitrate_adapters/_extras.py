"""Turn the absence of an optional dependency into advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def extra(name: str, package: str, cures: Mapping[str, str] | None = None) -> Iterator[None]:
    """Around an adapter's imports: where `package` itself is absent, say which extra brings it.

    Every other ImportError passes as it is, since a package that is there but broken is not missing; where a module of
    `cures` (import name -> the command that cures it) is to blame, the error says the cure.
    """
    try:
        yield
    except ImportError as error:
        culprit = (error.name or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and f"{package}.".startswith(f"{error.name}."):
            raise ImportError(
                f"{package} is not installed: pip install 'hitrate-adapters[{name}]'", name=error.name, path=error.path
            ) from error
        if cures and culprit in cures:
            raise ImportError(
                f"{package} is installed but cannot be imported ({error}). The cure: {cures[culprit]}",
                name=error.name,
                path=error.path,
            ) from error
        raise
