"""What a kernel can be learned by, and how it was learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Criterion = Literal["t", "power", "mmd"]

#: Kernels that can be named instead of made.
NAMES = ("rbf", "ard", "full", "deep", "witness")


@dataclass
class History:
    """History of the learning of a kernel, with one entry for each evaluation on the held-out rows.

    Attributes
    ----------
    step
        The step of each entry, counted from 0.
    training, validation
        The criterion: mean over the batches since the previous entry, and value on the held-out rows.
    score
        Estimate of the power of the test on the held-out rows: (MMD² - c)/√V+ with the threshold c of a normal null
        (MMD² for the criterion ``"mmd"``). The returned kernel has the largest score. With few rows, t alone is often
        large by chance for kernels that detect no difference.
    replaced
        The share of batches in which V was below V2, so that t was U/√V2.
    best_step
        Step of the returned kernel.
    restart
        Number of the restart that gave the returned kernel.
    table
        For kernels that are selected without gradient ascent (``"rbf"``, ``"witness"``): the scores of all choices.
    """

    criterion: str
    step: list[int] = field(default_factory=list)
    training: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    replaced: list[float] = field(default_factory=list)
    best_step: int = 0
    restart: int = 0
    table: dict[str, np.ndarray[Any, Any]] | None = None

    @property
    def best(self) -> float:
        """Score of the returned kernel."""
        return max(self.score)
