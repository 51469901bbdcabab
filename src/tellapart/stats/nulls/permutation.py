"""Relabelling rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ... import engine
from ...data import reindex
from ..permutations import Exchange, count_permutations, find_exchange, refuse_fixed
from .base import Finish, Null, NullDistribution, Problem
from .labels import Labels, as_labels, check_count, of_labels, relative_size, split_observed

#: Numbers of labels that are converted to float64 at a time.
_COLUMNS = 4096


@dataclass(frozen=True, eq=False)
class Permutation(Null):
    """Relabel rows at random: every draw by one matrix product (MATHS §4). Exact at every sample size.

    Parameters
    ----------
    groups
        A label for each row of X and then of Y, for rows that belong together (frames of one video, rows of one
        patient). Whole groups are relabelled, whatever their sizes, so that the samples of a labelling may have other
        numbers of rows than the observed ones: exact if the sizes of groups have the same distribution in both samples
        under the null hypothesis. A pair of arrays will do.
    strata
        A label for each row likewise: the site, day or prompt that it comes from. Rows are relabelled within their
        stratum only, so that a difference between strata, and how many rows of each sample come from each, is no
        evidence. A group must lie in one stratum.
    equal_groups
        Relabel only groups with the same number of rows among each other: exact also where the sizes of groups differ
        between the samples.

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
    equal_groups: bool = False
    name: ClassVar[str] = "permutation"
    exact: ClassVar[bool] = True
    sequential: ClassVar[bool] = True

    def check(self, m: int, n: int) -> None:
        """Raise `InputError` if no labels can be exchanged under these groups and strata."""
        groups, strata = self.row_labels()
        check_count(groups, m + n, "groups")
        check_count(strata, m + n, "strata")
        refuse_fixed(count_permutations(self.exchange(m, n), 2)[0], groups)

    def row_labels(self) -> tuple[Any, Any]:
        """Groups and strata of all rows, as arrays."""
        return as_labels(self.groups, "groups"), as_labels(self.strata, "strata")

    def exchange(self, m: int, n: int) -> Exchange:
        """Which rows or groups may be exchanged with which."""
        groups, strata = self.row_labels()
        codes = None if strata is None else np.unique(strata, return_inverse=True)[1].reshape(-1)
        return find_exchange(np.repeat(np.array([1, 0], np.uint8), [m, n]), groups, codes, self.equal_groups)

    def labellings(self, m: int, n: int) -> tuple[float, int]:
        """How many there are, and how many of them exchange no more than the names of the samples."""
        return count_permutations(self.exchange(m, n), 2)

    def prepare(self, problem: Problem, count: int) -> tuple[engine.Pass, Finish]:
        """Quadratic forms of all labellings."""
        m, n = problem.sizes
        problem.check_room(3 * (m + n) * count)
        rng = problem.rng
        order = np.arange(m + n) if problem.kernel.keeps_row_order else rng.permutation(m + n)
        if self.groups is None and self.strata is None:
            labels = Labels.draw(find_exchange((order < m).astype(np.uint8)), count, rng)
        else:
            labels = Labels.draw(self.exchange(m, n), count, rng).take(order)
        S = torch.from_numpy(labels.columns)
        work = engine.forms_pass(
            problem.kernel,
            [reindex([problem.X, problem.Y], order)],
            S,
            dtype=problem.dtype,
            compute=problem.compute.leaving(S.nbytes),
        )
        return work, of_labels(labels.sizes(), m + n, labels.observed)

    def draw_means(
        self, values: Tensor, m: int, count: int, rng: np.random.Generator, max_memory: int
    ) -> NullDistribution:
        """The difference of the means of a function of the points, those of X first, and its draws by relabelling.

        The test is one-sided: a function that was learned is larger on X, or it has learned nothing.
        """
        N = len(values)
        labels = Labels.draw(self.exchange(m, N - m), count, rng)
        sizes = labels.sizes()
        centred = values.double() - values.double().mean()
        columns = max(1, min(_COLUMNS, max_memory // 8 // (16 * N)))
        # Centred values sum to 0: what X has, Y lacks.
        parts = torch.from_numpy(labels.columns).split(columns, dim=1)
        sums = torch.cat([centred @ block.double() for block in parts])
        # Where sizes vary, so does the spread of a difference of means.
        scale = torch.from_numpy(1 / sizes + 1 / (N - sizes)) * relative_size(sizes, N, labels.observed).sqrt()
        return split_observed(sums * scale, labels.observed)
