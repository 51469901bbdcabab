"""Problems to try things on."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ._rng import RNG, seed_of


def gaussian_laplace(m: int, n: int | None = None, d: int = 2, *, rng: RNG = None) -> tuple[Tensor, Tensor]:
    """Standard normal points, and Laplace points with the same mean and variance: they differ in shape only.

    >>> X, Y = gaussian_laplace(500, rng=0)
    >>> X.shape, Y.shape
    (torch.Size([500, 2]), torch.Size([500, 2]))
    """
    draws = np.random.default_rng(seed_of(rng))
    X = draws.standard_normal((m, d))
    Y = draws.laplace(scale=2**-0.5, size=(m if n is None else n, d))
    return torch.from_numpy(X), torch.from_numpy(Y)
