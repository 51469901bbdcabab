"""The models: networks, their optimisers, and what one step of training does to them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy, cross_entropy, softplus
from torch.optim import SGD, Adam, Optimizer

from ..kernels import Kernel, Linear, Mixture
from ..stats import losses
from . import networks, settings
from .data import Data

S = TypeVar("S", bound=settings.Settings)


class Diverged(ArithmeticError):
    """A loss or its gradient is not finite."""


class Model(Generic[S]):
    """A generator and whatever helps to train it. A subclass makes networks and optimisers, and takes one step.

    Attributes
    ----------
    networks, optimisers
        By name. Together with the random state they are all that a checkpoint has to keep.
    """

    Settings: ClassVar[type[settings.Settings]]

    def __init__(self, settings: S, pixels: int, classes: int, rng: torch.Generator) -> None:
        self.settings = settings
        self.networks: dict[str, nn.Module] = {}
        self.optimisers: dict[str, Optimizer] = {}
        self.build(settings, pixels, classes, rng)

    def build(self, s: S, pixels: int, classes: int, rng: torch.Generator) -> None:
        """Make networks and optimisers for rows of so many pixels (and so many classes, 0 if there are no labels)."""
        raise NotImplementedError

    def prepare(self, data: Data, rng: torch.Generator) -> None:
        """Take from the data what is needed besides batches."""

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """One step on a batch of data: the losses."""
        raise NotImplementedError

    def decode(self, made: Tensor) -> Tensor:
        """What the generator makes, as rows of data."""
        return made

    def noise(self, n: int, rng: torch.Generator) -> Tensor:
        """What goes into the generator."""
        return torch.rand(n, self.settings.noise, generator=rng, device=rng.device) * 2 - 1

    @torch.no_grad()
    def sample(self, n: int, rng: torch.Generator) -> Tensor:
        """``n`` rows; a function of the weights and of ``rng``, which is a generator of the CPU."""
        device = next(self.networks["generator"].parameters()).device
        with self.evaluating():
            made = [
                self.decode(self.networks["generator"](self.noise(min(1000, n - start), rng).to(device)))
                for start in range(0, n, 1000)
            ]
        return torch.cat(made)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Without what networks do only while they are trained."""
        for network in self.networks.values():
            network.eval()
        try:
            yield
        finally:
            for network in self.networks.values():
                network.train()

    def descend(self, name: str, loss: Tensor) -> Tensor:
        """One step of an optimiser, if the loss and its gradient are finite."""
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

    def generated(self, n: int, rng: torch.Generator) -> Tensor:
        """Rows with a gradient."""
        made: Tensor = self.networks["generator"](self.noise(n, rng))
        if not torch.isfinite(made.detach().sum()):
            raise Diverged("the generator makes rows that are not finite")
        return made


def paper_kernel(bandwidths: tuple[float, ...], coordinates: int) -> Kernel:
    """The sum of Gaussians, for rows of so many coordinates."""
    return Mixture([b * relative_size(coordinates) for b in bandwidths]).requires_grad_(False)


def relative_size(coordinates: int) -> float:
    """How long rows of so many coordinates are, in units of those of the paper, which had 784."""
    return math.sqrt(coordinates / 784)


def descent(generator: nn.Module, s: settings.Settings, coordinates: int) -> Optimizer:
    """The generator's optimiser: the slope of a kernel goes as 1 over its bandwidth, so steps go with bandwidths."""
    return SGD(generator.parameters(), s.learning_rate * relative_size(coordinates), s.momentum, fused=True)


