"""A kernel that is learned adversarially to the generator, as in MMD GANs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from ...stats import losses
from ..networks import Generator, Layers
from ..settings import Settings, may_be_zero
from .base import Diverged, Model, paper_kernel


@dataclass(frozen=True)
class AdversarialSettings(Settings):
    """The kernel maximizes t while the generator minimizes it, which the footnote of the paper calls difficult.

    Divergence is prevented by a network z whose gradient at data and samples is kept near 1 (``penalty``), and whose
    output is used together with the raw pixels; by a much smaller learning rate of the kernel than of the generator,
    because t has no upper bound; and by Adam with little momentum. With equal learning rates, t stays above 50.
    """

    batch_size: int = 250
    initial_std: float = 0.2
    learning_rate: float = may_be_zero(0.002)
    momentum: float = may_be_zero(0.5)
    features: tuple[int, ...] = (256, 128, 16)
    kernel_learning_rate: float = 0.0001
    kernel_steps: int = 1
    penalty: float = may_be_zero(10.0)


class Adversarial(Model[AdversarialSettings]):
    """t of a kernel on (x, z(x)): the network z maximises it, the generator minimises it."""

    settings_class: ClassVar[type[Settings]] = AdversarialSettings

    def build_networks(self, pixels: int, classes: int, rng: torch.Generator) -> dict[str, nn.Module]:
        """A generator, and the features z of the kernel."""
        s = self.settings
        generator = Generator(s.noise, s.hidden, pixels, s.initial_std, rng)
        widths = [pixels, *s.features]
        activations = [nn.ReLU] * (len(widths) - 2) + [nn.Identity]
        return {"generator": generator, "kernel": Layers(widths, activations, s.initial_std, rng)}

    def build_optimisers(self, pixels: int) -> dict[str, Optimizer]:
        """Adam for each."""
        s, betas = self.settings, (self.settings.momentum, 0.999)
        self.loss = losses.TStatisticLoss(paper_kernel(s.bandwidths, pixels))
        return {
            "generator": Adam(self.networks["generator"].parameters(), s.learning_rate, betas),
            "kernel": Adam(self.networks["kernel"].parameters(), s.kernel_learning_rate, betas),
        }

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """Perform some steps of the kernel and one of the generator."""
        for _ in range(self.settings.kernel_steps):
            made = self.generate(len(rows), rng).detach()
            t = self.loss(self._features(made), self._features(rows))
            steepness = self._steepness(torch.cat([made, rows]), rng)
            self.descend("kernel", self.settings.penalty * steepness - t)
        t = self.loss(self._features(self.generate(len(rows), rng)), self._features(rows))
        return {"loss": self.descend("generator", t), "steepness": steepness.detach()}

    def _features(self, x: Tensor) -> Tensor:
        z: Tensor = self.networks["kernel"](x)[-1]
        if not torch.isfinite(z.detach().sum()):
            raise Diverged("the features of the kernel are not finite")
        return torch.cat([x, z], 1)

    def _steepness(self, x: Tensor, rng: torch.Generator) -> Tensor:
        """Penalty on |∇ z(x)·v| different from 1 in random directions v, which bounds the slope of the kernel."""
        x = x.requires_grad_()
        z = self.networks["kernel"](x)[-1]
        directions = torch.nn.functional.normalize(torch.randn(z.shape, generator=rng, device=z.device))
        (slopes,) = torch.autograd.grad((z * directions).sum(), x, create_graph=True)
        lengths: Tensor = torch.linalg.vector_norm(slopes, dim=1)
        return (lengths - 1).square().mean()
