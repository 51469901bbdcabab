"""Functions and modules applied to the rows, whose output is compared instead of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.errors import InputError, InputTypeError, Spelled
from .._util.tensors import is_tensor, loaded_torch
from .._util.text import printable, shorten
from .arrays import Array, as_array
from .finite import check_finite

if TYPE_CHECKING:
    from torch import Tensor

#: Characters of a name.
_LONGEST_NAME = 200
#: What to advise for texts: it needs no model.
NGRAMS = Spelled("ta.features.hashing_ngrams()", "ngrams")
#: Functions by the names that they have in files, and how to give them.
_NAMED = {
    "hashing_ngrams((1, 2, 3), character)": NGRAMS,
    "hashing_ngrams((1, 2, 3), word)": Spelled("ta.features.hashing_ngrams(unit='word')", "word-ngrams"),
}


def apply_features(batches: Iterable[Array | list[str]], function: Callable[..., Any], label: str) -> Array:
    """The function's output for all rows, batch by batch, without gradients and with a module in eval mode.

    ``batches`` are the rows, some at a time: images as floats between 0 and 1 of shape (n, channels, h, w), texts as
    lists of strings, other rows as floats of shape (n, d). A function gets numbers as tensors if torch is installed.
    """
    if not callable(function):
        raise InputTypeError("wrong-type", f"features must be a function or an nn.Module, but is {function!r}.")
    with _without_training(function):
        parts = [_check_output(function(_as_taken(batch, function)), len(batch), label) for batch in batches]
    if len({part.shape[1] for part in parts}) > 1:
        raise InputError(
            "invalid-features", f"The features have different numbers of coordinates for different rows of {label}."
        )
    found = np.concatenate(parts)
    check_finite(found, f"The output of the features for {label}", advice="Correct the function.")
    return found


def _as_taken(batch: Array | list[str], function: Callable[..., Any]) -> Any:
    """A batch as a function takes it."""
    if isinstance(batch, list):
        return batch
    torch = None if getattr(function, "takes_arrays", False) else _find_torch()
    if torch is None:
        return batch.astype(np.float32)
    weight = _first_weight(function, torch)
    numbers = torch.from_numpy(batch)
    return numbers.to(torch.float32) if weight is None else numbers.to(weight.dtype).to(weight.device)


def _find_torch() -> Any:
    """The module torch; None if it is not installed."""
    try:
        return import_module("torch")
    except ImportError:
        return None


def _first_weight(function: Any, torch: Any) -> Tensor | None:
    weights = function.parameters() if isinstance(function, torch.nn.Module) else ()
    return next((weight for weight in weights if weight.is_floating_point()), None)


@contextmanager
def _without_training(function: Any) -> Iterator[None]:
    """No gradients are kept within the block, and a module is in eval mode."""
    torch = loaded_torch()
    if torch is None:
        yield
        return
    training = [part for part in function.modules() if part.training] if isinstance(function, torch.nn.Module) else []
    try:
        if training:
            function.eval()
        with torch.no_grad():
            yield
    finally:
        # Part by part: a module may have kept some of its parts in eval mode on purpose.
        for part in training:
            part.training = True


def name_outputs(function: Any, width: int, texts: list[str]) -> tuple[str, ...]:
    """What the numbers are that a function of rows gives: as its attribute ``output_names`` says, or by their places.

    The attribute is a list of names, or a function of the texts that are compared (of some of them) that gives one.
    """
    given = getattr(function, "output_names", None)
    if given is None:
        return tuple(f"feature {k}" for k in range(width))
    names = tuple(shorten(printable(str(name)), _LONGEST_NAME) for name in (given(texts) if callable(given) else given))
    if len(names) != width:
        raise InputError(
            "invalid-features", f"The features name {len(names)} outputs, but give {width} numbers for each row."
        )
    return names


def features_differ(path: Any, fitted: str | None, given: str | None) -> InputError:
    """What to say of a file that was fitted with one function (or none) and loaded with another.

    >>> print(features_differ("r.tellapart", "hashing_ngrams((1, 2, 3), character)", None))
    r.tellapart was fitted with hashing_ngrams((1, 2, 3), character): give features=ta.features.hashing_ngrams().
    >>> print(features_differ("r.tellapart", "embed", None))
    r.tellapart was fitted with embed, which is not stored: give the same features=.
    """
    if fitted is None:
        return InputError(
            "features-differ", f"{path} was fitted without features.", "Leave out {features}.", features=...
        )
    wrong = "" if given is None else f", not with {given}"
    if fitted in _NAMED:
        return InputError(
            "features-differ", f"{path} was fitted with {fitted}{wrong}:", "give {features}.", features=_NAMED[fitted]
        )
    stored = ", which is not stored" if given is None else wrong
    return InputError(
        "features-differ", f"{path} was fitted with {fitted}{stored}:", "give the same {features}.", features=...
    )


def _check_output(output: Any, rows: int, label: str) -> Array:
    """The output as floats of shape (rows, coordinates)."""
    if not isinstance(output, np.ndarray) and not is_tensor(output):
        raise InputTypeError(
            "invalid-features", f"The features must be a tensor or an array, but are of type {type(output).__name__}."
        )
    if output.ndim == 0 or len(output) != rows:
        raise InputError(
            "invalid-features",
            f"The features must have one row for each row, but for {rows} rows of {label} their shape is "
            f"{tuple(output.shape)}.",
        )
    if "complex" in str(output.dtype) or 0 in output.shape[1:]:
        raise InputError(
            "invalid-features", f"The features must be numbers, but are {output.dtype} of shape {tuple(output.shape)}."
        )
    values = as_array(output, f"The output of the features for {label}")
    return values.reshape(rows, -1).astype(np.float64 if values.dtype == np.float64 else np.float32)
