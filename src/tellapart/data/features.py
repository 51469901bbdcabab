"""Functions and modules applied to the rows, whose output is compared instead of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from .._util.errors import InputError, InputTypeError, Spelled
from .._util.text import printable, shorten
from .finite import check_finite

#: Some rows, as a function takes them.
Batch: TypeAlias = Tensor | list[str]

#: Characters of a name.
_LONGEST_NAME = 200
#: What to advise for texts: it needs no model.
NGRAMS = Spelled("ta.features.hashing_ngrams()", "ngrams")
#: Functions by the names that they have in files, and how to give them.
_NAMED = {
    "hashing_ngrams((1, 2, 3), character)": NGRAMS,
    "hashing_ngrams((1, 2, 3), word)": Spelled("ta.features.hashing_ngrams(unit='word')", "word-ngrams"),
}


def apply_features(
    batches: Callable[[torch.dtype], Iterable[Batch]], function: Callable[..., Any], label: str
) -> Tensor:
    """The function's output for all rows, batch by batch, without gradients and with a module in eval mode.

    ``batches`` gives the rows, some at a time, in a float type: images as floats between 0 and 1 of shape (n, channels,
    h, w), texts as lists of strings, other rows as floats of shape (n, d).
    """
    if not callable(function):
        raise InputTypeError("wrong-type", f"features must be a function or an nn.Module, but is {function!r}.")
    module = function if isinstance(function, nn.Module) else None
    weight = next((p for p in module.parameters() if p.is_floating_point()), None) if module is not None else None
    dtype, device = (torch.float32, None) if weight is None else (weight.dtype, weight.device)
    training = [part for part in module.modules() if part.training] if module is not None else []
    parts = []
    try:
        if module is not None:
            module.eval()
        with torch.no_grad():
            for batch in batches(dtype):
                given = batch.to(device) if isinstance(batch, Tensor) else batch
                parts.append(_check_output(function(given), len(batch), label))
    finally:
        # Part by part: a module may have kept some of its parts in eval mode on purpose.
        for part in training:
            part.training = True
    if len({part.shape[1] for part in parts}) > 1:
        raise InputError(
            "invalid-features", f"The features have different numbers of coordinates for different rows of {label}."
        )
    found = torch.cat(parts)
    check_finite(found.numpy(), f"The output of the features for {label}", advice="Correct the function.")
    return found


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


def _check_output(output: Any, rows: int, label: str) -> Tensor:
    """The output as floats of shape (rows, coordinates)."""
    if not isinstance(output, (Tensor, np.ndarray)):
        raise InputTypeError(
            "invalid-features", f"The features must be a tensor or an array, but are of type {type(output).__name__}."
        )
    values = torch.as_tensor(output).detach().cpu()
    if values.ndim == 0 or len(values) != rows:
        raise InputError(
            "invalid-features",
            f"The features must have one row for each row, but for {rows} rows of {label} their shape is "
            f"{tuple(values.shape)}.",
        )
    if values.is_complex() or values[0].numel() == 0:
        raise InputError(
            "invalid-features", f"The features must be numbers, but are {values.dtype} of shape {tuple(values.shape)}."
        )
    return values.reshape(rows, -1).to(torch.float64 if values.dtype == torch.float64 else torch.float32)
