"""Gradient ascent on the power of the test."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import engine
from .._util.errors import InputError
from ..engine import Compute
from ..kernels import Kernel
from ..stats.formulas import estimate_from, mmd2_from, mmd2_of_labels, ratio
from ..stats.permutations import draw_subsets
from ..stats.pvalues import attainable_level, critical_value, normal_quantile
from .history import Criterion, History

#: Number of permutations that determine the threshold of the criterion "power".
_DRAWS = 99
#: Factors of the first bandwidth that are tried before learning begins.
_FACTORS = tuple(2.0**k for k in range(-6, 7))


class CriterionValue(NamedTuple):
    """The criterion, the score (see `History`), whether V was replaced by V2, and whether both are 0."""

    value: Tensor
    score: Tensor
    replaced: bool
    flat: bool = False


class Ascent:
    """A gradient ascent: a kernel, its training and held-out rows, and its history."""

    train: list[Tensor]
    held_out: list[Tensor]

    def __init__(
        self, kernel: Kernel, criterion: Criterion, alpha: float, rng: np.random.Generator, compute: Compute
    ) -> None:
        self.kernel, self.criterion, self.alpha = kernel, criterion, alpha
        self.rng, self.compute = rng, compute
        self.history = History(criterion)
        self._labels: dict[tuple[int, int], Tensor] = {}

    def scan(self) -> None:
        """Choose the bandwidth, times powers of 2, with the best score on the training rows.

        Bandwidths at which most points have no neighbors are excluded. The value of such a kernel depends on very few
        pairs, and almost all permutations give the same statistic.
        """
        parameter = _bandwidth(self.kernel)
        if parameter is None:
            return
        first = parameter.detach().clone()
        rows = [Z[:1000] for Z in self.train]
        scores: list[float] = []
        with torch.no_grad():
            for factor in _FACTORS:
                parameter.copy_(first + math.log(factor))
                near = math.inf if len(scores) > len(_FACTORS) // 2 else self._neighbours(*rows)
                scores.append(float(self.evaluate(*rows).score) if near >= 0.5 else -math.inf)
            best = int(np.argmax(np.nan_to_num(scores, nan=-math.inf)))
            parameter.copy_(first + math.log(_FACTORS[best]))

    def _neighbours(self, X: Tensor, Y: Tensor) -> float:
        """Effective number of neighbors: the mean row sum of the kernel matrix without its diagonal."""
        rows = torch.cat([X[:100], Y[:100]])
        K = self.kernel(rows)
        return float((K.sum() - K.diagonal().sum()) / len(rows)) * (len(X) + len(Y)) / len(rows)

    def disturb(self) -> None:
        """Perturb every parameter slightly."""
        with torch.no_grad():
            for parameter in self.kernel.parameters():
                if parameter.requires_grad:
                    noise = torch.from_numpy(self.rng.standard_normal(parameter.shape)).to(parameter)
                    size = 1.0 if parameter.ndim < 2 else float(parameter.std())
                    parameter.add_(noise, alpha=0.3 * size)

    def ascend(self, steps: int, learning_rate: float, batch_size: int | None, patience: int) -> Iterator[int]:
        """Run Adam on batches, evaluate on the held-out rows after each pass, and keep the best kernel."""
        parameters = [p for p in self.kernel.parameters() if p.requires_grad]
        optimiser = torch.optim.Adam(parameters, lr=learning_rate)
        smaller = min(map(len, self.train))
        size = smaller if batch_size is None else min(batch_size, smaller)
        every = max(min(smaller // size, steps), 20)
        history, waiting = self.history, 0
        best = self._record(0, [], [])
        state = copy.deepcopy(self.kernel.state_dict())
        values: list[float] = []
        replaced: list[bool] = []
        for step, batch in zip(range(1, steps + 1), self._batches(size), strict=False):
            found = self.evaluate(*batch)
            value = found.value
            if found.flat or not value.requires_grad:
                break  # the samples are separated completely, or constant
            if not bool(torch.isfinite(value)):
                raise InputError(
                    "learning-diverged",
                    f"The criterion {self.criterion!r} is {float(value.detach())} at step {step}. Try a lower "
                    "learning_rate, or larger batches. kernel='witness' does not use a criterion.",
                )
            optimiser.zero_grad()
            (-value).backward()
            optimiser.step()
            values.append(float(value.detach()))
            replaced.append(found.replaced)
            yield step
            if step % every == 0 or step == steps:
                score = self._record(step, values, replaced)
                values, replaced = [], []
                waiting = 0 if score > best else waiting + 1
                if score > best:
                    best, history.best_step = score, step
                    state = copy.deepcopy(self.kernel.state_dict())
                if waiting >= patience:
                    break
        self.kernel.load_state_dict(state)

    def _record(self, step: int, values: list[float], replaced: list[bool]) -> float:
        """Compute the score on the held-out rows and add it to the history."""
        with torch.no_grad():
            found = self.evaluate(*self.held_out)
        self.history.step.append(step)
        self.history.training.append(float(np.mean(values)) if values else math.nan)
        self.history.validation.append(float(found.value))
        self.history.score.append(float(found.score))
        self.history.replaced.append(float(np.mean(replaced)) if replaced else float(found.replaced))
        return float(found.score)

    def _batches(self, size: int) -> Iterator[list[Tensor]]:
        """Yield disjoint batches of shuffled rows without end."""
        full = all(len(Z) == size for Z in self.train)
        while True:
            orders = [torch.from_numpy(self.rng.permutation(len(Z))).to(Z.device) for Z in self.train]
            for k in range(min(map(len, self.train)) // size):
                rows = slice(k * size, (k + 1) * size)
                yield self.train if full else [Z[o[rows]] for Z, o in zip(self.train, orders, strict=True)]

    def evaluate(self, X: Tensor, Y: Tensor) -> CriterionValue:
        """Evaluate the criterion of the kernel on these rows."""
        s = engine.sums(self.kernel, X, Y, squares=self.criterion != "mmd", compute=self.compute)
        if self.criterion == "mmd":
            u = mmd2_from(s)
            return CriterionValue(u, u.detach(), False)
        found = estimate_from(s)
        variance = found.positive_variance
        value = ratio(found.mmd2 - self._threshold(X, Y), variance, s) if self.criterion == "power" else found.t
        with torch.no_grad():
            null_deviation = found.second_order.clamp_min(0).sqrt()
            score = ratio(found.mmd2 - normal_quantile(self.alpha) * null_deviation, variance, s)
        return CriterionValue(value, score, bool(found.replaced), flat=bool((variance <= 0).detach()))

    def _threshold(self, X: Tensor, Y: Tensor) -> Tensor:
        """Permutation threshold of MMD², with the gradient of the permutation that attains it (MATHS §7)."""
        m, n = len(X), len(Y)
        if (m, n) not in self._labels:
            fixed = np.random.default_rng([m, n])
            self._labels[m, n] = torch.from_numpy(draw_subsets(fixed, m + n, m, _DRAWS))
        forms = engine.quadratic_forms(self.kernel, [X, Y], self._labels[m, n], compute=self.compute)
        draws = mmd2_of_labels(forms.forms, forms.crosses, forms.total, m, n)
        return critical_value(draws, attainable_level(self.alpha, _DRAWS))


def _bandwidth(kernel: Kernel) -> Tensor | None:
    """The parameter for the scale of a kernel: its own, or that of the kernel after its network."""
    for name in ("log_bandwidth", "log_bandwidths"):
        if isinstance(found := getattr(kernel, name, None), Tensor):
            return found
    inner = getattr(kernel, "kernel", None)
    return _bandwidth(inner) if isinstance(inner, Kernel) else None
