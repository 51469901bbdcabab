"""Texts that have what differs: whole examples, and the items whose texts differ most in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..data import Sample, Source
from ..data.arrays import Array
from ..twosample import Findings
from ..twosample.findings import Finding
from .exemplars import row_numbers, where

#: Columns that are illustrated, texts for each, and items.
_COLUMNS, _EXAMPLES, _ITEMS = 8, 3, 8

Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class TextExample:
    """A text in which something occurs.

    Attributes
    ----------
    sample, row, where
        Its sample, ``"X"`` or ``"Y"``, its number in the user's data, and what the user calls it.
    text, spans
        The whole text, and where in it that stands which occurs, as starts and ends.
    item
        What was given for it with ``items=``, or None.
    counterpart
        The first text of the other sample with the same item, or None.
    """

    sample: Literal["X", "Y"]
    row: int
    where: str
    text: str
    spans: Spans
    item: str | None = None
    counterpart: str | None = None


@dataclass(frozen=True)
class ItemShare:
    """An item, and in how many of its texts in each sample something occurs: (texts with it, texts)."""

    item: str
    x: tuple[int, int]
    y: tuple[int, int]

    @property
    def difference(self) -> float:
        """The share in Y less that in X."""
        return self.y[0] / self.y[1] - self.x[0] / self.x[1]


@dataclass(frozen=True)
class NamedText:
    """A column that differs and says whether something occurs in a text.

    Attributes
    ----------
    column, description, pvalue
        Its name, its shares in words, and its adjusted p-value.
    examples
        Texts in which it occurs, of the sample that has more of them, those that are most typical of it first.
    items
        Items with texts in both samples whose shares differ most. They are counted, and not tested one by one.
    """

    column: str
    description: str
    pvalue: float
    examples: tuple[TextExample, ...]
    items: tuple[ItemShare, ...] = ()


def name_texts(
    findings: Findings, samples: tuple[Sample, Sample], witness: tuple[Array, Array], items: tuple[Array, Array] | None
) -> tuple[NamedText, ...]:
    """The first of the columns that differ, with texts; none where features do not say where in a text they are."""
    sources = [sample.shown for sample in samples]
    if not all(isinstance(source, Source) for source in sources):
        return ()
    find = getattr(sources[0].options.features, "find_part", None)  # type: ignore[union-attr]
    shares = [one for one in findings if one.kind == "share"][:_COLUMNS]
    return () if find is None else tuple(_illustrate(one, samples, witness, items, find) for one in shares)


def _illustrate(
    finding: Finding,
    samples: tuple[Sample, Sample],
    witness: tuple[Array, Array],
    items: tuple[Array, Array] | None,
    find: Callable[[str, str], Spans],
) -> NamedText:
    column = samples[0].column_names.index(finding.columns[0])
    occurs = [sample.values[:, column] > 0 for sample in samples]
    side = int(finding.effect > 0)
    # The witness is positive where X has more.
    order = np.argsort(witness[side] * (1 if side else -1), kind="stable")
    chosen = order[occurs[side][order]][:_EXAMPLES].tolist()
    return NamedText(
        finding.name,
        finding.description,
        finding.pvalue,
        tuple(_example(samples, side, row, items, finding.columns[0], find) for row in chosen),
        () if items is None else _count_items(items, occurs),
    )


def _example(
    samples: Sequence[Sample],
    side: int,
    row: int,
    items: tuple[Array, Array] | None,
    column: str,
    find: Callable[[str, str], Spans],
) -> TextExample:
    sample, text = samples[side], text_of(samples[side], row)
    item = counterpart = None
    if items is not None:
        item = str(items[side][row])
        same = np.flatnonzero(items[1 - side].astype(str) == item)
        counterpart = text_of(samples[1 - side], int(same[0])) if len(same) else None
    number = int(row_numbers(sample)[row])
    return TextExample("XY"[side], number, where(sample, row), text, find(column, text), item, counterpart)  # type: ignore[arg-type]


def text_of(sample: Sample, row: int) -> str:
    """The text of a row as it came, with its line breaks."""
    shown: Any = sample.shown
    (column,) = shown.content.read_columns
    column = column if column.kind == "text" else column.texts
    return str(column.levels[column.values[row]])


def _count_items(items: tuple[Array, Array], occurs: Sequence[Array]) -> tuple[ItemShare, ...]:
    """Items with texts in both samples, those first whose shares differ most.

    >>> items = np.array(["a", "a", "b"]), np.array(["a", "b", "c"])
    >>> _count_items(items, [np.array([0, 0, 1]) > 0, np.array([1, 1, 1]) > 0])
    (ItemShare(item='a', x=(0, 2), y=(1, 1)),)
    """
    totals = [Counter(part.astype(str).tolist()) for part in items]
    hits = [Counter(part.astype(str)[has].tolist()) for part, has in zip(items, occurs, strict=True)]
    found = [
        ItemShare(item, (hits[0][item], totals[0][item]), (hits[1][item], totals[1][item]))
        for item in totals[0]
        if item in totals[1]
    ]
    different = [one for one in found if one.difference]
    # Of items with the same shares those with more texts say more.
    return tuple(sorted(different, key=lambda one: (-abs(one.difference), -one.x[1] - one.y[1], one.item))[:_ITEMS])
