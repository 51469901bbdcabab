"""What a person would notice first of rows: samples that are the same, rows that both have, rows that repeat."""

from __future__ import annotations

import numpy as np

from ..data import Source
from ..data.arrays import Array
from ..data.notices import Notice
from ..data.shared import SharedRows, describe_shared

#: Rows of one sample that repeat others are reported from this share on.
_REPEATED = 0.01
#: Rows repeat others more often than by chance from so many times what independent columns would give.
_TIMES = 5


def notice_rows(hashes: Array, m: int, sources: tuple[Source, Source], names: tuple[str, str]) -> list[Notice]:
    """Notices about rows: samples that are the same, rows that both have, rows that are there twice.

    Parameters
    ----------
    hashes
        A number for each row of X and then of Y, equal for equal rows.
    m
        How many rows X has.
    """
    of_x, of_y = hashes[:m], hashes[m:]
    both = describe_shared((of_x, of_y), [source.origin for source in sources], names)
    found = [] if both is None else [Notice(both.kind, (), both.text, count=both.rows)]
    again = [len(part) - len(np.unique(part)) for part in (of_x, of_y)]
    for part, twice, name, source in zip((of_x, of_y), again, names, sources, strict=True):
        if _REPEATED * len(part) <= twice <= len(part) / 2 and twice > _TIMES * _equal_by_chance(source):
            text = (
                f"{twice:,} of the {len(part):,} rows of {name} repeat another one. If these are copies, remove them."
            )
            found.append(Notice("duplicated rows", (), text, count=twice))
    return found


def _equal_by_chance(source: Source) -> float:
    """How many pairs of rows would be equal if the columns were independent: many, where these are few and coarse."""
    columns = [column.values for column in source.content.split_columns()]
    rows = len(source)
    pairs = rows * (rows - 1) / 2
    found = pairs if columns else 0.0
    for values in columns:
        counts = np.unique(values, return_counts=True)[1].astype(float)
        found *= float((counts * (counts - 1)).sum()) / max(2 * pairs, 1)
        if found == 0:
            break
    return found


def notice_shared(shared: SharedRows | None) -> tuple[Notice, ...]:
    """The notice about rows that both samples have, where one part of them is learned from."""
    if shared is None:
        return ()
    text = f"{shared} Equal rows are learned from or tested together."
    return (Notice("shared rows", (), text, count=shared.in_x),)
