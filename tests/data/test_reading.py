"""What can be opened, what comes of it, and what is said about the rest. The files are real ones."""

from __future__ import annotations

import datetime as dt
import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import tellapart as ta
from tellapart._util import extras
from tellapart.data import Encoding, Sample, Source, as_sample, match, read
from tellapart.data.content import Images, Rows, TableContent

VALUES = np.random.default_rng(0).normal(size=(20, 3))
PICTURES = np.random.default_rng(1).integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)


def numbers_of(source: Source) -> np.ndarray:
    """The plain numbers of a source, however it holds them."""
    content = source.content
    if isinstance(content, TableContent):
        found = content.to_matrix()
        assert found is not None
        return found
    return content.values if isinstance(content, Rows) else content.pixels


def encoded(x: Any, y: Any = None, **options: Any) -> Sample:
    """The first sample, encoded on both."""
    first = read(x, "X", **options)
    second = first if y is None else read(y, "Y", **options)
    first, second = match(first, second)
    return Encoding.fit(first, second).encode(first)


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def idx_bytes(array: np.ndarray, code: int = 8) -> bytes:
    return bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tellapart.data.limits.available_memory", lambda: 10**6)


# --- In memory


class Items(Dataset):
    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, k: int) -> Any:
        return self.items[k]


class Stream(IterableDataset):
    def __iter__(self) -> Any:
        return iter(torch.from_numpy(VALUES))


TENSOR = torch.from_numpy(VALUES.copy())
IN_MEMORY: dict[str, Any] = {
    "array": VALUES,
    "tensor": TENSOR,
    "list": VALUES.tolist(),
    "pandas": pd.DataFrame(VALUES),
    "polars": pl.DataFrame(VALUES),
    "pyarrow": pa.table({str(k): VALUES[:, k] for k in range(3)}),
    "record batch": pa.record_batch({str(k): VALUES[:, k] for k in range(3)}),
    "data set": Items(list(TENSOR)),
    "data set with labels": TensorDataset(TENSOR, torch.zeros(20)),
    "data set of arrays": Items([(row, 0) for row in VALUES]),
    "iterable data set": Stream(),
    "loader": DataLoader(TensorDataset(TENSOR), batch_size=7),
    "loader with labels": DataLoader(TensorDataset(TENSOR, torch.zeros(20)), batch_size=7),
    "sample": as_sample(VALUES),
}


@pytest.mark.parametrize("data", IN_MEMORY.values(), ids=IN_MEMORY)
def test_containers_hold_the_same(data: Any) -> None:
    source = read(data)
    assert len(source) == 20
    assert np.array_equal(numbers_of(source), VALUES)
    values = encoded(data).values
    assert values.dtype == np.float64
    assert np.allclose(values, (VALUES - VALUES.mean(0)) / VALUES.std(0))


@pytest.mark.parametrize("data", IN_MEMORY.values(), ids=IN_MEMORY)
def test_some_rows_are_drawn_from_any_container(data: Any) -> None:
    source = read(data, max_rows=6, rng=3)
    assert len(source) == len(set(source.numbers)) == 6
    assert np.array_equal(numbers_of(source), VALUES[source.numbers])
    assert np.array_equal(source.numbers, read(data, max_rows=6, rng=3).numbers)
    assert not np.array_equal(source.numbers, read(data, max_rows=6, rng=4).numbers)
    assert len(read(data, max_rows=99)) == 20


