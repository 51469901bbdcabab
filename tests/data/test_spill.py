"""Tables of files that are larger than memory: read in portions, kept in files, with the results of those in memory."""

from __future__ import annotations

import gzip
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from containers import keep_in_files

import tellapart as ta
from tellapart._util.errors import InputError
from tellapart.cli import main
from tellapart.data import read, spill
from tellapart.data.columns import TableColumn

ROWS = 150


def frame(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Numbers, whole numbers, texts, categories, dates, codes, yes and no, and missing values of most of them."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, rows), unit="D")
    town = rng.choice(["Ulm", "Bonn", "Jena"], rows).astype(object)
    town[rng.random(rows) < 0.1] = None
    return pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "single": rng.normal(size=rows).astype("f4"),
            "whole": rng.integers(0, 9, rows),
            "gaps": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
            "town": town,
            "kind": pd.Categorical(rng.choice(["a", "b"], rows)),
            "day": days,
            "code": [f"{k:04d}" for k in rng.integers(0, 30, rows)],
            "on": rng.random(rows) < 0.5,
        }
    )


def write_parquet(table: pd.DataFrame, path: Path) -> Path:
    table.to_parquet(path.with_suffix(".parquet"), row_group_size=41 if len(table) < 1000 else 20_000)
    return path.with_suffix(".parquet")


def write_parts(table: pd.DataFrame, path: Path) -> Path:
    """Many parts of odd sizes, one of them empty, and with row groups without rows."""
    path.mkdir()
    edges = [0, 1, 14, 14, 60, 61, 140, len(table)]
    for k, (start, stop) in enumerate(itertools.pairwise(edges)):
        part = pa.Table.from_pandas(table[start:stop], preserve_index=False)
        with pq.ParquetWriter(path / f"{k}.parquet", part.schema) as writer:
            writer.write_table(part.slice(0, 0))
            writer.write_table(part, row_group_size=17)
            writer.write_table(part.slice(0, 0))
    return path


def write_csv(table: pd.DataFrame, path: Path) -> Path:
    table.to_csv(path.with_suffix(".csv"), index=False)
    return path.with_suffix(".csv")


def write_zipped(table: pd.DataFrame, path: Path) -> Path:
    table.to_csv(f"{path}.csv.gz", index=False)
    return Path(f"{path}.csv.gz")


