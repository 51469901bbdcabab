"""Contents that can be compared: columns brought into one order, and sizes, precision and ranges together.

`align` does so for two samples, of which neither decides; what differs is an error. `align_to` does so for a batch and
the columns of a reference (`ReferenceColumns`); what differs is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._util.errors import InputError, Note
from ..columns import TableColumn, column_from_array
from ..names import quote_names
from ..numerals import code_width, read_written
from ..precision import coarsest, precision_of, round_array
from ..vectors import vector_lengths, whole_column
from .base import Content
from .features import Features
from .images import Images, format_sides, know_white, match_ranges
from .rows import Rows
from .table import TableContent

_GREY = Note("grey-images", "Its images are grey and are compared as coloured ones.")


#: Texts of a column of a reference that are remembered at most.
REMEMBERED = 10_000


@dataclass(frozen=True)
class Deviation:
    """Where a batch is not built like the reference.

    Attributes
    ----------
    kind
        ``"missing column"``, ``"new column"``, ``"type"`` or ``"unseen category"``.
    column, count
        Which column, and how many rows.
    description
        The same in words.
    """

    kind: str
    column: str
    count: int
    description: str


class ReferenceColumns(NamedTuple):
    """The columns of a reference.

    Attributes
    ----------
    names, kinds
        Their names, and what they hold; without kinds they are numbers without types, by position.
    texts
        Of columns of text, the texts that occurred, at most `REMEMBERED` of them.
    written
        How numbers and dates are written that were text (`TableColumn.how`).
    wanted, dropped
        The columns that were asked for, if they were, and those that were left out: others than these are no news.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]
    written: Mapping[str, str]
    wanted: tuple[str, ...] | None
    dropped: tuple[str, ...]


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
    elif isinstance(a, TableContent) and isinstance(b, TableContent):
        check_same_columns(a.names, b.names, labels)
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
    if isinstance(a, TableContent) and isinstance(b, TableContent):
        return _align_tables(a, b, labels)
    if isinstance(a, Images) and isinstance(b, Images):
        return _align_images(a, b)
    return _align_rows(a, b)


def align_to(columns: Sequence[TableColumn], layout: ReferenceColumns) -> tuple[TableContent, list[Deviation]]:
    """The columns of a batch in the order and of the types of a reference, and where they deviate."""
    rows = len(columns[0])
    places, new = order_names(layout.names, [column.name for column in columns])
    found, deviations = [], []
    for name, kind, place in zip(layout.names, layout.kinds, places, strict=True):
        column = TableColumn(name, "number", np.full(rows, np.nan)) if place is None else columns[place]
        if place is None:
            deviations.append(Deviation("missing column", name, rows, f"the column {name!r} is missing."))
        elif _types_differ(column, kind):
            words = f"the column {name!r} holds {column.kind}, and in the reference {kind}."
            deviations.append(Deviation("type", name, int((~column.missing).sum()), words))
        column = _as_kind(column, kind, layout.written.get(name, "plain"))
        if kind == "text":
            # These are categories, as in the reference, also where most of them are numbers here.
            column = replace(column, categorical=True)
            known = set(layout.texts.get(name, ()))
            unseen = {text: count for text, count in column.used_levels().items() if text not in known}
            if unseen and len(known) < REMEMBERED:
                count, listed = sum(unseen.values()), quote_names(sorted(unseen), 5)
                words = f"{count} of {rows} rows have a {name!r} not in the reference: {listed}."
                deviations.append(Deviation("unseen category", name, count, words))
        found.append(column)
    dropped = {*layout.dropped, *(name for name in new if whole_column(name) in layout.dropped)}
    new = [name for name in new if layout.wanted is None and name not in dropped]
    if new:
        words = f"columns that the reference has not are left out: {quote_names(new, 5)}."
        deviations.append(Deviation("new column", ", ".join(new), rows, words))
    return TableContent(tuple(found)), deviations


def name_columns(content: Content, layout: ReferenceColumns, label: str) -> tuple[TableColumn, ...]:
    """The columns of a batch; those of an array have the names of the reference's."""
    if content.columns:
        return content.columns
    if not content.names:
        raise InputError("kinds-differ", f"{label} holds images, but the reference is a table.")
    if set(layout.kinds) - {"number", "boolean"} or len(content.names) != len(layout.names):
        raise InputError("kinds-differ", f"{label} is an array, but the reference is a table. Give a table.")
    values = content.numbers(None, label)
    return tuple(column_from_array(name, values[:, k], name) for k, name in enumerate(layout.names))


def align_rows_to(content: Content, layout: ReferenceColumns, label: str) -> Rows:
    """Numbers by name, where there are columns with the names of those of a reference, and else by position."""
    by_name = bool(content.columns) or layout.wanted is not None or bool(layout.dropped)
    places, new = order_names(layout.names, content.names)
    by_name = by_name and None not in places
    if by_name:
        content = content.without(new)
    if not content.numeric:
        what = "holds images, but the reference holds rows of numbers."
        if content.columns:
            what = "has columns of text or dates, but the reference has numbers only."
        raise InputError("kinds-differ", f"{label} {what}")
    values = content.numbers(None, label)
    if by_name:
        values = values[:, [content.names.index(name) for name in layout.names]]
    check_width(values.shape[1], len(layout.names), label)
    return Rows(values, layout.names)


