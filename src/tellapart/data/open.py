"""The one door: from whatever a user has to samples that can be compared, for every public call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._util.errors import InputError, note_after
from .._util.text import printable
from .arrays import Array, as_array
from .content.images import (
    LOOKED_AT,
    WHITE,
    as_images,
    know_white,
    looks_like_images,
    note_odd_pixels,
    to_unit_range,
)
from .encoding import Encoding, Standardise, encode_numbers, encode_pair
from .finite import check_values
from .formats.arrays import as_stored, stored_type
from .labels import add_labels, check_split
from .lazy import Lazy, Points
from .locate import Location, locate
from .matching import keep_pairs, match_sources
from .notices import Keep, Notice, check_known, columns_left_out, find_notices, note_left_out, note_reordered_columns
from .options import ReadOptions
from .points import agree, check_alike, is_pinned, open_memory, open_rows, to_common_type
from .profile import check_texts, pool_columns
from .read import open_together, read_source, validate_read
from .sample import Sample, positions
from .samples import Samples, Variable, encoded_variables, plain_variables
from .shared import note_shared
from .source import Source


@dataclass(frozen=True, eq=False)
class OpenedSamples:
    """Samples that can be compared and whose values are checked, before they become numbers.

    Attributes
    ----------
    located
        Where each sample is.
    names
        What to call the samples in results.
    rows
        Rows of numbers that need no encoding, one entry for each sample; empty for all other samples.
    sources
        The samples as they came, with the same columns in the same order; empty where there are ``rows``.
    labels
        Groups, strata, items: for each sample those of its rows; None where there are none.
    notices
        What is seen of columns without a test, the columns that are left out among it.
    left_out
        Notes on columns that are left out.
    standardise
        How columns are scaled for a kernel; None for numbers as they came, and pixels from 0 to 1.
    min_rows
        How many rows each sample needs.
    shown
        Whether rows are to be shown later.
    """

    located: tuple[Location, ...]
    names: tuple[str, ...]
    rows: tuple[Sample | Lazy, ...] = ()
    sources: tuple[Source, ...] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    left_out: tuple[str, ...] = ()
    standardise: Standardise | None = None
    min_rows: int = 2
    shown: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many rows each sample has."""
        return tuple(len(part) for part in self.rows or self.sources)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the data on the way."""
        own = (note_after(f"{source.label}: ", note) for source in self.sources for note in source.notes)
        return tuple(dict.fromkeys((*self.left_out, *own)))

    def most_numbers(self) -> int:
        """How many numbers a row becomes at most, whatever its values are."""
        if self.rows:
            return int(np.prod(_values(self.rows[0]).shape[1:]))
        return self.sources[0].content.most_numbers(self.sources[0].options.missing == "indicator")

    def encode(self, fit_rows: Sequence[Array] | None = None, *, shared: str | None = None) -> Samples:
        """The samples as rows of numbers.

        Parameters
        ----------
        fit_rows
            For each sample the positions of the rows that may decide on categories, scales and what is filled in for
            missing values; None for all rows.
        shared
            What comes of rows that two samples share, which notes then report; see `note_shared`. None: they are not
            looked for.
        """
        samples = self._as_they_came() if self.rows else self._encode_sources(fit_rows)
        if shared is None:
            return samples
        paths = [location.path for location in self.located]
        return replace(samples, notes=(*samples.notes, *note_shared(paths, samples.points, samples.names, shared)))

    def _encode_sources(self, fit_rows: Sequence[Array] | None) -> Samples:
        for source in self.sources if self.standardise is None else ():
            if len(source) < self.min_rows:
                raise InputError(
                    "too-few-rows", f"{source.label} needs at least {self.min_rows} rows, but has {len(source)}."
                )
        encoding: Encoding | None = None
        if self.standardise is None and not self.shown and any(source.content.in_file for source in self.sources):
            return self._encode_to_files(self.fit_encoding(fit_rows))
        if self.standardise is None or self.shown:
            encoding = self.fit_encoding(fit_rows)
            encoded = [encoding.encode(source) for source in self.sources]
        else:
            encoded = list(encode_pair(self.sources[0], self.sources[1], self.standardise))
        if self.standardise is None:
            for source, sample in zip(self.sources, encoded, strict=True):
                # Only numbers that are standardised may have squares that are not finite.
                check_values(sample.values, source.label, source.numbers)
        values: Sequence[Points] = [sample.values for sample in encoded]
        check_alike(values, [location.name for location in self.located], self.min_rows)
        values = to_common_type(values, None)
        kinds = self.sources[0].content.variable_kinds
        return Samples(
            tuple(values),
            () if encoding is None else encoded_variables(encoding, kinds),
            encoded[0].image_shape,
            tuple(source.numbers for source in self.sources),
            self.names,
            self.notes,
            encoded[0].kind,
            self.labels,
            self.notices,
            tuple(replace(sample, values=part[:]) for sample, part in zip(encoded, values, strict=True)),
            self.sources,
            encoding,
        )

    def _encode_to_files(self, encoding: Encoding) -> Samples:
        """Samples of tables that are kept in files, which stay there as numbers."""
        values = [encoding.encode_to_file(source) for source in self.sources]
        kinds = {column.name: column.kind for column in self.sources[0].content.columns}
        check_alike(values, [location.name for location in self.located], self.min_rows)
        return Samples(
            tuple(values),
            encoded_variables(encoding, kinds),
            None,
            tuple(source.numbers for source in self.sources),
            self.names,
            self.notes,
            encoding.kind,
            self.labels,
            self.notices,
            (),
            self.sources,
            encoding,
        )

    def _as_they_came(self) -> Samples:
        points = agree(self.rows, self.located, self.min_rows)
        shape = tuple(points[0].shape[1:])
        encoded = tuple(
            replace(sample, values=values)
            for sample, values in zip(self.rows, points, strict=True)
            if isinstance(sample, Sample) and not isinstance(values, Lazy)
        )
        variables: tuple[Variable, ...] = ()
        odd: tuple[str, ...] = ()
        if self.standardise is None:  # a kernel compares rows as a whole
            variables = plain_variables(points[0], _given_names(self.rows))
            odd = next(filter(None, (_note_odd(part, shape) for part in points)), ())
        return Samples(
            tuple(points),
            variables,
            shape if looks_like_images(shape) else None,
            (None,) * len(points),
            self.names,
            (*self.left_out, *odd),
            labels=self.labels,
            encoded=encoded,
        )

    def fit_encoding(self, fit_rows: Sequence[Array] | None = None) -> Encoding:
        """How the samples become numbers, decided on some of their rows; see `encode`."""
        first, *others = self.sources if len(self.sources) > 1 else (*self.sources, *self.sources)
        given = fit_rows if fit_rows is None or len(self.sources) > 1 else (*fit_rows, *fit_rows)
        second = others[0]
        rows_x, rows_y = (None, None) if given is None else (given[0], given[1])
        if len(others) > 1:
            second = Source(second.content.concatenate([source.content for source in others[1:]]))
            if given is not None:
                starts = np.cumsum([0, *map(len, others)])
                rows_y = np.concatenate(
                    [start + positions(rows, len(s)) for start, rows, s in zip(starts, given[1:], others, strict=False)]
                )
        standardise = self.standardise
        if standardise is None:  # pixels have one scale, columns stay as they are
            standardise = "auto" if first.kind == "images" and not first.options.by_features else False
        return Encoding.fit(first, second, rows_x, rows_y, standardise)


def open_samples(
    data: Sequence[Any],
    names: Sequence[str],
    options: ReadOptions,
    *,
    labels: Mapping[str, Any] | None = None,
    keep_columns: Keep = (),
    keep_constants: bool = False,
    paired: bool = False,
    min_rows: int = 2,
    standardise: Standardise | None = None,
    shown: bool = False,
    called: Sequence[str] | None = None,
    lazy: bool = True,
    plain_images: bool = True,
    tensors: bool = False,
) -> OpenedSamples:
    """Samples that can be compared, whatever they are and wherever they are.

    Each file is located once, its format found once, and it is parsed once. In this order: columns that are labels of
    rows are taken out; the columns of all samples are compared, and each is read in one way; columns that cannot tell
    anything are left out; values are checked, and rows dropped; columns are brought into one order and precision.

    Parameters
    ----------
    data
        One or more samples, each whatever `read` takes.
    names
        What to call them in messages.
    options
        How to read them.
    labels
        What the user gave for rows, by kind (``"groups"``, ``"strata"``, ``"items"``, ``"labels"``): the name of a
        column, or a label for each row of the data; see `split_labels`. Those of rows that are kept are passed on.
    keep_columns
        Of tables, the columns to compare whatever they look like: others are left out by the rule of `profile`, and
        notes report them. True for all.
    keep_constants
        Whether columns with one value are compared: later rows may have another.
    paired
        Whether row i of each sample belongs to row i of the others, so that rows are dropped together.
    min_rows
        How many rows each sample needs.
    standardise
        How columns are scaled for a kernel, see `as_pair`; None for numbers as they came, and pixels from 0 to 1.
    shown
        Whether rows are to be shown later, and therefore must be read.
    called
        What to call the samples in results, if the user gave names; by default by their files, or ``names``.
    lazy
        Whether rows may stay in their files.
    plain_images
        Whether arrays of images may stay as they came; else they get one scale.
    tensors
        Whether tensors stay tensors where a gradient, or a place on a device, would be lost otherwise.

    Examples
    --------
    >>> import pandas as pd
    >>> x = pd.DataFrame({"age": [30.0, 40.0], "town": ["Ulm", "Bonn"], "day": ["a", "b"]})
    >>> opened = open_samples([x, x], ("X", "Y"), ReadOptions(), labels={"strata": "day"})
    >>> [part.tolist() for part in opened.labels["strata"]]
    [['a', 'b'], ['a', 'b']]
    >>> [(v.name, v.kind, v.coordinates) for v in opened.encode().variables]
    [('age', 'number', (0,)), ('town', 'text', (1, 2))]
    """
    located = tuple(locate(part, name) for part, name in zip(data, names, strict=True))
    given = {kind: values for kind, values in (labels or {}).items() if values is not None}
    none: dict[str, Any] = dict.fromkeys(labels or ())
    columns = {kind: column for kind, column in given.items() if isinstance(column, str)}
    rows = None
    if not (shown or columns):
        rows = _open_plain(located, options, keep_columns, standardise, lazy, tensors)
    if rows is not None and (plain_images or not looks_like_images(tuple(_values(rows[0]).shape[1:]))):
        called = called or _display([(location.path, location.name) for location in located])
        own = {kind: check_split(values, tuple(map(len, rows)), kind) for kind, values in given.items()}
        opened = OpenedSamples(
            located, tuple(called), rows=rows, labels=none | own, standardise=standardise, min_rows=min_rows
        )
        _check_kept(rows, keep_columns)
        return opened
    sources = open_together(located, options, columns)
    arrays = {kind: values for kind, values in given.items() if kind not in columns}
    sources = tuple(add_labels(sources, [location.data for location in located], arrays))
    called = tuple(called or display_names(sources))
    profiles = pool_columns(sources, _sizes(sources[0]))
    noticed: list[Notice] = []
    if shown or (keep_columns is not True and sources[0].content.columns):
        noticed = find_notices(sources, keep_columns, called, profiles, keep_constants)
    else:
        check_known(keep_columns, sources[0].columns)
    out = columns_left_out(noticed)
    left_out = (*note_left_out(noticed), *(note_reordered_columns(sources[0], sources[1], out) if paired else ()))
    if out:
        sources = tuple(_leave_out(source, out) for source in sources)
    check_texts(sources, profiles)
    matched = match_sources(validate_read(sources, located))
    if paired:
        matched = list(keep_pairs(matched[0], matched[1]))
    own = {kind: tuple(source.labels[kind] for source in matched) for kind in given}
    return OpenedSamples(
        located,
        called,
        sources=tuple(matched),
        labels=none | own,
        notices=tuple(noticed),
        left_out=() if shown else left_out,
        standardise=standardise,
        min_rows=min_rows,
        shown=shown,
    )


def read_numbers(location: Location, options: ReadOptions) -> Sample:
    """A single sample, of numbers only."""
    sample = open_memory(location, options, tensors=True)
    return encode_numbers(read_source(location, options)) if sample is None else sample


def _open_plain(
    located: Sequence[Location],
    options: ReadOptions,
    keep: Keep,
    standardise: Standardise | None,
    lazy: bool,
    tensors: bool,
) -> tuple[Sample | Lazy, ...] | None:
    """Rows of numbers that need no encoding; None if one of the samples is something else."""
    tables = standardise is False and keep is True
    found: list[Sample | Lazy] = []
    for location in located if standardise is not True else ():
        if lazy:
            rows = open_rows(location, options, tables=tables, tensors=tensors)
        else:
            rows = open_memory(location, options, tensors=tensors)
        if rows is None:
            break
        found.append(rows)
    if len(found) == len(located) and not _ranges_may_differ(found):
        return tuple(found)
    # A gradient, or a place on a device, would be lost on the way through a source.
    pinned = [location.name for location in located if tensors and standardise is not None and is_pinned(location.data)]
    if not pinned:
        return None
    if options.change_rows or standardise is True:
        raise InputError(
            "gradient-would-be-lost",
            f"{pinned[0]} has a gradient or is on a device, which options of reading would lose.",
        )
    return _to_one_range([read_numbers(location, options) for location in located])


def _ranges_may_differ(rows: Sequence[Sample | Lazy]) -> bool:
    """Whether some are bytes and others floats, so that white may be 255 here and 1 there."""
    return looks_like_images(tuple(_values(rows[0]).shape[1:])) and len({WHITE.get(stored_type(r)) for r in rows}) > 1


def _to_one_range(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Samples that keep their gradient and their place; images with one meaning of black and white."""
    if not _ranges_may_differ(samples):
        return tuple(samples)
    images = [as_images(as_stored(as_array(sample.values, ""), sample), "") for sample in samples]
    found = [part for part in images if part is not None]
    if len(found) < len(samples) or not know_white(*found):
        return tuple(samples)
    return tuple(
        replace(sample, values=to_unit_range(sample.values, part.low, part.high), stored="")
        for sample, part in zip(samples, found, strict=True)
    )


