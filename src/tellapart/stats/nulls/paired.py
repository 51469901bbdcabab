"""Exchanging the two rows of pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ... import engine
from ..._util.errors import InputError
from ...data import reindex
from ...data.torch_rows import PairedRows
from ...kernels import Features, Kernel, Plan
from ..permutations import draw_place
from .base import Finish, Null, NullDistribution, Problem
from .permuted import split_observed


@dataclass(frozen=True)
class Paired(Null):
    """Exchange X_i and Y_i at random, for paired data such as before and after (MATHS §4). Exact at every sample size.

    The statistic is the paired estimate of MMD², without the pairs themselves; a quarter of the work.
    """

    name: ClassVar[str] = "paired"
    exact: ClassVar[bool] = True
    sequential: ClassVar[bool] = True

    def check(self, m: int, n: int) -> None:
        """Complain about samples of different sizes."""
        if m != n:
            raise InputError(
                "unequal-pairs", f"null='paired' is for pairs (X_i, Y_i), but X has {m} rows and Y has {n}."
            )

    def distinct_permutations(self, m: int, n: int) -> tuple[float, int]:
        """2ᵐ, of which exchanging all pairs changes nothing."""
        return (2.0**m, 2) if m < 50 else (math.inf, 2)

    def prepare(self, problem: Problem, count: int) -> tuple[engine.Pass, Finish]:
        """Quadratic forms of random signs."""
        m, _ = problem.sizes
        problem.check_room(2 * m * count)
        rng = problem.rng
        distinct, _ = self.distinct_permutations(m, m)
        if distinct <= count + 1:
            every = rng.permutation(int(distinct))
            bits = ((every >> np.arange(m)[:, None]) & 1).astype(np.int8)
        else:
            bits = rng.integers(0, 2, size=(m, count + 1), dtype=np.int8)
        # The pairs as observed are turned around at random, and their sign with them: the observed signs look like any.
        order, turned = rng.permutation(m), bits[:, 0] == 0
        observed = draw_place(bits.shape[1], rng)
        signs = np.insert(bits[:, 1:], observed, bits[:, 0], axis=1) * 2 - 1
        sides = [reindex([problem.X, problem.Y], order + m * side) for side in (turned, ~turned)]
        work = engine.forms_pass(
            PairDifference(problem.kernel),
            [PairedRows(*sides)],
            torch.from_numpy(signs),
            dtype=problem.dtype,
            compute=problem.compute.leaving(signs.nbytes),
        )

        def finish(results: tuple[Tensor, ...]) -> NullDistribution:
            return split_observed(results[0] / (m * (m - 1)), observed)

        return work, finish


class PairDifference(Kernel):
    """h((x, y), (x', y')) = k(x, x') + k(y, y') - k(x, y') - k(y, x') on pairs of points."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel
        self.members = kernel.members

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """That of the kernel; what is left out of it by the plan cancels."""
        return self.kernel.plan(probe.flatten(0, 1), additive=additive, dtype=dtype)

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Those of the first and those of the second points."""
        return self.kernel.features(x[:, 0], plan), self.kernel.features(x[:, 1], plan)

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """The tile of the only member."""
        return next(self.tiles(a, b, plan))

    def tiles(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Iterator[Tensor]:
        """The four tiles of the kernel, combined."""
        four = (self.kernel.tiles(a[i], b[j], plan) for i, j in ((0, 0), (1, 1), (0, 1), (1, 0)))
        for xx, yy, xy, yx in zip(*four, strict=True):
            yield xx + yy - xy - yx
