"""MMD² and t as losses for anybody's training loop, on the same estimators as every test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .._util.errors import InputError
from .._util.memory import memory_budget
from ..engine import MemoryLike
from ..kernels import as_kernel
from .estimators import mmd2, t_statistic
from .formulas import Estimator
from .gather import Gather, all_gather_rows, check_gather, exchange_row_counts

#: Below this a biased MMD² is rounding, and its root has no slope that means anything.
_FLOOR = 1e-10


class MMDLoss(nn.Module):
    """MMD²(generated, data), or with ``root`` its square root, √MMD²_biased.

    Parameters
    ----------
    kernel
        A kernel, or a function of two blocks of points. Its parameters are learned too if they ask for gradients;
        for a loss they mostly should not: ``kernel.requires_grad_(False)``.
    estimator
        ``"full"`` (unbiased, any sizes), ``"paired"`` (the paper's) or ``"biased"`` (never negative).
    root
        The square root, which moment matching networks minimise: its slope does not vanish as MMD² does. Only of the
        biased estimate, the others go below 0. Where MMD² is 0 but for rounding the slope is 0.
    gather
        Whether batches are parts of a larger one that is split over ranks of ``torch.distributed``: ``True`` for all
        ranks, or the process group of those that share it. See the notes. By default nothing is gathered, also when
        there are other ranks, because they would wait for a rank that computes a loss alone.
    max_memory, threads
        As for `tellapart.mmd2`. How much memory is free is looked up once, when the loss is made.

    Notes
    -----
    Costs (m + n)²/2 kernel evaluations and O((m + n) d) memory, once forwards and at most once backwards.

    With ``gather``, the loss on every rank is that of the rows of all ranks, in the order of ranks. Ranks may have
    different numbers of rows. All must call the loss, and do the same with it. Each does all of the work above, where
    m and n count the rows of all ranks.

    Averaged over ranks, the gradient of every parameter is what it would be on one process. `DistributedDataParallel`
    takes this average; in a loop of your own, sum gradients with ``all_reduce`` and divide by the number of ranks.
    On a single rank the parameters of the kernel have this gradient already, while what goes back to ``generated`` and
    ``data`` is that of the rank's own rows, times the number of ranks. A kernel that learns keeps in step on all ranks
    if the loss is wrapped too: ``DistributedDataParallel(loss)``.

    Examples
    --------
    >>> from tellapart.kernels import Gaussian
    >>> data = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    >>> generated = (data[:60] + 1).requires_grad_()
    >>> MMDLoss(Gaussian(2.0))(generated, data).backward()
    >>> generated.grad.shape
    torch.Size([60, 3])
    """

    def __init__(
        self,
        kernel: Any,
        estimator: Estimator = "full",
        *,
        root: bool = False,
        gather: Gather = False,
        max_memory: MemoryLike = None,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        check_gather(gather)
        self.max_memory, self.threads = memory_budget(max_memory), threads
        if estimator not in ("full", "paired", "biased"):
            raise InputError("unknown-choice", f"estimator={estimator!r} is not 'full', 'paired' or 'biased'.")
        if root and estimator != "biased":
            raise InputError(
                "conflicting-arguments", f"root=True needs estimator='biased': estimator={estimator!r} goes below 0."
            )
        self.kernel, self.estimator, self.root, self.gather = as_kernel(kernel), estimator, root, gather

    def forward(self, generated: Tensor, data: Tensor) -> Tensor:
        """The loss, a 0-dimensional float64 tensor."""
        generated, data = all_gather_rows(generated, data, self.gather)
        options = {"max_memory": self.max_memory, "threads": self.threads}
        value = torch.as_tensor(mmd2(generated, data, self.kernel, estimator=self.estimator, **options))
        return value.clamp_min(_FLOOR).sqrt() if self.root else value

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return f"estimator={self.estimator!r}" + ", root=True" * self.root + ", gather=True" * bool(self.gather)


class TStatisticLoss(nn.Module):
    """t = U / √V+ with V+ = max(V, V2), which is what a test of generated against data would see.

    V is negative at times, and √max(V, 0) has no gradient there; V2 is a sum of squares (MATHS §2). Parameters are as
    for `MMDLoss`, without ``root``; ``estimator`` is ``"full"`` or ``"paired"``, and both batches need at least 4 rows.

    >>> from tellapart.kernels import Gaussian
    >>> data = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    >>> TStatisticLoss(Gaussian(2.0))(data[:60] + 1, data).item() > 5
    True
    """

    def __init__(
        self,
        kernel: Any,
        estimator: Estimator = "full",
        *,
        gather: Gather = False,
        max_memory: MemoryLike = None,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        check_gather(gather)
        self.max_memory, self.threads = memory_budget(max_memory), threads
        if estimator not in ("full", "paired"):
            raise InputError(
                "unknown-choice", f"estimator={estimator!r} is not 'full' or 'paired', the estimators with a variance."
            )
        self.kernel, self.estimator, self.gather = as_kernel(kernel), estimator, gather

    def forward(self, generated: Tensor, data: Tensor) -> Tensor:
        """The loss, a 0-dimensional float64 tensor."""
        generated, data = all_gather_rows(generated, data, self.gather)
        options = {"max_memory": self.max_memory, "threads": self.threads}
        return torch.as_tensor(t_statistic(generated, data, self.kernel, estimator=self.estimator, **options))

    def extra_repr(self) -> str:
        """Arguments for ``repr``."""
        return f"estimator={self.estimator!r}" + ", gather=True" * bool(self.gather)


class FeatureMatchingMMD(MMDLoss):
    """MMD² between (x, h₁(x), …, h_L(x)): the raw input side by side with every layer of a network.

    Parameters
    ----------
    kernel, estimator, root, gather, max_memory, threads
        As for `MMDLoss`. Layers are gathered: ``features`` sees the rank's own rows only, and must treat each row by
        itself if the loss is to be that of one process.
    features
        A network or function that maps a batch to the list of its layers' outputs (or to one tensor). It gets no
        gradient from this loss, because the generator must not make its judge's work easier.
    raw
        Whether the input itself is part of what is compared.

    Examples
    --------
    >>> from tellapart.kernels import Gaussian
    >>> loss = FeatureMatchingMMD(Gaussian(2.0), lambda x: [x.sin(), x.square().sum(1)])
    >>> loss(torch.zeros(5, 3), torch.ones(7, 3)).item() > 1
    True
    """

    def __init__(
        self,
        kernel: Any,
        features: Callable[[Tensor], Tensor | Sequence[Tensor]],
        estimator: Estimator = "full",
        *,
        root: bool = False,
        raw: bool = True,
        gather: Gather = False,
        max_memory: MemoryLike = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(kernel, estimator, root=root, gather=gather, max_memory=max_memory, threads=threads)
        self.features, self.raw = features, raw

    def forward(self, generated: Tensor, data: Tensor) -> Tensor:
        """The loss, a 0-dimensional float64 tensor."""
        if self.gather:
            # Before a network complains about rows that only one rank has.
            exchange_row_counts(generated, data, self.gather)
        return super().forward(self._layers_of(generated), self._layers_of(data))

    def _layers_of(self, x: Tensor) -> Tensor:
        """The input and the outputs of all layers, side by side."""
        if isinstance(self.features, nn.Module):
            # The network's own parameters as constants: x keeps its gradient, they get none.
            constants = {name: value.detach() for name, value in self.features.named_parameters()}
            found = torch.func.functional_call(self.features, constants, (x,))
        else:
            found = self.features(x)
        layers = [found] if isinstance(found, Tensor) else list(found)
        layers = [x, *layers] if self.raw else layers
        # The width is given because of ranks without rows, where it cannot be told from the size.
        return torch.cat([layer.reshape(len(x), math.prod(layer.shape[1:])) for layer in layers], 1)
