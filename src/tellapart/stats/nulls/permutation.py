"""Relabelling rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ... import engine
from ...data import reindex
from .base import Finish, Null, NullDistribution, Problem
from .labels import as_labels, check_count, check_exchange, draw_labels, of_labels, with_observed

#: Numbers of labels that are converted to float64 at a time.
_COLUMNS = 4096


@dataclass(frozen=True, eq=False)
class Permutation(Null):
    """Relabel rows at random: every draw by one matrix product (MATHS §4). Exact at every sample size.

    Parameters
    ----------
    groups
        A label for each row of X and then of Y, for rows that belong together (frames of one video, rows of one
        patient). Whole groups are relabelled, those of equal size among each other. A pair of arrays will do.
    strata
        A label for each row likewise: the site, day or prompt that it comes from. Rows are relabelled within their
        stratum only, so that a difference between strata, and how many rows of each sample come from each, is no
        evidence. A group must lie in one stratum.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat([0, 1, 0, 1], [40, 10, 10, 40])
    >>> Z = rng.normal(size=(100, 2)) + 3 * site[:, None]
    >>> ta.mmd_test(Z[:50], Z[50:], rng=0).pvalue
    0.001
    >>> ta.mmd_test(Z[:50], Z[50:], null=Permutation(strata=site), rng=0).pvalue > 0.1
    True
    """

    groups: Any = None
    strata: Any = None
    name: ClassVar[str] = "permutation"
    exact: ClassVar[bool] = True
    sequential: ClassVar[bool] = True

    def check(self, m: int, n: int) -> None:
        """Complain about groups and strata that cannot be relabelled."""
        groups, strata = self.row_labels()
        check_count(groups, m + n, "groups")
        check_count(strata, m + n, "strata")
        check_exchange(m, n, groups, strata)

    def row_labels(self) -> tuple[Any, Any]:
        """Groups and strata of all rows, as arrays."""
        return as_labels(self.groups, "groups"), as_labels(self.strata, "strata")

    def prepare(self, problem: Problem, count: int) -> tuple[engine.Pass, Finish]:
        """Quadratic forms of all labellings."""
        m, n = problem.sizes
        problem.check_room(3 * (m + n) * count)
        rng = problem.rng
        order = np.arange(m + n) if problem.kernel.keeps_row_order else rng.permutation(m + n)
        groups, strata = self.row_labels()
        labels = draw_labels(rng, m, n, count, groups, strata)
        S = with_observed(order < m, labels if groups is None and strata is None else labels[order])
        work = engine.forms_pass(
            problem.kernel,
            [reindex([problem.X, problem.Y], order)],
            S,
            dtype=problem.dtype,
            compute=problem.compute.leaving(S.nbytes),
        )
        return work, of_labels(m, n)

    def draw_means(
        self, values: Tensor, m: int, count: int, rng: np.random.Generator, max_memory: int
    ) -> NullDistribution:
        """The difference of the means of a function of the points, those of X first, and its draws by relabelling.

        The test is one-sided: a function that was learned is larger on X, or it has learned nothing.
        """
        N = len(values)
        S = with_observed(np.arange(N) < m, draw_labels(rng, m, N - m, count, *self.row_labels()))
        centred = values.double() - values.double().mean()
        columns = max(1, min(_COLUMNS, max_memory // 8 // (16 * N)))
        # Centred values sum to 0: what X has, Y lacks.
        sums = torch.cat([centred @ block.double() for block in S.split(columns, dim=1)])
        differences = sums * (1 / m + 1 / (N - m))
        return NullDistribution(differences[0], differences[1:])
