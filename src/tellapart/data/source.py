"""A sample as the user has it, not yet numbers to compute with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from torch import Tensor

from .arrays import Array
from .images import Images, joined_range
from .sample import Kind, positions
from .tables import Table, counts_rows, listed

#: Rows below which increasing numbers may be chance.
_COUNTED = 8


@dataclass(frozen=True, eq=False)
class Rows:
    """Plain numbers, one row for each point; NaN where a value is missing."""

    values: Array
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Array) -> Rows:
        """Some of the rows."""
        return replace(self, values=self.values[rows])

    def row(self, i: int) -> Array:
        """The numbers of row ``i``."""
        return np.array(self.values[i])


@dataclass(frozen=True, eq=False)
class Source:
    """A sample as the user has it: a table, images or plain rows of numbers. `open_source` makes it.

    It is also a `Display`: a `Sample` keeps its source as ``shown``.

    Attributes
    ----------
    content
        What was read.
    name
        What to call it in messages, such as the argument it came by.
    origin
        The file or folder it was read from, if any.
    numbers
        For each row its position in the user's data, counted from 0 (a header is not counted).
    files
        For each image of a folder its file, as seen from the folder.
    features
        What a function of the rows gave, where the features are to be compared instead of the rows.
    notes
        What was done on the way, for reports: rows dropped, columns left out.
    """

    content: Rows | Table | Images
    name: str = "X"
    origin: str = ""
    numbers: Array = field(default_factory=lambda: np.arange(0))
    files: tuple[str, ...] | None = None
    features: Tensor | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.numbers) != len(self.content):
            object.__setattr__(self, "numbers", np.arange(len(self.content)))

    def __len__(self) -> int:
        return len(self.content)

    @property
    def kind(self) -> Kind:
        """What the rows are."""
        return "table" if isinstance(self.content, Table) else "images" if isinstance(self.content, Images) else "rows"

    @property
    def label(self) -> str:
        """The name and the file, for messages."""
        return f"{self.name} ({self.origin})" if self.origin else self.name

    @property
    def columns(self) -> tuple[str, ...]:
        """What the user calls the columns (by position where they have no names); empty for images."""
        if isinstance(self.content, Images):
            return ()
        if isinstance(self.content, Rows) and self.content.names is None:
            return tuple(str(k) for k in range(self.content.values.shape[1]))
        return self.content.names or ()

    def take(self, rows: Any) -> Source:
        """Some of the rows, by position or by a mask."""
        index = positions(rows, len(self))
        return replace(
            self,
            content=self.content.take(index),
            numbers=self.numbers[index],
            files=None if self.files is None else tuple(self.files[k] for k in index),
            features=None if self.features is None else self.features[index],
        )

    def row(self, i: int) -> list[str] | Array:
        """Row ``i``, to be shown: strings for a table, uint8 for an image, else the numbers as they came."""
        return self.content.row(i)

    def where(self, i: int) -> str:
        """Where row ``i`` came from: ``"row 17"``, or the file of an image."""
        return f"row {self.numbers[i]}" if self.files is None else self.files[i]


def match(x: Source, y: Source) -> tuple[Source, Source]:
    """Two sources that can be compared.

    Tables get the same columns, matched by name, in the order of the first; a table of numbers can be compared with
    plain rows by position. Grey images are made coloured if the others are, and both get one meaning of white.

    Examples
    --------
    >>> from tellapart.data import open_source
    >>> import pandas as pd
    >>> x = open_source(pd.DataFrame({"age": [30, 40], "town": ["Ulm", "Bonn"]}), "X")
    >>> y = open_source(pd.DataFrame({"town": ["Ulm", "Ulm"], "age": [50, 60]}), "Y")
    >>> match(x, y)[1].columns
    ('age', 'town')
    """
    if (x.features is None) != (y.features is None):
        with_, without = (x, y) if y.features is None else (y, x)
        raise ValueError(f"{with_.label} was opened with features= and {without.label} without. Give both the same.")
    if x.features is not None and y.features is not None:
        return _match_features(x, y, x.features, y.features)
    a, b = x.content, y.content
    if isinstance(a, Table) and isinstance(b, Table):
        return _match_tables(x, y, a, b)
    if isinstance(a, Images) and isinstance(b, Images):
        return _match_images(x, y, a, b)
    if not isinstance(a, Images) and not isinstance(b, Images):
        return _match_rows(x, y)
    images, other = (x, y) if isinstance(a, Images) else (y, x)
    shape = images.content.shape if isinstance(images.content, Images) else ()
    raise ValueError(
        f"{images.label} holds images of {_sides(shape)} and {other.label} a {_kind_name(other)}, which cannot be "
        f"compared. If its rows are the pixels of images, open it with image_shape={shape}."
    )


def _match_features(x: Source, y: Source, a: Tensor, b: Tensor) -> tuple[Source, Source]:
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"features= gave {a.shape[1]} numbers for each row of {x.label}, but {b.shape[1]} for {y.label}."
        )
    if isinstance(x.content, Images) and isinstance(y.content, Images):
        ranges = [(images.low, images.high) for images in (x.content, y.content)]
        if ranges[0] != ranges[1]:
            raise ValueError(
                f"The pixels of {x.label} were taken to lie in {list(ranges[0])} and those of {y.label} in "
                f"{list(ranges[1])}, so features= saw them at different brightness. Bring both to uint8, or to [0, 1]."
            )
    return x, y


def _match_rows(x: Source, y: Source) -> tuple[Source, Source]:
    """Rows with rows, or with a table of numbers."""
    matched = []
    for source in (x, y):
        content = source.content
        if isinstance(content, Table):
            values = content.matrix()
            if values is None:
                other = y if source is x else x
                raise ValueError(
                    f"{source.label} is a table with columns that are no numbers, and {other.label} an array. "
                    "Give two tables, or two arrays."
                )
            content = Rows(values, content.names)
        matched.append(replace(source, content=content))
    x, y = matched
    if len(x.columns) != len(y.columns):
        raise ValueError(
            f"{x.label} has {len(x.columns)} coordinates and {y.label} has {len(y.columns)}. Give both the same."
        )
    names = next((s.content.names for s in (x, y) if isinstance(s.content, Rows) and s.content.names is not None), None)
    first, second = (replace(s, content=replace(s.content, names=names)) for s in (x, y) if isinstance(s.content, Rows))
    return first, second


def _match_tables(x: Source, y: Source, a: Table, b: Table) -> tuple[Source, Source]:
    lacks = []
    for source, names, others in ((x, a.names, b.names), (y, b.names, a.names)):
        missing = [name for name in others if name not in names]
        if missing:
            lacks.append(f"{source.label} lacks {listed(missing)}")
    if lacks:
        raise ValueError(
            f"{x.label} and {y.label} must have the same columns, but {' and '.join(lacks)}. "
            "Rename columns, or leave some out with columns= or drop=."
        )
    by_name = {column.name: column for column in b.columns}
    firsts, seconds, differ = [], [], []
    for first in a.columns:
        second = by_name[first.name]
        # A column without any value has no type of its own, and yes and no are numbers where the other has numbers.
        if first.kind != second.kind:
            if first.missing.all() or (first.kind, second.kind) == ("boolean", "number"):
                first = first.as_kind(second.kind)
            elif second.missing.all() or (first.kind, second.kind) == ("number", "boolean"):
                second = second.as_kind(first.kind)
            else:
                differ.append(f"{first.name!r} ({_example(first)} and {_example(second)})")
        firsts.append(first)
        seconds.append(second)
    if differ:
        raise ValueError(
            f"{x.label} and {y.label} have columns of different types: {', '.join(differ[:5])}"
            f"{', …' if len(differ) > 5 else ''}. Mend these values, or leave the columns out with drop=."
        )
    counters = [
        f"The column {first.name!r} counts the rows. If it has no meaning, leave it out with drop=."
        for first, second in zip(firsts, seconds, strict=True)
        if min(len(x), len(y)) >= _COUNTED
        and all(c.kind == "number" and counts_rows(c.values) for c in (first, second))
    ]
    x = replace(x, content=Table(tuple(firsts)), notes=_with(x.notes, *counters))
    return x, replace(y, content=Table(tuple(seconds)))


def _match_images(x: Source, y: Source, a: Images, b: Images) -> tuple[Source, Source]:
    if a.shape[:2] != b.shape[:2]:
        raise ValueError(
            f"{x.label} has images of {_sides(a.shape[:2])} and {y.label} of {_sides(b.shape[:2])}. "
            f"Open both with image_size={a.shape[:2]} to bring them to one size."
        )
    if len(a.shape) != len(b.shape):
        grey, note = (
            (x if len(a.shape) < len(b.shape) else y),
            "Its images are grey and are compared as coloured ones.",
        )
        x, y = (replace(s, notes=_with(s.notes, note)) if s is grey else s for s in (x, y))
        a, b = a.in_colour(), b.in_colour()
    a, b = joined_range(a, b)
    return replace(x, content=a), replace(y, content=b)


def _with(notes: tuple[str, ...], *more: str) -> tuple[str, ...]:
    """What is said once is not said again when sources are matched again."""
    return tuple(dict.fromkeys((*notes, *more)))


def _example(column: Any) -> str:
    """The kind of a column, with a value of it where that explains the kind."""
    i = int(np.flatnonzero(~column.missing)[0])
    return f"{column.kind} such as {column.cell(i)[:30]!r}"


def _sides(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _kind_name(source: Source) -> str:
    return "table" if source.kind == "table" else f"list of rows of {len(source.columns)} numbers"
