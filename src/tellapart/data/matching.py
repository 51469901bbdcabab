"""Sources that can be compared: their columns, sizes and ranges brought together, and rows that are pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._util.errors import InputError, Note
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


def match_sources(sources: Sequence[Source]) -> list[Source]:
    """Any number of sources whose values are checked, and whose texts were read in one way, matched."""
    if any(source.options.by_features for source in sources):
        for other in sources[1:]:
            check_schema(sources[0], other)
    if len(sources) == 2:
        return list(match_checked(sources[0], sources[1]))
    first = sources[0]
    for other in sources[1:]:
        first = match_checked(first, other)[0]
    return [first, *(match_checked(first, other)[1] for other in sources[1:])]


def keep_pairs(x: Source, y: Source) -> tuple[Source, Source]:
    """Rows whose partner is there too, where row i of one sample belongs to row i of the other."""
    if x.total != y.total and x.total is not None and y.total is not None:
        raise InputError(
            "unequal-pairs",
            f"{x.label} has {x.total} rows and {y.label} has {y.total}, so their rows are not pairs.",
            "Leave out {paired}, or give both the same rows.",
            paired=True,
        )
    if np.array_equal(x.numbers, y.numbers):
        return x, y
    both, of_x, of_y = np.intersect1d(x.numbers, y.numbers, return_indices=True)
    if not len(both):
        raise InputError(
            "no-rows-left", f"No row of {x.label} has its partner in {y.label}: all were dropped or left out."
        )
    kept = []
    for source, places in ((x, of_x), (y, of_y)):
        lost = len(source) - len(both)
        text = f"{lost} {'row was' if lost == 1 else 'rows were'} left out because the other of the pair was."
        note = (Note("rows-dropped", text),)
        kept.append(replace(source.take(places), notes=(*source.notes, *(note if lost else ()))))
    return kept[0], kept[1]


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