def test_a_drawn_stream_is_uniform() -> None:
    """Of 12 rows in batches of 5, each is among the 3 drawn as often as any other."""
    loader = DataLoader(TensorDataset(torch.arange(12.0)), batch_size=5)
    counts = np.bincount(np.concatenate([read(loader, max_rows=3, rng=k).numbers for k in range(400)]))
    assert counts.sum() == 1200
    assert ((counts - 100) ** 2 / 100).sum() < 30  # chi-squared with 11 degrees of freedom; p < 0.002


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (Items([]), ValueError, "X is empty: it has no rows"),
        (Items([torch.zeros(2), torch.zeros(3)]), ValueError, r"X has items of different shapes: \(2,\) and \(3,\)"),
        (Items([{"image": 1}]), TypeError, "X gives dictionaries"),
        (Items([()]), ValueError, "X gives empty tuples"),
        (DataLoader(Items([{"image": 1}])), TypeError, "X gives dictionaries"),
        (
            pl.DataFrame({"a": [["x"], ["y"]]}),
            TypeError,
            r"column 'a' of lists of text, but vectors are lists of numbers. Leave it out with drop=\['a'\]",
        ),
        (pd.DataFrame({"a": [1, [2]]}), TypeError, "column 'a' that holds values of type list"),
        (pd.DataFrame({"a": [1j, 2]}), TypeError, "column 'a' that holds values of type complex"),
        (pd.DataFrame({"a": [1.0, np.inf]}), ValueError, "X has infinite values in 'a'"),
        (pd.DataFrame({"a": []}), ValueError, "X is empty: it has no rows"),
        (pd.DataFrame(index=range(3)), ValueError, "X has no columns"),
        (np.array([1.0, np.inf]), ValueError, "X has 1 infinite among its 2 values, the first at row 1, column 0"),
        (np.array([1.0, np.nan]), ValueError, "X has 1 NaN .* row 1, column 0.* missing='indicator'"),
        (np.full((2, 8, 8), np.nan), ValueError, "X has 128 NaN"),
        (np.zeros((0, 3)), ValueError, "X is empty"),
        (["a", "b"], TypeError, "X must hold numbers"),
        (None, TypeError, "X must hold numbers, but holds None"),
        (b"real.npy", TypeError, "X is a string"),
    ],
)
def test_what_cannot_be_read_from_memory(data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(data)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"missing": "ignore"}, ValueError, "missing='ignore' is not known"),
        ({"max_rows": 0}, ValueError, "max_rows must be a whole number from 1 up, but is 0"),
        ({"max_rows": 2.5}, ValueError, "max_rows must be a whole number"),
        ({"rng": "x"}, TypeError, "rng must be"),
        ({"image_size": 8}, ValueError, "8 is not the size of an image. image_size= takes"),
        ({"image_size": (8, 8)}, ValueError, "Leave out image_size=, or give image_shape= too"),
        (
            {"image_shape": (2, 2)},
            ValueError,
            "have 3 numbers, but images of 2 × 2 have 4 pixels. Correct image_shape=",
        ),
        ({"image_shape": (3, 2, 2)}, ValueError, "images of 3 × 2 × 2 have 12 pixels"),
        ({"image_shape": "x"}, ValueError, "'x' is not the shape of an image. image_shape= takes"),
        ({"columns": ["age"]}, ValueError, "X has no column 'age'. It has '0', '1', '2'"),
        ({"drop": [0, 1, 2]}, ValueError, "X has no columns left to compare, of 3"),
        ({"features": 3}, TypeError, "features must be a function or an nn.Module"),
        ({"features": lambda batch: batch, "batch_size": 0}, ValueError, "batch_size must be a whole number"),
    ],
)
def test_options_that_are_wrong(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(VALUES, **options)


# --- Arrays in files


def test_npy_is_read_and_not_mapped(tmp_path: Path) -> None:
    """A file that is mapped and cut short ends the process."""
    np.save(tmp_path / "x.npy", VALUES)
    source = read(tmp_path / "x.npy", "real")
    (tmp_path / "x.npy").write_bytes(b"")
    assert np.array_equal(numbers_of(source), VALUES)
    np.save(tmp_path / "x.npy", VALUES)
    assert source.label == f"real ({tmp_path / 'x.npy'})"
    assert np.array_equal(encoded(str(tmp_path / "x.npy")).values, encoded(VALUES).values)


@pytest.mark.parametrize(
    "array",
    [VALUES[:, 0], np.asfortranarray(VALUES), VALUES.astype(">f4"), np.arange(20), np.ones((5, 2), bool), VALUES[:1]],
)
def test_npy_of_any_layout(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    assert np.array_equal(numbers_of(read(tmp_path / "x.npy")), array.reshape(len(array), -1))
    assert np.array_equal(encoded(tmp_path / "x.npy").values, encoded(array).values)


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, VALUES)
    assert np.array_equal(numbers_of(read(path)), VALUES)
    np.savez_compressed(path, points=VALUES, labels=np.arange(20))
    assert np.array_equal(numbers_of(read(path)), VALUES)
    assert np.array_equal(numbers_of(read(f"{path}:labels"))[:, 0], np.arange(20))
    np.savez(path, a=VALUES, b=VALUES)
    with pytest.raises(ValueError, match=r"has several arrays: 'a', 'b'. Name one, as in 'x.npz:a'"):
        read(path)
    with pytest.raises(ValueError, match=r"has no array 'c'. It has 'a', 'b'"):
        read(f"{path}:c")


def test_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"points": TENSOR.bfloat16()}, path)
    assert torch.equal(torch.from_numpy(numbers_of(read(path))), TENSOR.bfloat16().float())
    save_file({"a": TENSOR.clone(), "b": TENSOR.clone()}, path)
    with pytest.raises(ValueError, match="has several arrays: 'a', 'b'"):
        read(path)
    assert np.array_equal(numbers_of(read(f"{path}:b")), VALUES)


@pytest.mark.parametrize("name", ["t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte", "x.idx", "IDX3-UBYTE"])
@pytest.mark.parametrize("zipped", [False, True])
def test_idx(tmp_path: Path, name: str, zipped: bool) -> None:
    content = idx_bytes(PICTURES[..., 0])
    path = tmp_path / (f"{name}.gz" if zipped else name)
    path.write_bytes(gzip.compress(content) if zipped else content)
    source = read(path)
    assert source.kind == "images"
    assert np.array_equal(source.row(2), PICTURES[2, ..., 0])
    path.write_bytes(gzip.compress(content[:-1]) if zipped else content[:-1])
    with pytest.raises(ValueError, match=r"is cut short: its shape \(6, 8, 9\) needs 432 bytes"):
        read(path)


def test_idx_of_labels_and_floats(tmp_path: Path) -> None:
    (tmp_path / "labels-idx1-ubyte").write_bytes(idx_bytes(np.arange(9, dtype=np.uint8)))
    assert numbers_of(read(tmp_path / "labels-idx1-ubyte"))[:, 0].tolist() == list(range(9))
    (tmp_path / "x.idx").write_bytes(idx_bytes(VALUES.astype(">f8"), 14))
    assert np.array_equal(encoded(tmp_path / "x.idx").values, encoded(VALUES).values)


BROKEN: list[tuple[str, bytes, str]] = [
    ("x.npy", b"", "is an empty file"),
    ("x.npy", b"not an array", "does not hold a NumPy array"),
    ("x.npz", b"not an archive", "is damaged, or not in the format that its name says: File is not a zip file"),
    ("x.safetensors", b"not tensors at all", "is damaged, or not in the format that its name says: "),
    ("x.parquet", b"not a table", "is damaged, or not in the format that its name says: "),
    ("x.idx", b"\0\0\x07\x01", "is not an idx file"),
    ("x.idx", b"\0\0\x08\x03\0\0", "is cut short"),
    ("x.idx.gz", b"not zipped", "is damaged"),
    ("x.csv", b"", "is an empty file"),
    ("x.csv", b"\n\n", "is empty: it has no rows"),
    ("x.csv", b"a,b\n", "is empty: it has no rows"),
    ("x.csv", b"a,b\n1,2\n3,4,5\n", "is not a regular table: Expected 2 fields in line 3, saw 3"),
    ("x.csv", b'a,b\n"1,2\n', "is not a regular table: EOF inside string"),
    ("x.csv", b"a,b\n1,2,3\n3,4,5\n", "is not a regular table"),
    ("x.csv", b"a\0b\n1\n", "is not a text file: it has a zero byte"),
    ("x.csv", b"a\n1\ninf\n", "has infinite values in 'a'"),
    ("x.pt", b"PK", "may hold a pickle, which can run code when read. Save it as .npy or .safetensors"),
    ("x.xlsx", b"PK", r": Unsupported format '.xlsx'\. Supported: \.npy, \.npz, \.csv"),
    ("x", b"PK", ": Unsupported format: the file's name has no suffix"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN, ids=[f"{n} {m[:30]}" for n, _, m in BROKEN])
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path / name, "Y")
    assert str(caught.value).startswith(f"Y ({tmp_path / name})")
    assert "\n" not in str(caught.value)


