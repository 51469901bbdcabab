"""Two contents that can be compared: their columns, sizes, precision and ranges brought together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._util.errors import InputError, Note
from ..columns import Column
from ..names import quote_names
from ..precision import coarsest, precision_of, round_array
from ..vectors import vector_lengths
from .base import Content
from .features import Features
from .images import Images, format_sides, know_white, match_ranges
from .rows import Rows
from .table import Table

_GREY = Note("grey-images", "Its images are grey and are compared as coloured ones.")


class Aligned(NamedTuple):
    """Two contents that can be compared, and notes on each of them."""

    contents: tuple[Content, Content]
    notes: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def check_comparable(a: Content, b: Content, labels: tuple[str, str]) -> None:
    """Raise `InputError` for contents of different kinds, columns or sizes, whatever their values are."""
    if isinstance(a, Features) or isinstance(b, Features):
        _check_features(a, b, labels)
    elif isinstance(a, Images) and isinstance(b, Images):
        if a.shape[:2] != b.shape[:2]:
            sides = format_sides(a.shape[:2]), format_sides(b.shape[:2])
            raise InputError(
                "image-sizes-differ",
                f"{labels[0]} has images of {sides[0]} and {labels[1]} of {sides[1]}.",
                "Read both with {image_size} to bring them to one size.",
                image_size=a.shape[:2],
            )
    elif isinstance(a, Images):
        raise _images_and_others(a, b, labels)
    elif isinstance(b, Images):
        raise _images_and_others(b, a, labels[::-1])
    elif isinstance(a, Table) and isinstance(b, Table):
        _check_same_columns(a.names, b.names, labels)
    else:
        for content, label, other in ((a, *labels), (b, *labels[::-1])):
            if not content.numeric:
                raise InputError(
                    "kinds-differ",
                    f"{label} is a table with columns that are no numbers, and {other} an array. "
                    "Give two tables, or two arrays.",
                )
        if len(a.names) != len(b.names):
            raise InputError(
                "shapes-differ",
                f"{labels[0]} and {labels[1]} must have rows of the same shape, but {labels[0]} has {len(a.names)} and "
                f"{labels[1]} has {len(b.names)} coordinates. Give both the same in the same order.",
            )


def align(a: Content, b: Content, labels: tuple[str, str]) -> Aligned:
    """Two contents that `check_comparable` has let pass, with the same columns in one order, precision and range.

    A table of numbers can be compared with plain rows, by position.
    """
    if isinstance(a, Features) and isinstance(b, Features):
        return _align_features(a, b, labels)
    if isinstance(a, Table) and isinstance(b, Table):
        return _align_tables(a, b, labels)
    if isinstance(a, Images) and isinstance(b, Images):
        return _align_images(a, b)
    return _align_rows(a, b)


def _images_and_others(images: Images, other: Content, labels: tuple[str, str]) -> InputError:
    sides, columns = format_sides(images.shape), len(other.names)
    if isinstance(other, Table) and columns != math.prod(images.shape):
        return InputError(
            "kinds-differ",
            f"{labels[0]} holds images of {sides}, and {labels[1]} is a table of "
            f"{columns} columns: they cannot be compared. Give images twice, or two tables.",
        )
    what = "table" if isinstance(other, Table) else f"list of rows of {columns} numbers"
    return InputError(
        "kinds-differ",
        f"{labels[0]} holds images of {sides} and {labels[1]} a {what}, which cannot be compared.",
        "If its rows are the pixels of images, read it with {image_shape}.",
        image_shape=images.shape,
    )


def _check_features(a: Content, b: Content, labels: tuple[str, str]) -> None:
    if isinstance(a, Features) and isinstance(b, Features):
        return
    with_, without = labels if isinstance(a, Features) else labels[::-1]
    raise InputError(
        "features-differ",
        f"{with_} was read with features and {without} without.",
        "Give both the same {features}.",
        features=...,
    )


def _check_same_columns(first: Sequence[str], second: Sequence[str], labels: tuple[str, str]) -> None:
    lengths, others = vector_lengths(first), vector_lengths(second)
    for name in sorted(lengths.keys() & others.keys()):
        if lengths[name] != others[name]:
            raise InputError(
                "vector-lengths-differ",
                f"{name!r} has {lengths[name]} numbers in {labels[0]} and {others[name]} in {labels[1]}.",
                "Give vectors of one length, or leave it out with {drop}.",
                drop=[name],
            )
    lacks = []
    for label, names, other in ((labels[0], set(first), second), (labels[1], set(second), first)):
        missing = [name for name in other if name not in names]
        if missing:
            lacks.append(f"{label} lacks {quote_names(missing)}")
    if lacks:
        raise InputError(
            "columns-differ",
            f"{labels[0]} and {labels[1]} must have the same columns, but {' and '.join(lacks)}.",
            "Rename columns, or leave some out with {columns} or {drop}.",
            columns=...,
            drop=...,
        )


def _align_features(a: Features, b: Features, labels: tuple[str, str]) -> Aligned:
    widths = int(a.values.shape[1]), int(b.values.shape[1])
    if widths[0] != widths[1]:
        raise InputError(
            "shapes-differ",
            f"The features are {widths[0]} numbers for each row of {labels[0]}, but {widths[1]} for {labels[1]}.",
        )
    if isinstance(a.shown, Images) and isinstance(b.shown, Images):
        seen = [(images.low, images.high) for images in (a.shown, b.shown)]
        if seen[0] != seen[1] and not know_white(a.shown, b.shown):
            raise InputError(
                "brightness-differs",
                f"The pixels of {labels[0]} were taken to lie in {list(seen[0])} and those of {labels[1]} in "
                f"{list(seen[1])}, so the features saw them at different brightness. Bring both to uint8, or to "
                "[0, 1].",
            )
    return Aligned((a, b))


def _align_rows(a: Content, b: Content) -> Aligned:
    """Rows with rows, or with a table of numbers."""
    x, y = _as_rows(a), _as_rows(b)
    precision = coarsest([x.precision, y.precision])
    names = x.given_names if x.given_names is not None else y.given_names
    first, second = (
        replace(rows, values=round_array(rows.values, precision), stored=precision, given_names=names)
        for rows in (x, y)
    )
    return Aligned((first, second))


def _as_rows(content: Content) -> Rows:
    if isinstance(content, Rows):
        return content
    assert isinstance(content, Table)
    return Rows(content.numbers(None, ""), content.names, from_table=True, stored=content.precision)


def _align_tables(a: Table, b: Table, labels: tuple[str, str]) -> Aligned:
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
            f"{labels[0]} and {labels[1]} have columns of different types: {', '.join(differ[:5])}"
            f"{', …' if len(differ) > 5 else ''}.",
            "Correct these values, or leave the columns out with {drop}.",
            drop=...,
        )
    return Aligned((Table(tuple(firsts)), Table(tuple(seconds))))


def _align_images(a: Images, b: Images) -> Aligned:
    notes: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    if len(a.shape) != len(b.shape):
        notes = ((_GREY,), ()) if len(a.shape) < len(b.shape) else ((), (_GREY,))
        a, b = a.in_colour(), b.in_colour()
    if a.pixels.dtype.kind == b.pixels.dtype.kind == "f":
        precision = min(precision_of(images.pixels.dtype) for images in (a, b))
        a, b = (replace(images, pixels=round_array(images.pixels, precision)) for images in (a, b))
    return Aligned(match_ranges(a, b), notes)


def _give_example(column: Column) -> str:
    """The kind of a column, with a value that explains it."""
    i = int(np.flatnonzero(~column.missing)[0])
    return f"{column.kind} such as {column.cell(i)[:30]!r}"
