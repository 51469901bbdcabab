"""Samples for tests that look at single columns: numbers as they came, and what each of them is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError, note_after
from .._util.text import printable, shorten
from .arrays import LARGEST, Array, too_large
from .columns import ColumnKind, concatenate_columns
from .encoding import Encoding
from .images import LOOKED_AT, Images, note_odd_pixels, pixel_names
from .lazy import Points
from .notices import Keep, check_known, leave_out
from .options import ReadOptions
from .paths import is_path
from .points import agree, open_rows
from .read import check_sources, keep_pairs, open_together
from .sample import Kind, Sample, are_usable
from .scaling import LONGEST_NAME, Levels
from .source import Rows, Source
from .tables import Table

UnitKind: TypeAlias = ColumnKind | Literal["missing", "pixel"]

#: Sides of images, as in `as_images`.
_SMALLEST = 4


@dataclass(frozen=True)
class Unit:
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
        Of numbers: the position of what says whether the value is missing, if there is one.
    missing_level
        Of categories: the position of the one that stands for what is missing, if there is one.
    """

    name: str
    kind: UnitKind
    coordinates: tuple[int, ...]
    levels: tuple[str, ...] = ()
    gap: int | None = None
    missing_level: int | None = None

    def tells_missing(self, coordinate: int) -> bool:
        """Whether the number there says that a value is missing."""
        return self.kind == "missing" or coordinate == self.missing_level


