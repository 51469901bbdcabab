"""What is seen of columns without a test, and the samples without those that are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError, Note
from .arrays import Array
from .columns import TableColumn
from .features import NGRAMS
from .names import as_names, did_you_mean, quote_names
from .profile import ROWS, Profile, show_value
from .source import Source

NoticeKind: TypeAlias = Literal[
    "same data",
    "shared rows",
    "duplicated rows",
    "disjoint ranges",
    "identifier",
    "date",
    "free text",
    "constant",
    "new categories",
    "renamed columns",
]
#: Columns that are compared whatever they look like; True for all.
Keep: TypeAlias = tuple[str, ...] | bool

#: Ranges are disjoint where at most this share of the rows lies within the range of the other sample.
_OVERLAP = 0.01
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
        ``"disjoint ranges"``, ``"identifier"`` (a number that counts or names rows), ``"date"``, ``"free text"``,
        ``"constant"``, ``"new categories"`` or ``"renamed columns"``.
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
    return keep if isinstance(keep, bool) else () if keep is None else as_names(keep, "keep_columns")


def check_known(keep: Keep, columns: Sequence[str]) -> None:
    """Raise `InputError` for a column to be kept that does not exist."""
    known = set(columns)
    strange = [name for name in keep if name not in known] if isinstance(keep, tuple) else []
    if strange:
        meant = did_you_mean(strange[0], columns)
        there = f" There are {quote_names(columns)}." if columns else ""
        problem = f"There is no column {quote_names(strange)} to keep.{meant}{there}"
        raise InputError("unknown-column", problem, "Correct {keep_columns}.", keep_columns=...)


def find_notices(
    sources: Sequence[Source],
    keep: Keep,
    names: Sequence[str],
    profiles: Mapping[str, Profile],
    keep_constants: bool = False,
) -> list[Notice]:
    """Notices about columns, among them those that are left out by the rule of `profile`.

    Parameters
    ----------
    sources
        One or more sources with the same columns, each read in one way, whose values need not be checked.
    keep
        Columns that are compared whatever they look like; True for all.
    names
        What to call the samples.
    profiles
        What is known about the columns, by name.
    keep_constants
        Whether columns with one value are compared.
    """
    check_known(keep, sources[0].columns)
    found = [*_renamed(sources)]
    if sources[0].options.by_features:  # a function of the columns needs them all
        return found
    table, out = bool(sources[0].content.columns), 0
    for name, profile in profiles.items():
        notice = _notice_of_column(name, profile, names)
        if notice is None:
            continue
        kept = keep is True or (isinstance(keep, tuple) and name in keep)
        if notice.left_out and not kept and table:
            out += 1
        else:
            notice = replace(notice, left_out=False)
        found.append(notice)
    if out == len(sources[0].columns):  # something has to be compared
        found = [replace(notice, left_out=False) for notice in found]
    if keep_constants:
        found = [replace(notice, left_out=False) if notice.kind == "constant" else notice for notice in found]
    return [replace(n, text=f"{n.text} {_left_out(n)}") if n.kind in _SUSPECT else n for n in found]


_SUSPECT = ("disjoint ranges", "identifier", "date", "free text", "constant")


def columns_left_out(noticed: Sequence[Notice]) -> tuple[str, ...]:
    """The columns that are not compared."""
    return tuple(name for notice in noticed if notice.left_out for name in notice.columns)


def note_left_out(noticed: Sequence[Notice]) -> tuple[Note, ...]:
    """What to say of columns that were left out, and how to compare them nevertheless; constant ones in one sentence.

    >>> note_left_out([Notice("identifier", ("id",), "'id' counts the rows. It is left out.", left_out=True)])
    ("'id' counts the rows. It is left out. To compare it nevertheless, give keep_columns='id'.",)
    """
    out = [notice for notice in noticed if notice.left_out]
    constant = [notice for notice in out if notice.kind == "constant"]
    said: list[Note] = []
    for notice in out:
        name = notice.columns[0]
        if notice.kind == "free text":
            advice = "To compare it alone, as text, give {columns} and {features}."
            said.append(Note("free-text-left-out", notice.text, advice, columns=name, features=NGRAMS))
        elif notice.kind != "constant":
            advice = "To compare it nevertheless, give {keep_columns}."
            said.append(Note("column-left-out", notice.text, advice, keep_columns=name))
    if len(constant) > 1:
        names = quote_names(name for notice in constant for name in notice.columns)
        text = f"{names} have the same value in every row. They are left out."
        return (*said, Note("constant-columns-left-out", text))
    return (*said, *(Note("constant-columns-left-out", notice.text) for notice in constant))


def note_reordered(name: str, x: Array, y: Array) -> tuple[str, ...]:
    """What makes one doubt that row i of X and row i of Y are a pair: a column that says so, in another order."""
    if not _is_reordered(x, y):
        return ()
    text = f"{name!r} has the same values in both samples, in another order."
    return (Note("reordered-pairs", f"{text} If it says which rows are pairs, sort both by it first."),)


def note_reordered_columns(x: Source, y: Source, names: Sequence[str]) -> tuple[str, ...]:
    """`note_reordered` for some columns of two tables."""
    found: list[str] = []
    for first, second in ((x.column(name), y.column(name)) for name in names):
        if first is not None and second is not None and first.kind == second.kind:
            of_x, of_y = first.values, second.values
            if first.kind == "text":
                place = {level: k for k, level in enumerate(first.levels)}
                of_y = np.array([*(place.get(level, -2) for level in second.levels), -1])[of_y]
            found += note_reordered(first.name, of_x[:, None], of_y[:, None])
    return tuple(found)


def _is_reordered(first: Array, second: Array) -> bool:
    """Whether rows are mostly different (rare texts are one), and the same in both but for their order."""
    if np.array_equal(first, second):
        return False
    (distinct, counts), (other, as_often) = (np.unique(part, axis=0, return_counts=True) for part in (first, second))
    same = np.array_equal(distinct, other) and np.array_equal(counts, as_often)
    return same and len(distinct) >= max(_FEWEST_PAIRS, len(first) / 2)


def _notice_of_column(name: str, profile: Profile, names: Sequence[str]) -> Notice | None:
    """What is to be reported about one column."""
    if min(profile.sizes) < ROWS:
        return None
    reason = profile.why_left_out
    if reason is not None:
        return Notice(reason.kind, (name,), reason.text, left_out=True)
    if len(profile.parts) != 2:
        return None
    x, y = profile.parts
    return _new_categories(name, x, y, names) if x.kind == "text" else _disjoint_ranges(name, x, y, names)


def _disjoint_ranges(name: str, x: TableColumn, y: TableColumn, names: Sequence[str]) -> Notice | None:
    """A difference that no test is needed for."""
    of_x, of_y = x.values[~x.missing], y.values[~y.missing]
    if (
        x.kind == "boolean"
        or min(len(of_x), len(of_y)) < ROWS
        or not (np.isfinite(of_x).all() and np.isfinite(of_y).all())
    ):
        return None
    if max(_share_within(of_x, of_y), _share_within(of_y, of_x)) > _OVERLAP:
        return None
    ranges = ", ".join(
        f"{show_value(x, part.min())} to {show_value(x, part.max())} in {sample}"
        for part, sample in zip((of_x, of_y), names, strict=True)
    )
    return Notice("disjoint ranges", (name,), f"The ranges of {name!r} do not overlap: {ranges}.")


def _new_categories(name: str, x: TableColumn, y: TableColumn, names: Sequence[str]) -> Notice | None:
    of_x, of_y = x.used_levels(), y.used_levels()
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


def _left_out(notice: Notice) -> str:
    return "It is left out." if notice.left_out else "It is compared."


def _renamed(sources: Sequence[Source]) -> Iterator[Notice]:
    """Columns of one name, which got numbers."""
    for source in sources:
        again = [name for name in source.columns if re.search(r" \(\d+\)$", name)]
        known = set(source.columns)
        renamed = tuple(name for name in again if name.rsplit(" (", 1)[0] in known)
        if renamed:
            text = f"{source.label} has columns of the same name; the later ones are called {quote_names(renamed)}."
            yield Notice("renamed columns", renamed, text, count=len(renamed))