WRITERS: dict[str, Callable[[pd.DataFrame, Path], Path]] = {
    "parquet": write_parquet,
    "parts": write_parts,
    "csv": write_csv,
    "csv.gz": write_zipped,
}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Tables are read as if they were large from when this is called."""
    return lambda: keep_in_files(monkeypatch)


def plain(result: Any) -> Any:
    """All of a result but for the time that it took."""
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items() if key != "seconds"}
    if isinstance(result, (list, tuple)):
        return [*map(plain, result)]
    return plain(result.to_dict()) if hasattr(result, "to_dict") else result


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("missing", ["indicator", "drop", "error"])
def test_results_are_those_of_the_same_table_in_memory(
    name: str, missing: str, tmp_path: Path, large: Callable[[], None]
) -> None:
    files = [WRITERS[name](frame(k), tmp_path / "xy"[k]) for k in range(2)]

    def run(**options: Any) -> Any:
        try:
            return plain(ta.two_sample_test(*files, 49, rng=0, missing=missing, **options))
        except InputError as error:
            return error.id, str(error)

    calls = [{}, {"keep_columns": True}, {"columns": ["x", "single"]}, {"drop": ["day"], "paired": True}]
    calls += [{"strata": "kind"}, {"max_rows": 100}]
    before = [run(**options) for options in calls]
    large()
    source = read(files[0], missing="indicator")
    assert source.content.in_file
    for options, expected in zip(calls, before, strict=True):
        assert run(**options) == expected, options


def test_all_calls_take_large_tables(tmp_path: Path, large: Callable[[], None], capsys: Any) -> None:
    files = [write_parquet(frame(k), tmp_path / "xyz"[k]) for k in range(3)]
    options: dict[str, Any] = {"rng": 0, "missing": "indicator"}

    def run() -> list[Any]:
        comparison = ta.compare(*files[:2], permutations=19, **options)
        three = ta.k_sample_test(files, permutations=19, **options)
        by_column = ta.k_sample_test(files[0], "kind", permutations=19, **options)
        reference = ta.Reference.fit(files[0], **options)
        batch = reference.test(files[1], 19, rng=0)
        learned = ta.mmd_test(*files[:2], permutations=19, keep_columns=True, **options)
        assert main(["test", str(files[0]), str(files[1]), "--missing", "indicator"]) in (0, 1)
        numbers = [comparison.auc, comparison.distance, comparison.test.pvalue, learned.statistic]
        printed = [line for line in capsys.readouterr().out.splitlines() if " s" not in line]
        return [numbers, printed, *map(plain, (three, by_column, batch))]

    before = run()
    large()
    assert run() == before


def test_rows_of_large_tables_go_to_workers(tmp_path: Path, large: Callable[[], None]) -> None:
    distributed = pytest.importorskip("distributed")
    files = [write_parts(frame(k), tmp_path / "xy"[k]) for k in range(2)]
    base = ta.two_sample_test(*files, 49, rng=0, missing="indicator")
    large()
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        found = ta.two_sample_test(*files, 49, rng=0, missing="indicator", cluster=client)
    assert plain(found) == plain(base)


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("1.5", "red"),
        ("7", "007"),
        ("True", "maybe"),
        ("True", ""),
        ("", "3"),
        ("", "blue"),
        ("3", ""),
        ("12", "1,234"),
        ("1", "9007199254740993"),
        ("0.5", "9007199254740993"),
        ("2024-01-31", "2024-02-30"),
        ("1", "1e400"),
        ("red", "NA"),
    ],
)
def test_what_a_column_holds_may_be_told_by_its_last_rows(
    early: str, late: str, tmp_path: Path, large: Callable[[], None]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + f"{early},1\n" * 40 + f"{late},2\n")

    def found() -> Any:
        try:
            column = read(path, missing="indicator").content.column("a")
        except InputError as error:
            return error.id, str(error)
        assert column is not None
        return [
            column.kind,
            column.single,
            column.precision,
            column.remark,
            column.how,
            list(map(column.cell, range(41))),
        ]

    before = found()
    large()
    assert found() == before


@pytest.mark.parametrize(
    "kinds", [("int32", "float32"), ("int64", "float64"), ("float64", "float32"), ("int8", "int64")]
)
def test_a_type_may_differ_by_part(kinds: tuple[str, str], tmp_path: Path, large: Callable[[], None]) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    for k, kind in enumerate(kinds):
        pd.DataFrame({"b": np.arange(20.0), "a": np.arange(20).astype(kind)})[["ab"[k], "ba"[k]][::-1]].to_parquet(
            folder / f"{k}.parquet"
        )

    def found() -> Any:
        content = read(folder).content
        return [(c.name, c.kind, c.single, c.precision, c.values.tolist()) for c in content.columns]

    before = found()
    large()
    assert found() == before
    pd.DataFrame({"a": ["red"], "b": [1.0]}).to_parquet(folder / "2.parquet")
    with pytest.raises(InputError, match="different types in 'a'"):
        read(folder)


@pytest.mark.parametrize("name", ["parquet", "parts"])
def test_damaged_blocks_are_named(name: str, tmp_path: Path, large: Callable[[], None]) -> None:
    path = WRITERS[name](frame(0).drop(columns="town"), tmp_path / "x")
    part = path / "5.parquet" if path.is_dir() else path
    content = bytearray(part.read_bytes())
    start = len(content) // 3
    content[start : start + 200] = b"\xff" * 200
    part.write_bytes(content)
    large()
    with pytest.raises(InputError) as error:
        read(path, missing="indicator")
    assert error.value.id == "damaged-file"


def test_damaged_text_is_named(tmp_path: Path, large: Callable[[], None]) -> None:
    lines = [f"{k},{k}" for k in range(60)]
    lines[50] += ",1"
    (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(lines))
    large()
    with pytest.raises(InputError, match="line 52") as error:
        read(tmp_path / "x.csv")
    assert error.value.id == "irregular-table"
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 60_000)
    (tmp_path / "x.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError) as error:
        read(tmp_path / "x.csv.gz")
    assert error.value.id == "damaged-file"


@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_files_that_change_while_they_are_read(
    name: str, tmp_path: Path, large: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = WRITERS[name](frame(0), tmp_path / "x")
    append = spill.TableWriter.append

    def change(self: spill.TableWriter, batch: Any) -> None:
        append(self, batch)
        with path.open("ab") as file:
            file.write(b"\n")

    large()
    monkeypatch.setattr(spill.TableWriter, "append", change)
    with pytest.raises(InputError) as error:
        read(path, missing="indicator")
    assert error.value.id == "file-changed"


def test_values_are_in_memory_only_while_they_are_looked_at() -> None:
    writer = spill.TableWriter(10, "X")
    for start in (0, 4):
        writer.append([TableColumn("a", "number", np.arange(start, start + 4.0))])
    column = writer.close()["a"]
    assert column.in_file
    assert column.values.tolist() == list(range(8))
    assert column.values is not column.values
    assert column.take(np.array([7, 2])).values.tolist() == [7, 2]
    assert column.take(np.array([7, 2])).in_file
    assert not TableColumn("a", "number", column.values[:3]).in_file
    assert TableColumn("b", "number", column.values).in_file
    with pytest.raises(spill.MixedKinds):
        writer.append([TableColumn("a", "text", np.array([0]), ("red",))])


PEAK = """
import sys
import pandas  # which is imported for large files only
from tellapart.data.open import open_samples
from tellapart.data.options import check_options

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

