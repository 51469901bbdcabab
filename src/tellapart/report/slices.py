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
    ratio: str
    p: str
    named: bool
    more: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Slices:
    """The section."""

    lead: str
    slices: list[Slice]


def slices(c: Comparison, names: tuple[str, str], shower: Shower) -> Slices | None:
    """The section "Which kinds of rows?"; None where there are no slices."""
    if not c.slices:
        return None
    longest = max(max(one.share_x, one.share_y) for one in c.slices) or 1.0
    found = []
    for one in c.slices:
        more = 1 if one.share_y > one.share_x else 0
        found.append(
            Slice(
                text=one.text,
                share_x=percent(one.share_x),
                share_y=percent(one.share_y),
                length_x=100 * one.share_x / longest,
                length_y=100 * one.share_y / longest,
                ratio=_ratio(one.share_x, one.share_y),
                p=p_text(one.pvalue, c.pvalue_floor),
                named=one in c.named_slices,
                more=names[more],
                examples=_members(one, shower) if shower.images or c.items is not None else (),
            )
        )
    lead = (
        "Kinds of rows that one sample has more of. They were found on one half of the rows and counted on the other, "
        "so that the shares are honest; the p-values are adjusted for all of them."
    )
    return Slices(lead, found)


def _members(one: Found, shower: Shower) -> tuple[Example, ...]:
    """The most typical rows of a slice, most of them of the sample that has more."""
    many, few = ("Y", "X") if one.share_y > one.share_x else ("X", "Y")
    members = {"X": one.members_x.tolist(), "Y": one.members_y.tolist()}
    count = max(_EXEMPLARS * 3 // 4, _EXEMPLARS - len(members[few]))
    kept = [(many, k) for k in members[many][:count]]
    kept += [(few, k) for k in members[few][: _EXEMPLARS - len(kept)]]
    return tuple(shower.member(sample, k) for sample, k in kept)


def _ratio(share_x: float, share_y: float) -> str:
    """How many times as frequent."""
    small, large = sorted((share_x, share_y))
    return f"{number(round(large / small, 1))} times as many" if small > 0 else "Only"