def test_npy_that_is_cut_short_or_holds_objects(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", VALUES)
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"is cut short: its shape \(20, 3\)"):
        read(tmp_path / "x.npy")
    np.save(tmp_path / "o.npy", np.array([1, "a"], dtype=object))
    with pytest.raises(ValueError, match="holds Python objects"):
        read(tmp_path / "o.npy")
    np.savez(tmp_path / "o.npz", np.array([1, "a"], dtype=object))
    with pytest.raises(ValueError, match="holds Python objects"):
        read(tmp_path / "o.npz")
    np.save(tmp_path / "e.npy", np.empty((0, 3)))
    with pytest.raises(ValueError, match="is empty: it has no rows"):
        read(tmp_path / "e.npy")
    with pytest.raises(FileNotFoundError, match=r"X \(nowhere.npy\) does not exist"):
        read("nowhere.npy")


# --- Memory


def sparse_npy(path: Path, shape: tuple[int, ...]) -> Path:
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
        file.truncate(file.tell() + 8 * int(np.prod(shape)))
    return path


def test_large_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """A terabyte in a sparse file: reading any of it in full would be noticed."""
    path = sparse_npy(tmp_path / "x.npy", (2**30, 128))
    with pytest.raises(MemoryError, match=r"X .* would take about 1.1 TB of memory, but .* are free. Give max_rows="):
        read(path)
    source = read(path, max_rows=50)
    assert numbers_of(source).shape == (50, 128)
    assert source.numbers.max() > 2**28
    table = write(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 2**18)
    with table.open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(MemoryError, match=r"X .*about 14.3 TB of memory.* max_rows= .* columns= .* \.parquet"):
        read(table)
    with pytest.raises(MemoryError, match=r"about 7.7 TB"):
        read(table, columns=["a"])


@pytest.mark.usefixtures("little_memory")
def test_all_readers_ask_for_memory_first(tmp_path: Path) -> None:
    large = np.zeros((1000, 200))
    np.savez(tmp_path / "x.npz", large)
    save_file({"x": torch.from_numpy(large)}, tmp_path / "x.safetensors")
    pq.write_table(pa.table({f"c{k}": large[:, 0] for k in range(100)}), tmp_path / "x.parquet")
    (tmp_path / "x.idx.gz").write_bytes(gzip.compress(idx_bytes(np.zeros((600, 30, 30), np.uint8))))
    (tmp_path / "images").mkdir()
    for k in range(3):
        Image.new("L", (300, 300)).save(tmp_path / "images" / f"{k}.png")
    for name in ("x.npz", "x.safetensors", "x.parquet", "x.idx.gz", "images"):
        with pytest.raises(MemoryError, match=r"would take about .* of memory, but 1.0 MB are free"):
            read(tmp_path / name)
    assert len(read(tmp_path / "x.parquet", max_rows=100)) == 100
    assert len(read(tmp_path / "images", max_rows=1)) == 1
    with pytest.raises(MemoryError, match="X would take about"):
        read(Items([torch.zeros(100, 100)] * 20))
    source = read(np.zeros((4000, 100), np.uint8))
    with pytest.raises(MemoryError, match=r"Encoding X as 100 numbers a row would take about 1.6 MB"):
        Encoding.fit(source, source).encode(source)


# --- Tables in files


@pytest.mark.parametrize(
    ("name", "text", "columns", "first"),
    [
        ("x.csv", "a,b\n1,2\n3,4\n", ("a", "b"), ["1", "2"]),
        ("x.csv", "1,2\n3,4\n", ("0", "1"), ["1", "2"]),
        ("x.csv", "0,1\n3,4\n5,6\n", ("0", "1"), ["3", "4"]),
        ("x.csv", "1.5e3,-2\n3,4\n", ("0", "1"), ["1500", "-2"]),
        ("x.csv", "7\n8\n", ("0",), ["7"]),
        ("x.csv", "größe\n8\n9\n", ("größe",), ["8"]),
        ("x.csv", "\ufeffa,b\r\n1,2\r\n", ("a", "b"), ["1", "2"]),
        ("x.csv", '"a, b","say ""c"""\n1,"x, y"\n', ("a, b", 'say "c"'), ["1", "x, y"]),
        ("x.csv", '"a\nb",c\n1,2\n', ("a\\nb", "c"), ["1", "2"]),
        ("x.csv", "a, b\n1, x\n", ("a", "b"), ["1", "x"]),
        ("x.csv", "a;b\n1;2\n", ("a", "b"), ["1", "2"]),
        ("x.csv", "a;b\n1,5;x, y\n", ("a", "b"), ["1.5", "x, y"]),
        ("x.csv", "1,5;2\n2,5;3\n", ("0", "1"), ["1.5", "2"]),
        ("x.csv", "a;b\n1.5;x,1\n", ("a", "b"), ["1.5", "x,1"]),
        ("x.csv", "a,a,a\n1,2,3\n", ("a", "a (2)", "a (3)"), ["1", "2", "3"]),
        ("x.csv", "a,,{0}\n1,2,3\n", ("a", "1", "{0}"), ["1", "2", "3"]),
        ("x.csv", ",a\n0,5\n1,6\n", ("a",), ["5"]),
        ("x.csv", ",a\n0.5,5\n0.5,6\n", ("0", "a"), ["0.5", "5"]),
        ("x.csv", "ok,day\nTrue,2024-02-29\nFalse,2024-03-01T06:00Z\n", ("ok", "day"), ["True", "2024-02-29"]),
        ("x.tsv", "a b\tc,d\n1\tx\n", ("a b", "c,d"), ["1", "x"]),
        ("X.CSV", "a,b\n1,2\n", ("a", "b"), ["1", "2"]),
    ],
)
@pytest.mark.parametrize("max_rows", [None, 5])
def test_csv(
    tmp_path: Path, name: str, text: str, columns: tuple[str, ...], first: list[str], max_rows: int | None
) -> None:
    source = read(write(tmp_path / name, text), max_rows=max_rows)
    assert source.kind == "table"
    assert source.columns == columns
    assert source.row(0) == first


