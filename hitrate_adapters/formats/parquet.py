"""Parquet files as rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hitrate_adapters._extras import extra

with extra("parquet", "pyarrow"):
    import pyarrow as pa
    import pyarrow.parquet as pq


def batches(path: Path) -> tuple[tuple[str, ...], frozenset[str], Iterator[list[dict[str, Any]]]]:
    """Return the columns of a file, those that hold lists, and the rows, some thousands at a time.

    Raises ValueError for what is no Parquet.
    """
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: this is no Parquet: {error}") from None
    nested = frozenset(field.name for field in file.schema_arrow if pa.types.is_nested(field.type))
    return tuple(file.schema_arrow.names), nested, _batches(file)


def _batches(file: Any) -> Iterator[list[dict[str, Any]]]:
    with file:
        for batch in file.iter_batches(batch_size=4096):
            yield batch.to_pylist()


def write(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write columns of one length."""
    pq.write_table(pa.table(columns), path)
