"""What every registered format must do: the same numbers for the same data, in the memory that is allowed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from containers import CASES, PICTURES, Case, inputs, numbers_of, write_folder

from tellapart import datasets
from tellapart._util.errors import InputMemoryError
from tellapart.data import as_pair, as_points, read
from tellapart.data.formats import FORMATS

#: What is in memory already asks for none.
READERS = {name: case for name, case in CASES.items() if case.format != "Arrays"}


def test_every_format_has_a_case() -> None:
    tried = {case.format for case in CASES.values()} | {"Named", "Strings", "TextLines"}
    assert tried == {type(entry).__name__ for entry in FORMATS}, "every class in FORMATS requires a Case in CASES"


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


@pytest.mark.parametrize("case", READERS.values(), ids=READERS)
def test_memory_is_asked_for_first(case: Case, tmp_path: Path) -> None:
    data = case.make(tmp_path, inputs(case)[0])
    with pytest.raises(InputMemoryError, match=r"X .*would take about .* of memory, but 500 bytes are allowed\. .+"):
        read(data, max_memory=500)
    assert len(read(data, max_memory="10MB")) == len(inputs(case)[0])


def test_named_data_sets() -> None:
    source = read("digits", max_rows=10, rng=0)
    assert (source.origin, source.kind) == ("digits", "images")
    assert np.array_equal(numbers_of(source), datasets.digits()[source.numbers])


def test_a_file_goes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "digits", PICTURES)
    assert read("digits").row(0).shape == (8, 9, 3)
