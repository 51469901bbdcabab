"""What a person would notice first of columns, and which are better left out: ids, running numbers, disjoint dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError, Note
from .arrays import Array
from .columns import Column
from .features import NGRAMS
from .running import YEAR, is_called_id
from .source import Rows, Source
from .tables import Table, as_names, describe_running, did_you_mean, is_identifier, is_row_number, quote_names

NoticeKind: TypeAlias = Literal[
    "same data",
    "shared rows",
    "duplicated rows",
    "disjoint ranges",
    "identifier",
    "free text",
    "constant",
    "new categories",
    "renamed columns",
]
#: Columns that are compared whatever they look like; True for all.
Keep: TypeAlias = tuple[str, ...] | bool

#: Rows of each sample from which ranges mean something.
_ROWS = 8
#: Ranges are disjoint where at most this share of the rows lies within the range of the other sample.
_OVERLAP = 0.01
#: Whole numbers of a column that is called an id, of which this share differ, are ids.
_COUNTED = 0.9
#: Years.
_YEARS = (1800, 2200)
#: Categories that are shown.
_SHOWN = 5
#: Pairs from which it is no coincidence that both samples have the same values.
_FEWEST_PAIRS = 5


@dataclass(frozen=True)
class Notice:
    """Something that is seen without any test.

    Attributes
    ----------
    kind
        ``"same data"``, ``"shared rows"`` (equal rows in both samples), ``"duplicated rows"`` (within one),
        ``"disjoint ranges"``, ``"identifier"`` (a number that counts or names rows), ``"free text"``, ``"constant"``,
        ``"new categories"`` or ``"renamed columns"``.
    columns
        The columns it is about.
    text
        A sentence.
    left_out
        Whether these columns are not compared.
    count
        How many rows, or categories, it is about; 0 where that has no meaning.
    """

    kind: NoticeKind
    columns: tuple[str, ...]
    text: str
    left_out: bool = False
    count: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values."""
        return vars(self) | {"columns": list(self.columns)}


def check_keep(keep: Any) -> Keep:
    """Columns to compare in any case, as the user gave them: names, yes to all, or nothing.

    >>> check_keep(None), check_keep("id"), check_keep(["id", 3]), check_keep(True)
    ((), ('id',), ('id', '3'), True)
    """
    return keep if isinstance(keep, bool) else () if keep is None else as_names(keep, "keep")


def check_known(keep: Keep, columns: Sequence[str]) -> None:
    """Complain about a column to be kept that is not there."""
    known = set(columns)
    strange = [name for name in keep if name not in known] if isinstance(keep, tuple) else []
    if strange:
        meant = did_you_mean(strange[0], columns)
        there = f" There are {quote_names(columns)}." if columns else ""
        problem = f"There is no column {quote_names(strange)} to keep.{meant}{there}"
        raise InputError(problem, "Correct {keep}.", keep=...)


def find_notices(
    sources: tuple[Source, Source], keep: Keep, names: Sequence[str]
) -> tuple[tuple[Source, Source], list[Notice]]:
    """Notices about columns, and the sources without those that are better left out.

    The level of a test of the other columns is hardly touched: it grows by no more than the probability that labels
    alone make the choice, as where dates do not overlap. Of eight rows against eight that is 2 / C(16, 8) = 0.00016, of
    eight pairs 2 / 2⁸, and of ever more rows it vanishes.

    Parameters
    ----------
    sources
        Two sources with the same columns, whose values need not be checked.
    keep
        Columns that are compared whatever they look like; True for all.
    names
        What to call the samples.
    """
    x, y = sources
    check_known(keep, x.columns)
    found = [*_renamed(x, y)]
    out: list[str] = []
    for name, first, second in _columns(x, y):
        notice = _notice_of_column(name, first, second, names)
        if notice is None:
            continue
        kept = keep is True or (isinstance(keep, tuple) and name in keep)
        if notice.left_out and not kept:
            out.append(name)
        else:
            notice = replace(notice, left_out=False)
        found.append(notice)
    if out and len(out) == len(x.columns):
        # Something has to be compared.
        out, found = [], [replace(notice, left_out=False) for notice in found]
    found = [replace(n, text=f"{n.text} {_left_out(n)}") if n.kind in _SUSPECT else n for n in found]
    return (_without(x, out), _without(y, out)), found


