"""Which kinds of rows one sample has more of: readable rules, or clusters with their exemplars."""

from __future__ import annotations

from dataclasses import dataclass

from ..criticism import Comparison
from ..criticism.slices import Slice as Found
from .examples import Example, Shower
from .words import number, p_text, percent

#: Exemplars of a slice.
_EXEMPLARS = 8


@dataclass(frozen=True)
class Slice:
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


@dataclass(frozen=True)
class Slices:
    """The section: what is shown to differ, and what was counted too."""

    lead: str
    slices: list[Slice]
    others: list[Slice]

    @property
    def named(self) -> int:
        """How many are shown to differ."""
        return len(self.slices)

    @property
    def total(self) -> int:
        """How many were counted."""
        return len(self.slices) + len(self.others)


def slices(c: Comparison, names: tuple[str, str], shower: Shower) -> Slices | None:
    """The section "Which kinds of rows?"; None where there are no slices."""
    if not c.slices:
        return None
    longest = max(max(one.share_x, one.share_y) for one in c.slices) or 1.0
    found = []
    for one in c.slices:
        found.append(
            Slice(
                text=one.text,
                share_x=percent(one.share_x),
                share_y=percent(one.share_y),
                length_x=100 * one.share_x / longest,
                length_y=100 * one.share_y / longest,
                more=_more(one.share_x, one.share_y, names),
                p=p_text(one.pvalue, c.min_pvalue),
                named=one in c.differing_slices,
                examples=_members(one, shower) if not one.conditions or c.items is not None else (),
            )
        )
    named, others = ([one for one in found if one.named == known] for known in (True, False))
    return Slices(_lead(bool(named), any(one.conditions for one in c.slices)), named, others)


def _lead(named: bool, rules: bool) -> str:
    if not named:
        return "Kinds of rows were looked for on one half of the rows; on the other, none is shown to differ in number."
    what = "Kinds of rows" if rules else "Clusters of rows that look alike, each with its most typical rows,"
    return (
        f"{what} that one sample has more of. They were found on one half of the rows and counted on the other, so "
        f"that the shares are honest{'; they may overlap' if rules else ''}. The p-values are adjusted for all of them."
    )


def _members(one: Found, shower: Shower) -> tuple[Example, ...]:
    """The most typical rows of a slice, most of them of the sample that has more."""
    many, few = ("Y", "X") if one.share_y > one.share_x else ("X", "Y")
    members = {"X": one.members_x.tolist(), "Y": one.members_y.tolist()}
    count = max(_EXEMPLARS * 3 // 4, _EXEMPLARS - len(members[few]))
    kept = [(many, k) for k in members[many][:count]]
    kept += [(few, k) for k in members[few][: _EXEMPLARS - len(kept)]]
    return tuple(shower.member(sample, k) for sample, k in kept)


def _more(share_x: float, share_y: float, names: tuple[str, str]) -> str:
    """How many times as frequent, and where."""
    (small, rare), (large, frequent) = sorted(((share_x, names[0]), (share_y, names[1])), key=lambda one: one[0])
    if small == 0:
        return f"none counted in {rare}"
    return f"{number(round(large / small, 1))} times as frequent in {frequent}"
