"""The networks of the paper. Weights are drawn from a generator that is passed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils import skip_init

Activation = Callable[[], nn.Module]


def linear(inputs: int, outputs: int, initial: float, rng: torch.Generator) -> nn.Linear:
    """A layer with normal weights and no bias to begin with."""
    layer: nn.Linear = skip_init(nn.Linear, inputs, outputs)
    nn.init.normal_(layer.weight, std=initial, generator=rng)
    nn.init.zeros_(layer.bias)
    return layer


def convolution(inputs: int, outputs: int, initial: float, rng: torch.Generator, *, up: bool) -> nn.Module:
    """A convolution that halves the sides of images, or with ``up`` doubles them."""
    kind: Any = nn.ConvTranspose2d if up else nn.Conv2d
    layer: nn.Module = skip_init(kind, inputs, outputs, kernel_size=4, stride=2, padding=1)
    nn.init.normal_(layer.get_parameter("weight"), std=initial, generator=rng)
    nn.init.zeros_(layer.get_parameter("bias"))
    return layer


class Layers(nn.Module):
    """Fully connected layers, each with its activation."""

    def __init__(
        self, widths: Sequence[int], activations: Sequence[Activation], initial: float, rng: torch.Generator
    ) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Sequential(linear(a, b, initial, rng), activation())
            for (a, b), activation in zip(pairwise(widths), activations, strict=True)
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        """The output of every layer."""
        outputs = []
        for part in self.parts:
            x = part(x)
            outputs.append(x)
        return outputs


class Generator(Layers):
    """Noise → rows in [0, 1]: ReLU layers and a last sigmoid."""

    def __init__(self, noise: int, hidden: Sequence[int], outputs: int, initial: float, rng: torch.Generator) -> None:
        super().__init__([noise, *hidden, outputs], [nn.ReLU] * len(hidden) + [nn.Sigmoid], initial, rng)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """The output of the last layer."""
        return super().forward(x)[-1]


class NormalisedGenerator(nn.Sequential):
    """Noise → rows in [0, 1], with softplus and batch normalisation: the generator of the improved GAN."""

    def __init__(self, noise: int, hidden: Sequence[int], outputs: int, initial: float, rng: torch.Generator) -> None:
        widths = [noise, *hidden]
        parts = [
            part for a, b in pairwise(widths) for part in (linear(a, b, initial, rng), nn.BatchNorm1d(b), nn.Softplus())
        ]
        super().__init__(*parts, linear(widths[-1], outputs, initial, rng), nn.Sigmoid())


class Discriminator(nn.Module):
    """Sigmoid layers, whose outputs are its features, and one number: the log odds of being data."""

    def __init__(self, inputs: int, widths: Sequence[int], initial: float, rng: torch.Generator) -> None:
        super().__init__()
        self.features = Layers([inputs, *widths], [nn.Sigmoid] * len(widths), initial, rng)
        self.top = linear(widths[-1], 1, initial, rng)

    def forward(self, x: Tensor) -> Tensor:
        """Log odds."""
        return self.top(self.features(x)[-1]).squeeze(1)  # type: ignore[no-any-return]


class Autoencoder(nn.Module):
    """Rows → codes in [0, 1] → rows, by sigmoid layers (Li et al. 2015)."""

    def __init__(self, inputs: int, hidden: Sequence[int], codes: int, initial: float, rng: torch.Generator) -> None:
        super().__init__()
        down, up = [inputs, *hidden, codes], [codes, *reversed(hidden), inputs]
        self.encoder = Layers(down, [nn.Sigmoid] * (len(down) - 1), initial, rng)
        self.decoder = Layers(up, [nn.Sigmoid] * (len(up) - 1), initial, rng)

    def encode(self, x: Tensor) -> Tensor:
        """Codes of rows."""
        return self.encoder(x)[-1]  # type: ignore[no-any-return]

    def decode(self, codes: Tensor) -> Tensor:
        """Rows of codes."""
        return self.decoder(codes)[-1]  # type: ignore[no-any-return]


class MinibatchDiscrimination(nn.Module):
    """o_b(x_i) = Σ_{j ≠ i} exp(-|M_ib - M_jb|₁) with M = T x: how close a row is to the others of its batch.

    Appends one such number for each of ``kernels`` b, each in ``dimension`` coordinates (Salimans et al. 2016, §3.2).
    """

    def __init__(self, inputs: int, kernels: int, dimension: int, initial: float, rng: torch.Generator) -> None:
        super().__init__()
        self.shape = (kernels, dimension)
        self.T = linear(inputs, kernels * dimension, initial, rng)

    def forward(self, x: Tensor) -> Tensor:
        """The row and its closeness to others."""
        M = self.T(x).unflatten(1, self.shape).transpose(0, 1).contiguous()
        return torch.cat([x, _Closeness.apply(M).T], 1)


class _Closeness(torch.autograd.Function):
    """c_bi = Σ_{j ≠ i} exp(-|M_bi - M_bj|₁), with its gradient in one pass over pairs where autograd takes six."""

    @staticmethod
    def forward(ctx: Any, M: Tensor) -> Tensor:
        distances = torch.cdist(M, M, p=1)
        near = distances.neg().exp_()
        ctx.save_for_backward(M, distances, near)
        return near.sum(2) - 1

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (g,), (M, distances, near) = grads, ctx.saved_tensors
        # The distance of i and j stands in the sums of both, and cdist's own gradient looks at one side only.
        slopes = (g[:, :, None] + g[:, None, :]).mul_(near).neg_()
        found: Tensor = torch.ops.aten._cdist_backward(slopes, M, M, 1.0, distances)
        return found


class ConvolutionalGenerator(nn.Sequential):
    """Noise → rows in [0, 1], which are square grey images: two convolutions that double the sides."""

    def __init__(
        self, noise: int, channels: tuple[int, int], outputs: int, initial: float, rng: torch.Generator
    ) -> None:
        side, (first, second) = side_of(outputs) // 4, channels
        super().__init__(
            linear(noise, first * side**2, initial, rng),
            nn.BatchNorm1d(first * side**2),
            nn.ReLU(),
            nn.Unflatten(1, (first, side, side)),
            convolution(first, second, initial, rng, up=True),
            nn.BatchNorm2d(second),
            nn.ReLU(),
            convolution(second, 1, initial, rng, up=True),
            nn.Flatten(),
            nn.Sigmoid(),
        )


class Convolutions(nn.Sequential):
    """Rows that are square grey images → features, by two convolutions that halve the sides."""

    def __init__(self, inputs: int, channels: tuple[int, int], initial: float, rng: torch.Generator) -> None:
        side, (first, second) = side_of(inputs), channels
        self.outputs = second * (side // 4) ** 2
        super().__init__(
            nn.Unflatten(1, (1, side, side)),
            convolution(1, first, initial, rng, up=False),
            nn.LeakyReLU(0.2),
            convolution(first, second, initial, rng, up=False),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
        )


def side_of(pixels: int) -> int:
    """The side of a square image that can be halved twice."""
    side = isqrt(pixels)
    if side**2 != pixels or side % 4:
        raise ValueError(
            f"convolutional networks need square grey images whose side is a multiple of 4, not {pixels} pixels."
        )
    return side


class NoisyClassifier(nn.Module):
    """The discriminator of the improved GAN: noise in front of every layer, minibatch discrimination before the last.

    ``outputs`` numbers: the log odds of each class against "generated". With ``channels`` it begins with convolutions.
    """

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        outputs: int,
        noises: tuple[float, float],
        minibatch: tuple[int, int],
        initial: float,
        rng: torch.Generator,
        channels: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.noises = noises
        self.convolutions = None if channels is None else Convolutions(inputs, channels, initial, rng)
        inputs = inputs if self.convolutions is None else self.convolutions.outputs
        self.layers = nn.ModuleList(linear(a, b, initial, rng) for a, b in pairwise([inputs, *widths]))
        self.minibatch = MinibatchDiscrimination(widths[-1], *minibatch, initial, rng) if minibatch[0] else None
        self.top = linear(widths[-1] + minibatch[0], outputs, initial, rng)

    def forward(self, x: Tensor, rng: torch.Generator | None) -> Tensor:
        """Log odds; without ``rng``, without noise."""
        for k, layer in enumerate(self.layers):
            size = self.noises[min(k, 1)]
            if rng is not None and size:
                x = x + size * torch.randn(x.shape, generator=rng, device=x.device)
            if k == 0 and self.convolutions is not None:
                x = self.convolutions(x)
            x = torch.nn.functional.leaky_relu(layer(x), 0.2)
        return self.top(x if self.minibatch is None else self.minibatch(x))  # type: ignore[no-any-return]
