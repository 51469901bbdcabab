"""Two sources that can be compared: their columns, sizes and ranges brought together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from torch import Tensor

from .._util.errors import InputError, Note
from .columns import Column
from .images import Images, know_white, match_ranges
from .precision import coarsest, precision_of, round_array
from .source import Rows, Source
from .tables import Table, quote_names
from .together import agree_tables
from .vectors import vector_lengths


def match(x: Source, y: Source) -> tuple[Source, Source]:
    """Two sources that can be compared.

    Tables get the same columns, matched by name, in the order of the first; a table of numbers can be compared with
    plain rows by position. Grey images are made coloured if the others are, and both get one meaning of white.

    Examples
    --------
    >>> from tellapart.data import read
    >>> import pandas as pd
    >>> x = read(pd.DataFrame({"age": [30, 40], "town": ["Ulm", "Bonn"]}), "X")
    >>> y = read(pd.DataFrame({"town": ["Ulm", "Ulm"], "age": [50, 60]}), "Y")
    >>> match(x, y)[1].columns
    ('age', 'town')
    """
    if (x.features is None) != (y.features is None):
        with_, without = (x, y) if y.features is None else (y, x)
        raise InputError(
            "features-differ",
            f"{with_.label} was read with features and {without.label} without.",
            "Give both the same {features}.",
            features=...,
        )
    if x.features is None:
        check_schema(x, y)
        x, y = agree_tables((x, y))
    return match_checked(x, y)


def match_checked(x: Source, y: Source) -> tuple[Source, Source]:
    """`match` for sources whose schema is checked already, and whose columns were read in one way."""
    if x.features is not None and y.features is not None:
        return _match_features(x, y, x.features, y.features)
    a, b = x.content, y.content
    if isinstance(a, Table) and isinstance(b, Table):
        return _match_tables(x, y, a, b)
    if isinstance(a, Images) and isinstance(b, Images):
        return _match_images(x, y, a, b)
    return _match_rows(x, y)


def check_schema(x: Source, y: Source) -> None:
    """Complain about sources of different kinds, columns or sizes, whatever their values are."""
    a, b = x.content, y.content
    if isinstance(a, Images) != isinstance(b, Images):
        images, other = (x, y) if isinstance(a, Images) else (y, x)
        shape = images.content.shape if isinstance(images.content, Images) else ()
        if isinstance(other.content, Table) and len(other.columns) != math.prod(shape):
            raise InputError(
                "kinds-differ",
                f"{images.label} holds images of {_format_sides(shape)}, and {other.label} is a table of "
                f"{len(other.columns)} columns: they cannot be compared. Give images twice, or two tables.",
            )
        raise InputError(
            "kinds-differ",
            f"{images.label} holds images of {_format_sides(shape)} and {other.label} a {_describe(other)}, which "
            "cannot be compared.",
            "If its rows are the pixels of images, read it with {image_shape}.",
            image_shape=shape,
        )
    if isinstance(a, Images) and isinstance(b, Images):
        if a.shape[:2] != b.shape[:2]:
            raise InputError(
                "image-sizes-differ",
                f"{x.label} has images of {_format_sides(a.shape[:2])} and {y.label} of {_format_sides(b.shape[:2])}.",
                "Read both with {image_size} to bring them to one size.",
                image_size=a.shape[:2],
            )
    elif isinstance(a, Table) and isinstance(b, Table):
        _check_same_columns(x, y)
    else:
        for source, other in ((x, y), (y, x)):
            if isinstance(source.content, Table) and not source.content.numeric:
                raise InputError(
                    "kinds-differ",
                    f"{source.label} is a table with columns that are no numbers, and {other.label} an array. "
                    "Give two tables, or two arrays.",
                )
        if len(x.columns) != len(y.columns):
            raise InputError(
                "shapes-differ",
                f"{x.label} and {y.label} must have rows of the same shape, but {x.label} has {len(x.columns)} and "
                f"{y.label} has {len(y.columns)} coordinates. Give both the same in the same order.",
            )


def _check_same_columns(x: Source, y: Source) -> None:
    lengths, others = vector_lengths(x.columns), vector_lengths(y.columns)
    for name in sorted(lengths.keys() & others.keys()):
        if lengths[name] != others[name]:
            raise InputError(
                "vector-lengths-differ",
                f"{name!r} has {lengths[name]} numbers in {x.label} and {others[name]} in {y.label}.",
                "Give vectors of one length, or leave it out with {drop}.",
                drop=[name],
            )
    lacks = []
    for source, other in ((x, y), (y, x)):
        there = set(source.columns)
        missing = [name for name in other.columns if name not in there]
        if missing:
            lacks.append(f"{source.label} lacks {quote_names(missing)}")
    if lacks:
        raise InputError(
            "columns-differ",
            f"{x.label} and {y.label} must have the same columns, but {' and '.join(lacks)}.",
            "Rename columns, or leave some out with {columns} or {drop}.",
            columns=...,
            drop=...,
        )


def _match_features(x: Source, y: Source, a: Tensor, b: Tensor) -> tuple[Source, Source]:
    if a.shape[1] != b.shape[1]:
        raise InputError(
            "shapes-differ",
            f"The features are {a.shape[1]} numbers for each row of {x.label}, but {b.shape[1]} for {y.label}.",
        )
    if isinstance(x.content, Images) and isinstance(y.content, Images):
        seen = [(images.low, images.high) for images in (x.content, y.content)]
        if seen[0] != seen[1] and not know_white(x.content, y.content):
            raise InputError(
                "brightness-differs",
                f"The pixels of {x.label} were taken to lie in {list(seen[0])} and those of {y.label} in "
                f"{list(seen[1])}, so the features saw them at different brightness. Bring both to uint8, or to "
                "[0, 1].",
            )
    return x, y


def _match_rows(x: Source, y: Source) -> tuple[Source, Source]:
    """Rows with rows, or with a table of numbers."""
    matched = []
    for source in (x, y):
        content = source.content
        if isinstance(content, Table):
            values = content.to_matrix()
            assert values is not None
            content = Rows(values, content.names, from_table=True, stored=content.precision)
        matched.append(replace(source, content=content))
    precision = coarsest([s.content.precision for s in matched if isinstance(s.content, Rows)])
    x, y = (
        replace(s, content=replace(s.content, values=round_array(s.content.values, precision), stored=precision))
        for s in matched
        if isinstance(s.content, Rows)
    )
    names = next((s.content.names for s in (x, y) if isinstance(s.content, Rows) and s.content.names is not None), None)
    first, second = (replace(s, content=replace(s.content, names=names)) for s in (x, y) if isinstance(s.content, Rows))
    return first, second


def _match_tables(x: Source, y: Source, a: Table, b: Table) -> tuple[Source, Source]:
    by_name = {column.name: column for column in b.columns}
    firsts, seconds, differ = [], [], []
    for first in a.columns:
        second = by_name[first.name]
        if first.kind != second.kind:
            differ.append(f"{first.name!r} ({_give_example(first)} and {_give_example(second)})")
        precision = min(first.precision, second.precision)
        firsts.append(first.rounded(precision))
        seconds.append(second.rounded(precision))
    if differ:
        raise InputError(
            "column-types-differ",
            f"{x.label} and {y.label} have columns of different types: {', '.join(differ[:5])}"
            f"{', …' if len(differ) > 5 else ''}.",
            "Correct these values, or leave the columns out with {drop}.",
            drop=...,
        )
    return replace(x, content=Table(tuple(firsts))), replace(y, content=Table(tuple(seconds)))


def _match_images(x: Source, y: Source, a: Images, b: Images) -> tuple[Source, Source]:
    if len(a.shape) != len(b.shape):
        grey, note = (
            (x if len(a.shape) < len(b.shape) else y),
            Note("grey-images", "Its images are grey and are compared as coloured ones."),
        )
        x, y = (replace(s, notes=_add_notes(s.notes, note)) if s is grey else s for s in (x, y))
        a, b = a.in_colour(), b.in_colour()
    if a.pixels.dtype.kind == b.pixels.dtype.kind == "f":
        precision = min(precision_of(images.pixels.dtype) for images in (a, b))
        a, b = (replace(images, pixels=round_array(images.pixels, precision)) for images in (a, b))
    a, b = match_ranges(a, b)
    return replace(x, content=a), replace(y, content=b)


def _add_notes(notes: tuple[str, ...], *more: str) -> tuple[str, ...]:
    """Notes, each of them once: sources may be matched again."""
    return tuple(dict.fromkeys((*notes, *more)))


def _give_example(column: Column) -> str:
    """The kind of a column, with a value that explains it."""
    i = int(np.flatnonzero(~column.missing)[0])
    return f"{column.kind} such as {column.cell(i)[:30]!r}"


def _format_sides(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _describe(source: Source) -> str:
    return "table" if source.kind == "table" else f"list of rows of {len(source.columns)} numbers"
