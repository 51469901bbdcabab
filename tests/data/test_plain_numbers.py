"""Small files of plain numbers are read without pandas, to the same bits as with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tellapart.data import read
from tellapart.data.formats import delimited
from tellapart.data.formats.plain_numbers import read_plain_numbers

RNG = np.random.default_rng(0)


def written(values: np.ndarray, form: str = "%r") -> str:
    return "".join(",".join(form % value for value in row) + "\n" for row in values.tolist())


#: Files that are read without pandas.
PLAIN = {
    "floats": "a,b,c\n" + written(RNG.normal(size=(50, 3))),
    "of any size": "a,b\n" + written(RNG.normal(size=(50, 2)) * 10.0 ** RNG.integers(-300, 15, (50, 2))),
    "rounded": "a,b\n" + written(RNG.normal(size=(50, 2)), "%.3f"),
    "many digits": "a\n" + written(RNG.random((50, 1)), "%.40f"),
    "exponents": "a,b\n1e5,1E-3\n-2.5e+10,.5\n+3.,7\n",
    "whole numbers": "a,b\n" + written(RNG.integers(-1000, 1000, (50, 2))),
    "long whole numbers": "a\n999999999999999\n-999999999999999\n",
    "whole and other numbers": "a,b\n1,1\n2,2.5\n",
    "zeros": "a,b\n0,-0\n-0.0,0.50\n",
    "no names": written(RNG.normal(size=(20, 2))),
    "names by number": "0,1\n5,6\n7,8\n",
    "row numbers": ",a\n0,1.5\n1,2.5\n2,0.5\n",
    "semicolons": "a;b\n1.5;2\n3;4\n",
    "tabs": "a\tb\n1.5\t2\n3\t4\n",
    "Windows": "a,b\r\n1,2\r\n3,4\r\n",
    "no end": "a,b\n1,2\n3,4",
    "one column": "a\n1\n2\n",
    "names with commas in them": "a b,ä\n1,2\n3,4\n",
    "names that occur twice": "a,a,\n1,2,3\n4,5,6\n",
}

#: Rows of tables that are left to pandas.
OTHERS = {
    "text": "1,a\n2,b\n",
    "a date": "1,2020-01-01\n2,2020-01-02\n",
    "an empty cell": "1,\n2,3\n",
    "an empty line": "1,2\n\n3,4\n",
    "a blank": "1, 2\n3,4\n",
    "a code": "1,007\n3,004\n",
    "a code with a sign": "1,-07\n3,4\n",
    "not a number": "1,nan\n2,3\n",
    "infinite": "1,inf\n2,3\n",
    "too large": "1,1e999\n2,3\n",
    "a long whole number": "1,9007199254740993\n2,3\n",
    "a large number": "1,1e16\n2,3\n",
    "digits in groups": "1,1_000\n2,3\n",
    "other digits": "1,٣\n2,3\n",
    "hexadecimal": "1,0x10\n2,3\n",
    "too few cells": "1,2\n3\n",
    "too many cells": "1,2\n3,4,5\n",
    "old line ends": "1,2\r3,4\r",
    "a point alone": "1,.\n2,3\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("columns", [None, 1])
def test_the_same_comes_of_files_with_and_without_pandas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, encoding: str, columns: int | None
) -> None:
    path = tmp_path / ("x.tsv" if "\t" in text else "x.csv")
    path.write_bytes(text.encode(encoding))
    options = {} if columns is None else {"columns": [read(path).columns[-1]]}
    monkeypatch.setattr(delimited, "_parse", None)
    found = read(path, **options)
    monkeypatch.undo()
    monkeypatch.setattr(delimited, "_read_plain", lambda *_: None)
    expected = read(path, **options)
    assert (found.columns, found.notes, found.total) == (expected.columns, expected.notes, expected.total)
    assert np.array_equal(found.numbers, expected.numbers)
    for one, other in zip(found.content.columns, expected.content.columns, strict=True):
        assert (one.name, one.kind, one.single, one.precision) == (
            other.name,
            other.kind,
            other.single,
            other.precision,
        )
        assert one.values.tobytes() == other.values.tobytes()
        assert one.values.dtype == other.values.dtype


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
def test_everything_else_is_left_to_pandas(rows: str) -> None:
    assert read_plain_numbers(rows, ",", 2, [0, 1]) is None


@pytest.mark.parametrize("text", ['a,b\n"1",2\n', "\na,b\n1,2\n", "a;b\n1,5;2\n"], ids=["quotes", "blank", "comma"])
def test_what_the_first_lines_say_is_left_to_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    assert len(read(tmp_path / "x.csv")) == 1
    monkeypatch.setattr(delimited, "_parse", None)
    with pytest.raises(TypeError):
        read(tmp_path / "x.csv")


def test_a_file_longer_than_its_first_part_is_left_to_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.csv").write_text("a\n" + "1\n" * 1000)
    monkeypatch.setattr(delimited, "HEAD", 1000)
    monkeypatch.setattr(delimited, "_read_plain", None)
    assert len(read(tmp_path / "x.csv")) == 1000


def test_neither_pandas_nor_pyarrow_is_imported_for_plain_numbers(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(PLAIN["floats"])
    code = "import sys, tellapart as ta; ta.two_sample_test('x.csv', 'x.csv', 99); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not {"pandas", "pyarrow", "narwhals", "sklearn", "torch"} & set(done.stdout.split())
