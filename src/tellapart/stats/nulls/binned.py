"""Relabelling bins of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from ... import engine
from ..._util.errors import InputError
from ...data import reindex
from ..permutations import count_permutations, draw_permutations
from .base import Finish, Null, NullDistribution, Problem
from .permuted import first_sample, mmd2_of_forms

#: Bins of a sample that are relabelled; with more of them, the rest keep their label.
_MOST_BINS = 500


@dataclass(frozen=True)
class Binned(Null):
    """Relabel bins of equal size, of which only the sums are kept (MATHS §5). Exact; little more than the statistic.

    Parameters
    ----------
    bins
        About how many bins. By default 20 in the smaller sample.
    """

    bins: int | None = None
    name: ClassVar[str] = "binned"
    exact: ClassVar[bool] = True

    def check(self, m: int, n: int) -> None:
        """Complain about too few bins or too many."""
        if self.bins is not None and not 4 <= self.bins <= m + n:
            raise InputError(
                "out-of-range", f"bins must be between 4 and the number of rows, {m + n}, but is {self.bins}."
            )

    def prepare(self, problem: Problem, count: int) -> tuple[engine.Pass, Finish]:
        """Sums over pairs of bins."""
        m, n = problem.sizes
        rng = problem.rng
        # Equal bins of q rows in each sample; what is left over of a sample keeps its label.
        of_x, of_y, q = self._count_bins(m, n)
        bins = np.concatenate([_draw_bins(rng, m, q, of_x, 0), _draw_bins(rng, n, q, of_y, of_x)])
        bins[bins == -1] = of_x + of_y + np.repeat([0, 1], [m - of_x * q, n - of_y * q])
        # Bins side by side in a random order: then nothing in the computation knows which were of X.
        place = rng.permutation(of_x + of_y + 2)
        order = np.argsort(place[bins], kind="stable")
        work = engine.bins_pass(
            problem.kernel,
            [reindex([problem.X, problem.Y], order)],
            torch.from_numpy(bins[order]),
            of_x + of_y + 2,
            dtype=problem.dtype,
            compute=problem.compute,
        )

        def finish(results: tuple[torch.Tensor, ...]) -> NullDistribution:
            (sums,) = results
            drawn = draw_permutations(first_sample(of_x, of_y), count, rng, place_last=True)
            # The remaining rows of X keep their label 1, those of Y their label 0.
            S = torch.from_numpy(np.pad(drawn.codes(), ((0, 2), (0, 0)))).double()
            S[-2] = 1
            products = sums @ S
            sizes = np.full(S.shape[1], m)
            forms = (S * products).sum(-2), products.sum(-2), sums.sum((-2, -1))
            return mmd2_of_forms(sizes, m + n, drawn.observed)(forms)

        return work, finish

    def distinct_permutations(self, m: int, n: int) -> tuple[float, int]:
        """Permutations of bins; samples can exchange their names if all of their rows are in bins."""
        of_x, of_y, q = self._count_bins(m, n)
        distinct, alike = count_permutations(first_sample(of_x, of_y))
        return distinct, alike if (of_x * q, of_y * q) == (m, n) else 1

    def _count_bins(self, m: int, n: int) -> tuple[int, int, int]:
        """Bins of either sample that are relabelled, and the rows of each."""
        q = self._rows_per_bin(m, n)
        return min(m // q, _MOST_BINS), min(n // q, _MOST_BINS), q

    def _rows_per_bin(self, m: int, n: int) -> int:
        if self.bins is None:
            return max(min(m, n) // 20, 1)
        return max(min((m + n) // self.bins, m // 2, n // 2), 1)


def _draw_bins(rng: np.random.Generator, size: int, q: int, count: int, start: int) -> np.ndarray[Any, Any]:
    """The bin of each row of a sample: q rows each, drawn at random, and -1 for what is left over."""
    bins = np.full(size, -1, dtype=np.int64)
    bins[rng.permutation(size)[: count * q]] = np.repeat(np.arange(start, start + count), q)
    return bins
