"""What is kept of each batch of a stream."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, get_type_hints

from .._util.numbers import number, p_sentence, p_text
from .._util.records import fits
from .._util.view import BlockColumn, Headline, Row, TableBlock, View, notes
from .findings import Finding
from .result import Displayed, as_plain


class ColumnRecord(TypedDict):
    """What is stored of a column that differs."""

    name: str
    kind: str
    effect: float | None
    description: str
    pvalue: float


class DeviationRecord(TypedDict):
    """What is stored of a deviation from the schema."""

    kind: str
    column: str
    count: int


@dataclass(frozen=True)
class BatchRecord(Displayed):
    """What was found of one batch.

    Attributes
    ----------
    number, name
        Its place in the stream (from 0), and what it is called in reports; no two batches of a stream are called the
        same.
    key
        What identifies it: a batch with the same key is not counted again. None if it was added without a name.
    digest, rows
        A fingerprint of its rows, and how many they are.
    pvalue, min_pvalue, permutations
        Exact, of this batch by itself.
    level
        With ``control="fwer"``, the level that it is tested at.
    evidence
        What the bets have become with it: 1 at the beginning; an e-value at every time.
    fresh
        Rows of the reference that were bet on.
    alarm
        Whether it raised an alarm when it came.
    columns
        Those that differ by themselves, at the monitor's level all together: name, kind, effect, description
        and p-value of each.
    deviations
        Where it was not built like the reference: kind, column and count of each.
    notes
        What should be known.
    """

    number: int
    name: str
    key: str | None
    digest: str
    rows: int
    pvalue: float
    min_pvalue: float
    permutations: int
    level: float | None
    evidence: float
    fresh: int
    alarm: bool
    columns: tuple[ColumnRecord, ...]
    deviations: tuple[DeviationRecord, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values."""
        plain: dict[str, Any] = as_plain(vars(self))
        return plain

    def view(self, alpha: float | None = None) -> View:
        """The record as blocks of plain data, which cards are rendered from."""
        p = p_sentence(self.pvalue, self.min_pvalue)
        return View.of(
            Headline(
                text=f"{self.name}: {'alarm' if self.alarm else 'no alarm'}",
                evidence=f"{self.rows:,} rows, {p}, evidence {number(self.evidence)}",
                positive=self.alarm,
            ),
            columns_table(self),
            notes(self.notes, prefix="Note: "),
        )

    @classmethod
    def from_dict(cls, known: Mapping[str, Any], number: int) -> BatchRecord:
        """The same from plain values, of batch ``number``; a complaint (ValueError) if they are not of one."""
        values: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in known.items()}
        records = dict.fromkeys(("columns", "deviations"), tuple[dict[str, Any], ...])
        if not (_fit(values, get_type_hints(cls) | records) and cls(**values)._is_sound(number)):
            raise ValueError(f"batch {number} is not what it should be")
        return cls(**values)

    def _is_sound(self, number: int) -> bool:
        """Whether its values can be those of batch ``number``."""
        column, deviation = get_type_hints(ColumnRecord), get_type_hints(DeviationRecord)
        if not all(_fit(one, column) for one in self.columns) or not all(
            _fit(one, deviation) for one in self.deviations
        ):
            return False
        pvalues = [self.pvalue, 1.0 if self.level is None else self.level, *(one["pvalue"] for one in self.columns)]
        return (
            self.number == number
            and min(self.rows, self.fresh, self.evidence) >= 0
            and all(0 < p <= 1 for p in pvalues)
        )


def _fit(values: Mapping[str, Any], types: Mapping[str, Any]) -> bool:
    """Whether these are the keys, and the values are of these types."""
    return set(values) == set(types) and all(fits(values[key], types[key]) for key in types)


def describe_finding(one: Finding) -> ColumnRecord:
    """The record of a column that differs."""
    effect = one.effect if math.isfinite(one.effect) else None
    return {"name": one.name, "kind": one.kind, "effect": effect, "description": one.description, "pvalue": one.pvalue}


def columns_table(record: BatchRecord) -> TableBlock | None:
    """The columns of a batch that differ; None if there are none."""
    rows = tuple(Row.of(one["name"], one["description"], p_text(one["pvalue"])) for one in record.columns)
    columns = (BlockColumn("column", "name"), BlockColumn("what differs"), BlockColumn("adjusted p", "p"))
    title = f"Columns of {record.name} that differ"
    return TableBlock(title=title, columns=columns, rows=rows, total=len(rows)) if rows else None


def free_name(records: Sequence[BatchRecord], name: str) -> str:
    """The name itself, or the first of "name (2)", "name (3)", … that no batch has."""
    taken = {one.name for one in records}
    names = (name if k == 1 else f"{name} ({k})" for k in itertools.count(1))
    return next(one for one in names if one not in taken)
