"""Feature matching: MMD on features of a discriminator (Sutherland et al. 2017, §4; Salimans et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus
from torch.optim import SGD, Optimizer

from ...kernels import Linear
from ...stats import losses
from ..networks import Generator, Layers, linear
from ..settings import Settings, may_be_zero
from .base import Model, paper_kernel, scaled_sgd


@dataclass(frozen=True)
class FeatureMatchingSettings(Settings):
    """MMD on the raw image and every layer of a discriminator, which is trained to tell generated rows from data.

    With ``match="means"`` it is Salimans et al.'s own: the squared distance between the means of the top layer.
    """

    initial_std: float = 0.2
    learning_rate: float = may_be_zero(0.5)
    match: Literal["mmd", "means"] = "mmd"
    discriminator: tuple[int, ...] = (512, 256, 256, 128, 64)
    discriminator_learning_rate: float = 0.01


class FeatureMatching(Model[FeatureMatchingSettings]):
    """MMD on raw rows and all layers of a discriminator; or the means of its top layer."""

    settings_class: ClassVar[type[Settings]] = FeatureMatchingSettings

    def build_networks(self, pixels: int, classes: int, rng: torch.Generator) -> dict[str, nn.Module]:
        """A generator and a discriminator."""
        s = self.settings
        return {
            "generator": Generator(s.noise, s.hidden, pixels, s.initial_std, rng),
            "discriminator": Discriminator(pixels, s.discriminator, s.initial_std, rng),
        }

    def build_optimisers(self, pixels: int) -> dict[str, Optimizer]:
        """SGD for each."""
        s, discriminator = self.settings, self.networks["discriminator"]
        features: Any = discriminator.features
        if s.match == "mmd":
            self.loss = losses.FeatureMatchingMMD(paper_kernel(s.bandwidths, pixels), features, "biased", root=True)
        else:
            self.loss = losses.FeatureMatchingMMD(Linear(), lambda x: features(x)[-1], "biased", raw=False)
        return {
            "generator": scaled_sgd(self.networks["generator"], s, pixels),
            "discriminator": SGD(discriminator.parameters(), s.discriminator_learning_rate, s.momentum),
        }

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """Update the discriminator, then the generator to match its features."""
        made = self.generate(len(rows), rng)
        discriminator = self.networks["discriminator"]
        mistakes = softplus(-discriminator(rows)).mean() + softplus(discriminator(made.detach())).mean()
        mistakes = self.descend("discriminator", mistakes)
        return {"loss": self.descend("generator", self.loss(made, rows)), "discriminator": mistakes}


class Discriminator(nn.Module):
    """Sigmoid layers, whose outputs are its features, and one number: the log odds of being data."""

    def __init__(self, inputs: int, widths: Sequence[int], std: float, rng: torch.Generator) -> None:
        super().__init__()
        self.features = Layers([inputs, *widths], [nn.Sigmoid] * len(widths), std, rng)
        self.top = linear(widths[-1], 1, std, rng)

    def forward(self, x: Tensor) -> Tensor:
        """Log odds."""
        return self.top(self.features(x)[-1]).squeeze(1)  # type: ignore[no-any-return]