def check_width(width: int, known: int, label: str) -> None:
    """Raise `InputError` if rows are not as long as those of a reference."""
    if width != known:
        raise InputError(
            "shapes-differ", f"{label} has rows of {width} numbers, but the reference has rows of {known}."
        )


def order_names(names: Sequence[str], others: Sequence[str]) -> tuple[list[int | None], list[str]]:
    """For each name its place among others, None where it is not there; and the others that are not among the names.

    >>> order_names(("a", "b", "c"), ("c", "a", "d"))
    ([1, None, 0], ['d'])
    """
    places = {name: k for k, name in enumerate(others)}
    known = set(names)
    return [places.get(name) for name in names], [name for name in others if name not in known]


def _types_differ(column: TableColumn, kind: str) -> bool:
    """Whether a column holds something else than another; yes and no are 1 and 0, and what is missing has no type."""
    return column.kind != kind and not column.missing.all() and {column.kind, kind} != {"boolean", "number"}


def _as_kind(column: TableColumn, kind: str, how: str) -> TableColumn:
    """A column as the type that the reference has, text in the way it is written there; what cannot be is missing."""
    if column.kind == kind:
        return column
    if kind == "text":
        cells = np.array([column.cell(i) or None for i in range(len(column))], object)
        return column_from_array(column.name, cells, column.name, categorical=True)
    if "date" in (column.kind, kind) and column.kind != "text":  # days since 1970 are no measurement, nor is one a day
        return TableColumn(column.name, kind, np.full(len(column), np.nan))  # type: ignore[arg-type]
    if column.kind != "text":
        return replace(column, kind=kind)  # type: ignore[arg-type]
    numbers = np.array([*(_number(level, how) for level in column.levels), np.nan])
    return TableColumn(column.name, kind, numbers[column.values])  # type: ignore[arg-type]


def _number(text: str, how: str) -> float:
    """The number that a text says, if it is written as in the reference; NaN if it is not."""
    if how == "plain" and code_width([text]) is not None:
        return float(text)  # the reference happened to have no code that begins with 0, and took codes for numbers
    found = read_written([text], how)
    return found.values[0] if found is not None and found.values and np.isfinite(found.values[0]) else np.nan


def _images_and_others(images: Images, other: Content, labels: tuple[str, str]) -> InputError:
    sides, columns = format_sides(images.shape), len(other.names)
    if isinstance(other, TableContent) and columns != math.prod(images.shape):
        return InputError(
            "kinds-differ",
            f"{labels[0]} holds images of {sides}, and {labels[1]} is a table of "
            f"{columns} columns: they cannot be compared. Give images twice, or two tables.",
        )
    what = "table" if isinstance(other, TableContent) else f"list of rows of {columns} numbers"
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


def check_same_columns(first: Sequence[str], second: Sequence[str], labels: tuple[str, str]) -> None:
    """Raise `InputError` if two samples have different columns, in whatever order."""
    lengths, others = vector_lengths(first), vector_lengths(second)
    for name in sorted(lengths.keys() & others.keys()):
        if lengths[name] != others[name]:
            raise InputError(
                "vector-lengths-differ",
                f"{name!r} has {lengths[name]} numbers in {labels[0]} and {others[name]} in {labels[1]}.",
                "Give vectors of one length, or leave it out with {drop}.",
                drop=[name],
            )
    places, new = order_names(first, second)
    missing = [name for name, place in zip(first, places, strict=True) if place is None]
    lacks = [
        f"{label} lacks {quote_names(names)}" for label, names in zip(labels, (new, missing), strict=True) if names
    ]
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
    assert isinstance(content, TableContent)
    return Rows(content.numbers(None, ""), content.names, from_table=True, stored=content.precision)


def _align_tables(a: TableContent, b: TableContent, labels: tuple[str, str]) -> Aligned:
    places, _ = order_names(a.names, b.names)
    firsts, seconds, differ = [], [], []
    for first, place in zip(a.columns, places, strict=True):
        assert place is not None
        second = b.columns[place]
        if _types_differ(second, first.kind):
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
    return Aligned((TableContent(tuple(firsts)), TableContent(tuple(seconds))))


def _align_images(a: Images, b: Images) -> Aligned:
    notes: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    if len(a.shape) != len(b.shape):
        notes = ((_GREY,), ()) if len(a.shape) < len(b.shape) else ((), (_GREY,))
        a, b = a.in_colour(), b.in_colour()
    if a.pixels.dtype.kind == b.pixels.dtype.kind == "f":
        precision = min(precision_of(images.pixels.dtype) for images in (a, b))
        a, b = (replace(images, pixels=round_array(images.pixels, precision)) for images in (a, b))
    return Aligned(match_ranges(a, b), notes)


def _give_example(column: TableColumn) -> str:
    """The kind of a column, with a value that explains it."""
    i = int(np.flatnonzero(~column.missing)[0])
    return f"{column.kind} such as {column.cell(i)[:30]!r}"
