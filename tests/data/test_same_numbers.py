"""The same rows in any container: the same p-value, or the same refusal.

Each kind of column is written to every container that can hold it. The two samples are compared in each of them, and
the first sample of the first container with the second sample of the others. A container that cannot hold a kind is
named in `CANNOT`, with the reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from containers import keep_in_files

import tellapart as ta
from tellapart._util.errors import InputError
from tellapart.data import as_pair

ROWS = 30
GERMANY = timezone(timedelta(hours=2))
EPOCH = datetime(1970, 1, 1)

Values = list[Any]


def pick(*values: Any) -> Callable[[np.random.Generator], Values]:
    """Rows drawn from a few values, all of which occur."""
    return lambda random: [values[k] for k in random.permutation(np.arange(ROWS) % len(values))]


def draw(function: Callable[[np.random.Generator], np.ndarray]) -> Callable[[np.random.Generator], Values]:
    return lambda random: function(random).tolist()


#: Kinds of columns: how values are drawn, and the type of Arrow that holds them (None: that of float64).
KINDS: dict[str, tuple[Callable[[np.random.Generator], Values], pa.DataType]] = {
    "float64": (draw(lambda r: r.normal(size=ROWS)), pa.float64()),
    "float64 decimals": (draw(lambda r: np.round(r.normal(size=ROWS), 1)), pa.float64()),
    "float32": (draw(lambda r: r.normal(size=ROWS).astype("f4").astype(float)), pa.float32()),
    "float32 decimals": (draw(lambda r: np.round(r.normal(size=ROWS), 1)), pa.float32()),
    "float16 decimals": (draw(lambda r: r.integers(0, 9, ROWS) / 10), pa.float16()),
    "float64 with missing": (pick(0.1, 0.7, None, 1.5), pa.float64()),
    "float32 with missing": (pick(0.1, 0.7, None, 1.5), pa.float32()),
    "int8": (pick(-5, 3, 100), pa.int8()),
    "int64": (draw(lambda r: r.integers(0, 1000, ROWS)), pa.int64()),
    "int64 with missing": (pick(3, 8, None, 120), pa.int64()),
    "whole numbers beyond 2**53 that floats hold": (pick(2**53 + 2, 2**60, 5), pa.int64()),
    "whole numbers beyond 2**53": (pick(2**53, 2**53 + 1, 5), pa.int64()),
    "whole numbers beyond 2**53 with missing": (pick(2**53, 2**53 + 1, None), pa.int64()),
    "whole numbers from 2**63": (pick(2**63, 2**63 + 1, 5), pa.uint64()),
    "whole numbers from 2**63 with missing": (pick(2**63, 2**63 + 1, None), pa.uint64()),
    "whole numbers beyond 2**64": (pick(2**70, 2**70 + 1, 5), pa.decimal128(38, 0)),
    "booleans": (pick(True, False), pa.bool_()),
    "booleans with missing": (pick(True, False, None), pa.bool_()),
    "texts": (pick("red", "green", "blue"), pa.string()),
    "texts with NA, None, nan, null": (pick("NA", "None", "nan", "null", "red"), pa.string()),
    "texts with blanks": (pick(" red", "red", "blue ", "light blue"), pa.string()),
    "texts with missing": (pick("red", None, "blue"), pa.string()),
    "texts that are empty": (pick("red", "", "blue", "  "), pa.string()),
    "numbers as text with NA": (pick("1.5", "NA", "2", "-3e2", "n/a"), pa.string()),
    "true and false as text with NA": (pick("true", "False", "NA"), pa.string()),
    "postcodes": (pick("01234", "80331", "99999"), pa.string()),
    "whole numbers beyond 2**53 as text": (pick(str(2**53), str(2**53 + 1), "5"), pa.string()),
    "dates": (pick(date(2024, 1, 31), date(1999, 12, 31), date(2024, 2, 29)), pa.date32()),
    "dates with missing": (pick(date(2024, 1, 31), None, date(2024, 2, 29)), pa.date32()),
    "dates at the edges": (pick(date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)), pa.date32()),
    "timestamps": (pick(datetime(2024, 1, 1, 12), datetime(2024, 1, 1, 12, 0, 0, 250_000)), pa.timestamp("us")),
    "timestamps with missing": (pick(datetime(2024, 1, 1, 12), None, datetime(1960, 5, 5, 1)), pa.timestamp("us")),
    "timestamps at the edges": (pick(datetime.min, datetime(9999, 12, 31, 23, 59, 59), EPOCH), pa.timestamp("us")),
    "timestamps of 1677 and 2262": (
        pick(pd.Timestamp.min, pd.Timestamp.max, pd.Timestamp("2024-01-01")),
        pa.timestamp("ns"),
    ),
    "timestamps of nine digits": (
        pick(pd.Timestamp("2024-01-01T00:00:00.123456789"), pd.Timestamp("2024-01-01T00:00:00.5")),
        pa.timestamp("ns"),
    ),
    "timestamps with a zone": (
        pick(datetime(2024, 1, 1, 12, tzinfo=GERMANY), datetime(2024, 6, 1, tzinfo=timezone.utc)),
        pa.timestamp("us", "UTC"),
    ),
    "durations": (pick(timedelta(days=1), timedelta(seconds=-3), timedelta(hours=30)), pa.duration("us")),
    "far durations": (pick(2**52, 5, -(2**51)), pa.duration("s")),
    "decimals": (pick(Decimal("0.10"), Decimal("12.50"), None), pa.decimal128(10, 2)),
}


def arrow(kind: str, values: Values) -> pa.Table:
    dtype = KINDS[kind][1]
    if pa.types.is_float16(dtype):
        column = pa.array(np.array(values, np.float16))
    elif kind == "far durations":
        column = pa.array(values, pa.int64()).cast(dtype)
    elif pa.types.is_timestamp(dtype) and dtype.unit == "ns":
        column = pa.array([value.value for value in values], pa.int64()).cast(dtype)
    else:
        column = pa.array(values, dtype)
    other = np.random.default_rng(len(kind)).permutation(len(values)) % 7
    return pa.table({"value": column, "other": pa.array(other, pa.int64())})


def as_text(value: Any, dtype: pa.DataType) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return "" if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)
    return str(np.dtype(dtype.to_pandas_dtype()).type(value))


def write_csv(table: pa.Table, values: Values, path: Path) -> Path:
    dtype = table.schema.field("value").type
    quote = '"' if pa.types.is_string(dtype) else ""
    cells = [f"{quote}{as_text(value, dtype)}{quote}" for value in values]
    rows = zip(cells, table["other"].to_pylist(), strict=True)
    path.write_text("value,other\n" + "".join(f"{cell},{other}\n" for cell, other in rows))
    return path


def write_json(table: pa.Table, values: Values, path: Path) -> Path:
    dtype = table.schema.field("value").type

    def plain(value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return json.loads(as_text(value, dtype))
        return float(value) if isinstance(value, Decimal) else as_text(value, dtype)

    rows = zip(map(plain, values), table["other"].to_pylist(), strict=True)
    path.write_text("".join(json.dumps({"value": value, "other": other}) + "\n" for value, other in rows))
    return path


def write_parquet(table: pa.Table, values: Values, path: Path) -> Path:
    pq.write_table(table, path)
    return path


def write_parts(table: pa.Table, values: Values, path: Path) -> Path:
    path.mkdir(exist_ok=True)
    pq.write_table(table[:10], path / "a.parquet")
    pq.write_table(table[10:], path / "b.parquet")
    (path / "_hidden.parquet").write_bytes(b"unfinished")
    return path


def as_pandas(table: pa.Table, values: Values, path: Path) -> pd.DataFrame:
    """What pandas itself makes of the values: NumPy's types, floats where some are missing."""
    return table.to_pandas(integer_object_nulls=True, timestamp_as_object=False)


