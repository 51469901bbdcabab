"""Initial kernels: by name, and with scales estimated from single coordinates."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor

from .._util.errors import InputError
from ..engine import Compute
from ..kernels import ARD, MLP, Deep, Gaussian, Kernel, as_kernel
from ..stats.formulas import mmd2_of_totals, relabelling_variance
from .bandwidths import median_distance
from .history import NAMES

#: Rows of each sample that coordinates are evaluated on; maximum number of pairs of numbers in all, and at a time.
_ROWS, _PAIRS, _PAIRS_AT_A_TIME = 500, 2e8, 4e6
#: Bytes for each pair of rows: squared distances, kernel values, and these in double precision.
_BYTES = 16


def named_kernel(kernel: Any, X: Tensor, Y: Tensor, seed: int) -> Kernel:
    """The kernel that was passed, or the named one with a bandwidth estimated from the data."""
    if not isinstance(kernel, str):
        return as_kernel(kernel)
    if kernel not in NAMES:
        raise InputError(
            "unknown-choice",
            f"`kernel` must be a kernel or one of {', '.join(map(repr, NAMES))}, got {kernel!r}.",
        )
    if kernel == "witness":
        raise InputError("unsuitable-kernel", "kernel='witness' learns a function and has no initial kernel.")
    d = X.flatten(1).shape[1]
    bandwidth = median_distance([X, Y], seed)
    if kernel == "rbf":
        return Gaussian(bandwidth).to(X.device)
    if kernel == "ard":
        return ARD(d, bandwidth).to(X.device)
    if kernel == "full":
        return Deep(_identity(d), Gaussian(bandwidth)).to(X.device)
    # Features of about the size of the data: then one bandwidth serves in front of the network and behind it.
    network = MLP([d, *[min(max(d, 20), 100)] * 3], rng=seed)
    return Deep(network, Gaussian(bandwidth), original=Gaussian(bandwidth)).to(X.device)


def _identity(d: int) -> MLP:
    network = MLP([d, d], rng=0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.eye(d) if parameter.ndim == 2 else torch.zeros(d))
    return network


def ard_from_marginals(kernel: ARD, X: Tensor, Y: Tensor, compute: Compute) -> ARD:
    """The kernel with a scale for each coordinate that grows with its own difference, in null standard deviations.

    From equal scales, one coordinate in many that differs is hard to find by gradient: at a bandwidth that suits all
    of them together, noise in the others is larger.
    """
    d = X.flatten(1).shape[1]
    rows = max(min(_ROWS, int(math.sqrt(_PAIRS / d) / 2)), 50)
    if not compute.automatic:
        rows = min(rows, max(int(math.sqrt(compute.max_memory / (2 * _BYTES)) / 2), 8))
    X, Y = X.flatten(1)[:rows], Y.flatten(1)[:rows]
    with torch.no_grad():
        found = marginal_z_scores(torch.cat([X, Y]), len(X), compute)
    # Squared, because among many coordinates the largest of pure noise is a fair part of what can be seen.
    scales = (found / found.max()).clamp_min(0.2) ** 2 if found.max() > 0 else torch.ones_like(found)
    scaled = copy.deepcopy(kernel)
    with torch.no_grad():
        scaled.log_scales.add_(scales.log().to(scaled.log_scales))
        width = median_distance([X.double() * scales, Y.double() * scales], 0) / median_distance([X, Y], 0)
        scaled.log_bandwidth.add_(math.log(width))
    return scaled


def marginal_z_scores(pooled: Tensor, m: int, compute: Compute) -> Tensor:
    """MMD² of each coordinate alone over its standard deviation under permutation (MATHS §4), for the better of two
    bandwidths. All coordinates side by side, since the matrices are small and many.
    """
    N, n = len(pooled), len(pooled) - m
    deviations = pooled.double().std(0)
    units = (pooled / torch.where(deviations > 0, deviations, 1.0)).float()
    found = []
    pairs = min(_PAIRS_AT_A_TIME, compute.max_memory / (2 * _BYTES))
    count = min(max(int(pairs / N**2), 1), units.shape[1])
    # Allocated once: freeing and allocating large blocks repeatedly fragments the memory.
    kinds = torch.float32, torch.float32, torch.float64
    memory = [torch.empty(N * N * count, dtype=kind, device=units.device) for kind in kinds]
    for columns in units.T.split(count):
        size = N * N * len(columns)
        squares, K, doubles = (part[:size].view(N, N, len(columns)).permute(2, 0, 1) for part in memory)
        best = torch.full((len(columns),), -math.inf, dtype=torch.float64)
        torch.sub(columns[:, :, None], columns[:, None, :], out=squares).square_()
        for bandwidth in (0.25, 1.0):
            torch.mul(squares, -0.5 / bandwidth**2, out=K).exp_()
            K.diagonal(dim1=1, dim2=2).zero_()
            doubles.copy_(K)
            of_x, rows = doubles[:, :, :m].sum(-1), doubles.sum(-1)
            total, xx, xy = rows.sum(-1), of_x[:, :m].sum(-1), of_x[:, m:].sum(-1)
            mmd2 = mmd2_of_totals(xx, total - xx - 2 * xy, xy, m, n)
            norm = doubles.copy_(K.square_()).sum((1, 2))
            variance = relabelling_variance(norm, rows.square().sum(-1), total, m, n)
            best = torch.maximum(best, (mmd2 / variance.clamp_min(1e-30).sqrt()).cpu())
        found.append(best)
    return torch.where(deviations.cpu() > 0, torch.cat(found).cpu(), 0.0)
