"""Files that are damaged, want to do harm, or claim what is not so: one clear line, no code run, nothing large made."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from containers import CASES, Case, inputs, numbers_of
from containers import VALUES as NUMBERS
from tables import write_parts

from tellapart._util.errors import InputChangedError, InputError, InputMemoryError
from tellapart.data import as_points, as_sample, open_lazy, read
from tellapart.data import mnist as mnist_files
from tellapart.data.formats import FILES, jsonlines, parquet, text

VALUES = np.random.default_rng(0).normal(size=(20, 3))


class Payload:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def zarr_v2(path: Path, content: bytes, **changes: Any) -> Path:
    path.mkdir()
    metadata = {"zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "dtype": "<f8", "order": "C", "fill_value": 0}
    (path / ".zarray").write_text(json.dumps(metadata | {"filters": None, "compressor": None} | changes))
    (path / "0.0").write_bytes(content)
    return path


PICKLE, VLEN = {"id": "pickle", "protocol": 5}, {"id": "vlen-utf8"}


@pytest.mark.parametrize(
    "changes",
    [
        {"filters": [PICKLE]},
        {"filters": [{"id": "delta", "dtype": "<f8"}, PICKLE]},
        {"compressor": PICKLE},
        {"dtype": "|O", "filters": [VLEN, PICKLE]},
        {"dtype": "|O", "filters": [VLEN]},
        {"dtype": [["a", "<f8"]]},
        {"dtype": "<M8[s]"},
        {"dtype": "<U3"},
        {"filters": ["pickle"]},
        {"filters": PICKLE},
        {"filters": [{"id": ["pickle"]}]},
    ],
)
@pytest.mark.parametrize("call", [read, lambda path: as_points(path, VALUES[:, :2])], ids=["read", "lazily"])
def test_a_zarr_store_runs_no_code(tmp_path: Path, changes: Any, call: Any) -> None:
    path = zarr_v2(tmp_path / "x.zarr", pickle.dumps(Payload(tmp_path / "harm")), **changes)
    with pytest.raises(InputError, match=r"^X \(.*x\.zarr\) (is encoded with|holds values of type)"):
        call(path)
    assert not (tmp_path / "harm").exists()


def test_the_stores_themselves_are_sound(tmp_path: Path) -> None:
    """Without the filter the same store is read, so that the test above is not passed by a mistake in the store."""
    path = zarr_v2(tmp_path / "x.zarr", VALUES[:4, :2].tobytes())
    assert np.array_equal(read(path).content.values, VALUES[:4, :2])


SHARDS = {"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 2], "codecs": [], "index_codecs": []}}


@pytest.mark.parametrize(
    "codecs",
    [
        [{"name": "numcodecs.pickle", "configuration": {}}],
        [{"name": "bytes"}, {"name": "pickle"}],
        ["vlen-utf8"],
        [{"name": "sharding_indexed", "configuration": {"codecs": [{"name": "numcodecs.pickle"}]}}],
        [{"name": "sharding_indexed", "configuration": {"codecs": [], "index_codecs": [{"name": "pickle"}]}}],
        [{"name": "sharding_indexed"}],
        [{"configuration": {}}],
        {"name": "bytes"},
    ],
)
def test_codecs_of_zarr_3_are_known_ones(tmp_path: Path, codecs: Any) -> None:
    zarr.save_array(str(tmp_path / "x.zarr"), VALUES, zarr_format=3)
    metadata = json.loads((tmp_path / "x.zarr" / "zarr.json").read_text())
    for changes in ({"codecs": codecs}, {"data_type": "string"}, {"data_type": {"name": "numpy.void"}}):
        (tmp_path / "x.zarr" / "zarr.json").write_text(json.dumps(metadata | changes))
        with pytest.raises(InputError, match=r"is encoded with|holds values of type|has no list of codecs"):
            read(tmp_path / "x.zarr")
    (tmp_path / "x.zarr" / "zarr.json").write_text(json.dumps(metadata | {"storage_transformers": [{"name": "x"}]}))
    with pytest.raises(InputError, match="storage transformers"):
        read(tmp_path / "x.zarr")


def test_both_descriptions_of_a_store_are_looked_at(tmp_path: Path) -> None:
    zarr.save_array(str(tmp_path / "x.zarr"), VALUES, zarr_format=3)
    zarr_v2(tmp_path / "y.zarr", b"", filters=[PICKLE])
    (tmp_path / "y.zarr" / ".zarray").rename(tmp_path / "x.zarr" / ".zarray")
    with pytest.raises(InputError, match=r"is encoded with 'pickle', which is not known to be safe\. Supported: ad"):
        read(tmp_path / "x.zarr")


@pytest.mark.parametrize("sharded", [False, True])
def test_common_codecs_are_read(tmp_path: Path, sharded: bool) -> None:
    options = {"shards": (10, 3)} if sharded else {}
    for compressor in (zarr.codecs.BloscCodec(), zarr.codecs.GzipCodec(), zarr.codecs.ZstdCodec()):
        array = zarr.create_array(
            str(tmp_path / "x.zarr"), data=VALUES, chunks=(5, 3), compressors=compressor, overwrite=True, **options
        )
        assert array.shape == VALUES.shape
        assert np.array_equal(read(tmp_path / "x.zarr").content.values, VALUES)


def test_groups_and_empty_arrays_of_zarr(tmp_path: Path) -> None:
    for version in (2, 3):
        path = tmp_path / str(version)
        zarr.open_group(str(path), mode="w", zarr_format=version)
        zarr.save_array(str(path / "points"), VALUES, zarr_format=version)
        with pytest.raises(InputError, match=r"is a zarr group\. Give the path of one of its arrays: 'points'"):
            read(path)
        zarr.create_array(str(tmp_path / f"one{version}.zarr"), shape=(), dtype="f8", zarr_format=version)
        with pytest.raises(InputError, match="is a single number"):
            read(tmp_path / f"one{version}.zarr")


def test_a_pip_in_the_current_folder_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "pip.py").write_text(f"import os; os.mkdir({str(tmp_path / 'harm')!r})")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", str(here))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # nothing is fetched
    with pytest.raises(OSError, match="could not be fetched"):
        mnist_files._fetch()
    assert not (tmp_path / "harm").exists()
    # The trap itself works.
    subprocess.run([sys.executable, "-m", "pip"], cwd=here, capture_output=True)
    assert (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "suffix", [".npy", ".npz", ".csv", ".csv.gz", ".jsonl", ".parquet", ".safetensors", ".idx", ""]
)
def test_pipes_are_refused(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"x{suffix}")
    for call in (read, lambda path: as_points(path, VALUES)):
        with pytest.raises(InputError, match="is neither a file nor a folder, but a pipe or a device"):
            call(tmp_path / f"x{suffix}")


def test_devices_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npz").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="is neither a file nor a folder"):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize("path", ["", "a\0b.csv", "x" * 5000, "~nobody-of-this-name/x.csv"])
def test_paths_that_are_none(path: str) -> None:
    with pytest.raises(InputError, match=r"X .*(is an empty path|cannot be read|does not exist)") as caught:
        read(path)
    assert "\0" not in str(caught.value)


def test_names_of_files_are_shown_and_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2Jb.csv"
    path.write_text("a\n")
    with pytest.raises(InputError, match="is empty: it has no rows") as caught:
        read(path)
    assert "\x1b" not in str(caught.value)
    assert r"a\x1b[2Jb.csv" in str(caught.value)


def npy_header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def test_npz_claims_are_compared_with_the_file_and_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy_header((2**40, 8)) + bytes(1000))
    with pytest.raises(InputError, match=r"is cut short: its shape \(1099511627776, 8\)"):
        read(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy_header((2**20, 8)) + bytes(2**26))
    with pytest.raises(InputMemoryError, match=r"would take about 67.1 MB of memory, but 50.0 MB are allowed"):
        read(path, max_memory="50MB")


def test_a_npy_header_is_short(tmp_path: Path) -> None:
    huge = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b" " * 100
    (tmp_path / "x.npy").write_bytes(huge)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", huge)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(InputError, match="its header claims 4294967295 bytes"):
            read(tmp_path / name)


@pytest.mark.parametrize("shape", [(2**31, 2**20), (60_000, 2**16)])
def test_idx_claims_are_compared_with_the_memory(tmp_path: Path, shape: tuple[int, int]) -> None:
    head = bytes([0, 0, 8, 2]) + struct.pack(">2I", *shape)
    (tmp_path / "x.idx.gz").write_bytes(gzip.compress(head + bytes(1000)))
    with pytest.raises(InputMemoryError, match=r"50\.0 MB are allowed"):
        read(tmp_path / "x.idx.gz", max_memory="50MB")
    (tmp_path / "x.idx").write_bytes(head + bytes(1000))
    with pytest.raises(InputError, match="is cut short"):
        read(tmp_path / "x.idx", max_memory="50MB")


def test_zarr_claims_are_compared_with_the_memory(tmp_path: Path) -> None:
    path = zarr_v2(tmp_path / "x.zarr", b"", shape=[2**21, 2], chunks=[2**20, 2])
    with pytest.raises(InputMemoryError, match=r"would take about 33.6 MB of memory, but 20.0 MB are allowed"):
        read(path, max_memory="20MB")


@pytest.mark.parametrize("call", [read, lambda path: read(path, max_rows=100), lambda path: as_points(path, VALUES)])
def test_zarr_claims_are_compared_with_the_chunks(tmp_path: Path, call: Any) -> None:
    path = zarr_v2(tmp_path / "x.zarr", b"", shape=[2**31, 2])
    with pytest.raises(InputError, match="holds 2 files for 536870912 chunks"):
        call(path)
    path = zarr_v2(tmp_path / "y.zarr", b"", shape=[2**31, 2], chunks=[2**31, 2**20])
    with pytest.raises(InputMemoryError, match=r"A chunk of X .* would take about"):
        call(path)


def test_a_gzipped_table_may_be_larger_than_it_looks(tmp_path: Path) -> None:
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**18))
    with pytest.raises(InputMemoryError, match=r"4\.0 MB are allowed"):
        read(tmp_path / "x.csv.gz", max_memory="4MB")
    assert len(read(tmp_path / "x.csv.gz", max_memory="4MB", max_rows=100)) == 100


def test_the_checksum_of_a_gzipped_file_is_verified(tmp_path: Path) -> None:
    values = np.arange(600, dtype=np.uint8).reshape(100, 6)
    content = bytearray(gzip.compress(bytes([0, 0, 8, 2]) + struct.pack(">2I", *values.shape) + values.tobytes()))
    (tmp_path / "x.idx.gz").write_bytes(content)
    assert np.array_equal(read(tmp_path / "x.idx.gz").content.values, values)
    content[-8] ^= 1
    (tmp_path / "x.idx.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged.*CRC check failed"):
        read(tmp_path / "x.idx.gz")
    longer = gzip.compress(bytes([0, 0, 8, 2]) + struct.pack(">2I", *values.shape) + values.tobytes() + b"more")
    (tmp_path / "x.idx.gz").write_bytes(longer)
    with pytest.raises(InputError, match="has more bytes than its shape"):
        read(tmp_path / "x.idx.gz")


def test_a_damaged_cache_of_mnist_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TELLAPART_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "tellapart").mkdir()
    (tmp_path / "tellapart" / "mnist.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"mnist\.npz is damaged .*Remove it"):
        read("mnist")


def test_an_encrypted_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", VALUES)
    content = bytearray((tmp_path / "x.npz").read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"X \(.*x\.npz\) is damaged, or not .*password"):
        read(tmp_path / "x.npz")


FILE_CASES = {name: case for name, case in CASES.items() if case.format in {type(entry).__name__ for entry in FILES}}


DAMAGE = {"noise": b"\x93\x8f\xff\x00\x01" * 20, "{": b"{", "zip": b"PK\x03\x04" + b"\0" * 40}


@pytest.mark.parametrize(
    ("case", "damage"),
    # A file with the line { is a good CSV file.
    [
        (case, damage)
        for case in FILE_CASES
        for damage in DAMAGE
        if (FILE_CASES[case].format, damage) != ("Delimited", "{")
    ],
)
def test_a_damaged_file_is_named_in_one_line(case: str, damage: str, tmp_path: Path) -> None:
    path = FILE_CASES[case].make(tmp_path, inputs(FILE_CASES[case])[0])
    (path / FILE_CASES[case].victim if FILE_CASES[case].victim else path).write_bytes(DAMAGE[damage])
    for call in (read, as_sample, lambda data: as_points(data, NUMBERS)):
        with pytest.raises(InputError) as caught:
            call(path)
        assert str(caught.value).startswith(f"X ({path})")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", ["parquet", "zarr 2", "npz"])
def test_damage_within_a_file_is_named_whenever_it_is_found(form: str, tmp_path: Path) -> None:
    path = CASES[form].make(tmp_path, NUMBERS)
    victim = path if path.is_file() else path / "0.0"
    content = bytearray(victim.read_bytes())
    content[4:100] = bytes(96)
    victim.write_bytes(content)
    for call in (read, lambda data: as_points(data, NUMBERS)[0][:]):
        with pytest.raises(InputError, match=r"is damaged|does not hold a NumPy array") as caught:
            call(path)
        assert str(caught.value).startswith(f"X ({path})")


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


FILE_CASES = {name: case for name, case in CASES.items() if case.format in {type(entry).__name__ for entry in FILES}}


@pytest.mark.parametrize("case", FILE_CASES.values(), ids=FILE_CASES)
@pytest.mark.parametrize("damage", ["overwritten", "cut"])
def test_rows_of_a_damaged_file_are_not_left_out(case: Case, damage: str, tmp_path: Path) -> None:
    """Damage in the middle is an error, or changes values: it must not give a smaller sample without a word."""
    values, _ = inputs(case)
    path = case.make(tmp_path, values)
    victim = path / case.victim if case.victim else path
    content = victim.read_bytes()
    middle = len(content) // 2
    if damage == "cut":
        victim.write_bytes(content[:middle])
    else:
        victim.write_bytes(content[:middle] + b"\xff#" * 4 + content[middle + 8 :])
    try:
        found = numbers_of(read(path))
    except InputError:
        return
    if damage == "overwritten":
        assert len(found) == len(values), "rows that cannot be read must be an error, but were left out"
    else:
        # A line of text that is cut may still be a line.
        assert np.array_equal(found[:-1], values[: len(found) - 1]), "a file that is cut short gave other rows"
