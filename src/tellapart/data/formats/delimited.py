"""Tables as text: CSV and TSV, also gzipped."""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import IO, Any, NamedTuple

import numpy as np

from ..._util.errors import InputError, Note
from ..._util.memory import available_memory
from ..._util.progress import reading_bar
from ..._util.text import printable
from ..arrays import Array
from ..columns import column_from_array
from ..content import TableContent
from ..names import select_columns, unique_names
from ..profile import is_row_number
from ..sampling import sample_stream
from ..spill import TableWriter, is_large
from ..texts import read_columns
from .base import FileFormat, Opened, Request
from .frames import show_name, show_names, table_from_frame
from .plain_numbers import read_plain_numbers
from .text import (
    HEAD,
    LATIN_NOTE,
    BoundedStream,
    count_lines,
    decode_head,
    is_zipped,
    measure_text,
    open_bytes,
    read_head,
    text_size,
)

#: Memory that a cell takes while it is read, beside its text (as measured).
_BYTES_PER_CELL = 24

#: Columns take time and memory each, whatever is in them.
_MOST_COLUMNS = 100_000
#: How many cells are in memory at a time where only some rows are wanted.
_CELLS = 500_000
#: Memory that a byte of text takes at the most while rows are drawn (as measured, with cells of one digit).
_BYTES_PER_BYTE = 16
#: Cells that are changed where they are read as numbers: those with a zero in front, and whole numbers beyond 2**53.
_LOSSY = r"^\s*(?:0|[+-]?\d{15})\d"
#: An empty cell is missing; words are left to `texts`, which reads the texts of all formats.
_EMPTY = {"keep_default_na": False, "na_values": [""]}


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
        start, encoding = read_head(request.data, request.label)
        try:
            return _read(request, start, encoding)
        except UnicodeDecodeError as error:
            if encoding == "latin-1":
                raise InputError(
                    "wrong-encoding", f"{request.label} is not text in {encoding} ({error.reason})."
                ) from None
            return _read(request, start, "latin-1")


class _Layout(NamedTuple):
    """How the cells of a file lie: how they are separated, and what the columns are called."""

    separator: str
    decimal: str
    header: bool
    first: list[str]
    names: tuple[str, ...]


def _read(request: Request, start: bytes, encoding: str) -> Opened:
    """The table, of which ``start`` is the first part."""
    head = decode_head(start, encoding)
    layout = _find_layout(head, request)
    names, max_rows = layout.names, request.options.max_rows
    keep = select_columns(names, request.label, request.options.columns, request.options.drop)
    as_text = [k for k in keep if printable(names[k]) in request.options.texts]
    of_row = len(head.encode()) / max(1, head.count("\n")) + _BYTES_PER_CELL * len(keep)
    large = False
    if max_rows is None:
        # Cells of each byte, as far as the first part of the file tells.
        cells = (head.count(layout.separator) + head.count("\n")) / len(head) * len(keep) / len(names)
        need = 1 + _BYTES_PER_CELL * cells
        distinct = len({show_name(names[k]) for k in keep}) == len(keep)
        large = distinct and is_large(text_size(request.data) * need, request.options.max_memory)
        if not large:
            measure_text(request, need)
    else:
        # No more than the whole file takes, whose first line may be unlike the others.
        whole = math.inf if is_zipped(request.data) else request.data.stat().st_size * (1.0 + _BYTES_PER_CELL)
        request.check_memory(min(max_rows * of_row, whole), "Give a smaller {max_rows}.", max_rows=...)
    table = (
        _read_plain(head, layout, keep, request.label) if max_rows is None and len(start) < HEAD and not large else None
    )
    if table is None or as_text:
        table, numbers, total = _parse(request, encoding, layout, keep, as_text, of_row, large)
    else:
        numbers, total = np.arange(len(table)), len(table)
    if layout.decimal == ",":  # which `texts` cannot know
        table = TableContent(tuple(replace(c, how=",") if c.kind == "text" else c for c in table.columns))
    notes = (LATIN_NOTE,) if encoding == "latin-1" else ()
    unnamed = layout.header and not layout.first[0].strip() and keep[0] == 0 and len(keep) > 1
    if unnamed and is_row_number(read_columns(table.columns[:1], [request.label])[0].values):
        table = TableContent(table.columns[1:])
        text = "The first column has no name and numbers the rows: it is left out."
        notes = (*notes, Note("column-left-out", text))
    return Opened(table, numbers, notes=notes, total=total)


