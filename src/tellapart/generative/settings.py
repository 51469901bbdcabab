"""Settings of training runs. Each model adds its own, with the values of the paper as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .._util.errors import InputError
from .._util.records import fits

S = TypeVar("S", bound="Settings")


def may_be_zero(default: Any) -> Any:
    """A setting that may be 0. All other numbers must be positive."""
    return field(default=default, metadata={"may be zero": True})


@dataclass(frozen=True)
class Settings:
    """Settings of all models.

    Attributes
    ----------
    steps, batch_size
        Iterations, and rows of a batch of data and of generated rows.
    noise
        Dimension of the generator's input, which is uniform on [-1, 1].
    hidden
        The widths of the generator's hidden layers.
    initial_std
        The standard deviation of the initial weights.
    learning_rate, momentum
        Of the generator. With SGD the rate is for images of 28 × 28 pixels, like the bandwidths.
    clip
        The longest gradient of the generator's loss; longer ones are shortened to it. 0: none is.
    bandwidths
        Of the kernel, a sum of Gaussians, for images of 28 × 28 pixels. Distances grow with the root of the number of
        coordinates, so for others each is multiplied with √(coordinates/784), and so is the rate of SGD.
    log_every, evaluate_every, checkpoint_every
        Steps between entries in the log, between evaluations on held-out data with a picture of samples, and between
        checkpoints.
    """

    steps: int = 50_000
    batch_size: int = 500
    noise: int = 10
    hidden: tuple[int, ...] = (64, 256, 256, 1024)
    initial_std: float = 0.1
    learning_rate: float = may_be_zero(2.0)
    momentum: float = may_be_zero(0.9)
    clip: float = may_be_zero(0.0)
    bandwidths: tuple[float, ...] = (2, 5, 10, 20, 40, 80)
    log_every: int = 50
    evaluate_every: int = 1000
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for entry in fields(self):
            value = _convert(entry, getattr(self, entry.name), hints[entry.name])
            object.__setattr__(self, entry.name, value)

    @classmethod
    def from_mapping(cls: type[S], given: Mapping[str, Any]) -> S:
        """Create settings from a mapping. Raise `InputError` for an unknown name.

        >>> Settings.from_mapping({"learning_rat": 1})
        Traceback (most recent call last):
        ...
        tellapart.InputError: 'learning_rat' is not a setting. Did you mean 'learning_rate'?
        """
        known = [entry.name for entry in fields(cls)]
        for name in given:
            if name not in known:
                close = get_close_matches(name, known, 1)
                hint = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(known)}."
                model = cls.__name__.removesuffix("Settings")
                raise InputError("unknown-option", f"{name!r} is not a setting{model and f' of {model}'}. {hint}")
        return cls(**given)

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain values, for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def _convert(entry: Field[Any], value: Any, kind: Any) -> Any:
    """Convert a value to the type of its field, or raise `InputError`."""
    name = entry.name
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise InputError("unknown-choice", f"{name} must be one of {', '.join(get_args(kind))}, got {value!r}.")
        return value
    if get_origin(kind) is tuple:
        if not isinstance(value, (list, tuple)) or not value:
            raise InputError("wrong-type", f"{name} must be a list of numbers, got {value!r}.")
        return tuple(_convert(entry, part, get_args(kind)[0]) for part in value)
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError("wrong-type", f"{name} must be true or false, got {value!r}.")
        return value
    from_zero = "may be zero" in entry.metadata
    number = fits(value, float)
    if not number or (kind is int and value != int(value)) or value < 0 or (value == 0 and not from_zero):
        wanted = "a whole number" if kind is int else "a number"
        raise InputError(
            "out-of-range", f"{name} must be {wanted} {'from' if from_zero else 'above'} 0, got {value!r}."
        )
    return kind(value)
