"""Text files, plain or gzipped, in UTF-8 or what else they may be in."""

from __future__ import annotations

import codecs
import gzip
import io
import math
from pathlib import Path
from typing import IO, Any

from ..._util.errors import InputError, InputMemoryError, Note
from ..limits import format_bytes
from .base import Request

HEAD = 2**20
_CHUNK = 2**20
LONGEST_LINE = 2**24

LATIN_NOTE = Note("wrong-encoding", "It is not UTF-8 text and was read as Latin-1.")
_FEWER = "Give {max_rows} to draw some of its rows or {columns} to take fewer columns, or convert it to .parquet."


def is_zipped(path: Path) -> bool:
    """Whether the file is gzipped, by its name."""
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> IO[bytes]:
    """The file, unzipped where it is zipped."""
    return gzip.open(path, "rb") if is_zipped(path) else path.open("rb")  # type: ignore[return-value]


class BoundedStream(io.RawIOBase):
    """A stream of text that raises `InputError` at a line that is too long.

    A gzipped file of a few megabytes may hold a line of gigabytes. Where rows are read in portions, ``most`` is the
    number of bytes that one portion may take, however many rows it has.
    """

    def __init__(self, file: IO[bytes], label: str, most: float = math.inf) -> None:
        self._file, self._most, self._label = file, most, label
        self._count = self._line = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        count = int(self._file.readinto(buffer))  # type: ignore[attr-defined]
        piece = bytes(buffer[:count])
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        self._line = count - end - 1 if end >= 0 else self._line + count
        if self._line > LONGEST_LINE:
            raise InputError(
                "line-too-long", f"{self._label} is not a table: it has a line longer than {LONGEST_LINE:,} bytes."
            )
        self._count += count
        if self._count > self._most:
            raise InputMemoryError(
                "not-enough-memory",
                f"{self._label} has rows that are too long: some of them take more than {format_bytes(self._most)}.",
                "Give a larger {max_memory}, or convert it to .parquet.",
                max_memory=...,
            )
        return count

    def start_portion(self) -> None:
        """Count from 0 again."""
        self._count = 0


def read_head(path: Path, label: str) -> tuple[bytes, str]:
    """The first part of a text file, and its encoding: a megabyte, or more where the first line is longer."""
    with open_bytes(path) as file:
        start = file.read(HEAD)
        encoding = find_encoding(start, label)
        while b"\n" not in start and (more := file.read(HEAD)):
            start += more
            if len(start) > LONGEST_LINE:
                raise InputError(
                    "line-too-long", f"{label} is not a table: its first line is longer than {LONGEST_LINE:,} bytes."
                )
    return start, encoding


def find_encoding(start: bytes, label: str) -> str:
    """The encoding of a file, by its first part: UTF-8, or UTF-16 or UTF-32 by its mark, else Latin-1."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in start:
        raise InputError("not-text", f"{label} is not a text file: it has a zero byte.")
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def decode_head(start: bytes, encoding: str) -> str:
    """The text of the first part of a file, without a character that is cut off at its end."""
    return codecs.getincrementaldecoder(encoding)().decode(start)


def text_size(path: Path) -> int:
    """About how many bytes of text a file has: zipped, numbers take about half as much."""
    return int(path.stat().st_size) * (2 if is_zipped(path) else 1)


def count_lines(path: Path) -> int:
    """How many ends of lines a text has, and so how many rows at most, less one."""
    count = 0
    with open_bytes(path) as file:
        while chunk := file.read(_CHUNK):
            count += chunk.count(b"\n") + chunk.count(b"\r")
    return count


def measure_text(request: Request, overhead: float, **advice: Any) -> int:
    """Bytes of text in the file, once it is known that they fit into memory; ``overhead`` is how much each byte takes.

    A gzipped file tells its size only when it is unzipped, and may be much larger than it looks.
    """
    path = request.data
    if not is_zipped(path):
        size = int(path.stat().st_size)
        request.check_memory(size * overhead, _FEWER, max_rows=..., columns=...)
        return size
    size = 0
    with open_bytes(path) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            request.check_memory(size * overhead, _FEWER, max_rows=..., columns=...)
    return size