def test_a_csv_is_drawn_from_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"k": range(5000), "text": [f"t{k % 3}" for k in range(5000)]})
    frame.loc[4000, "text"] = '7, "x"\n'
    frame.to_csv(tmp_path / "x.csv", index=False)
    source = read(tmp_path / "x.csv", max_rows=300, rng=1)
    assert source.numbers.tolist() == [int(source.row(i)[0]) for i in range(300)]
    assert source.numbers.max() > 4000
    monkeypatch.setattr("tellapart.data.formats.delimited._CELLS", 4000)
    assert np.array_equal(read(tmp_path / "x.csv", max_rows=300, rng=1).numbers, source.numbers)
    everything = read(tmp_path / "x.csv", max_rows=9000)
    assert everything.row(4000) == ["4000", '7, "x"\\n']


def test_columns_are_taken_and_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "7": [3, 4]})
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    for data in (frame, tmp_path / "x.csv", tmp_path / "x.parquet", pl.DataFrame(frame.to_dict("list"))):
        assert read(data).columns == ("a", "b", "7")
        assert read(data, columns=[7, "a"]).columns == ("a", "7")
        assert read(data, drop="b").columns == ("a", "7")
        with pytest.raises(ValueError, match=r"X .*has no column 'c'. It has 'a', 'b', '7'"):
            read(data, drop=["c"])
    assert read(VALUES, columns=[2, 0]).columns == ("0", "2")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    frame = pd.DataFrame({"n": range(100), "t": pd.Categorical(["u", "v"] * 50)}, index=np.arange(100) * 2)
    frame.to_parquet(path)
    source = read(path)
    assert source.columns == ("n", "t")
    assert source.row(3) == ["3", "v"]
    drawn = read(path, max_rows=7, rng=2)
    assert [int(drawn.row(i)[0]) for i in range(7)] == drawn.numbers.tolist()
    pq.write_table(pa.table([[1, 2], [3, 4], [5, 6]], names=["a", "a", "a.b"]), path)
    assert read(path).row(1) == ["2", "4", "6"]
    assert read(path, columns=["a (2)"]).row(1) == ["4"]


def test_an_index_in_a_csv_is_left_out_and_said(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1.5, 2.5]}).to_csv(tmp_path / "x.csv")
    source = read(tmp_path / "x.csv")
    assert source.columns == ("a",)
    assert source.notes == ("The first column has no name and numbers the rows: it is left out.",)


# --- Kinds of columns


NOON = dt.datetime(2024, 1, 1, 12)
KINDS: dict[str, tuple[Any, str, list[str]]] = {
    "whole": ([1, 2], "number", ["1", "2"]),
    "float": ([1.25, 1e20], "number", ["1.25", "1e+20"]),
    "nullable": (pd.array([1, None], dtype="Int64"), "number", ["1", ""]),
    "nullable boolean": (pd.array([True, None], dtype="boolean"), "boolean", ["True", ""]),
    "boolean with None": ([True, None], "boolean", ["True", ""]),
    "boolean": ([True, False], "boolean", ["True", "False"]),
    "arrow": (pd.array([1, None], dtype="int64[pyarrow]"), "number", ["1", ""]),
    "arrow text": (pd.array(["a", None], dtype="string[pyarrow]"), "text", ["a", ""]),
    "text": (["grün", ""], "text", ["grün", ""]),
    "objects": (np.array([1, 2.5], dtype=object), "number", ["1", "2.5"]),
    "mixed": ([1, "a"], "text", ["1", "a"]),
    "category": (pd.Categorical(["a", None]), "text", ["a", ""]),
    "category of numbers": (pd.Categorical([1, 2]), "text", ["1", "2"]),
    "dates": (pd.to_datetime(["2024-01-01", None]), "date", ["2024-01-01", ""]),
    "times": (pd.to_datetime(["2024-01-01 00:00", "2024-01-01 12:30"]), "date", ["2024-01-01", "2024-01-01 12:30:00"]),
    "zone": (pd.to_datetime(["2024-01-01"] * 2).tz_localize("Asia/Tokyo"), "date", ["2023-12-31 15:00:00"] * 2),
    "date objects": ([dt.date(2024, 1, 1), None], "date", ["2024-01-01", ""]),
    "zoned objects": (
        np.array([NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=2))), NOON], dtype=object),
        "date",
        ["2024-01-01 10:00:00", "2024-01-01 12:00:00"],
    ),
    "dates as text": (["2024-01-01", "2024-01-02T06:00:00.5+02:00"], "date", ["2024-01-01", "2024-01-02 04:00:00"]),
    "durations": (pd.to_timedelta([1, 2.5], unit="D"), "number", ["1", "2.5"]),
    "nothing": ([None, None], "number", ["", ""]),
}


