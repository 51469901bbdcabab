"""Zarr stores: an array in compressed chunks.

A store says itself how its chunks are decoded, and some decoders run code that the store brings (pickle). So what it
says is compared with a list of what is known to be safe before the zarr library sees it.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..._util.errors import InputError
from ..._util.extras import extra
from ..._util.text import printable
from ..arrays import Array, check_rows
from ..lazy import Lazy, Stored
from ..limits import check_memory, count_as_float
from ..names import quote_names
from ..stores import Spooled
from .base import Format, Opened, Request, read_chunks

#: The files that describe an array or a group, of version 2 and 3.
_ARRAY_V2, _GROUP_V2, _ANY_V3 = ".zarray", ".zgroup", "zarr.json"
_LONGEST_METADATA = 2**24
#: A chunk takes at most so many times its size in its file: filters and the index of a shard may make it longer.
_LONGER, _SMALL = 32, 2**16
#: From so many bytes on, at least one of so many chunks must be there.
_LARGE, _FEW = 2**26, 100

_TYPES_V2 = re.compile(r"[<>|][biuf]\d{1,2}")
_TYPES_V3 = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
_TYPES_V3 += ("float16", "float32", "float64")
#: Codecs of numcodecs that compute with bytes and numbers, and do nothing else.
_NUMCODECS = frozenset(
    (
        "adler32",
        "astype",
        "bitround",
        "blosc",
        "bz2",
        "crc32",
        "crc32c",
        "delta",
        "fixedscaleoffset",
        "fletcher32",
        "gzip",
        "jenkins_lookup3",
        "lz4",
        "lzma",
        "packbits",
        "pcodec",
        "quantize",
        "shuffle",
        "zfpy",
        "zlib",
        "zstd",
    )
)
_CODECS_V3 = frozenset(["blosc", "bytes", "crc32c", "endian", "gzip", "transpose", "zstd"])


class Zarr(Format):
    """A zarr array, of version 2 or 3."""

    name = "zarr"

    def matches(self, data: Any) -> bool:
        """Whether a zarr array, or a group of them, is at a path."""
        return isinstance(data, Path) and any((data / mark).is_file() for mark in (_ANY_V3, _ARRAY_V2, _GROUP_V2))

    def open(self, request: Request) -> Opened:
        """Read the rows wanted, chunk by chunk."""
        return read_chunks(ZarrChunks(request.data, request.label), request)

    def open_lazy(self, request: Request) -> Lazy:
        """Rows that are decoded once, to a temporary file."""
        chunks = ZarrChunks(request.data, request.label)
        check_rows(chunks.shape, request.label)
        return Stored(Spooled(chunks, request.label), request.label)


class ZarrChunks:
    """An array in a zarr store."""

    in_file = True

    def __init__(self, path: Path, label: str) -> None:
        self.path, self.label = path.absolute(), label
        array = self._open()
        self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)
        if 0 in array.chunks:
            raise InputError(
                "damaged-file", f"{label} is damaged, or not in the format that its name says: its chunks are empty."
            )
        self.step = int(array.chunks[0]) if self.shape else 1
        self._check_chunks(tuple(getattr(array, "shards", None) or array.chunks))

    def blocks(self) -> Iterator[Array]:
        """All rows, a chunk at a time."""
        array = self._open()
        for start in range(0, self.shape[0], self.step):
            yield np.asarray(array[start : start + self.step])

    def take(self, numbers: Array) -> Iterator[Array]:
        """The rows at these positions; chunks without any are not read."""
        array = self._open()
        chunk = numbers // self.step
        for part in np.split(numbers, np.flatnonzero(np.diff(chunk)) + 1):
            start = int(part[0]) // self.step * self.step
            yield np.asarray(array[start : start + self.step])[part - start]

    def _check_chunks(self, chunks: tuple[int, ...]) -> None:
        """Raise `InputError` for chunks that do not fit into memory, and for shapes that hardly any chunk is there for.

        What a store lacks reads as zeros, so that one may claim any number of rows.
        """
        check_memory(
            count_as_float(chunks) * self.dtype.itemsize,
            f"A chunk of {self.label}",
            None,
            "Store it in smaller ones.",
        )
        wanted = math.prod(-(-side // max(1, size)) for side, size in zip(self.shape, chunks, strict=True))
        there, largest = 0, _LONGER * math.prod(chunks) * self.dtype.itemsize + _SMALL
        for file in _list_files(self.path):
            there += 1
            about = file.name == _ANY_V3 or file.name.startswith(".z")
            if not file.is_file() or (file.stat().st_size > largest and not about):
                raise InputError(
                    "damaged-file",
                    f"{self.label} is damaged: {printable(file.name)} is not a file, or larger than a chunk.",
                )
        if math.prod(self.shape) * self.dtype.itemsize > _LARGE and there * _FEW < wanted:
            claim = f"claims the shape {self.shape}, but holds {there} files for {wanted} chunks"
            raise InputError("damaged-file", f"{self.label} {claim}.")

    def _open(self) -> Any:
        # Checked by every process that opens it, and each time.
        check_metadata(self.path, self.label)
        zarr = extra("zarr", group="dask", what="Reading zarr stores")
        return zarr.open_array(str(self.path), mode="r")


def _list_files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything in a folder and the folders in it that is no folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _list_files(Path(entry.path))
            else:
                yield entry


def check_metadata(path: Path, label: str) -> None:
    """Raise `InputError` for a store that is a group, holds no numbers, or asks for a codec that may run code."""
    newer, older = path / _ANY_V3, path / _ARRAY_V2
    if newer.is_file():
        metadata = _read_json(newer, label)
        if metadata.get("node_type") != "array":
            raise _group_error(path, label)
        _check_type(metadata.get("data_type"), metadata.get("data_type") in _TYPES_V3, label)
        if metadata.get("storage_transformers"):
            raise InputError("unsupported-encoding", f"{label} asks for storage transformers, which are not supported.")
        _check_codecs_v3(metadata.get("codecs"), label)
    if older.is_file():
        metadata = _read_json(older, label)
        kind = metadata.get("dtype")
        _check_type(kind, isinstance(kind, str) and _TYPES_V2.fullmatch(kind) is not None, label)
        filters = metadata.get("filters")
        for codec in [metadata.get("compressor"), *(filters if isinstance(filters, list) else [filters])]:
            if codec is not None:
                _check_codec(codec.get("id") if isinstance(codec, dict) else codec, _NUMCODECS, label)
    elif not newer.is_file():
        raise _group_error(path, label)


def _check_codecs_v3(codecs: Any, label: str) -> None:
    """Codecs, and those within them: a shard has its own."""
    if not isinstance(codecs, list):
        raise InputError("damaged-file", f"{label} is not a zarr array: it has no list of codecs.")
    for codec in codecs:
        name = codec.get("name") if isinstance(codec, dict) else codec
        inner = codec.get("configuration") if isinstance(codec, dict) else None
        if name == "sharding_indexed" and isinstance(inner, dict):
            _check_codecs_v3(inner.get("codecs"), label)
            _check_codecs_v3(inner.get("index_codecs", []), label)
        elif isinstance(name, str) and name.startswith("numcodecs."):
            _check_codec(name.removeprefix("numcodecs."), _NUMCODECS, label)
        else:
            _check_codec(name, _CODECS_V3, label)


def _check_codec(name: Any, known: frozenset[str], label: str) -> None:
    if not isinstance(name, str) or name not in known:
        raise InputError(
            "unsupported-encoding",
            f"{label} is encoded with {str(name)[:40]!r}, which is not known to be safe. Supported: "
            f"{', '.join(sorted(known))}.",
        )


def _check_type(kind: Any, known: bool, label: str) -> None:
    if not known:
        raise InputError(
            "unsupported-values", f"{label} holds values of type {str(kind)[:40]!r}. Save numbers, with dtype=float."
        )


def _read_json(path: Path, label: str) -> dict[str, Any]:
    if path.stat().st_size > _LONGEST_METADATA:
        raise InputError("damaged-file", f"{label} is not a zarr array: {path.name} is too long.")
    found = json.loads(path.read_bytes())
    if not isinstance(found, dict):
        raise InputError("damaged-file", f"{label} is not a zarr array: {path.name} holds no object.")
    return found


def _group_error(path: Path, label: str) -> InputError:
    inner = sorted(
        part.name for part in path.iterdir() if any((part / mark).is_file() for mark in (_ANY_V3, _ARRAY_V2))
    )
    return InputError(
        "several-arrays", f"{label} is a zarr group. Give the path of one of its arrays: {quote_names(inner)}."
    )
