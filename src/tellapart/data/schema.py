"""How batches are read like a reference that was read before: the same columns, types, categories and scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError, Note, note_after
from .arrays import Array, as_array
from .columns import TableColumn
from .content import Content, Deviation, ReferenceColumns, align_rows_to, align_to, name_columns
from .content.alignment import REMEMBERED, check_width
from .encoding import Encoding
from .lazy import Points
from .locate import Location, locate
from .names import unique_names
from .notices import columns_left_out
from .open import OpenedSamples
from .options import ReadOptions
from .points import open_rows
from .read import compute_features, open_source, open_together, read_source, validate
from .sample import Kind, Sample
from .samples import Variable, encoded_variables
from .scaling import Levels, Numbers
from .texts import read_like

if TYPE_CHECKING:
    from torch import Tensor

#: What is an error: ``"strict"``: every deviation. ``"normal"``: columns that are missing or of another type; texts
#: that were not seen before, and columns that are new, are noted. ``"lenient"``: nothing; what is missing is missing.
Strictness: TypeAlias = Literal["strict", "normal", "lenient"]
#: Deviations that an error tells one by one.
_TOLD = 3


@dataclass(frozen=True, eq=False)
class ReadBatch:
    """A batch as a schema reads it.

    Attributes
    ----------
    values
        Its rows as numbers, in the precision of the reference.
    single
        The numbers of a row that came in single precision, and may be in double precision in the reference.
    notes, deviations
        What should be known, and where it is not built like the reference.
    """

    values: Array
    single: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    deviations: tuple[Deviation, ...] = ()


@dataclass(frozen=True, eq=False)
class Schema:
    """What rows of a reference are, and how later rows become the same numbers.

    Attributes
    ----------
    kind, width
        What rows are, and how many numbers they have.
    variables, image_shape
        What these numbers are.
    encoding
        How rows became numbers; None where they were numbers.
    columns, kinds
        Of a table, the names and types of its columns.
    single
        Of a table, which columns had values in single precision: those of batches are rounded likewise.
    texts
        Of a column of text, the texts that occurred.
    missing, image_size, pixels
        How it was read: what is done about missing values, the size of images, the shape of images given as rows.
    features
        The name of the function of the rows that is compared, if there is one. The function itself is not stored.
    wanted, dropped
        The columns that were asked for, if they were, and those that were left out: others than these are no news.
    written
        How numbers and dates are written that were text (`TableColumn.how`). Batches are read in the same way.
    """

    kind: Kind
    width: int
    variables: tuple[Variable, ...]
    image_shape: tuple[int, ...] | None
    encoding: Encoding | None
    columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    single: tuple[bool, ...] = ()
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = "error"
    image_size: tuple[int, ...] | None = None
    pixels: tuple[int, ...] | None = None
    features: str | None = None
    wanted: tuple[str, ...] | None = None
    dropped: tuple[str, ...] = ()
    written: dict[str, str] = field(default_factory=dict)

    @classmethod
    def fit(cls, opened: OpenedSamples, sketch: Array, options: ReadOptions) -> tuple[Schema, Points, tuple[str, ...]]:
        """The schema of a reference that `open_samples` opened, its rows as numbers, and notes.

        Parameters
        ----------
        opened
            The reference.
        sketch
            Positions of the rows that features are fitted on, and that are never compared with a batch.
        options
            How it was read.

        Notes
        -----
        A test that exchanges rows of the reference with rows of a batch is exact if the function that makes numbers of
        a row does not depend on these rows. What depends on values is therefore decided on the sketch alone: the
        categories that have a coordinate, and what is filled in for missing values. What does not:

        - names and the number of columns, lengths of vectors, sizes of images, precision: the same in every row;
        - indicators of missing values, and the coordinate of other categories: with ``missing="indicator"`` every
          column has one, and else none, whatever its values are;
        - black and white of images of floats, by the largest pixel of the reference: one scale for all pixels, which
          the features divide by again;
        - ``texts``, by which deviations are counted, and ``notes``: they are reported, and not computed with;
        - whether the reference is refused (missing values): then there is no test, and no false alarm.

        Which columns are left out is decided on all rows too (see `tellapart.data.notices`): a column of text or of
        identifiers at the very limit of the rule may be decided by rows that are compared. Both choices give an exact
        test, so that the level is at most doubled.

        Another choice may depend on rows that are compared: the type of a column that came as text is decided on all
        rows, as it is read. If all of its values in the sketch are numbers, and a few other rows have texts, it is text
        because of these. Each of the two ways to read it gives an exact test; the choice is not covered by that.
        """
        if opened.rows:
            samples = opened.encode()
            return cls("rows", opened.most_numbers(), samples.variables, None, None), samples.points[0], ()
        source, encoding = opened.sources[0], opened.fit_encoding((sketch,))
        images = encoding.kind == "images"
        if not images:
            encoding = _open_ended(encoding, options.missing == "indicator")
        points: Points = encoding.encode_to_file(source) if source.content.in_file else encoding.encode(source).values
        columns = source.content.columns
        kinds = {column.name: column.kind for column in columns}
        texts = {c.name: tuple(sorted(c.used_levels()))[:REMEMBERED] for c in columns if c.kind == "text"}
        function = options.features
        found = cls(
            encoding.kind,
            points.shape[1],
            encoded_variables(encoding, kinds),
            encoding.image_shape,
            encoding,
            () if images else source.columns if not options.by_features else encoding.source_columns,
            tuple(kinds.values()),
            source.content.single if columns else (),
            texts,
            options.missing,
            options.image_size,
            options.image_shape,
            None if function is None else getattr(function, "__name__", type(function).__name__),
            options.columns,
            (*(options.drop or ()), *columns_left_out(opened.notices)),
            {column.name: column.how for column in columns if column.how and column.kind != "text"},
        )
        return found, points, tuple(note_after("reference: ", note) for note in (*source.notes, *opened.left_out))

    def read(
        self, batch: Any, name: str, strictness: Strictness, features: Callable[[Tensor], Any] | None
    ) -> ReadBatch:
        """The rows of a batch as numbers.

        The number of different texts of a column, and whether most of them are numbers, is not looked at: a reference
        has decided what it holds, and a stream without the batches that look otherwise would have another distribution.
        """
        if strictness not in ("strict", "normal", "lenient"):
            raise InputError(
                "unknown-choice", f"schema={strictness!r} is not known. Choose 'strict', 'normal' or 'lenient'."
            )
        options = ReadOptions(missing=self.missing, features=features)  # type: ignore[arg-type]
        by_features = isinstance(self.features, str)
        if options.by_features != by_features:
            what = "was fitted with" if by_features else "was fitted without"
            raise InputError(
                "features-differ", f"The reference {what} features.", "Load it with the same {features}.", features=...
            )
        location = locate(batch, name)
        if self.encoding is None:
            return self._read_rows(location)
        if self.kind == "images" or by_features:
            options = replace(options, image_size=self.image_size, image_shape=self.pixels)  # type: ignore[arg-type]
        if by_features:
            # Columns are chosen before the function sees them; else afterwards, so that a missing one can be counted.
            options = replace(options, columns=self.wanted, drop=self.dropped or None)
        # In a file of text these stay text until it is known how the reference was read.
        text = [column for column, kind in zip(self.columns, self.kinds, strict=False) if kind == "text"]
        options = replace(options, texts=(*self.written, *text))
        deviations: list[Deviation] = []
        if self.kind == "table":
            source = open_source(location, options)
            columns = self._read_columns(name_columns(source.content, self.layout, source.label), source.label)
            table, deviations = align_to(columns, self.layout)
            source = replace(source, content=table, notes=tuple(dict.fromkeys((*source.notes, *table.notes(False)))))
        else:
            source = open_together([location], options)[0]
        if self.kind == "rows" and not by_features:
            source = replace(source, content=align_rows_to(source.content, self.layout, source.label))
        _check_deviations(deviations, strictness, source.label)
        try:
            source = compute_features(validate(source))
        except InputError as error:
            if "missing" not in error.options:
                raise
            raise InputError(
                error.id, error.problem, "Fit the reference with {missing}.", missing="indicator"
            ) from error
        if by_features:
            check_width(len(source.content.single), len(self.columns), source.label)
        single = self._single_columns(source.content)
        came = source.content.single
        coarse = self.single if self.kind == "table" else (self.encoding.dtype == np.float32,) * len(came)
        values = self.encoding.encode(replace(source, content=source.content.to_single(coarse))).values
        notes = [note_after(f"{source.label}: ", note) for note in source.notes]
        return ReadBatch(
            values,
            single,
            (*notes, *(Note("unlike-reference", f"{name}: {one.description}") for one in deviations)),
            tuple(deviations),
        )

    def _read_rows(self, location: Location) -> ReadBatch:
        """A batch where the reference is rows of numbers; a table of numbers by position."""
        rows = open_rows(location, ReadOptions())
        if rows is None:
            source = read_source(location, ReadOptions())
            matrix = source.content.to_matrix()
            if matrix is None:
                raise InputError(
                    "kinds-differ", f"{source.label} does not hold rows of numbers, but the reference does."
                )
            values = np.array(matrix, np.float64 if matrix.dtype.itemsize > 4 else np.float32)
        else:
            values = as_array((rows.values if isinstance(rows, Sample) else rows)[:], location.name)
            values = values.reshape(len(values), -1)
        check_width(values.shape[1], self.width, location.name)
        return ReadBatch(values, tuple(range(self.width)) if values.dtype == np.float32 else ())

    def _single_columns(self, content: Content) -> tuple[int, ...]:
        """The numbers of a row that are in single precision in a batch, and in double precision in the reference."""
        if self.kind != "table":
            return tuple(k for k, single in enumerate(content.single) if single)
        places = {unit.name: unit.coordinates[0] for unit in self.variables if unit.kind == "number"}
        both = zip(content.names, content.single, self.single, strict=True)
        return tuple(places[name] for name, single, coarse in both if single and not coarse and name in places)

    def check(self) -> None:
        """Raise `InputError` if the parts of a schema from a file are inconsistent."""
        places = sorted(place for unit in self.variables for place in unit.coordinates)
        gaps = [unit.gap for unit in self.variables if unit.gap is not None]
        shape = self.image_shape
        fits = places == list(range(self.width)) and all(0 <= gap < self.width for gap in gaps)
        fits = fits and (shape is None or (len(shape) in (2, 3) and min(shape) > 0 and math.prod(shape) == self.width))
        found = self.encoding
        if found is not None:
            numbers = [part for part in found.parts if isinstance(part, Numbers)]
            fits = fits and sum(part.width for part in found.parts) == self.width == len(found.names)
            fits = fits and len(found.parts) == (len(self.columns) if self.kind == "table" else 1)
            fits = fits and (self.kind, shape) == (found.kind, found.image_shape) and all(map(_fit, numbers))
            fits = fits and (self.kind == "images" or self.columns == found.source_columns)
            fits = fits and (self.kind == "table") == bool(self.kinds) and len(self.kinds) in (0, len(self.columns))
            fits = fits and len(self.single) == len(self.kinds)
            fits = fits and (self.kind == "table" or len(numbers) == 1)
            fits = fits and (self.kind != "images" or found.pixel_range is not None)
        if not fits or set(self.kinds) - {"number", "boolean", "date", "text"}:
            raise InputError("damaged-file", "What it says of its columns does not fit together.")

    @property
    def layout(self) -> ReferenceColumns:
        """What batches are aligned to."""
        return ReferenceColumns(self.columns, self.kinds, self.texts, self.written, self.wanted, self.dropped)

    def _read_columns(self, columns: Sequence[TableColumn], label: str) -> list[TableColumn]:
        """The columns of a batch, those that the reference has read as there."""
        kinds = dict(zip(self.columns, self.kinds, strict=True))
        return [
            read_like(c, kinds[c.name], self.written.get(c.name, ""), label, self.texts.get(c.name, ()))
            if c.name in kinds
            else c
            for c in columns
        ]


def _fit(part: Numbers) -> bool:
    """Whether the arrays of a part have the lengths and types that they should have."""
    arrays = (part.shift, part.factor, part.fill)
    fits = all(array.dtype.kind == "f" and array.shape == (len(part.shift),) for array in arrays)
    gaps = part.gaps
    whole = gaps.ndim == 1 and gaps.dtype.kind in "iu"
    return fits and whole and (not len(gaps) or (int(gaps.min()) >= 0 and int(gaps.max()) < len(part.shift)))


def _check_deviations(deviations: list[Deviation], strictness: Strictness, label: str) -> None:
    bad = {"strict": {"missing column", "new column", "type", "unseen category"}, "normal": {"missing column", "type"}}
    found = [one.description for one in deviations if one.kind in bad.get(strictness, ())]
    if found:
        more = [f"And {len(found) - _TOLD} more."] if len(found) > _TOLD else []
        raise InputError(
            "unlike-reference",
            f"{label} is not built like the reference: {' '.join([*found[:_TOLD], *more])}",
            "Mend it, or give {schema} to count and note this instead.",
            schema="lenient" if strictness == "normal" else "normal",
        )


def _open_ended(encoding: Encoding, gaps: bool) -> Encoding:
    """With a place for texts that were not seen, and with ``gaps`` for what may be missing later."""
    parts, names, columns, start = [], [], [], 0
    for k, part in enumerate(encoding.parts):
        if isinstance(part, Levels):
            name = encoding.source_columns[k]
            part = replace(part, other=True, missing=part.missing or gaps)
            new = part.names(name)
            origins = [name] * len(new)
        else:
            own = encoding.source_columns if encoding.kind != "table" else (encoding.source_columns[k],)
            part = replace(part, gaps=np.arange(len(own))) if gaps else part
            new = [*own, *(f"{own[g]} is missing" for g in part.gaps)]
            origins = [*own, *(own[g] for g in part.gaps)]
        start += part.width
        parts.append(part)
        names += new
        columns += origins
    return replace(encoding, parts=tuple(parts), names=unique_names(names), columns=tuple(columns))


#: What a schema is made of, for files.
PARTS = [Schema, Variable, Encoding, Numbers, Levels]
