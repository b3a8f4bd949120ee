"""Files as bytes, and where reading has come to: what is wrong in a file is told with the place."""

from __future__ import annotations

import gzip
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TextIO

PathLike = str | os.PathLike[str]

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Place:
    """Where in a file reading has come to. Around the reading of one row it says where the row is that is wrong.

    Args:
        path: the file.
        on_error: "raise" stops at the first row that is wrong; "skip" leaves such rows out and notes them.

    Raises:
        ValueError: `on_error` is something else.
    """

    def __init__(self, path: PathLike, on_error: str = "raise") -> None:
        """Begin outside of any row."""
        if on_error not in ("raise", "skip"):
            raise ValueError(f'on_error must be "raise" or "skip", got {on_error!r}')
        self.path = Path(path)
        self.on_error = on_error
        self.unit = "line"
        """What the rows of this file are called."""
        self.at: object = None
        """The number or the name of the row."""
        self.skipped: list[str] = []
        """What was wrong with each row that was left out, with its place."""

    def __enter__(self) -> None:
        """Begin to read a row."""

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> bool:
        """Name the place of a ValueError or TypeError, or of too deep a nesting, or leave the row out."""
        if isinstance(error, RecursionError):
            error = ValueError("this is nested too deep to be read")
        if not isinstance(error, (ValueError, TypeError)):
            return False
        told = f"{self.path}, {self.unit} {self.at!r}: {error}"
        if self.on_error == "raise":
            raise ValueError(told) from error
        self.skipped.append(told)
        return True

    def fault(self, what: object) -> ValueError:
        """Return the error for what is wrong with the whole file, of which nothing can be left out."""
        return ValueError(f"{self.path}: {what}")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file of bytes for reading; one that ends in .gz is unpacked. Raises ValueError for half of a .gz."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file  # type: ignore[misc]  # a GzipFile reads as one
    except (EOFError, zlib.error) as error:
        raise ValueError(f"{path}: this cannot be unpacked: {error}") from None


@contextmanager
def replaced(path: PathLike) -> Iterator[Path]:
    """Give another path to write to, which takes the place of `path` at the end; after an error `path` is as it was.

    A link stays, and the file that it leads to is replaced; a file keeps its mode. What is no file, such as a pipe or a
    device, is written to as it is.

    Raises OSError, which names `path`, where there can be no such file.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{os.getpid()}.{target.name}")
    is_older = target.exists()
    try:
        part.touch(0o600 if is_older else 0o666)
        try:
            yield part
            if is_older:
                shutil.copymode(target, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.filename != str(part):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def written(path: PathLike) -> Iterator[TextIO]:
    """Open a file of UTF-8 for writing, as in `replaced`; one that ends in .gz is packed.

    Raises ValueError for what is no text of Unicode.
    """
    with replaced(path) as part:
        open_ = gzip.open if Path(path).suffix == ".gz" else open
        try:
            with open_(part, "wt", encoding="utf-8", newline="") as file:
                yield file
        except UnicodeEncodeError as error:
            shown = error.object[max(error.start - 20, 0) : error.end]
            raise ValueError(f"{path}: UTF-8 cannot hold {shown!r}") from None


def lines(place: Place) -> Iterator[bytes]:
    """Give the lines of a file and keep their number in `place`; without the mark of the byte order before the first.

    Raises ValueError for a file in UTF-16.
    """
    with opened(place.path) as file:
        for place.at, line in enumerate(file, 1):
            if place.at == 1:
                if line[:2] in _OTHER_BOMS:
                    raise place.fault(f"this is {_OTHER_BOMS[line[:2]]}: save it as UTF-8")
                line = line.removeprefix(_BOM)  # noqa: PLW2901
            yield line


def decoded(raw: bytes) -> str:
    """Return bytes as text. Raises ValueError where they are no UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"this is no UTF-8: {raw[error.start : error.start + 4]!r} at byte {error.start + 1}"
        ) from None
