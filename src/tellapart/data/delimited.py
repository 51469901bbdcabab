"""Tables in files: CSV, TSV and Parquet."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .._util.extras import extra
from .arrays import Array
from .room import check_room, choose, draw
from .tables import Table, counts_rows, distinct, selected, table_of

#: Memory that a cell of a CSV file takes while it is read, beside its text (as measured).
_PER_CELL = 24

#: How many cells of a CSV file are in memory at a time where only some rows are wanted.
_CELLS = 500_000


@dataclass(frozen=True, eq=False)
class Read:
    """What was read: a table, where its rows stand in the file, and remarks."""

    table: Table
    numbers: Array
    notes: tuple[str, ...] = ()


def read_delimited(path: Path, label: str, columns: Any, drop: Any, max_rows: int | None, seed: int) -> Read:
    """Read a CSV or TSV file.

    The first line has the names of the columns, unless all of it is numbers (0, 1, 2, … are names: so pandas writes
    columns without any). Unnamed columns are called by their position. A first column without a name that numbers the
    rows is left out. A CSV file may be separated by semicolons (then perhaps with decimal commas) or tabs too.
    """
    pandas = extra("pandas", group="tables", what="Reading CSV files")
    head = _head(path, label)
    separator = _separator(head, path.suffix.lower())
    first = _first_record(head, separator, label)
    decimal = _decimal(head, separator)
    header = not _all_numbers([cell.replace(decimal, ".") for cell in first]) or (
        len(first) > 1 and first == [str(k) for k in range(len(first))]
    )
    names = distinct(name.strip() or str(k) for k, name in enumerate(first)) if header else None
    names = names or tuple(str(k) for k in range(len(first)))
    keep = selected(names, label, columns, drop)
    size: float = path.stat().st_size
    # Of each byte, as far as the first part of the file tells.
    cells = (head.count(separator) + head.count("\n")) / len(head) * len(keep) / len(names)
    if max_rows is not None:
        size = min(size, max_rows * len(head.encode()) / max(1, head.count("\n")))
    check_room(
        size * (1 + _PER_CELL * cells),
        label,
        "Give max_rows= to draw some of its rows or columns= to take fewer columns, or convert it to .npy or .parquet.",
    )
    options = {
        "sep": separator,
        "decimal": decimal,
        "names": list(range(len(names))),
        "usecols": keep if len(keep) < len(names) else None,
        "index_col": False,
        "skipinitialspace": True,
        "encoding": "utf-8-sig",
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            if max_rows is None:
                frame = pandas.read_csv(path, header=0 if header else None, low_memory=False, **options)
                numbers = np.arange(len(frame))
            else:
                frame, numbers = _draw_csv(pandas, path, header, max_rows, seed, options)
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        reason = re.sub(r"^.*C error: ", "", str(error).strip().splitlines()[0]).rstrip(".")
        raise ValueError(f"{label} is not a regular table: {reason}.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{label} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from None
    frame.columns = [names[k] for k in frame.columns]
    table = table_of(frame, label)
    index = table.columns[0]
    if header and not first[0].strip() and keep[0] == 0 and len(keep) > 1 and counts_rows(index.values):
        note = "The first column has no name and numbers the rows: it is left out."
        return Read(Table(table.columns[1:]), numbers, (note,))
    return Read(table, numbers)


def read_parquet(path: Path, label: str, columns: Any, drop: Any, max_rows: int | None, seed: int) -> Read:
    """Read a Parquet file, or a folder of parts in the order of their names.

    The index that pandas writes beside the columns is left out.
    """
    arrow = extra("pyarrow", group="tables", what="Reading Parquet files")
    parquet = extra("pyarrow.parquet", group="tables", what="Reading Parquet files")
    with ExitStack() as opened:
        try:
            files = [opened.enter_context(parquet.ParquetFile(part)) for part in parquet_parts(path)]
        except (arrow.ArrowInvalid, OSError) as error:
            raise ValueError(f"{label} is not a Parquet file: {str(error).splitlines()[0]}") from None
        stored = files[0].schema_arrow.names
        if any(set(file.schema_arrow.names) != set(stored) for file in files):
            raise ValueError(f"{label} has parts with different columns. Give all parts the same.")
        index = [name for name in stored if re.fullmatch(r"__index_level_\d+__", name)]
        left_out = [*index, *([] if drop is None else [drop] if isinstance(drop, str) else drop)]
        names = distinct(stored)
        keep = selected(names, label, columns, left_out)
        total = sum(file.metadata.num_rows for file in files)
        rows = total if max_rows is None else min(total, max_rows)
        groups = [file.metadata.row_group(k) for file in files for k in range(file.metadata.num_row_groups)]
        stored_bytes = sum(group.total_byte_size for group in groups) * len(keep) / len(names)
        need = max(2 * stored_bytes, 16.0 * total * len(keep)) * rows / max(1, total)
        check_room(need, label, "Give max_rows= to draw some of its rows or columns= to take fewer columns.")
        wanted = [stored[k] for k in keep]
        if max_rows is None:
            data, numbers = arrow.concat_tables([file.read(columns=wanted) for file in files]), np.arange(total)
        else:
            numbers = choose(total, max_rows, seed)
            data = _rows_of(arrow, files, wanted, numbers)
    # A name may stand twice, or be the first part of another's: what came is looked up again.
    came = distinct(data.schema.names)
    data = data.rename_columns(list(came))
    return Read(
        table_of(data, label, [names[k] for k in keep] if set(came) != {names[k] for k in keep} else None), numbers
    )


def parquet_parts(path: Path) -> list[Path]:
    """The Parquet files at a path: itself, or those in the folder, by name; none if it is something else."""
    if path.is_dir():
        return sorted(path.glob("*.parquet"))
    return [path] if path.suffix.lower() == ".parquet" else []


def _rows_of(arrow: Any, files: list[Any], columns: list[str], numbers: Array) -> Any:
    """Some rows of Parquet files, in the memory of one batch."""
    pieces, start = [], 0
    for batch in chain.from_iterable(file.iter_batches(batch_size=65_536, columns=columns) for file in files):
        first, last = np.searchsorted(numbers, (start, start + len(batch)))
        if last > first:
            pieces.append(batch.take(arrow.array(numbers[first:last] - start)))
        start += len(batch)
    return arrow.Table.from_batches(pieces)


def _draw_csv(
    pandas: Any, path: Path, header: bool, max_rows: int, seed: int, options: dict[str, Any]
) -> tuple[Any, Array]:
    """Some rows of a CSV file. They stay text until all are drawn, so that a column gets one type."""
    text = {"dtype": str, "na_filter": False}
    width = len(options["names"])
    chunks = pandas.read_csv(
        path, header=0 if header else None, chunksize=max(1000, _CELLS // width), **text, **options
    )
    with chunks:
        pieces, numbers = draw(chunks, max_rows, seed, lambda frame, rows: frame.iloc[rows])
    if not pieces:
        return pandas.DataFrame(columns=options["names"]), numbers
    frame = pandas.concat(pieces)
    again = io.StringIO(frame.to_csv(index=False, header=False))
    again_options = {"names": list(frame.columns), "decimal": options["decimal"]}
    return pandas.read_csv(again, header=None, low_memory=False, **again_options), numbers


def _head(path: Path, label: str) -> str:
    """The first part of a text file."""
    with path.open("rb") as file:
        start = file.read(2**20)
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    except UnicodeDecodeError as error:
        raise ValueError(f"{label} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from None


def _separator(head: str, suffix: str) -> str:
    if suffix == ".tsv":
        return "\t"
    line = head.lstrip("\r\n").split("\n", 1)[0]
    line = re.sub(r'"[^"]*"', "", line)
    if ";" in line:  # then a comma between digits is that of a number
        line = re.sub(r"(?<=\d),(?=\d)", "", line)
    return "," if "," in line else ";" if ";" in line else "\t" if "\t" in line else ","


def _decimal(head: str, separator: str) -> str:
    """A comma where the cells are separated by semicolons and no number has a point."""
    comma = separator == ";" and re.search(r"\d,\d", head) and not re.search(r"\d\.\d", head)
    return "," if comma else "."


def _first_record(head: str, separator: str, label: str) -> list[str]:
    try:
        records = csv.reader(io.StringIO(head, newline=""), delimiter=separator, skipinitialspace=True)
        first = next((record for record in records if record), None)
    except csv.Error as error:
        raise ValueError(f"{label} is not a table of text: {error}.") from None
    if first is None:
        raise ValueError(f"{label} is empty: it has no rows.")
    return first


def _all_numbers(cells: list[str]) -> bool:
    try:
        return all(np.isfinite(float(cell)) for cell in cells)
    except ValueError:
        return False
