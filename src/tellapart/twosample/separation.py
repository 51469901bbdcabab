"""The AUC of a classifier of two samples on held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import TensorPoints
from ..engine import Compute
from ..learning.discriminant import fit_witness
from ..stats.auc import auc_and_error

if TYPE_CHECKING:
    from torch import Tensor

#: Maximum number of rows of each sample.
ROWS = 4_000


def held_out_auc(x: TensorPoints, y: TensorPoints, rng: np.random.Generator, compute: Compute) -> tuple[float, float]:
    """The AUC on one half of the rows of a witness (a kernel ridge regression) fitted to the other, and its error."""
    learned, held_out = [], []
    for part in (x, y):
        first, second = np.array_split(rng.permutation(len(part))[:ROWS], 2)
        learned.append(_rows(part, first))
        held_out.append(_rows(part, second))
    witness, _ = fit_witness(learned[0], learned[1], rng, compute)
    of_x, of_y = (witness.values(part.flatten(1)).numpy() for part in held_out)
    return auc_and_error(of_x, of_y)


def _rows(points: TensorPoints, rows: np.ndarray[Any, Any]) -> Tensor:
    return points[np.sort(rows)].detach().cpu().float()
