"""Safetensors files: several tensors in one, one after the other behind a header in JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._util.errors import InputError
from ..arrays import Array, as_array, check_rows
from ..precision import precision_of
from ..stores import Plain
from .base import FileFormat, Opened, Request
from .npz import SAVE_AS_NPY, pick_member

_LONGEST_HEADER = 2**24
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "|b1"}
_TYPES |= {f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)}


class Safetensors(FileFormat):
    """Files of the safetensors library: one tensor is read, chosen as in .npz files.

    The library would map the file into memory, and then a file that is cut short meanwhile ends the process.
    """

    name = ".safetensors"
    suffixes = (".safetensors",)

    def open(self, request: Request) -> Opened:
        """Read one tensor."""
        places = _read_header(request.data, request.label)
        name = pick_member({key: place.shape for key, place in places.items()}, request)
        place = places[name]
        if place.kind not in _TYPES:
            reason = "has complex numbers" if place.kind.startswith("C") else f"holds values of type {place.kind}"
            raise InputError("unsupported-values", f"{request.label} {reason}, which are not read.")
        check_rows(place.shape, request.label)
        dtype = np.dtype(_TYPES[place.kind])
        request.check_memory(float(math.prod(place.shape)) * 2 * max(4, dtype.itemsize), SAVE_AS_NPY, max_rows=...)
        stored: Array = Plain(request.data, request.label, place.start, dtype, place.shape).rows(slice(None))
        if place.kind == "BF16":
            single = (stored.astype("<u4") << 16).view("<f4")  # bfloat16 is the first half of float32
            return Opened(as_array(single, request.label), precision=precision_of("bfloat16"))
        return Opened(as_array(stored, request.label))


class _Place(NamedTuple):
    kind: str
    shape: tuple[int, ...]
    start: int


def _read_header(path: Path, label: str) -> dict[str, _Place]:
    """Where each tensor is; what the header claims is compared with the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise InputError(
                "damaged-file", f"{label} is damaged, or not in the format that its name says: its header is too long."
            )
        header = json.loads(file.read(length))
    try:
        return {name: _find(entry, 8 + length, size) for name, entry in header.items() if name != "__metadata__"}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            "damaged-file", f"{label} is damaged, or not in the format that its name says: {error!s:.80}."
        ) from None


def _find(entry: dict[str, Any], start: int, size: int) -> _Place:
    shape, (first, last) = tuple(entry["shape"]), entry["data_offsets"]
    kind = str(entry["dtype"])
    if not all(isinstance(side, int) and side >= 0 for side in (*shape, first, last)) or start + last > size:
        raise ValueError("a tensor lies outside the file")
    if kind in _TYPES and last - first != math.prod(shape) * np.dtype(_TYPES[kind]).itemsize:
        raise ValueError("a tensor has another size than its shape says")
    return _Place(kind, shape, start + first)
