"""DataFrames, tables and columns of every library that narwhals or Arrow knows."""

from __future__ import annotations

from typing import Any

from ..frames import is_frame, table_from_frame
from .base import Format, Opened, Request


class Frames(Format):
    """DataFrames of pandas, polars, pyarrow, DuckDB, Modin and others."""

    name = "DataFrames"
    tabular = True

    def matches(self, data: Any) -> bool:
        """Whether this is a DataFrame, or a column of one."""
        return is_frame(data)

    def open(self, request: Request) -> Opened:
        """Read the columns wanted."""
        return Opened(table_from_frame(request.data, request.label, request.options.columns, request.options.drop))
