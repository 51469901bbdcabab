"""Layers that several models share. Weights are drawn from a generator that is passed in.

Under ``torch.device("meta")`` they have shapes but no memory, and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

Activation = Callable[[], nn.Module]


def linear(inputs: int, outputs: int, std: float, rng: torch.Generator) -> nn.Linear:
    """Linear layer with normal initial weights and zero initial bias."""
    layer: nn.Linear = skip_init(nn.Linear, inputs, outputs, device=torch.get_default_device())
    _draw_weights(layer, std, rng)
    return layer


def convolution(inputs: int, outputs: int, std: float, rng: torch.Generator, *, up: bool) -> nn.Module:
    """Convolution that halves the sides of images, or doubles them with ``up``."""
    kind: Any = nn.ConvTranspose2d if up else nn.Conv2d
    shape = {"kernel_size": 4, "stride": 2, "padding": 1}
    layer: nn.Module = skip_init(kind, inputs, outputs, **shape, device=torch.get_default_device())
    _draw_weights(layer, std, rng)
    return layer


def _draw_weights(layer: nn.Module, std: float, rng: torch.Generator) -> None:
    weight, bias = layer.get_parameter("weight"), layer.get_parameter("bias")
    if not weight.is_meta:
        nn.init.normal_(weight, std=std, generator=rng)
        nn.init.zeros_(bias)


class Layers(nn.Module):
    """Fully connected layers, each with its activation."""

    def __init__(
        self, widths: Sequence[int], activations: Sequence[Activation], std: float, rng: torch.Generator
    ) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Sequential(linear(a, b, std, rng), activation())
            for (a, b), activation in zip(pairwise(widths), activations, strict=True)
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        """Outputs of all layers."""
        outputs = []
        for part in self.parts:
            x = part(x)
            outputs.append(x)
        return outputs


class Generator(Layers):
    """Noise → rows in [0, 1]: ReLU layers and a last sigmoid."""

    def __init__(self, noise: int, hidden: Sequence[int], outputs: int, std: float, rng: torch.Generator) -> None:
        super().__init__([noise, *hidden, outputs], [nn.ReLU] * len(hidden) + [nn.Sigmoid], std, rng)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """The output of the last layer."""
        return super().forward(x)[-1]