def _read_plain(head: str, layout: _Layout, keep: list[int], label: str) -> TableContent | None:
    """All of a small file, if it has nothing but plain numbers; ``head`` is its text."""
    if '"' in head or head[:1] in "\r\n" or layout.decimal != ".":
        return None
    rows = head.partition("\n")[2] if layout.header else head
    arrays = read_plain_numbers(rows, layout.separator, len(layout.names), keep)
    if arrays is None:
        return None
    names = show_names(layout.names[k] for k in keep)
    return TableContent(tuple(column_from_array(*one, label) for one in zip(names, arrays, strict=True)))


def _parse(
    request: Request, encoding: str, layout: _Layout, keep: list[int], as_text: list[int], of_row: float, large: bool
) -> tuple[TableContent, Array, int]:
    """The table, its rows and how many there are: parsed in one pass, and once more only for codes such as 007."""
    pandas = import_module("pandas")  # which takes longer than reading a small file
    names = layout.names
    options: dict[str, Any] = {
        "sep": layout.separator,
        "decimal": layout.decimal,
        "names": list(range(len(names))),
        "usecols": keep if len(keep) < len(names) else None,
        "index_col": False,
        "skipinitialspace": True,
        "header": None,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            if large:
                table = _read_large(pandas, request, of_row, options, as_text, encoding, layout)
                numbers, total = np.arange(len(table)), len(table)
            elif request.options.max_rows is None:
                frame = _read_all(pandas, request, options, as_text, encoding, layout)
                table, numbers, total = _make_table(frame, names, request.label), np.arange(len(frame)), len(frame)
            else:
                frame, numbers, total = _read_some(pandas, request, of_row, options, encoding, layout)
                table = _make_table(frame, names, request.label)
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        reason = re.sub(r"^.*C error: ", "", str(error).strip().splitlines()[0]).rstrip(".")
        reason = re.sub(r"(?<=line )\d+", lambda match: str(int(match[0]) + layout.header), reason)
        raise InputError("irregular-table", f"{request.label} is not a regular table: {reason}.") from None
    return table, numbers, total


class _Rows:
    """The text of a file behind the names of its columns, as pandas reads it.

    pandas would make these names different itself, in a time that is quadratic in their number.
    """

    def __init__(self, text: IO[str], bytes_read: BoundedStream, separator: str) -> None:
        self._text, self._bytes = text, bytes_read
        self._before = np.isin(np.arange(256), [ord(character) for character in f'{separator}"\n\r\t\v\f '])
        self._end = b"\n"
        #: Whether a cell that has been read may begin with 0 and another digit.
        self.has_leading_zero = False

    def read(self, size: int = -1) -> str:
        """Some more text."""
        piece = self._text.read(size)
        if not self.has_leading_zero:
            # On bytes: a regular expression would take longer than pandas takes to parse them.
            found = np.frombuffer(self._end + piece.encode("utf-8", "surrogatepass"), np.uint8)
            digits = (found >= ord("0")) & (found <= ord("9"))
            zeros = self._before[found[:-2]] & (found[1:-1] == ord("0")) & digits[2:]
            self.has_leading_zero, self._end = bool(zeros.any()), found[-2:].tobytes()
        return piece

    def __iter__(self) -> Iterator[str]:
        return iter(self._text)

    def start_portion(self) -> None:
        """Allow as many bytes again as one portion of the rows may take."""
        self._bytes.start_portion()


@contextmanager
def _open_rows(request: Request, encoding: str, layout: _Layout, most: float = math.inf) -> Iterator[_Rows]:
    with open_bytes(request.data) as file:
        bounded = BoundedStream(file, request.label, most)
        with io.TextIOWrapper(io.BufferedReader(bounded, 2**18), encoding, newline="") as stream:
            if layout.header:
                _read_first_record(stream, layout.separator, request.label)
            yield _Rows(stream, bounded, layout.separator)


def _read_all(
    pandas: Any, request: Request, options: dict[str, Any], as_text: list[int], encoding: str, layout: _Layout
) -> Any:
    """All rows: numbers as the parser reads them, in columns of nothing else, and texts."""
    with _open_rows(request, encoding, layout) as rows:
        frame = pandas.read_csv(rows, **_EMPTY, **_typed(pandas), dtype=dict.fromkeys(as_text, str), **options)
    doubtful = _find_doubtful(frame, rows.has_leading_zero)
    if doubtful:
        with _open_rows(request, encoding, layout) as rows:
            texts = pandas.read_csv(rows, **_EMPTY, **options | {"usecols": doubtful, "dtype": str})
        for k in doubtful:
            # 01234 or 9007199254740993, which reading them as numbers has changed
            frame[k] = texts[k] if texts[k].str.contains(_LOSSY).any() else frame[k]
    return frame


def _typed(pandas: Any) -> dict[str, Any]:
    """Options with which each number is the float nearest to it; since pandas 3.1 that is so by default."""
    old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    return {"low_memory": False, **({"float_precision": "round_trip"} if old else {})}


def _make_table(frame: Any, names: tuple[str, ...], label: str) -> TableContent:
    """A table of a frame whose columns are called by their positions."""
    frame.columns = [names[k] for k in frame.columns]
    return table_from_frame(frame, label)


def _read_large(
    pandas: Any,
    request: Request,
    of_row: float,
    options: dict[str, Any],
    as_text: list[int],
    encoding: str,
    layout: _Layout,
) -> TableContent:
    """`_read_all` of a large file: in portions, whose columns are kept in a temporary file."""
    most, columns = _portion(request), options["usecols"] or options["names"]
    looks = {k: _Look() for k in columns}
    lines = count_lines(request.data) + 1
    parsed, written = TableWriter(lines, request.label), TableWriter(lines, request.label)
    has_zeros = False

    def portions(**others: Any) -> Iterator[Any]:
        nonlocal has_zeros
        with (
            _open_rows(request, encoding, layout, most) as rows,
            pandas.read_csv(rows, **_EMPTY, chunksize=_step(options, most / 4 / of_row), **options | others) as reader,
            reading_bar(request.options.progress, request.label, lines) as advance,
        ):
            for frame in reader:
                has_zeros |= rows.has_leading_zero
                yield frame
                rows.start_portion()
                advance(len(frame))

    for frame in portions(**_typed(pandas), dtype=dict.fromkeys(as_text, str)):
        for k in columns:
            looks[k].add(frame[k].to_numpy())
        pure = [k for k in columns if looks[k].is_pure]
        parsed.append(_make_table(frame[pure], layout.names, request.label).columns)
    texts = [k for k in columns if not looks[k].is_pure]
    doubtful = [k for k in columns if looks[k].is_doubtful(has_zeros)]
    again = sorted(texts + doubtful)
    if again:
        for frame in portions(usecols=again, dtype=str):
            texts += [k for k in doubtful if k not in texts and frame[k].str.contains(_LOSSY).any()]
            written.append(_make_table(frame, layout.names, request.label).columns)
    found = {False: parsed.close(), True: written.close()}
    if not parsed.rows:
        raise InputError("no-rows", f"{request.label} is empty: it has no rows.")
    return TableContent(tuple(found[k in texts][show_name(layout.names[k])] for k in columns))


def _read_some(
    pandas: Any, request: Request, of_row: float, options: dict[str, Any], encoding: str, layout: _Layout
) -> tuple[Any, Array, int]:
    """Some rows of the file, all of them as text: what a column holds is known when all are drawn."""
    max_rows, most = request.options.max_rows or 0, _portion(request)
    step = _step(options, most / 4 / of_row)

    def chunks() -> Iterator[Any]:
        with (
            _open_rows(request, encoding, layout, most) as rows,
            pandas.read_csv(rows, chunksize=step, **_EMPTY, **options, dtype=str) as reader,
        ):
            for chunk in reader:
                yield chunk
                rows.start_portion()

    def check(held: list[Any]) -> None:
        size = sum(float(piece.memory_usage(deep=True).sum()) for piece in held)
        request.check_memory(2 * size, "Give a smaller {max_rows}.", max_rows=...)

    take = lambda frame, rows: frame.iloc[rows]  # noqa: E731
    pieces, numbers, total = sample_stream(chunks(), max_rows, request.options.seed, take, check)
    empty = pandas.DataFrame(columns=options["names"])
    return pandas.concat(pieces, ignore_index=True) if pieces else empty, numbers, total


def _step(options: dict[str, Any], most: float) -> int:
    """How many rows are read together."""
    return int(max(1, min(_CELLS // len(options["names"]), most)))


def _portion(request: Request) -> int:
    """Bytes of text that may be in memory as cells at a time."""
    limit = min(request.options.max_memory or math.inf, available_memory())
    return int(min(2**28, max(2**20, limit / _BYTES_PER_BYTE)))


class _Look:
    """What the parser found in the cells of a column, portion by portion."""

    def __init__(self) -> None:
        self._types: set[str] = set()
        self._large, self._whole, self._any = False, True, False

    def add(self, values: Array) -> None:
        """Look at some more cells."""
        kind = values.dtype.kind
        self._types.add(kind if kind in "bf" else "i" if kind in "iu" else "text")
        there = values[np.isfinite(values)] if kind == "f" else values
        if kind in "iuf" and len(there):
            self._any = True
            self._large |= bool(max(-float(there.min()), float(there.max())) >= 2**53)
            self._whole &= bool(there.min() >= 0 and (there == np.rint(there)).all())

    @property
    def is_pure(self) -> bool:
        """Whether all cells are numbers, or all are yes and no."""
        return self._types <= {"i", "f"} or self._types == {"b"}

    def is_doubtful(self, has_zeros: bool) -> bool:
        """Whether numbers may have lost something: zeros in front of codes, or the last digits of large numbers."""
        if not (self.is_pure and self._any):
            return False
        return ("f" in self._types and self._large) or (has_zeros and self._whole)


def _find_doubtful(frame: Any, has_zeros: bool) -> list[int]:
    """Columns of numbers that may have lost something."""
    found = []
    for k in frame.columns:
        look = _Look()
        look.add(frame[k].to_numpy())
        if look.is_doubtful(has_zeros):
            found.append(k)
    return found


def _find_layout(head: str, request: Request) -> _Layout:
    separator = "\t" if ".tsv" in request.data.suffixes[-2:] else _find_separator(head)
    first = _read_first_record(io.StringIO(head, newline=""), separator, request.label)
    if len(first) > _MOST_COLUMNS:
        raise InputError(
            "too-many-columns",
            f"{request.label} has {len(first):,} columns, but text is read up to {_MOST_COLUMNS:,}. Save it as .npy.",
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


def _read_first_record(text: IO[str], separator: str, label: str) -> list[str]:
    try:
        records = csv.reader(text, delimiter=separator, skipinitialspace=True)
        first = next((record for record in records if record), None)
    except csv.Error as error:
        raise InputError("not-a-table", f"{label} is not a table of text: {error}.") from None
    if first is None:
        raise InputError("no-rows", f"{label} is empty: it has no rows.")
    return first


def _are_numbers(cells: list[str]) -> bool:
    try:
        return all(np.isfinite(float(cell)) for cell in cells)
    except ValueError:
        return False
