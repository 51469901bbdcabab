"""What a format is: a way to recognise data, to read them, and perhaps to leave their rows where they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, check_rows
from ..content import Images, TableContent
from ..lazy import Lazy
from ..limits import check_memory
from ..options import ReadOptions
from ..sampling import choose_rows
from ..source import make_label
from ..stores import Chunks

FEWER_ROWS = "Give {max_rows} to draw some of its rows."


@dataclass(frozen=True, eq=False)
class Request:
    """What is to be read.

    Attributes
    ----------
    data
        An object in memory, the name of a data set, or a `Path` at which something is.
    name
        What to call it in messages.
    options
        How to read it.
    origin
        The path as the user gave it.
    member
        Which array of a file with several.
    """

    data: Any
    name: str
    options: ReadOptions
    origin: str = ""
    member: str | None = None

    @property
    def label(self) -> str:
        """The name and the file, for messages."""
        return make_label(self.name, self.origin)

    def count_rows(self, total: int) -> int:
        """How many rows to read, of ``total`` rows."""
        return total if self.options.max_rows is None else min(total, self.options.max_rows)

    def choose_rows(self, total: int) -> Array:
        """Positions of the rows to read, of ``total`` rows. Ask for memory first: there may be claimed to be many."""
        return choose_rows(total, self.options.max_rows, self.options.seed)

    def check_memory(self, need: float, advice: str = FEWER_ROWS, **options: Any) -> None:
        """Raise if ``need`` bytes are more than may be taken."""
        options = options or {"max_rows": ...}
        check_memory(need, self.label, self.options.max_memory, advice, **options)


@dataclass(frozen=True, eq=False)
class Opened:
    """What was read, unchecked.

    Attributes
    ----------
    content
        A table, images, or an array with one row for each point.
    numbers
        For each row its position in the data; None if all rows are there, so that some may still be drawn.
    files
        For each image its file.
    notes
        What was done on the way.
    names
        The names of an array's columns.
    precision
        Significant bits of the type that an array was stored in; None for those of its type.
    total
        How many rows there are, where only some were read.
    """

    content: Array | TableContent | Images
    numbers: Array | None = None
    files: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    precision: int | None = None
    total: int | None = None


class Format:
    """A format, in memory or in files.

    A new one is a subclass in a file of its own, and an entry in `tellapart.data.formats.FORMATS`.
    """

    #: What it is called in messages.
    name: str
    #: Whether it has named columns, which may hold text.
    tabular = False

    def matches(self, data: Any) -> bool:
        """Whether ``data``, or what is at the path ``data``, is of this format."""
        raise NotImplementedError

    def open(self, request: Request) -> Opened:
        """Read the rows. Errors of a library that reads files need not be caught: `read` names the file."""
        raise NotImplementedError

    def open_lazy(self, request: Request) -> Lazy | None:
        """Rows that are read when they are used, or None where they must be read as a whole."""
        return None


class FileFormat(Format):
    """A format that is known by the end of a file's name."""

    suffixes: tuple[str, ...]

    def matches(self, data: Any) -> bool:
        """Whether this is the path of such a file."""
        return isinstance(data, Path) and data.name.lower().endswith(self.suffixes)


def read_chunks(chunks: SomeChunks, request: Request) -> Opened:
    """The rows wanted of an array that is stored in chunks."""
    check_rows(chunks.shape, request.label)
    rows, of_row = request.count_rows(chunks.shape[0]), float(math.prod(chunks.shape[1:]))
    request.check_memory(rows * of_row * max(8, chunks.dtype.itemsize))
    numbers = request.choose_rows(chunks.shape[0])
    return Opened(np.concatenate(list(chunks.take(numbers))), numbers, total=chunks.shape[0])


class SomeChunks(Chunks, Protocol):
    """Chunks of which some rows can be had without reading all."""

    def take(self, numbers: Array) -> Iterator[Array]:
        """The rows at these positions, which increase, some at a time."""


def take_from_blocks(blocks: Iterator[Array], numbers: Array) -> Iterator[Array]:
    """The rows at some positions, which increase, of all rows."""
    start = 0
    for block in blocks:
        first, last = np.searchsorted(numbers, (start, start + len(block)))
        yield block[numbers[first:last] - start]
        start += len(block)
