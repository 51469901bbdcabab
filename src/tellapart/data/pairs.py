"""Matched sources as samples for a kernel: numbers as they came where they can stay so, and else encoded."""

from __future__ import annotations

from .._util.errors import InputTypeError
from .encoding import Encoding, Standardise
from .sample import Sample, float_tensor
from .source import Source


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
    values = float_tensor(given.values, source.label)
    columns = given.names if given.kind == "table" else None
    stored = str(given.values.dtype).removeprefix("torch.")
    return Sample(values, given.names, False, given.kind, columns, given.image_shape, source, stored)
