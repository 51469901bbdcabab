"""Columns of several samples, read in one way: what a column holds is decided on the rows of all samples together.

A sample alone may lack the value that decides: the 1.234.567 that makes 1.234 a thousand, the X among the codes 1 to 4,
the postcode that begins with 0, the 31 that tells the day from the month.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .._util.errors import InputError
from .columns import Column, as_codes, code_width, concatenate_columns, read_texts
from .content import Table
from .features import NGRAMS
from .names import quote_names
from .profile import MANY_TEXTS, Profile, describe_texts
from .source import Source
from .written import looks_like

#: Reads columns of the k-th source again, as text; None where they were not text.
Reread = Callable[[int, tuple[str, ...]], "dict[str, Column] | None"]


def agree_tables(sources: Sequence[Source], reread: Reread | None = None) -> tuple[Source, ...]:
    """Sources whose columns of one name are of one kind, where they can be; those that are no tables as they are."""
    by_name = [{column.name: column for column in source.content.columns} for source in sources]
    if not by_name[0] or any(own.keys() != by_name[0].keys() for own in by_name):
        return tuple(sources)
    for k, own in enumerate(by_name):
        # Files of text have no types: what another sample has as text is text here too.
        unlike = tuple(
            name
            for name, column in own.items()
            if not _is_text(column) and any(_is_text(other[name]) for other in by_name)
        )
        own.update((reread(k, unlike) if unlike and reread is not None else None) or {})
    for name in list(by_name[0]):
        for own, column in zip(by_name, agree_columns([own[name] for own in by_name]), strict=True):
            own[name] = column
    return tuple(_with_columns(source, own) for source, own in zip(sources, by_name, strict=True))


def agree_columns(columns: Sequence[Column]) -> list[Column]:
    """The columns as one kind, where they can be: texts are read together, and what has no value has no kind.

    >>> short, long = (Column("v", "text", np.array([0, 1]), levels) for levels in (("1.5", "2"), ("1,5", "2,25")))
    >>> [column.kind for column in agree_columns([short, long])], [c.values.tolist() for c in agree_columns([long])]
    (['text', 'text'], [[1.5, 2.25]])
    """
    if {column.how for column in columns} in ({"plain"}, {"iso"}):
        return list(columns)  # together they are so too
    columns = [column.texts if column.texts is not None else column for column in columns]
    texts = [column for column in columns if column.kind == "text" and not column.missing.all()]
    if texts:
        columns = _read_together(columns, texts)
    kinds = {column.kind for column in columns if not column.missing.all()}
    kinds = {"number"} if kinds == {"number", "boolean"} else kinds
    if len(kinds) != 1:
        return list(columns)
    kind = kinds.pop()
    return [column if column.kind == kind else column.as_kind(kind) for column in columns]


def read_like(column: Column, kind: str, how: str) -> Column:
    """A column of further rows, read as the one before was: of which kind, and how it was written (`Column.how`)."""
    text = column if column.kind == "text" else column.texts
    if text is None or text.categorical:
        return column
    return text if kind == "text" else read_texts(text, how or ("plain" if kind == "number" else None))


def pool_columns(sources: Sequence[Source], sizes: Sequence[int] | None = None) -> dict[str, Profile]:
    """What is known about each column, on the rows of all samples; only for columns that are of one kind in all.

    ``sizes`` are the numbers of rows of the samples, where all of them are in one source.
    """
    sizes = tuple(len(source) for source in sources) if sizes is None else tuple(sizes)
    by_name = [{column.name: column for column in source.content.split_columns()} for source in sources]
    shared = [name for name in by_name[0] if all(name in own for own in by_name)]
    columns = (tuple(own[name] for own in by_name) for name in shared)
    found = (parts for parts in columns if len({column.kind for column in parts}) == 1)
    return {parts[0].name: Profile(parts, sizes) for parts in found}


def check_texts(sources: Sequence[Source], profiles: Mapping[str, Profile]) -> None:
    """Raise `InputError` if a column of text can be read in more than one way, has strays, or holds free text."""
    free = []
    for name in (column.name for column in sources[0].content.columns):
        profile = profiles.get(name)
        if profile is None or profile.kind != "text":
            continue
        _check_reading(profile, sources)
        if profile.is_free_text:
            free.append(profile.column)
    if free and not any(source.options.by_features for source in sources):
        raise _free_text(sources, free)


def _check_reading(profile: Profile, sources: Sequence[Source]) -> None:
    """Raise `InputError` if texts are numbers or dates that cannot be read in one way, or are but for a few."""
    name = profile.parts[0].name
    if profile.problem:
        raise InputError(
            "ambiguous-column",
            f"{_together(sources)}: column {name!r} cannot be read in one way: {profile.problem}.",
            "Write numbers as 1234.5 and dates as 2024-12-31, or leave the column out with {drop}.",
            drop=[name],
        )
    if profile.strays is None:
        return
    strays, kind = profile.strays
    starts = np.cumsum([0, *map(len, sources)])
    k = int(np.searchsorted(starts, strays[0], side="right")) - 1
    own = strays[(strays >= starts[k]) & (strays < starts[k + 1])] - starts[k]
    count, first = len(own), int(own[0])
    what = f"value that is not a {kind}" if count == 1 else f"values that are not {kind}s"
    where = f"{profile.parts[k].cell(first)[:40]!r} in row {sources[k].numbers[first]}"
    raise InputError(
        "stray-values",
        f"{sources[k].label}: column {name!r} has {count} {what}: {where}{', …' if count > 1 else ''}.",
        f"Correct or empty {'this cell' if count == 1 else 'these cells'}, or leave the column out with {{drop}}.",
        drop=[name],
    )


def _free_text(sources: Sequence[Source], columns: Sequence[Column]) -> InputError:
    """What to say of columns of free text that are to be compared."""
    names = [column.name for column in columns]
    has = "has" if len(sources) == 1 else "have"
    what = f"free text or identifiers ({describe_texts(columns[0])}) in {quote_names(names)}"
    if len(sources[0].columns) == 1:
        advice = "Compare it as text with {features}."
        return InputError("free-text", f"{_together(sources)} {has} {what}.", advice, features=NGRAMS)
    advice = "Leave it out with {drop}, or compare it alone, as text, with {columns} and {features}."
    options = {"drop": names[:5], "columns": names[:1], "features": NGRAMS}
    return InputError("free-text", f"{_together(sources)} {has} {what}.", advice, **options)


def _together(sources: Sequence[Source]) -> str:
    """What to call the sources."""
    return " and ".join(source.label for source in sources) if len(sources) < 3 else "The samples"


def _read_together(columns: Sequence[Column], texts: Sequence[Column]) -> list[Column]:
    pooled = replace(concatenate_columns(texts), categorical=any(column.categorical for column in texts))
    read = pooled if pooled.categorical else read_texts(pooled)
    if read.kind == "text":
        alone = [column if column.categorical else read_texts(column) for column in texts]
        words = [not any(looks_like(level) for level in column.used_levels()) for column in texts]
        if any(words) and any(column.kind != "text" for column in alone):
            # Nothing but words here and nothing but numbers there: these are columns of different types.
            return [column if column.kind != "text" else read_texts(column) for column in columns]
        width = None if pooled.categorical else code_width(tuple(pooled.used_levels()))
        return [_as_text(column, pooled, width, read.remark) for column in columns]
    place = dict(zip(pooled.levels, _values_of_levels(read, pooled), strict=True))
    return [column if column.kind != "text" else _take_values(column, read, place) for column in columns]


def _values_of_levels(read: Column, pooled: Column) -> list[float]:
    values = np.full(len(pooled.levels) + 1, np.nan)
    values[pooled.values] = read.values
    return [float(value) for value in values[:-1]]


def _take_values(column: Column, read: Column, place: dict[str, float]) -> Column:
    lookup = np.array([*(place[level] for level in column.levels), np.nan])
    return Column(
        column.name,
        read.kind,
        lookup[column.values],
        remark=read.remark,
        how=read.how,
        texts=replace(column, remark=""),
    )


def _as_text(column: Column, pooled: Column, width: int | None, remark: str) -> Column:
    """A column next to others of text: whole numbers are codes or categories where these are."""
    if column.kind == "text":
        return replace(column, categorical=pooled.categorical, remark=remark)
    if column.kind != "number" or column.missing.all():
        return column
    if width is not None:
        return as_codes(column, width) or column
    numbers = pooled.categorical or any(looks_like(level) == "number" for level in pooled.used_levels())
    few = len(set(pooled.used_levels())) + len(np.unique(column.values[~column.missing])) <= MANY_TEXTS
    return (as_codes(column, None) or column) if numbers and few else column


def _is_text(column: Column) -> bool:
    return column.kind == "text" or column.texts is not None


def _with_columns(source: Source, own: dict[str, Column]) -> Source:
    """The source with columns that were read again, and notes on how."""
    before = {column.note for column in source.content.columns}
    table = Table(tuple(own[name] for name in source.columns))
    notes = [note for note in source.notes if note not in before]
    return replace(source, content=table, notes=(*notes, *table.notes(False)))
