"""The witness function: positive where one sample has more, negative where the other has."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import engine
from ..data import as_pair, as_sample
from ..data.arrays import Array
from ..data.torch_rows import as_tensors
from ..engine import Compute, MemoryLike, computing
from ..kernels import Kernel, as_kernel


def witness(kernel: Kernel, X: Any, Y: Any, at: Any, *, max_memory: MemoryLike = None) -> Array:
    """The witness function f(z) = mean_i k(x_i, z) - mean_j k(y_j, z): positive where X has more, negative where Y has.

    Parameters
    ----------
    kernel
        The kernel. That of a learned witness h, h(x) h(y), gives h itself, less its mean over both samples.
    X, Y
        The samples that it is estimated from.
    at
        Where to evaluate it; best rows that are neither in X nor in Y, since a row is always like itself.
    max_memory
        Bytes, or a string such as ``"1GB"``, beside the samples themselves; by default a quarter of what is free.

    Examples
    --------
    >>> from tellapart.kernels import Gaussian
    >>> f = witness(Gaussian(1.0), torch.zeros(10, 1), torch.ones(10, 1) * 3, at=[[0.0], [3.0]])
    >>> f.round(2)
    array([ 0.99, -0.99])
    """
    x, y = as_pair(X, Y)
    z = as_sample(at, "at")
    with computing(max_memory) as compute:
        return witness_values(as_kernel(kernel), x.values, y.values, z.values, compute)


@torch.no_grad()
def witness_values(kernel: Kernel, x: Array | Tensor, y: Array | Tensor, at: Array | Tensor, compute: Compute) -> Array:
    """The witness function of samples that are checked already."""
    x, y, at = (as_tensors(part)[:] for part in (x, y, at))
    h = kernel.witness_function
    if h is not None:
        # It does not grow with the number of rows, and has the sign that was learned.
        found = h(at) - h(torch.cat([x, y])).mean()
    else:
        weights = torch.cat([torch.full((len(x),), 1 / len(x)), torch.full((len(y),), -1 / len(y))])
        pooled = torch.cat([x, y])
        found = engine.product(kernel, at.to(pooled), pooled, weights[:, None].double(), compute=compute)[:, 0]
    return np.asarray(found.cpu().numpy())
