"""Columns of vectors, as embeddings are kept: in Arrow, Parquet, JSON lines, polars and pandas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tellapart as ta
from tellapart._util.errors import InputError
from tellapart.data import read

VECTORS = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
NAMES = tuple(f"embedding[{k}]" for k in range(3))
FIXED = pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), 3)
LISTS = pa.array(VECTORS.tolist(), pa.list_(pa.float32()))


def table(vectors: np.ndarray[Any, Any] = VECTORS) -> pa.Table:
    lists = pa.array(vectors.tolist(), pa.list_(pa.float32()))
    return pa.table({"id": np.arange(float(len(vectors))), "embedding": lists})


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"embedding": FIXED}),
        pa.table({"embedding": LISTS}),
        pa.table({"embedding": LISTS.cast(pa.large_list(pa.float32()))}),
        pa.table({"embedding": pa.chunked_array([LISTS[:7], LISTS[7:]])}),
        pl.DataFrame({"embedding": pl.Series(VECTORS.tolist(), dtype=pl.List(pl.Float32))}),
        pl.DataFrame({"embedding": pl.Series(VECTORS.tolist(), dtype=pl.Array(pl.Float32, 3))}),
        pl.LazyFrame({"embedding": pl.Series(VECTORS.tolist(), dtype=pl.List(pl.Float32))}),
        pd.DataFrame({"embedding": list(VECTORS)}),
        pa.table({"embedding": FIXED}).to_pandas(types_mapper=pd.ArrowDtype),
    ],
    ids=lambda frame: type(frame).__module__.split(".")[0],
)
def test_a_vector_is_that_many_columns(frame: Any) -> None:
    source = read(frame)
    assert source.columns == NAMES
    matrix = source.content.to_matrix()  # type: ignore[union-attr]
    assert matrix is not None
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, VECTORS)


@pytest.mark.parametrize("row_group", [None, 9])
def test_parquet_and_json_lines(tmp_path: Path, row_group: int | None) -> None:
    pq.write_table(table(), tmp_path / "x.parquet", row_group_size=row_group)
    lines = [json.dumps({"id": k, "embedding": row}) for k, row in enumerate(VECTORS.tolist())]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    for file in (tmp_path / "x.parquet", tmp_path / "x.jsonl"):
        assert read(file).columns == ("id", *NAMES)
        assert read(file, columns=["embedding"]).columns == NAMES
        assert read(file, drop=["embedding"]).columns == ("id",)
        drawn = read(file, columns=["embedding"], max_rows=11, rng=3)
        np.testing.assert_allclose(drawn.content.to_matrix(), VECTORS[drawn.numbers])  # type: ignore[union-attr]


def test_tests_see_them_as_they_see_an_array() -> None:
    other = VECTORS + np.float32([0, 0, 1])
    expected = ta.two_sample_test(VECTORS, other, 99, rng=0)
    found = ta.two_sample_test(table(), table(other), 99, rng=0, columns=["embedding"])
    assert (found.pvalue, found.statistic) == (expected.pvalue, expected.statistic)
    assert found.differing_columns().names == ("embedding[2]",)
    assert "  embedding[2]: larger in Y" in ta.compare(table(), table(other), permutations=99, rng=0).summary()
    assert ta.mmd_test(table(), table(other), columns=["embedding"], rng=0).reject(0.01)


def test_what_is_missing() -> None:
    data = pa.table({"a": [[1.0, None], None, [3.0, 4.0]]})
    with pytest.raises(InputError, match=r"missing values in 'a\[0\]' \(1 of 3\), 'a\[1\]' \(2 of 3\)"):
        read(data)
    whole = pa.table({"age": [1.0, None, 3.0], "a": [[1.0, 2.0], None, [3.0, 4.0]]})
    with pytest.raises(InputError, match=r"values in 'age' \(1 of 3\), 'a' \(no vector in 1 of 3 rows\)\. Read"):
        read(whole)
    assert len(read(data, missing="drop")) == 1
    values = read(data, missing="indicator").content.to_matrix()  # type: ignore[union-attr]
    np.testing.assert_array_equal(values, [[1, np.nan], [np.nan, np.nan], [3, 4]])


@pytest.mark.parametrize("library", [pa.table, pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[1, 2], [3]], r"'a' of lists of different lengths \(1 to 2\). Give all rows vectors of one length, or leave"),
        ([["x"], ["y"]], r"'a' of lists of text, but vectors are lists of numbers. Leave it out with drop=\['a'\]"),
        ([[[1.0]], [[2.0]]], "'a' of lists of lists, but"),
        ([[], []], "'a' of lists of nothing, but"),
        ([[2**60, 2**60 + 1]], r"column 'a' has whole numbers beyond 2\*\*53"),
    ],
)
def test_lists_that_are_no_vectors(library: Any, cells: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(library({"a": cells}))


@pytest.mark.parametrize("cells", [[[1.0], "x"], [[1.0], 2.0], [[1, "x"]]])
def test_objects_of_several_types(cells: Any) -> None:
    with pytest.raises(InputError, match="'a' of values of several types"):
        read(pd.DataFrame({"a": cells}))


def test_vectors_of_two_lengths() -> None:
    message = r"'embedding' has 3 numbers in X and 2 in Y\. Give vectors .* leave it out with drop=\['embedding'\]"
    with pytest.raises(InputError, match=message):
        ta.two_sample_test(table(), table(VECTORS[:, :2]))


def test_no_rows() -> None:
    with pytest.raises(InputError, match="is empty: it has no rows"):
        read(table()[:0])


def test_a_name_that_is_taken() -> None:
    frame = pa.table({"a[0]": [5.0], "a": [[1.0, 2.0]]})
    assert read(frame).columns == ("a[0]", "a[0] (2)", "a[1]")


def test_more_than_memory_is_refused(tmp_path: Path) -> None:
    wide = pa.table({"id": np.arange(1000.0), "embedding": np.zeros((1000, 300), np.float32).tolist()})
    pq.write_table(wide, tmp_path / "x.parquet")
    for data in (wide, tmp_path / "x.parquet"):
        for columns in (None, ["embedding"]):
            with pytest.raises(MemoryError, match="would take about"):
                read(data, max_memory="2MB", columns=columns)
        assert len(read(data, max_memory="2MB", columns=["id"])) == 1000
        assert len(read(data, max_memory="2MB", max_rows=100, rng=0)) == 100


def test_a_reference_of_vectors() -> None:
    reference = ta.Reference.fit(table(), columns=["embedding"], rng=0)
    assert reference.test(table()[:20], 99, rng=0, schema="strict").pvalue > 0.05
    without = ta.Reference.fit(table(), drop=["embedding"], rng=0)
    assert without.test(table()[:20], 99, rng=0, schema="strict").notes == ()


def test_vectors_are_no_labels() -> None:
    with pytest.raises(InputError, match="has vectors in 'embedding', which cannot say which rows belong together"):
        ta.two_sample_test(table(), table(), groups="embedding")
