"""Which kinds of rows one sample has more of: readable rules, or clusters with their exemplars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .._util.numbers import number, p_text, percent
from ..criticism import Comparison
from ..data.arrays import Array
from ..twosample.kinds import COMPOSITIONAL, Kind
from .blocks import PictureBlock
from .examples import Example, RowRenderer

#: Exemplars of a slice.
_EXEMPLARS = 8


@dataclass(frozen=True)
class ShownSlice:
    """A slice: its rule, its shares in both samples in words and as lengths, and rows that lie in it."""

    text: str
    share_x: str
    share_y: str
    length_x: float
    length_y: float
    more: str
    p: str
    named: bool
    examples: tuple[Example, ...]


@dataclass(frozen=True, kw_only=True)
class SlicesBlock(PictureBlock):
    """Kinds of rows that are shown to differ in number, and the others."""

    slices: tuple[ShownSlice, ...]
    others: tuple[ShownSlice, ...]
    sharp: bool


def slices_block(c: Comparison, names: tuple[str, str], renderer: RowRenderer) -> SlicesBlock | None:
    """The section "Which kinds of rows?"; None if there are no slices."""
    if not c.slices:
        return None
    longest = max(max(one.share_x, one.share_y) for one in c.slices) or 1.0
    shown = [
        ShownSlice(
            text=one.text,
            share_x=percent(one.share_x),
            share_y=percent(one.share_y),
            length_x=100 * one.share_x / longest,
            length_y=100 * one.share_y / longest,
            more=_more(one.share_x, one.share_y, names),
            p=p_text(one.pvalue, c.min_pvalue),
            named=one in c.differing_slices,
            examples=_members((one.members_x, one.members_y), one.share_y > one.share_x, renderer)
            if not one.conditions or c.items is not None
            else (),
        )
        for one in c.slices
    ]
    named = tuple(one for one in shown if one.named)
    return SlicesBlock(
        section="Which slices, found on one half of the rows?",
        lead=_lead(bool(named), any(one.conditions for one in c.slices)),
        template="slices.html",
        anchor="slices",
        link="Slices",
        count=f"{len(named):,} of {len(shown):,}",
        slices=named,
        others=tuple(one for one in shown if not one.named),
        sharp=renderer.sharp,
    )


def kinds_block(c: Comparison, names: tuple[str, str], renderer: RowRenderer) -> SlicesBlock | None:
    """The section "Which kinds of rows is there more of?"; None if no kind was found."""
    if not c.kinds:
        return None
    named = c.differing_kinds()
    longest = max(max(one.shares) for one in c.kinds) or 1.0
    shown = [
        ShownSlice(
            text=one.text,
            share_x=percent(one.shares[0]),
            share_y=percent(one.shares[1]),
            length_x=100 * one.shares[0] / longest,
            length_y=100 * one.shares[1] / longest,
            more=_more_of_kind(one, names),
            p=p_text(one.pvalue, c.min_pvalue),
            named=one in named,
            examples=_members(one.members, one.shares[1] > one.shares[0], renderer)
            if not one.conditions or c.items is not None
            else (),
        )
        for one in c.kinds
    ]
    return SlicesBlock(
        section="Which kinds of rows is there more of?",
        lead="Clusters of the rows of both samples, and neighborhoods in them, counted on all rows, with p-values that "
        f"are adjusted for all of them. {COMPOSITIONAL}",
        template="slices.html",
        anchor="kinds",
        link="Kinds of rows",
        count=f"{len(named):,} of {len(shown):,}",
        slices=tuple(one for one in shown if one.named),
        others=tuple(one for one in shown if not one.named),
        sharp=renderer.sharp,
    )


def _more_of_kind(one: Kind, names: tuple[str, str]) -> str:
    """How many times as frequent, with the interval; and how well the rule describes the kind."""
    (first, second), absent = one.shares, one.relation in ("missing", "invented")
    text = f"{one.relation} in {names[1]}" if absent else _more(first, second, names)
    if one.interval is not None and one.interval[0] > 0 and math.isfinite(one.interval[1]):
        low, high = one.interval if one.ratio > 1 else (1 / one.interval[1], 1 / one.interval[0])
        text += f" ({number(round(low, 2))} to {number(round(high, 2))})"
    return f"{text}; the rule holds for {one.fit}" if one.conditions else text


def _lead(named: bool, rules: bool) -> str:
    if not named:
        return (
            "Kinds of rows were searched on one half of the rows; on the other half, none is shown to differ in number."
        )
    what = "Kinds of rows" if rules else "Clusters of similar rows, each with its most typical rows,"
    return (
        f"{what} that one sample has more of. They were found on one half of the rows and counted on the other, so "
        f"that the proportions are unbiased{'; they may overlap' if rules else ''}. The p-values are adjusted for all "
        "of them."
    )


def _members(of_samples: Sequence[Array], more: bool, renderer: RowRenderer) -> tuple[Example, ...]:
    """The most typical rows of a slice or kind, most of them of the sample that has more."""
    many, few = ("Y", "X") if more else ("X", "Y")
    members = {name: part[:_EXEMPLARS].tolist() for name, part in zip("XY", of_samples, strict=True)}
    count = max(_EXEMPLARS * 3 // 4, _EXEMPLARS - len(members[few]))
    kept = [(many, k) for k in members[many][:count]]
    kept += [(few, k) for k in members[few][: _EXEMPLARS - len(kept)]]
    return tuple(renderer.member(sample, k) for sample, k in kept)


def _more(share_x: float, share_y: float, names: tuple[str, str]) -> str:
    """How many times as frequent, and where."""
    (small, rare), (large, frequent) = sorted(((share_x, names[0]), (share_y, names[1])), key=lambda one: one[0])
    if small == 0:
        return f"none counted in {rare}"
    return f"{number(round(large / small, 1))} times as frequent in {frequent}"
