"""What a person would notice first of rows: samples that are the same, rows that both have, rows that repeat."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..data import Source
from ..data.arrays import Array
from ..data.notices import Notice
from ..data.shared import SharedRows
from ..data.source import Rows
from ..data.tables import Table

#: Equal rows in both samples are said from so many standard errors above what chance gives; in one, from this share.
_ERRORS, _REPEATED = 2.5, 0.01
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
    found = []
    files = [Path(source.origin).resolve() if source.origin else None for source in sources]
    same = len(of_x) == len(of_y) and bool((np.sort(of_x) == np.sort(of_y)).all())
    if files[0] is not None and files[0] == files[1] and sources[0].origin == sources[1].origin:
        found.append(Notice("same data", (), f"The same file was given twice: {sources[0].origin}.", count=m))
    elif same:
        found.append(Notice("same data", (), "Both samples have the same rows.", count=m))
    again = [len(part) - len(np.unique(part)) for part in (of_x, of_y)]
    shared = int(np.isin(of_x, of_y).sum())
    # Rows may also be equal by chance, where columns have few values: as often across the samples as within them.
    n = len(of_y)
    by_chance = (again[0] / m**2 + again[1] / n**2) * m * n
    if not found and shared > by_chance + _ERRORS * math.sqrt(by_chance + shared):
        text = (
            f"{shared:,} of the {m:,} rows of {names[0]} are in {names[1]} too. Rows that both have were not drawn "
            "independently: the test then sees less than there is."
        )
        found.append(Notice("shared rows", (), text, count=shared))
    for part, twice, name, source in zip((of_x, of_y), again, names, sources, strict=True):
        if _REPEATED * len(part) <= twice <= len(part) / 2 and twice > _TIMES * _equal_by_chance(source):
            text = (
                f"{twice:,} of the {len(part):,} rows of {name} repeat another one. If these are copies, remove them."
            )
            found.append(Notice("duplicated rows", (), text, count=twice))
    return found


def _equal_by_chance(source: Source) -> float:
    """How many pairs of rows would be equal if the columns were independent: many, where these are few and coarse."""
    content = source.content
    if isinstance(content, Table):
        columns = [column.values for column in content.columns]
    else:
        columns = list(content.values.T) if isinstance(content, Rows) else []
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
