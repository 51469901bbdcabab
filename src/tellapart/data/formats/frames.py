"""DataFrames, tables and columns of every library that narwhals or Arrow knows, as a `TableContent`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from ..._util.errors import InputTypeError
from ..._util.extras import extra
from ..._util.text import printable, shorten
from ..arrays import Array
from ..columns import TableColumn, column_from_array, column_from_codes
from ..content import TableContent
from ..names import select_columns, unique_names
from ..vectors import count_numbers, holds_vectors, split_vectors
from .base import Format, Opened, Request

#: Libraries whose frames are known by name; others by the Arrow PyCapsule interface.
_LIBRARIES = ("pandas", "polars", "pyarrow", "duckdb", "modin", "cudf", "ibis", "sqlframe", "pyspark", "dask_expr")
#: Characters of a column's name.
_LONGEST_NAME = 200
_DASK_FRAME = "dask.dataframe"


class Frames(Format):
    """DataFrames of pandas, polars, pyarrow, DuckDB, Modin and others."""

    name = "DataFrames"
    tabular = True

    def matches(self, data: Any) -> bool:
        """Whether this is a DataFrame, or a column of one."""
        return is_frame(data)

    def open(self, request: Request) -> Opened:
        """Read the rows and columns wanted."""
        frame = open_frame(request.data, request.label, request.options.columns, request.options.drop)
        request.check_memory(8.0 * request.count_rows(len(frame)) * count_numbers(_narwhals(), frame))
        total = len(frame)
        numbers = request.choose_rows(total)
        frame = frame[numbers] if len(numbers) < total else frame
        return Opened(table_from_frame(frame, request.label), numbers, total=total)


def is_frame(data: Any) -> bool:
    """Whether this is a DataFrame, or a column of one, of any library."""
    module = type(data).__module__
    known = module.split(".")[0] in _LIBRARIES or module.startswith(_DASK_FRAME)
    return known or hasattr(data, "__arrow_c_stream__") or hasattr(data, "__narwhals_dataframe__")


def open_frame(
    data: Any, label: str, columns: tuple[str, ...] | None = None, drop: tuple[str, ...] | None = None
) -> Any:
    """A narwhals DataFrame of the columns that are wanted; what is lazy (polars, DuckDB, Dask) is computed."""
    narwhals = _narwhals()
    frame = _as_narwhals(narwhals, data, label)
    lazy = isinstance(frame, narwhals.LazyFrame)
    names = tuple(frame.collect_schema().names() if lazy else frame.columns)
    keep = [names[k] for k in select_columns(names, label, columns, drop)]
    frame = frame.select(keep) if len(keep) < len(names) else frame
    return frame.collect() if lazy else frame


def table_from_frame(frame: Any, label: str) -> TableContent:
    """The columns of a narwhals DataFrame, or of what narwhals takes for one."""
    narwhals = _narwhals()
    frame = frame if isinstance(frame, narwhals.DataFrame) else open_frame(frame, label)
    shown = show_names(frame.columns)
    columns: list[TableColumn] = []
    for name, given in zip(shown, frame.columns, strict=True):
        series = frame[given]
        if holds_vectors(narwhals, series):
            columns += split_vectors(name, series, label)
        else:
            columns.append(_column(narwhals, name, series, label))
    names = unique_names(column.name for column in columns)
    return TableContent(tuple(replace(column, name=name) for column, name in zip(columns, names, strict=True)))


def show_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of columns as they are shown: all different."""
    return unique_names(map(show_name, names))


def show_name(name: str) -> str:
    """What a column is called: without control characters, and not too long."""
    return shorten(printable(name), _LONGEST_NAME)


def _narwhals() -> Any:
    return import_module("narwhals")


