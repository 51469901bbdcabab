"""What the texts of a column say: numbers, dates, yes and no, or no more than texts. Decided once, on all samples.

A sample alone may lack the value that decides: the 1.234.567 that makes 1.234 a thousand, the X among the codes 1 to 4,
the postcode that begins with 0, the 31 that tells the day from the month. Formats therefore leave texts as they are
written, and `read_texts` reads those of all samples together. A batch is read as its reference was (`read_like`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .arrays import check_whole
from .columns import ColumnKind, TableColumn, as_codes
from .content import TableContent
from .dates import is_iso_date, parse_iso_date
from .numerals import code_width, looks_like, read_written
from .profile import MANY_TEXTS
from .source import Source

#: Reads columns of the k-th source again, as text; None where they were not text.
Reread = Callable[[int, tuple[str, ...]], "dict[str, TableColumn] | None"]

#: What programs write where a number is missing, in lower case.
_MISSING = {"na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nat"}
_MISSING |= {"1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"}
_BOOLEANS = {word: float(word.lower() == "true") for word in ("true", "True", "TRUE", "false", "False", "FALSE")}


class _Reading(NamedTuple):
    """What some different texts say: their values, without those that stand for missing ones; none for mere texts."""

    kind: ColumnKind
    values: dict[str, float]
    how: str = ""
    remark: str = ""
    problem: str = ""


def read_texts(sources: Sequence[Source], reread: Reread | None = None) -> tuple[Source, ...]:
    """Sources whose columns of text are read, each column in one way in all of them.

    Files of text have no types. Numbers that the parser of such a file has read are read again as text, by ``reread``,
    if other samples have texts in that column that are not plain numbers.
    """
    given = [{column.name: column for column in source.content.columns} for source in sources]
    found: list[dict[str, TableColumn]] = [{} for _ in sources]

    def read(names: Iterable[str]) -> None:
        for name in names:
            there = [k for k, own in enumerate(given) if name in own]
            columns = read_columns([given[k][name] for k in there], [sources[k].label for k in there])
            for k, column in zip(there, columns, strict=True):
                found[k][name] = column

    read(dict.fromkeys(name for own in given for name in own))
    # Numbers that a parser read are plain ones, but with texts of other samples that are not they may mean otherwise.
    odd = {
        name
        for own, columns in zip(given, found, strict=True)
        for name in own
        if _is_odd_text(own[name], columns[name])
    }
    again = [tuple(name for name, column in own.items() if name in odd and not _is_text(column)) for own in given]
    if reread is not None and any(again):
        for k, names in enumerate(again):
            given[k].update((reread(k, names) if names else None) or {})
        read(odd)
    return tuple(
        _with_columns(source, tuple(found[k][name] for name in source.columns)) if found[k] else source
        for k, source in enumerate(sources)
    )


def read_columns(columns: Sequence[TableColumn], labels: Sequence[str]) -> list[TableColumn]:
    """The column of each sample, of one kind where they can be: texts are read, and what has no value has no kind.

    ``labels`` are what to call the samples in errors.

    >>> short, long = (TableColumn("v", "text", np.array([0, 1]), levels) for levels in (("1.5", "2"), ("1,5", "2,25")))
    >>> [column.kind for column in read_columns([short, long], "XY")], read_columns([long], "X")[0].values.tolist()
    (['text', 'text'], [1.5, 2.25])
    """
    columns = [column if column.texts is None else column.texts for column in columns]
    texts = [column for column in columns if column.kind == "text" and not column.missing.all()]
    if texts:
        columns = _read_together(columns, texts, labels)
    kinds = {column.kind for column in columns if not column.missing.all()}
    kinds = {"number"} if kinds == {"number", "boolean"} else kinds or {columns[0].kind}
    if len(kinds) != 1:
        return list(columns)
    kind = kinds.pop()
    return [column if column.kind == kind else column.as_kind(kind) for column in columns]


def read_like(column: TableColumn, kind: str, how: str, label: str, known: Sequence[str] = ()) -> TableColumn:
    """A column of further rows, read as the one before was: a batch alone may be understood otherwise.

    Parameters
    ----------
    column
        The column as it came.
    kind, how
        What the one before holds, and how it was written (`TableColumn.how`).
    label
        What to call the further rows in errors.
    known
        The texts of the one before: whole numbers are texts where some of these are numbers.
    """
    text = column if column.kind == "text" else column.texts
    if text is not None and not text.categorical:
        way = how or ("plain" if kind == "number" else None)
        column = text if kind == "text" else _take_values(text, _read_levels(_used_levels([text]), way), label)
    if kind == "text" and column.kind == "number" and any(looks_like(level) == "number" for level in known):
        return as_codes(column, code_width(known)) or column
    if kind == "number" and column.kind == "text" and code_width(column.levels) is not None:
        # The one before happened to have no code that begins with 0, so that its codes are numbers.
        return _take_values(
            column, _Reading("number", {level: float(level) for level in column.levels}, "plain"), label
        )
    return column


def _is_text(column: TableColumn) -> bool:
    return column.kind == "text" or column.texts is not None


def _used_levels(columns: Sequence[TableColumn]) -> list[str]:
    """The different texts that occur in some columns."""
    return list(dict.fromkeys(level for column in columns for level in column.used_levels()))


def _stands_for_missing(text: str) -> bool:
    """Whether a text is one that programs write where a number is missing.

    >>> [_stands_for_missing(text) for text in ("NA", "n/a", "-", "Namibia")]
    [True, True, False, False]
    """
    return text.lower() in _MISSING


def _read_levels(levels: Sequence[str], how: str | None = None) -> _Reading:
    """The texts as numbers, dates, or yes and no, if all of them are such; in the way ``how`` if it is given."""
    there = [level for level in levels if not _stands_for_missing(level)]
    if there and how in (None, "iso") and all(map(is_iso_date, there)):
        try:
            return _Reading("date", {level: parse_iso_date(level) for level in there}, "iso")
        except ValueError:
            pass  # 2024-13-45 looks like a date, but is none
    if there and all(level in _BOOLEANS for level in there):
        return _Reading("boolean", {level: _BOOLEANS[level] for level in there})
    written = read_written(there, None if how == "iso" else how)
    if written is not None and not written.problem:
        return _Reading(written.kind, dict(zip(there, written.values, strict=True)), written.how, written.remark)
    code = next((level for level in levels if level[0] == "0"), "") if code_width(levels) else ""
    remark = f"read as text: values such as {code!r} begin with 0" if code else ""
    return _Reading("text", {}, "", remark, written.problem if written is not None else "")


def _read_pooled(texts: Sequence[TableColumn]) -> _Reading:
    """What columns of text say together; where that may be two things, the way in which their files write decides."""
    levels, ways = _used_levels(texts), {column.how for column in texts}
    reading = _read_levels(levels)
    if ways == {""} or len(ways) > 1 or reading.how == "plain" or reading.kind in ("boolean", "date"):
        return reading
    way = ways.pop()
    known = _read_levels(levels, way)
    return (known._replace(remark="") if known.how == way else known) if known.values else reading


def _read_together(
    columns: Sequence[TableColumn], texts: Sequence[TableColumn], labels: Sequence[str]
) -> list[TableColumn]:
    declared = any(column.categorical for column in texts)
    reading = _Reading("text", {}) if declared else _read_pooled(texts)
    if reading.kind == "text":
        alone = {id(column): _read_pooled([column]) for column in texts if not column.categorical}
        words = any(not any(looks_like(level) for level in column.used_levels()) for column in texts)
        if words and any(own.kind != "text" for own in alone.values()):
            # Nothing but words here and nothing but numbers there: these are columns of different types.
            return [
                _take_values(column, alone[id(column)], label) if id(column) in alone else column
                for column, label in zip(columns, labels, strict=True)
            ]
        return [_as_text(column, texts, declared, reading) for column in columns]
    return [
        _take_values(column, reading, label) if column.kind == "text" else column
        for column, label in zip(columns, labels, strict=True)
    ]


def _take_values(column: TableColumn, reading: _Reading, label: str) -> TableColumn:
    """A column of texts with the values that these say."""
    if reading.kind == "text":
        return replace(column, remark=reading.remark, problem=reading.problem)
    used = column.used_levels()
    if reading.kind == "number":
        # Whole numbers that differ as texts must not become one float.
        long = (int(level) for level in used if len(level) > 15 and _is_whole(level))
        check_whole(long, f"{label}: column {column.name!r}")
    remark = reading.remark
    absent = [level for level in used if _stands_for_missing(level)]
    if absent:
        words = ", ".join(map(repr, absent[:3])) + (", …" if len(absent) > 3 else "")
        gaps = f"read as {reading.kind}s, with {words} as missing"
        remark = f"{gaps}, and {remark}" if remark else gaps
    values = np.array([*(reading.values.get(level, np.nan) for level in column.levels), np.nan])[column.values]
    values = column.keep(values)
    single = reading.kind == "boolean"
    return TableColumn(
        column.name,
        reading.kind,
        values,
        single=single,
        remark=remark,
        how=reading.how,
        texts=replace(column, remark=""),
    )


def _is_whole(text: str) -> bool:
    digits = text.lstrip("+-")
    return digits.isdecimal() and digits.isascii() and len(digits) < 400


def _as_text(column: TableColumn, texts: Sequence[TableColumn], declared: bool, reading: _Reading) -> TableColumn:
    """A column next to others of text: whole numbers are codes or categories where these are."""
    if column.kind == "text":
        return replace(column, categorical=declared, remark=reading.remark, problem=reading.problem)
    if column.kind != "number" or column.missing.all():
        return column
    levels = _used_levels(texts)
    width = None if declared else code_width(levels)
    if width is not None:
        return as_codes(column, width) or column
    numbers = declared or any(looks_like(level) == "number" for level in levels)
    few = len(levels) + len(np.unique(column.values[~column.missing])) <= MANY_TEXTS
    return (as_codes(column, None) or column) if numbers and few else column


def _is_odd_text(given: TableColumn, column: TableColumn) -> bool:
    """Whether a column came as texts that are not plain numbers, nor yes and no."""
    return _is_text(given) and not given.missing.all() and column.kind != "boolean" and column.how != "plain"


def _with_columns(source: Source, columns: tuple[TableColumn, ...]) -> Source:
    """The source with columns that were read, and notes on how."""
    before = {column.note for column in source.content.columns}
    notes = [note for note in source.notes if note not in before]
    table = TableContent(columns)
    return replace(source, content=table, notes=(*notes, *table.notes(False)))
