"""How to read a sample: the options of `read`, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from .._util.errors import InputError, InputTypeError
from .._util.memory import memory_budget
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from .content.images import check_shape, check_size
from .limits import check_count
from .names import as_names

Missing: TypeAlias = Literal["error", "indicator", "drop"]


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read`, checked; ``seed`` stands for ``rng`` and ``max_memory`` is in bytes.

    ``texts`` are columns of a file of text that stay text, to be read together with those of other samples. Large files
    show their ``progress``.
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None
    missing: Missing = "error"
    image_shape: tuple[int, ...] | None = None
    image_size: tuple[int, int] | None = None
    features: Callable[..., Any] | None = None
    max_rows: int | None = None
    batch_size: int = 256
    seed: int = 0
    max_memory: int | None = None
    texts: tuple[str, ...] = ()
    progress: ProgressLike = False

    @property
    def given(self) -> list[str]:
        """Names of the options that are not the default and change how a row is read."""
        found = ["missing"] if self.missing != "error" else []
        how = ("columns", "drop", "image_shape", "image_size", "features")
        return found + [name for name in how if getattr(self, name) is not None]

    def to_dict(self) -> dict[str, Any]:
        """The options that are not the default and change what is read, as plain values; functions by their names."""
        found = {name: getattr(self, name) for name in (*self.given, *(["max_rows"] if self.max_rows else []))}
        for name, value in found.items():
            if name == "features":
                found[name] = getattr(value, "__name__", type(value).__name__)
            elif not isinstance(value, (str, int)):
                found[name] = list(value)
        return found

    @property
    def by_features(self) -> bool:
        """Whether a function of the rows is compared instead of the rows."""
        return self.features is not None

    def showing(self, progress: ProgressLike) -> ReadOptions:
        """The options that show the progress of reading."""
        return replace(self, progress=progress)

    def with_labels(self, columns: Collection[str]) -> ReadOptions:
        """The options that also read columns of labels."""
        wanted = None if self.columns is None else (*self.columns, *(c for c in columns if c not in self.columns))
        drop = tuple(name for name in self.drop or () if name not in columns) or None
        return replace(self, columns=wanted, drop=drop)

    def without(self, columns: Collection[str]) -> ReadOptions:
        """The options that read all but some columns."""
        if self.columns is not None:
            return replace(self, columns=tuple(name for name in self.columns if name not in columns))
        return replace(self, drop=tuple(dict.fromkeys((*(self.drop or ()), *columns))))

    @property
    def change_rows(self) -> bool:
        """Whether the rows read are others than those of the data."""
        return bool(self.given) or self.max_rows is not None


def check_options(
    *,
    columns: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    missing: Missing = "error",
    image_shape: tuple[int, ...] | None = None,
    image_size: tuple[int, int] | None = None,
    max_rows: int | None = None,
    features: Callable[..., Any] | None = None,
    batch_size: int = 256,
    rng: RNG = None,
    max_memory: float | str | None = None,
) -> ReadOptions:
    """The options, or an error that names the one that is wrong."""
    if missing not in ("error", "indicator", "drop"):
        raise InputError(
            "unknown-choice", f"missing={missing!r} is not known. Choose one of 'error', 'indicator', 'drop'."
        )
    return ReadOptions(
        columns=None if columns is None else as_names(columns, "columns"),
        drop=None if drop is None else as_names(drop, "drop"),
        missing=missing,
        image_shape=None if image_shape is None else check_shape(image_shape),
        image_size=check_size(image_size),
        max_rows=check_count(max_rows, "max_rows"),
        features=features,
        batch_size=check_count(batch_size, "batch_size") or 256,
        seed=0 if rng is None and max_rows is None else seed_of(rng),
        max_memory=None if max_memory is None else memory_budget(max_memory),
    )


#: What to give instead of arguments that other libraries have.
_HINTS = {
    "seed": " Randomness comes in through rng=.",
    "random_state": " Randomness comes in through rng=.",
    "alpha": " The level is given to the result: result.reject(0.05), result.summary(0.05).",
}
#: The names of all options.
OPTIONS = tuple(inspect.signature(check_options).parameters)


def check_reading(reading: dict[str, Any], call: Callable[..., Any] | None = None) -> ReadOptions:
    """The options that came as further keywords of ``call``, whose own arguments are named where one is unknown."""
    odd = next((name for name in reading if name not in OPTIONS), None)
    if odd is None:
        return check_options(**reading)
    own = (
        []
        if call is None
        else [name for name, p in inspect.signature(call).parameters.items() if p.kind != p.VAR_KEYWORD]
    )
    close = get_close_matches(odd, [*own, *OPTIONS], 1)
    hint = f" Did you mean {close[0]}=?" if close else _HINTS.get(odd, "")
    others = [name for name in OPTIONS if name not in own]
    listed = "" if call is None else f" Arguments of {call.__name__} are {', '.join(own)}."
    raise InputTypeError(
        "unknown-option", f"Unknown option {odd!r}.{hint}{listed} Options of reading are {', '.join(others)}."
    )
