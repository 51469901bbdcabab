"""The one way in: whatever a user has, as a checked `Source`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from .._util.errors import InputError, Note
from .._util.rng import RNG
from .arrays import Array, as_array, check_exact, check_finite, check_rows, iterate_blocks
from .columns import Column
from .features import apply_features
from .formats import Opened, Request, find_format
from .formats.delimited import Delimited
from .images import Images, as_images, note_odd_pixels
from .lazy import Lazy
from .limits import check_memory
from .matching import check_schema, match, match_checked
from .options import Missing, ReadOptions, check_options
from .paths import check_path, find_path, is_name, is_path
from .sampling import choose_rows
from .source import Rows, Source
from .stores import naming_file, unchanged
from .tables import Table, check_table, select_columns
from .together import agree_tables, check_together, notes_of_reading
from .together import read_like as read_column_like

T = TypeVar("T")


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
        arrays: name one, as in ``"run.npz:images"``), .csv, .tsv, .jsonl (also .gz), .parquet (also a folder of
        parts), a zarr array, an idx file (MNIST), or a folder of PNG and JPEG images. Or ``"mnist"`` (its test images,
        fetched once) or ``"digits"``. A `Source` is given back. A column of
        vectors of one length is read as that many columns: ``embedding[0]``, ``embedding[1]``, …
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
    return read_with(data, name, options)


def read_with(data: Any, name: str, options: ReadOptions) -> Source:
    """Read a sample with options that are checked."""
    return check_content(open_source(data, name, options))


def read_like(source: Source, data: Any, name: str) -> Source:
    """Read all rows of other data as those of a source were: its options, and how its texts were read."""
    known = {c.name: c for c in source.content.columns} if isinstance(source.content, Table) else {}
    texts = tuple(column.name for column in known.values() if column.kind == "text" or column.how)
    found = open_source(data, name, replace(source.options, max_rows=None, unlabelled=(), texts=texts))
    if isinstance(found.content, Table) and not isinstance(data, Source):
        columns = [
            read_column_like(column, known[column.name].kind, known[column.name].how)
            if column.name in known
            else column
            for column in found.content.columns
        ]
        found = replace(found, content=Table(tuple(columns)))
    return check_content(found)


def read_pair(X: Any, Y: Any, names: tuple[str, str] = ("X", "Y"), **reading: Any) -> tuple[Source, Source]:
    """Read two samples and match them. Whether they can be compared at all is asked before their values are looked at.

    Parameters
    ----------
    X, Y, **reading
        As in `read`.
    names
        What to call them in messages.
    """
    return read_pair_with(X, Y, names, check_options(**reading))


def read_pair_with(X: Any, Y: Any, names: tuple[str, str], options: ReadOptions) -> tuple[Source, Source]:
    """Read two samples with options that are checked, and match them."""
    return check_pair(*open_pair(X, Y, names, options), options.paired)


def open_pair(X: Any, Y: Any, names: tuple[str, str], options: ReadOptions) -> tuple[Source, Source]:
    """`open_together` for two."""
    x, y = open_together((X, Y), names, options)
    return x, y


def open_together(data: Sequence[Any], names: Sequence[str], options: ReadOptions) -> tuple[Source, ...]:
    """Sources with the same columns, each read in one way, whose values have not been looked at.

    Those that were sources before are ``checked``.
    """
    for part, name in zip(data, names, strict=True):
        check_path(part, name)
    sources = [open_source(part, name, options) for part, name in zip(data, names, strict=True)]
    if _are_plain(sources):
        for other in sources[1:]:
            check_schema(sources[0], other)
    sources = [
        replace(source, name=name, checked=True) if isinstance(part, Source) else source
        for source, part, name in zip(sources, data, names, strict=True)
    ]
    return agree_tables(sources, _reread)


def check_pair(x: Source, y: Source, paired: bool = False) -> tuple[Source, Source]:
    """`check_sources` for two; of pairs, those that are whole."""
    x, y = check_sources((x, y))
    return keep_pairs(x, y) if paired else (x, y)


def check_sources(sources: Sequence[Source]) -> list[Source]:
    """What `open_together` gave, with values that are checked, and matched."""
    check_together(sources)
    found = [s if s.checked else replace(check_content(s, alone=False), checked=True) for s in sources]
    bring = match_checked if _are_plain(found) else match
    if len(found) == 2:
        return list(bring(found[0], found[1]))
    first = found[0]
    for other in found[1:]:
        first = bring(first, other)[0]
    return [first, *(bring(first, other)[1] for other in found[1:])]


def keep_pairs(x: Source, y: Source) -> tuple[Source, Source]:
    """Rows whose partner is there too, where row i of one sample belongs to row i of the other."""
    if x.total != y.total and x.total is not None and y.total is not None:
        raise InputError(
            "unequal-pairs",
            f"{x.label} has {x.total} rows and {y.label} has {y.total}, so their rows are not pairs.",
            "Leave out {paired}, or give both the same rows.",
            paired=True,
        )
    if np.array_equal(x.numbers, y.numbers):
        return x, y
    both, of_x, of_y = np.intersect1d(x.numbers, y.numbers, return_indices=True)
    if not len(both):
        raise InputError(
            "no-rows-left", f"No row of {x.label} has its partner in {y.label}: all were dropped or left out."
        )
    kept = []
    for source, places in ((x, of_x), (y, of_y)):
        lost = len(source) - len(both)
        text = f"{lost} {'row was' if lost == 1 else 'rows were'} left out because the other of the pair was."
        note = (Note("rows-dropped", text),)
        kept.append(replace(source.take(places), notes=(*source.notes, *(note if lost else ()))))
    return kept[0], kept[1]


def _are_plain(sources: Sequence[Source]) -> bool:
    """Whether rows are compared as they are, not by features."""
    return all(source.features is None and source.options.features is None for source in sources)


def _reread(source: Source, names: tuple[str, ...]) -> dict[str, Column] | None:
    """Columns of a file of text as they are written there; None where the source is something else."""
    if not source.origin or not is_path(source.origin):
        return None
    options = replace(source.options, columns=names, drop=None, features=None, unlabelled=(), texts=names)
    request = make_request(source.origin, source.name, options)
    if not isinstance(find_format(request), Delimited):
        return None
    again = open_source(source.origin, source.name, options)
    if not isinstance(again.content, Table) or not np.isin(source.numbers, again.numbers).all():
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
    if isinstance(data, Source):
        return None
    request = make_request(data, name, ReadOptions())
    entry = find_format(request)
    return use_format(request, entry.open_lazy)


def make_request(data: Any, name: str, options: ReadOptions) -> Request:
    """What is to be read: a path is looked up, everything else is taken as it is."""
    if is_path(data):
        path, member = find_path(data, name)
        return Request(path, name, options, os.fsdecode(data), member)
    return Request(data, name, options, data if is_name(data) else "")


def open_source(data: Any, name: str, options: ReadOptions) -> Source:
    """A source whose values have not been looked at."""
    if isinstance(data, Source):
        return _reuse(data, name, options)
    request = make_request(data, name, options)
    opened = use_format(request, find_format(request).open)
    content = _make_content(opened, request.label)
    numbers = opened.numbers
    total = len(content) if numbers is None or options.max_rows is None else None
    if numbers is None:
        numbers = request.choose_rows(len(content))
        content = content if len(numbers) == len(content) else content.take(numbers)
    remarks = notes_of_reading(content) if isinstance(content, Table) else ()
    declared = options.image_shape is not None or options.image_size is not None
    odd = note_odd_pixels(content.pixels, content.shape) if isinstance(content, Images) and not declared else ()
    notes = (*opened.notes, *remarks, *odd)
    source = Source(content, name, request.origin, numbers, opened.files, notes=notes, options=options, total=total)
    return _shape_images(_select_coordinates(_drop_unlabelled(source)))


def _drop_unlabelled(source: Source) -> Source:
    """The rows that have a value in each of the columns of labels."""
    for one in source.options.unlabelled:
        gaps = np.isin(source.numbers, one.rows) if one.sample == source.name else np.zeros(len(source), bool)
        if gaps.all():
            raise InputError(
                "no-rows-left",
                f"{source.label} has no value in {one.column!r}.",
                "{missing} would leave nothing.",
                missing="drop",
            )
        if gaps.any():
            text = f"{int(gaps.sum())} of {len(source)} rows had no value in {one.column!r} and were dropped."
            source = replace(source.take(~gaps), notes=(*source.notes, Note("rows-dropped", text)))
    return source


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


def use_format(request: Request, action: Callable[[Request], T]) -> T:
    """What ``action`` gives; whatever a library finds wrong with a file becomes an error that names the file."""
    if not is_path(request.data):
        return action(request)
    with naming_file(request.label), unchanged(request.data, request.label):
        return action(request)


def _make_content(opened: Opened, label: str) -> Rows | Table | Images:
    content = opened.content
    if not isinstance(content, np.ndarray):
        if not len(content):
            raise InputError("no-rows", f"{label} is empty: it has no rows.")
        return content
    values = as_array(content, label)
    check_rows(values.shape, label)
    check_exact(values, label)
    images = as_images(values, label) if values.ndim > 2 else None
    return images or Rows(values.reshape(len(values), -1), opened.names, stored=opened.precision)


def _select_coordinates(source: Source) -> Source:
    """The columns wanted of plain rows; those of tables have been selected as they were read."""
    options, content = source.options, source.content
    if isinstance(content, Table) or (options.columns is None and options.drop is None):
        return source
    if isinstance(content, Images):
        argument = "columns" if options.columns is not None else "drop"
        advice = f"{{{argument}}} is for tables and rows."
        raise InputError(
            "no-columns", f"{source.label} holds images, which have no columns.", advice, **{argument: ...}
        )
    keep = select_columns(source.columns, source.label, options.columns, options.drop)
    names = tuple(source.columns[k] for k in keep)
    return replace(source, content=replace(content, values=content.values[:, keep], names=names))


def _shape_images(source: Source) -> Source:
    """Rows that are declared to be images are made so, and images get their size."""
    content, options = source.content, source.options
    if options.image_shape is not None:
        values = content.pixels if isinstance(content, Images) else _as_matrix(source, "image_shape")
        content = as_images(values, source.label, options.image_shape) or content
    if options.image_size is not None:
        if not isinstance(content, Images):
            what = "table" if isinstance(content, Table) else "list of rows"
            raise InputError(
                "not-images",
                f"{source.label} is a {what}, and not of images.",
                "Leave out {image_size}, or give {image_shape} too.",
                image_size=...,
                image_shape=...,
            )
        _check_resized(content, source)
        content = content.resized(options.image_size)
    return replace(source, content=content)


def _check_resized(content: Images, source: Source) -> None:
    """Complain about a size that images do not fit into memory at: in single precision, and once more to be joined."""
    height, width = source.options.image_size or content.shape[:2]
    pixels = len(content) * height * width * math.prod(content.shape[2:])
    advice = "Give a smaller {image_size}, or {max_rows} to draw some of the images."
    what = f"{source.label} at {height} × {width} pixels"
    check_memory(8.0 * pixels, what, source.options.max_memory, advice, image_size=..., max_rows=...)


def _as_matrix(source: Source, argument: str) -> Array:
    content = source.content
    values = (
        content.to_matrix() if isinstance(content, Table) else content.values if isinstance(content, Rows) else None
    )
    if values is None:
        advice = f"{{{argument}}} needs numbers or images."
        if argument == "features":
            advice = f"{advice} Choose one column of text with {{columns}}, or columns of numbers."
        raise InputError(
            "not-numbers", f"{source.label} has columns of text or dates.", advice, columns=..., **{argument: ...}
        )
    return values


def check_content(source: Source, *, alone: bool = True) -> Source:
    """The source once its values are checked, without the rows to be dropped, and with features where wanted.

    With ``alone`` what its texts are is checked too; else that is done for several sources together, or was done for
    the reference of a batch.
    """
    content, missing = source.content, source.options.missing
    if isinstance(content, Images):
        check_finite(content.pixels, source.label)
        return _add_features(source, content)
    if isinstance(content, Table):
        check_table(content, source.label, missing)
        if alone:
            check_together([source])
        gaps = content.missing if missing == "drop" else None
    else:
        check_finite(
            content.values,
            source.label,
            allow_nan=missing != "error",
            advice="Remove or impute them, or read it with {missing} or {missing_}.",
            missing="indicator",
            missing_="drop",
        )
        gaps = _find_nan(content.values) if missing == "drop" else None
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
    return _add_features(source)


def _add_features(source: Source, images: Images | None = None) -> Source:
    options = source.options
    if options.features is None or source.features is not None:
        return source
    content = source.content
    if isinstance(content, Table) and len(content.columns) == 1:
        column = content.columns[0]
        text = column if column.kind == "text" else column.texts  # answers such as "42" are texts here
        if text is not None:
            return replace(source, features=_features_of_texts(text, source))
    values = images or _as_matrix(source, "features")
    if options.missing == "indicator" and not isinstance(values, Images):
        advice = "{features} needs all values: read it with {missing}."
        check_finite(values, source.label, advice=advice, features=..., missing="drop")
    return replace(source, features=apply_features(values, options.features, source.label, options.batch_size))


def _features_of_texts(column: Column, source: Source) -> Tensor:
    """Features of a column of texts; each text is looked at once, however often it occurs."""
    function = source.options.features
    assert function is not None
    if column.missing.any():
        raise InputError(
            "missing-values", f"{source.label} has missing texts.", "Drop them with {missing}.", missing="drop"
        )
    used, places = np.unique(column.values, return_inverse=True)
    texts = [column.levels[k] for k in used]
    return apply_features(texts, function, source.label, source.options.batch_size)[places]


def _find_nan(values: Array) -> Array:
    """Which rows have a NaN."""
    if values.dtype.kind != "f":
        return np.zeros(len(values), bool)
    return np.concatenate([np.isnan(block).any(axis=1) for _, block in iterate_blocks(values)])
