"""Rows as tensors: the one place where arrays become what `torch` computes with."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError
from .arrays import Array, check_dense_real, check_exact
from .lazy import Lazy, Points, TensorPoints, check_unchanged, in_memory
from .precision import Precision, precision_of, round_array
from .sample import Sample

#: Float types by their significant bits.
_TYPES = {8: torch.bfloat16, 11: torch.float16, 24: torch.float32}
#: Types that float32 does not hold exactly.
_WIDE = (torch.float64, torch.int32, torch.int64, torch.uint32, torch.uint64)


def as_tensor(array: Array) -> Tensor:
    """An array as a tensor that shares its memory, if torch can.

    >>> as_tensor(np.zeros(2))
    tensor([0., 0.], dtype=torch.float64)
    """
    # torch warns of memory that is read-only, and cannot share what lies backwards or in the other byte order.
    native = array.dtype.newbyteorder("=")
    shareable = array.flags.writeable and all(s >= 0 and s % array.dtype.itemsize == 0 for s in array.strides)
    return torch.from_numpy(array.astype(native, copy=not shareable))


def as_tensors(points: Points | TensorPoints) -> TensorPoints:
    """Rows as tensors, in memory or read as such."""
    if isinstance(points, Lazy):
        return TensorRows(points) if isinstance(points.dtype, np.dtype) else points
    return points if isinstance(points, Tensor) else as_tensor(points)


@dataclass(frozen=True)
class TensorSample(Sample):
    """A checked sample whose values are a tensor."""

    values: Tensor  # type: ignore[assignment]

    @classmethod
    def of(cls, sample: Sample) -> TensorSample:
        """The sample with its values as a tensor."""
        if isinstance(sample, cls):
            return sample
        given: Any = sample.values
        values = given if isinstance(given, Tensor) else as_tensor(given)
        return cls(**{field.name: getattr(sample, field.name) for field in fields(sample)} | {"values": values})


class TensorRows(Lazy):
    """Rows that are read when they are used, as tensors on one device."""

    def __init__(self, rows: Lazy, device: Any = "cpu") -> None:
        self.rows, self.shape, self.in_memory = rows, rows.shape, rows.in_memory
        self.dtype = as_tensor(np.empty(0, rows.dtype)).dtype
        self.device = torch.device(device)

    def to(self, device: Any) -> TensorRows:
        """The same rows, for a device to compute with."""
        return TensorRows(self.rows, device)

    def __getitem__(self, rows: slice | Tensor | Array) -> Tensor:
        return as_tensor(self.rows[rows]).to(self.device)

    def check_unchanged(self) -> None:
        """Raise `InputChangedError` if a file that they are read from has been written to."""
        self.rows.check_unchanged()

    def __repr__(self) -> str:
        return f"TensorRows({self.rows!r})"


class PairedRows(Lazy):
    """Pairs of rows, those of one sample with those of another."""

    def __init__(self, first: TensorPoints, second: TensorPoints) -> None:
        self.sides = first, second
        self.shape = (len(first), 2, *first.shape[1:])
        self.dtype, self.device = first.dtype, first.device
        self.in_memory = in_memory(first) and in_memory(second)

    def __getitem__(self, rows: slice | Tensor | Array) -> Tensor:
        return torch.stack([side[rows] for side in self.sides], dim=1)

    def check_unchanged(self) -> None:
        """Raise `InputChangedError` if a file of either side has been written to."""
        check_unchanged(*self.sides)


def float_tensor(values: Tensor, name: str) -> Tensor:
    """A tensor as the smallest float type that holds it, with its gradient and where it is."""
    check_dense_real(values, name)
    if values.dtype in (torch.int64, torch.uint64) and values.device.type == "cpu":
        check_exact(values.detach().numpy(), name)
    if values.ndim == 0:
        raise InputError("not-rows", f"{name} is a single number. Give one row for each point.")
    values = values.to(torch.float64 if values.dtype in _WIDE else torch.float32)
    return values[:, None] if values.ndim == 1 else values


def round_tensor(values: Tensor, precision: Precision) -> Tensor:
    """`round_array` for tensors, which stay on their device and keep their gradient.

    >>> round_tensor(torch.tensor([0.1], dtype=torch.float64), 24).item() == torch.tensor(0.1).item()
    True
    """
    if isinstance(precision, np.ndarray):
        bits = torch.from_numpy(precision).to(values.device)
        for one in np.unique(precision).tolist():
            values = torch.where(bits == one, round_tensor(values, one), values)
        return values
    if precision >= precision_of(values.dtype):
        return values
    if values.device.type == "cpu" and not values.requires_grad:
        return torch.from_numpy(round_array(values.numpy(), precision))
    rounded = values.to(_TYPES[precision]).to(values.dtype)
    return torch.where(rounded.isfinite(), rounded, values)