@pytest.mark.parametrize(("values", "kind", "cells"), KINDS.values(), ids=KINDS)
def test_kinds_of_columns(values: Any, kind: str, cells: list[str]) -> None:
    source = read(pd.DataFrame({"c": values}), missing="indicator")
    assert isinstance(source.content, TableContent)
    assert source.content.columns[0].kind == kind
    assert [source.row(i)[0] for i in range(2)] == cells


def test_polars_and_pyarrow_have_the_same_kinds() -> None:
    table = pa.table(
        {
            "number": pa.array([1, None]),
            "text": pa.array(["a", None]),
            "category": pa.array(["a", None]).dictionary_encode(),
            "boolean": pa.array([True, None]),
            "date": pa.array([dt.date(2024, 1, 1), None]),
            "zone": pa.array([NOON, None], pa.timestamp("us", tz="Europe/Berlin")),
        }
    )
    for data in (table, pl.from_arrow(table), table.to_pandas()):
        source = read(data, missing="indicator")
        assert isinstance(source.content, TableContent)
        assert [column.kind for column in source.content.columns] == [
            "number",
            "text",
            "text",
            "boolean",
            "date",
            "date",
        ]
        assert source.row(0) == ["1", "a", "a", "True", "2024-01-01", "2024-01-01 12:00:00"]
        assert source.row(1) == [""] * 6


def test_identifiers_are_refused() -> None:
    frame = pd.DataFrame({"id": [f"user {k}" for k in range(120)], "age": range(120)})
    with pytest.raises(ValueError, match=r"120 different texts in 120 rows\) in 'id'. Leave it out with drop=\['id'\]"):
        read(frame)
    assert read(frame, drop=["id"]).columns == ("age",)
    assert len(read(frame[:50])) == 50


# --- Missing values


def test_missing_values() -> None:
    frame = pd.DataFrame({"age": [1.0, np.nan, 3.0], "town": ["Ulm", "Bonn", None], "all": [1, 2, 3]})
    message = r"X has missing values in 'age' \(1 of 3\), 'town' \(1 of 3\)\. Read it with missing='indicator'"
    with pytest.raises(ValueError, match=message):
        read(frame)
    sample = encoded(frame, missing="indicator")
    assert sample.names == ("age", "age is missing", "town=Bonn", "town=Ulm", "town is missing", "all")
    assert sample.columns == ("age", "age", "town", "town", "town", "all")
    assert sample.values[:, :2].tolist() == [[-1, 0], [0, 1], [1, 0]]
    assert (sample.values[:, 2:5] > 0).tolist() == [[False, True, False], [True, False, False], [False, False, True]]
    source = read(frame, missing="drop")
    assert (len(source), source.numbers.tolist()) == (1, [0])
    assert source.notes == ("2 of 3 rows had missing values and were dropped.",)
    with pytest.raises(ValueError, match="X has missing values in every row"):
        read(frame[1:], missing="drop")


def test_missing_values_of_arrays() -> None:
    array = np.array([[1.0, 5], [np.nan, 6], [3.0, 7]])
    sample = encoded(array, missing="indicator")
    assert sample.names == ("0", "1", "0 is missing")
    assert sample.values[:, 0].tolist() == [-1, 0, 1]
    assert sample.values[:, 2].tolist() == [0, 1, 0]
    assert read(array, missing="drop").numbers.tolist() == [0, 2]


# --- Encoding


def test_encoding_of_a_table() -> None:
    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {"n": rng.normal(5, 3, 200), "b": rng.random(200) < 0.3, "one": 4.1, "t": rng.choice(list("uvw"), 200)}
    )
    y = x.sample(150, random_state=1)
    a, b = match(read(x), read(y, "Y"))
    encoding = Encoding.fit(a, b)
    assert encoding.names == ("n", "b", "one", "t=u", "t=v", "t=w")
    values = np.concatenate([encoding.encode(a).values, encoding.encode(b).values])
    assert np.allclose(values[:, :3].mean(0), 0.0, atol=1e-12)
    deviations = values.var(0)
    assert np.allclose(deviations[:2], 1.0)
    assert deviations[2] == 0
    assert deviations[3:].sum().item() == pytest.approx(1)
    raw = Encoding.fit(a, b, standardise=False).encode(a).values
    assert np.array_equal(raw[:, 0], x["n"])
    assert set(np.unique(raw[:, 3:]).tolist()) == {0, 1}


def test_rare_and_unseen_texts_are_others() -> None:
    texts = [f"t{k:02d}" for k in range(30) for _ in range(30 - k)]
    source = read(pd.DataFrame({"t": texts}))
    encoding = Encoding.fit(source, source)
    assert encoding.names == (*(f"t=t{k:02d}" for k in range(20)), "t=other")
    assert np.flatnonzero(encoding.encode(source).values[-1]).tolist() == [20]
    # Fitted on rows that all have one text: the rest is unseen, and still told apart from it.
    some = Encoding.fit(source, source, np.arange(35), np.arange(35))
    assert some.names == ("t=t00", "t=t01", "t=other")
    assert np.flatnonzero(some.encode(source).values[-1]).tolist() == [2]
    real = read(pd.DataFrame({"t": [*texts, *["other"] * 99]}))
    assert Encoding.fit(real, real).names[::20] == ("t=other", "t=other (2)")


def test_the_encoding_is_fitted_on_the_rows_given() -> None:
    x, y = np.array([[0.0], [2.0], [100.0]]), np.array([[0.0], [2.0], [-50.0]])
    encoding = Encoding.fit(read(x), read(y), [0, 1], np.array([True, True, False]))
    assert encoding.encode(read(x)).values.flatten().tolist() == [-1, 1, 99]


def test_the_encoding_does_not_know_which_sample_is_which() -> None:
    x = read(pd.DataFrame({"n": [1, 2, 3], "t": list("abb")}))
    y = read(pd.DataFrame({"n": [1, 7], "t": list("ca")}))
    one, other = Encoding.fit(x, y), Encoding.fit(y, x)
    assert one.names == other.names
    assert np.allclose(one.encode(x).values, other.encode(x).values, rtol=1e-14)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e300])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e300])
