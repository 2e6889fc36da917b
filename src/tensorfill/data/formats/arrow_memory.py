"""Memory that Parquet files and Arrow tables will take, asked for before they are unpacked."""

from __future__ import annotations

from typing import Any

from tensorfill.data.formats.parquet_pages import Buffer, unpacked_pages
from tensorfill.data.memory import ask


def ask_table(rows: int, columns: int, long: bool) -> None:
    """Refuse a table that takes too much memory; labels of a long one are Python objects of about 100 bytes."""
    ask(rows * columns * (100 if long else 24), f"a table of {rows:,} rows and {columns} columns")


def ask_pages(data: Buffer, claimed: int) -> None:
    """Refuse a Parquet file that takes too much memory, by its pages' own headers and by `claimed`, of its index."""
    ask(2 * max(claimed, sum(unpacked_pages(data))), "what is in it, unpacked,")


def ask_page(data: Buffer) -> None:
    """Refuse a Parquet file that is read in pieces if one of its pages takes too much memory."""
    ask(2 * max(unpacked_pages(data), default=0), "a page of it, unpacked,")


def ask_texts(table: Any) -> None:
    """Refuse columns of categories whose texts take too much memory once every row has its own copy."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for chunk in (chunk for column in table.columns for chunk in column.chunks):
        while pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type):
            chunk = chunk.flatten()
        if not pa.types.is_dictionary(chunk.type):
            continue
        words = chunk.dictionary
        if pa.types.is_string(words.type) or pa.types.is_binary(words.type):
            total += pc.sum(pc.binary_length(words).cast(pa.int64()).take(chunk.indices)).as_py() or 0
    ask(2 * total, "the text in it, row by row,")
