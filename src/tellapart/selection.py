"""Choosing the bandwidth of a kernel without a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._rng import RNG, seed_of
from .samples import as_pair

#: Rows looked at: the median of a hundred thousand distances is known well enough.
_ROWS = 500


def median_bandwidth(X: Any, Y: Any, *, rng: RNG = 0) -> float:
    """The median distance between two different points of the pooled sample: the usual first guess.

    Parameters
    ----------
    X, Y
        The samples.
    rng
        Of more than 500 rows, that many are drawn with it. The draw does not look at labels, so a permutation
        test with this bandwidth stays exact.

    Examples
    --------
    >>> median_bandwidth([0.0, 3.0], [4.0])
    3.0
    """
    x, y = as_pair(X, Y)
    pooled = torch.cat([x.values.detach(), y.values.detach()]).flatten(1)
    if len(pooled) > _ROWS:
        chosen = np.random.default_rng(seed_of(rng)).permutation(len(pooled))[:_ROWS]
        pooled = pooled[torch.from_numpy(chosen).to(pooled.device)]
    pooled = pooled.cpu().double()
    distances = torch.cdist(pooled - pooled.mean(0), pooled - pooled.mean(0))
    above = distances[torch.triu(torch.ones_like(distances), 1).bool()]
    above = above[above > 0]
    return float(above.median()) if len(above) else 1.0