def test_standardising_keeps_its_precision(offset: float, scale: float) -> None:
    array = VALUES * scale + offset
    if np.ptp(array) < 1e4 * np.spacing(abs(offset)):
        array = np.full_like(array, offset)
        assert not encoded(array).values.any()
        return
    values = encoded(array).values
    assert np.allclose(values.std(0), 1.0, rtol=1e-6)


def test_huge_numbers_stay_finite() -> None:
    values = encoded(np.array([[1.7e308], [-1.7e308]])).values
    assert values.flatten().tolist() == pytest.approx([1, -1])


@pytest.mark.parametrize(("dtype", "kept"), [("f4", np.float32), ("i2", np.float32), ("i8", np.float64)])
def test_precision_of_rows(dtype: str, kept: type) -> None:
    assert encoded((VALUES * 10).astype(dtype)).values.dtype == kept


def test_only_what_was_fitted_is_encoded() -> None:
    table, rows = read(pd.DataFrame({"a": [1, 2]})), read(VALUES)
    with pytest.raises(ValueError, match="X lacks the column 'a' that the encoding was fitted on"):
        Encoding.fit(table, table).encode(read(pd.DataFrame({"b": [1]})))
    with pytest.raises(ValueError, match="X has text in 'a', unlike the rows the encoding was fitted on"):
        Encoding.fit(table, table).encode(read(pd.DataFrame({"a": ["x"]})))
    with pytest.raises(ValueError, match="X does not have rows of the shape that the encoding was fitted on"):
        Encoding.fit(rows, rows).encode(read(VALUES[:, :2]))


def test_names_that_look_like_formats() -> None:
    frame = pd.DataFrame({"{x}%s": [1.0, np.nan], "a'b\"c\n": ["{0}", "%d"]})
    with pytest.raises(ValueError, match=r"'\{x\}%s' \(1 of 2\)"):
        read(frame)
    sample = encoded(frame, missing="indicator")
    assert sample.names == ("{x}%s", "{x}%s is missing", "a'b\"c\\n=%d", "a'b\"c\\n={0}")


# --- Matching


def test_tables_are_matched_by_name() -> None:
    x = read(pd.DataFrame({"a": [1.0], "b": ["u"]}), "X")
    y = read(pl.DataFrame({"b": ["v"], "a": [2.0]}), "Y")
    a, b = match(x, y)
    assert a.columns == b.columns == ("a", "b")
    assert b.row(0) == ["2", "v"]
    assert Encoding.fit(a, b).encode(y).names == ("a", "b=u", "b=v")


MISMATCHES: list[tuple[Any, Any, str]] = [
    (pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [1], "c": [2]}), "X lacks 'c' and Y lacks 'a'"),
    (pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [1]}), "same columns, but Y lacks 'a'. Rename"),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": ["x"]}), r"types: 'a' \(number such as '1' and text such as 'x'\)"),
    (pd.DataFrame({"a": ["y"]}), pd.DataFrame({"a": ["2024-01-01"]}), r"'a' \(text such as 'y' and date such as"),
    (VALUES, VALUES[:, :2], "must have rows of the same shape, but X has 3 and Y has 2 coordinates"),
    (pd.DataFrame({"a": ["x"]}), VALUES, "X is a table with columns that are no numbers, and Y an array"),
    (PICTURES, VALUES, r"X holds images of 8 × 9 × 3 and Y a list of rows of 3 numbers.* image_shape=\(8, 9, 3\)"),
    (PICTURES, PICTURES[:, :4], r"X has images of 8 × 9 and Y of 4 × 9. Read both with image_size=\(8, 9\)"),
]


