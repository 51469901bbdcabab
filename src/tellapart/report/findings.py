"""Findings as rows of a table: what differs, by how much, how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..stats.pvalues import rejects
from ..twosample.findings import Finding
from .words import number, p_text, signed

#: What an effect is measured in.
UNITS = {"location": "SD", "shape": "SD", "scale": "times the SD", "share": "points", "dependence": "correlation"}
#: What differs, in a word.
KINDS = {"location": "level", "scale": "spread", "shape": "shape", "share": "shares", "dependence": "dependence"}


@dataclass(frozen=True)
class EffectBar:
    """An effect on an axis that all effects of its unit share; places in per cent of it, with 0 in the middle."""

    place: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """A finding, ready to be laid out; ``size`` and ``pvalue`` are what rows are sorted by."""

    name: str
    named: bool
    kind: str
    description: str
    effect: str
    interval: str
    unit: str
    size: float
    bar: EffectBar | None
    p: str
    p_alone: str
    pvalue: float


def rows_of(found: Sequence[Finding], alpha: float, reject: bool, floor: float) -> list[Row]:
    """Rows of a table.

    Parameters
    ----------
    found
        Columns or pairs.
    alpha
        The level at which they are named, all of them together.
    reject
        Whether the whole test rejects: nothing is named where it does not.
    floor
        The smallest p-value there can be.
    """
    reach: dict[str, float] = {}
    for one in found:
        unit = UNITS.get(one.kind, "")
        ends = [abs(end) for end in (one.effect, *interval_of(one)) if math.isfinite(end)]
        reach[unit] = max([reach.get(unit, 0.0), *ends])
    return [_row(one, alpha, reject, floor, reach[UNITS.get(one.kind, "")]) for one in found]


def effect_text(kind: str, effect: float) -> str:
    """An effect in the unit of its kind: ratios for spreads, per cent for shares.

    >>> effect_text("scale", -0.36), effect_text("share", 0.085), effect_text("location", 0.25)
    ('0.70', '+8.5', '+0.25')
    """
    if kind == "scale" and math.isfinite(effect):
        ratio = math.exp(min(effect, 700.0))
        return f"{ratio:.2f}" if 0.1 <= ratio < 10 else number(ratio)
    return signed(100 * effect if kind == "share" else effect)


def interval_of(one: Finding) -> tuple[float, float]:
    """The interval of an effect, or not-a-number where it has none."""
    interval = one.interval
    return (math.nan, math.nan) if interval is None else (float(interval[0]), float(interval[1]))


def _row(one: Finding, alpha: float, reject: bool, floor: float, reach: float) -> Row:
    low, high = interval_of(one)
    known = math.isfinite(low) and math.isfinite(high)
    bar = None
    if math.isfinite(one.effect) and reach > 0:
        place, start, end = (
            50 + 48 * v / reach for v in (one.effect, low if known else one.effect, high if known else one.effect)
        )
        bar = EffectBar(place, start, end)
    return Row(
        name=one.name,
        named=reject and rejects(one.pvalue, alpha),
        kind=KINDS.get(one.kind, one.kind),
        description=one.description,
        effect=effect_text(one.kind, one.effect),
        interval=f"{effect_text(one.kind, low)} to {effect_text(one.kind, high)}" if known else "",
        unit=UNITS.get(one.kind, ""),
        size=abs(one.effect) if math.isfinite(one.effect) else -1.0,
        bar=bar,
        p=p_text(one.pvalue, floor),
        p_alone=number(one.pvalue_unadjusted),
        pvalue=one.pvalue,
    )
