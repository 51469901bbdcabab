"""Parquet files, and folders of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from tables import column, write_parts

from tellapart._util.errors import InputError
from tellapart.data import open_lazy, read


def test_categories_that_are_numbers_stay_categories_in_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.Categorical([3, 1, 3, None])})
    frame.to_parquet(tmp_path / "x.parquet")
    for data in (frame, tmp_path / "x.parquet"):
        found = column(data)
        assert (found.kind, [found.cell(k) for k in range(4)]) == ("text", ["3", "1", "3", ""])
    assert open_lazy(tmp_path / "x.parquet") is None


def test_hidden_parts_are_not_read(tmp_path: Path) -> None:
    folder = write_parts(tmp_path / "x", a=[1.0, 2.0], _b=[9.0], c=[3.0])
    (folder / ".d.parquet").write_bytes(b"unfinished")
    assert column(folder).values.tolist() == [1.0, 2.0, 3.0]


def test_hive_partitions_are_refused(tmp_path: Path) -> None:
    write_parts(tmp_path / "x", a=[1.0])
    write_parts(tmp_path / "x" / "year=2024", a=[1.0])
    with pytest.raises(InputError, match="Hive"):
        read(tmp_path / "x")


@pytest.mark.parametrize("max_rows", [None, 4])
def test_parts_with_whole_numbers_and_floats(tmp_path: Path, max_rows: int | None) -> None:
    folder = write_parts(tmp_path / "x", a=pa.array([1, 2]), b=pa.array([0.5, None]), c=pa.array([0.1], pa.float32()))
    found = column(folder, max_rows=max_rows, rng=0)
    assert found.precision == 24
    assert len(found) == (max_rows or 5)
    for name, values in (("y", pa.array(["red"])), ("z", pa.array([True]))):
        odd = write_parts(tmp_path / name, a=pa.array([1.5]), b=values)
        with pytest.raises(InputError, match="different types in 'a'"):
            read(odd)
