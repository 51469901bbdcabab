"""MMD² of permuted labels, from quadratic forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ... import engine
from ..formulas import mmd2_of_labels, mmd2_of_varying
from .base import NullDistribution

Array: TypeAlias = "np.ndarray[Any, Any]"


def first_sample(m: int, n: int) -> Array:
    """Labels of m rows of X and n rows of Y: 1 for those of X."""
    return np.repeat(np.array([1, 0], np.uint8), [m, n])


def split_observed(values: Tensor, observed: int) -> NullDistribution:
    """The statistic of the observed labels, and those of all other permutations in the order they were drawn in."""
    return NullDistribution(values[..., observed], torch.cat([values[..., :observed], values[..., observed + 1 :]], -1))


def mmd2_of_forms(sizes: Array, rows: int, observed: int) -> Callable[[tuple[Tensor, ...]], NullDistribution]:
    """MMD² of permutations from their quadratic forms; ``sizes`` are the rows of the first sample in each.

    If sizes vary, MMD² is multiplied by mn/(m + n), relative to that of the observed labels: its spread under the null
    hypothesis is inversely proportional to this, so that permutations of unusual sizes would have the largest values.
    """

    def finish(results: tuple[Tensor, ...]) -> NullDistribution:
        forms = engine.Forms(*results)
        total = forms.total[..., None]
        if (sizes == sizes[0]).all():
            first = int(sizes[0])
            return split_observed(mmd2_of_labels(forms.forms, forms.crosses, total, first, rows - first), observed)
        m = torch.from_numpy(sizes).double()
        values = mmd2_of_varying(forms.forms, forms.crosses, total, m, rows - m)
        return split_observed(values * relative_size(sizes, rows, observed), observed)

    return finish


def relative_size(sizes: Array, rows: int, observed: int) -> Tensor:
    """mn/(m + n) of each permutation, relative to the observed labels: 1 if sizes do not vary."""
    balance = torch.from_numpy(sizes * (rows - sizes)).double()
    return balance / balance[observed]
