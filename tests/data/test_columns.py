"""Columns: texts that stand for missing numbers, types that NumPy lacks, names that occur twice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tables import column

from tellapart._util.errors import InputError
from tellapart.data import read
from tellapart.data.names import unique_names


def test_words_for_missing_numbers_are_noted(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,NA\nNA,red\n2.5,nan\n")
    source = read(tmp_path / "x.csv", missing="indicator")
    a, b = source.content.columns
    assert (a.kind, a.missing.tolist()) == ("number", [False, True, False])
    assert (b.kind, b.levels) == ("text", ("NA", "red", "nan"))
    assert (
        source.notes
        == read(pd.DataFrame({"a": ["1", "NA", "2.5"], "b": ["NA", "red", "nan"]}), missing="drop").notes[:1]
    )


def test_an_ambiguous_number_is_refused_beside_na() -> None:
    with pytest.raises(InputError, match="may be"):
        read(pd.DataFrame({"a": ["1,234", "NA", "5,678"]}), missing="indicator")


def test_types_that_numpy_has_not() -> None:
    large = column(pl.DataFrame({"a": pl.Series([2**100, None, 3], dtype=pl.Int128)}))
    assert large.values[[0, 2]].tolist() == [2.0**100, 3.0]
    with pytest.raises(InputError, match="cannot tell apart"):
        read(pl.DataFrame({"a": pl.Series([2**100, 2**100 + 1], dtype=pl.Int128)}))
    views = pd.DataFrame({"a": pd.array(["x", None], dtype=pd.ArrowDtype(pa.string_view()))}, index=[7, 7])
    assert column(views).levels == ("x",)


def test_lists_of_large_whole_numbers() -> None:
    for rows in ([[2**53 + 1, 0.5], [2**53, 0.5]], [[2**63 + 1, -1], [2**63, -1]], [[2**70 + 1], [2**70]]):
        with pytest.raises(InputError, match="cannot tell apart"):
            read(rows)


def cpu_time(function: Any, *arguments: Any) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        function(*arguments)
        times.append(time.process_time() - start)
    return min(times)


def test_many_columns_of_one_name_take_linear_time() -> None:
    assert unique_names(["a", "a (2)", "a", "a"]) == ("a", "a (2)", "a (3)", "a (4)")
    few, many = (cpu_time(unique_names, ["a"] * n) for n in (4_000, 16_000))
    assert many < 10 * few  # 16 times as long where it is quadratic
