"""Where formats meet: precision, texts that stand for nothing, odd folders and encodings, and bounds on reading."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import tellapart as ta
from tellapart._util.errors import InputChangedError, InputError, InputMemoryError
from tellapart.data import as_pair, open_lazy, read
from tellapart.data.columns import TableColumn
from tellapart.data.content import TableContent
from tellapart.data.formats import jsonlines, parquet, text
from tellapart.data.names import unique_names


def column(data: Any, **options: Any) -> TableColumn:
    content = read(data, missing="indicator", **options).content
    assert isinstance(content, TableContent)
    return content.columns[0]


@pytest.mark.parametrize("first", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("second", [torch.float32, torch.float64])
def test_tensors_are_compared_in_the_coarser_precision(first: torch.dtype, second: torch.dtype) -> None:
    values = torch.arange(12, dtype=torch.float64)[:, None] / 10
    x, y = as_pair(values.to(first), values.to(second))
    assert torch.equal(x.values, y.values)
    x, y = as_pair(values.to(second), values.to(first))
    assert torch.equal(x.values, y.values)


def test_the_gradient_passes_through_rounding() -> None:
    values = torch.rand(8, 1, dtype=torch.float64, requires_grad=True)
    x, _ = as_pair(values, torch.rand(8, 1))
    x.values.sum().backward()
    assert torch.equal(values.grad, torch.ones(8, 1, dtype=torch.float64))


def test_values_beyond_the_coarser_type_are_kept() -> None:
    x, y = as_pair(np.array([1.0, 2.0], np.float16), np.array([1e5, 1e100]))
    assert y.values.flatten().tolist() == [1e5, 1e100]
    assert x.values.dtype == y.values.dtype == torch.float64


def test_columns_are_rounded_one_by_one(tmp_path: Path) -> None:
    x = pd.DataFrame({"a": np.array([0.1, 0.2], np.float32), "b": [0.1, 0.3]})
    x.to_parquet(tmp_path / "x.parquet")
    y = pd.DataFrame({"b": [0.1, 0.3], "a": [0.1, 0.2]})
    y.to_parquet(tmp_path / "y.parquet")
    for first, second in ((x, y), (tmp_path / "x.parquet", tmp_path / "y.parquet")):
        a, b = as_pair(first, second)
        assert torch.equal(a.values, b.values)
        assert a.values[0, 1] == 0.1


def test_two_values_in_two_precisions_do_not_differ() -> None:
    random = np.random.default_rng(0)
    x, y = random.choice([0.1, 0.7], (2, 60, 1))
    expected = ta.two_sample_test(x, y, permutations=99, rng=0).pvalue
    assert expected > 0.05
    assert ta.two_sample_test(x.astype(np.float32), y, permutations=99, rng=0).pvalue == expected


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


def test_codes_are_found_behind_the_first_megabyte(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("zip,n\n" + "80331,12:00\n" * 100_000 + "01234,5:00\n")
    assert column(tmp_path / "x.csv").levels == ("80331", "01234")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_encodings_of_csv(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.csv").write_text("a,b\nMünchen,1\nKöln,2\n", encoding=encoding)
    assert column(tmp_path / "x.csv").levels == ("München", "Köln")


def test_two_objects_on_a_line_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": 2}{"a": 3}\n')
    with pytest.raises(InputError, match="row 1 has several objects on one line"):
        read(tmp_path / "x.jsonl")


def test_categories_that_are_numbers_stay_categories_in_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.Categorical([3, 1, 3, None])})
    frame.to_parquet(tmp_path / "x.parquet")
    for data in (frame, tmp_path / "x.parquet"):
        found = column(data)
        assert (found.kind, [found.cell(k) for k in range(4)]) == ("text", ["3", "1", "3", ""])
    assert open_lazy(tmp_path / "x.parquet") is None


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


def write_parts(folder: Path, **tables: Any) -> Path:
    folder.mkdir()
    for name, values in tables.items():
        pq.write_table(values if isinstance(values, pa.Table) else pa.table({"a": values}), folder / f"{name}.parquet")
    return folder


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


def test_a_part_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_parts(tmp_path / "x", a=[1.0], b=[2.0])
    lazy = open_lazy(folder)
    concatenate = parquet._concatenate

    def touch(*arguments: Any) -> Any:
        os.utime(folder / "b.parquet", ns=(1, 1))
        return concatenate(*arguments)

    monkeypatch.setattr(parquet, "_concatenate", touch)
    with pytest.raises(InputChangedError, match=r"b\.parquet"):
        read(folder)
    with pytest.raises(InputChangedError, match=r"b\.parquet"):
        lazy[:]


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


def test_columns_of_one_name_are_not_given_to_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas makes the names of a header different in quadratic time."""
    (tmp_path / "x.csv").write_text("a,a,a\n1,2,3\n4,5,6\n")
    seen: list[Any] = []
    pandas_read = pd.read_csv

    def read_csv(*arguments: Any, **options: Any) -> Any:
        seen.append(options["header"])
        return pandas_read(*arguments, **options)

    monkeypatch.setattr(pd, "read_csv", read_csv)
    assert read(tmp_path / "x.csv").columns == ("a", "a (2)", "a (3)")
    assert seen == [None]


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were taken from a file of text, beyond the first megabyte."""
    counts: list[int] = []
    plain = text.BoundedStream.readinto

    def readinto(self: text.BoundedStream, buffer: Any) -> int:
        counts.append(len(buffer))
        return plain(self, buffer)

    monkeypatch.setattr(text.BoundedStream, "readinto", readinto)
    return counts


def test_a_long_line_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_read: list[int]
) -> None:
    monkeypatch.setattr(text, "LONGEST_LINE", 2**16)
    monkeypatch.setattr(jsonlines, "LONGEST_LINE", 2**16)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n" + "1," * 2_000_000)
    (tmp_path / "y.csv").write_text("1," * 2_000_000)
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": "' + "1" * 2_000_000 + '"}')
    for name in ("x.csv", "y.csv", "x.jsonl"):
        with pytest.raises(InputError, match=r"longer than 65,536 bytes"):
            read(tmp_path / name)
    assert sum(bytes_read) < 2**20


@pytest.mark.parametrize("row", ["7" * 2**23, "\n" * 2**23, '"' + "x,\n" * 2**21])
def test_zipped_rows_that_do_not_fit_are_refused_early(tmp_path: Path, row: str, bytes_read: list[int]) -> None:
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(f"a,b\n1,2\n3,{row}\n".encode()))
    with pytest.raises(InputMemoryError):
        read(tmp_path / "x.csv.gz", max_rows=5, max_memory="20MB")
    assert sum(bytes_read) < 2**22


def test_zipped_lines_that_are_held_are_bounded(tmp_path: Path) -> None:
    line = '{"a": "' + "x" * 2**20 + '"}\n'
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress((line * 20).encode()))
    with pytest.raises(InputMemoryError):
        read(tmp_path / "x.jsonl.gz", max_rows=10, max_memory="20MB")


def test_keys_that_all_differ_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("".join(f'{{"k{k}": 1}}\n' for k in range(3_000)))
    (tmp_path / "y.jsonl").write_text("".join(f'{{"\\u006b{k}": 1}}\n' for k in range(3_000)))
    for name in ("x.jsonl", "y.jsonl"):
        with pytest.raises(InputMemoryError):
            read(tmp_path / name, max_memory="50MB")
