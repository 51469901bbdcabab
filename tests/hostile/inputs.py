"""The table of hostile inputs: what is in the folder, what is called, and what must be answered."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import zarr
from PIL import Image
from safetensors.torch import save_file

from tellapart import Reference
from tellapart.twosample.monitor import FORMAT

#: The bytes of a file, text, or a function that makes what is to be at a path.
Content: TypeAlias = "bytes | str | Callable[[Path], Any]"

RNG = np.random.default_rng(0)
NUMBERS = np.random.default_rng(1).normal(size=(40, 3))


@dataclass(frozen=True)
class Case:
    """An input, the arguments it is given with, and a pattern that the one line of the answer must have.

    With code 0 the input is a good one, however odd it looks, and the pattern is one of the standard output.
    """

    name: str
    files: Mapping[str, Content]
    arguments: tuple[str, ...]
    says: str
    options: Mapping[str, Any] = field(default_factory=dict)
    code: int = 2


def lay_out(folder: Path, files: Mapping[str, Content]) -> None:
    """Make the files of a case."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


# --- What files are made of


def npy(values: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values, **options)
    return file.getvalue()


def npy_claiming(shape: tuple[int, ...], dtype: str = "<f8", body: bytes = b"") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue() + body


def npz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def idx(shape: tuple[int, ...], body: bytes, kind: int = 8) -> bytes:
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + body


def table(rows: int = 40, *, columns: str = "abc", seed: int = 0, **cells: Any) -> str:
    """A CSV of numbers; ``cells`` replace whole columns, or single cells as ``a7="?"`` does."""
    frame = pd.DataFrame(np.random.default_rng(seed).normal(size=(rows, len(columns))).round(3), columns=list(columns))
    frame = frame.astype(object)
    for name, value in cells.items():
        if name in frame:
            frame[name] = value
        else:
            frame.loc[int(name[1:]), name[0]] = value
    return frame.to_csv(index=False)


def parquet(frame: Any, **options: Any) -> Callable[[Path], None]:
    made = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame)
    return lambda path: pq.write_table(made, path, **options)