@dataclass(frozen=True, eq=False)
class Mixed:
    """Samples of one kind, as rows of numbers.

    Attributes
    ----------
    points
        Each sample, in memory or in its file.
    units
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
    """

    points: tuple[Points, ...]
    units: tuple[Unit, ...]
    image_shape: tuple[int, ...] | None
    numbers: tuple[Array | None, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    kind: Kind = "rows"

    @property
    def categories(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the indicators of each column of categories, and of each that says what is missing."""
        return tuple(unit.coordinates for unit in self.units if unit.kind in ("text", "missing"))


def open_mixed(
    data: Sequence[Any],
    names: Sequence[str],
    options: ReadOptions,
    at_least: int = 2,
    keep: Keep = (),
    labels: Array | None = None,
) -> Mixed:
    """Samples that can be compared. Numbers are neither standardised nor, where they may stay in their files, read.

    Parameters
    ----------
    data
        One or more samples, each whatever `read` takes.
    names
        What to call them in messages.
    options
        How to read them.
    at_least
        How many rows each needs.
    keep
        Of tables, the columns to compare whatever they look like: others are left out by the rule of `left_out`, and
        notes say which. True for all.
    labels
        Of one sample that is several, which of these each row of the user's data belongs to.

    Examples
    --------
    >>> import pandas as pd
    >>> x = pd.DataFrame({"age": [30.0, 40.0], "town": ["Ulm", "Bonn"]})
    >>> found = open_mixed([x, x], "XY", ReadOptions())
    >>> [(unit.name, unit.kind, unit.coordinates) for unit in found.units]
    [('age', 'number', (0,)), ('town', 'text', (1, 2))]
    """
    rows = [open_rows(part, name, options) for part, name in zip(data, names, strict=True)]
    points = [part for part in rows if part is not None]
    if len(points) == len(rows) and not _ranges_may_differ(data, points):
        points = agree(points, names, at_least, data)
        shape = _image_shape(tuple(points[0].shape[1:]))
        given = next((part.names for part in data if isinstance(part, Sample) and part.names is not None), None)
        units, called = _plain_units(points[0], shape, given), _called(data, names)
        check_known(keep, [unit.name for unit in units])
        odd = next(filter(None, (_note_odd(part, shape) for part in points)), ())
        return Mixed(tuple(points), units, shape, (None,) * len(data), called, odd)
    sources, notes = _read_sources(data, names, options, keep, labels)
    mixed = mix_sources(sources, names, at_least)[0]
    return replace(mixed, notes=(*notes, *mixed.notes))


def mix_sources(
    sources: Sequence[Source], names: Sequence[str], at_least: int = 2
) -> tuple[Mixed, list[Sample], Encoding]:
    """Sources that are matched as rows of numbers, which are neither standardised nor, where they are images, changed.

    Returns
    -------
    The samples together; one by one, to be shown; and how they became numbers.
    """
    for source in sources:
        if len(source) < at_least:
            raise InputError("too-few-rows", f"{source.label} needs at least {at_least} rows, but has {len(source)}.")
    encoding = Encoding.fit_matched(
        sources[0], _concatenate(sources[1:] or sources), standardise="auto" if _are_images(sources) else False
    )
    samples = [encoding.encode(source) for source in sources]
    for source, sample in zip(sources, samples, strict=True):
        _check_size(source, sample)
    notes = dict.fromkeys(note_after(f"{source.label}: ", note) for source in sources for note in source.notes)
    mixed = Mixed(
        tuple(agree([sample.values for sample in samples], names, at_least)),
        _encoded_units(encoding, sources[0]),
        encoding.image_shape,
        tuple(source.numbers for source in sources),
        display_names(sources),
        tuple(notes),
        encoding.kind,
    )
    return mixed, samples, encoding


def _check_size(source: Source, sample: Sample) -> None:
    """Complain about values whose squares are not finite, which only standardised ones may be."""
    if are_usable(sample.values):
        return
    for row, column in (sample.values.flatten(1).abs() > LARGEST).nonzero()[:1].tolist():
        raise InputError("values-too-large", f"{source.label} has {too_large(int(source.numbers[row]), column)}")


def _read_sources(
    data: Sequence[Any], names: Sequence[str], options: ReadOptions, keep: Keep, labels: Array | None
) -> tuple[list[Source], tuple[str, ...]]:
    """Sources that are matched, and notes on the columns that they are without."""
    opened = open_together(data, names, options)
    sizes = None
    if labels is not None and len(labels) > int(opened[0].numbers.max(initial=-1)):
        sizes = np.unique(labels[opened[0].numbers], return_counts=True)[1].tolist()
    chosen, notes = leave_out(opened, keep, display_names(opened), options.paired, sizes)
    sources = check_sources(chosen)
    return list(keep_pairs(*sources)) if options.paired else sources, notes


def _concatenate(sources: Sequence[Source]) -> Source:
    """Matched sources as one, for an encoding to be fitted on."""
    first = sources[0]
    if len(sources) == 1 or first.features is not None or isinstance(first.content, Images):
        return first
    if isinstance(first.content, Table):
        tables = [source.content for source in sources if isinstance(source.content, Table)]
        columns = zip(*(table.columns for table in tables), strict=True)
        return Source(Table(tuple(concatenate_columns(parts) for parts in columns)), options=first.options)
    contents = [source.content for source in sources if isinstance(source.content, Rows)]
    return Source(
        replace(contents[0], values=np.concatenate([part.values for part in contents])), options=first.options
    )


def _are_images(sources: Sequence[Source]) -> bool:
    return sources[0].features is None and isinstance(sources[0].content, Images)


def _note_odd(points: Points, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    return () if shape is None else note_odd_pixels(points[:LOOKED_AT].detach().cpu().numpy(), shape)


def _ranges_may_differ(data: Sequence[Any], points: Sequence[Points]) -> bool:
    """Whether some are bytes and others floats, so that white may be 255 here and 1 there."""
    kinds = {str(getattr(part, "dtype", "")).replace("torch.", "") for part in data}
    return _image_shape(tuple(points[0].shape[1:])) is not None and "uint8" in kinds and len(kinds) > 1


def _image_shape(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of one image, if that is what it looks like (the rule of `as_images`).

    >>> _image_shape((28, 28)), _image_shape((3, 32, 32)), _image_shape((2, 5))
    ((28, 28), (3, 32, 32), None)
    """
    if len(shape) == 2 and min(shape) >= _SMALLEST:
        return shape
    last = len(shape) == 3 and shape[2] in (1, 3) and min(shape[:2]) >= _SMALLEST
    first = len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) >= _SMALLEST
    return shape if last or first else None


def _plain_units(points: Points, shape: tuple[int, ...] | None, names: tuple[str, ...] | None) -> tuple[Unit, ...]:
    width = int(np.prod(points.shape[1:]))
    if shape is None:
        known = names or tuple(map(str, range(width)))
        return tuple(Unit(name, "number", (k,)) for k, name in enumerate(known))
    sides = shape if len(shape) == 2 or shape[2] in (1, 3) else (*shape[1:], shape[0])
    found = np.array(pixel_names(sides if sides[-1] != 1 or len(sides) == 2 else sides[:2])[0], object).reshape(sides)
    if len(shape) == 3 and sides != shape:
        found = np.moveaxis(found, -1, 0)
    return tuple(Unit(name, "pixel", (k,)) for k, name in enumerate(found.reshape(-1).tolist()))


def _encoded_units(encoding: Encoding, source: Source) -> tuple[Unit, ...]:
    if encoding.kind == "images":
        return tuple(Unit(name, "pixel", (k,)) for k, name in enumerate(encoding.names))
    units: list[Unit] = []
    if encoding.kind != "table":
        width = len(encoding.source_columns)
        gaps = {int(k): width + i for i, k in enumerate(getattr(encoding.parts[0], "gaps", ()))}
        units = [Unit(name, "number", (k,), gap=gaps.get(k)) for k, name in enumerate(encoding.source_columns)]
        return (*units, *(Unit(encoding.names[at], "missing", (at,)) for at in gaps.values()))
    kinds = {c.name: c.kind for c in source.content.columns} if isinstance(source.content, Table) else {}
    start = 0
    for name, part in zip(encoding.source_columns, encoding.parts, strict=True):
        places = tuple(range(start, start + part.width))
        start += part.width
        if isinstance(part, Levels):
            texts = (shorten(level, LONGEST_NAME) for level in part.levels)
            levels = (*texts, *["other"] * part.other, *["missing"] * part.missing)
            units.append(Unit(name, "text", places, levels, missing_level=places[-1] if part.missing else None))
            continue
        gap = places[1] if len(places) > 1 else None
        units.append(Unit(name, kinds[name], places[:1], gap=gap))
        if gap is not None:
            units.append(Unit(f"{name} is missing", "missing", (gap,)))
    return tuple(units)


def display_names(sources: Sequence[Source]) -> tuple[str, ...]:
    """Files by as much of their paths as tells them apart, and else by what they were given as.

    >>> from tellapart.data import read
    >>> display_names([read([[1.0]], "X"), read([[1.0]], "Y")])
    ('X', 'Y')
    """
    return _display([(source.origin, source.name) for source in sources])


def _called(data: Sequence[Any], names: Sequence[str]) -> tuple[str, ...]:
    """Samples that nobody gave names to, by their files; others by their names."""
    if tuple(names) != ("X", "Y"):
        return tuple(names)
    origins = [os.fsdecode(part) if is_path(part) else "" for part in data]
    return _display(list(zip(origins, names, strict=True)))


def _display(given: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What to call samples, from where each came and its name."""
    paths = [printable(origin).rstrip("/").split("/") for origin, _ in given]
    for depth in range(1, max(map(len, paths)) + 1):
        found = ["/".join(path[-depth:]) or name for path, (_, name) in zip(paths, given, strict=True)]
        if len(set(found)) == len(found):
            return tuple(found)
    return tuple(f"{printable(origin)} ({name})" for origin, name in given)
