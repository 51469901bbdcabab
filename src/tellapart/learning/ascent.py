"""Choosing a kernel by gradient ascent on the power of the test."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import engine
from .._util.progress import ProgressLike, progress_bar
from .._util.rng import RNG, seed_of
from ..data import as_pair
from ..engine import Memory, Progress
from ..kernels import ARD, Kernel
from ..stats import nulls
from ..stats.estimators import mmd2_from, ratio, second_order_from, variance_from
from .bandwidths import select_bandwidth
from .discriminant import fit_witness
from .starts import ard_from_marginals, named_kernel

Criterion = Literal["t", "power", "mmd"]

#: Relabellings that give the threshold of the criterion "power".
_DRAWS = 99
#: Rows of each sample held out at the most: they are looked at again and again.
_HELD_OUT = 2000
#: Factors of the first bandwidth that are tried before learning begins.
_FACTORS = tuple(2.0**k for k in range(-6, 7))


@dataclass
class History:
    """What happened while a kernel was learned, one entry for each time the held-out rows were looked at.

    Attributes
    ----------
    step
        The step of each entry, counted from 0.
    training, validation
        The criterion: the mean over the batches since the entry before, and on the held-out rows.
    score
        What the held-out rows say of the power of the test: (MMD² - c)/√V+ with the threshold c of a normal null
        (for the criterion ``"mmd"``, MMD²). The kernel returned is the one where this is largest: on few rows t
        alone is often large by chance for kernels that see nothing.
    replaced
        The share of those batches in which V was below V2, so that t was U/√V2.
    best_step
        Where the kernel returned was found.
    restart
        Which of the restarts it came from.
    table
        For kernels that are chosen rather than climbed to (``"rbf"``, ``"witness"``): what was known of each choice.
    """

    criterion: str
    step: list[int] = field(default_factory=list)
    training: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    replaced: list[float] = field(default_factory=list)
    best_step: int = 0
    restart: int = 0
    table: dict[str, np.ndarray[Any, Any]] | None = None

    @property
    def best(self) -> float:
        """The score of the kernel returned."""
        return max(self.score)


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
    rng: RNG = 0,
    max_memory: Memory = None,
    progress: ProgressLike = None,
) -> tuple[Kernel, History]:
    """Learn the parameters of a kernel by gradient ascent (Adam). Test on other rows than these.

    Parameters
    ----------
    X, Y
        The rows to learn from, at least 8 of each.
    kernel
        Where to start: any kernel with parameters that ask for a gradient. It is copied, not changed. Or a name:
        ``"ard"`` (a scale for each coordinate; the default), ``"full"`` (a linear map in front of a Gaussian),
        ``"deep"`` (a network in front of a Gaussian, in the safe form of Liu et al. 2020), ``"rbf"`` (a Gaussian, whose
        bandwidth is chosen from a grid), ``"witness"`` (h(x) h(y) for the function h with the best signal-to-noise
        ratio, in closed form: Kübler et al. 2022). The last two do without steps, batches and restarts.
    criterion
        ``"t"``: MMD²/√V+. ``"power"``: (MMD² - c)/√V+ with c the threshold at level ``alpha`` of a permutation test
        whose permutations stay fixed. ``"mmd"``: MMD².
    alpha
        The level for ``"power"``.
    batch_size
        Rows of each sample in a step; None for all.
    steps, learning_rate
        Of Adam.
    validation
        The share of rows held out, at most 2,000 of each sample. After every pass through the others (at least every
        20 steps) they are looked at; the kernel returned is the one that had the best `History.score` there.
    patience
        Stop after so many looks at the held-out rows without a better one.
    restarts
        How often to start, each time with other batches; from the second time on, from parameters that are
        disturbed a little. The best on the held-out rows is returned.
    scan
        Before learning, multiply the bandwidth of the kernel with powers of 2 and start from the best: a kernel whose
        bandwidth is off by a factor of a hundred has no gradient to speak of. An `ARD` kernel also starts, if that
        looks better, from scales by how much each coordinate differs when looked at alone.
    rng
        For the split, the batches and the permutations.
    max_memory
        Bytes, or a string such as ``"1GB"``; by default a quarter of what is free.
    progress
        True, False, None (a bar if standard error is a terminal) or a function of what is done and what is to do.

    Returns
    -------
    kernel, history
        The learned kernel, and a `History`.

    Examples
    --------
    >>> g = torch.Generator().manual_seed(0)
    >>> X, Y = torch.randn(400, 5, generator=g), torch.randn(400, 5, generator=g)
    >>> Y[:, 3] *= 2
    >>> kernel, history = fit_kernel(X, Y, steps=100)
    >>> int(kernel.scales.argmax())
    3
    """
    if criterion not in ("t", "power", "mmd"):
        raise ValueError(f"criterion={criterion!r} is not known. Choose 't', 'power' or 'mmd'.")
    if not 0 < validation < 1:
        raise ValueError(f"validation must be a share between 0 and 1, but is {validation!r}.")
    for name, value in (("steps", steps), ("restarts", restarts), ("patience", patience)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number from 1 up, but is {value!r}.")
    if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 4):
        raise ValueError(f"batch_size must be at least 4, or None for all rows, but is {batch_size!r}.")
    x, y = (sample.values for sample in as_pair(X, Y, at_least=8))
    seed = seed_of(rng)
    if isinstance(kernel, str) and kernel in ("rbf", "witness"):
        with progress_bar(progress, "fit_kernel") as report:
            return _chosen(kernel, x, y, criterion, alpha, seed, max_memory, report)
    start = named_kernel("ard" if kernel is None else kernel, x, y, seed)
    if not any(p.requires_grad for p in start.parameters()):
        raise ValueError("The kernel has no parameters that ask for a gradient, so that there is nothing to learn.")
    draws = np.random.default_rng(seed)
    train, held_out = _split(x, y, validation, draws)
    if isinstance(start, ARD) and scan:
        start = _screened_or_not(start, x, y, criterion, alpha, draws, max_memory)
    best: tuple[Kernel, History] | None = None
    with progress_bar(progress, "fit_kernel") as report:
        for restart in range(restarts):
            run = _Run(copy.deepcopy(start), criterion, alpha, np.random.default_rng(draws.integers(2**62)), max_memory)
            run.train, run.held_out = train, held_out
            if scan:
                run.scan()
            if restart:
                run.disturb()
            for step in run.ascend(steps, learning_rate, batch_size, patience):
                if report is not None:
                    report(restart * steps + step, restarts * steps)
            run.history.restart = restart
            if best is None or run.history.best > best[1].best:
                best = run.kernel, run.history
    assert best is not None
    return best


def _split(X: Tensor, Y: Tensor, share: float, rng: np.random.Generator) -> tuple[list[Tensor], list[Tensor]]:
    """Hold out a share of each sample: at least 4 rows, and leave as many; more than `_HELD_OUT` say little more."""
    train, held_out = [], []
    for Z in (X, Y):
        order = torch.from_numpy(rng.permutation(len(Z))).to(Z.device)
        count = min(max(round(share * len(Z)), 4), len(Z) - 4, _HELD_OUT)
        held_out.append(Z[order[:count]])
        train.append(Z[order[count:]])
    return train, held_out


def _screened_or_not(
    start: ARD, X: Tensor, Y: Tensor, criterion: Criterion, alpha: float, rng: np.random.Generator, max_memory: Memory
) -> ARD:
    """The kernel as it is or screened, whichever does better on each half of the rows when started on the other."""
    halves = [[Z[:_HELD_OUT] for Z in half] for half in _split(X, Y, 0.5, rng)]
    gain = 0.0
    for here, there in (halves, halves[::-1]):
        for kernel, sign in ((ard_from_marginals(start, *here), 1), (copy.deepcopy(start), -1)):
            run = _Run(kernel, criterion, alpha, rng, max_memory)
            run.train = here
            run.scan()
            with torch.no_grad():
                gain += sign * float(run.look(*there).score.nan_to_num(-math.inf))
    return ard_from_marginals(start, X, Y) if gain > 0 else start


def _chosen(
    name: str,
    X: Tensor,
    Y: Tensor,
    criterion: Criterion,
    alpha: float,
    seed: int,
    max_memory: Memory,
    report: Progress | None,
) -> tuple[Kernel, History]:
    """Kernels that are found without a gradient."""
    if name == "witness":
        witness, table = fit_witness(X, Y, np.random.default_rng(seed), report)
        best = float(table["ratio"].max())
        return witness, History("signal to noise", [0], [math.nan], [best], [best], [0.0], table=table)
    choice = select_bandwidth(X, Y, criterion=criterion, alpha=alpha, rng=seed, max_memory=max_memory)
    column = "mmd2" if criterion == "mmd" else criterion
    row = int(np.flatnonzero(choice.table["bandwidth"] == choice.bandwidth)[0])
    found, replaced = (float(choice.table[name][row]) for name in (column, "replaced"))
    return choice.kernel, History(criterion, [0], [math.nan], [found], [found], [replaced], table=choice.table)


class _Look(NamedTuple):
    """The criterion, the score (see `History`), whether V was replaced by V2, and whether both are 0."""

    value: Tensor
    score: Tensor
    replaced: bool
    flat: bool = False


class _Run:
    """One ascent: a kernel, its training and held-out rows, and its history."""

    train: list[Tensor]
    held_out: list[Tensor]

    def __init__(
        self, kernel: Kernel, criterion: Criterion, alpha: float, rng: np.random.Generator, max_memory: Memory
    ) -> None:
        self.kernel, self.criterion, self.alpha = kernel, criterion, alpha
        self.rng, self.max_memory = rng, max_memory
        self.history = History(criterion)
        self._normal = float(torch.special.ndtri(torch.tensor(1 - alpha, dtype=torch.float64)))
        self._labels: dict[tuple[int, int], Tensor] = {}

    def scan(self) -> None:
        """Multiply the bandwidth by powers of 2, and leave it where the score on the training rows is best.

        Not so small that most points see no other: what such a kernel says hangs on a pair or two, and tests with
        it are hardly tests, since almost all permutations give the same value.
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
                scores.append(float(self.look(*rows).score) if near >= 0.5 else -math.inf)
            best = int(np.argmax(np.nan_to_num(scores, nan=-math.inf)))
            parameter.copy_(first + math.log(_FACTORS[best]))

    def _neighbours(self, X: Tensor, Y: Tensor) -> float:
        """How many others a point sees: the mean sum of a row of the kernel matrix, without the point itself."""
        rows = torch.cat([X[:100], Y[:100]])
        K = self.kernel(rows)
        return float((K.sum() - K.diagonal().sum()) / len(rows)) * (len(X) + len(Y)) / len(rows)

    def disturb(self) -> None:
        """Move every parameter a little."""
        with torch.no_grad():
            for parameter in self.kernel.parameters():
                if parameter.requires_grad:
                    noise = torch.from_numpy(self.rng.standard_normal(parameter.shape)).to(parameter)
                    size = 1.0 if parameter.ndim < 2 else float(parameter.std())
                    parameter.add_(noise, alpha=0.3 * size)

    def ascend(self, steps: int, learning_rate: float, batch_size: int | None, patience: int) -> Iterator[int]:
        """Adam on batches; look at the held-out rows after each pass; end with the best kernel seen there."""
        parameters = [p for p in self.kernel.parameters() if p.requires_grad]
        optimiser = torch.optim.Adam(parameters, lr=learning_rate)
        smaller = min(map(len, self.train))
        size = smaller if batch_size is None else min(batch_size, smaller)
        every = max(min(smaller // size, steps), 20)
        history, waiting = self.history, 0
        best = self._look(0, [], [])
        state = copy.deepcopy(self.kernel.state_dict())
        values: list[float] = []
        replaced: list[bool] = []
        for step, batch in zip(range(1, steps + 1), self._batches(size), strict=False):
            look = self.look(*batch)
            value = look.value
            if look.flat or not value.requires_grad:
                break  # nothing is left to learn: the samples are separated entirely, or constant
            if not bool(torch.isfinite(value)):
                raise ValueError(
                    f"The criterion {self.criterion!r} is {float(value.detach())} at step {step}. Try a lower "
                    "learning_rate, or larger batches. kernel='witness' does without this criterion."
                )
            optimiser.zero_grad()
            (-value).backward()
            optimiser.step()
            values.append(float(value.detach()))
            replaced.append(look.replaced)
            yield step
            if step % every == 0 or step == steps:
                found = self._look(step, values, replaced)
                values, replaced = [], []
                waiting = 0 if found > best else waiting + 1
                if found > best:
                    best, history.best_step = found, step
                    state = copy.deepcopy(self.kernel.state_dict())
                if waiting >= patience:
                    break
        self.kernel.load_state_dict(state)

    def _look(self, step: int, values: list[float], replaced: list[bool]) -> float:
        with torch.no_grad():
            look = self.look(*self.held_out)
        self.history.step.append(step)
        self.history.training.append(float(np.mean(values)) if values else math.nan)
        self.history.validation.append(float(look.value))
        self.history.score.append(float(look.score))
        self.history.replaced.append(float(np.mean(replaced)) if replaced else float(look.replaced))
        return float(look.score)

    def _batches(self, size: int) -> Iterator[list[Tensor]]:
        """Disjoint batches of shuffled rows, again and again."""
        full = all(len(Z) == size for Z in self.train)
        while True:
            orders = [torch.from_numpy(self.rng.permutation(len(Z))).to(Z.device) for Z in self.train]
            for k in range(min(map(len, self.train)) // size):
                rows = slice(k * size, (k + 1) * size)
                yield self.train if full else [Z[o[rows]] for Z, o in zip(self.train, orders, strict=True)]

    def look(self, X: Tensor, Y: Tensor) -> _Look:
        """What these rows say of the kernel."""
        s = engine.sums(self.kernel, X, Y, squares=self.criterion != "mmd", max_memory=self.max_memory)
        u = mmd2_from(s)
        if self.criterion == "mmd":
            return _Look(u, u.detach(), False)
        v, v2 = variance_from(s), second_order_from(s)
        larger = torch.maximum(v, v2)
        value = ratio(u - self._threshold(X, Y) if self.criterion == "power" else u, larger, s)
        with torch.no_grad():
            score = ratio(u - self._normal * v2.clamp_min(0).sqrt(), larger, s)
        return _Look(value, score, bool((v < v2).detach()), flat=bool((larger <= 0).detach()))

    def _threshold(self, X: Tensor, Y: Tensor) -> Tensor:
        """The permutation threshold of MMD², with the gradient of the permutation that gives it (MATHS §7)."""
        m, n = len(X), len(Y)
        if (m, n) not in self._labels:
            fixed = np.random.default_rng([m, n])
            self._labels[m, n] = torch.from_numpy(nulls.draw_subsets(fixed, m + n, m, _DRAWS))
        forms = engine.quadratic_forms(self.kernel, [X, Y], self._labels[m, n], max_memory=self.max_memory)
        draws = nulls.full_mmd2(forms.forms, forms.crosses, forms.total, m, n)
        rank = max(math.floor(self.alpha * (_DRAWS + 1) + 1e-9), 1)
        return draws.sort().values[-rank]


def _bandwidth(kernel: Kernel) -> Tensor | None:
    """The parameter that sets the scale of a kernel: its own, or that of the kernel behind its network."""
    for name in ("log_bandwidth", "log_bandwidths"):
        if isinstance(found := getattr(kernel, name, None), Tensor):
            return found
    inner = getattr(kernel, "kernel", None)
    return _bandwidth(inner) if isinstance(inner, Kernel) else None
