"""What is seen of columns without a test, and the samples without those that are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError, Note
from .arrays import Array
from .columns import Column, concatenate_columns
from .features import NGRAMS
from .left_out import ROWS, find_reason
from .source import Rows, Source
from .tables import Table, as_names, did_you_mean, quote_names

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
    """Complain about a column to be kept that is not there."""
    known = set(columns)
    strange = [name for name in keep if name not in known] if isinstance(keep, tuple) else []
    if strange:
        meant = did_you_mean(strange[0], columns)
        there = f" There are {quote_names(columns)}." if columns else ""
        problem = f"There is no column {quote_names(strange)} to keep.{meant}{there}"
        raise InputError("unknown-column", problem, "Correct {keep_columns}.", keep_columns=...)


def find_notices(
    sources: Sequence[Source], keep: Keep, names: Sequence[str], sizes: Sequence[int] | None = None
) -> tuple[tuple[Source, ...], list[Notice]]:
    """Notices about columns, and the sources without those that are left out by the rule of `left_out`.

    Parameters
    ----------
    sources
        One or more sources with the same columns, each read in one way, whose values need not be checked.
    keep
        Columns that are compared whatever they look like; True for all.
    names
        What to call the samples.
    sizes
        How many rows the samples have, if they are all in one source.
    """
    check_known(keep, sources[0].columns)
    sizes = [len(source) for source in sources] if sizes is None else sizes
    found = [*_renamed(sources)]
    out: list[str] = []
    for name, columns in _columns(sources):
        notice = _notice_of_column(name, columns, names, sizes)
        if notice is None:
            continue
        kept = keep is True or (isinstance(keep, tuple) and name in keep)
        if notice.left_out and not kept and isinstance(sources[0].content, Table):
            out.append(name)
        else:
            notice = replace(notice, left_out=False)
        found.append(notice)
    if out and len(out) == len(sources[0].columns):
        # Something has to be compared.
        out, found = [], [replace(notice, left_out=False) for notice in found]
    found = [replace(n, text=f"{n.text} {_left_out(n)}") if n.kind in _SUSPECT else n for n in found]
    return tuple(_without(source, out) for source in sources), found


_SUSPECT = ("disjoint ranges", "identifier", "date", "free text", "constant")


def leave_out(
    sources: Sequence[Source],
    keep: Keep,
    names: Sequence[str],
    paired: bool = False,
    sizes: Sequence[int] | None = None,
) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Tables without the columns that are left out, and notes on these; all else as it is."""
    if keep is True:
        return tuple(sources), ()
    if not all(isinstance(source.content, Table) for source in sources):
        check_known(keep, sources[0].columns)
        return tuple(sources), ()
    chosen, noticed = find_notices(sources, keep, names, sizes)
    out = [name for notice in noticed if notice.left_out for name in notice.columns]
    return chosen, (*note_left_out(noticed), *(note_reordered_columns(sources[0], sources[1], out) if paired else ()))


def leave_out_alone(source: Source, keep: Keep) -> tuple[Source, tuple[str, ...], tuple[str, ...]]:
    """A reference without the columns that are left out, their names, and notes.

    What is constant in a reference is compared: a batch in which it varies has changed.
    """
    if keep is True or not isinstance(source.content, Table):
        check_known(keep, source.columns)
        return source, (), ()
    _, noticed = find_notices((source,), keep, (source.name,))
    out = [notice for notice in noticed if notice.left_out and notice.kind != "constant"]
    names = tuple(notice.columns[0] for notice in out)
    if len(names) == len(source.columns):
        return source, (), ()
    return _without(source, list(names)), names, note_left_out(out, "keep_columns")


def note_left_out(noticed: Sequence[Notice], option: str = "keep_columns") -> tuple[str, ...]:
    """What to say of columns that were left out, and how to compare them nevertheless; constant ones in one sentence.

    >>> note_left_out([Notice("identifier", ("id",), "'id' counts the rows. It is left out.", left_out=True)])
    ("'id' counts the rows. It is left out. To compare it nevertheless, give keep_columns='id'.",)
    """
    out = [notice for notice in noticed if notice.left_out]
    constant = [notice for notice in out if notice.kind == "constant"]
    said: list[str] = []
    for notice in out:
        name = notice.columns[0]
        if notice.kind == "free text":
            advice = "To compare it alone, as text, give {columns} and {features}."
            said.append(Note("free-text-left-out", notice.text, advice, columns=name, features=NGRAMS))
        elif notice.kind != "constant":
            said.append(
                Note(
                    "column-left-out", notice.text, f"To compare it nevertheless, give {{{option}}}.", **{option: name}
                )
            )
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
    for name, (first, second) in _columns((x, y)):
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


def _columns(sources: Sequence[Source]) -> Iterator[tuple[str, list[Column]]]:
    """Columns of all samples, by name; none where a function of them is compared, which needs them all."""
    if sources[0].options.features is not None:
        return
    contents = [source.content for source in sources]
    tables = [content for content in contents if isinstance(content, Table)]
    rows = [content for content in contents if isinstance(content, Rows)]
    if len(tables) == len(sources):
        others = [{column.name: column for column in table.columns} for table in tables[1:]]
        for column in tables[0].columns:
            if all(column.name in other for other in others):
                yield column.name, [column, *(other[column.name] for other in others)]
    elif len(rows) == len(sources):
        for k, name in enumerate(sources[0].columns):
            yield name, [Column(name, "number", np.asarray(part.values[:, k], float)) for part in rows]


def _notice_of_column(
    name: str, columns: Sequence[Column], names: Sequence[str], sizes: Sequence[int]
) -> Notice | None:
    """What is to be said of one column."""
    if len({column.kind for column in columns}) > 1 or min(sizes) < ROWS:
        return None
    reason = find_reason(concatenate_columns(columns), sizes)
    if reason is not None:
        return Notice(reason.kind, (name,), reason.text, left_out=True)
    if len(columns) != 2:
        return None
    x, y = columns
    return _new_categories(name, x, y, names) if x.kind == "text" else _disjoint_ranges(name, x, y, names)


def _disjoint_ranges(name: str, x: Column, y: Column, names: Sequence[str]) -> Notice | None:
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
        f"{_show(x, part.min())} to {_show(x, part.max())} in {sample}"
        for part, sample in zip((of_x, of_y), names, strict=True)
    )
    return Notice("disjoint ranges", (name,), f"The ranges of {name!r} do not overlap: {ranges}.")


def _new_categories(name: str, x: Column, y: Column, names: Sequence[str]) -> Notice | None:
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


def _show(column: Column, value: float) -> str:
    return replace(column, values=np.array([value]), texts=None).cell(0)


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
