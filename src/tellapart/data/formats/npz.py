"""NumPy's .npz files: several arrays in one."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np

from ..._util.errors import InputError
from ..arrays import check_rows
from ..names import quote_names
from .base import FileFormat, Opened, Request
from .npy import Header, check_dtype, floats_need, read_header

SAVE_AS_NPY = "Save it as .npy and give {max_rows} to draw some of its rows."


class Npz(FileFormat):
    """Files that ``numpy.savez`` writes: the array named, the only one, or the only one of two or more dimensions."""

    name = ".npz"
    suffixes = (".npz",)

    def open(self, request: Request) -> Opened:
        """Read one array."""
        with zipfile.ZipFile(request.data) as archive:
            infos = {info.filename[:-4]: info for info in archive.infolist() if info.filename.endswith(".npy")}
            headers: dict[str, Header] = {}
            for entry, info in infos.items():
                with archive.open(info) as file:
                    headers[entry] = read_header(file, request.label)
            name = pick_member({entry: header.shape for entry, header in headers.items()}, request)
            header = headers[name]
            check_dtype(header.dtype, request.label)
            check_rows(header.shape, request.label)
            if header.start + header.nbytes > infos[name].file_size:
                raise InputError(
                    "truncated-file",
                    f"{request.label} is cut short: its shape {header.shape} needs more bytes than it has.",
                )
            request.check_memory(floats_need(header.shape, header.dtype, header.shape[0]), SAVE_AS_NPY, max_rows=...)
            with archive.open(infos[name]) as file:
                return Opened(np.lib.format.read_array(file, allow_pickle=False))


def pick_member(shapes: dict[str, Any], request: Request) -> str:
    """The array of a file to read: the one named, the only one, or the only one that is more than a list of numbers."""
    if request.member is not None:
        if request.member not in shapes:
            raise InputError(
                "unknown-member", f"{request.label} has no array {request.member!r}. It has {quote_names(shapes)}."
            )
        return request.member
    if not shapes:
        raise InputError("no-arrays", f"{request.label} is empty: it has no arrays.")
    wide = [name for name, shape in shapes.items() if len(shape) >= 2]
    if len(shapes) == 1 or len(wide) == 1:
        return wide[0] if wide else next(iter(shapes))
    example = f"{request.data.name}:{next(iter(shapes))}"
    raise InputError(
        "several-arrays", f"{request.label} has several arrays: {quote_names(shapes)}. Name one, as in {example!r}."
    )