@pytest.mark.parametrize(("x", "y", "message"), MISMATCHES)
def test_what_cannot_be_matched(x: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        match(read(x, "X"), read(y, "Y"))


def test_columns_that_can_be_brought_together() -> None:
    x = read(pd.DataFrame({"flag": [True, False], "empty": [None, None]}), missing="indicator")
    y = read(pd.DataFrame({"flag": [2, 0], "empty": ["u", "v"]}), missing="indicator")
    for first, second in ((x, y), (y, x)):
        encoding = Encoding.fit(*match(first, second))
        assert encoding.names == ("flag", "empty=u", "empty=v", "empty is missing")
        assert encoding.encode(x).values[:, 3].min() > 0
        assert not encoding.encode(y).values[:, 3].any()


def test_a_table_of_numbers_matches_an_array() -> None:
    frame = pd.DataFrame(VALUES, columns=["a", "b", "c"])
    for x, y in ((frame, VALUES), (VALUES, frame)):
        first, second = match(read(x), read(y))
        assert first.columns == second.columns == ("a", "b", "c")
        encoding = Encoding.fit(first, second)
        assert np.array_equal(encoding.encode(read(x)).values, encoding.encode(read(y)).values)


# --- Images


IMAGE_ARRAYS: dict[str, tuple[np.ndarray, Any, tuple[int, ...]]] = {
    "grey": (PICTURES[..., 0], None, (8, 9)),
    "last": (PICTURES, None, (8, 9, 3)),
    "last, one": (PICTURES[..., :1], None, (8, 9)),
    "first": (np.moveaxis(PICTURES, -1, 1), None, (8, 9, 3)),
    "first, one": (PICTURES[:, None, :, :, 0], None, (8, 9)),
    "declared grey": (PICTURES[..., 0].reshape(6, -1), (8, 9), (8, 9)),
    "declared": (PICTURES.reshape(6, -1), (8, 9, 3), (8, 9, 3)),
    "declared first": (np.moveaxis(PICTURES, -1, 1).reshape(6, -1), (3, 8, 9), (8, 9, 3)),
}


@pytest.mark.parametrize(("array", "declared", "shape"), IMAGE_ARRAYS.values(), ids=IMAGE_ARRAYS)
def test_arrays_of_images(array: np.ndarray, declared: Any, shape: tuple[int, ...]) -> None:
    sample = encoded(array, image_shape=declared)
    assert (sample.kind, sample.image_shape, sample.values.dtype) == ("images", shape, np.float32)
    expected = PICTURES if len(shape) == 3 else PICTURES[..., 0]
    assert np.allclose(sample.values.reshape(6, *shape), expected / 255)
    assert sample.shown is not None
    shown = sample.shown.row(3)
    assert isinstance(shown, np.ndarray)
    assert shown.dtype == np.uint8
    assert np.array_equal(shown, expected[3])
    assert sample.names is not None
    assert len(sample.names) == np.prod(shape)
    assert sample.names[:2] == (("pixel 0,0 red", "pixel 0,0 green") if len(shape) == 3 else ("pixel 0,0", "pixel 0,1"))


@pytest.mark.parametrize("shape", [(5, 2, 2), (5, 100, 3), (5, 8, 8, 2), (5, 8, 8, 4), (5, 2, 8, 8, 3), (5, 3, 3, 3)])
def test_other_arrays_are_flattened(shape: tuple[int, ...]) -> None:
    source = read(np.ones(shape))
    assert source.kind == "rows"
    assert len(source.columns) == np.prod(shape[1:])


@pytest.mark.parametrize(
    ("low", "high", "black", "white"),
    [
        (0, 1, 0, 1),
        (0, 0.4, 0, 1),
        (-1, 1, -1, 1),
        (-0.2, 0.9, -1, 1),
        (0, 255, 0, 255),
        (0, 16, 0, 16),
        (-3, 2, -3, 3),
    ],
)
def test_the_range_of_floats(low: float, high: float, black: float, white: float) -> None:
    array = np.linspace(low, high, 64).reshape(1, 8, 8)
    values = encoded(array).values
    assert np.allclose(values.reshape(8, 8), (array[0] - black) / (white - black))


def test_two_samples_of_images_have_one_range() -> None:
    x, y = np.full((2, 8, 8), 10.0), np.full((2, 8, 8), 20.0)
    assert np.unique(encoded(x, y).values).tolist() == [0.5]
    grey, coloured = PICTURES[..., 0], PICTURES
    sample = encoded(grey, coloured)
    assert sample.image_shape == (8, 9, 3)
    source = read(PICTURES)
    assert np.abs(Encoding.fit(source, source, standardise=True).encode(source).values.mean(0)).max() < 1e-6


def picture_folder(folder: Path, images: dict[str, Image.Image]) -> Path:
    for name, image in images.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        image.save(folder / name)
    return folder


def test_a_folder_of_images(tmp_path: Path) -> None:
    pictures = [Image.fromarray(picture) for picture in PICTURES]
    names = ["b/1.png", "a/2.PNG", "a/10.png", "c.png"]
    folder = picture_folder(tmp_path, dict(zip(names, pictures, strict=False)))
    write(folder / "notes.txt", "no image")
    write(folder / "._c.png", "no image either")
    source = read(folder)
    assert source.files == ("a/10.png", "a/2.PNG", "b/1.png", "c.png")
    for i, k in enumerate((2, 1, 0, 3)):
        assert np.array_equal(source.row(i), PICTURES[k])
    assert source.where(2) == "b/1.png"
    drawn = read(folder, max_rows=2, rng=1)
    assert drawn.files == tuple(source.files[k] for k in drawn.numbers)
    assert drawn.take([1]).where(0) == drawn.where(1)
    assert np.allclose(encoded(folder).values[3], PICTURES[3].flatten() / 255)


def test_jpeg_and_modes(tmp_path: Path) -> None:
    grey = Image.fromarray(PICTURES[0, ..., 0])
    folder = picture_folder(
        tmp_path / "grey", {"a.jpg": grey, "b.jpeg": grey, "c.png": grey, "d.png": grey.convert("1")}
    )
    assert read(folder).row(0).shape == (8, 9)
    sixteen = Image.fromarray(PICTURES[0, ..., 0].astype(np.uint16) * 257)
    folder = picture_folder(tmp_path / "sixteen", {"a.png": sixteen})
    assert np.array_equal(read(folder).row(0), PICTURES[0, ..., 0])
    coloured = Image.fromarray(PICTURES[0])
    kinds = {"a.png": grey, "b.png": coloured, "c.jpg": coloured.convert("CMYK"), "d.png": coloured.quantize(200)}
    source = read(picture_folder(tmp_path / "mixed", kinds))
    assert source.row(0).shape == (8, 9, 3)
    assert np.array_equal(source.row(0)[..., 1], PICTURES[0, ..., 0])


def test_transparency(tmp_path: Path) -> None:
    opaque = Image.fromarray(PICTURES[0]).convert("RGBA")
    source = read(picture_folder(tmp_path / "opaque", {"a.png": opaque}))
    assert np.array_equal(source.row(0), PICTURES[0])
    assert source.notes == ()
    clear = opaque.copy()
    clear.putalpha(0)
    source = read(picture_folder(tmp_path / "clear", {"a.png": clear, "b.png": opaque}))
    assert (source.row(0) == 255).all()
    assert source.notes == ("1 of 2 images were transparent and are laid on white.",)
    half = Image.new("LA", (9, 8), (0, 128))
    grey = read(picture_folder(tmp_path / "half", {"a.png": half}))
    assert np.unique(grey.row(0)).tolist() == [127]


def test_images_of_different_sizes(tmp_path: Path) -> None:
    folder = picture_folder(tmp_path, {f"{k}.png": Image.new("L", (9, 8), 50) for k in range(3)})
    picture_folder(tmp_path, {"1.png": Image.new("L", (4, 5), 50)})
    with pytest.raises(ValueError, match=r"most are 8 × 9, but 1.png is 5 × 4. Give image_size=\(8, 9\)"):
        read(folder)
    source = read(folder, image_size=(6, 7))
    assert source.row(1).shape == (6, 7)
    assert (source.row(1) == 50).all()


def test_arrays_are_resized() -> None:
    smooth = np.add.outer(np.arange(8), np.arange(9)).astype(np.uint8)[None] * 10
    source = read(smooth, image_size=(4, 5))
    assert source.row(0).shape == (4, 5)
    assert abs(source.row(0).mean() - smooth.mean()) < 3
    assert read(PICTURES, image_size=(4, 5)).row(0).shape == (4, 5, 3)


def test_folders_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is an empty folder. Give a folder with PNG or JPEG images"):
        read(tmp_path)
    write(tmp_path / "x.txt", "text")
    with pytest.raises(ValueError, match=r"is a folder without PNG or JPEG images \(it has '.txt'\)"):
        read(tmp_path)
    picture_folder(tmp_path, {"a.png": Image.fromarray(PICTURES[0])})
    write(tmp_path / "b.png", "text")
    with pytest.raises(ValueError, match=r"b.png cannot be read as an image"):
        read(tmp_path)
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "b.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"b.png is damaged"):
        read(tmp_path)


# --- Features


def test_features_of_images() -> None:
    seen = []

    def mean_colour(batch: torch.Tensor) -> torch.Tensor:
        seen.append(batch.shape)
        assert not torch.is_grad_enabled()
        assert batch.min() >= 0
        assert batch.max() <= 1
        return batch.mean((2, 3))

    sample = encoded(PICTURES, features=mean_colour, batch_size=4)
    assert seen == [(4, 3, 8, 9), (2, 3, 8, 9)]
    assert (sample.kind, sample.image_shape, sample.values.shape) == ("rows", None, (6, 3))
    assert sample.names == ("feature 0", "feature 1", "feature 2")
    assert sample.shown is not None
    assert sample.shown.kind == "images"
    assert np.array_equal(sample.shown.row(4), PICTURES[4])
    means = PICTURES.mean((1, 2))
    assert np.allclose(sample.values, (means - means.mean(0)) / means.std(0), atol=1e-5)


def test_a_module_is_in_eval_mode_for_a_while() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.BatchNorm1d(3).eval(), nn.Linear(3, 2)).double()
    module.train()
    module[2].eval()
    source = read(VALUES, features=module, batch_size=7)
    assert source.features is not None
    assert (source.features.shape, source.features.dtype) == ((20, 2), np.float64)
    assert [part.training for part in (module, *module)] == [True, True, True, False, True]
    assert np.array_equal(source.features, read(VALUES, features=module).features)
    assert np.array_equal(source.take([3, 1]).features, source.features[[3, 1]])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda batch: batch.sum(), "must have one row for each row, but for 20 rows of X their shape is"),
        (lambda batch: batch[:3], r"their shape is \(3, 3\)"),
        (lambda batch: batch / 0, "The output of the features for X has"),
        (lambda batch: batch[:, :0], "The features must be numbers"),
        (lambda batch: [1, 2], "The features must be a tensor or an array, but are of type list"),
    ],
)
def test_features_that_are_wrong(features: Callable[..., Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        read(VALUES, features=features)


def test_features_of_both_samples() -> None:
    x = read(VALUES, features=lambda batch: batch)
    with pytest.raises(ValueError, match=r"X was read with features and Y without\. Give both the same features="):
        match(x, read(VALUES, "Y"))
    with pytest.raises(ValueError, match="The features are 3 numbers for each row of X, but 2 for Y"):
        match(x, read(VALUES, "Y", features=lambda batch: batch[:, :2]))
    with pytest.raises(ValueError, match="The features must be a tensor or an array, but are of type list"):
        read(pd.DataFrame({"a": ["x"]}), features=lambda batch: batch)
    flat = nn.Flatten()
    with pytest.raises(ValueError, match=r"lie in \[0.0, 255.0\] and those of Y in \[0.0, 9.0\]"):
        match(read(PICTURES, features=flat), read(PICTURES % 10 * 1.0, "Y", features=flat))
    # Of bytes, and of floats up to 1, it is known what white is.
    match(read(PICTURES, features=flat), read(PICTURES / 255, "Y", features=flat))


# --- Showing


def test_rows_are_shown_as_they_came() -> None:
    sample = encoded(pd.DataFrame({"a": [1.5, 2], "t": ["u", "v"]})).take([1])
    assert sample.shown is not None
    assert (sample.shown.columns, sample.shown.row(0), sample.shown.where(0)) == (("a", "t"), ["2", "v"], "row 1")
    rows = encoded(VALUES, max_rows=5).take(torch.tensor([4, 0]))
    assert isinstance(rows.shown, Source)
    assert np.array_equal(rows.shown.row(0), VALUES[rows.shown.numbers[0]])
    assert len(rows) == len(rows.shown) == 2
    with pytest.raises(ValueError, match=r"rows is a mask of shape \(2,\), but there are 5 rows"):
        encoded(VALUES, max_rows=5).take([True, False])
    with pytest.raises(TypeError, match="rows must be a list of whole numbers or a mask"):
        rows.take([0.5])


def test_encoded_samples_go_into_a_test() -> None:
    x, y = match(read(PICTURES), read(255 - PICTURES[:5], "Y"))
    encoding = Encoding.fit(x, y)
    assert isinstance(x.content, Images)
    assert 0 < ta.mmd_test(encoding.encode(x), encoding.encode(y), permutations=19, rng=0).pvalue <= 1


def test_a_library_that_is_missing_is_named() -> None:
    with pytest.raises(ImportError, match=r"Reading images needs no_such_library: pip install 'tellapart\[images\]'"):
        extras.extra("no_such_library", group="images", what="Reading images")
