"""What a column of a table is, decided on the rows of all samples: what is left out and why, and what is wrong with it.

There is one rule for what is left out, for every call. It looks at the rows of all samples together and never at which
row is of which sample, so that it is the same for every permutation, and a permutation test of the other columns stays
exact. Neither the name of a column nor the order of its rows is enough:

* **constants** have one value in every row;
* **free text**: more than 50 texts, which occur at most twice on average;
* **dates**, and whole numbers from 1800 to 2200 in a column called year: samples that were taken at different times
  differ in them in any case;
* **counters**: whole numbers that are all different and follow each other, 1, 2, 3, … with few gaps; or that begin anew
  in each sample and have no gaps at all;
* **identifiers**: whole numbers that occur at most twice on average, in a column with the name of an identifier.

Everything else is compared: amounts, counts, measurements and times in seconds may all be different, and sorted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from .._util.errors import InputError
from .arrays import Array
from .columns import ColumnKind, TableColumn, concatenate_columns
from .dates import is_iso_date
from .features import NGRAMS
from .names import quote_names
from .numerals import are_codes, looks_like
from .source import Source

WhyLeftOut: TypeAlias = Literal["constant", "free text", "date", "identifier"]

#: Texts from which a column may hold names or identifiers.
MANY_TEXTS = 50
#: Different numbers (or dates) from which other texts among them are taken for mistakes.
_FEWEST_NUMBERS = 5
#: Rows of each sample from which it is no accident what values have in common.
ROWS = 8
#: Of a counter, at most this share of the values are not followed by the next whole number. If n values were drawn from
#: n / 0.8 whole numbers, all would differ with a probability of 0.0002 for n = 16, and less for more.
_GAPS = 0.2
_YEARS = (1800, 2200)
_YEAR = re.compile(r"year|yr|jahr|année|annee|año|anno|ano", re.IGNORECASE)
#: Names of identifiers, as the last word of a name: id, customer_id, customerId, row number, order-nr.
_IDENTIFIER = re.compile(
    r"(?i:(^|[_\W])(ids?|uuid|guid|key)$|^((row|record|sample)[_\W]?)?(index|idx)$|^(row|record|sample)[_\W]?(num|nr|no|number)$"
    r"|.[_\W](nr|no|number)$)|[a-z](Id|ID)s?$"
)


class Reason(NamedTuple):
    """Why a column is left out, as a kind and as a sentence."""

    kind: WhyLeftOut
    text: str


class Strays(NamedTuple):
    """The few texts in a column that otherwise holds numbers or dates: their rows, and what it holds otherwise."""

    rows: Array
    kind: str


@dataclass(frozen=True, eq=False)
class Profile:
    """What is known about a column. Each question is answered when it is first asked, and once.

    Attributes
    ----------
    parts
        The column in each source, of one kind in all of them.
    sizes
        How many rows each sample has. It does not matter which, nor in which source they are.

    Examples
    --------
    >>> column = TableColumn("order", "number", np.arange(100000.0, 100040.0))
    >>> Profile((column,), (20, 20)).why_left_out.text
    "'order' numbers the rows (100000 to 100039)."
    >>> Profile((replace(column, name="price", values=column.values**2),), (20, 20)).why_left_out
    """

    parts: tuple[TableColumn, ...]
    sizes: tuple[int, ...]

    @property
    def column(self) -> TableColumn:
        """The rows of all samples. It is not kept, for it may be large."""
        return concatenate_columns(self.parts)

    @property
    def kind(self) -> ColumnKind:
        """What the column holds."""
        return self.parts[0].kind

    @cached_property
    def is_free_text(self) -> bool:
        """Whether it holds free text or identifiers: more than 50 texts, which occur at most twice on average."""
        if self.kind != "text":
            return False
        column = self.column
        levels = len(column.used_levels())
        return levels > MANY_TEXTS and 2 * levels >= int(np.count_nonzero(~column.missing))

    @property
    def problem(self) -> str:
        """Why texts that are all numbers or dates could not be read as such; empty where there is no problem."""
        return next((part.problem for part in self.parts if part.problem), "")

    @cached_property
    def strays(self) -> Strays | None:
        """The few texts in a column that otherwise holds numbers or dates; None where there are none.

        >>> ages = ("31", "47", "?", *map(str, range(100, 140)))
        >>> Profile((TableColumn("age", "text", np.arange(43), ages),), (43,)).strays
        Strays(rows=array([2]), kind='number')
        """
        if self.kind != "text" or self.parts[0].categorical:
            return None
        column = self.column
        counts = np.bincount(column.values[column.values >= 0], minlength=len(column.levels))
        looks = np.array([looks_like(level) or ("date" if is_iso_date(level) else "") for level in column.levels])
        for kind in ("number", "date"):
            good = looks == kind
            many = np.count_nonzero(good & (counts > 0)) > _FEWEST_NUMBERS
            enough = many and counts[good].sum() >= 0.9 * counts.sum()
            if enough and counts[~good].any() and not are_codes(column.levels):
                return Strays(np.flatnonzero(np.append(~good, False)[column.values]), kind)
        return None

    @cached_property
    def why_left_out(self) -> Reason | None:
        """Why the column is better left out; None where it is to be compared."""
        column, sizes = self.column, self.sizes
        there = column.values[~column.missing]
        if min(sizes) < ROWS or not len(there):
            return None
        if len(there) == len(column) and (there == there[0]).all():
            cell = column.cell(0)
            what = repr(cell) if column.kind == "text" else cell
            return Reason("constant", f"{column.name!r} is {what} in every row.")
        if column.kind == "text":
            what = f"{column.name!r} holds free text or identifiers ({describe_texts(column)})."
            # Numbers or dates with a few texts among them are not free text: what is wrong with them is reported later.
            return Reason("free text", what) if self.is_free_text and self.strays is None else None
        if not np.isfinite(there).all():
            return None
        between = f"({' to '.join(show_value(column, value) for value in (there.min(), there.max()))})"
        if column.kind == "date":
            return Reason("date", f"{column.name!r} holds dates {between}.")
        if column.kind == "boolean" or (there != np.rint(there)).any():
            return None
        if _YEAR.fullmatch(column.name) and _YEARS[0] <= there.min() and there.max() <= _YEARS[1]:
            return Reason("date", f"{column.name!r} holds years {between}.")
        values, counts = np.unique(there, return_counts=True)
        if _is_counter(values, counts, sizes):
            return Reason("identifier", f"{column.name!r} numbers the rows {between}.")
        if has_name_of_identifier(column.name) and 2 * len(values) >= len(there):
            what = f"{len(values):,} different whole numbers in {len(there):,} rows"
            return Reason("identifier", f"{column.name!r} identifies rows ({what}).")
        return None


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


def _free_text(sources: Sequence[Source], columns: Sequence[TableColumn]) -> InputError:
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


def has_name_of_identifier(name: str) -> bool:
    """Whether the last word of a name is one for identifiers; columns without names are called 0, 1, 2.

    >>> [has_name_of_identifier(name) for name in ("customer_id", "ID", "userId", "row index", "order-nr", "uuid")]
    [True, True, True, True, True, True]
    >>> [has_name_of_identifier(n) for n in ("idle_ms", "index_of_refraction", "price_index", "paid", "number of", "0")]
    [False, False, False, False, False, False]
    """
    return bool(_IDENTIFIER.search(name))


def _is_counter(values: Array, counts: Array, sizes: Sequence[int]) -> bool:
    """Whether whole numbers, sorted, with how often each occurs, are those of a counter."""
    follow = np.diff(values) == 1
    if counts.max() == 1:
        return bool(np.count_nonzero(~follow) + 1 <= _GAPS * len(values))
    # The counters of all samples begin with the same number: the k-th one occurs in the samples of more than k rows.
    expected = [sum(size > k for size in sizes) for k in range(max(sizes))]
    return bool(follow.all()) and counts.tolist() == expected


def show_value(column: TableColumn, value: float) -> str:
    """A value of a column, as its values are shown."""
    return replace(column, values=np.array([value]), texts=None).cell(0)


def describe_texts(column: TableColumn) -> str:
    """How many different texts a column has.

    >>> describe_texts(TableColumn("c", "text", np.array([0, 1, 1, -1]), ("a", "b")))
    '2 different texts in 3 rows'
    """
    rows = int(np.count_nonzero(~column.missing))
    return f"{len(column.used_levels()):,} different texts in {rows:,} rows"


def is_row_number(values: Array) -> bool:
    """Whether a column holds increasing whole numbers, as the index of a table does."""
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        return False
    return bool((values == np.rint(values)).all() and (np.diff(values) > 0).all())
