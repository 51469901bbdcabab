"""Matched sources as samples: numbers as they came where they can stay so, and else encoded."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputTypeError
from .arrays import Array
from .encoding import Encoding
from .images import Images
from .sample import Sample, float_tensor
from .source import Rows, Source
from .tables import Table

Standardise: TypeAlias = Literal["auto"] | bool


def encode_pair(x: Source, y: Source, standardise: Standardise) -> tuple[Sample, Sample]:
    """Samples of two matched sources; see `as_pair` for ``standardise``."""
    tabular = x.features is None and any(_is_tabular(source.content) for source in (x, y))
    if standardise is True or (standardise == "auto" and tabular):
        encoding = Encoding.fit_matched(x, y, standardise=True)
        return encoding.encode(x), encoding.encode(y)
    if x.features is None and any(_needs_encoding(source) for source in (x, y)):
        encoding = Encoding.fit_matched(x, y, standardise=False)
        return encoding.encode(x), encoding.encode(y)
    if x.features is None and isinstance(x.content, Images) and isinstance(y.content, Images):
        return _encode_images(x, y, x.content, y.content)
    return _as_given(x), _as_given(y)


def encode_numbers(source: Source) -> Sample:
    """The sample of a single source, whose columns must be numbers: there is no second one to agree on texts with."""
    if isinstance(source.content, Table) and source.features is None:
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


def _is_tabular(content: Any) -> bool:
    return isinstance(content, Table) or (isinstance(content, Rows) and content.from_table)


def _needs_encoding(source: Source) -> bool:
    """Whether there are texts, dates or gaps."""
    content, gaps = source.content, source.options.missing == "indicator"
    if isinstance(content, Rows):
        return gaps and content.values.dtype.kind == "f" and bool(np.isnan(content.values).any())
    return isinstance(content, Table) and (not content.numeric or (gaps and bool(content.missing.any())))


def _as_given(source: Source) -> Sample:
    content = source.content
    if source.features is not None:
        return Sample(source.features, shown=source)
    if isinstance(content, Table):
        values = content.to_matrix()
        assert values is not None
        names = content.names
        return Sample(float_tensor(values, source.label), names, kind="table", columns=names, shown=source)
    assert isinstance(content, Rows)
    return Sample(float_tensor(content.values, source.label), content.names, shown=source)


def _encode_images(x: Source, y: Source, a: Images, b: Images) -> tuple[Sample, Sample]:
    """Pixels as they came, with their axes in one order."""
    first, second = a.as_given(), b.as_given()
    if first.shape[1:] != second.shape[1:]:
        first, second = a.pixels, b.pixels
    shapes = [images.shape if given.shape[1:] == images.shape else None for images, given in ((a, first), (b, second))]
    return _sample_of_images(x, first, shapes[0]), _sample_of_images(y, second, shapes[1])


def _sample_of_images(source: Source, pixels: Array, shape: tuple[int, ...] | None) -> Sample:
    values = float_tensor(pixels, source.label)
    return Sample(values, kind="rows" if shape is None else "images", image_shape=shape, shown=source)
