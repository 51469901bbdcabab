"""JSON lines: one object on each line, whose keys are the columns. Also gzipped."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..._util.errors import InputError
from ..._util.extras import extra
from ..arrays import Array
from ..frames import open_frame, table_from_frame
from ..sampling import sample_stream
from .base import FileFormat, Opened, Request
from .text import LATIN_NOTE, find_encoding, measure_text, open_bytes

#: Memory that a byte of JSON takes while it is read (as measured).
_BYTES_PER_BYTE = 4
#: Lines that are read together where only some are wanted.
_LINES = 10_000


class JSONLines(FileFormat):
    """Files with one JSON object on each line; a key that a line lacks is missing there."""

    name = ".jsonl, .ndjson (also .gz)"
    suffixes = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
    tabular = True

    def open(self, request: Request) -> Opened:
        """Read the rows and columns wanted."""
        arrow = extra("pyarrow", group="tables", what="Reading JSON lines")
        reader = extra("pyarrow.json", group="tables", what="Reading JSON lines")
        lines, numbers = _read_lines(request)
        text, notes = b"\n".join(lines), ()
        encoding = find_encoding(request.data, request.label)
        if encoding == "utf-8-sig":
            text = text.removeprefix(b"\xef\xbb\xbf")
            try:
                text.decode()
            except UnicodeDecodeError:
                encoding = "latin-1"
        if encoding == "utf-16":
            raise InputError(f"{request.label} is not UTF-8 text. Save it as UTF-8.")
        if encoding == "latin-1":
            text, notes = text.decode("latin-1").encode(), (LATIN_NOTE,)  # type: ignore[assignment]
        # pyarrow crashes on lines that are null.
        odd = next((k for k, line in enumerate(lines) if not line.removeprefix(b"\xef\xbb\xbf").startswith(b"{")), None)
        if odd is not None:
            raise InputError(f"{request.label} is not a table of JSON lines: row {numbers[odd]} is not an object.")
        if not lines:
            raise InputError(f"{request.label} is empty: it has no rows.")
        # In one piece, so that a complaint counts the rows from the first.
        block = reader.ReadOptions(use_threads=False, block_size=min(max(len(text) + 1, 2**16), 2**31 - 1))
        try:
            found = reader.read_json(arrow.BufferReader(text), read_options=block)
        except arrow.ArrowInvalid as error:
            raise InputError(f"{request.label} is not a table of JSON lines: {_explain(error, numbers)}.") from None
        frame = open_frame(found, request.label, request.options.columns, request.options.drop)
        return Opened(table_from_frame(frame, request.label), numbers, notes=notes)


def _read_lines(request: Request) -> tuple[list[bytes], Array]:
    """The lines wanted that are not empty, and their positions among these."""
    max_rows = request.options.max_rows
    if max_rows is None:
        measure_text(request, _BYTES_PER_BYTE)
        lines = [line for batch in _iterate_lines(request) for line in batch]
        return lines, np.arange(len(lines))
    pieces, numbers = sample_stream(
        _iterate_lines(request), max_rows, request.options.seed, lambda lines, rows: [lines[k] for k in rows]
    )
    return [line for piece in pieces for line in piece], numbers


def _iterate_lines(request: Request) -> Iterator[list[bytes]]:
    with open_bytes(request.data) as file:
        held: list[bytes] = []
        for line in file:
            if line := line.strip():
                held.append(line)
            if len(held) == _LINES:
                yield held
                held = []
        yield held


def _explain(error: Exception, numbers: Array) -> str:
    """What pyarrow says, with rows as the user counts them.

    >>> _explain(ValueError("JSON parse error: Column(/age) changed from number to string in row 1"), np.array([3, 17]))
    "column 'age' changed from number to string in row 17"
    """
    reason = str(error).splitlines()[0].removeprefix("JSON parse error: ").rstrip(".")
    reason = re.sub(r"^Column\(/(.*?)\)", lambda match: f"column {match[1]!r}", reason)
    return re.sub(r"in row (\d+)$", lambda match: f"in row {numbers[min(int(match[1]), len(numbers) - 1)]}", reason)
