"""The top of the page: the verdict, its numbers, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass

from ..criticism import Comparison
from .svg import number


@dataclass(frozen=True)
class Tile:
    """A number with its name and what to know about it; ``gauge`` fills a bar, in per cent."""

    name: str
    value: str
    text: str
    gauge: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether the samples differ, in a sentence, a second one below, numbers, and paragraphs."""

    differ: bool
    sentence: str
    detail: str
    tiles: list[Tile]
    words: list[str]


def verdict(c: Comparison, names: tuple[str, str]) -> Verdict:
    """The top of the page."""
    sentence = "The samples differ." if c.reject() else f"No difference is seen at level {c.alpha:g}."
    return Verdict(c.reject(), sentence, _detail(c), _tiles(c), _words(c, names))


def _detail(c: Comparison) -> str:
    found = f"{c.pvalue_text()}, {c.permutations:,} permutations."
    return f"{found} By the witness function the two are {c.separability_grade} separable." if c.reject() else found


def _tiles(c: Comparison) -> list[Tile]:
    split = c.split
    tested, learned = (len(split.test_x), len(split.test_y)), (len(split.train_x), len(split.train_y))
    rule = "the smallest that so many draws can give" if c.at_floor else f"{c.permutations:,} relabellings"
    distance = c.kernel.distance_name
    # Where the statistic is itself a distance it has a sign, which says whether the difference is the one learned.
    size = c.statistic if c.kernel.statistic_name == distance else c.distance
    return [
        Tile("p-value", f"{'≤ ' if c.at_floor else ''}{number(c.pvalue)}", rule),
        Tile(
            "Separability (AUC)",
            f"{c.auc:.3f}",
            "0.5: not at all, 1: entirely",
            gauge=100 * min(1.0, max(0.0, 2 * c.auc - 1)),
        ),
        Tile(f"{distance[0].upper()}{distance[1:]}", number(size), _distance_text(c)),
        Tile(
            "Rows tested",
            f"{tested[0]:,} + {tested[1]:,}",
            f"learned from {learned[0]:,} + {learned[1]:,} others",
        ),
    ]


def _distance_text(c: Comparison) -> str:
    return (
        "distance under the learned kernel" if c.kernel.witness_function is None else "of the learned witness function"
    )


def _words(c: Comparison, names: tuple[str, str]) -> list[str]:
    """What the numbers mean."""
    level = f"{100 * c.alpha:g} %"
    if c.reject():
        first = (
            "The p-value is the share of random relabellings that look at least as different as the samples do. "
            f"If both came from one source, a difference like this would be reported in at most {level} of cases."
        )
    else:
        first = (
            "The p-value is the share of random relabellings that look at least as different as the samples do. "
            "This one is no evidence of a difference; nor does it prove that there is none: with more rows, a small "
            "difference may still show."
        )
    auc = (
        f"How large is it? Take one row of {names[0]} and one of {names[1]}: by their witness values you would guess "
        f"which is which in {_percent(max(c.auc, 1 - c.auc))} of cases. Guessing blindly gives 50 %."
    )
    large = (
        "Significant is not the same as large: with enough rows, every difference becomes significant, also one that "
        "does not matter. Judge by the separability, and by what differs below."
    )
    return [first, auc, large]


def _percent(share: float) -> str:
    return f"{100 * share:.{1 if share >= 0.985 else 0}f} %"
