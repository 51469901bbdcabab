"""The door of every test: whatever is given, two samples of checked numbers; nothing is checked twice."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from tellapart._util.errors import InputError
from tellapart.data import Encoding, as_pair, as_points, as_sample, points, read, read_pair
from tellapart.data.content import Images, Rows, TableContent
from tellapart.data.lazy import Lazy
from tellapart.data.source import Source

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 3)), RNG.normal(size=(20, 3)) * 5
FRAME = pd.DataFrame({"age": RNG.normal(40, 10, 30), "town": RNG.choice(["Ulm", "Bonn"], 30)})
OTHER = pd.DataFrame({"town": RNG.choice(["Ulm", "Kiel"], 20), "age": RNG.normal(50, 10, 20)})
PICTURES = RNG.integers(0, 256, (6, 8, 9), dtype=np.uint8)


# --- Standardising


def test_tables_are_standardised_and_arrays_are_not() -> None:
    frames = pd.DataFrame(X), pd.DataFrame(Y)
    raw = as_pair(X, Y)
    assert all(torch.equal(a.values, b.values) for a, b in zip(as_pair(X, Y, standardise="auto"), raw, strict=True))
    assert all(torch.equal(a.values, b.values) for a, b in zip(as_pair(*frames), raw, strict=True))
    mixed = as_pair(frames[0], Y, standardise="auto")
    for pair in (as_pair(*frames, standardise="auto"), as_pair(X, Y, standardise=True), mixed):
        pooled = torch.cat([sample.values for sample in pair])
        assert torch.allclose(pooled.mean(0), torch.zeros(3, dtype=torch.float64), atol=1e-12)
        assert torch.allclose(pooled.std(0, correction=0), torch.ones(3, dtype=torch.float64))


def test_text_becomes_indicators() -> None:
    x, y = as_pair(FRAME, OTHER)
    assert x.names == ("age", "town=Bonn", "town=Kiel", "town=Ulm")
    assert x.columns == ("age", "town", "town", "town")
    assert np.array_equal(x.values[:, 0], FRAME["age"])
    assert np.array_equal(y.values[:, 1:].sum(1), np.ones(20))
    encoding = Encoding.fit(*read_pair(FRAME, OTHER))
    standard = as_pair(FRAME, OTHER, standardise="auto")
    assert np.array_equal(standard[0].values, encoding.encode(read(FRAME)).values)


def test_single_precision_stays_single() -> None:
    for dtype in ("f4", "f8", "i2", "i8", "u1", "?"):
        values = (X > 0).astype(dtype)
        x, _ = as_pair(pd.DataFrame(values), pd.DataFrame(values))
        assert x.values.dtype == as_sample(values).values.dtype
        assert torch.equal(x.values, as_sample(values).values)


def test_standardise_is_checked() -> None:
    with pytest.raises(InputError, match="standardise='yes' is not known"):
        as_pair(X, Y, standardise="yes")


# --- Images


def test_images_stay_as_they_came(tmp_path: Path) -> None:
    np.savez(tmp_path / "first.npz", PICTURES[:, None])
    np.savez(tmp_path / "flat.npz", PICTURES)
    colour = np.stack([PICTURES] * 3, axis=1)
    np.savez(tmp_path / "colour.npz", colour)
    assert np.array_equal(as_sample(tmp_path / "first.npz").values, PICTURES[:, None])
    assert np.array_equal(as_sample(tmp_path / "flat.npz").values, PICTURES)
    assert np.array_equal(as_sample(tmp_path / "colour.npz").values, colour)
    x, y = as_pair(tmp_path / "first.npz", tmp_path / "flat.npz")
    assert torch.equal(x.values, y.values)
    assert (x.kind, x.image_shape, x.values.dtype) == ("images", (8, 9), torch.float32)


def test_ranges_that_differ_are_brought_to_one(tmp_path: Path) -> None:
    """Bytes from PNG files, and floats from a generator."""
    for k, picture in enumerate(PICTURES):
        Image.fromarray(picture).save(tmp_path / f"{k}.png")
    x, y = as_pair(tmp_path, PICTURES)
    assert x.values.max() > 1
    assert torch.equal(x.values, y.values)
    for floats in (PICTURES / 255, PICTURES / 127.5 - 1, torch.from_numpy(PICTURES / 255)):
        x, y = as_pair(tmp_path, floats)
        assert torch.allclose(x.values, y.values, atol=1e-6)
        assert (x.values.min() >= 0, x.values.max() <= 1) == (True, True)
        first, second = read_pair(tmp_path, floats)
        encoding = Encoding.fit(first, second)
        assert np.allclose(encoding.encode(first).values, encoding.encode(second).values, atol=1e-6)
        assert np.allclose(encoding.encode(read(PICTURES)).values, encoding.encode(first).values, atol=1e-6)
        assert np.array_equal(first.row(0), PICTURES[0])


# --- Tensors


def test_gradients_and_memory_are_kept() -> None:
    x = torch.from_numpy(X.copy()).requires_grad_()
    for other in (Y, torch.from_numpy(Y), pd.DataFrame(Y), as_sample(Y), read(Y)):
        sample, _ = as_pair(x, other)
        assert sample.values is x or sample.values.data_ptr() == x.data_ptr()
        assert sample.values.requires_grad
        assert sample.from_tensor
    with pytest.raises(InputError, match="X has a gradient or is on a device"):
        as_pair(x, Y, max_rows=3)
    with pytest.raises(InputError, match="X has a gradient or is on a device"):
        as_pair(x, Y, standardise=True)
    plain = torch.from_numpy(X.copy())
    assert as_pair(plain, pd.DataFrame(Y))[0].from_tensor
    assert not as_pair(plain, pd.DataFrame(Y))[1].from_tensor


# --- Lazily


def test_rows_stay_in_the_file_where_they_can(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    pd.DataFrame(X).to_parquet(tmp_path / "x.parquet")
    FRAME.to_parquet(tmp_path / "text.parquet")
    OTHER.to_parquet(tmp_path / "other.parquet")
    lazily: dict[str, tuple[Any, dict[str, Any], bool]] = {
        "npy": (tmp_path / "x.npy", {}, True),
        "npy, auto": (tmp_path / "x.npy", {"standardise": "auto"}, True),
        "npy, some": (tmp_path / "x.npy", {"max_rows": 9}, False),
        "npy, standardised": (tmp_path / "x.npy", {"standardise": True}, False),
        "npy, limited": (tmp_path / "x.npy", {"max_memory": "1GB", "rng": 0}, True),
        "parquet": (tmp_path / "x.parquet", {}, True),
        "parquet, auto": (tmp_path / "x.parquet", {"standardise": "auto"}, False),
    }
    for name, (path, options, lazy) in lazily.items():
        x, y = as_points(path, Y, **options)
        assert isinstance(x, Lazy) == lazy, name
        assert not isinstance(y, Lazy)
    x, y = as_points(tmp_path / "text.parquet", tmp_path / "other.parquet")
    assert x.shape[1:] == y.shape[1:] == (4,)
    assert torch.equal(x, as_pair(FRAME, OTHER)[0].values)


def test_a_parquet_file_and_a_frame_are_matched_by_name(tmp_path: Path) -> None:
    x, y = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("abc"))
    x.to_parquet(tmp_path / "x.parquet")
    assert torch.equal(as_points(tmp_path / "x.parquet", y[list("cab")])[1], torch.from_numpy(Y))


# --- Sources


def test_a_source_is_given_back() -> None:
    source = read(FRAME, missing="indicator", columns=["age"])
    assert read(source) is source
    assert read(source, "Z", rng=0, max_memory="1GB") is source
    assert len(read(source, max_rows=7, rng=0)) == 7
    assert read_pair(FRAME, OTHER, columns=iter(["age"]))[1].columns == ("age",)
    with pytest.raises(InputError, match=r"Z is a Source, .* Give missing= and drop= to the call of read that made it"):
        read(source, "Z", missing="drop", drop=["town"])
    x, y = as_pair(source, read(OTHER, columns=["age"]))
    assert np.array_equal(x.values[:, 0], FRAME["age"])
    assert np.array_equal(y.values[:, 0], OTHER["age"])


def test_other_rows_are_read_alike() -> None:
    frame = FRAME.assign(age=FRAME["age"].mask(FRAME.index < 3))
    source = read(frame, missing="indicator", columns=["age"], max_rows=5, rng=0)
    again = source.like(frame, "Z")
    assert (len(again), again.columns, again.label) == (30, ("age",), "Z")
    features = read(PICTURES, features=lambda batch: batch.mean((2, 3)), image_size=(4, 4)).like(PICTURES[:2])
    assert features.features is not None
    assert features.features.shape == (2, 1)
    assert features.row(0).shape == (4, 4)


# --- Once


def test_values_are_checked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts = {"values": 0, "arrays": 0, "tables": 0}

    def count(owner: Any, method: str, name: str) -> None:
        before = getattr(owner, method)

        def counted(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            return before(*args, **options)

        monkeypatch.setattr(owner, method, counted)

    count(points, "check_values", "values")
    count(Rows, "validate", "arrays")
    count(Images, "validate", "arrays")
    count(TableContent, "validate", "tables")
    np.savez(tmp_path / "x.npz", X)
    pair = as_pair(X, Y)
    assert counts == {"values": 2, "arrays": 0, "tables": 0}
    as_pair(*pair)
    as_points(*pair)
    assert counts == {"values": 2, "arrays": 0, "tables": 0}
    as_points(FRAME, OTHER, standardise="auto")
    assert counts == {"values": 2, "arrays": 0, "tables": 2}
    as_points(tmp_path / "x.npz", pd.DataFrame(Y))
    assert counts == {"values": 2, "arrays": 1, "tables": 3}
    as_points(read(FRAME), read(OTHER))
    assert counts["tables"] == 5


# --- Tables that are not clean


def test_a_stray_cell_is_named_with_its_row(tmp_path: Path) -> None:
    ages: list[Any] = [str(20 + k % 30) for k in range(60)]
    ages[17] = "n/a?"
    (tmp_path / "x.csv").write_text("age,b\n" + "".join(f"{age},1\n" for age in ages))
    message = r"X.*: column 'age' has 1 value that is not a number: 'n/a\?' in row 17\. Correct .* drop=\['age'\]"
    for data in (tmp_path / "x.csv", pd.DataFrame({"age": ages})):
        with pytest.raises(InputError, match=message):
            read(data)
    ages[40] = "?"
    with pytest.raises(InputError, match=r"has 2 values that are not numbers: 'n/a\?' in row 17, …"):
        read(pd.DataFrame({"age": ages}))
    with pytest.raises(InputError, match=r"in row (17|40)"):
        read(pd.DataFrame({"age": ages}), max_rows=55, rng=1)
    assert read(pd.DataFrame({"age": pd.Categorical(ages)})).kind == "table"
    assert read(pd.DataFrame({"code": ["1", "2", "3", "3a"] * 9})).content.columns[0].kind == "text"
    (tmp_path / "x.jsonl").write_text('{"age": 1}\n\n{"age": 2}\n{"age": "n/a?"}\n')
    with pytest.raises(InputError, match=r"JSON lines: column 'age' changed from number to string in row 2"):
        read(tmp_path / "x.jsonl")


def test_unrelated_columns_come_before_missing_values() -> None:
    x, y = pd.DataFrame({"a": [1.0, np.nan]}), pd.DataFrame({"b": [1.0, 2.0]})
    for call in (as_pair, as_points, read_pair):
        with pytest.raises(InputError, match=r"must have the same columns, but X lacks 'b' and Y lacks 'a'\. Rename"):
            call(x, y)
    with pytest.raises(InputError, match="X has missing values in 'a'"):
        as_pair(x, x)
    with pytest.raises(FileNotFoundError, match=r"Y \(nowhere\.csv\) does not exist"):
        as_pair(x, "nowhere.csv")


def test_text_in_other_encodings(tmp_path: Path) -> None:
    text = "größe,ort\n1,Köln\n2,Ulm\n"
    late = "größe,ort\n" + "1,Ulm\n" * 400_000 + "2,Köln\n"
    for name, content, note in (
        ("latin.csv", text.encode("latin-1"), True),
        ("utf16.csv", text.encode("utf-16"), False),
        ("bom.csv", text.encode("utf-8-sig"), False),
        ("latin.csv.gz", gzip.compress(text.encode("latin-1")), True),
    ):
        (tmp_path / name).write_bytes(content)
        for options in ({}, {"max_rows": 5}):
            source = read(tmp_path / name, **options)
            assert (source.columns, source.row(0)) == (("größe", "ort"), ["1", "Köln"])
            assert source.notes == (("It is not UTF-8 text and was read as Latin-1.",) if note else ())
    (tmp_path / "late.csv").write_bytes(late.replace("größe", "groesse").encode("latin-1"))
    source = read(tmp_path / "late.csv")
    assert source.row(400_000) == ["2", "Köln"]
    assert source.notes == ("It is not UTF-8 text and was read as Latin-1.",)


def test_json_lines(tmp_path: Path) -> None:
    lines = ['{"n": 1, "t": "Köln", "d": "2024-01-02", "b": true}', "", '{"n": 2.5, "b": null, "t": "Ulm"}']
    note = "It is not UTF-8 text and was read as Latin-1."
    for encoding, notes in (("utf-8", ()), ("utf-8-sig", ()), ("latin-1", (note,))):
        (tmp_path / "x.jsonl").write_bytes("\n".join(lines).encode(encoding))
        source = read(tmp_path / "x.jsonl", missing="indicator")
        assert [c.kind for c in source.content.columns] == ["number", "text", "date", "boolean"]
        assert [source.row(i) for i in range(2)] == [["1", "Köln", "2024-01-02", "True"], ["2.5", "Ulm", "", ""]]
        assert source.notes == notes
    assert read(tmp_path / "x.jsonl", columns=["n"]).columns == ("n",)
    for content, message in (
        ("[1, 2]\n", "is not a table of JSON lines"),
        ('{"a": [1]}\n{"a": [1, 2]}\n', r"column 'a' of lists of different lengths \(1 to 2\)"),
        ('{"a": 1}\n{"a": \n', "is not a table of JSON lines"),
        ("\n\n", "is empty: it has no rows"),
    ):
        (tmp_path / "x.jsonl").write_text(content)
        with pytest.raises(InputError, match=message):
            read(tmp_path / "x.jsonl")


def test_columns_are_for_tables() -> None:
    with pytest.raises(InputError, match=r"X holds images, which have no columns\. columns= is for tables and rows"):
        read(PICTURES, columns=["a"])


def test_a_source_says_what_it_is() -> None:
    assert repr(read(PICTURES)) == "Source(X: 6 rows, images of 8 × 9)"
    assert isinstance(read(X), Source)
    assert repr(read(FRAME, "Z")) == "Source(Z: 30 rows, table)"


@pytest.mark.parametrize("data", [[Image.fromarray(PICTURES[0]), 3], Image.fromarray(PICTURES[0])])
def test_lists_that_are_not_all_images(data: Any) -> None:
    with pytest.raises(InputError, match=r"X has images, but item 1 is a int|X is a single image\. Give a list"):
        read(data)


def test_many_columns_take_no_more_than_their_share_of_time(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(5000)]
    (tmp_path / "x.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert len(read(tmp_path / "x.csv", columns=names[::2]).columns) == 2500
