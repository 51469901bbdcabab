"""Draws from the asymptotic null distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from ... import engine
from ..._util.errors import InputError, InputMemoryError
from ...kernels import probe_rows
from ..formulas import mmd2_from
from .base import Null, NullDistribution, Problem


@dataclass(frozen=True)
class Spectral(Null):
    """Draw from the asymptotic null by the eigenvalues of the centred matrix (Gretton et al. 2009).

    Stores the matrix: O(N²) memory, which must fit into ``max_memory``, and O(N³) time on one thread. For large
    samples only.
    """

    name: ClassVar[str] = "spectral"
    exact: ClassVar[bool] = False

    def draw(self, problem: Problem, count: int) -> NullDistribution:
        """The statistic, and draws from the asymptotic null."""
        if problem.kernel.members > 1:
            raise InputError("single-kernel-needed", "null='spectral' takes one kernel at a time.")
        m, n = problem.sizes
        N, kernel = m + n, problem.kernel
        need = N**2 * problem.dtype.itemsize * 3 + 8 * N * count * 2
        if need > problem.compute.max_memory:
            raise InputMemoryError(
                "not-enough-memory",
                f"null='spectral' stores the kernel matrix of {N:,} rows, {need:,} bytes in all, but "
                f"{problem.compute.max_memory:,} are allowed.",
                "Use {null}, which stores no matrix.",
                null="permutation",
            )
        plan = kernel.plan(probe_rows(problem.X, problem.Y), dtype=problem.dtype)
        features = kernel.features(torch.cat([problem.X[:], problem.Y[:]]), plan)
        K = kernel.tile(features, features, plan)
        rows = K.mean(0)
        eigenvalues = torch.linalg.eigvalsh(K - rows - rows[:, None] + rows.mean()).double().clamp_min(0) / N
        squares = torch.from_numpy(problem.rng.standard_normal((count, N)) ** 2 - 1)
        sums = engine.sums(kernel, problem.X, problem.Y, compute=problem.compute)
        return NullDistribution(mmd2_from(sums), squares @ eigenvalues * N / (m * n))
