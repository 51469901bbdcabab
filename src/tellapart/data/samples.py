"""Samples as rows of numbers, and what each number of a row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from .._util.text import shorten
from .arrays import Array
from .columns import ColumnKind
from .content.images import looks_like_images, pixel_names
from .encoding import Encoding
from .lazy import Points
from .notices import Notice
from .sample import Kind, Sample
from .scaling import LONGEST_NAME, Levels
from .source import Source

#: ``"occurrence"``: whether something occurs in a text, as 1 and 0.
VariableKind: TypeAlias = ColumnKind | Literal["missing", "pixel", "occurrence"]


@dataclass(frozen=True)
class Variable:
    """A column as a user knows it.

    Attributes
    ----------
    name, kind
        What it is called, and what it holds: ``"text"`` for categories, ``"missing"`` for whether another is missing.
    coordinates
        Its positions in a row of numbers: one, or one for each of ``levels``.
    levels
        The categories.
    gap
        Of numbers: the position of the indicator of missing values, if there is one.
    missing_level
        Of categories: the position of the one that stands for missing values, if there is one.
    """

    name: str
    kind: VariableKind
    coordinates: tuple[int, ...]
    levels: tuple[str, ...] = ()
    gap: int | None = None
    missing_level: int | None = None

    def tells_missing(self, coordinate: int) -> bool:
        """Whether the number there is an indicator of missing values."""
        return self.kind == "missing" or coordinate == self.missing_level


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one kind, as rows of numbers.

    Attributes
    ----------
    points
        Each sample, in memory or in its file.
    variables
        What the numbers of a row are.
    image_shape
        (h, w), (h, w, 3) or (3, h, w), where they are pixels.
    numbers
        For each sample the positions of its rows in the user's data; None for all rows.
    names
        What to call the samples.
    notes
        What was done to the data on the way.
    kind
        What they were: a table, images or rows of numbers.
    labels
        Groups, strata, items: for each sample those of its rows; None where there are none.
    notices
        What is seen of columns without a test.
    encoded, sources, encoding
        Each sample by itself, what it was made of, and how; empty and None where rows were numbers already.
    """

    points: tuple[Points, ...]
    variables: tuple[Variable, ...]
    image_shape: tuple[int, ...] | None
    numbers: tuple[Array | None, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    kind: Kind = "rows"
    labels: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    encoded: tuple[Sample, ...] = ()
    sources: tuple[Source, ...] = ()
    encoding: Encoding | None = None

    def choose(self, places: Sequence[int]) -> Samples:
        """Some of the samples."""

        def some(values: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(values[place] for place in places) if len(values) == len(self.points) else ()

        return replace(
            self,
            points=some(self.points),
            names=some(self.names),
            numbers=some(self.numbers),
            encoded=some(self.encoded),
            sources=some(self.sources),
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many rows each sample has."""
        return tuple(len(part) for part in self.points)

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return sum(len(variable.coordinates) for variable in self.variables)


def plain_variables(points: Points, names: tuple[str, ...] | None = None) -> tuple[Variable, ...]:
    """What the numbers of a row are that came as numbers: columns, or the pixels of an image."""
    shape = tuple(points.shape[1:])
    if not looks_like_images(shape):
        known = names or tuple(map(str, range(int(np.prod(shape)))))
        return tuple(Variable(name, "number", (k,)) for k, name in enumerate(known))
    sides = shape if len(shape) == 2 or shape[2] in (1, 3) else (*shape[1:], shape[0])
    found = np.array(pixel_names(sides if sides[-1] != 1 or len(sides) == 2 else sides[:2])[0], object).reshape(sides)
    if len(shape) == 3 and sides != shape:
        found = np.moveaxis(found, -1, 0)
    return tuple(Variable(name, "pixel", (k,)) for k, name in enumerate(found.reshape(-1).tolist()))


def encoded_variables(encoding: Encoding, kinds: Mapping[str, Any]) -> tuple[Variable, ...]:
    """What the numbers of an encoded row are; ``kinds`` are those of columns that may hold something else than numbers.

    >>> import pandas as pd
    >>> from tellapart.data import read
    >>> source = read(pd.DataFrame({"age": [30.0, 40.0], "town": ["Ulm", "Bonn"]}))
    >>> found = encoded_variables(Encoding.fit(source, source), {"age": "number", "town": "text"})
    >>> [(variable.name, variable.kind, variable.coordinates) for variable in found]
    [('age', 'number', (0,)), ('town', 'text', (1, 2))]
    """
    if encoding.kind == "images":
        return tuple(Variable(name, "pixel", (k,)) for k, name in enumerate(encoding.names))
    if encoding.kind == "rows":
        width = len(encoding.source_columns)
        gaps = {int(k): width + i for i, k in enumerate(getattr(encoding.parts[0], "gaps", ()))}
        names = enumerate(encoding.source_columns)
        numbers = (Variable(name, kinds.get(name, "number"), (k,), gap=gaps.get(k)) for k, name in names)
        return (*numbers, *(Variable(encoding.names[at], "missing", (at,)) for at in gaps.values()))
    found: list[Variable] = []
    start = 0
    for name, part in zip(encoding.source_columns, encoding.parts, strict=True):
        places = tuple(range(start, start + part.width))
        start += part.width
        if isinstance(part, Levels):
            texts = (shorten(level, LONGEST_NAME) for level in part.levels)
            levels = (*texts, *["other"] * part.other, *["missing"] * part.missing)
            found.append(Variable(name, "text", places, levels, missing_level=places[-1] if part.missing else None))
            continue
        gap = places[1] if len(places) > 1 else None
        found.append(Variable(name, kinds[name], places[:1], gap=gap))
        if gap is not None:
            found.append(Variable(f"{name} is missing", "missing", (gap,)))
    return tuple(found)
