"""A gamma distribution in place of draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ... import engine
from ..formulas import mmd2_from, permutation_variance_from
from .base import Finish, Null, NullDistribution, Problem


@dataclass(frozen=True)
class Gamma(Null):
    """Quantiles of the gamma distribution with the null mean and variance of the biased statistic: no draws.

    For large samples only.
    """

    name: ClassVar[str] = "gamma"
    exact: ClassVar[bool] = False

    def prepare(self, problem: Problem, count: int) -> tuple[engine.Pass, Finish]:
        """The sums of the statistic."""
        work, as_sums = engine.sums_pass(problem.kernel, problem.X, problem.Y, compute=problem.compute)

        def finish(results: tuple[Tensor, ...]) -> NullDistribution:
            sums = as_sums(results)
            mean, variance = null_moments(sums)
            levels = (torch.arange(count, dtype=torch.float64) + 0.5) / count
            if not bool((variance > 0).all()):  # all points are equal to the kernel
                return NullDistribution(mmd2_from(sums), torch.zeros(*variance.shape, count, dtype=torch.float64))
            quantiles = _gamma_quantiles(levels, (mean**2 / variance)[..., None]) * (variance / mean)[..., None]
            return NullDistribution(mmd2_from(sums), quantiles - mean[..., None])

        return work, finish


def null_moments(sums: engine.Sums) -> tuple[Tensor, Tensor]:
    """Mean and variance of the biased statistic under the null hypothesis."""
    m, n = sums.m, sums.n
    off_diagonal = (sums.sxx + sums.syy + 2 * sums.sxy) / ((m + n) * (m + n - 1))
    mean = (1 / m + 1 / n) * ((sums.trace_x + sums.trace_y) / (m + n) - off_diagonal)
    return mean, permutation_variance_from(sums)


def gamma_pvalue(sums: engine.Sums) -> Tensor:
    """The p-value of MMD² by the gamma distribution itself; 1 where the kernel does not tell any two points apart."""
    mean, variance = null_moments(sums)
    if not bool(variance > 0):
        return torch.ones_like(mean)
    found: Tensor = torch.special.gammaincc(
        mean**2 / variance, ((mmd2_from(sums) + mean) * mean / variance).clamp_min(0)
    )
    return found


def _gamma_quantiles(levels: Tensor, shape: Tensor) -> Tensor:
    """Quantiles of a gamma distribution by bisection of its distribution function."""
    high = (shape + 50 * shape.sqrt() + 50).expand(*shape.shape[:-1], len(levels))
    low, shape = torch.zeros_like(high), shape.expand_as(high)
    for _ in range(100):
        middle = (low + high) / 2
        below = torch.special.gammainc(shape, middle) < levels
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return (low + high) / 2