def zarr_v2(chunk: Callable[[Path], Any] | None = None, **changes: Any) -> Callable[[Path], None]:
    """A store whose only chunk is a pickle, or what ``chunk`` makes."""

    def make(path: Path) -> None:
        path.mkdir()
        metadata = {"zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "dtype": "<f8", "order": "C", "fill_value": 0}
        (path / ".zarray").write_text(json.dumps(metadata | {"filters": None, "compressor": None} | changes))
        (chunk or (lambda place: place.write_bytes(pickle.dumps(Payload()))))(path / "0.0")

    return make


class Payload:
    """Unpickling it would leave a mark."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("harm",)


def tensors(metadata: dict[str, str] | None = None, **named: torch.Tensor) -> Callable[[Path], None]:
    return lambda path: save_file(named, path, metadata)


def png(width: int, height: int) -> Callable[[Path], None]:
    return lambda path: Image.new("L", (width, height)).save(path)


def claiming_png(width: int, height: int) -> bytes:
    """A picture whose header says another size than it has."""
    file = io.BytesIO()
    Image.new("L", (8, 8)).save(file, "png")
    content = bytearray(file.getvalue())
    content[16:24] = struct.pack(">2I", width, height)
    import zlib

    content[29:33] = struct.pack(">I", zlib.crc32(bytes(content[12:29])))
    return bytes(content)


GOOD = table(seed=1)
FRAME = pd.read_csv(io.StringIO(GOOD))


# --- Files that are not what they say

#: The other columns of a table with a strange first one.
_BC = {"b": [2] * 40, "c": [3] * 40}


def _claimed_vectors(width: int) -> pa.Table:
    """Rows without a vector, of a type that says how long it would be; these are written as nothing at all."""
    made = pa.table({"a": pa.array([None] * 40, pa.list_(pa.float32())), **_BC})
    said = made.schema.set(0, pa.field("a", pa.list_(pa.float32(), width)))
    header = base64.b64encode(said.serialize().to_pybytes())
    return made.replace_schema_metadata({"ARROW:schema": header})


def damaged() -> dict[str, tuple[Content, str]]:
    """Contents by the name of their file, and what is said of each; a good one of the same kind stands beside."""
    whole = npy(NUMBERS)
    arrow = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(FRAME), arrow)
    parts = arrow.getvalue()
    zipped = gzip.compress(GOOD.encode())
    encrypted = bytearray(npz(x=whole))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(mark) + place] |= 1
    return {
        # nothing there
        "empty.csv": ("", "is an empty file"),
        "empty.npy": ("", "is an empty file"),
        "empty.npz": ("", "is an empty file"),
        "empty.parquet": ("", "is an empty file"),
        "empty.jsonl": ("", "is an empty file"),
        "blank.csv": ("\n\n\n", "is empty: it has no rows"),
        "blank.jsonl": ("\n\n", "is empty: it has no rows"),
        "header.csv": ("a,b,c\n", "is empty: it has no rows"),
        "commas.csv": (",,\n,,\n" * 20, "must have the same columns"),
        # not of the format
        "text.npy": ("hello world, this is text", "does not hold a NumPy array"),
        "text.npz": ("hello world", "is damaged, or not in the format"),
        "text.parquet": ("hello world", "is damaged, or not in the format"),
        "text.safetensors": ("hello world", "is damaged, or not in the format"),
        "text.idx": ("hello world", "is not an idx file"),
        "text.csv.gz": (GOOD, "is damaged, or not in the format"),
        "csv.jsonl": (GOOD, "is not a table of JSON lines"),
        "list.jsonl": ("[1, 2]\n" * 40, "is not a table of JSON lines"),
        "number.jsonl": ("1\n2\n", "is not a table of JSON lines"),
        "binary.csv": (bytes(range(256)) * 20, "is not a text file: it has a zero byte"),
        "npy.csv": (whole, "is not a text file: it has a zero byte"),
        "unknown.xlsx": (b"PK\x03\x04", r"Unsupported format '\.xlsx'"),
        "noending": (GOOD, "has no suffix"),
        "model.pt": (pickle.dumps(Payload()), "may hold a pickle"),
        "model.pkl": (pickle.dumps(Payload()), "may hold a pickle"),
        # cut short
        "cut.npy": (whole[:-1], "is cut short"),
        "head.npy": (whole[:60], "does not hold a NumPy array"),
        "magic.npy": (whole[:7], "does not hold a NumPy array"),
        "cut.npz": (npz(x=whole)[:-10], "is damaged, or not in the format"),
        "inner.npz": (npz(x=whole[:-8]), "is cut short"),
        "cut.parquet": (parts[:-20], "is damaged, or not in the format"),
        "cut.csv.gz": (zipped[:-12], "is damaged, or not in the format"),
        "cut.idx": (idx((40, 3), bytes(119)), "is cut short"),
        "head.idx": (bytes([0, 0, 8, 2, 0, 0]), "is cut short"),
        "cut.idx.gz": (gzip.compress(idx((40, 3), bytes(119))), "is cut short"),
        "sum.idx.gz": (_flip(gzip.compress(idx((40, 3), bytes(120))), -8), "is damaged.*CRC"),
        "long.idx.gz": (gzip.compress(idx((40, 3), bytes(130))), "has more bytes"),
        "encrypted.npz": (bytes(encrypted), "is damaged.*password"),
        # claims
        "huge.npy": (npy_claiming((2**40, 3)), "is cut short"),
        "negative.npy": (npy_claiming((-5, 3)), "its shape is"),
        "overflow.npy": (npy_claiming((2**62, 2**62)), "is cut short"),
        "longhead.npy": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 100, "its header claims"),
        "huge.npz": (npz(x=npy_claiming((2**40, 8), body=bytes(1000))), "is cut short"),
        "bomb.npz": (npz(x=npy_claiming((2**31, 8), body=bytes(10**6))), "is cut short"),
        "huge.idx": (idx((2**32 - 1, 2**32 - 1), bytes(100)), "is cut short"),
        "huge.idx.gz": (gzip.compress(idx((2**32 - 1, 2**20), bytes(100))), "would take about"),
        "many.idx": (bytes([0, 0, 8, 255]) + bytes(1020), r"is empty|rows but no columns"),
        "huge.safetensors": (_safetensors_claim(2**40), "is damaged, or not in the format"),
        "header.safetensors": (struct.pack("<Q", 2**60) + b"{}", "is damaged, or not in the format"),
        # of something else than numbers
        "objects.npy": (npy(np.array([Payload(), 1], object), allow_pickle=True), "holds Python objects"),
        "objects.npz": (npz(x=npy(np.array([Payload(), 1], object), allow_pickle=True)), "holds Python objects"),
        "text_array.npy": (npy(np.array(["a", "b"])), "must hold numbers"),
        "dates.npy": (npy(np.array(["2024-01-01"], "M8[D]")), "must hold numbers"),
        "record.npy": (npy(np.zeros(4, [("a", "f8")])), "must hold numbers"),
        "complex.npy": (npy(NUMBERS * 1j), "has complex numbers"),
        "complex.safetensors": (tensors(x=torch.zeros(40, 3, dtype=torch.complex64)), "has complex numbers"),
        # of no rows, columns or dimensions
        "scalar.npy": (npy(np.float64(3)), "is a single number"),
        "norows.npy": (npy(np.zeros((0, 3))), "is empty: it has no rows"),
        "nocolumns.npy": (npy(np.zeros((5, 0))), "rows but no columns"),
        "nothing.npz": (npz(), "is empty: it has no arrays"),
        "several.npz": (npz(a=whole, b=whole), "has several arrays: 'a', 'b'"),
        "nothing.safetensors": (tensors(), "is empty: it has no arrays"),
        "norows.parquet": (parquet(FRAME[:0]), "is empty: it has no rows"),
        "nocolumns.parquet": (parquet(pa.table({})), "no columns|no rows|empty"),
        # values
        "nan.npy": (npy(np.where(np.arange(120).reshape(40, 3) == 7, np.nan, NUMBERS)), "NaN.*row 2, column 1"),
        "inf.npy": (npy(np.where(np.arange(120).reshape(40, 3) == 7, np.inf, NUMBERS)), "infinite.*row 2, column 1"),
        "inf.csv": (table(a7="inf"), "has infinite values in 'a'"),
        "huge.csv": (table(a7="1e999"), "has infinite values in 'a'"),
        "gap.csv": (table(a7=""), r"has missing values in 'a' \(1 of 40\)"),
        "gap.jsonl": ('{"a":1,"b":2,"c":3}\n{"a":1,"b":2}\n' * 20, "has missing values in 'c'"),
        "nested.jsonl": ('{"a":1,"b":{"d":2},"c":3}\n' * 40, "'b' that holds values of type Struct"),
        "lists.parquet": (parquet(pa.table({"a": [[1], [2, 3]] * 20, **_BC})), "'a' of lists of different lengths"),
        "empties.parquet": (parquet(pa.table({"a": [[]] * 40, **_BC})), "'a' of lists of nothing"),
        "tags.parquet": (parquet(pa.table({"a": [["x"]] * 40, **_BC})), "'a' of lists of text, but vectors are"),
        "deep.parquet": (parquet(pa.table({"a": [[[1.0]]] * 40, **_BC})), "'a' of lists of lists, but vectors are"),
        "gap.parquet": (parquet(pa.table({"a": [[1.0], None] * 20, **_BC})), r"lacks 'a'|missing values in 'a\[0\]'"),
        "vectors.jsonl": ('{"a":[1,2],"b":2,"c":3}\n{"a":[1],"b":2,"c":3}\n' * 20, "'a' of lists of different lengths"),
        "claim.parquet": (parquet(_claimed_vectors(2**27)), "would take about .* GB"),
        "bytes.parquet": (parquet(pa.table({"a": [b"x"] * 40, "b": [2] * 40, "c": [3] * 40})), "'a' that holds values"),
        "changing.jsonl": ('{"a":1,"b":2,"c":3}\n{"a":"x","b":2,"c":3}\n', "column 'a' changed from number to string"),
        "ids.csv": (table(a=[f"user-{k}" for k in range(40)] ), "columns of different types|free text or identifiers"),
        "stray.csv": (table(a7="?"), r"'a' has 1 value that is not a number: '\?' in row 7"),
        "strays.csv": (table(a7="?", a9="n.a."), r"'a' has 2 values that are not numbers: '\?' in row 7, …"),
        "columns.csv": (table(columns="abd"), r"lacks 'd'|lacks 'c'|no column"),
        "more.csv": (table(columns="abcd"), "lacks 'd'"),
        # tables that are none
        "ragged.csv": ("a,b,c\n1,2,3\n1,2,3,4\n" * 20, "is not a regular table: Expected 3 fields.*saw 4"),
        "quote.csv": ('a,b,c\n1,"2,3\n' * 20, "is not a|columns of different types"),
        "zero.csv": ("a,b\n1,\0 2\n" * 20, "is not a text file: it has a zero byte"),
        "late_zero.csv": (table(30_000) + "1,\0,2\n" * 3, "zero byte|not a number|is not a"),
        "onecell.csv": ("a", "is empty: it has no rows"),
        "deep.jsonl": ('{"a":' * 5000 + "1" + "}" * 5000 + "\n", "Recursion level"),
        "wide.csv": ("1," * 1_000_000 + "1\n", "1,000,001 columns"),
        # zarr
        "pickle.zarr": (zarr_v2(filters=[{"id": "pickle"}]), "is encoded with 'pickle'"),
        "objects.zarr": (zarr_v2(dtype="|O", filters=[{"id": "vlen-utf8"}, {"id": "pickle"}]), "holds values of type"),
        "huge.zarr": (zarr_v2(shape=[2**40, 2]), "claims the shape .* but holds"),
        "chunks.zarr": (zarr_v2(chunks=[2**40, 2**20]), "A chunk of X .* would take about"),
        "pipechunk.zarr": (zarr_v2(os.mkfifo), "0.0 is not a file, or larger than a chunk"),
        "zerosource.zarr": (zarr_v2(lambda path: path.symlink_to("/dev/zero")), "0.0 is not a file"),
        "bomb.zarr": (
            zarr_v2(lambda path: path.write_bytes(gzip.compress(bytes(10**8))), compressor={"id": "gzip", "level": 1}),
            "or larger than a chunk",
        ),
        "deepjson.zarr": (
            lambda path: (path.mkdir(), (path / "zarr.json").write_text('{"a":' * 5000 + "1" + "}" * 5000)),
            "is damaged",
        ),
        "zerochunk.zarr": (zarr_v2(chunks=[0, 0]), "is damaged, or not in the format"),
        "shape.zarr": (zarr_v2(shape="many"), "is damaged, or not in the format"),
        "scalar.zarr": (zarr_v2(shape=[], chunks=[]), "is a single number"),
        "badjson.zarr": (lambda path: (path.mkdir(), (path / ".zarray").write_text("{")), "is damaged|is not a zarr"),
        "listjson.zarr": (lambda path: (path.mkdir(), (path / "zarr.json").write_text("[]")), "is not a zarr array"),
        "group.zarr": (lambda path: zarr.open_group(str(path), mode="w"), "is a zarr group"),
        # folders
        "folder": (lambda path: path.mkdir(), "is an empty folder"),
        "texts": (lambda path: (path.mkdir(), (path / "a.txt").write_text("x")), "without PNG or JPEG images"),
        "broken": (lambda path: (path.mkdir(), (path / "a.png").write_text("x")), "a.png cannot be read as an image"),
        "bomb": (lambda path: (path.mkdir(), (path / "a.png").write_bytes(claiming_png(60_000, 60_000))), "a.png"),
        "parts": (
            lambda path: (path.mkdir(), pq.write_table(pa.table({"a": [1]}), path / "a.parquet"),
                          pq.write_table(pa.table({"b": [1]}), path / "b.parquet")),
            "has parts with different columns",
        ),
        # neither a file nor a folder
        "pipe.csv": (os.mkfifo, "is neither a file nor a folder"),
        "zero.npz": (lambda path: path.symlink_to("/dev/zero"), "is neither a file nor a folder"),
        "loop.csv": (lambda path: path.symlink_to(path), "cannot be read"),
        "dangling.csv": (lambda path: path.symlink_to("nowhere.csv"), "does not exist"),
        "pipes": (lambda path: (path.mkdir(), os.mkfifo(path / "a.png")), "is an empty folder"),
    }  # fmt: skip


def _flip(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


def _safetensors_claim(count: int) -> bytes:
    header = json.dumps({"x": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}).encode()
    return struct.pack("<Q", len(header)) + header


def wrong_calls() -> list[Case]:
    """Arguments that make no sense, or too little room to work in."""
    files = {"a.csv": table(), "b.csv": GOOD}
    calls: dict[str, tuple[list[str], str]] = {
        "nothing A": (["", "b.csv"], "is an empty path"),
        "nothing B": (["a.csv", ""], "is an empty path"),
        "a zero byte": (["a\0.csv", "b.csv"], r"X \(a\\x00.csv\) cannot be read"),
        "nobody": (["~nobody-of-that-name/x.csv", "b.csv"], "X .*(does not exist|cannot be read)"),
        "no file": (["none.csv", "b.csv"], "does not exist"),
        "no file that clears the screen": (["\x1b[2J.csv", "b.csv"], r"X \(\\x1b\[2J.csv\) does not exist"),
        "file as folder": (["a.csv/b.csv", "b.csv"], "does not exist"),
        "long name": (["x" * 5000, "b.csv"], "cannot be read"),
        "no rows wanted": (["a.csv", "b.csv", "--max-rows", "0"], "'0' is not a positive integer"),
        "one row wanted": (["a.csv", "b.csv", "--max-rows", "1"], "at least|needed"),
        "no column": (["a.csv", "b.csv", "--columns", "z"], "has no column 'z'"),
        "no columns": (["a.csv", "b.csv", "--drop", "a,b,c"], "has no columns left"),
        "memory in words": (["a.csv", "b.csv", "--max-memory", "lots"], "is not a size"),
        "no memory": (["a.csv", "b.csv", "--max-memory", "0"], "--max-memory must be positive"),
        "little memory": (["a.csv", "b.csv", "--max-memory", "100"], "bytes are allowed"),
        "huge level": (["a.csv", "b.csv", "--alpha", "2"], "alpha|level"),
        "level that is none": (["a.csv", "b.csv", "--alpha", "nan"], "alpha|level"),
        "no cluster": (["a.csv", "b.csv", "--cluster", "nonsense"], "Dask|cluster"),
        "images of rows": (["a.csv", "b.csv", "--image-shape", "7x9"], "63 pixels"),
        "a report in no folder": (["a.csv", "b.csv", "--json", "none/r.json"], "the folder none does not exist"),
        "a report that is a folder": (["a.csv", "b.csv", "--json", "."], "is a folder"),
        "endless permutations": (["a.csv", "b.csv", "--permutations", "9" * 12], "must be at most 10,000,000"),
        "endless seed": (["a.csv", "b.csv", "--seed", "9" * 5000], "is not a non-negative integer"),
        "huge images": (
            ["digits", "digits", "--image-size", "99999x99999"],
            "would take about .* smaller --image-size",
        ),
        "no features": (
            ["a.csv", "b.csv", "--features", "\x1b[2J"],
            "is not ngrams, word-ngrams, words, model:FOLDER or onnx:FILE",
        ),
        "features of nothing": (["a.csv", "b.csv", "--features", "onnx:"], "'onnx:' is not ngrams"),
        "no model": (["a.csv", "b.csv", "--features", "onnx:\x1b[2J.onnx"], r"not found: \\x1b\[2J.onnx"),
        "texts that are numbers": (["a.csv", "b.csv", "--features", "ngrams"], "These features apply to texts"),
        "no groups": (["a.csv", "b.csv", "--groups", "\x1b[2J"], r"has no column '\\+x1b"),
    }
    cases = [
        Case(f"{command}: {name}", files, (command, *arguments), says)
        for name, (arguments, says) in calls.items()
        for command in ("test", "compare")
    ]
    small = {"x.npy": npy(np.zeros((10**5, 100), np.float32)), "y.npy": npy(np.zeros((10**5, 100), np.float32))}
    words = ("compare", "x.npy", "y.npy")
    tight = Case("compare: ulimit -v", small, words, "memory.*--max-rows", {"address_space": 3 * 10**7})
    return [*cases, tight]


def runs_and_kernels() -> list[Case]:
    """Folders that claim to be training runs."""
    fact = {"model": "gmmn", "settings": {}, "seed": 0, "step": 1, "device": "cpu", "optimisers": {}}
    fact |= {"data": {"name": "x", "shape": [8, 8], "classes": 0, "digest": ""}}

    def run(content: Content) -> dict[str, Content]:
        return {"run/checkpoint.safetensors": content}

    def claim(**changes: Any) -> Content:
        return tensors({"tellapart": json.dumps(fact | changes)}, x=torch.zeros(2))

    cases: dict[str, tuple[Mapping[str, Content], str]] = {
        "no run": ({"run/a.txt": "x"}, "does not contain a training run"),
        "no checkpoint": (run("hello, this is no checkpoint"), "is not a safetensors file, or damaged"),
        "a claim of gigabytes": (run(_safetensors_claim(2**40)), "is not a safetensors file, or damaged"),
        "no facts": (run(tensors(x=torch.zeros(2))), "is a safetensors file, but not a checkpoint"),
        "facts that are none": (run(tensors({"tellapart": "[1]"}, x=torch.zeros(2))), "it lacks model"),
        "broken facts": (run(tensors({"tellapart": "{"}, x=torch.zeros(2))), "but not a checkpoint"),
        "an unknown model": (run(claim(model="os.system")), "contains the unknown model 'os.system'. Known models"),
        "a model that is a list": (run(claim(model=["gmmn"])), "holds a .*Known models|damaged"),
        "networks of terabytes": (run(claim(settings={"hidden": [10**6, 10**6]})), "is damaged: by its settings"),
        "settings that are none": (run(claim(settings=3)), "damaged|settings"),
        "an unknown setting": (run(claim(settings={"os": 1})), "'os' is not a setting"),
        "a shape that is none": (run(claim(data={"shape": "many", "classes": 0})), "damaged|shape"),
        "an endless shape": (run(claim(data={"shape": [10**9, 10**9], "classes": 0})), "is damaged"),
        "a device": ({"run/checkpoint.safetensors": lambda path: path.symlink_to("/dev/zero")}, "not a file"),
    }  # fmt: skip
    arguments = ("sample", "run", "--n", "4", "--out", "x.npz")
    return [Case(f"sample: {name}", files, arguments, says) for name, (files, says) in cases.items()]


@cache
def _reference() -> Reference:
    return Reference.fit(FRAME, rng=0)


def reference(path: Path) -> None:
    """A good one."""
    _reference().save(path)


def watched() -> list[Case]:
    """References, states and batches that are none."""
    good: dict[str, Content] = {"r.tellapart": reference, "b.csv": GOOD}
    facts = {"format": FORMAT, "reference": _reference().digest, "alpha": 0.01}
    facts |= {"control": "anytime", "horizon": 50, "seed": 0}
    references: dict[str, tuple[Content, str]] = {
        "a pipe": (os.mkfifo, "is not there, or not a file"),
        "zeros": (lambda path: path.symlink_to("/dev/zero"), "is not there, or not a file"),
        "a folder": (Path.mkdir, "is not there, or not a file"),
        "empty": (b"", "is not a reference, or damaged"),
        "a table": (GOOD, "is not a reference, or damaged"),
        "a claim": (_safetensors_claim(2**40), "is not a reference, or damaged"),
        "no facts": (tensors(x=torch.zeros(2)), "is not a reference, or damaged"),
        "other facts": (tensors({"tellapart": '{"class": "Contents", "fields": {}}'}), "that is not known here"),
        "code": (tensors({"tellapart": '{"class": "os.system", "fields": {}}'}), "that is not known here"),
        "deep facts": (tensors({"tellapart": "[" * 900 + "]" * 900}), "nested more than"),
    }
    states: dict[str, tuple[Content, str]] = {
        "a pipe": (os.mkfifo, "is not a file"),
        "zeros": (lambda path: path.symlink_to("/dev/zero"), "is not a file"),
        "a folder": (Path.mkdir, "is a folder"),
        "empty": ("", "is no JSON"),
        "cut short": ("{", "is no JSON"),
        "binary": (bytes(range(256)), "is no JSON"),
        "deep": ("[" * 10**5, "is no JSON"),
        "a list": ("[]", "is not a monitor state file"),
        "another": ('{"format": "\\u001b[2J"}', "is not a monitor state file"),
        "endless": (json.dumps(facts | {"control": "x" * 10**6}), "has control 'xxx"),
        "no bets": (json.dumps(facts), "is damaged"),
        "no numbers": (json.dumps(facts | {"betting": {"stakes": [float("inf")]}}), "is damaged"),
    }
    batches: dict[str, tuple[Mapping[str, Content], str, str]] = {
        "nothing": ({}, "", "A sample is an empty path"),
        "no file": ({}, "\x1b[2J.csv", r"^tellapart: \\x1b\[2J.csv does not exist"),
        "a pipe": ({"c.csv": os.mkfifo}, "c.csv", "is neither a file nor a folder"),
        "other columns": ({"c.csv": table(columns="abd")}, "c.csv", "the column 'c' is missing"),
        "text": ({"c.csv": table(a="x")}, "c.csv", "holds text, and in the reference number"),
        "a gap": ({"c.csv": table(a7="")}, "c.csv", "has missing values .* Fit the reference with missing="),
        "an array": ({"c.npy": npy(NUMBERS)[:-1]}, "c.npy", "is cut short"),
    }
    watch = ("watch", "r.tellapart", "b.csv", "--permutations", "19")
    locks: dict[str, Content] = {"pipe": os.mkfifo, "link": lambda path: path.symlink_to("b.csv"), "folder": Path.mkdir}
    return [
        *(Case(f"watch: {k}", good | {"r.tellapart": made}, watch, says) for k, (made, says) in references.items()),
        *(
            Case(f"watch: state, {k}", good | {"s.json": made}, (*watch, "--state", "s.json"), says)
            for k, (made, says) in states.items()
        ),
        *(
            Case(f"watch: lock, {k}", good | {".s.json.lock": made}, (*watch, "--state", "s.json"), r"\.s\.json\.lock")
            for k, made in locks.items()
        ),
        *(
            Case(f"watch: batch, {k}", good | dict(more), ("watch", "r.tellapart", new), says)
            for k, (more, new, says) in batches.items()
        ),
        Case("watch: metrics", good, (*watch, "--prometheus", "none/x"), "the folder none does not exist"),
        Case("reference: few", {"x.csv": table(10)}, ("reference", "x.csv", "-o", "r"), "needs at least 16 rows"),
        Case("reference: a pipe", {"x.csv": os.mkfifo}, ("reference", "x.csv", "-o", "r"), "neither a file nor"),
        Case("reference: no folder", {"x.csv": GOOD}, ("reference", "x.csv", "-o", "none/r"), "folder none does not"),
        Case("reference: nothing", {"x.csv": GOOD}, ("reference", "", "-o", "r"), "is an empty path"),
    ]


def several() -> list[Case]:
    """Rankings and groups."""
    files = {"a.csv": table(), "b.csv": GOOD, "c.csv": table(seed=2)}
    models: dict[str, tuple[Content, str]] = {
        "a pipe": (os.mkfifo, "is neither a file nor a folder"),
        "a gap": (table(a7=""), "has missing values"),
        "other columns": (table(columns="abd"), "must have the same columns"),
        "text": (table(a="x"), "have columns of different types"),
        "one row": (table(1), "needs at least 4 rows"),
    }

    def by(*labels: str, rows: int = 120) -> str:
        return table(rows, columns="abg", g=[labels[k % len(labels)] for k in range(rows)])

    groups: dict[str, tuple[str, str, str]] = {
        "no column": (by("u", "v"), "\x1b[2J", r"has no column '\\+x1b\[2J'"),
        "nothing": (by("u", "v"), "", "has no column ''"),
        "one group": (by("u"), "g", "one value only, but 2 to 255 samples"),
        "many groups": (
            by(*(f"g{k}" for k in range(300)), rows=600),
            "g",
            "300 different values, but 2 to 255 samples",
        ),
        "small groups": (by(*(f"g{k}" for k in range(119))), "g", "needs at least 2 rows, but 'g1' has 1"),
        "gaps": (by("u", "v", ""), "g", "40 missing values in 'g'"),
    }
    return [
        *(
            Case(f"rank: {k}", files | {"c.csv": made}, ("rank", "a.csv", "b.csv", "c.csv"), says)
            for k, (made, says) in models.items()
        ),
        *(
            Case(
                f"too large, --missing {how}",
                {"a.npy": npy(np.where(NUMBERS[3, 1] == NUMBERS, 1e300, NUMBERS)), "b.npy": npy(NUMBERS)},
                ("test", "a.npy", "b.npy", "--missing", how),
                r"values beyond 1e\+150, the first at row 3, column 1",
            )
            for how in ("error", "indicator", "drop")
        ),
        Case("rank: one model", files, ("rank", "a.csv", "b.csv"), "two or more models, but got 1"),
        Case("rank: nothing", files, ("rank", "a.csv", "b.csv", ""), "is an empty path"),
        *(
            Case(f"compare: by, {k}", {"t.csv": made}, ("compare", "--by", column, "t.csv"), says)
            for k, (made, column, says) in groups.items()
        ),
        Case("compare: by, two tables", files, ("compare", "--by", "a", "a.csv", "b.csv"), "but two samples are given"),
        Case("compare: one table", files, ("compare", "a.csv"), "Only one sample is given"),
        Case("compare: items", files, ("compare", "a.csv", "b.csv", "--items", "z"), "has no column 'z'"),
        Case("compare: keep", files, ("compare", "a.csv", "b.csv", "--keep-columns", "z"), "no column 'z' to keep"),
        Case("compare: names", files, ("compare", "a.csv", "b.csv", "--names", "a,b,c"), "but 3 names"),
    ]


def trained() -> list[Case]:
    """Folders to train in that hold something else, and settings that are none."""
    images = npz(images=npy((255 * np.random.default_rng(0).random((200, 8, 8))).astype(np.uint8)))
    files: dict[str, Content] = {"d.npz": images, "precious": "mine"}
    small = ["batch_size=20", "noise=2"]

    def train(*settings: str) -> tuple[str, ...]:
        return ("train", "gmmn", "--data", "d.npz", "--out", "run", "--steps", "3", "--set", *small, *settings)

    folders: dict[str, tuple[str, Content, str]] = {
        "lock, link": ("run/.lock", lambda path: path.symlink_to("../precious"), r"\.lock: Too many levels"),
        "lock, pipe": ("run/.lock", os.mkfifo, r"\.lock is not a file"),
        "log, pipe": ("run/log.jsonl", os.mkfifo, r"log\.jsonl is not a file"),
        "log, zeros": ("run/log.jsonl", lambda path: path.symlink_to("/dev/zero"), r"log\.jsonl is not a file"),
        "log, text": ("run/log.jsonl", "hello\n", r"Line 1 of run/log\.jsonl is damaged"),
    }
    settings: dict[str, tuple[str, str]] = {
        "endless number": (f"hidden=[{'9' * 400}]", "hidden must be a whole number above 0"),
        "infinite": ("hidden=[1e999]", "hidden must be a whole number above 0"),
        "terabytes": ("hidden=[1000000,1000000]", "The networks need"),
        "no value": ("hidden", "hidden"),
        "unknown": ("hiden=[4]", "Did you mean 'hidden'"),
    }
    return [
        *(
            Case(f"train: {k}", files | {path: made}, train("hidden=[4]"), says)
            for k, (path, made, says) in folders.items()
        ),
        *(Case(f"train: {k}", files, train(setting), says) for k, (setting, says) in settings.items()),
    ]


def bad_files() -> list[Case]:
    """Each damaged file beside a good one, in both commands; and as the second sample."""
    cases = []
    for name, (content, says) in damaged().items():
        good = "good.npy" if name.endswith(".npy") else "good.csv"
        files = {name: content, good: npy(NUMBERS) if good == "good.npy" else GOOD}
        for command in ("test", "compare"):
            cases.append(Case(f"{command}: {name}", files, (command, name, good), says))
    return cases


CASES = [*bad_files(), *wrong_calls(), *runs_and_kernels(), *watched(), *several(), *trained()]
