"""The one way in: whatever a user has, as a checked `Source`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.errors import InputError, Note
from .._util.rng import RNG
from .arrays import as_array, check_exact, check_rows
from .columns import TableColumn
from .content import Content, Rows, TableContent
from .content.images import as_images
from .formats import Opened
from .formats.delimited import Delimited
from .labels import take_labels
from .lazy import Lazy
from .locate import Location, locate
from .matching import check_schema, match_sources
from .options import Missing, ReadOptions, check_options
from .profile import check_texts, pool_columns
from .sampling import choose_rows
from .source import Source
from .texts import read_columns, read_texts
from .texts import read_like as read_column_like

if TYPE_CHECKING:
    from torch import Tensor

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


def read(
    data: Any,
    name: str = "X",
    *,
    columns: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    missing: Missing = "error",
    image_shape: tuple[int, ...] | None = None,
    image_size: tuple[int, int] | None = None,
    max_rows: int | None = None,
    features: Callable[[Tensor], Any] | None = None,
    batch_size: int = 256,
    rng: RNG = None,
    max_memory: float | str | None = None,
) -> Source:
    """Read a sample, wherever it is.

    Parameters
    ----------
    data
        In memory: arrays, tensors, nested lists, whatever has ``__array__`` or ``__dlpack__``, DataFrames of pandas,
        polars, pyarrow, DuckDB, Modin and others, a ``Dataset`` or ``DataLoader`` of torch (of items with labels, the
        first element is taken), Dask arrays, a list of PIL images. Or a path: .npy, .npz and .safetensors (several
        arrays: name one, as in ``"run.npz:images"``), .csv, .tsv, .jsonl, .txt with a text on each line (also .gz),
        .parquet (also a folder of parts), a zarr array, an idx file (MNIST), or a folder of PNG and JPEG images. Or
        ``"mnist"`` (its test images, fetched once) or ``"digits"``. A `Source` is given back. A column of vectors of
        one length is read as that many columns: ``embedding[0]``, ``embedding[1]``, …
    name
        What to call it in messages.
    columns, drop
        Which columns of a table to take, or to leave out.
    missing
        What to do about missing values: raise an error (``"error"``); compare what is missing too (``"indicator"``,
        see `Encoding`); or drop these rows (``"drop"``). Empty texts are missing. Words such as NA, NaN, None and null
        are missing in a column whose other texts are all numbers, dates, or true and false; else they are texts.
    image_shape
        Declares that rows of numbers are the pixels of images of this shape, such as (28, 28).
    image_size
        Bring images to this (height, width).
    max_rows
        Draw at most this many rows, uniformly at random, in bounded memory. ``rng`` decides which.
    features
        A function or module to apply to the rows (batch by batch, ``batch_size`` at a time; images as floats between 0
        and 1 of shape (n, channels, h, w), a list or a column of texts as a list of strings). Its output is compared;
        the rows are still what is shown. `tellapart.features` has some.
    batch_size
        Rows that ``features`` gets together.
    rng
        A seed, a ``torch.Generator`` or a NumPy generator, for ``max_rows``.
    max_memory
        Bytes that the rows may take, or a string such as ``"1GB"``; by default what is free. What would take more is
        refused before it is read.

    Returns
    -------
    Source

    Notes
    -----
    Arrays of shape (n, h, w), (n, h, w, 1 or 3) or (n, 1 or 3, h, w) with sides of at least 4 are images. Other arrays
    are flattened to rows.

    Examples
    --------
    >>> source = read([[1.0, 2.0], [3.0, 4.0]])
    >>> source.kind, len(source), source.row(1)
    ('rows', 2, array([3., 4.]))
    """
    options = check_options(
        columns=columns,
        drop=drop,
        missing=missing,
        image_shape=image_shape,
        image_size=image_size,
        max_rows=max_rows,
        features=features,
        batch_size=batch_size,
        rng=rng,
        max_memory=max_memory,
    )
    return read_source(locate(data, name), options)


def read_source(location: Location, options: ReadOptions) -> Source:
    """Read a single sample with options that are checked."""
    if isinstance(location.data, Source):
        return _reuse(location.data, location.name, options)
    return _check_alone(open_together([location], options)[0])


def read_like(source: Source, data: Any, name: str) -> Source:
    """Read all rows of other data as those of a source were: its options, and how its texts were read."""
    location = locate(data, name)
    if isinstance(data, Source):
        return read_source(location, replace(source.options, max_rows=None))
    known = {column.name: column for column in source.content.read_columns}
    texts = tuple(column.name for column in known.values() if column.kind == "text" or column.how)
    options = replace(source.options, max_rows=None, texts=texts)
    found = open_source(location, options)
    columns = tuple(
        read_column_like(column, known[column.name].kind, known[column.name].how, found.label)
        if column.name in known
        else read_columns([column], [found.label])[0]
        for column in found.content.columns
    )
    if columns:
        table = TableContent(columns)
        found = replace(found, content=table, notes=(*found.notes, *table.notes(False)))
    return _check_alone(_choose_content(found, options, options.drop))


def _check_alone(source: Source) -> Source:
    """A source that is checked by itself: what its texts are, and then its values."""
    check_texts([source], pool_columns([source]))
    return compute_features(validate(source))


def read_pair(X: Any, Y: Any, names: tuple[str, str] = ("X", "Y"), **reading: Any) -> tuple[Source, Source]:
    """Read two samples and match them. Whether they can be compared at all is asked before their values are looked at.

    Parameters
    ----------
    X, Y, **reading
        As in `read`.
    names
        What to call them in messages.
    """
    located = [locate(data, name) for data, name in zip((X, Y), names, strict=True)]
    sources = open_together(located, check_options(**reading))
    check_texts(sources, pool_columns(sources))
    x, y = match_sources(validate_read(sources, located))
    return x, y


def open_together(
    located: Sequence[Location], options: ReadOptions, labels: Mapping[str, str] = _NO_LABELS
) -> tuple[Source, ...]:
    """Sources with the same columns, each read in one way, whose values have not been looked at.

    ``labels`` are columns that say something about rows, by kind: they are taken out of what was read.
    """
    wanted = options.with_labels(labels.values()) if labels else options
    opened = [replace(open_source(location, wanted), name=location.name) for location in located]
    agreed = read_texts(opened, lambda k, names: _reread(located[k], opened[k], names))
    labelled = [take_labels(source, labels) for source in agreed]
    rest = options.without(labels.values()) if labels else options
    sources = tuple(
        source if isinstance(location.data, Source) else _choose_content(source, rest, wanted.drop)
        for source, location in zip(labelled, located, strict=True)
    )
    if not any(source.options.by_features for source in sources):
        for other in sources[1:]:
            check_schema(sources[0], other)
    return sources


def _reread(location: Location, source: Source, names: tuple[str, ...]) -> dict[str, TableColumn] | None:
    """Columns of a file of text as they are written there; None where the source is something else."""
    if isinstance(location.data, Source):
        if not source.origin:
            return None
        location = locate(source.origin, source.name)
    if not isinstance(location.format, Delimited):
        return None
    again = open_source(location, replace(source.options, columns=names, drop=None, features=None, texts=names))
    if not np.isin(source.numbers, again.numbers).all():
        raise InputError("file-changed", f"{source.label} changed while it was read.")
    rows = np.searchsorted(again.numbers, source.numbers)
    return {column.name: column.take(rows) for column in again.content.columns}


def open_lazy(data: Any, name: str = "X") -> Lazy | None:
    """Rows that can be read when they are used; None if ``data`` is in memory, or must be read as a whole.

    Parameters
    ----------
    data
        A path: .npy, .parquet (one file or a folder of parts) or zarr, of numbers only. Or an array that NumPy has
        mapped into memory, or a Dask array.
    name
        What to call it in messages.

    Notes
    -----
    Rows of Parquet, zarr and Dask are decoded once, to a temporary file (in ``TMPDIR``).
    """
    return None if isinstance(data, Source) else locate(data, name).open_lazy(ReadOptions())


def open_source(location: Location, options: ReadOptions) -> Source:
    """A source as its format opens it: texts are not read, images not made, and values not looked at."""
    if isinstance(location.data, Source):
        return _reuse(location.data, location.name, options)
    opened = location.open(options)
    content = _make_content(opened, location.label)
    numbers = opened.numbers
    total = len(content) if opened.total is None else opened.total
    if numbers is None:
        numbers = choose_rows(len(content), options.max_rows, options.seed)
        content = content if len(numbers) == len(content) else content.take(numbers)
    notes = (*opened.notes, *content.notes(options.image_shape is not None or options.image_size is not None))
    return Source(
        content, location.name, location.origin, numbers, opened.files, notes=notes, options=options, total=total
    )


def _choose_content(source: Source, options: ReadOptions, drop: tuple[str, ...] | None) -> Source:
    """The columns of an array that are wanted, or its rows as images, by the options that the source then has."""
    content = source.content.select(options.columns, drop, source.label)
    if options.image_shape is not None:
        content = as_images(content.pixel_array(source.label), source.label, options.image_shape) or content
    if options.image_size is not None:
        content = content.resized(options.image_size, source.label, options.max_memory)
    return replace(source, content=content, options=options)


def _reuse(source: Source, name: str, options: ReadOptions) -> Source:
    if options.given:
        spelled = " and ".join(f"{{{option}}}" for option in options.given)
        raise InputError(
            "already-read",
            f"{name} is a Source, which has been read already.",
            f"Give {spelled} to the call of read that made it.",
            **dict.fromkeys(options.given, ...),
        )
    rows = choose_rows(len(source), options.max_rows, options.seed)
    return source if len(rows) == len(source) else source.take(rows)


def _make_content(opened: Opened, label: str) -> Content:
    found = opened.content
    if not isinstance(found, np.ndarray):
        if not len(found):
            raise InputError("no-rows", f"{label} is empty: it has no rows.")
        return found
    values = as_array(found, label)
    check_rows(values.shape, label)
    check_exact(values, label)
    images = as_images(values, label) if values.ndim > 2 else None
    return images or Rows(values.reshape(len(values), -1), opened.names, stored=opened.precision)


def validate_read(sources: Sequence[Source], located: Sequence[Location]) -> list[Source]:
    """The sources once the values of those that were read are checked, with features where they are wanted.

    A `Source` of the user was checked before.
    """
    new = [not isinstance(location.data, Source) for location in located]
    checked = [validate(source) if is_new else source for source, is_new in zip(sources, new, strict=True)]
    fitted = _fit_features(checked)
    return [compute_features(source) if is_new else source for source, is_new in zip(fitted, new, strict=True)]


def _fit_features(sources: Sequence[Source]) -> list[Source]:
    """The sources, whose features are fitted on the texts of all of them where the function wants that.

    A function has then a method ``fit_texts``, which is called with the texts of all samples together, and returns the
    function to be used.
    """
    fit = getattr(sources[0].options.features, "fit_texts", None)
    columns = [source.content.text_column() for source in sources]
    texts = [column for column in columns if column is not None and not column.missing.any()]
    if fit is None or len(texts) < len(sources):
        return list(sources)
    fitted = fit([column.levels[k] for column in texts for k in column.values.tolist()])
    return [replace(source, options=replace(source.options, features=fitted)) for source in sources]


def validate(source: Source) -> Source:
    """The source once its values are checked, without the rows to be dropped."""
    options = source.options
    gaps = source.content.validate(source.label, options.missing)
    if gaps is not None and gaps.any():
        if gaps.all():
            raise InputError(
                "no-rows-left",
                f"{source.label} has missing values in every row.",
                "{missing} would leave nothing.",
                missing="drop",
            )
        text = f"{int(gaps.sum())} of {len(source)} rows had missing values and were dropped."
        source = replace(source.take(~gaps), notes=(*source.notes, Note("rows-dropped", text)))
    return source


def compute_features(source: Source) -> Source:
    """The source with features of its rows, where they are wanted."""
    content, options = source.content, source.options
    if options.features is not None:
        content = content.apply(options.features, source.label, options.missing, options.batch_size)
    return replace(source, content=content)
