"""The top of the page: the verdict, its numbers, what was found in short, and what a person would notice first."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import numpy as np

from .._util.errors import spell_keyword
from ..criticism import Comparison
from .pixels import pixel_map_of
from .words import clip, number, p_sentence, p_text, percent

#: Columns that are named in a sentence, and characters of their names.
_NAMED, _NAME = 3, 60


@dataclass(frozen=True)
class Tile:
    """A number with its name and what to know about it."""

    name: str
    value: str
    text: str


@dataclass(frozen=True)
class Point:
    """A sentence of what was found, and the section that says more; ``strong`` is what it begins with."""

    strong: str
    text: str
    section: str


@dataclass(frozen=True)
class Verdict:
    """Whether the samples differ, in a sentence, a second one below, numbers, and what was found in short."""

    differ: bool
    sentence: str
    detail: str
    tiles: list[Tile]
    points: list[Point]
    noticed: list[str]


def verdict(c: Comparison, names: tuple[str, str], command: str | None = None) -> Verdict:
    """The top of the page."""
    sentence = "The samples differ." if c.reject() else f"No difference is seen at level {c.alpha:g}."
    return Verdict(c.reject(), sentence, _detail(c), _tiles(c), _points(c, names), _noticed(c, command))


def _noticed(c: Comparison, command: str | None) -> list[str]:
    """What a person would notice first, and what can be done about columns that were left out."""
    return [*(notice.text for notice in c.noticed), *c.advice(_spell_flag if command else spell_keyword)]


def _spell_flag(name: str, value: str | list[str]) -> str:
    return f"--{name} {shlex.quote(value if isinstance(value, str) else ','.join(value))}"


def _detail(c: Comparison) -> str:
    p = p_sentence(c.pvalue, c.min_pvalue)
    if c.learned is not None and len(c.learned.halves) > 1:
        found = f"{p}, from both halves together."
    else:
        null = np.asarray(c.null_distribution)
        # As the p-value counts them, ties within rounding included.
        reach = int((null >= c.statistic).sum()) if c.learned else round(c.pvalue * (len(null) + 1)) - 1
        look = "none looks" if not reach else "1 looks" if reach == 1 else f"{reach:,} look"
        drawn = f"{c.permutations:,} random relabellings of the {c.permuted_unit}"
        found = f"{p}: of {drawn}, {look} as different as the samples do."
    if c.reject():
        return (
            f"{found} If both came from one source, this verdict would be given in at most {percent(c.alpha)} of cases."
        )
    return f"{found} That is no evidence of a difference; nor does it prove that there is none."


def _tiles(c: Comparison) -> list[Tile]:
    rule = "the smallest there can be" if c.at_floor else f"{c.permutations:,} relabellings"
    low, high = c.auc_interval
    distance = c.distance_name
    reach = "" if c.distance_interval is None else "95 %: {} to {}".format(*map(number, c.distance_interval))
    tiles = [
        Tile("p-value", p_text(c.pvalue, c.min_pvalue), rule),
        Tile("Separability (AUC)", f"{c.auc:.3f}", f"95 %: {low:.3f} to {high:.3f}"),
        Tile(f"{distance[0].upper()}{distance[1:]}", number(c.distance), reach or "under the learned kernel"),
    ]
    if c.learned is None:
        used = "drawn at random" if c.settings.reading.max_rows else "all of them tested"
        return [*tiles, Tile("Rows", f"{len(c.x):,} + {len(c.y):,}", used)]
    split = c.learned.split
    learned = f"learned from {len(split.train_x):,} + {len(split.train_y):,} others"
    return [*tiles, Tile("Rows tested", f"{len(split.test_x):,} + {len(split.test_y):,}", learned)]


def _points(c: Comparison, names: tuple[str, str]) -> list[Point]:
    """What was found, in the order of the page."""
    guess = (
        "Given one row of each sample, the function that was learned guesses which is which in "
        f"{percent(max(c.auc, 0.5))} of cases, where 50 % is guessing blindly"
    )
    grade = c.separability_grade
    strong = f"{grade[0].upper()}{grade[1:]} separable."
    if not c.reject():
        most = percent(c.auc_interval[1])
        text = f"{guess}; with 95 % confidence, in no more than {most}. {c.over_strata}"
        points = [Point(strong, text.rstrip(), "size")]
        if c.columns:
            points.append(
                Point("Nothing is named.", "No column may be blamed where the whole shows no difference.", _section(c))
            )
        return points
    points = [Point(strong, f"{guess}. {c.over_strata}".rstrip(), "size")]
    if c.columns:
        points.append(_columns_point(c))
    if c.differing_pairs():
        one, count = c.differing_pairs()[0], len(c.differing_pairs())
        strong = (
            "One pair of columns goes together differently."
            if count == 1
            else f"{count:,} pairs of columns go together differently."
        )
        points.append(Point(strong, f"{_first(count)}{clip(one.name, _NAME)}: {one.description}.", "pairs"))
    if c.differing_slices:
        kind, count = c.differing_slices[0], len(c.differing_slices)
        strong = (
            "One kind of rows is more frequent in one sample."
            if count == 1
            else f"{count:,} kinds of rows are more frequent in one sample."
        )
        shares = f"{percent(kind.share_x)} of {names[0]}, {percent(kind.share_y)} of {names[1]}"
        points.append(Point(strong, f"{_first(count)}{clip(kind.text, 2 * _NAME)}: {shares}.", "slices"))
    if c.learned is not None and c.weights is not None:
        leading = ", ".join(f"{clip(name, _NAME)} ({weight:.2f})" for name, weight in c.weights.leading(_NAMED))
        points.append(Point("Largest weights.", f"{leading}.", "weights"))
    return points


def _columns_point(c: Comparison) -> Point:
    what, named, total = "column", len(c.differing_columns()), len(c.columns)
    drawn = pixel_map_of(c.columns, c.column_alpha(), True, c.x.image_shape)
    if drawn is not None:
        # As the map counts them: also those that never vary, and the colours of a pixel as one.
        what, named, total = "pixel", int(drawn.named.sum()), drawn.named.size
    if not named:
        why = f"The difference lies in how {what}s go together, or in several of them that are not sure one by one."
        return Point(f"No single {what} is shown to differ.", why, _section(c))
    if named == total:
        strong = f"The {what} differs." if total == 1 else f"All {total:,} {what}s differ."
    else:
        strong = f"{named:,} of {total:,} {what}s {'differs' if named == 1 else 'differ'}."
    if what == "pixel":
        return Point(strong, "The map shows where, and which sample is brighter there.", _section(c))
    words = "; ".join(f"{clip(one.name, _NAME)}: {one.description}" for one in c.differing_columns()[:_NAMED])
    return Point(strong, f"{words}{'; …' if named > _NAMED else '.'}", "columns")


def _section(c: Comparison) -> str:
    """Where the columns are: those of images are pixels."""
    return "columns" if pixel_map_of(c.columns) is None else "pixels"


def _first(count: int) -> str:
    return "" if count == 1 else "The first: "
