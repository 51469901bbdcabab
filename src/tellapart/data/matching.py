"""Two sources that can be compared: their columns, sizes and ranges brought together."""

from __future__ import annotations

from dataclasses import replace

from .content import align, check_comparable
from .source import Source
from .texts import read_texts


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
    check_schema(x, y)
    return match_checked(*read_texts((x, y)))


def match_checked(x: Source, y: Source) -> tuple[Source, Source]:
    """`match` for sources whose schema is checked already, and whose columns were read in one way."""
    aligned = align(x.content, y.content, (x.label, y.label))
    first, second = (
        replace(source, content=content, notes=tuple(dict.fromkeys((*source.notes, *notes))))
        for source, content, notes in zip((x, y), aligned.contents, aligned.notes, strict=True)
    )
    return first, second


def check_schema(x: Source, y: Source) -> None:
    """Raise `InputError` for sources of different kinds, columns or sizes, whatever their values are."""
    check_comparable(x.content, y.content, (x.label, y.label))