_SUSPECT = ("disjoint ranges", "identifier", "free text", "constant")


def note_left_out(noticed: Sequence[Notice]) -> tuple[str, ...]:
    """What to say of columns that were left out, and how to compare them nevertheless; constant ones in one sentence.

    >>> note_left_out([Notice("identifier", ("id",), "'id' counts the rows. It is left out.", left_out=True)])
    ("'id' counts the rows. It is left out. To compare it nevertheless, give keep='id'.",)
    """
    out = [notice for notice in noticed if notice.left_out]
    constant = [notice for notice in out if notice.kind == "constant"]
    said: list[str] = []
    for notice in out:
        name = notice.columns[0]
        if notice.kind == "free text":
            advice = "To compare it alone, as text, give {columns} and {features}."
            said.append(Note(notice.text, advice, columns=name, features=NGRAMS))
        elif notice.kind != "constant":
            said.append(Note(notice.text, "To compare it nevertheless, give {keep}.", keep=name))
    if len(constant) > 1:
        names = quote_names(name for notice in constant for name in notice.columns)
        return (*said, f"{names} have the same value in every row. They are left out.")
    return (*said, *(notice.text for notice in constant))


def note_reordered(name: str, x: Array, y: Array) -> tuple[str, ...]:
    """What makes one doubt that row i of X and row i of Y are a pair: a column that says so, in another order."""
    if not _is_reordered(x, y):
        return ()
    text = f"{name!r} has the same values in both samples, in another order."
    return (f"{text} If it says which rows are pairs, sort both by it first.",)


def note_reordered_columns(x: Source, y: Source, names: Sequence[str]) -> tuple[str, ...]:
    """`note_reordered` for some columns of two tables."""
    found: list[str] = []
    for name, first, second in _columns(x, y):
        if name in names and first.kind == second.kind:
            of_x, of_y = first.values, second.values
            if first.kind == "text":
                place = {level: k for k, level in enumerate(first.levels)}
                of_y = np.array([*(place.get(level, -2) for level in second.levels), -1])[of_y]
            found += note_reordered(name, of_x[:, None], of_y[:, None])
    return tuple(found)


def _is_reordered(first: Array, second: Array) -> bool:
    """Whether rows are mostly different (rare texts are one), and the same in both but for their order."""
    if np.array_equal(first, second):
        return False
    (distinct, counts), (other, as_often) = (np.unique(part, axis=0, return_counts=True) for part in (first, second))
    same = np.array_equal(distinct, other) and np.array_equal(counts, as_often)
    return same and len(distinct) >= max(_FEWEST_PAIRS, len(first) / 2)


def _columns(x: Source, y: Source) -> Iterator[tuple[str, Column, Column]]:
    """Columns of both, by name, as they came; none where a function of them is compared, which needs them all."""
    if x.options.features is not None:
        return
    if isinstance(x.content, Table) and isinstance(y.content, Table):
        others = {column.name: column for column in y.content.columns}
        for column in x.content.columns:
            if column.name in others:
                yield column.name, column, others[column.name]
    elif isinstance(x.content, Rows) and isinstance(y.content, Rows):
        for k, name in enumerate(x.columns):
            first, second = (np.asarray(part.content.values[:, k], float) for part in (x, y))  # type: ignore[union-attr]
            yield name, Column(name, "number", first), Column(name, "number", second)


