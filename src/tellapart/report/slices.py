"""Which kinds of rows one sample has more of: readable rules, or clusters with their exemplars."""

from __future__ import annotations

from dataclasses import dataclass

from .._util.numbers import number, p_text, percent
from ..criticism import Comparison
from ..criticism.slices import Slice
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
            examples=_members(one, renderer) if not one.conditions or c.items is not None else (),
        )
        for one in c.slices
    ]
    named = tuple(one for one in shown if one.named)
    return SlicesBlock(
        section="Which kinds of rows?",
        lead=_lead(bool(named), any(one.conditions for one in c.slices)),
        template="slices.html",
        anchor="slices",
        link="Kinds of rows",
        count=f"{len(named):,} of {len(shown):,}",
        slices=named,
        others=tuple(one for one in shown if not one.named),
        sharp=renderer.sharp,
    )


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


def _members(one: Slice, renderer: RowRenderer) -> tuple[Example, ...]:
    """The most typical rows of a slice, most of them of the sample that has more."""
    many, few = ("Y", "X") if one.share_y > one.share_x else ("X", "Y")
    members = {"X": one.members_x.tolist(), "Y": one.members_y.tolist()}
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
