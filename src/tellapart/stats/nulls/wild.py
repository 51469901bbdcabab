"""Random weights for rows in place of labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from ... import engine
from ..._util.errors import InputError
from ..formulas import mmd2_of_labels, mmd2_of_totals
from .base import Finish, Null, NullDistribution, Problem


@dataclass(frozen=True)
class Wild(Null):
    """The wild bootstrap (Chwialkowski et al. 2014): random weights for rows, not labels. For large samples only.

    Parameters
    ----------
    lag
        For time series: over how many rows one depends on its past. The weights follow an autoregressive process.
    """

    lag: float = 0.0
    name: ClassVar[str] = "wild"
    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.lag >= 0:
            raise InputError("out-of-range", f"lag must not be negative, but is {self.lag!r}.")

    def prepare(self, problem: Problem, count: int) -> tuple[engine.Pass, Finish]:
        """Quadratic forms of the weights of either sample, and of both."""
        m, n = problem.sizes
        problem.check_room(40 * (m + n) * count)
        weights = [self._draw_weights(problem.rng, size, count) for size in (m, n)]
        S = np.zeros((m + n, 1 + 2 * count), dtype=np.float32)
        S[:m, 0] = 1
        S[:m, 1 : 1 + count], S[m:, 1 + count :] = weights
        S = np.concatenate([S, S[:, 1 : 1 + count] + S[:, 1 + count :]], axis=1)
        work = engine.forms_pass(
            problem.kernel,
            [problem.X, problem.Y],
            torch.from_numpy(S),
            dtype=problem.dtype,
            compute=problem.compute.leaving(S.nbytes),
        )

        def finish(results: tuple[torch.Tensor, ...]) -> NullDistribution:
            forms = engine.Forms(*results)
            xx, yy, both = forms.forms[..., 1:].split(count, dim=-1)
            # Weights that sum to 0 do not see a constant in the kernel, except on the diagonal that is left out here.
            constant = forms.total[..., None] / ((m + n) * (m + n - 1))
            xx, yy = (f + constant * torch.from_numpy((w**2).sum(0)) for f, w in zip((xx, yy), weights, strict=True))
            both = both + constant * torch.from_numpy(sum((w**2).sum(0) for w in weights))
            total = forms.total[..., None]
            observed = mmd2_of_labels(forms.forms[..., :1], forms.crosses[..., :1], total, m, n)
            return NullDistribution(observed[..., 0], mmd2_of_totals(xx, yy, (both - xx - yy) / 2, m, n))

        return work, finish

    def _draw_weights(self, rng: np.random.Generator, size: int, count: int) -> np.ndarray[Any, Any]:
        """Centred weights with variance 1: normal, and autoregressive if there is a lag."""
        weights = rng.standard_normal((size, count))
        if self.lag > 0:
            keep = math.exp(-1 / self.lag)
            for t in range(1, size):
                weights[t] = keep * weights[t - 1] + math.sqrt(1 - keep**2) * weights[t]
        return np.asarray(weights - weights.mean(0))
