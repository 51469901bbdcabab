"""A torchmetrics metric: MMD² between real and generated samples, with a standard error and a p-value."""

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

#: Maximum dimension of the explicit feature map for streaming, which keeps two square matrices of this side.
_MAX_FEATURES = 1024


class KernelDistance(Metric):
    """MMD² between real and generated samples, with a standard error and a p-value.

    With the default kernel, MMD² is the kernel inception distance (KID) of the features.

    Parameters
    ----------
    features : callable or nn.Module, optional
        Function applied to each batch, whose output of shape (n, d) is compared. By default the batch itself.
    kernel : Kernel, optional
        Kernel of `tellapart.kernels`. By default that of KID, (x·y / d + 1)³.
    permutations : int, default 199
        Number of permutations of the exact test that gives the p-value. 0: no p-value.
    subsets : int, optional
        Number of random subsets. If given, only the mean and the standard deviation over these are computed, as KID
        does.
    subset_size : int, default 1000
        Number of rows in a subset.
    streaming : bool or "auto", default "auto"
        Whether to keep sums instead of all features. ``"auto"``: if the kernel allows it (`Linear`, and `Polynomial`
        with at most 1,024 explicit features) and ``dimensions`` is given. The standard error is the same; the p-value
        is that of a gamma approximation, which is valid for large samples.
    dimensions : int, optional
        Number of features d. Required for streaming.
    reset_real_features : bool, default True
        Whether `reset` also discards the real samples.
    rng : int, default 0
        Seed of permutations and subsets.
    **others
        Options of ``torchmetrics.Metric``.

    Notes
    -----
    `compute` returns a dict with ``mmd2`` (unbiased, may be negative), ``standard_error`` and ``pvalue``; with
    ``subsets``, it returns ``mmd2`` and ``std``.

    Examples
    --------
    >>> import torch
    >>> from tellapart.integrations.torchmetrics import KernelDistance
    >>> g = torch.Generator().manual_seed(0)
    >>> metric = KernelDistance(permutations=199, rng=0)
    >>> metric.update(torch.randn(100, 5, generator=g), real=True)
    >>> metric.update(torch.randn(100, 5, generator=g) + 0.5, real=False)
    >>> values = metric.compute()
    >>> sorted(values), round(values["pvalue"].item(), 4)
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
        if streaming is True and (width is None or width > _MAX_FEATURES):
            raise InputError(
                "unsuitable-kernel",
                f"Streaming is not possible with the kernel {self.kernel} and dimensions={dimensions}.",
                f"It requires a Linear or Polynomial kernel with at most {_MAX_FEATURES} explicit features, "
                "{dimensions}, and no {subsets}.",
                dimensions=...,
                subsets=...,
            )
        self.streaming = streaming is not False and width is not None and width <= _MAX_FEATURES
        self.dimensions = dimensions
        for side in ("real", "fake"):
            if self.streaming and width is not None:
                # MMD² and its variance are functions of Σψψᵀ with ψ = (φ, |φ|², 1).
                zeros = torch.zeros(width + 2, width + 2, dtype=torch.float64)
                self.add_state(f"{side}_moments", zeros, dist_reduce_fx="sum")
            else:
                self.add_state(f"{side}_features", [], dist_reduce_fx="cat")

    @torch.no_grad()
    def update(self, x: Tensor, real: bool) -> None:
        """Add a batch of real or generated samples.

        Parameters
        ----------
        x : Tensor
            The batch.
        real : bool
            Whether the samples are real.
        """
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
        """Return MMD², its standard error and its p-value.

        Returns
        -------
        values : dict of str to Tensor
            ``mmd2``, ``standard_error`` and ``pvalue``; or ``mmd2`` and ``std`` with ``subsets``.
        """
        if self.streaming:
            real_sums, fake_sums = cast(Tensor, self.real_moments), cast(Tensor, self.fake_moments)
            sums = cast(Sums, sums_from_moments(real_sums, fake_sums))
            if min(sums.m, sums.n) < 4:
                raise InputError(
                    "too-few-rows",
                    f"At least 4 rows of each are needed, but there are {sums.m} real and {sums.n} fake.",
                )
            estimated = estimate_from(sums)
            pvalue = gamma_pvalue(sums)
        else:
            real, fake = _concatenate(self.real_features, "real"), _concatenate(self.fake_features, "fake")
            if self.subsets is not None:
                return self._of_subsets(real, fake)
            estimated = estimate(real, fake, self.kernel)
            pvalue = torch.tensor(math.nan, dtype=torch.float64)
            if self.permutations:
                test = mmd_test(real, fake, self.kernel, permutations=self.permutations, rng=self.rng)
                pvalue = torch.tensor(test.pvalue, dtype=torch.float64)
        values = {"mmd2": estimated.mmd2, "standard_error": estimated.positive_variance.sqrt()}
        values |= {"pvalue": pvalue} if self.permutations else {}
        return {name: value.detach().to(self.device) for name, value in values.items()}

    def _of_subsets(self, real: Tensor, fake: Tensor) -> dict[str, Tensor]:
        """Return mean and standard deviation over random subsets, drawn in the order of torchmetrics' KID."""
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
        """Discard all samples, or only the generated ones if ``reset_real_features`` is False."""
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
                "invalid-features", "`features` must return one row of floating-point numbers per sample of a batch."
            )
        return rows.detach().flatten(1)


@dataclass(frozen=True)
class SumsOfMoments:
    """The fields of `Sums` that the formulas need, for samples whose rows are not kept."""

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


def sums_from_moments(x: Tensor, y: Tensor) -> SumsOfMoments:
    """Compute the sums of MATHS §0 from Σψψᵀ of both samples, where ψ = (φ, |φ|², 1) and k(x, y) = φ(x)·φ(y).

    With S = Σφ, a row sum of K̃xx is φ·Sx - |φ|², and a row sum of Kxy is φ·Sy. Both are linear in ψ.
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
    return SumsOfMoments(
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
    """Return the dimension of the explicit feature map, or None if the kernel has no known finite one."""
    if type(kernel) is Linear:
        return dimensions
    return math.comb(dimensions + kernel.degree, kernel.degree) if type(kernel) is Polynomial else None


def _explicit(kernel: Kernel, rows: Tensor) -> Tensor:
    """Return φ with k(x, y) = φ(x)·φ(y): for a polynomial kernel all products of ``degree`` of (√γ x, √coef0)."""
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
        raise InputError("no-rows", f"There are no {side} samples: call update(x, real={side == 'real'}) first.")
    return rows
