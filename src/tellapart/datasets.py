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


def blobs(
    m: int, n: int | None = None, *, ratio: float = 6.0, grid: int = 5, spacing: float = 10.0, rng: RNG = None
) -> tuple[Tensor, Tensor]:
    """A grid of round blobs against the same grid of oblong ones (Gretton et al. 2012, Figure 2 of the paper).

    The blobs of X are standard normal; those of Y have correlation (ratio - 1)/(ratio + 1), which makes them ``ratio``
    times as wide one way as the other. The difference is small against the distances between blobs.

    >>> X, Y = blobs(100, ratio=4, rng=0)
    >>> X.shape
    torch.Size([100, 2])
    """
    if not ratio >= 1:
        raise ValueError(f"ratio must be at least 1, but is {ratio!r}.")
    draws = np.random.default_rng(seed_of(rng))
    correlation = (ratio - 1) / (ratio + 1)
    shapes = (np.eye(2), np.linalg.cholesky(np.array([[1, correlation], [correlation, 1]])))
    samples = []
    for size, shape in zip((m, m if n is None else n), shapes, strict=True):
        centres = spacing * draws.integers(0, grid, size=(size, 2))
        samples.append(torch.from_numpy(centres + draws.standard_normal((size, 2)) @ shape.T))
    return samples[0], samples[1]
