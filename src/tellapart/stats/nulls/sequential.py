"""Drawing no more than the decision needs."""

from __future__ import annotations

from dataclasses import replace

import torch

from ..._util.errors import InputError
from ..pvalues import critical_rank
from .base import Null, NullDistribution, Problem


def draw_until_decided(
    null: Null, problem: Problem, limit: int, alpha: float, tolerance: float
) -> tuple[NullDistribution, float]:
    """Draws until the decision at ``alpha`` is known (Besag & Clifford 1991), and an exact p-value.

    For nulls whose draws are independent given the data (`Null.sequential`). Stops at the h-th draw that reaches the
    statistic, h = ⌊alpha (limit + 1)⌋: from then on the test cannot reject. If that is draw L, p = h / L; if it never
    comes, p = (1 + #) / (limit + 1). Where there are no more relabellings than that, all of them are looked at.
    """
    if null.distinct_permutations(*problem.sizes)[0] <= limit + 1:
        every = null.draw(problem, limit)
        return every, float(every.pvalue(tolerance))
    enough = critical_rank(alpha, limit)
    if enough < 1:
        raise InputError(
            "level-not-attainable",
            f"{limit} permutations cannot decide at alpha={alpha}: p-values are at least 1/{limit + 1}.",
        )
    drawn: NullDistribution | None = None
    size = 128
    while drawn is None or (drawn.distribution.shape[-1] < limit):
        have = 0 if drawn is None else drawn.distribution.shape[-1]
        fresh = null.draw(problem, min(size, limit - have))
        if drawn is not None:
            fresh = replace(drawn, distribution=torch.cat([drawn.distribution, fresh.distribution]))
        drawn = fresh
        reached = drawn.reaches(tolerance).nonzero()[:, 0]
        if len(reached) >= enough:
            last = int(reached[enough - 1]) + 1
            return replace(drawn, distribution=drawn.distribution[:last]), enough / last
        size *= 2
    return drawn, float(drawn.pvalue(tolerance))