def _notice_of_column(name: str, x: Column, y: Column, names: Sequence[str]) -> Notice | None:
    """What is to be said of one column."""
    if x.kind != y.kind or min(len(x), len(y)) < _ROWS:
        return None
    if x.kind == "text":
        return _notice_of_text(name, x, y, names)
    of_x, of_y = x.values[~x.missing], y.values[~y.missing]
    if not len(of_x) or not len(of_y) or not (np.isfinite(of_x).all() and np.isfinite(of_y).all()):
        return None
    low, high = (f(*(getattr(part, f.__name__)() for part in (of_x, of_y))) for f in (min, max))
    if low == high and not x.missing.any() and not y.missing.any():
        return Notice("constant", (name,), f"{name!r} is {x.cell(0)} in every row.", left_out=True)
    if x.kind == "boolean":
        return None
    whole = bool((of_x == np.rint(of_x)).all() and (of_y == np.rint(of_y)).all())
    distinct = min(len(np.unique(part)) / len(part) for part in (of_x, of_y)) if whole else 0.0
    called = is_called_id(name)
    counted = whole and is_row_number(x.values) and is_row_number(y.values)
    within = max(_share_within(of_x, of_y), _share_within(of_y, of_x))
    if within <= _OVERLAP and min(len(of_x), len(of_y)) >= _ROWS:
        ranges = ", ".join(
            f"{_show(x, part.min())} to {_show(x, part.max())} in {sample}"
            for part, sample in zip((of_x, of_y), names, strict=True)
        )
        # Anything else that is so far apart is a difference to be found: a measurement in other units, or broken.
        year = bool(YEAR.search(name)) and _YEARS[0] <= low and high <= _YEARS[1]
        out = x.kind == "date" or counted or (whole and (year or (called and distinct >= _COUNTED)))
        return Notice("disjoint ranges", (name,), f"The ranges of {name!r} do not overlap: {ranges}.", left_out=out)
    if x.kind == "number" and whole and distinct == 1.0 and (counted or called):
        what = describe_running(x.values) if counted else "is different in every row"
        return Notice("identifier", (name,), f"{name!r} {what}.", left_out=True)
    return None


def _notice_of_text(name: str, x: Column, y: Column, names: Sequence[str]) -> Notice | None:
    if is_identifier(x) or is_identifier(y):
        text = f"{name!r} holds text that is nearly always different (free text or identifiers)."
        return Notice("free text", (name,), text, left_out=True)
    of_x, of_y = x.used_levels(), y.used_levels()
    if len(set(of_x) | set(of_y)) == 1 and not x.missing.any() and not y.missing.any():
        return Notice("constant", (name,), f"{name!r} is {next(iter(of_x))!r} in every row.", left_out=True)
    parts = []
    for here, there, own, other in ((of_y, of_x, names[1], names[0]), (of_x, of_y, names[0], names[1])):
        new = sorted((level for level in here if level not in there), key=lambda level: -here[level])
        if new:
            rows = sum(here[level] for level in new)
            listed = quote_names(new, _SHOWN)
            parts.append(f"{listed} {'is' if len(new) == 1 else 'are'} in {own} ({rows:,} rows), never in {other}")
    if not parts:
        return None
    return Notice("new categories", (name,), f"{name!r}: {'; '.join(parts)}.", count=len(set(of_x) ^ set(of_y)))


def _share_within(values: Array, others: Array) -> float:
    return float(((values >= others.min()) & (values <= others.max())).mean())


def _show(column: Column, value: float) -> str:
    return replace(column, values=np.array([value])).cell(0)


def _left_out(notice: Notice) -> str:
    return "It is left out." if notice.left_out else "It is compared."


def _renamed(x: Source, y: Source) -> Iterator[Notice]:
    """Columns of one name, which got numbers."""
    for source in (x, y):
        again = [name for name in source.columns if re.search(r" \(\d+\)$", name)]
        known = set(source.columns)
        renamed = tuple(name for name in again if name.rsplit(" (", 1)[0] in known)
        if renamed:
            text = f"{source.label} has columns of the same name; the later ones are called {quote_names(renamed)}."
            yield Notice("renamed columns", renamed, text, count=len(renamed))


def _without(source: Source, out: list[str]) -> Source:
    """The source without some columns."""
    if not out:
        return source
    content = source.content
    if isinstance(content, Table):
        return replace(source, content=Table(tuple(c for c in content.columns if c.name not in out)))
    assert isinstance(content, Rows)
    keep = [k for k, name in enumerate(source.columns) if name not in out]
    names = tuple(source.columns[k] for k in keep)
    return replace(source, content=Rows(content.values[:, keep], names, content.from_table))
