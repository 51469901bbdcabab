"""Files with one text on each line."""

from __future__ import annotations

import gzip

import pytest

import tellapart as ta
from tellapart.data import read

FEATURES = ta.features.characters(3)


def lines(source):
    return [source.row(k)[0] for k in range(len(source))]


@pytest.mark.parametrize("name", ["x.txt", "x.TXT", "x.txt.gz"])
def test_every_line_is_a_text(tmp_path, name):
    path = tmp_path / name
    with gzip.open(path, "wb") if name.endswith("gz") else path.open("wb") as file:
        file.write("\ufeffyes\r\n\nno, never\n  \nyes\nna\u00efve".encode())
    source = read(path, features=FEATURES)
    assert lines(source) == ["yes", "no, never", "yes", "na\u00efve"]
    assert source.kind == "table"
    assert source.values_of("text") is None  # features are compared, and not categories


def test_some_lines_are_drawn(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("".join(f"line {k}\n" for k in range(50)))
    source = read(path, features=FEATURES, max_rows=5, rng=0)
    assert lines(source) == [f"line {k}" for k in source.numbers]


def test_other_encodings_are_read_and_noted(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes("caf\u00e9\n".encode("latin-1"))
    source = read(path, features=FEATURES)
    assert lines(source) == ["caf\u00e9"]
    assert [note.id for note in source.notes] == ["wrong-encoding"]
    # What is odd only behind the part that tells the encoding.
    path.write_bytes(b"plain text\n" * 100_000 + "caf\u00e9\n".encode("latin-1"))
    assert lines(read(path, features=FEATURES))[-1] == "caf\u00e9"


@pytest.mark.parametrize(
    ("data", "identifier"), [(b"\n \n", "no-rows"), (b"a\0b", "not-text"), (b"a\n" * 2**20 + b"\0", "not-text")]
)
def test_files_without_texts_are_refused(tmp_path, data, identifier):
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    with pytest.raises(ta.InputError) as error:
        read(path, features=FEATURES)
    assert error.value.id == identifier


def test_texts_need_features(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("yes\n")
    with pytest.raises(TypeError, match=r"Give features=ta\.features\.hashing_ngrams") as error:
        read(path)
    assert error.value.id == "text-without-features"
