"""What a null distribution is: a class with a name that draws the statistic as it would be if P = Q."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ... import engine
from ..._util.errors import InputError, InputMemoryError
from ...data import TensorPoints
from ...engine import Compute
from ...kernels import Kernel
from ..pvalues import permutation_pvalue, reaches


@dataclass(frozen=True)
class Problem:
    """A test to be done.

    Attributes
    ----------
    kernel, X, Y
        The kernel and the samples, checked.
    rng
        Where all randomness comes from.
    compute
        Memory, threads, cluster and progress, to be passed to the functions of `tellapart.engine`.
    dtype
        The precision of tiles.
    """

    kernel: Kernel
    X: TensorPoints
    Y: TensorPoints
    rng: np.random.Generator
    compute: Compute
    dtype: torch.dtype = torch.float32

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of rows, m and n."""
        return len(self.X), len(self.Y)

    def check_room(self, need: int) -> None:
        """Complain if labels of rows for every draw do not fit into the memory that is allowed."""
        if need > self.compute.max_memory:
            raise InputMemoryError(
                "not-enough-memory",
                f"So many permutations of {sum(self.sizes):,} rows take {need:,} bytes, but "
                f"{self.compute.max_memory:,} are allowed.",
                "Use {null}, which keeps no labels of rows, or fewer {permutations}, or allow more with {max_memory}.",
                null="binned",
                permutations=...,
                max_memory=...,
            )


@dataclass(frozen=True)
class NullDistribution:
    """The observed statistic and the null distribution. With a `Grid`, both have a leading dimension for it."""

    statistic: Tensor
    distribution: Tensor

    def pvalue(self, tolerance: float) -> Tensor:
        """(1 + #{T_b ≥ T}) / (B + 1), with ties counted up to rounding (MATHS §6); never 0."""
        return permutation_pvalue(self.statistic, self.distribution, tolerance)

    def reaches(self, tolerance: float) -> Tensor:
        """Which draws are at least as large as the statistic."""
        return reaches(self.statistic, self.distribution, tolerance)


#: What makes a null distribution of the results of a pass over the kernel.
Finish = Callable[[tuple[Tensor, ...]], NullDistribution]


class Null:
    """A null distribution. Subclass it for your own, and give an object of it as ``null=``.

    A subclass has a `name`, says whether it is `exact`, and defines `draw`. It is best a frozen dataclass, whose fields
    are its options. One that makes a single pass over the kernel may define `prepare` instead, and then
    `mmd_test_cost` knows what it costs.

    Attributes
    ----------
    name
        What it is called in results, and in ``null=`` if it is one of ours.
    exact
        Whether the test is exact at every sample size.
    sequential
        Whether draws are independent given the data, so that ``permutations="auto"`` may stop early.

    Examples
    --------
    Signs in place of labels:

    >>> import numpy as np, torch, tellapart as ta
    >>> class Rademacher(Null):
    ...     name, exact = "rademacher", False
    ...
    ...     def draw(self, problem, count):
    ...         m, n = problem.sizes
    ...         S = torch.from_numpy(problem.rng.choice([-1.0, 1.0], size=(m + n, count)))
    ...         both = engine.quadratic_forms(problem.kernel, [problem.X, problem.Y], S, compute=problem.compute)
    ...         observed = engine.sums(problem.kernel, problem.X, problem.Y, compute=problem.compute)
    ...         scale = (1 / m + 1 / n) / (m + n)
    ...         return NullDistribution(mmd2_from(observed), scale * both.forms)
    >>> from tellapart.stats.formulas import mmd2_from
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> ta.mmd_test(X, X + 1, null=Rademacher(), rng=0).reject(0.05)
    True
    """

    name: ClassVar[str]
    exact: ClassVar[bool]
    sequential: ClassVar[bool] = False

    def check(self, m: int, n: int) -> None:
        """Complain if there is no such null distribution for samples of m and n rows."""

    def checked(self, m: int, n: int) -> Null:
        """This null distribution for samples of m and n rows, after `check`; what that computes may be kept."""
        self.check(m, n)
        return self

    def distinct_permutations(self, m: int, n: int) -> tuple[float, int]:
        """Number of distinct permutations of m and n rows, and of those that always have the observed statistic.

        If there are few, `draw` enumerates them, and they bound the smallest attainable p-value.
        """
        return math.inf, 1

    def draw(self, problem: Problem, count: int) -> NullDistribution:
        """The statistic, and ``count`` draws of it under the null; or fewer, if those are all permutations."""
        work, finish = self.prepare(problem, count)
        return finish(work.run())

    def prepare(self, problem: Problem, count: int) -> tuple[engine.Pass, Finish]:
        """The one pass over the kernel that is needed, not run yet, and what makes the null distribution of it."""
        raise InputError(
            "nothing-to-estimate",
            f"null={self.name!r} is not a single pass over tiles, so its cost cannot be estimated.",
        )