class GMMN(Model[settings.GMMN]):
    """√MMD²_biased between generated rows (or codes) and data."""

    Settings: ClassVar[type[settings.Settings]] = settings.GMMN

    def build(self, s: settings.GMMN, pixels: int, classes: int, rng: torch.Generator) -> None:
        """A generator, and an autoencoder if codes are wanted."""
        width = s.codes or pixels
        if s.codes:
            self.networks["autoencoder"] = networks.Autoencoder(pixels, s.autoencoder_hidden, s.codes, 0.05, rng)
            self.optimisers["autoencoder"] = Adam(self.networks["autoencoder"].parameters(), 1e-3)
        self._with_generator(s, width, rng)
        self.loss: nn.Module = losses.MMDLoss(paper_kernel(s.bandwidths, width), "biased", root=True)

    def _with_generator(self, s: settings.Settings, width: int, rng: torch.Generator) -> None:
        generator = networks.Generator(s.noise, s.hidden, width, s.initial, rng)
        self.networks["generator"] = generator
        self.optimisers["generator"] = descent(generator, s, width)

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """First the autoencoder alone, then the generator alone."""
        autoencoder: Any = self.networks.get("autoencoder")
        if autoencoder is not None:
            if number <= self.settings.autoencoder_steps:
                error = binary_cross_entropy(autoencoder.decode(autoencoder.encode(rows)), rows)
                return {"reconstruction": self.descend("autoencoder", error)}
            with torch.no_grad():
                rows = autoencoder.encode(rows)
        return {"loss": self.descend("generator", self.loss(self.generated(len(rows), rng), rows))}

    def decode(self, made: Tensor) -> Tensor:
        """Through the decoder if there is one."""
        autoencoder: Any = self.networks.get("autoencoder")
        return made if autoencoder is None else autoencoder.decode(made)


class TGMMN(GMMN):
    """t between generated rows and data."""

    Settings: ClassVar[type[settings.Settings]] = settings.TGMMN

    def build(self, s: Any, pixels: int, classes: int, rng: torch.Generator) -> None:
        """A generator."""
        self._with_generator(s, pixels, rng)
        self.loss = losses.TStatisticLoss(paper_kernel(s.bandwidths, pixels))


class FeatureMatching(Model[settings.FeatureMatching]):
    """MMD on raw rows and all layers of a discriminator; or the means of its top layer."""

    Settings = settings.FeatureMatching

    def build(self, s: settings.FeatureMatching, pixels: int, classes: int, rng: torch.Generator) -> None:
        """A generator and a discriminator, each with an optimiser of its own."""
        generator = networks.Generator(s.noise, s.hidden, pixels, s.initial, rng)
        discriminator = networks.Discriminator(pixels, s.discriminator, s.initial, rng)
        self.networks |= {"generator": generator, "discriminator": discriminator}
        self.optimisers["generator"] = descent(generator, s, pixels)
        self.optimisers["discriminator"] = SGD(discriminator.parameters(), s.discriminator_learning_rate, s.momentum)
        if s.match == "mmd":
            kernel = paper_kernel(s.bandwidths, pixels)
            self.loss = losses.FeatureMatchingMMD(kernel, discriminator.features, "biased", root=True)
        else:
            self.loss = losses.FeatureMatchingMMD(
                Linear(), lambda x: discriminator.features(x)[-1], "biased", raw=False
            )

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """The discriminator learns to tell apart, then the generator to match what it sees."""
        made = self.generated(len(rows), rng)
        discriminator = self.networks["discriminator"]
        mistakes = softplus(-discriminator(rows)).mean() + softplus(discriminator(made.detach())).mean()
        told_apart = self.descend("discriminator", mistakes)
        return {"loss": self.descend("generator", self.loss(made, rows)), "discriminator": told_apart}


