"""Learning a kernel: by gradient ascent, from a grid, or in closed form."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError, InputTypeError
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data import as_pair
from ..engine import Compute, MemoryLike, computing
from ..kernels import ARD, Kernel
from ..stats.pvalues import check_level
from .ascent import Ascent
from .bandwidths import choose_bandwidth
from .discriminant import fit_witness
from .history import Criterion, History
from .starts import ard_from_marginals, named_kernel

#: Maximum number of held-out rows of each sample, which are evaluated repeatedly.
_HELD_OUT = 2000


@dataclass(frozen=True)
class LearningSettings:
    """Options of `fit_kernel`, validated."""

    criterion: Criterion = "t"
    alpha: float = 0.05
    batch_size: int | None = 256
    steps: int = 500
    learning_rate: float = 0.05
    validation: float = 0.4
    patience: int = 10
    restarts: int = 1
    scan: bool = True

    def __post_init__(self) -> None:
        check_level(self.alpha)
        if self.criterion not in ("t", "power", "mmd"):
            raise InputError("unknown-choice", f"`criterion` must be 't', 'power' or 'mmd', got {self.criterion!r}.")
        if not 0 < self.validation < 1:
            raise InputError("out-of-range", f"validation must be a share between 0 and 1, but is {self.validation!r}.")
        for name in ("steps", "restarts", "patience"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InputError("out-of-range", f"{name} must be a whole number from 1 up, but is {value!r}.")
        size = self.batch_size
        if size is not None and (not isinstance(size, int) or size < 4):
            raise InputError("out-of-range", f"batch_size must be at least 4, or None for all rows, but is {size!r}.")

    @classmethod
    def from_mapping(cls, criterion: Criterion, learning: Mapping[str, Any] | None) -> LearningSettings:
        """Create settings from a criterion and options by name."""
        given = dict(learning or {})
        known = [f.name for f in fields(cls) if f.name != "criterion"]
        odd = next((name for name in given if name not in known), None)
        if odd is not None:
            raise InputTypeError("unknown-option", f"learning has no option {odd!r}. It takes {', '.join(known)}.")
        return cls(criterion, **given)


def fit_kernel(
    X: Any,
    Y: Any,
    kernel: Any = None,
    criterion: Criterion = "t",
    *,
    alpha: float = 0.05,
    batch_size: int | None = 256,
    steps: int = 500,
    learning_rate: float = 0.05,
    validation: float = 0.4,
    patience: int = 10,
    restarts: int = 1,
    scan: bool = True,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    progress: ProgressLike = None,
) -> tuple[Kernel, History]:
    """Learn the parameters of a kernel by gradient ascent (Adam). Use other rows to test.

    Parameters
    ----------
    X, Y : array-like
        The rows to learn from, at least 8 of each sample.
    kernel : str or Kernel
        A kernel to start from, with parameters that require gradients; it is copied and not changed. Or a name:
        ``"ard"`` (a scale for each coordinate; the default), ``"full"`` (a linear map before a Gaussian), ``"deep"``
        (a network before a Gaussian, in the safe form of Liu et al. 2020), ``"rbf"`` (a Gaussian whose bandwidth is
        selected from a grid), ``"witness"`` (h(x) h(y) for the function h with the largest signal-to-noise ratio, in
        closed form: Kübler et al. 2022). The last two use no steps, batches or restarts.
    criterion : {"t", "power", "mmd"}
        ``"t"``: MMD²/√V+. ``"power"``: (MMD² - c)/√V+ with c the threshold at level ``alpha`` of a permutation test
        with fixed permutations. ``"mmd"``: MMD².
    alpha : float
        Level for ``"power"``.
    batch_size : int or None
        Number of rows of each sample in a step, or None for all.
    steps : int
        Maximum number of steps of Adam.
    learning_rate : float
        Learning rate of Adam.
    validation : float
        Share of rows to hold out, at most 2,000 of each sample. The kernel is evaluated on them after every pass
        through the other rows, and at least every 20 steps. The returned kernel is the one with the largest
        `History.score`.
    patience : int
        Number of evaluations without improvement after which to stop.
    restarts : int
        Number of starts. They use different batches, and all but the first use perturbed initial parameters. The kernel
        with the largest score is returned.
    scan : bool
        First multiply the bandwidth of the kernel by powers of 2 and start from the best one, since gradients vanish
        if the bandwidth is wrong by orders of magnitude. An `ARD` kernel also starts from scales that are estimated
        from each coordinate alone, if their score is larger.
    rng : int, torch.Generator, numpy.random.Generator or None
        Random numbers for the split, the batches and the permutations.
    max_memory, threads
        As for `estimate`. The rows are held in memory twice in addition. If ``"witness"`` is learned with a
        ``max_memory`` below 1.2 GB, it uses fewer rows (see the notes).
    progress : bool, callable or None
        True, False, None (a bar if standard error is a terminal), or a function of the work done and the total work.

    Returns
    -------
    kernel : Kernel
        The learned kernel.
    history : History
        Its scores.

    Notes
    -----
    A step takes (2 batch_size)² kernel evaluations, forward and backward. ``"witness"`` stores and factorizes kernel
    matrices: at most 4,000 rows are used to select bandwidth and ridge, and at most 6,000 for the result. These numbers
    are smaller, and the result is different, if they do not fit into ``max_memory`` (1,200 in 60 MB).

    Examples
    --------
    >>> g = torch.Generator().manual_seed(0)
    >>> X, Y = torch.randn(400, 5, generator=g), torch.randn(400, 5, generator=g)
    >>> Y[:, 3] *= 2
    >>> kernel, history = fit_kernel(X, Y, steps=100, rng=0)
    >>> int(kernel.scales.argmax())
    3
    """
    settings = LearningSettings(
        criterion, alpha, batch_size, steps, learning_rate, validation, patience, restarts, scan
    )
    x, y = (sample.values for sample in as_pair(X, Y, at_least=8))
    with computing(max_memory, progress=progress, threads=threads, title="fit_kernel") as compute:
        return learn_kernel(x, y, kernel, settings, seed_of(rng), compute)


def learn_kernel(
    X: Tensor, Y: Tensor, kernel: Any, settings: LearningSettings, seed: int, compute: Compute
) -> tuple[Kernel, History]:
    """`fit_kernel` without validation of the samples."""
    criterion, alpha = settings.criterion, settings.alpha
    if isinstance(kernel, str) and kernel in ("rbf", "witness"):
        return _without_gradient(kernel, X, Y, settings, seed, compute)
    start = named_kernel("ard" if kernel is None else kernel, X, Y, seed)
    if not any(p.requires_grad for p in start.parameters()):
        raise InputError(
            "nothing-to-learn",
            "The kernel has no parameters that require gradients, so there is nothing to learn.",
        )
    draws = np.random.default_rng(seed)
    train, held_out = _split(X, Y, settings.validation, draws)
    quiet = compute.here()
    if isinstance(start, ARD) and settings.scan:
        start = _better_start(start, X, Y, settings, draws, quiet)
    best: tuple[Kernel, History] | None = None
    for restart in range(settings.restarts):
        rng = np.random.default_rng(draws.integers(2**62))
        run = Ascent(copy.deepcopy(start), criterion, alpha, rng, quiet)
        run.train, run.held_out = train, held_out
        if settings.scan:
            run.scan()
        if restart:
            run.disturb()
        for step in run.ascend(settings.steps, settings.learning_rate, settings.batch_size, settings.patience):
            if compute.progress is not None:
                compute.progress(restart * settings.steps + step, settings.restarts * settings.steps)
        run.history.restart = restart
        if best is None or run.history.best > best[1].best:
            best = run.kernel, run.history
    assert best is not None
    return best


def _split(X: Tensor, Y: Tensor, share: float, rng: np.random.Generator) -> tuple[list[Tensor], list[Tensor]]:
    """Hold out a share of each sample: at least 4 rows and at most `_HELD_OUT`, leaving at least 4."""
    train, held_out = [], []
    for Z in (X, Y):
        order = torch.from_numpy(rng.permutation(len(Z))).to(Z.device)
        count = min(max(round(share * len(Z)), 4), len(Z) - 4, _HELD_OUT)
        held_out.append(Z[order[:count]])
        train.append(Z[order[count:]])
    return train, held_out


def _better_start(
    start: ARD, X: Tensor, Y: Tensor, settings: LearningSettings, rng: np.random.Generator, compute: Compute
) -> ARD:
    """The kernel as it is or with scales from marginals, whichever does better on each half of the rows when started
    on the other.
    """
    halves = [[Z[:_HELD_OUT] for Z in half] for half in _split(X, Y, 0.5, rng)]
    gain = 0.0
    for here, there in (halves, halves[::-1]):
        for kernel, sign in ((ard_from_marginals(start, here[0], here[1], compute), 1), (copy.deepcopy(start), -1)):
            run = Ascent(kernel, settings.criterion, settings.alpha, rng, compute)
            run.train = here
            run.scan()
            with torch.no_grad():
                gain += sign * float(run.evaluate(*there).score.nan_to_num(-math.inf))
    return ard_from_marginals(start, X, Y, compute) if gain > 0 else start


def _without_gradient(
    name: str, X: Tensor, Y: Tensor, settings: LearningSettings, seed: int, compute: Compute
) -> tuple[Kernel, History]:
    """Kernels that are selected without gradient ascent."""
    if name == "witness":
        witness, table = fit_witness(X, Y, np.random.default_rng(seed), compute)
        best = float(table["ratio"].max())
        return witness, History("signal to noise", [0], [math.nan], [best], [best], [0.0], table=table)
    criterion = settings.criterion
    choice = choose_bandwidth(X, Y, None, criterion, alpha=settings.alpha, seed=seed, compute=compute)
    column = "mmd2" if criterion == "mmd" else criterion
    row = int(np.flatnonzero(choice.table["bandwidth"] == choice.bandwidth)[0])
    found, replaced = (float(choice.table[name][row]) for name in (column, "replaced"))
    return choice.kernel, History(criterion, [0], [math.nan], [found], [found], [replaced], table=choice.table)
