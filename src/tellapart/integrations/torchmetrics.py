"""A metric of torchmetrics: how far generated samples are from real ones, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from torch import Tensor, nn

from .._util.errors import InputError
from .._util.extras import extra
from ..engine import Sums
from ..kernels import Kernel, Linear, Polynomial, as_kernel
from ..stats.estimators import estimate, mmd2
from ..stats.formulas import estimate_from
from ..stats.nulls.gamma import gamma_pvalue
from ..twosample import mmd_test

if TYPE_CHECKING:
    from torchmetrics import Metric
else:
    Metric = extra("torchmetrics", group="torchmetrics", what="KernelDistance").Metric

__all__ = ["KernelDistance"]

#: Kernels whose explicit features have at most so many coordinates are summed as they come: two matrices of that side.
_MOST_COORDINATES = 1024


class KernelDistance(Metric):
    """MMD² between real and generated samples, with a standard error and a p-value; KID is one choice of its kernel.

    Parameters
    ----------
    features
        A function or module applied to each batch, whose output (n, d) is compared; by default the batch itself.
    kernel
        A kernel of `tellapart.kernels`. By default KID's: (x·y / d + 1)³.
    permutations
        For the p-value: an exact test by so many relabellings, or none with 0.
    subsets, subset_size
        Compute the mean and the standard deviation over random subsets, as KID does, and nothing else.
    streaming
        Keep sums instead of all features. ``"auto"``: where the kernel allows (`Linear`, and `Polynomial` of few
        coordinates: at most 1,024 products). The standard error is the same then, and the p-value is that of a gamma
        distribution: for large samples. It needs ``dimensions`` to be known before the first batch.
    dimensions
        How many features there are; needed for streaming.
    reset_real_features
        Whether `reset` forgets the real samples too.
    rng
        The seed of permutations and subsets.
    **others
        Of ``torchmetrics.Metric``.

    `compute` returns a dict: ``mmd2`` (unbiased, may be negative), ``standard_error`` and ``pvalue``; with ``subsets``,
    ``mmd2`` and ``std``.

    Examples
    --------
    >>> import torch
    >>> from tellapart.integrations.torchmetrics import KernelDistance
    >>> g = torch.Generator().manual_seed(0)
    >>> metric = KernelDistance(permutations=199, rng=0)
    >>> metric.update(torch.randn(100, 5, generator=g), real=True)
    >>> metric.update(torch.randn(100, 5, generator=g) + 0.5, real=False)
    >>> found = metric.compute()
    >>> sorted(found), round(found["pvalue"].item(), 4)
    (['mmd2', 'pvalue', 'standard_error'], 0.005)
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def __init__(
        self,
        features: Callable[[Tensor], Tensor] | None = None,
        kernel: Any = None,
        *,
        permutations: int = 199,
        subsets: int | None = None,
        subset_size: int = 1000,
        streaming: Literal["auto"] | bool = "auto",
        dimensions: int | None = None,
        reset_real_features: bool = True,
        rng: int = 0,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.extractor = features
        self.kernel: Kernel = as_kernel(Polynomial(3) if kernel is None else kernel)
        self.permutations, self.subsets, self.subset_size, self.rng = permutations, subsets, subset_size, rng
        self.reset_real_features = reset_real_features
        width = None if dimensions is None or subsets is not None else _width(self.kernel, dimensions)
        if streaming is True and (width is None or width > _MOST_COORDINATES):
            raise InputError(
                "unsuitable-kernel",
                f"Sums cannot stand for all features with {self.kernel} of {dimensions} dimensions.",
                f"That needs a Linear or Polynomial kernel with at most {_MOST_COORDINATES} products, {{dimensions}}, "
                "and no {subsets}.",
                dimensions=...,
                subsets=...,
            )
        self.streaming = streaming is not False and width is not None and width <= _MOST_COORDINATES
        self.dimensions = dimensions
        for side in ("real", "fake"):
            if self.streaming and width is not None:
                # Σψψᵀ with ψ = (φ, |φ|², 1) holds every sum that MMD² and its variance are made of.
                zeros = torch.zeros(width + 2, width + 2, dtype=torch.float64)
                self.add_state(f"{side}_moments", zeros, dist_reduce_fx="sum")
            else:
                self.add_state(f"{side}_features", [], dist_reduce_fx="cat")

    @torch.no_grad()
    def update(self, x: Tensor, real: bool) -> None:
        """Take a batch of real (or generated) samples."""
        rows = self._extract(x)
        side = "real" if real else "fake"
        if not self.streaming:
            getattr(self, f"{side}_features").append(rows)
            return
        if rows.shape[1] != self.dimensions:
            raise InputError(
                "shapes-differ", f"dimensions={self.dimensions}, but a batch has {rows.shape[1]} features."
            )
        phi = _explicit(self.kernel, rows.double())
        psi = torch.cat([phi, phi.square().sum(1, keepdim=True), torch.ones_like(phi[:, :1])], 1)
        getattr(self, f"{side}_moments").add_(psi.T @ psi)

    @torch.no_grad()
    def compute(self) -> dict[str, Tensor]:
        """MMD², its standard error and its p-value."""
        if self.streaming:
            real_sums, fake_sums = cast(Tensor, self.real_moments), cast(Tensor, self.fake_moments)
            sums = cast(Sums, sums_from_moments(real_sums, fake_sums))
            if min(sums.m, sums.n) < 4:
                raise InputError(
                    "too-few-rows",
                    f"At least 4 rows of each are needed, but there are {sums.m} real and {sums.n} fake.",
                )
            found = estimate_from(sums)
            pvalue = gamma_pvalue(sums)
        else:
            real, fake = _concatenate(self.real_features, "real"), _concatenate(self.fake_features, "fake")
            if self.subsets is not None:
                return self._of_subsets(real, fake)
            found = estimate(real, fake, self.kernel)
            pvalue = torch.tensor(math.nan, dtype=torch.float64)
            if self.permutations:
                test = mmd_test(real, fake, self.kernel, permutations=self.permutations, rng=self.rng)
                pvalue = torch.tensor(test.pvalue, dtype=torch.float64)
        values = {"mmd2": found.mmd2, "standard_error": found.positive_variance.sqrt()}
        values |= {"pvalue": pvalue} if self.permutations else {}
        return {name: value.detach().to(self.device) for name, value in values.items()}

    def _of_subsets(self, real: Tensor, fake: Tensor) -> dict[str, Tensor]:
        """The mean over random subsets, drawn as torchmetrics' KID draws them from the same seed."""
        if min(len(real), len(fake)) < self.subset_size:
            raise InputError(
                "too-few-rows",
                f"subset_size={self.subset_size}, but there are {len(real)} real and {len(fake)} generated rows.",
            )
        generator = torch.Generator().manual_seed(self.rng)
        drawn = []
        for _ in range(self.subsets or 0):
            x, y = (rows[torch.randperm(len(rows), generator=generator)[: self.subset_size]] for rows in (real, fake))
            drawn.append(torch.as_tensor(mmd2(x, y, self.kernel)))
        values = torch.stack(drawn).to(self.device)
        return {"mmd2": values.mean(), "std": values.std(unbiased=False)}

    def reset(self) -> None:
        """Forget all samples, or all but the real ones."""
        names = ("real_moments", "real_features")
        kept = {} if self.reset_real_features else {n: getattr(self, n) for n in names if hasattr(self, n)}
        kept = {name: list(value) if isinstance(value, list) else value.clone() for name, value in kept.items()}
        super().reset()
        for name, value in kept.items():
            setattr(self, name, value)

    def _extract(self, x: Tensor) -> Tensor:
        if isinstance(self.extractor, nn.Module):
            self.extractor.eval()
        rows = x if self.extractor is None else self.extractor(x)
        if not isinstance(rows, Tensor) or not len(rows) or not rows.is_floating_point():
            raise InputError(
                "invalid-features", "features must give one row of floating-point numbers for each sample of a batch."
            )
        return rows.detach().flatten(1)


@dataclass(frozen=True)
class MomentSums:
    """What formulas ask of `Sums`, where rows are not kept."""

    m: int
    n: int
    sxx: Tensor
    syy: Tensor
    sxy: Tensor
    rxx: Tensor
    ryy: Tensor
    rxy: Tensor
    cxy: Tensor
    tx: Tensor
    ty: Tensor
    fxx: Tensor
    fyy: Tensor
    fxy: Tensor
    trace_x: Tensor
    trace_y: Tensor
    pooled_rows: Tensor


def sums_from_moments(x: Tensor, y: Tensor) -> MomentSums:
    """The sums of MATHS §0 from Σψψᵀ of both samples, ψ = (φ, |φ|², 1) and k(x, y) = φ(x)·φ(y).

    With S = Σφ, a row of K̃xx is φ·Sx - |φ|² and one of Kxy is φ·Sy: both are linear in ψ.
    """
    width = len(x) - 2

    def unpack(g: Tensor) -> tuple[int, Tensor, Tensor, Tensor, Tensor]:
        return round(float(g[-1, -1])), g[:width, -1], g[:width, :width], g[width, -1], g[width, width]

    (m, sum_x, second_x, trace_x, fourth_x), (n, sum_y, second_y, trace_y, fourth_y) = unpack(x), unpack(y)
    minus, none = -torch.ones_like(sum_x[:1]), torch.zeros_like(sum_x[:1])
    own_x, own_y = torch.cat([sum_x, minus, none]), torch.cat([sum_y, minus, none])
    to_y, to_x = torch.cat([sum_y, none, none]), torch.cat([sum_x, none, none])
    both = torch.cat([sum_x + sum_y, minus, none])
    sxx, syy, sxy = sum_x @ sum_x - trace_x, sum_y @ sum_y - trace_y, sum_x @ sum_y
    return MomentSums(
        m,
        n,
        sxx,
        syy,
        sxy,
        rxx=own_x @ x @ own_x,
        ryy=own_y @ y @ own_y,
        rxy=to_y @ x @ to_y,
        cxy=to_x @ y @ to_x,
        tx=own_x @ x @ to_y,
        ty=own_y @ y @ to_x,
        fxx=second_x.square().sum() - fourth_x,
        fyy=second_y.square().sum() - fourth_y,
        fxy=(second_x * second_y).sum(),
        trace_x=trace_x,
        trace_y=trace_y,
        pooled_rows=torch.stack([both @ x @ both + both @ y @ both, sxx + syy + 2 * sxy]),
    )


def _width(kernel: Kernel, dimensions: int) -> int | None:
    """How many coordinates explicit features have; None if the kernel has none that are finite."""
    if type(kernel) is Linear:
        return dimensions
    return math.comb(dimensions + kernel.degree, kernel.degree) if type(kernel) is Polynomial else None


def _explicit(kernel: Kernel, rows: Tensor) -> Tensor:
    """φ with k(x, y) = φ(x)·φ(y): for a polynomial kernel all products of ``degree`` of (√γ x, √coef0)."""
    if not isinstance(kernel, Polynomial):
        return rows
    gamma = 1 / rows.shape[1] if kernel.gamma is None else kernel.gamma
    last = torch.full_like(rows[:, :1], math.sqrt(kernel.coef0))
    factors = torch.cat([rows * math.sqrt(gamma), last], 1)
    places = list(combinations_with_replacement(range(factors.shape[1]), kernel.degree))
    ways = [math.factorial(kernel.degree) / math.prod(math.factorial(p.count(k)) for k in set(p)) for p in places]
    products = factors[:, torch.tensor(places, device=rows.device)].prod(-1)
    return products * torch.tensor(ways, dtype=rows.dtype, device=rows.device).sqrt()


def _concatenate(parts: Any, side: str) -> Tensor:
    rows = torch.cat(list(parts)) if isinstance(parts, list) and parts else parts
    if not isinstance(rows, Tensor):
        raise InputError("no-rows", f"There are no {side} samples yet: call update(x, real={side == 'real'}).")
    return rows
