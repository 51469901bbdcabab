"""Text files, plain or gzipped, in UTF-8 or what else they may be in."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path
from typing import IO, Any

from ..._util.errors import InputError
from .base import Request

HEAD = 2**20
_CHUNK = 2**20
_LONGEST_LINE = 2**24

LATIN_NOTE = "It is not UTF-8 text and was read as Latin-1."
_FEWER = "Give {max_rows} to draw some of its rows or {columns} to take fewer columns, or convert it to .parquet."


def is_zipped(path: Path) -> bool:
    """Whether the file is gzipped, by its name."""
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> IO[bytes]:
    """The file, unzipped where it is zipped."""
    return gzip.open(path, "rb") if is_zipped(path) else path.open("rb")  # type: ignore[return-value]


def find_encoding(path: Path, label: str) -> str:
    """The encoding that the beginning of a file is in: UTF-8, UTF-16 by its mark, or Latin-1, which anything can be."""
    with open_bytes(path) as file:
        start = file.read(HEAD)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in start:
        raise InputError(f"{label} is not a text file: it has a zero byte.")
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def read_head(path: Path, encoding: str, label: str) -> str:
    """The first part of a text file: a megabyte, or more where the first line takes more."""
    with open_bytes(path) as file:
        start = file.read(HEAD)
        while b"\n" not in start and (more := file.read(HEAD)):
            start += more
            if len(start) > _LONGEST_LINE:
                raise InputError(f"{label} is not a table: its first line is longer than {_LONGEST_LINE:,} bytes.")
    return codecs.getincrementaldecoder(encoding)().decode(start)


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
