"""What every registered format must do: the same numbers for the same data, one clear error for damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from containers import CASES, PICTURES, VALUES, Case, inputs, write_folder

from tellapart import datasets
from tellapart._util.errors import InputError, InputMemoryError
from tellapart.data import as_pair, as_points, as_sample, read
from tellapart.data.content import Images, Table
from tellapart.data.formats import FILES, FORMATS

FILE_CASES = {name: case for name, case in CASES.items() if case.format in {type(entry).__name__ for entry in FILES}}
#: What is in memory already asks for none.
READERS = {name: case for name, case in CASES.items() if case.format != "Arrays"}


def numbers_of(source: Any) -> np.ndarray:
    content = source.content
    return (
        content.pixels
        if isinstance(content, Images)
        else content.to_matrix()
        if isinstance(content, Table)
        else content.values
    )


def test_every_format_has_a_case() -> None:
    assert {case.format for case in CASES.values()} | {"Named", "Strings"} == {
        type(entry).__name__ for entry in FORMATS
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_format_that_matches_is_the_right_one(case: Case, tmp_path: Path) -> None:
    data = case.make(tmp_path, inputs(case)[0])
    assert type(next(entry for entry in FORMATS if entry.matches(data))).__name__ == case.format


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_same_numbers(case: Case, tmp_path: Path) -> None:
    values, others = inputs(case)
    (tmp_path / "y").mkdir()
    x, y = case.make(tmp_path, values), case.make(tmp_path / "y", others)
    assert np.array_equal(numbers_of(read(x)), values)
    for found in (as_pair(x, y), as_pair(x, others)):
        assert torch.equal(found[0].values.double(), torch.from_numpy(values).double())
        assert torch.equal(found[1].values.double(), torch.from_numpy(others).double())
    for points in as_points(x, y), as_points(x, others):
        assert torch.equal(points[0][:].double(), torch.from_numpy(values).double())
        assert torch.equal(points[1][:].double(), torch.from_numpy(others).double())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_some_rows(case: Case, tmp_path: Path) -> None:
    values, _ = inputs(case)
    data = case.make(tmp_path, values)
    source = read(data, max_rows=5, rng=3)
    assert len(source) == len(set(source.numbers.tolist())) == 5
    assert np.array_equal(numbers_of(source), values[source.numbers])
    assert np.array_equal(source.numbers, read(data, max_rows=5, rng=3).numbers)


@pytest.mark.parametrize("case", FILE_CASES.values(), ids=FILE_CASES)
@pytest.mark.parametrize(
    "content", [b"\x93\x8f\xff\x00\x01" * 20, b"{", b"PK\x03\x04" + b"\0" * 40], ids=["noise", "{", "zip"]
)
def test_a_damaged_file_is_named_in_one_line(case: Case, content: bytes, tmp_path: Path) -> None:
    path = case.make(tmp_path, inputs(case)[0])
    (path / case.victim if case.victim else path).write_bytes(content)
    if case.format == "Delimited" and content == b"{":
        pytest.skip("this is a CSV file")
    for call in (read, as_sample, lambda data: as_points(data, VALUES)):
        with pytest.raises(InputError) as caught:
            call(path)
        assert str(caught.value).startswith(f"X ({path})")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("case", READERS.values(), ids=READERS)
def test_memory_is_asked_for_first(case: Case, tmp_path: Path) -> None:
    data = case.make(tmp_path, inputs(case)[0])
    with pytest.raises(InputMemoryError, match=r"X .*would take about .* of memory, but 500 bytes are allowed\. .+"):
        read(data, max_memory=500)
    assert len(read(data, max_memory="10MB")) == len(inputs(case)[0])


def test_named_data_sets() -> None:
    source = read("digits", max_rows=10, rng=0)
    assert (source.origin, source.kind) == ("digits", "images")
    assert np.array_equal(numbers_of(source), datasets.digits().numpy()[source.numbers])


def test_a_file_goes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "digits", PICTURES)
    assert read("digits").row(0).shape == (8, 9, 3)


@pytest.mark.parametrize("form", ["parquet", "zarr 2", "npz"])
def test_damage_within_a_file_is_named_whenever_it_is_found(form: str, tmp_path: Path) -> None:
    path = CASES[form].make(tmp_path, VALUES)
    victim = path if path.is_file() else path / "0.0"
    content = bytearray(victim.read_bytes())
    content[4:100] = bytes(96)
    victim.write_bytes(content)
    for call in (read, lambda data: as_points(data, VALUES)[0][:]):
        with pytest.raises(InputError, match=r"is damaged|does not hold a NumPy array") as caught:
            call(path)
        assert str(caught.value).startswith(f"X ({path})")
