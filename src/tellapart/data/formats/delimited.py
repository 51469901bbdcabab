"""Tables as text: CSV and TSV, also gzipped."""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from typing import Any, NamedTuple

import numpy as np

from ..._util.errors import InputError
from ..._util.extras import extra
from ..._util.text import printable
from ..arrays import Array
from ..columns import code_width
from ..frames import table_from_frame
from ..sampling import sample_stream
from ..tables import Table, is_row_number, select_columns, unique_names
from .base import FileFormat, Opened, Request
from .text import LATIN_NOTE, find_encoding, is_zipped, measure_text, read_head

#: Memory that a cell takes while it is read, beside its text (as measured).
_BYTES_PER_CELL = 24

#: Columns take time and memory each, whatever is in them.
_MOST_COLUMNS = 100_000
#: How many cells are in memory at a time where only some rows are wanted.
_CELLS = 500_000


class Delimited(FileFormat):
    """CSV and TSV files.

    The first line has the names of the columns, unless all of it is numbers (0, 1, 2, … are names: so pandas writes
    columns without any). Unnamed columns are called by their position. A first column without a name that numbers the
    rows is left out. A CSV file may be separated by semicolons (then perhaps with decimal commas) or tabs too.
    """

    name = ".csv, .tsv (also .gz)"
    suffixes = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
    tabular = True

    def open(self, request: Request) -> Opened:
        """Read the rows and columns wanted."""
        pandas = extra("pandas", group="tables", what="Reading CSV files")
        encoding = find_encoding(request.data, request.label)
        try:
            return _read(pandas, request, encoding)
        except UnicodeDecodeError as error:
            if encoding == "latin-1":
                raise InputError(f"{request.label} is not text in {encoding} ({error.reason}).") from None
            return _read(pandas, request, "latin-1")


class _Layout(NamedTuple):
    """How the cells of a file lie: how they are separated, and what the columns are called."""

    separator: str
    decimal: str
    header: bool
    first: list[str]
    names: tuple[str, ...]


def _read(pandas: Any, request: Request, encoding: str) -> Opened:
    head = read_head(request.data, encoding, request.label)
    layout = _find_layout(head, request)
    names, max_rows = layout.names, request.options.max_rows
    keep = select_columns(names, request.label, request.options.columns, request.options.drop)
    if max_rows is None:
        # Cells of each byte, as far as the first part of the file tells.
        cells = (head.count(layout.separator) + head.count("\n")) / len(head) * len(keep) / len(names)
        measure_text(request, 1 + _BYTES_PER_CELL * cells)
    else:
        of_row = len(head.encode()) / max(1, head.count("\n")) + _BYTES_PER_CELL * len(keep)
        # No more than the whole file takes, whose first line may be unlike the others.
        whole = math.inf if is_zipped(request.data) else request.data.stat().st_size * (1.0 + _BYTES_PER_CELL)
        request.check_memory(min(max_rows * of_row, whole), "Give a smaller {max_rows}.", max_rows=...)
    options: dict[str, Any] = {
        "sep": layout.separator,
        "decimal": layout.decimal,
        "names": list(range(len(names))),
        "usecols": keep if len(keep) < len(names) else None,
        "index_col": False,
        "skipinitialspace": True,
        "encoding": encoding,
        "header": 0 if layout.header else None,
    }
    codes = [k for k in _find_codes(head, layout) if k in set(keep)]
    texts = [k for k in keep if printable(names[k]) in request.options.texts]
    codes = [k for k in codes if k not in texts]
    options |= {"dtype": dict.fromkeys([*codes, *texts], str)} if codes or texts else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            if max_rows is None:
                frame = pandas.read_csv(request.data, low_memory=False, **options)
                numbers = np.arange(len(frame))
            else:
                frame, numbers = _read_some(pandas, request, max_rows, options)
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        reason = re.sub(r"^.*C error: ", "", str(error).strip().splitlines()[0]).rstrip(".")
        raise InputError(f"{request.label} is not a regular table: {reason}.") from None
    for k in codes:
        frame[k] = _as_written(pandas, frame[k])
    frame.columns = [names[k] for k in frame.columns]
    table = table_from_frame(frame, request.label)
    notes = (LATIN_NOTE,) if encoding == "latin-1" else ()
    unnamed = layout.header and not layout.first[0].strip() and keep[0] == 0 and len(keep) > 1
    if unnamed and is_row_number(table.columns[0].values):
        table = Table(table.columns[1:])
        notes = (*notes, "The first column has no name and numbers the rows: it is left out.")
    return Opened(table, numbers, notes=notes)