def _as_narwhals(narwhals: Any, data: Any, label: str) -> Any:
    """A frame of narwhals, whose columns have names that are text and differ."""
    library = type(data).__module__.split(".")[0]
    if library == "pyarrow" or (library not in _LIBRARIES and hasattr(data, "__arrow_c_stream__")):
        data = _as_arrow(data)
    elif hasattr(data, "to_frame") and not hasattr(data, "columns"):  # one column
        data = data.to_frame()
    if library == "pandas":
        data = _without_views(data)
    if hasattr(data, "set_axis"):  # pandas and its likes allow any names
        data = data.set_axis(list(unique_names(str(name) for name in data.columns)), axis=1)
    try:
        return narwhals.from_native(data)
    except TypeError:
        raise InputTypeError(
            "unknown-data",
            f"{label} is of type {type(data).__module__}.{type(data).__qualname__}, which is not known. Give a "
            "DataFrame, a path or an array.",
        ) from None


def _without_views(frame: Any) -> Any:
    """A frame of pandas whose texts are of types that pandas and narwhals know how to use."""
    for k, kind in enumerate(frame.dtypes):
        if str(getattr(kind, "pyarrow_dtype", "")) == "string_view":
            texts = frame.iloc[:, k].array.__arrow_array__().cast("large_string")
            frame = frame.copy(deep=False)
            frame.isetitem(k, texts.to_pandas().set_axis(frame.index))
    return frame


def _as_arrow(data: Any) -> Any:
    arrow = extra("pyarrow", group="tables", what="Reading Arrow data")
    if isinstance(data, (arrow.Array, arrow.ChunkedArray)):
        data = arrow.table([data], names=["0"])
    table = arrow.table(data)
    table = table.rename_columns(list(unique_names(table.column_names)))
    for k, field in enumerate(table.schema):
        if str(field.type) == "string_view":  # few functions of pyarrow take it
            table = table.set_column(k, field.name, table.column(k).cast(arrow.large_string()))
    return table


def _column(narwhals: Any, name: str, series: Any, label: str) -> TableColumn:
    dtype = series.dtype
    categorical = dtype in (narwhals.Categorical, narwhals.Enum)
    if categorical or dtype == narwhals.String:
        codes, levels = _number_texts(narwhals, series)
        if levels or categorical:
            return column_from_codes(name, codes, levels, categorical=categorical)
        return TableColumn(name, "number", np.full(len(series), np.nan), single=True)  # nothing has no type
    if dtype.is_nested() or dtype == narwhals.Binary:
        raise InputTypeError(
            "unreadable-column",
            f"{label} has a column {name!r} that holds values of type {dtype}.",
            "Leave it out with {drop}, or make numbers or text of it.",
            drop=[name],
        )
    if dtype.is_integer():
        return _whole_numbers(narwhals, name, series, label)
    array = series.to_numpy()
    if dtype == narwhals.Boolean and array.dtype.kind != "b":
        gaps = series.is_null().to_numpy()
        values = np.where(gaps, np.nan, np.where(gaps, False, array).astype(np.float64))
        return TableColumn(name, "boolean", values, single=True)
    return column_from_array(name, array, label)


def _whole_numbers(narwhals: Any, name: str, series: Any, label: str) -> TableColumn:
    """Whole numbers, of which those that are missing must not make floats of the others before these are checked."""
    if series.dtype in (narwhals.Int128, narwhals.UInt128):  # which NumPy has not
        return column_from_array(name, np.array(series.to_list(), object), label)
    column = column_from_array(name, series.drop_nulls().to_numpy(), label)
    if len(column) == len(series):
        return column
    values = np.full(len(series), np.nan)
    values[~series.is_null().to_numpy()] = column.values
    return replace(column, values=values)


def _number_texts(narwhals: Any, series: Any) -> tuple[Array, tuple[str, ...]]:
    """A number for each text (-1: missing), and the texts. They stay in their library, where they take least memory."""
    values = series.drop_nulls().unique(maintain_order=True).to_list()
    if not values:
        return np.full(len(series), -1), ()
    codes = series.replace_strict(values, list(range(len(values))), return_dtype=narwhals.Int32)
    return codes.fill_null(-1).to_numpy().astype(np.int64), tuple(str(value) for value in values)
