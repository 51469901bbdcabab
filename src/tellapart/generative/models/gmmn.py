"""Generative moment matching networks (Li et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy
from torch.optim import Adam, Optimizer

from ...stats import losses
from ..networks import Generator, Layers
from ..settings import Settings, may_be_zero
from .base import Model, paper_kernel, scaled_sgd


@dataclass(frozen=True)
class GMMNSettings(Settings):
    """The generator minimises √MMD²_biased.

    With ``codes`` the MMD is between codes of that dimension, of an autoencoder that is trained for the first
    ``autoencoder_steps`` steps; the generator makes codes, which the decoder turns into images.
    """

    codes: int = may_be_zero(0)
    autoencoder_steps: int = may_be_zero(5000)
    autoencoder_hidden: tuple[int, ...] = (1024,)


class GMMN(Model[GMMNSettings]):
    """√MMD²_biased between generated rows (or codes) and data."""

    settings_class: ClassVar[type[Settings]] = GMMNSettings

    def build_networks(self, pixels: int, classes: int, rng: torch.Generator) -> dict[str, nn.Module]:
        """A generator, and an autoencoder if codes are wanted."""
        s, networks = self.settings, dict[str, nn.Module]()
        if s.codes:
            networks["autoencoder"] = Autoencoder(pixels, s.autoencoder_hidden, s.codes, 0.05, rng)
        networks["generator"] = Generator(s.noise, s.hidden, s.codes or pixels, s.initial_std, rng)
        return networks

    def build_optimisers(self, pixels: int) -> dict[str, Optimizer]:
        """SGD for the generator, Adam for the autoencoder."""
        s, optimisers = self.settings, dict[str, Optimizer]()
        width = s.codes or pixels
        self.loss = losses.MMDLoss(paper_kernel(s.bandwidths, width), "biased", root=True)
        if s.codes:
            optimisers["autoencoder"] = Adam(self.networks["autoencoder"].parameters(), 1e-3)
        optimisers["generator"] = scaled_sgd(self.networks["generator"], s, width)
        return optimisers

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """First the autoencoder alone, then the generator alone."""
        autoencoder: Any = self.networks.get("autoencoder")
        if autoencoder is not None:
            if number <= self.settings.autoencoder_steps:
                error = binary_cross_entropy(autoencoder.decode(autoencoder.encode(rows)), rows)
                return {"reconstruction": self.descend("autoencoder", error)}
            with torch.no_grad():
                rows = autoencoder.encode(rows)
        return {"loss": self.descend("generator", self.loss(self.generate(len(rows), rng), rows))}

    def decode(self, made: Tensor) -> Tensor:
        """Decode generated codes if there is a decoder."""
        autoencoder: Any = self.networks.get("autoencoder")
        return made if autoencoder is None else autoencoder.decode(made)


class Autoencoder(nn.Module):
    """Rows → codes in [0, 1] → rows, by sigmoid layers."""

    def __init__(self, inputs: int, hidden: Sequence[int], codes: int, std: float, rng: torch.Generator) -> None:
        super().__init__()
        down, up = [inputs, *hidden, codes], [codes, *reversed(hidden), inputs]
        self.encoder = Layers(down, [nn.Sigmoid] * (len(down) - 1), std, rng)
        self.decoder = Layers(up, [nn.Sigmoid] * (len(up) - 1), std, rng)

    def encode(self, x: Tensor) -> Tensor:
        """Codes of rows."""
        return self.encoder(x)[-1]  # type: ignore[no-any-return]

    def decode(self, codes: Tensor) -> Tensor:
        """Rows of codes."""
        return self.decoder(codes)[-1]  # type: ignore[no-any-return]