class ImprovedGAN(Model[settings.ImprovedGAN]):
    """A classifier of data into classes and "generated", with few labels or none; the generator wants to be data.

    With logits l_k for the classes and 0 for "generated", the log odds of being data are log Σ_k exp l_k.
    """

    Settings = settings.ImprovedGAN

    def build(self, s: settings.ImprovedGAN, pixels: int, classes: int, rng: torch.Generator) -> None:
        """Both networks."""
        if s.labels and not classes:
            raise ValueError("The data have no labels. Set labels=0 for the GAN without.")
        channels = None
        if s.convolutional:
            if len(s.channels) != 2:
                raise ValueError(f"channels must be two numbers, but is {s.channels}.")
            channels = s.channels[0], s.channels[1]
        generator: nn.Module
        if channels is None:
            generator = networks.NormalisedGenerator(s.noise, s.hidden, pixels, s.initial, rng)
        else:
            generator = networks.ConvolutionalGenerator(s.noise, channels[::-1], pixels, s.initial, rng)
        discriminator = networks.NoisyClassifier(
            pixels,
            s.discriminator,
            classes if s.labels else 1,
            (s.noise_input, s.noise_hidden),
            (s.minibatch_kernels, s.minibatch_dimension),
            s.initial,
            rng,
            channels,
        )
        self.networks |= {"generator": generator, "discriminator": discriminator}
        betas = (s.momentum, 0.999)
        self.optimisers["generator"] = Adam(generator.parameters(), s.learning_rate, betas)
        self.optimisers["discriminator"] = Adam(discriminator.parameters(), s.discriminator_learning_rate, betas)
        self.labelled: tuple[Tensor, Tensor] | None = None

    def prepare(self, data: Data, rng: torch.Generator) -> None:
        """Choose the rows that come with labels."""
        self.labelled = data.labelled(self.settings.labels, rng) if self.settings.labels else None

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """The discriminator learns to tell apart and to classify, then the generator to be taken for data."""
        discriminator = self.networks["discriminator"]
        made = self.generated(len(rows), rng)

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


class Adversarial(Model[settings.Adversarial]):
    """t of a kernel on (x, z(x)): the network z maximises it, the generator minimises it."""

    Settings = settings.Adversarial

    def build(self, s: settings.Adversarial, pixels: int, classes: int, rng: torch.Generator) -> None:
        """A generator, and the features z of the kernel."""
        generator = networks.Generator(s.noise, s.hidden, pixels, s.initial, rng)
        widths = [pixels, *s.features]
        activations = [nn.ReLU] * (len(widths) - 2) + [nn.Identity]
        self.networks |= {"generator": generator, "kernel": networks.Layers(widths, activations, s.initial, rng)}
        betas = (s.momentum, 0.999)
        self.optimisers["generator"] = Adam(generator.parameters(), s.learning_rate, betas)
        self.optimisers["kernel"] = Adam(self.networks["kernel"].parameters(), s.kernel_learning_rate, betas)
        self.loss = losses.TStatisticLoss(paper_kernel(s.bandwidths, pixels))

    def step(self, number: int, rows: Tensor, rng: torch.Generator) -> dict[str, Tensor]:
        """Some steps of the kernel, one of the generator."""
        for _ in range(self.settings.kernel_steps):
            made = self.generated(len(rows), rng).detach()
            t = self.loss(self._features(made), self._features(rows))
            steepness = self._steepness(torch.cat([made, rows]), rng)
            self.descend("kernel", self.settings.penalty * steepness - t)
        t = self.loss(self._features(self.generated(len(rows), rng)), self._features(rows))
        return {"loss": self.descend("generator", t), "steepness": steepness.detach()}

    def _features(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.networks["kernel"](x)[-1]], 1)

    def _steepness(self, x: Tensor, rng: torch.Generator) -> Tensor:
        """How far |∇ z(x)·v| is from 1 in random directions v: a kernel that may be arbitrarily steep always wins."""
        x = x.requires_grad_()
        z = self.networks["kernel"](x)[-1]
        directions = torch.nn.functional.normalize(torch.randn(z.shape, generator=rng, device=z.device))
        (slopes,) = torch.autograd.grad((z * directions).sum(), x, create_graph=True)
        lengths: Tensor = torch.linalg.vector_norm(slopes, dim=1)
        return (lengths - 1).square().mean()


MODELS: dict[str, type[Model[Any]]] = {
    "gmmn": GMMN,
    "t-gmmn": TGMMN,
    "feature-matching": FeatureMatching,
    "improved-gan": ImprovedGAN,
    "adversarial": Adversarial,
}
