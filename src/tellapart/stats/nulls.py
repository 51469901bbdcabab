"""Null distributions: how the statistic would be distributed if both samples came from one distribution.

Exact ones (``"permutation"``, ``"binned"``, ``"swap"``) relabel the data in ways that change nothing if P = Q. They
are exact at every sample size and in every precision: rows are first brought into a random order, so that tiles,
rounding errors and all are the same for the labels observed as for those drawn. (Not rows of a `Precomputed` matrix,
which would cost more than the test; there, rounding errors are merely small.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import engine
from .._util.memory import memory_budget
from ..data import Paired, Points, reindex
from ..engine import Executor, Memory, Progress
from ..kernels import Features, Kernel, Plan, probe_rows
from .estimators import mmd2_from, permutation_variance_from

#: Bins of a sample that are relabelled; with more of them, the rest keep their label.
_MOST_BINS = 500


@dataclass(frozen=True)
class Problem:
    """A test to be done: a kernel, two samples, and how to compute."""

    kernel: Kernel
    X: Points
    Y: Points
    rng: np.random.Generator
    dtype: torch.dtype = torch.float32
    groups: np.ndarray[Any, Any] | None = None
    bins: int | None = None
    lag: float = 0.0
    max_memory: Memory = None
    progress: Progress | None = None
    executor: Executor | None = None

    @property
    def computing(self) -> dict[str, Any]:
        """How to compute, as arguments of a reduction."""
        return {"max_memory": self.max_memory, "progress": self.progress, "executor": self.executor}

    @property
    def sizes(self) -> tuple[int, int]:
        """m and n."""
        return len(self.X), len(self.Y)


@dataclass(frozen=True)
class Null:
    """The observed statistic and the null distribution. With a `Grid`, both have a leading dimension for it."""

    statistic: Tensor
    distribution: Tensor

    def pvalue(self, tolerance: float) -> Tensor:
        """(1 + #{T_b ≥ T}) / (B + 1), with ties counted up to rounding (MATHS §6); never 0."""
        return (1 + self.exceeding(tolerance).sum(-1).double()) / (self.distribution.shape[-1] + 1)

    def exceeding(self, tolerance: float) -> Tensor:
        """Which draws are at least as large as the statistic."""
        observed = self.statistic[..., None]
        largest = torch.maximum(self.distribution.abs().amax(-1, keepdim=True), observed.abs())
        return self.distribution >= observed - tolerance * largest


def permutation(problem: Problem, count: int) -> Null:
    """Relabel all rows, or whole groups of rows: every draw by one matrix product (MATHS §4). Exact."""
    m, n = problem.sizes
    _check_room(problem, 3 * (m + n) * count)
    rng = problem.rng
    order = np.arange(m + n) if problem.kernel.keeps_row_order else rng.permutation(m + n)
    if problem.groups is None:
        labels = draw_subsets(rng, m + n, m, count)
    else:
        labels = draw_groups(rng, problem.groups, m, count)[order]
    S = torch.from_numpy(np.concatenate([(order < m)[:, None], labels], axis=1, dtype=np.uint8, casting="unsafe"))
    forms = engine.quadratic_forms(
        problem.kernel,
        [reindex([problem.X, problem.Y], order)],
        S,
        dtype=problem.dtype,
        **problem.computing,
    )
    return _full_statistics(forms.forms, forms.crosses, forms.total[..., None], m, n)


def binned(problem: Problem, count: int) -> Null:
    """Relabel bins of equal size, of which only the sums are kept (MATHS §5). Exact; little more than the statistic."""
    m, n = problem.sizes
    rng = problem.rng
    # Equal bins of q rows in each sample; what is left over of a sample keeps its label.
    q = _bin_size(m, n, problem.bins)
    of_x, of_y = min(m // q, _MOST_BINS), min(n // q, _MOST_BINS)
    bins = np.concatenate([_bins(rng, m, q, of_x, 0), _bins(rng, n, q, of_y, of_x)])
    bins[bins == -1] = of_x + of_y + np.repeat([0, 1], [m - of_x * q, n - of_y * q])
    # Bins side by side in a random order: then nothing in the computation knows which were of X.
    place = rng.permutation(of_x + of_y + 2)
    order = np.argsort(place[bins], kind="stable")
    sums = engine.bin_sums(
        problem.kernel,
        [reindex([problem.X, problem.Y], order)],
        torch.from_numpy(bins[order]),
        of_x + of_y + 2,
        dtype=problem.dtype,
        **problem.computing,
    )
    observed = np.zeros((of_x + of_y, 1), dtype=np.uint8)
    observed[:of_x] = 1
    labels = np.concatenate([observed, draw_subsets(rng, of_x + of_y, of_x, count)], axis=1)
    fixed = np.zeros((2, count + 1), dtype=np.uint8)
    fixed[0] = 1
    S = torch.from_numpy(np.concatenate([labels, fixed])).double()
    products = sums @ S
    return _full_statistics((S * products).sum(-2), products.sum(-2), sums.sum((-2, -1))[..., None], m, n)


def swap(problem: Problem, count: int) -> Null:
    """Exchange X_i and Y_i at random, for paired data (MATHS §4). Exact; the statistic is the paired one."""
    m, n = problem.sizes
    if m != n:
        raise ValueError(f"null='swap' is for pairs (X_i, Y_i), but X has {m} rows and Y has {n}.")
    _check_room(problem, 2 * m * count)
    rng = problem.rng
    signs = rng.integers(0, 2, size=(m, count + 1), dtype=np.int8) * 2 - 1
    # The pairs as observed are turned around at random, and their sign with them: the observed signs look like any.
    order, turned = rng.permutation(m), signs[:, 0] < 0
    sides = [reindex([problem.X, problem.Y], order + m * side) for side in (turned, ~turned)]
    forms = engine.quadratic_forms(
        PairDifference(problem.kernel),
        [Paired(*sides)],
        torch.from_numpy(signs),
        dtype=problem.dtype,
        **problem.computing,
    ).forms / (m * (m - 1))
    return Null(forms[..., 0], forms[..., 1:])


def wild(problem: Problem, count: int) -> Null:
    """Wild bootstrap (Chwialkowski et al. 2014): random weights for rows, not labels. For large samples only.

    With a ``lag`` the weights follow an autoregressive process, for rows that depend on those up to so far before.
    """
    m, n = problem.sizes
    _check_room(problem, 40 * (m + n) * count)
    weights = [_wild_weights(problem.rng, size, count, problem.lag) for size in (m, n)]
    S = np.zeros((m + n, 1 + 2 * count), dtype=np.float32)
    S[:m, 0] = 1
    S[:m, 1 : 1 + count], S[m:, 1 + count :] = weights
    S = np.concatenate([S, S[:, 1 : 1 + count] + S[:, 1 + count :]], axis=1)
    forms = engine.quadratic_forms(
        problem.kernel,
        [problem.X, problem.Y],
        torch.from_numpy(S),
        dtype=problem.dtype,
        **problem.computing,
    )
    xx, yy, both = forms.forms[..., 1:].split(count, dim=-1)
    # Weights that sum to 0 do not see a constant in the kernel, except on the diagonal that is left out here.
    constant = forms.total[..., None] / ((m + n) * (m + n - 1))
    xx, yy = (form + constant * torch.from_numpy((w**2).sum(0)) for form, w in zip((xx, yy), weights, strict=True))
    both = both + constant * torch.from_numpy(sum((w**2).sum(0) for w in weights))
    distribution = xx / (m * (m - 1)) + yy / (n * (n - 1)) - (both - xx - yy) / (m * n)
    observed = _full_statistics(forms.forms[..., :1], forms.crosses[..., :1], forms.total[..., None], m, n)
    return Null(observed.statistic, distribution)


def spectral(problem: Problem, count: int) -> Null:
    """Draw from the asymptotic null by the eigenvalues of the centred matrix (Gretton et al. 2009).

    Stores the matrix: O(N²) memory, O(N³) time. For large samples only.
    """
    if problem.kernel.members > 1:
        raise ValueError("null='spectral' takes one kernel at a time.")
    m, n = problem.sizes
    N, kernel = m + n, problem.kernel
    plan = kernel.plan(probe_rows(problem.X, problem.Y), dtype=problem.dtype)
    features = kernel.features(torch.cat([problem.X[:], problem.Y[:]]), plan)
    K = kernel.tile(features, features, plan)
    rows = K.mean(0)
    eigenvalues = torch.linalg.eigvalsh(K - rows - rows[:, None] + rows.mean()).double().clamp_min(0) / N
    squares = torch.from_numpy(problem.rng.standard_normal((count, N)) ** 2 - 1)
    sums = engine.sums(kernel, problem.X, problem.Y, **problem.computing)
    return Null(mmd2_from(sums), squares @ eigenvalues * N / (m * n))


def gamma(problem: Problem, count: int) -> Null:
    """Quantiles of the gamma distribution with the null mean and variance of the biased statistic: no draws.

    For large samples only.
    """
    m, n = problem.sizes
    N = m + n
    sums = engine.sums(problem.kernel, problem.X, problem.Y, **problem.computing)
    off_diagonal = (sums.sxx + sums.syy + 2 * sums.sxy) / (N * (N - 1))
    mean = (1 / m + 1 / n) * ((sums.trace_x + sums.trace_y) / N - off_diagonal)
    variance = permutation_variance_from(sums)
    levels = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    if not bool((variance > 0).all()):  # all points are equal to the kernel
        return Null(mmd2_from(sums), torch.zeros(*variance.shape, count, dtype=torch.float64))
    quantiles = _gamma_quantiles(levels, (mean**2 / variance)[..., None]) * (variance / mean)[..., None]
    return Null(mmd2_from(sums), quantiles - mean[..., None])


#: The nulls by name, and whether they are exact at every sample size.
METHODS: dict[str, tuple[Callable[[Problem, int], Null], bool]] = {
    "permutation": (permutation, True),
    "binned": (binned, True),
    "swap": (swap, True),
    "wild": (wild, False),
    "spectral": (spectral, False),
    "gamma": (gamma, False),
}


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
        """The only member's."""
        return next(self.tiles(a, b, plan))

    def tiles(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Iterator[Tensor]:
        """The four tiles of the kernel, combined."""
        four = (self.kernel.tiles(a[i], b[j], plan) for i, j in ((0, 0), (1, 1), (0, 1), (1, 0)))
        for xx, yy, xy, yx in zip(*four, strict=True):
            yield xx + yy - xy - yx


def draw_subsets(rng: np.random.Generator, N: int, m: int, count: int) -> np.ndarray[Any, Any]:
    """Independent uniform subsets of m out of N, as the columns of a matrix of 0 and 1.

    Random bits, of which single ones are flipped at random places until there are m ones. Nothing in this favours
    any place over another, so all subsets of a size are equally likely. It is far faster than sorting.
    """
    if 2 * m == N:
        bits = np.unpackbits(np.frombuffer(rng.bytes(-(-N * count // 8)), np.uint8), count=N * count)
    else:
        bits = (np.frombuffer(rng.bytes(N * count), np.uint8) < round(256 * m / N)).view(np.uint8)
    surplus = np.add.reduce(bits.reshape(N, count), 0, dtype=np.int32).astype(np.int64) - m
    visits = np.arange(63, dtype=np.uint8)[:, None]
    while (columns := np.flatnonzero(surplus)).size:
        excess = surplus[columns]
        places = rng.integers(N, size=(len(visits), columns.size)) * count + columns
        before = bits[places]
        # A place visited twice counts once: the first visit leaves its number there, because it is written last.
        bits[places[::-1]] = (before | visits << 1)[::-1]
        flip = (bits[places] >> 1 == visits) & (before == (excess > 0))
        flip &= np.cumsum(flip, axis=0, dtype=np.int16) <= np.abs(excess)
        bits[places] = before
        bits[places[flip]] ^= 1
        surplus[columns] = excess - np.sign(excess) * flip.sum(0)
    return bits.reshape(N, count)


def draw_groups(rng: np.random.Generator, groups: np.ndarray[Any, Any], m: int, count: int) -> np.ndarray[Any, Any]:
    """Labels that are the same within each group; only groups of equal size are exchanged."""
    _, first, group, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    of_x = first < m
    labels = np.empty((len(first), count), dtype=np.uint8)
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        labels[members] = draw_subsets(rng, len(members), int(of_x[members].sum()), count)
    return labels[group]


def means(values: Tensor, m: int, count: int, rng: np.random.Generator, groups: Any = None) -> Null:
    """The difference of the means of a function of the points, those of X first, and its draws by relabelling. Exact.

    The test is one-sided: a function that was learned is larger on X, or it has learned nothing.
    """
    N = len(values)
    draws = draw_subsets(rng, N, m, count) if groups is None else draw_groups(rng, groups, m, count)
    observed = (np.arange(N) < m)[:, None]
    S = torch.from_numpy(np.concatenate([observed, draws], axis=1, dtype=np.uint8, casting="unsafe"))
    centred = values.double() - values.double().mean()
    # Centred values sum to 0: what X has, Y lacks.
    sums = torch.cat([centred @ block.double() for block in S.split(4096, dim=1)])
    differences = sums * (1 / m + 1 / (N - m))
    return Null(differences[0], differences[1:])


def sequential(
    method: Callable[[Problem, int], Null], problem: Problem, limit: int, alpha: float, tolerance: float
) -> tuple[Null, float]:
    """Draws until the decision at ``alpha`` is known (Besag & Clifford 1991), and an exact p-value.

    For methods whose draws are independent given the data (``permutation`` and ``swap``). Stops at the h-th draw that
    reaches the statistic, h = ⌊alpha (limit + 1)⌋: from then on the test cannot reject. If that is draw L, p = h / L;
    if it never comes, p = (1 + #) / (limit + 1).
    """
    enough = math.floor(alpha * (limit + 1))
    if enough < 1:
        raise ValueError(f"{limit} permutations cannot decide at alpha={alpha}: p-values are at least 1/{limit + 1}.")
    drawn: Null | None = None
    size = 128
    while drawn is None or (drawn.distribution.shape[-1] < limit):
        have = 0 if drawn is None else drawn.distribution.shape[-1]
        fresh = method(problem, min(size, limit - have))
        if drawn is not None:
            fresh = replace(drawn, distribution=torch.cat([drawn.distribution, fresh.distribution]))
        drawn = fresh
        reached = drawn.exceeding(tolerance).nonzero()[:, 0]
        if len(reached) >= enough:
            last = int(reached[enough - 1]) + 1
            return replace(drawn, distribution=drawn.distribution[:last]), enough / last
        size *= 2
    return drawn, float(drawn.pvalue(tolerance))


def full_mmd2(forms: Tensor, crosses: Tensor, total: Tensor, m: int, n: int) -> Tensor:
    """The full MMD² of labellings from sᵀK̃s, sᵀK̃e and eᵀK̃e."""
    within_x, within_y, across = forms, total - 2 * crosses + forms, crosses - forms
    return within_x / (m * (m - 1)) + within_y / (n * (n - 1)) - 2 * across / (m * n)


def _full_statistics(forms: Tensor, crosses: Tensor, total: Tensor, m: int, n: int) -> Null:
    """The first labelling is the one observed."""
    values = full_mmd2(forms, crosses, total, m, n)
    return Null(values[..., 0], values[..., 1:])


def _check_room(problem: Problem, need: int) -> None:
    """Labels of rows for every draw must fit into the memory that is allowed."""
    budget = memory_budget(problem.max_memory)
    if need > budget:
        raise MemoryError(
            f"So many permutations of {sum(problem.sizes):,} rows take {need:,} bytes, but max_memory is {budget:,}. "
            "Use null='binned', which keeps no labels of rows, or fewer permutations, or allow more."
        )


def _bin_size(m: int, n: int, bins: int | None) -> int:
    """Rows of a bin: about ``bins`` bins in all, by default 20 in the smaller sample."""
    if bins is None:
        return max(min(m, n) // 20, 1)
    if not 4 <= bins <= m + n:
        raise ValueError(f"bins must be between 4 and the number of rows, {m + n}, but is {bins}.")
    return max(min((m + n) // bins, m // 2, n // 2), 1)


def _bins(rng: np.random.Generator, size: int, q: int, count: int, start: int) -> np.ndarray[Any, Any]:
    """The bin of each row of a sample: q rows each, drawn at random, and -1 for what is left over."""
    bins = np.full(size, -1, dtype=np.int64)
    bins[rng.permutation(size)[: count * q]] = np.repeat(np.arange(start, start + count), q)
    return bins


def _wild_weights(rng: np.random.Generator, size: int, count: int, lag: float) -> np.ndarray[Any, Any]:
    """Centred weights with variance 1: normal, and autoregressive over ``lag`` rows if that is positive."""
    weights = rng.standard_normal((size, count))
    if lag > 0:
        keep = math.exp(-1 / lag)
        for t in range(1, size):
            weights[t] = keep * weights[t - 1] + math.sqrt(1 - keep**2) * weights[t]
    return np.asarray(weights - weights.mean(0))


def _gamma_quantiles(levels: Tensor, shape: Tensor) -> Tensor:
    """Quantiles of a gamma distribution by bisection of its distribution function."""
    high = (shape + 50 * shape.sqrt() + 50).expand(*shape.shape[:-1], len(levels))
    low, shape = torch.zeros_like(high), shape.expand_as(high)
    for _ in range(100):
        middle = (low + high) / 2
        below = torch.special.gammainc(shape, middle) < levels
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return (low + high) / 2