def read(*paths):
    return open_samples(paths, ("X", "Y"), check_options(max_memory="150MB")).encode(shared="")

small, x, y = sys.argv[1:4]
read(small, small)
before = peak()
samples = read(x, y)
assert sum(part[:1000].sum() for part in samples.points) > 0
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read there")
@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_memory_is_bounded(name: str, tmp_path: Path) -> None:
    """400,000 rows of 40 numbers are 128 MB of float64, twice: as columns, and as rows of numbers."""
    rng = np.random.default_rng(0)
    files = []
    for sample in ("small", "x", "y"):
        values = rng.integers(0, 1000, (200_000 if sample != "small" else 300, 40)) / 8
        table = pd.DataFrame(values, columns=[f"c{k}" for k in range(40)])
        files.append(str(WRITERS[name](table, tmp_path / sample)))
    done = subprocess.run([sys.executable, "-c", PEAK, *files], capture_output=True, text=True, check=True)
    assert int(done.stdout) / 1e6 < 120


@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_reading_shows_a_bar_with_a_rate(name: str, tmp_path: Path, large: Callable[[], None], capsys: Any) -> None:
    files = [WRITERS[name](frame(k)[["x", "whole"]], tmp_path / "xy"[k]) for k in range(2)]
    large()
    seen: list[tuple[int, int]] = []
    ta.two_sample_test(*files, 19, rng=0, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert "Reading" not in capsys.readouterr().err
    ta.two_sample_test(*files, 19, rng=0, progress=True)
    shown = capsys.readouterr().err
    assert f"Reading X ({files[0]})" in shown
    assert "rows/s" in shown


@pytest.mark.parametrize("in_files", [False, True])
def test_typical_rows_are_those_of_their_samples(in_files: bool, tmp_path: Path, large: Callable[[], None]) -> None:
    """Also of pairs of several samples, and of samples that a column tells apart."""
    tables = [
        frame(k)[["x", "town", "whole"]].assign(name=[f"{name} {i % 2}" for i in range(ROWS)])
        for k, name in enumerate("abc")
    ]
    for k, table in enumerate(tables):
        table.loc[: 25 * k, "x"] += 6
    files = [write_parquet(table, tmp_path / name) for table, name in zip(tables, "abc", strict=True)]
    pooled = pd.concat(tables, ignore_index=True)
    pooled["of"] = np.repeat(["a", "b", "c"], ROWS)
    if in_files:
        large()
    one_by_one = ta.k_sample_test(dict(zip("abc", files, strict=True)), permutations=99, rng=0, missing="indicator")
    by_column = ta.k_sample_test(
        write_parquet(pooled, tmp_path / "all"), "of", permutations=99, rng=0, missing="indicator"
    )
    for result, whole in ((one_by_one, None), (by_column, pooled)):
        tests = [(result.names, result), *((pair.names, pair.test) for pair in result.pairwise)]
        rows = [(names[row.sample], row) for names, test in tests for kind in test.kinds for row in kind.typical]
        assert rows
        for name, row in rows:
            values = (tables["abc".index(name)] if whole is None else whole).loc[row.row]
            assert row.values["name"] == values["name"]
            assert row.values["name"][0] == name
            assert float(row.values["x"]) == pytest.approx(values["x"], rel=1e-5)
