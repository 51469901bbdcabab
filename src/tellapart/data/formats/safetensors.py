"""Safetensors files: several tensors in one."""

from __future__ import annotations

import math

from safetensors import safe_open

from ..arrays import as_array
from .base import FileFormat, Opened, Request
from .npz import SAVE_AS_NPY, pick_member

_WIDE = ("F64", "I64", "U64")


class Safetensors(FileFormat):
    """Files of the safetensors library: one tensor is read, chosen as in .npz files."""

    name = ".safetensors"
    suffixes = (".safetensors",)

    def open(self, request: Request) -> Opened:
        """Read one tensor."""
        with safe_open(str(request.data), "pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            name = pick_member({key: part.get_shape() for key, part in slices.items()}, request)
            each = 16 if slices[name].get_dtype() in _WIDE else 8
            request.check_memory(float(math.prod(slices[name].get_shape())) * each, SAVE_AS_NPY, max_rows=...)
            # A copy: tensors in a mapped file are not aligned, and sums over them may round another way.
            return Opened(as_array(file.get_tensor(name).clone(), request.label))
