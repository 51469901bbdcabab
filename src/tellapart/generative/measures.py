"""Distance of generated samples from held-out data, for any training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError
from .._util.rng import RNG, seed_of
from ..engine import computing
from ..kernels import Kernel, Mixture
from ..learning.bandwidths import median_distance
from ..stats.estimators import estimate
from ..twosample import mmd_test
from ..twosample.ranking import FACTORS
from ..twosample.separation import held_out_auc

#: Rows of each side that a witness is learned and tried on, at the least.
FEWEST = 20


class Writer(Protocol):
    """A logger of scalars, such as ``torch.utils.tensorboard.SummaryWriter``."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None) -> None:
        """Log a scalar."""


def measure_samples(
    made: Tensor, held_out: Tensor, kernel: Kernel, *, permutations: int = 199, rng: RNG = None
) -> dict[str, float]:
    """MMD², t, the exact p-value and the AUC of samples against held-out data.

    The AUC is that of a witness that is learned on one half of the rows and evaluated on the other: 0.5 if samples
    cannot be distinguished from data, 1 if they always can. It is omitted with fewer than `FEWEST` rows.
    """
    seed = seed_of(rng)
    with torch.no_grad():
        found = estimate(made, held_out, kernel)
        test = mmd_test(made, held_out, kernel, permutations=permutations, rng=seed)
        measured = {"mmd2": float(found.mmd2), "t": float(found.t), "pvalue": float(test.pvalue)}
        if min(len(made), len(held_out)) >= FEWEST:
            with computing() as compute:
                measured["auc"] = held_out_auc(held_out, made, np.random.default_rng(seed), compute)[0]
    return measured


class SampleCheck:
    """Compare samples of a generator with held-out data every ``every`` steps, and log the result.

    Parameters
    ----------
    sample
        Function that draws the given number of rows from the generator.
    held_out
        Data that the generator is not trained on.
    every
        Number of steps between comparisons.
    writer
        A ``SummaryWriter`` of TensorBoard, or another object with ``add_scalar``; if None, the numbers are only
        returned.
    rows
        Maximum number of rows of each sample to compare.
    kernel
        By default a sum of Gaussians at 1/8 to 2 median distances of the held-out data, the same at every step.
    tag
        Prefix of the names of the scalars: ``held_out/pvalue``, ….
    rng
        For permutations and splits, the same at every step.

    Examples
    --------
    >>> check = SampleCheck(lambda n: torch.randn(n, 2) + 3, torch.randn(200, 2), every=100, rng=0)
    >>> check(1) is None, check(100)["pvalue"]
    (True, 0.005)
    """

    def __init__(
        self,
        sample: Callable[[int], Tensor],
        held_out: Tensor,
        *,
        every: int = 1_000,
        writer: Writer | None = None,
        rows: int = 1_000,
        kernel: Kernel | None = None,
        tag: str = "held_out",
        rng: RNG = None,
    ) -> None:
        if every < 1 or rows < 8 or len(held_out) < 8:
            raise InputError("out-of-range", "`every` must be at least 1 and `rows` at least 8.")
        self.sample, self.every, self.writer, self.tag, self.seed = sample, every, writer, tag, seed_of(rng)
        self.held_out = held_out[:rows].detach().cpu().flatten(1)
        median = median_distance([self.held_out], self.seed)
        self.kernel = kernel or Mixture([factor * median for factor in FACTORS]).requires_grad_(False)

    def __call__(self, step: int) -> dict[str, float] | None:
        """Return the measurements every ``every`` steps, otherwise None. Call it after each step."""
        if step % self.every:
            return None
        with torch.no_grad():
            made = self.sample(len(self.held_out)).detach().cpu().flatten(1).to(self.held_out.dtype)
        found = measure_samples(made, self.held_out, self.kernel, rng=self.seed)
        if self.writer is not None:
            for name, value in found.items():
                self.writer.add_scalar(f"{self.tag}/{name}", value, step)
        return found
