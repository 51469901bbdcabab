"""Randomness comes in as an argument and is never global."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .errors import InputTypeError
from .tensors import loaded_torch

if TYPE_CHECKING:
    import torch

RNG: TypeAlias = "int | torch.Generator | np.random.Generator | None"


def seed_of(rng: Any) -> int:
    """A seed: the integer given, or one drawn from the generator given, or (None) from the system.

    >>> seed_of(7)
    7
    """
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    torch = loaded_torch()
    if torch is not None and isinstance(rng, torch.Generator):
        return int(torch.randint(2**62, (), generator=rng, device=rng.device))
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**62))
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise InputTypeError(
        "invalid-seed",
        f"rng must be a whole number from 0 up, a torch.Generator or a numpy.random.Generator, but is {rng!r}.",
    )
