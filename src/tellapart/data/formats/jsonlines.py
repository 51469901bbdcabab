"""JSON lines: one object on each line, whose keys are the columns. Also gzipped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np

from ..._util.errors import InputError
from ..._util.extras import extra
from ..arrays import Array, check_whole
from ..sampling import sample_stream
from .base import FileFormat, Opened, Request
from .frames import open_frame, table_from_frame
from .text import LATIN_NOTE, LONGEST_LINE, measure_text, open_bytes, read_head

#: Memory that a byte of JSON takes while it is read (as measured).
_BYTES_PER_BYTE = 4
#: Memory that a cell takes: each row has all columns, whatever its own keys are.
_BYTES_PER_CELL = 24
#: Lines that are read together where only some are wanted, and bytes of them.
_LINES, _BATCH = 10_000, 2**23
#: A key without a backslash, and any key (or text before a colon).
_KEY, _ANY_KEY = re.compile(rb'"([^"]*)"\s*:'), re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:', re.DOTALL)


class JSONLines(FileFormat):
    """Files with one JSON object on each line; a key that a line lacks is missing there."""

    name = ".jsonl, .ndjson (also .gz)"
    suffixes = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
    tabular = True

    def open(self, request: Request) -> Opened:
        """Read the rows and columns wanted."""
        arrow = extra("pyarrow", group="tables", what="Reading JSON lines")
        reader = extra("pyarrow.json", group="tables", what="Reading JSON lines")
        lines, numbers, total = _read_lines(request)
        text, notes = b"\n".join(lines), ()
        _, encoding = read_head(request.data, request.label)
        if encoding == "utf-8-sig":
            text = text.removeprefix(b"\xef\xbb\xbf")
            try:
                text.decode()
            except UnicodeDecodeError:
                encoding = "latin-1"
        if encoding in ("utf-16", "utf-32"):
            raise InputError("wrong-encoding", f"{request.label} is not UTF-8 text. Save it as UTF-8.")
        if encoding == "latin-1":
            text, notes = text.decode("latin-1").encode(), (LATIN_NOTE,)  # type: ignore[assignment]
        # pyarrow crashes on lines that are null.
        odd = next((k for k, line in enumerate(lines) if not line.removeprefix(b"\xef\xbb\xbf").startswith(b"{")), None)
        if odd is not None:
            raise InputError(
                "not-a-table", f"{request.label} is not a table of JSON lines: row {numbers[odd]} is not an object."
            )
        if not lines:
            raise InputError("no-rows", f"{request.label} is empty: it has no rows.")
        keys = len(set((_ANY_KEY if b"\\" in text else _KEY).findall(text)))
        request.check_memory(_BYTES_PER_CELL * len(lines) * keys)
        # In one piece, so that a complaint counts the rows from the first.
        block = reader.ReadOptions(use_threads=False, block_size=min(max(len(text) + 1, 2**16), 2**31 - 1))
        try:
            found = reader.read_json(arrow.BufferReader(text), read_options=block)
        except arrow.ArrowInvalid as error:
            raise InputError(
                "not-a-table", f"{request.label} is not a table of JSON lines: {_explain(error, numbers)}."
            ) from None
        if len(found) != len(lines):
            raise InputError(
                "not-a-table", f"{request.label} is not a table of JSON lines: {_find_odd_line(lines, numbers)}."
            )
        frame = open_frame(found, request.label, request.options.columns, request.options.drop)
        table = table_from_frame(frame, request.label)
        for column in table.columns:
            if column.kind == "number" and np.nanmax(np.abs(column.values), initial=0.0) >= 2**53:
                _check_large(text, column.name, request.label)
        return Opened(table, numbers, notes=notes, total=total)


def _read_lines(request: Request) -> tuple[list[bytes], Array, int]:
    """The lines wanted that are not empty, their positions among these, and how many these are."""
    max_rows = request.options.max_rows
    if max_rows is None:
        measure_text(request, _BYTES_PER_BYTE)
        lines = [line for batch in _iterate_lines(request) for line in batch]
        return lines, np.arange(len(lines)), len(lines)

    def check(held: list[list[bytes]]) -> None:
        size = sum(len(line) for batch in held for line in batch)
        request.check_memory(_BYTES_PER_BYTE * size, "Give a smaller {max_rows}.", max_rows=...)

    pieces, numbers, total = sample_stream(
        _iterate_lines(request), max_rows, request.options.seed, lambda lines, rows: [lines[k] for k in rows], check
    )
    return [line for piece in pieces for line in piece], numbers, total


def _iterate_lines(request: Request) -> Iterator[list[bytes]]:
    """Lines that are not empty, some at a time: up to so many, and up to so many bytes."""
    with open_bytes(request.data) as file:
        held: list[bytes] = []
        size = 0
        while line := file.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise InputError(
                    "line-too-long",
                    f"{request.label} is not a table of JSON lines: one line is longer than {LONGEST_LINE:,} bytes.",
                )
            size += len(line)
            if line := line.strip():
                held.append(line)
            if len(held) == _LINES or size > _BATCH:
                yield held
                held, size = [], 0
        yield held


def _find_odd_line(lines: list[bytes], numbers: Array) -> str:
    """Which line is not one object."""
    for number, line in zip(numbers, lines, strict=True):
        try:
            json.loads(line)
        except ValueError as error:
            several = "Extra data" in str(error)
            return f"row {number} {'has several objects on one line' if several else 'is not one object'}"
    return "some lines are not one object each"


def _check_large(text: bytes, name: str, label: str) -> None:
    """Raise `InputError` for whole numbers that pyarrow has made floats of, and made the same."""
    rows = (json.loads(line).get(name) for line in text.split(b"\n"))
    check_whole((value for value in rows if isinstance(value, int)), f"{label}: column {name!r}")


def _explain(error: Exception, numbers: Array) -> str:
    """What pyarrow says, with rows as the user counts them.

    >>> _explain(ValueError("JSON parse error: Column(/age) changed from number to string in row 1"), np.array([3, 17]))
    "column 'age' changed from number to string in row 17"
    """
    reason = str(error).splitlines()[0].removeprefix("JSON parse error: ").rstrip(".")
    reason = re.sub(r"^Column\(/(.*?)\)", lambda match: f"column {match[1]!r}", reason)
    return re.sub(r"in row (\d+)$", lambda match: f"in row {numbers[min(int(match[1]), len(numbers) - 1)]}", reason)
