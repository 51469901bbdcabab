"""How the two samples of a comparison are read, split and encoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError, Note, note_after
from ..data import Encoding, Sample, Source
from ..data.arrays import Array
from ..data.labels import take_label_columns
from ..data.mixed import display_names
from ..data.notices import Notice, find_notices
from ..data.options import ReadOptions
from ..data.read import check_pair, open_pair
from ..data.shared import find_shared_rows, hash_rows
from ..learning.splits import Split
from ..stats.nulls import Binned, Null
from ..twosample.learned import check_learned_null, split_samples
from .exemplars import row_numbers
from .notices import notice_shared
from .request import Request

if TYPE_CHECKING:
    from .learned import LearnedOptions

#: Rows of each sample at the most, unless ``max_rows`` says otherwise: time grows with the square.
ROWS = 100_000

#: Tested rows up to which every row is relabelled; beyond, bins of rows, which cost next to nothing.
PERMUTED = 20_000

#: Standard deviations from the mean beyond which it makes no difference how far a row is.
_FARTHEST = 1e15

Standardise: TypeAlias = Literal["auto"] | bool
#: For each sample one value for each row of the user's data.
Labels: TypeAlias = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Two samples that are read, split and encoded.

    Attributes
    ----------
    sources, samples
        The samples as they came, and as numbers.
    encoding
        How the one became the other.
    null
        The null distribution of the test.
    splits
        Which rows to learn from and which to test; with swapped halves, twice.
    items
        What to call the rows of the user's data by, if that was given.
    noticed
        What a person would notice first: rows that both samples have, columns that are left out.
    """

    sources: tuple[Source, Source]
    samples: tuple[Sample, Sample]
    encoding: Encoding
    null: Null
    splits: list[Split]
    items: Labels | None = None
    noticed: tuple[Notice, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """Files by as much of their paths as tells them apart; or X and Y."""
        first, second = display_names(self.sources)
        return first, second

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the data on the way."""
        return tuple(note_after(f"{source.label}: ", note) for source in self.sources for note in source.notes)


@dataclass(frozen=True, eq=False)
class Opened:
    """Two samples whose values are not checked yet, and what was given for their rows.

    Attributes
    ----------
    sources
        The samples.
    labels
        Groups, strata and items as they were given; those that were columns have a value for each row of the data.
    columns
        Which of them were columns.
    """

    sources: tuple[Source, Source]
    labels: dict[str, Any]
    columns: tuple[str, ...]

    def of_rows(self, kind: str, sources: tuple[Source, Source]) -> Any:
        """Labels of the rows that are left when the sources are checked."""
        given = self.labels[kind]
        if kind not in self.columns:
            return given
        return given[0][sources[0].numbers], given[1][sources[1].numbers]


def open_samples(request: Request, options: ReadOptions) -> Opened:
    """The samples without the columns that say something of rows (groups, strata, items), and what these say."""
    names = ("X", "Y")
    parts, options, found = take_label_columns([request.X, request.Y], names, options, request.labels)
    return Opened(open_pair(parts[0], parts[1], names, options), {**request.labels, **found}, tuple(found))


def check_items(items: Any, sources: tuple[Source, Source]) -> Labels | None:
    """A pair of lists, one item for each row of the user's data."""
    if items is None:
        return None
    if not isinstance(items, (tuple, list)) or len(items) != 2:
        raise InputError(
            "invalid-items", "items must be a pair of lists, one for each sample, or the name of a column."
        )
    first, second = (np.asarray(part, dtype=object) for part in items)
    for part, source in zip((first, second), sources, strict=True):
        if part.ndim != 1 or len(part) <= int(source.numbers.max(initial=-1)):
            raise InputError(
                "wrong-number-of-items", f"items must have one for each row of {source.label}, but has {len(part)}."
            )
    return first, second


def take_items(items: Labels | None, samples: tuple[Sample, Sample]) -> Labels | None:
    """Those of the rows of these samples."""
    return None if items is None else (items[0][row_numbers(samples[0])], items[1][row_numbers(samples[1])])


def prepare(request: Request, how: LearnedOptions) -> Prepared:
    """Read, match, split and encode two samples for a learned test."""
    limit = request.reading.max_rows or ROWS
    opened = open_samples(request, replace(request.reading, max_rows=limit))
    names = request.names or display_names(opened.sources)
    (x, y), noticed = find_notices(opened.sources, request.keep, names)
    x, y = check_pair(x, y)
    x, y = _note_drawn(x, limit), _note_drawn(y, limit)
    null, (groups, strata) = how.null, (opened.of_rows(kind, (x, y)) for kind in ("groups", "strata"))
    chosen = "binned" if null == "binned" else "permutation"
    relabelling = check_learned_null(chosen, groups, strata, request.equal_groups)
    shared = find_shared_rows(hash_rows(x), hash_rows(y))
    splits = split_samples(len(x), len(y), how.train_size, how.cross_fit, relabelling, request.seed, shared)
    tested = len(splits[0].test_x) + len(splits[0].test_y)
    if null == "auto" and groups is None and strata is None and tested > PERMUTED:
        relabelling = Binned()
    # With swapped halves every row is tested, so that the encoding looks at all of them: it does not look at labels.
    rows_x, rows_y = (None, None) if how.cross_fit else (splits[0].train_x, splits[0].train_y)
    encoding = Encoding.fit_matched(x, y, rows_x, rows_y, how.standardise)
    samples = encoding.encode(x), encoding.encode(y)
    if how.standardise:
        samples = _as_single(samples[0]), _as_single(samples[1])
    called = check_items(opened.labels["items"], (x, y))
    return Prepared((x, y), samples, encoding, relabelling, splits, called, (*notice_shared(shared), *noticed))


def columns_of(sample: Sample) -> tuple[str, ...]:
    """For each coordinate the column it came from."""
    return sample.columns or sample.names or ()


def _as_single(sample: Sample) -> Sample:
    """In single precision: numbers around 0 lose nothing in it, and learning takes half the time.

    A tested row may be farther out than single precision reaches, for the scale is that of the rows learned from.
    """
    return replace(sample, values=sample.values.clamp(-_FARTHEST, _FARTHEST).float())


def _note_drawn(source: Source, limit: int) -> Source:
    drawn = source.numbers.max() >= limit
    note = Note("rows-drawn", f"{limit:,} rows were drawn at random.")
    return replace(source, notes=(note, *source.notes)) if drawn else source
