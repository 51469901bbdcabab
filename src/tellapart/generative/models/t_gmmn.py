"""A generator that minimises the test's own statistic (Sutherland et al. 2017, §4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ...stats import losses
from ..networks import Generator
from ..settings import Settings, may_be_zero
from .base import Model, paper_kernel, scaled_sgd


@dataclass(frozen=True)
class TGMMNSettings(Settings):
    """The generator minimises t itself.

    With batches of 500 t begins at about 265, with a gradient a hundred times as long as later. At a learning rate of
    0.02 such steps drive the sigmoids to where they have no slope, and t stays near 27; so gradients are clipped.
    """

    learning_rate: float = may_be_zero(0.02)
    clip: float = may_be_zero(5.0)


class TGMMN(Model[TGMMNSettings]):
    """t between generated rows and data."""

    settings_class: ClassVar[type[Settings]] = TGMMNSettings

    def build_networks(self, pixels: int, classes: int, rng: torch.Generator) -> dict[str, nn.Module]:
        """A generator."""
        s = self.settings
        return {"generator": Generator(s.noise, s.hidden, pixels, s.initial_std, rng)}

    def build_optimisers(self, pixels: int) -> dict[str, Optimizer]:
        """SGD."""
        self.loss = losses.TStatisticLoss(paper_kernel(self.settings.bandwidths, pixels))
        return {"generator": scaled_sgd(self.networks["generator"], self.settings, pixels)}

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """One step down t."""
        return {"loss": self.descend("generator", self.loss(self.generate(len(rows), rng), rows))}
