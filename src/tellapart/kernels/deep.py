"""Kernels on learned features: κ(z(x), z(y))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from .._util.errors import InputError, InputTypeError
from .base import Kernel
from .gaussian import Gaussian
from .plan import Features, Plan, replace_parts
from .registry import Saved, register

#: Batch size of the network if no gradient is needed.
_BATCH = 4096


class MLP(nn.Sequential):
    """Fully connected network with softplus activations, which `load` can recreate.

    Parameters
    ----------
    widths : sequence of int
        Numbers of units of the input, the hidden layers and the output.
    rng : int, optional
        Seed of the weights. By default they are drawn with torch's global generator.
    """

    def __init__(self, widths: Sequence[int], rng: int | None = None) -> None:
        if len(widths) < 2:
            raise InputError(
                "wrong-shape", f"`widths` must contain at least the input and the output, got {list(widths)}."
            )
        layers: list[nn.Module] = [nn.Flatten()]
        # With a seed, torch's global generator must not be used.
        linear = nn.Linear if rng is None else partial(nn.utils.skip_init, nn.Linear)
        for into, out in pairwise(widths):
            layers += [linear(into, out), nn.Softplus()]
        super().__init__(*layers[:-1])
        self.widths = list(widths)
        if rng is not None:
            draws = torch.Generator().manual_seed(rng)
            for parameter in self.parameters():
                nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5, generator=draws)


@register
class Deep(Kernel):
    """Kernel on learned features, k(x, y) = κ(z(x), z(y)).

    With ``original``, a kernel q on the points themselves, it is [(1 - ε) κ(z(x), z(y)) + ε] q(x, y) (Liu et al.
    2020), which is characteristic for every network.

    Parameters
    ----------
    network : nn.Module
        The network z.
    kernel : Kernel, optional
        The kernel κ on the features. By default a Gaussian.
    original : Kernel, optional
        The kernel q on the points.
    epsilon : float, default 0.1
        Initial value of ε, which is learned. Between 0 and 1.

    Examples
    --------
    >>> Deep(MLP([2, 8, 3]), Gaussian(0.5), original=Gaussian(2.0))(torch.zeros(4, 2)).shape
    torch.Size([4, 4])
    """

    def __init__(
        self,
        network: nn.Module,
        kernel: Kernel | None = None,
        *,
        original: Kernel | None = None,
        epsilon: float = 0.1,
    ) -> None:
        super().__init__()
        if not isinstance(network, nn.Module):
            raise InputTypeError("wrong-type", f"`network` must be a torch nn.Module, got {type(network).__name__}.")
        if not 0 < epsilon < 1:
            raise InputError("out-of-range", f"epsilon must be between 0 and 1, but is {epsilon!r}.")
        for name, part in (("kernel", kernel), ("original", original)):
            if part is not None and not isinstance(part, Kernel):
                raise InputTypeError("wrong-type", f"{name} must be a kernel object, but is {part!r}.")
        self.network = network
        self.kernel = Gaussian() if kernel is None else kernel
        self.normalised = original is None and self.kernel.normalised
        self.original = original
        if original is not None:
            self.logit_epsilon = nn.Parameter(torch.logit(torch.tensor(epsilon, dtype=torch.float64)))

    def plan(self, probe: Tensor, *, additive: bool = False, dtype: torch.dtype | None = None) -> Plan:
        """Plans for κ on the network's output and for q on the points."""
        with torch.no_grad():
            z = self.represent(probe)
        if self.original is None:
            inner = self.kernel.plan(z, additive=additive, dtype=dtype)
            return Plan(inner.dtype, inner.distance_dtype, anchored=inner.anchored, parts=(inner,))
        dtype = dtype or z.dtype
        return Plan(dtype, dtype, parts=(self.kernel.plan(z, dtype=dtype), self.original.plan(probe, dtype=dtype)))

    def refine_plan(self, plan: Plan, features: Features) -> Plan:
        """The plans of κ and q, refined by their features."""
        kernels = [self.kernel] if self.original is None else [self.kernel, self.original]
        parts = tuple(k.refine_plan(p, f) for k, p, f in zip(kernels, plan.parts, features, strict=True))
        return replace_parts(plan, parts)

    def represent(self, x: Tensor) -> Tensor:
        """z(x), one flat row for each point."""
        for module in self.network.modules():
            if module.training and isinstance(module, nn.modules.batchnorm._BatchNorm):
                raise InputError(
                    "training-mode",
                    "With batch normalisation in training mode, k(x, y) depends on the other points of the batch and "
                    "is no kernel. Use LayerNorm or GroupNorm, or call .eval() on the network.",
                )
            if module.training and isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0:
                raise InputError(
                    "training-mode", "With dropout in training mode k(x, y) is random. Call .eval() on the network."
                )
        parameter = next(self.network.parameters(), x)
        blocks = [x] if torch.is_grad_enabled() else x.split(_BATCH)
        return torch.cat([self.network(block.to(parameter.dtype)).flatten(1) for block in blocks])

    def features(self, x: Tensor, plan: Plan) -> Features:
        """Return the features of κ for z(x) and, with ``original``, those of q for x."""
        inner = self.kernel.features(self.represent(x), plan.parts[0])
        return (inner,) if self.original is None else (inner, self.original.features(x, plan.parts[1]))

    def tile(self, a: Features, b: Features, plan: Plan, out: Tensor | None = None) -> Tensor:
        """Return the tile of κ, combined with that of q if ``original`` is given."""
        learned = self.kernel.tile(a[0], b[0], plan.parts[0])
        if self.original is None:
            return learned
        epsilon = self.logit_epsilon.sigmoid().to(learned.dtype)
        return (learned * (1 - epsilon) + epsilon) * self.original.tile(a[1], b[1], plan.parts[1])

    def components(self) -> Mapping[str, Kernel | None]:
        """Return κ and q."""
        return {"kernel": self.kernel, "original": self.original}

    @classmethod
    def rebuild(cls, saved: Saved) -> Deep:
        """Create the kernel with the network passed to `load`, or an `MLP` of the stored widths."""
        network = saved.network
        if network is None:
            if "widths" not in saved.config:
                raise InputError(
                    "network-needed",
                    f"Its network is of class {saved.config.get('network')}.",
                    "Pass a network of the same architecture: load(path, {network}).",
                    network=...,
                )
            widths = _stored_widths(saved)
            saved.check_size("widths", widths)
            with torch.device("meta"):  # the weights are assigned afterwards and need not be drawn
                network = MLP(widths)
        return cls(network, saved.components.get("kernel"), original=saved.components.get("original"))

    @classmethod
    def examples(cls, d: int) -> list[Kernel]:
        """Return a kernel without and with ``original``."""
        return [
            cls(MLP([d, 4, 2], rng=0).double(), Gaussian(0.8)),
            cls(MLP([d, 4, 2], rng=0).double(), Gaussian(0.8), original=Gaussian(3.0), epsilon=0.2),
        ]

    def config(self) -> dict[str, Any]:
        """Return the class of the network, and the widths of an `MLP`."""
        network = {"widths": self.network.widths} if isinstance(self.network, MLP) else {}
        return {"network": type(self.network).__name__, **network}


def _stored_widths(saved: Saved) -> list[int]:
    """Return the widths of an `MLP`, inferred from its weights."""
    first = saved.tensor("network.1.weight", ndim=2)
    widths, layer = [first.shape[1]], 1  # layer 0 is Flatten; each Linear layer is followed by Softplus
    while f"network.{layer}.weight" in saved.tensors:
        widths.append(len(saved.tensor(f"network.{layer}.bias", ndim=1)))
        layer += 2
    return widths
