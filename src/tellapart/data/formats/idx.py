"""The idx format of MNIST, plain or gzipped."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._util.errors import InputError
from ..arrays import Array, check_rows
from ..options import ReadOptions
from ..stores import Plain
from .base import Format, Opened, Request
from .npy import floats_need

_NAME = re.compile(r"(^|.*[.-])idx\d?(-\w+)?(\.gz)?", re.IGNORECASE)
_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


class Idx(Format):
    """Files such as train-images-idx3-ubyte.gz."""

    name = "idx"

    def matches(self, data: Any) -> bool:
        """Whether the name is that of an idx file."""
        return isinstance(data, Path) and _NAME.fullmatch(data.name) is not None

    def open(self, request: Request) -> Opened:
        """Read the rows wanted; of a gzipped file all."""
        path, label = request.data, request.label
        zipped = path.suffix.lower() == ".gz"
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            header = _read_header(file, label)
            check_rows(header.shape, label)
            short = InputError(
                "truncated-file", f"{label} is cut short: its shape {header.shape} needs {header.nbytes} bytes."
            )
            if not zipped and path.stat().st_size < header.start + header.nbytes:
                raise short
            rows = header.shape[0] if zipped else request.count_rows(header.shape[0])
            request.check_memory(floats_need(header.shape, header.dtype, rows))
            if not zipped:
                numbers = request.choose_rows(header.shape[0])
                return Opened(
                    Plain(path, label, header.start, header.dtype, header.shape).rows(numbers),
                    numbers,
                    total=header.shape[0],
                )
            content = file.read(header.nbytes)
            # Only at its end a gzipped file tells whether it is whole.
            if len(content) < header.nbytes:
                raise short
            if file.read(1):
                raise InputError(
                    "damaged-file", f"{label} is damaged: it has more bytes than its shape {header.shape} needs."
                )
            return Opened(np.frombuffer(content, header.dtype).reshape(header.shape))


def read_idx(path: Path, name: str) -> Array:
    """The whole array of an idx file."""
    found = Idx().open(Request(path, name, ReadOptions())).content
    assert isinstance(found, np.ndarray)
    return found


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def _read_header(file: Any, label: str) -> _Header:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _TYPES or magic[3] == 0:
        raise InputError("wrong-file-kind", f"{label} is not an idx file: it starts with {magic!r}.")
    sides = file.read(4 * magic[3])
    if len(sides) < 4 * magic[3]:
        raise InputError("truncated-file", f"{label} is cut short: its header is not whole.")
    shape = tuple(int(side) for side in np.frombuffer(sides, ">u4"))
    return _Header(shape, np.dtype(_TYPES[magic[2]]), 4 + 4 * magic[3])
