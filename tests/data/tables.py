"""Helpers of tests that read tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tellapart.data import read
from tellapart.data.columns import TableColumn
from tellapart.data.content import TableContent


def column(data: Any, **options: Any) -> TableColumn:
    content = read(data, missing="indicator", **options).content
    assert isinstance(content, TableContent)
    return content.columns[0]


def write_parts(folder: Path, **tables: Any) -> Path:
    folder.mkdir()
    for name, values in tables.items():
        pq.write_table(values if isinstance(values, pa.Table) else pa.table({"a": values}), folder / f"{name}.parquet")
    return folder
