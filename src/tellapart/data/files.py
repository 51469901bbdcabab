"""Arrays in files: .npy, .npz, .safetensors and the idx format of MNIST."""

from __future__ import annotations

import gzip
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from .arrays import Array, as_array
from .room import check_room
from .tables import listed

_IDX_NAME = re.compile(r"(^|.*[.-])idx\d?(-\w+)?(\.gz)?", re.IGNORECASE)
_IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

_FEWER = "Give max_rows= to draw some of its rows."
_SAVE_NPY = "Save it as .npy and give max_rows= to draw some of its rows."


def split_member(path: str) -> tuple[Path, str | None]:
    """A path and the name of an array in it.

    >>> split_member("run.npz:images")[1]
    'images'
    """
    match = re.fullmatch(r"(.+\.(?:npz|safetensors)):(.+)", path, re.IGNORECASE | re.DOTALL)
    if match is None or Path(path).exists():
        return Path(path).expanduser(), None
    return Path(match[1]).expanduser(), match[2]


def is_idx(path: Path) -> bool:
    """Whether the name is that of an idx file, such as train-images-idx3-ubyte.gz."""
    return _IDX_NAME.fullmatch(path.name) is not None


def npy_layout(path: Path, label: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """The shape of the array in a .npy file, whether columns come first, its type, and where in the file it starts."""
    with path.open("rb") as file:
        shape, fortran, dtype = _npy_header(file, label)
        start = file.tell()
    _check_dtype(dtype, label)
    if start + math.prod(shape) * dtype.itemsize > path.stat().st_size:
        raise ValueError(f"{label} is cut short: its shape {shape} needs more bytes than it has.")
    return shape, fortran, dtype, start


def read_npy(path: Path, label: str, max_rows: int | None) -> Array:
    """The array in a .npy file. It stays in the file until rows of it are used."""
    shape, fortran, dtype, start = npy_layout(path, label)
    _check_array_room(shape, dtype, label, max_rows, _FEWER)
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", offset=start, shape=shape or (1,), order="F" if fortran else "C").reshape(shape)


def read_npz(path: Path, member: str | None, label: str) -> Array:
    """One array of a .npz file: the one named, the only one, or the only one that is more than a list of numbers."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [name[:-4] for name in archive.namelist() if name.endswith(".npy")]
            headers = {}
            for entry in entries:
                with archive.open(f"{entry}.npy") as file:
                    headers[entry] = _npy_header(file, label)
            name = _pick(headers, member, label, path.name)
            shape, _, dtype = headers[name]
            _check_dtype(dtype, label)
            _check_array_room(shape, dtype, label, None, _SAVE_NPY, copies=2)
            with archive.open(f"{name}.npy") as file:
                return as_array(np.lib.format.read_array(file, allow_pickle=False), label)
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ValueError(f"{label} is not a .npz file, or damaged: {error}.") from None


def read_safetensors(path: Path, member: str | None, label: str) -> Array:
    """One tensor of a .safetensors file."""
    try:
        with safe_open(str(path), "pt") as file:
            headers = {name: (tuple(file.get_slice(name).get_shape()), False, None) for name in file.keys()}  # noqa: SIM118
            name = _pick(headers, member, label, path.name)
            check_room(2 * path.stat().st_size, label, _SAVE_NPY)
            return as_array(file.get_tensor(name), label)
    except SafetensorError as error:
        raise ValueError(f"{label} is not a safetensors file: {error}.") from None


def read_idx(path: Path, label: str, max_rows: int | None) -> Array:
    """The array in an idx file, plain or gzipped."""
    zipped = path.suffix.lower() == ".gz"
    try:
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            magic = file.read(4)
            if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _IDX_TYPES or magic[3] == 0:
                raise ValueError(f"{label} is not an idx file: it starts with {magic!r}.")
            sides = file.read(4 * magic[3])
            shape = tuple(int(side) for side in np.frombuffer(sides[: len(sides) // 4 * 4], ">u4"))
            dtype = np.dtype(_IDX_TYPES[magic[2]])
            size = math.prod(shape) * dtype.itemsize
            start = 4 + 4 * magic[3]
            short = ValueError(f"{label} is cut short: its shape {shape} needs {size} bytes.")
            if len(shape) < magic[3] or (not zipped and path.stat().st_size < start + size):
                raise short
            _check_array_room(shape, dtype, label, None if zipped else max_rows, _FEWER)
            if not zipped and size:
                return np.memmap(path, dtype, "r", offset=start, shape=shape)
            content = file.read(size)
            if len(content) < size:
                raise short
            return np.frombuffer(content, dtype).reshape(shape)
    except (EOFError, OSError) as error:
        raise ValueError(f"{label} is damaged: {error}.") from None


def _npy_header(file: Any, label: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return read(file)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{label} does not hold a NumPy array: {error}.") from None


def _check_dtype(dtype: np.dtype[Any], label: str) -> None:
    if dtype.hasobject:
        raise ValueError(f"{label} holds Python objects, which are not read. Save numbers, with dtype=float.")


def _check_array_room(
    shape: tuple[int, ...], dtype: np.dtype[Any], label: str, max_rows: int | None, advice: str, copies: int = 1
) -> None:
    """The floats that come of it must fit, and so must the array where it is not left in the file."""
    rows = shape[0] if shape else 1
    share = 1.0 if max_rows is None else min(1.0, max_rows / max(1, rows))
    check_room(math.prod(shape) * share * (4 if dtype.itemsize <= 4 else 8) * copies, label, advice)


def _pick(headers: dict[str, Any], member: str | None, label: str, file: str) -> str:
    if member is not None:
        if member not in headers:
            raise ValueError(f"{label} has no array {member!r}. It has {listed(headers)}.")
        return member
    if not headers:
        raise ValueError(f"{label} is empty: it has no arrays.")
    wide = [name for name, (shape, *_) in headers.items() if len(shape) >= 2]
    if len(headers) == 1 or len(wide) == 1:
        return wide[0] if wide else next(iter(headers))
    first = next(iter(headers))
    raise ValueError(f"{label} has several arrays: {listed(headers)}. Name one, as in {f'{file}:{first}'!r}.")
