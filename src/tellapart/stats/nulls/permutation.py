"""Permutations of labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ... import engine
from ...data import reindex
from ..design import Design
from ..permutations import count_permutations, draw_permutations, refuse_fixed
from .base import Finish, Null, NullDistribution, Problem
from .permuted import first_sample, mmd2_of_forms, relative_size, split_observed

#: Columns of labels that are converted to float64 at a time.
_COLUMNS = 4096


@dataclass(frozen=True, eq=False)
class Permutation(Null):
    """Permute labels of rows at random: all draws by one matrix product (MATHS §4). Exact at every sample size.

    Parameters
    ----------
    groups
        A label for each row of X and then of Y, for rows that belong together (frames of one video, rows of one
        patient). Whole groups are exchanged, whatever their sizes, so that the numbers of rows of the samples may vary
        between permutations: exact if the sizes of groups have the same distribution in both samples under the null
        hypothesis. Or a pair of arrays.
    strata
        A label for each row likewise: the site, day or prompt that it comes from. Rows are exchanged within their
        stratum only, so that differences between strata, and in the number of rows of each sample in them, are not
        evidence. A group must lie in one stratum.
    equal_groups
        Exchange only groups with the same number of rows: exact also if the sizes of groups differ between the
        samples.

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
    _design: Design | None = field(default=None, init=False, repr=False)
    name: ClassVar[str] = "permutation"
    exact: ClassVar[bool] = True
    sequential: ClassVar[bool] = True

    def check(self, m: int, n: int) -> None:
        """Raise `InputError` if the groups and strata do not fit the samples, or allow no exchange."""
        self.checked(m, n)

    def checked(self, m: int, n: int) -> Permutation:
        """The same with its labels checked once and kept; for samples of m and n rows only."""
        found = replace(self)
        object.__setattr__(found, "_design", self.design(m, n))
        refuse_fixed(found.distinct_permutations(m, n)[0], found.design(m, n))
        return found

    def design(self, m: int, n: int) -> Design:
        """Which of m and n rows may be exchanged."""
        return self._design or Design.check((m, n), self.groups, self.strata, equal_groups=self.equal_groups)

    def distinct_permutations(self, m: int, n: int) -> tuple[float, int]:
        """Number of distinct permutations, and of those that only exchange the names of the samples."""
        return count_permutations(first_sample(m, n), self.design(m, n))

    def prepare(self, problem: Problem, count: int) -> tuple[engine.Pass, Finish]:
        """Quadratic forms of all permutations."""
        m, n = problem.sizes
        problem.check_room(3 * (m + n) * count)
        rng = problem.rng
        labels, design = first_sample(m, n), self.design(m, n)
        order = np.arange(m + n) if problem.kernel.keeps_row_order else rng.permutation(m + n)
        if design.groups is None and design.strata is None:
            drawn = draw_permutations(labels[order], count, rng, place_last=True)
        else:
            drawn = draw_permutations(labels, count, rng, design, place_last=True).take(order)
        S = torch.from_numpy(drawn.codes())
        work = engine.forms_pass(
            problem.kernel,
            [reindex([problem.X, problem.Y], order)],
            S,
            dtype=problem.dtype,
            compute=problem.compute.leaving(S.nbytes),
        )
        return work, mmd2_of_forms(drawn.sizes[:, 1], m + n, drawn.observed)

    def draw_means(
        self, values: Tensor, m: int, count: int, rng: np.random.Generator, max_memory: int
    ) -> NullDistribution:
        """The difference of the means of a function of the points, those of X first, and its permutations.

        The test is one-sided: a function that was learned is larger on X, or it has learned nothing.
        """
        N = len(values)
        drawn = draw_permutations(first_sample(m, N - m), count, rng, self.design(m, N - m), place_last=True)
        sizes = drawn.sizes[:, 1]
        centred = values.double() - values.double().mean()
        columns = max(1, min(_COLUMNS, max_memory // 8 // (16 * N)))
        # Centred values sum to 0, so the sum over X determines that over Y.
        parts = torch.from_numpy(drawn.codes()).split(columns, dim=1)
        sums = torch.cat([centred @ block.double() for block in parts])
        # If sizes vary, so does the spread of a difference of means.
        scale = torch.from_numpy(1 / sizes + 1 / (N - sizes)) * relative_size(sizes, N, drawn.observed).sqrt()
        return split_observed(sums * scale, drawn.observed)
