"""How the rows of two sources become numbers that a kernel can compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from .arrays import Array, float_type
from .columns import TableColumn
from .limits import check_memory
from .names import unique_names
from .sample import Kind, Sample, float_array, positions
from .scaling import Levels, Numbers, split_rows
from .spill import RowWriter

if TYPE_CHECKING:
    from .lazy import Lazy
    from .source import Source

#: Whether columns are brought to one scale: those of tables, always, or never.
Standardise: TypeAlias = Literal["auto"] | bool

#: Numbers that are encoded together.
_BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class Encoding:
    """How rows become numbers. It is fitted on rows of both samples together, and never told which is which.

    * Numbers, booleans (as 0 and 1) and dates (as days) get mean 0 and standard deviation 1 over the rows fitted;
      columns that are constant there become 0.
    * Text and categories get one coordinate for each of the 20 most common texts (``colour=red``), 1 or 0, and one for
      all others, also those not seen in the rows fitted (``colour=other``); scaled so that together they have variance
      1: a column of text counts about as much as a column of numbers.
    * What is missing (in sources opened with ``missing="indicator"``) becomes the mean, and a further coordinate
      ``age is missing`` that is 1 there and else 0. For text that is one more category.
    * Plain rows are treated as columns of numbers, and so are features.
    * Images are not standardised pixel by pixel: all pixels are scaled by one number to [0, 1]. A row of the result is
      the image of shape (h, w) or (h, w, 3), flattened.

    Attributes
    ----------
    names
        The names of the coordinates.
    columns
        For each coordinate the column it came from (images: the pixel).
    kind
        What the coordinates are.
    image_shape
        The shape of one image, where the coordinates are pixels.
    dtype
        float32 where it holds the data exactly, and for images; else float64.
    source_columns
        The columns that a source must have.
    pixel_range
        The values of black and white pixels.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    kind: Kind
    image_shape: tuple[int, ...] | None
    dtype: np.dtype[Any]
    source_columns: tuple[str, ...]
    parts: tuple[Numbers | Levels, ...]
    pixel_range: tuple[float, float] | None = None

    @classmethod
    def fit(
        cls,
        x: Source,
        y: Source,
        rows_x: Any = None,
        rows_y: Any = None,
        standardise: Standardise = "auto",
    ) -> Encoding:
        """Fit on some rows of both sources (by position or mask; default all).

        Parameters
        ----------
        x, y
            Sources that are aligned: the same columns, in the same order (see `match`).
        rows_x, rows_y
            The rows that may be learned from, such as the training half.
        standardise
            ``"auto"``: as above. True: pixels too get mean 0 and standard deviation 1. False: numbers stay as they are
            (pixels between 0 and 1), and texts become plain 0 and 1.

        Examples
        --------
        >>> from tellapart.data import read
        >>> import pandas as pd
        >>> x = read(pd.DataFrame({"age": [30, 40], "town": ["Ulm", "Bonn"]}), "X")
        >>> y = read(pd.DataFrame({"age": [50, 60], "town": ["Ulm", "Ulm"]}), "Y")
        >>> encoding = Encoding.fit(x, y)
        >>> encoding.names
        ('age', 'town=Bonn', 'town=Ulm')
        >>> encoding.encode(x).values.round(4)
        array([[-1.3416,  0.    ,  1.633 ],
               [-0.4472,  1.633 ,  0.    ]])
        """
        if standardise not in ("auto", True, False):
            raise InputError(
                "unknown-choice", f"standardise={standardise!r} is not known. Choose 'auto', True or False."
            )
        rows = tuple(_index(given, source) for given, source in ((rows_x, x), (rows_y, y)))
        if not len(rows[0]) + len(rows[1]):
            raise InputError("no-rows", "rows_x and rows_y are both empty: there is nothing to fit the encoding on.")
        return x.content.fit_encoding(y.content, (rows[0], rows[1]), standardise)

    def encode(self, source: Source) -> Sample:
        """The rows of a source as numbers.

        The sample has the source to show its rows by: ``sample.shown.row(i)``.
        """
        width = sum(part.width for part in self.parts)
        need = float(len(source)) * width * self.dtype.itemsize
        check_memory(
            need,
            f"Encoding {source.label} as {width} numbers a row",
            source.options.max_memory,
            "Read it with {max_rows} or {columns}.",
            max_rows=...,
            columns=...,
        )
        values = np.empty((len(source), width), self.dtype)
        for rows, write in self._blocks(source):
            write(values[rows])
        return Sample(
            values, self.names, kind=self.kind, columns=self.columns, image_shape=self.image_shape, shown=source
        )

    def encode_to_file(self, source: Source) -> Lazy:
        """The same numbers in a temporary file."""
        width = sum(part.width for part in self.parts)
        writer = RowWriter((len(source), width), self.dtype, source.label)
        for rows, write in self._blocks(source):
            block = np.empty((rows.stop - rows.start, width), self.dtype)
            write(block)
            writer.append(block)
        return writer.close()

    def _blocks(self, source: Source) -> Iterator[tuple[slice, Callable[[Array], None]]]:
        """Blocks of rows, each with a function that writes its numbers."""
        writers, width = self._writers(source), sum(part.width for part in self.parts)
        for rows in split_rows(np.arange(len(source)), max(1, _BLOCK // max(1, width))):

            def write_block(block: Array, rows: Array = rows) -> None:
                start = 0
                for part, write in zip(self.parts, writers, strict=True):
                    write(rows, block[:, start : start + part.width])
                    start += part.width

            yield slice(int(rows[0]), int(rows[-1]) + 1), write_block

    @classmethod
    def fit_columns(
        cls, tables: tuple[Sequence[TableColumn], Sequence[TableColumn]], rows: tuple[Array, Array], standardise: bool
    ) -> Encoding:
        """How the columns of two tables become numbers."""
        parts: list[Numbers | Levels] = []
        names, columns = [], []
        for first, second in zip(*tables, strict=True):
            if first.kind == "text":
                part: Numbers | Levels = Levels.fit((first, second), rows, standardise)
                new = part.names(first.name) if isinstance(part, Levels) else []
            else:
                gaps = np.arange(1 if first.missing.any() or second.missing.any() else 0)
                both = [column.values[index][:, None] for column, index in zip((first, second), rows, strict=True)]
                part = Numbers.fit(lambda both=both: iter(both), gaps, standardise)  # type: ignore[misc]
                new = [first.name, *([f"{first.name} is missing"] if len(gaps) else [])]
            parts.append(part)
            names += new
            columns += [first.name] * len(new)
        single = not standardise and all(c.single or c.kind == "text" for c in (*tables[0], *tables[1]))
        dtype = np.dtype(np.float32 if single else np.float64)
        sources = tuple(column.name for column in tables[0])
        return cls(unique_names(names), tuple(columns), "table", None, dtype, sources, tuple(parts))

    @classmethod
    def fit_matrices(
        cls, matrices: tuple[Array, Array], rows: tuple[Array, Array], columns: tuple[str, ...], standardise: bool
    ) -> Encoding:
        """How two matrices become numbers: they are these, and indicators of what is missing."""
        dtype = np.promote_types(*(float_type(matrix.dtype) for matrix in matrices))
        size = _rows_of_block(matrices)
        everything = chain.from_iterable((m[part] for part in split_rows(np.arange(len(m)), size)) for m in matrices)
        gaps = np.flatnonzero(np.logical_or.reduce([_find_gaps(block) for block in everything]))
        part = Numbers.fit(lambda: _blocks(matrices, rows), gaps, standardise)
        names = unique_names([*columns, *(f"{columns[k]} is missing" for k in gaps)])
        origins = (*columns, *(columns[k] for k in gaps))
        return cls(names, origins, "rows", None, dtype, columns, (part,))

    @classmethod
    def fit_pixels(
        cls,
        names: tuple[str, ...],
        pixels: tuple[str, ...],
        shape: tuple[int, ...],
        white: tuple[float, float],
        standardised: tuple[tuple[Array, Array], tuple[Array, Array]] | None,
    ) -> Encoding:
        """How images become numbers: by one scale, or standardised pixel by pixel on some rows of two arrays."""
        if standardised is not None:
            part = Numbers.fit(lambda: _blocks(*standardised), np.arange(0), True)
        else:
            ones = np.ones(len(names))
            part = Numbers(ones * white[0], ones / (white[1] - white[0]), ones * 0, np.arange(0))
        return cls(names, pixels, "images", shape, np.dtype(np.float32), (), (part,), white)

    def _writers(self, source: Source) -> list[Callable[[Array, Array], None]]:
        """For each part a function that writes the coordinates of some rows."""
        if self.kind == "table":
            by_name = {column.name: column for column in source.content.columns}
            for name, part in zip(self.source_columns, self.parts, strict=True):
                column = by_name.get(name)
                if column is None:
                    raise InputError(
                        "columns-differ", f"{source.label} lacks the column {name!r} that the encoding was fitted on."
                    )
                if (column.kind == "text") != isinstance(part, Levels) and not column.missing.all():
                    raise InputError(
                        "column-types-differ",
                        f"{source.label} has {column.kind} in {name!r}, unlike the rows the encoding was fitted on.",
                    )
            return [
                self._column_writer(part, by_name[n]) for part, n in zip(self.parts, self.source_columns, strict=True)
            ]
        matrix, numbers = source.content.numbers(self, source.label), self.parts[0]
        right = matrix.shape[1:] == (self.image_shape or (len(self.source_columns),))
        if not right or not isinstance(numbers, Numbers):
            raise InputError(
                "shapes-differ", f"{source.label} does not have rows of the shape that the encoding was fitted on."
            )
        return [lambda rows, out: numbers.write(matrix[rows].reshape(len(rows), -1), out)]

    @staticmethod
    def _column_writer(part: Numbers | Levels, column: Any) -> Callable[[Array, Array], None]:
        if isinstance(part, Numbers):
            numbers = column if column.kind != "text" else column.as_kind("number")
            # Of a column in a file, values are asked for block by block, so that it is not in memory.
            return lambda rows, out: part.write(numbers.values[rows][:, None], out)
        column = column if column.kind == "text" else column.as_kind("text")
        lookup = part.lookup(column)
        return lambda rows, out: part.write(lookup[column.values[rows]], out)


def _index(given: Any, source: Source) -> Array:
    return np.arange(len(source)) if given is None else positions(given, len(source))


def _blocks(matrices: tuple[Array, Array], rows: tuple[Array, Array]) -> Iterator[Array]:
    """Some rows of two arrays, flattened, some at a time."""
    size = _rows_of_block(matrices)
    parts = ((matrix, part) for matrix, index in zip(matrices, rows, strict=True) for part in split_rows(index, size))
    return (matrix[part].reshape(len(part), -1) for matrix, part in parts)


def _rows_of_block(matrices: tuple[Array, Array]) -> int:
    return max(1, _BLOCK // max(1, matrices[0][:1].size))


def _find_gaps(block: Array) -> Array:
    if block.dtype.kind != "f":
        return np.zeros(block.shape[1], bool)
    found: Array = np.logical_or.reduce(np.isnan(block), axis=0)
    return found


def encode_pair(x: Source, y: Source, standardise: Standardise) -> tuple[Sample, Sample]:
    """Samples of two matched sources; see `as_pair` for ``standardise``."""
    scaled = standardise is True or (standardise == "auto" and (x.content.tabular or y.content.tabular))
    if scaled or any(source.content.needs_encoding(source.options.missing) for source in (x, y)):
        encoding = Encoding.fit(x, y, standardise=scaled)
        return encoding.encode(x), encoding.encode(y)
    return _as_given(x, y), _as_given(y, x)


def encode_numbers(source: Source) -> Sample:
    """The sample of a single source, whose columns must be numbers: there is no second one to agree on texts with."""
    texts = [f"{column.name!r} (text)" for column in source.content.columns if column.kind == "text"]
    if texts:
        raise InputTypeError(
            "not-numbers",
            f"{source.label} has columns that do not hold numbers: {', '.join(texts[:5])}"
            f"{', …' if len(texts) > 5 else ''}.",
            "Encode text as numbers, or leave these columns out with {drop}.",
            drop=...,
        )
    return encode_pair(source, source, False)[0]


def _as_given(source: Source, other: Source) -> Sample:
    """Numbers as they came, with axes in one order with those of the other sample."""
    given = source.content.as_given(other.content)
    values = float_array(given.values, source.label)
    columns = given.names if given.kind == "table" else None
    return Sample(values, given.names, False, given.kind, columns, given.image_shape, source, str(given.values.dtype))
