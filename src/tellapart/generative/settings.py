"""What can be set of a training run: one dataclass for each model, with the paper's values as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

S = TypeVar("S", bound="Settings")


@dataclass(frozen=True)
class Settings:
    """What every model has.

    Attributes
    ----------
    steps, batch_size, seed
        Iterations, rows of a batch of data and of generated rows, and what all randomness comes from.
    noise
        The generator's input: so many coordinates, uniform on [-1, 1].
    hidden
        The widths of the generator's hidden layers.
    initial
        The standard deviation of the initial weights.
    learning_rate, momentum
        Of the generator. With SGD the rate is for images of 28 × 28 pixels, like the bandwidths.
    clip
        The longest gradient of the generator's loss; longer ones are shortened to it. 0: none is.
    bandwidths
        Of the kernel, a sum of Gaussians, for images of 28 × 28 pixels. Distances grow with the root of the number of
        coordinates, so for others each is multiplied with √(coordinates/784), and so is the rate of SGD.
    log_every, check_every, keep_every
        Steps between entries in the log, between looks at held-out data with a picture of samples, and between
        checkpoints.
    """

    steps: int = 50_000
    batch_size: int = 500
    seed: int = 0
    noise: int = 10
    hidden: tuple[int, ...] = (64, 256, 256, 1024)
    initial: float = 0.1
    learning_rate: float = 2.0
    momentum: float = 0.9
    clip: float = 0.0
    bandwidths: tuple[float, ...] = (2, 5, 10, 20, 40, 80)
    log_every: int = 50
    check_every: int = 1000
    keep_every: int = 500

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in fields(self):
            value = _checked(field.name, getattr(self, field.name), hints[field.name])
            object.__setattr__(self, field.name, value)

    @classmethod
    def of(cls: type[S], given: Mapping[str, Any]) -> S:
        """Settings from a mapping; a name that is no setting is an error.

        >>> GMMN.of({"learning_rat": 1})
        Traceback (most recent call last):
        ...
        ValueError: 'learning_rat' is not a setting of GMMN. Did you mean 'learning_rate'?
        """
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                close = get_close_matches(name, known, 1)
                hint = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(known)}."
                raise ValueError(f"{name!r} is not a setting of {cls.__name__}. {hint}")
        return cls(**given)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class GMMN(Settings):
    """Moment matching networks (Li et al. 2015): the generator minimises √MMD²_biased.

    With ``codes`` the MMD is between codes of so many numbers, of an autoencoder that is trained for the first
    ``autoencoder_steps`` steps; the generator makes codes, which the decoder turns into images.
    """

    codes: int = 0
    autoencoder_steps: int = 5000
    autoencoder_hidden: tuple[int, ...] = (1024,)


@dataclass(frozen=True)
class TGMMN(Settings):
    """The generator minimises t itself.

    With batches of 500 t begins at about 265, with a gradient a hundred times as long as later. At a learning rate of
    0.02 such steps drive the sigmoids to where they have no slope, and t stays near 27; so gradients are clipped.
    """

    learning_rate: float = 0.02
    clip: float = 5.0


@dataclass(frozen=True)
class FeatureMatching(Settings):
    """MMD on the raw image and every layer of a discriminator, which is trained to tell generated rows from data.

    With ``match="means"`` it is Salimans et al.'s own: the squared distance between the means of the top layer.
    """

    initial: float = 0.2
    learning_rate: float = 0.5
    match: Literal["mmd", "means"] = "mmd"
    discriminator: tuple[int, ...] = (512, 256, 256, 128, 64)
    discriminator_learning_rate: float = 0.01


@dataclass(frozen=True)
class ImprovedGAN(Settings):
    """Salimans et al. 2016: a classifier with a class for generated rows, and minibatch discrimination.

    ``labels`` rows of the data, equally many of each class, come with their labels; 0 is a GAN without any. Adam; the
    ``momentum`` is its β1. ``convolutional`` puts two convolutions, with so many ``channels``, in front of the
    discriminator and at the end of the generator, in the place of ``hidden``: a size for a GPU.

    The discriminator takes data for data with probability 1 - ``smoothing`` (their §3.4). Its weights begin small and
    have no normalisation, so that noise on hidden layers, which they have too, would drown what passes there: with a
    deviation of 0.5, or weights of 0.05, samples were all alike after 1,000 steps.
    """

    batch_size: int = 100
    noise: int = 100
    hidden: tuple[int, ...] = (500, 500)
    initial: float = 0.02
    learning_rate: float = 0.0003
    momentum: float = 0.5
    steps: int = 20_000
    labels: int = 1000
    discriminator: tuple[int, ...] = (512, 256, 256)
    discriminator_learning_rate: float = 0.0003
    minibatch_kernels: int = 100
    minibatch_dimension: int = 5
    noise_input: float = 0.3
    noise_hidden: float = 0.0
    smoothing: float = 0.1
    convolutional: bool = False
    channels: tuple[int, ...] = (64, 128)


@dataclass(frozen=True)
class Adversarial(Settings):
    """The kernel maximises t while the generator minimises it, which the paper's footnote calls hard.

    What keeps it from diverging: a network z whose gradient at data and samples is held near 1 (``penalty``), seen
    beside the raw pixels, which it cannot switch off; a kernel that learns much more slowly than the generator, because
    t has no upper bound; Adam with little momentum. With a kernel as quick as the generator t stays above 50.
    """

    batch_size: int = 250
    initial: float = 0.2
    learning_rate: float = 0.002
    momentum: float = 0.5
    features: tuple[int, ...] = (256, 128, 16)
    kernel_learning_rate: float = 0.0001
    kernel_steps: int = 1
    penalty: float = 10.0


#: Numbers that make sense as 0.
_MAY_BE_ZERO = {
    "autoencoder_steps",
    "clip",
    "codes",
    "labels",
    "learning_rate",
    "minibatch_kernels",
    "momentum",
    "noise_hidden",
    "noise_input",
    "penalty",
    "seed",
    "smoothing",
}


def _checked(name: str, value: Any, kind: Any) -> Any:
    """The value in the type of its field, or an error that says what was wanted."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{name} must be one of {', '.join(get_args(kind))}, but is {value!r}.")
        return value
    if get_origin(kind) is tuple:
        if not isinstance(value, (list, tuple)) or not value:
            raise ValueError(f"{name} must be a list of numbers, but is {value!r}.")
        return tuple(_checked(name, part, get_args(kind)[0]) for part in value)
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, but is {value!r}.")
        return value
    wanted = "a whole number" if kind is int else "a number"
    number = not isinstance(value, bool) and isinstance(value, (int, float)) and (kind is float or value == int(value))
    if not number or not (value > 0 or (value == 0 and name in _MAY_BE_ZERO)) or value == float("inf"):
        raise ValueError(f"{name} must be {wanted} {'from' if name in _MAY_BE_ZERO else 'above'} 0, but is {value!r}.")
    return kind(value)
