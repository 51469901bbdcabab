"""The improved GAN (Salimans et al. 2016): a classifier with a class for generated rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import cross_entropy, softplus
from torch.optim import Adam, Optimizer

from ..._util.errors import InputError
from ..data import Data
from ..networks import convolution, linear
from ..settings import Settings, may_be_zero
from .base import Model


@dataclass(frozen=True)
class ImprovedGANSettings(Settings):
    """A classifier with a class for generated rows, and minibatch discrimination.

    ``labels`` rows of the data, equally many of each class, come with their labels; 0 is a GAN without any. Adam; the
    ``momentum`` is its β1. ``convolutional`` puts two convolutions with ``channels`` channels in front of the
    discriminator and at the end of the generator, in the place of ``hidden``: a size for a GPU.

    The target of the discriminator for data is 1 - ``smoothing`` (their §3.4). Its weights are initially small and not
    normalised, so that the noise on hidden layers of the original would dominate: with a standard deviation of 0.5, or
    weights of 0.05, all samples were the same after 1,000 steps.
    """

    batch_size: int = 100
    noise: int = 100
    hidden: tuple[int, ...] = (500, 500)
    initial_std: float = 0.02
    learning_rate: float = may_be_zero(0.0003)
    momentum: float = may_be_zero(0.5)
    steps: int = 20_000
    labels: int = may_be_zero(1000)
    discriminator: tuple[int, ...] = (512, 256, 256)
    discriminator_learning_rate: float = 0.0003
    minibatch_kernels: int = may_be_zero(100)
    minibatch_dimension: int = 5
    noise_input: float = may_be_zero(0.3)
    noise_hidden: float = may_be_zero(0.0)
    smoothing: float = may_be_zero(0.1)
    convolutional: bool = False
    channels: tuple[int, ...] = (64, 128)


class ImprovedGAN(Model[ImprovedGANSettings]):
    """A classifier of data into classes and "generated", with few labels or none.

    With logits l_k for the classes and 0 for "generated", the log odds of being data are log Σ_k exp l_k.
    """

    settings_class: ClassVar[type[Settings]] = ImprovedGANSettings

    def build_networks(self, pixels: int, classes: int, rng: torch.Generator) -> dict[str, nn.Module]:
        """A generator and a discriminator, with convolutions or without."""
        s = self.settings
        if s.labels and not classes:
            raise InputError("no-labels", "The data have no labels.", "Train the GAN without any: {labels}.", labels=0)
        channels = None
        if s.convolutional:
            if len(s.channels) != 2:
                raise InputError("wrong-shape", f"channels must be two numbers, but is {s.channels}.")
            channels = s.channels[0], s.channels[1]
        generator: nn.Module
        if channels is None:
            generator = NormalisedGenerator(s.noise, s.hidden, pixels, s.initial_std, rng)
        else:
            generator = ConvolutionalGenerator(s.noise, channels[::-1], pixels, s.initial_std, rng)
        discriminator = NoisyClassifier(
            pixels,
            s.discriminator,
            classes if s.labels else 1,
            (s.noise_input, s.noise_hidden),
            (s.minibatch_kernels, s.minibatch_dimension),
            s.initial_std,
            rng,
            channels,
        )
        return {"generator": generator, "discriminator": discriminator}

    def build_optimisers(self, pixels: int) -> dict[str, Optimizer]:
        """Adam for each."""
        s, betas = self.settings, (self.settings.momentum, 0.999)
        self.labelled: tuple[Tensor, Tensor] | None = None
        return {
            "generator": Adam(self.networks["generator"].parameters(), s.learning_rate, betas),
            "discriminator": Adam(self.networks["discriminator"].parameters(), s.discriminator_learning_rate, betas),
        }

    def prepare(self, data: Data, rng: torch.Generator) -> None:
        """Choose the rows that come with labels."""
        self.labelled = data.choose_labelled(self.settings.labels, rng) if self.settings.labels else None

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """Update the discriminator, then the generator."""
        discriminator = self.networks["discriminator"]
        made = self.generate(len(rows), rng)

        def odds(x: Tensor) -> Tensor:
            return torch.logsumexp(discriminator(x, rng), 1)

        # Taken for data with probability 1 - smoothing: softplus(o) - softplus(-o) = o.
        of_data = odds(rows)
        mistakes = (softplus(-of_data) + self.settings.smoothing * of_data).mean() / 2
        mistakes = mistakes + softplus(odds(made.detach())).mean() / 2
        found = {}
        if self.labelled is not None:
            known, labels = self.labelled
            few = torch.randint(len(labels), (len(rows),), generator=rng, device=rng.device).cpu()
            classified = cross_entropy(discriminator(known[few].to(rows), rng), labels[few].to(rows.device))
            mistakes, found["classification"] = mistakes + classified, classified.detach()
        found["discriminator"] = self.descend("discriminator", mistakes)
        return {"loss": self.descend("generator", softplus(-odds(made)).mean())} | found


class NormalisedGenerator(nn.Sequential):
    """Noise → rows in [0, 1], with softplus and batch normalisation: the generator of the improved GAN."""

    def __init__(self, noise: int, hidden: Sequence[int], outputs: int, std: float, rng: torch.Generator) -> None:
        widths = [noise, *hidden]
        parts = [
            part for a, b in pairwise(widths) for part in (linear(a, b, std, rng), nn.BatchNorm1d(b), nn.Softplus())
        ]
        super().__init__(*parts, linear(widths[-1], outputs, std, rng), nn.Sigmoid())


class MinibatchDiscrimination(nn.Module):
    """o_b(x_i) = Σ_{j ≠ i} exp(-|M_ib - M_jb|₁) with M = T x: how close a row is to the others of its batch.

    Appends one such number for each of ``kernels`` b, each in ``dimension`` coordinates (Salimans et al. 2016, §3.2).
    """

    def __init__(self, inputs: int, kernels: int, dimension: int, std: float, rng: torch.Generator) -> None:
        super().__init__()
        self.shape = (kernels, dimension)
        self.T = linear(inputs, kernels * dimension, std, rng)

    def forward(self, x: Tensor) -> Tensor:
        """Append the closeness of each row to the others."""
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

    def __init__(self, noise: int, channels: tuple[int, int], outputs: int, std: float, rng: torch.Generator) -> None:
        side, (first, second) = square_side(outputs) // 4, channels
        super().__init__(
            linear(noise, first * side**2, std, rng),
            nn.BatchNorm1d(first * side**2),
            nn.ReLU(),
            nn.Unflatten(1, (first, side, side)),
            convolution(first, second, std, rng, up=True),
            nn.BatchNorm2d(second),
            nn.ReLU(),
            convolution(second, 1, std, rng, up=True),
            nn.Flatten(),
            nn.Sigmoid(),
        )


class Convolutions(nn.Sequential):
    """Rows that are square grey images → features, by two convolutions that halve the sides."""

    def __init__(self, inputs: int, channels: tuple[int, int], std: float, rng: torch.Generator) -> None:
        side, (first, second) = square_side(inputs), channels
        self.outputs = second * (side // 4) ** 2
        super().__init__(
            nn.Unflatten(1, (1, side, side)),
            convolution(1, first, std, rng, up=False),
            nn.LeakyReLU(0.2),
            convolution(first, second, std, rng, up=False),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
        )


def square_side(pixels: int) -> int:
    """The side of a square image that can be halved twice."""
    side = isqrt(pixels)
    if side**2 != pixels or side % 4:
        raise InputError(
            "wrong-image-shape",
            f"Convolutional networks need square grey images whose side is a multiple of 4, not {pixels} pixels.",
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
        std: float,
        rng: torch.Generator,
        channels: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.noises = noises
        self.convolutions = None if channels is None else Convolutions(inputs, channels, std, rng)
        inputs = inputs if self.convolutions is None else self.convolutions.outputs
        self.layers = nn.ModuleList(linear(a, b, std, rng) for a, b in pairwise([inputs, *widths]))
        self.minibatch = MinibatchDiscrimination(widths[-1], *minibatch, std, rng) if minibatch[0] else None
        self.top = linear(widths[-1] + minibatch[0], outputs, std, rng)

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