def as_objects(table: pa.Table, values: Values, path: Path) -> pd.DataFrame:
    frame = table.to_pandas()
    dtype = table.schema.field("value").type
    single = pa.types.is_floating(dtype) and not pa.types.is_float64(dtype)
    frame["value"] = pd.Series(values, dtype=dtype.to_pandas_dtype() if single else object)
    return frame


def as_nullable(table: pa.Table, values: Values, path: Path) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def as_polars(table: pa.Table, values: Values, path: Path) -> Any:
    return pl.from_arrow(table)


def as_duckdb(table: pa.Table, values: Values, path: Path) -> Any:
    connection = duckdb.connect()
    connection.execute("set TimeZone = 'UTC'")
    connection.register("rows_of_table", table)
    return connection.sql("select * from rows_of_table")


def as_npy(table: pa.Table, values: Values, path: Path) -> Path:
    np.save(path, numbers(table))
    return path


def as_tensor(table: pa.Table, values: Values, path: Path) -> torch.Tensor:
    return torch.from_numpy(numbers(table))


def numbers(table: pa.Table) -> np.ndarray:
    value = table["value"].to_numpy()
    kind = value.dtype
    other = table["other"].to_numpy()
    return np.stack([value, other.astype(kind)], axis=1)


CONTAINERS: dict[str, Callable[[pa.Table, Values, Path], Any]] = {
    "arrow": lambda table, values, path: table,
    "parquet": write_parquet,
    "parquet folder": write_parts,
    "csv": write_csv,
    "jsonl": write_json,
    "pandas": as_pandas,
    "pandas objects": as_objects,
    "pandas arrow": as_nullable,
    "polars": as_polars,
    "duckdb": as_duckdb,
    "npy": as_npy,
    "tensor": as_tensor,
}
SUFFIXES = {"parquet": ".parquet", "csv": ".csv", "jsonl": ".jsonl", "npy": ".npy"}

