"""Entries that a list names, and answers for them, a few at a time: for lists that are themselves large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.blocks.pieces import table_batches
from tensorfill.data.labels import axis_labels
from tensorfill.data.observations import Observations
from tensorfill.io.formats.base import FileError
from tensorfill.io.formats.output import file_errors, replace_path
from tensorfill.io.optional import attempt_import
from tensorfill.typing import Array

ENDINGS = (".parquet", ".pq", ".csv")


def check_list(wanted: str, out: str) -> None:
    """A sentence for a list, or a place for its answers, that is not a table."""
    for name, what in ((wanted, "the list of --at"), (out, "the answers to --at")):
        if not name.lower().endswith(ENDINGS):
            msg = f"{what} must be a table, {' or '.join(ENDINGS)}, for data in blocks; got {name}."
            raise ValueError(msg)


def write_at(at: Callable[[Array], Array], obs: Observations, wanted: str, out: str, value: str) -> int:
    """Write the table `wanted` to `out` with a column `value` of answers; how many rows there were."""
    pa = attempt_import("pyarrow", "writing the answers to --at", "parquet")
    known = [_places(axis_labels(obs).get(d)) for d in obs.dims]
    rows, writer = 0, None
    with file_errors(out, "write"), replace_path(Path(out), store=False) as place:
        for batch in _batches(wanted, obs.dims):
            where = np.stack([_codes(batch.column(d), d, p) for d, p in zip(obs.dims, known, strict=True)], axis=1)
            table = pa.table({d: batch.column(d) for d in obs.dims} | {value: at(where)})
            writer = writer or _writer(place, table.schema)
            writer.write_table(table)
            rows += len(table)
        if writer is None:
            msg = f"{wanted} holds no rows."
            raise FileError(msg)
        writer.close()
    return rows


def _batches(wanted: str, dims: tuple[str, ...]) -> Iterator[Any]:
    with file_errors(wanted, "read"):
        yield from table_batches(wanted, dims)


def _places(labels: Any) -> dict[str, int] | None:
    """Labels are matched by what they say: 7 in one file and "7" in another are the same."""
    return None if labels is None else {str(label): k for k, label in enumerate(np.asarray(labels).tolist())}


def _codes(column: Any, dim: str, places: dict[str, int] | None) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if places is None:
        return column.to_numpy(zero_copy_only=False)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    coded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    try:
        found = np.array([places[str(label)] for label in coded.dictionary.to_pylist()], dtype=np.int64)
    except KeyError as error:
        msg = f"the list of --at names {dim} {error.args[0]!r}, which the data do not have; leave it out."
        raise ValueError(msg) from error
    return found[coded.indices.to_numpy(zero_copy_only=False)]


def _writer(place: Path, schema: Any) -> Any:
    if place.name.lower().endswith(".csv"):
        return attempt_import("pyarrow.csv", "writing a CSV file in pieces", "parquet").CSVWriter(str(place), schema)
    return attempt_import("pyarrow.parquet", "writing Parquet", "parquet").ParquetWriter(str(place), schema)