def _read_some(pandas: Any, request: Request, max_rows: int, options: dict[str, Any]) -> tuple[Any, Array]:
    """Some rows of the file. They stay text until all are drawn, so that a column gets one type."""
    step = max(1000, _CELLS // len(options["names"]))
    how = options | {"dtype": str}
    with pandas.read_csv(request.data, chunksize=step, na_filter=False, **how) as chunks:
        pieces, numbers = sample_stream(chunks, max_rows, request.options.seed, lambda frame, rows: frame.iloc[rows])
    if not pieces:
        return pandas.DataFrame(columns=options["names"]), numbers
    frame = pandas.concat(pieces)
    again = io.StringIO(frame.to_csv(index=False, header=False))
    known = {name: options[name] for name in ("decimal", "dtype") if name in options}
    return pandas.read_csv(again, header=None, low_memory=False, names=list(frame.columns), **known), numbers


def _find_codes(head: str, layout: _Layout) -> list[int]:
    """Columns that hold codes with a zero in front, such as postcodes, as far as the first part of the file tells.

    Read as numbers they would lose it.
    """
    if not re.search(rf'(^|[{layout.separator}"\s])0\d', head, re.MULTILINE):
        return []
    whole = head[: head.rfind("\n") + 1] or head
    records = csv.reader(io.StringIO(whole, newline=""), delimiter=layout.separator, skipinitialspace=True)
    try:
        rows = [record for record in records if len(record) == len(layout.names)][int(layout.header) :]
    except csv.Error:
        return []
    columns = ([cell.strip() for cell in column if cell.strip()] for column in zip(*rows, strict=True))
    return [k for k, cells in enumerate(columns) if cells and code_width(cells) is not None]


def _as_written(pandas: Any, column: Any) -> Any:
    """A column that may hold codes: as text if all of it is codes, and else as numbers where it is numbers."""
    texts = column.str.strip()
    if code_width(texts.dropna().unique().tolist()) is not None:
        return texts
    try:
        return pandas.to_numeric(column)
    except (ValueError, TypeError):
        return column


def _find_layout(head: str, request: Request) -> _Layout:
    separator = "\t" if ".tsv" in request.data.suffixes[-2:] else _find_separator(head)
    first = _read_first_record(head, separator, request.label)
    if len(first) > _MOST_COLUMNS:
        raise InputError(
            f"{request.label} has {len(first):,} columns, but text is read up to {_MOST_COLUMNS:,}. Save it as .npy."
        )
    # A comma where the cells are separated by semicolons and no number has a point.
    comma = separator == ";" and re.search(r"\d,\d", head) and not re.search(r"\d\.\d", head)
    decimal = "," if comma else "."
    counted = [str(k) for k in range(len(first))]
    header = not _are_numbers([cell.replace(decimal, ".") for cell in first]) or (len(first) > 1 and first == counted)
    names = unique_names(name.strip() or str(k) for k, name in enumerate(first)) if header else tuple(counted)
    return _Layout(separator, decimal, header, first, names)


def _find_separator(head: str) -> str:
    line = head.lstrip("\r\n").split("\n", 1)[0]
    line = re.sub(r'"[^"]*"', "", line)
    if ";" in line:  # then a comma between digits is that of a number
        line = re.sub(r"(?<=\d),(?=\d)", "", line)
    return "," if "," in line else ";" if ";" in line else "\t" if "\t" in line else ","


def _read_first_record(head: str, separator: str, label: str) -> list[str]:
    try:
        records = csv.reader(io.StringIO(head, newline=""), delimiter=separator, skipinitialspace=True)
        first = next((record for record in records if record), None)
    except csv.Error as error:
        raise InputError(f"{label} is not a table of text: {error}.") from None
    if first is None:
        raise InputError(f"{label} is empty: it has no rows.")
    return first


def _are_numbers(cells: list[str]) -> bool:
    try:
        return all(np.isfinite(float(cell)) for cell in cells)
    except ValueError:
        return False
