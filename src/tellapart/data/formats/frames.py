"""DataFrames, tables and columns of every library that narwhals or Arrow knows."""

from __future__ import annotations

from typing import Any

from ..frames import frame_width, is_frame, open_frame, table_from_frame
from .base import Format, Opened, Request


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
        request.check_memory(8.0 * request.count_rows(len(frame)) * frame_width(frame))
        total = len(frame)
        numbers = request.choose_rows(total)
        frame = frame[numbers] if len(numbers) < total else frame
        return Opened(table_from_frame(frame, request.label), numbers, total=total)