def _values(rows: Sample | Lazy) -> Points:
    return rows.values if isinstance(rows, Sample) else rows


def _check_kept(rows: Sequence[Sample | Lazy], keep: Keep) -> None:
    """Raise `InputError` if a column to be kept is not there."""
    if isinstance(keep, tuple) and keep:
        check_known(keep, [variable.name for variable in plain_variables(_values(rows[0]), _given_names(rows))])


def _given_names(rows: Sequence[Sample | Lazy]) -> tuple[str, ...] | None:
    return next((part.names for part in rows if isinstance(part, Sample) and part.names is not None), None)


def _sizes(source: Source) -> list[int] | None:
    """How many rows each sample has, where labels say which sample a row of one source belongs to."""
    if "labels" not in source.labels:
        return None
    found: list[int] = np.unique(source.labels["labels"].astype(str), return_counts=True)[1].tolist()
    return found


def _leave_out(source: Source, columns: Sequence[str]) -> Source:
    """A source without some columns, whose `like` reads further rows without them."""
    return replace(source, content=source.content.without(columns), options=source.options.without(sorted(columns)))


def _note_odd(points: Points, shape: tuple[int, ...]) -> tuple[str, ...]:
    return note_odd_pixels(as_array(points[:LOOKED_AT], ""), shape) if looks_like_images(shape) else ()


def display_names(sources: Sequence[Source]) -> tuple[str, ...]:
    """Files by as much of their paths as tells them apart, and else by what they were given as.

    >>> from tellapart.data import read
    >>> display_names([read([[1.0]], "X"), read([[1.0]], "Y")])
    ('X', 'Y')
    """
    return _display([(source.origin, source.name) for source in sources])


def _display(given: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What to call samples, from where each came and its name."""
    paths = [printable(origin).rstrip("/").split("/") for origin, _ in given]
    for depth in range(1, max(map(len, paths)) + 1):
        found = ["/".join(path[-depth:]) or name for path, (_, name) in zip(paths, given, strict=True)]
        if len(set(found)) == len(found):
            return tuple(found)
    return tuple(f"{printable(origin)} ({name})" for origin, name in given)
