"""Base class of the models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from ...kernels import Kernel, Mixture
from ..data import Data
from ..settings import Settings

S = TypeVar("S", bound=Settings)


class Diverged(ArithmeticError):
    """Raised if a loss or its gradient is not finite."""


class Model(Generic[S]):
    """A generator with the networks that train it. Subclasses build networks and optimizers and define a step.

    Parameters
    ----------
    settings
        Of the type `settings_class`.
    pixels, classes
        Coordinates of a row of data, and how many labels there are (0: none).
    rng
        For the initial weights.

    Attributes
    ----------
    networks, optimisers
        By name. Together with the random state they are all that a checkpoint has to hold.
    """

    settings_class: ClassVar[type[Settings]]

    def __init__(self, settings: S, pixels: int, classes: int, rng: torch.Generator) -> None:
        self.settings = settings
        self.networks = self.build_networks(pixels, classes, rng)
        self.optimisers = self.build_optimisers(pixels)

    @classmethod
    def shapes(cls, settings: S, pixels: int, classes: int) -> dict[str, torch.Size]:
        """Shapes of all tensors of the networks, by ``{network}/{tensor}``, without allocating them."""
        model = cls.__new__(cls)
        model.settings = settings
        with torch.device("meta"):
            networks = model.build_networks(pixels, classes, torch.Generator())
        return {f"{name}/{key}": v.shape for name, net in networks.items() for key, v in net.state_dict().items()}

    def build_networks(self, pixels: int, classes: int, rng: torch.Generator) -> dict[str, nn.Module]:
        """The networks by name, including ``"generator"``. Initial weights are drawn from ``rng``."""
        raise NotImplementedError

    def build_optimisers(self, pixels: int) -> dict[str, Optimizer]:
        """The optimizers of the networks by name. Losses are created here too."""
        raise NotImplementedError

    def prepare(self, data: Data, rng: torch.Generator) -> None:
        """Prepare anything that is needed of the data besides batches."""

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """Perform step ``number`` (from 1) on a batch of data and return the losses."""
        raise NotImplementedError

    def decode(self, made: Tensor) -> Tensor:
        """Convert outputs of the generator to rows of data."""
        return made

    def noise(self, n: int, rng: torch.Generator) -> Tensor:
        """Draw inputs of the generator."""
        return torch.rand(n, self.settings.noise, generator=rng, device=rng.device) * 2 - 1

    @torch.no_grad()
    def sample(self, n: int, rng: torch.Generator) -> Tensor:
        """Generate ``n`` rows, determined by the weights and by ``rng``, a generator on the CPU."""
        device = next(self.networks["generator"].parameters()).device
        with self.eval_mode():
            made = [
                self.decode(self.networks["generator"](self.noise(min(1000, n - start), rng).to(device)))
                for start in range(0, n, 1000)
            ]
        return torch.cat(made)

    @contextmanager
    def eval_mode(self) -> Iterator[None]:
        """Context with the networks in evaluation mode."""
        for network in self.networks.values():
            network.eval()
        try:
            yield
        finally:
            for network in self.networks.values():
                network.train()

    def descend(self, name: str, loss: Tensor) -> Tensor:
        """Perform a step of an optimizer, if the loss and its gradient are finite."""
        optimiser = self.optimisers[name]
        optimiser.zero_grad()
        if not math.isfinite(float(loss.detach())):
            raise Diverged(f"the loss of the {name} is {float(loss.detach())}")
        loss.backward()
        gradients = [p.grad for group in optimiser.param_groups for p in group["params"] if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if not math.isfinite(float(norm)):
            raise Diverged(f"the gradient of the loss of the {name} is not finite")
        if name == "generator" and self.settings.clip:
            parameters = self.networks[name].parameters()
            torch.nn.utils.clip_grads_with_norm_(parameters, self.settings.clip, norm)
        optimiser.step()
        return loss.detach()

    def generate(self, n: int, rng: torch.Generator) -> Tensor:
        """Generate ``n`` rows with gradients."""
        made: Tensor = self.networks["generator"](self.noise(n, rng))
        if not torch.isfinite(made.detach().sum()):
            raise Diverged("the generator makes rows that are not finite")
        return made


def paper_kernel(bandwidths: tuple[float, ...], coordinates: int) -> Kernel:
    """Return the sum of Gaussian kernels for rows with the given number of coordinates."""
    return Mixture([b * relative_size(coordinates) for b in bandwidths]).requires_grad_(False)


def relative_size(coordinates: int) -> float:
    """Return the length of rows with the given number of coordinates relative to that of the paper, which had 784."""
    return math.sqrt(coordinates / 784)


def scaled_sgd(generator: nn.Module, s: Settings, coordinates: int) -> Optimizer:
    """Optimizer of the generator. Steps are proportional to the bandwidth, as the slope of a kernel is inversely so."""
    return SGD(generator.parameters(), s.learning_rate * relative_size(coordinates), s.momentum, fused=True)