ARRAYS = ("npy", "tensor")
#: What a container cannot hold.
CANNOT = {
    **{(container, kind): "arrays hold finite numbers" for container in ARRAYS for kind in KINDS
       if not (kind.startswith(("float", "int")) and "missing" not in kind) and "that floats hold" not in kind
       and kind not in ("whole numbers beyond 2**53", "whole numbers from 2**63")},
    **{("csv", kind): "CSV has no durations" for kind in ("durations", "far durations")},
    **{("jsonl", kind): "JSON has no durations" for kind in ("durations", "far durations")},
    ("tensor", "whole numbers from 2**63"): "few operations of torch take uint64",
    ("pandas", "whole numbers beyond 2**64"): "pandas has objects for these, which are another container here",
    ("pandas arrow", "float16 decimals"): "pandas has no such type of Arrow",
    ("duckdb", "float16 decimals"): "DuckDB has no half precision",
    ("duckdb", "far durations"): "DuckDB's intervals end before",
    ("pandas objects", "far durations"): "timedelta ends before",
    ("duckdb", "durations"): "DuckDB has intervals of months, days and microseconds",
}  # fmt: skip


#: Decimals of half precision in text, such as 0.1, are other numbers than those that were written, such as 0.09998: two
#: files of them have a p-value of their own. Beside a column of half precision they are rounded to the same numbers.
ROUNDED = {("csv", "float16 decimals"), ("jsonl", "float16 decimals")}


def test_there_are_thirty_kinds() -> None:
    assert len(KINDS) >= 30
    assert {kind for _, kind in CANNOT} <= set(KINDS)
    assert {container for container, _ in CANNOT} <= set(CONTAINERS)


def refusal(error: InputError) -> str:
    """What was wrong, without the names of the sample, the container and the column."""
    return error.problem.split(" has ", 1)[1].split(" that ")[0]


def pvalue(x: Any, y: Any) -> str:
    """The p-value, or the refusal."""
    try:
        return repr(ta.two_sample_test(x, y, permutations=19, rng=0, missing="indicator", keep_columns=True).pvalue)
    except InputError as error:
        return refusal(error)


def encoded(x: Any, y: Any) -> str:
    """The numbers that a test sees, or the refusal."""
    try:
        pair = as_pair(x, y, standardise="auto", missing="indicator")
    except InputError as error:
        return refusal(error)
    return hashlib.sha256(b"".join(sample.values.double().numpy().tobytes() for sample in pair)).hexdigest()


@pytest.mark.parametrize("kind", KINDS)
def test_same_rows_in_any_container(kind: str, tmp_path: Path) -> None:
    random = np.random.default_rng(sum(map(ord, kind)))
    rows = [KINDS[kind][0](random), [*KINDS[kind][0](random)[:-6], *KINDS[kind][0](random)[:1] * 6]]
    differs: dict[tuple[str, str], str] = {}
    first, expected = None, {}
    for container, make in CONTAINERS.items():
        if (container, kind) in CANNOT:
            continue
        names = [f"{container}-{side}{SUFFIXES.get(container, '')}" for side in "xy"]
        x, y = (make(arrow(kind, v), v, tmp_path / name) for v, name in zip(rows, names, strict=True))
        first = x if first is None else first
        found = {}
        if (container, kind) not in ROUNDED:
            found["p-value"] = pvalue(x, y)
        if container not in ARRAYS:  # which have no names of columns, and are not standardised
            found["numbers beside Arrow"] = encoded(first, y)
        expected = expected or {**found}
        if container in ("csv", "parquet"):  # as if they were larger than memory
            with pytest.MonkeyPatch.context() as patch:
                keep_in_files(patch)
                large = {"p-value": pvalue(x, y), "numbers beside Arrow": encoded(first, y)}
            differs |= {(f"large {container}", how): one for how, one in large.items() if found.get(how, one) != one}
        differs |= {(container, how): one for how, one in found.items() if one != expected[how]}
    assert not differs, f"{kind}: {expected}, but {differs}"
