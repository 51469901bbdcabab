"""Labels of rows, 1 for the first sample: as the user restricts them, and the statistic of each labelling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ... import engine
from ..._util.errors import InputError, InputTypeError
from ...data.labels import check_labels
from ..formulas import mmd2_of_labels, mmd2_of_varying
from ..permutations import Exchange, draw_columns
from .base import NullDistribution

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class Labels:
    """Labellings of rows as columns of 0 and 1, the observed one at a random place.

    Attributes
    ----------
    columns
        1 for the rows of the first sample: (rows, labellings).
    observed
        The column of the observed labelling.
    """

    columns: Array
    observed: int

    @classmethod
    def draw(cls, exchange: Exchange, count: int, rng: np.random.Generator) -> Labels:
        """The observed labelling and ``count`` drawn ones; or all, where there are no more than that."""
        columns, observed = draw_columns(exchange, count, rng)
        alone = len(exchange.labels) == len(exchange.unit)
        return cls(columns if alone else columns[exchange.unit], observed)

    def take(self, order: Array) -> Labels:
        """The same for the rows in another order."""
        return Labels(self.columns[order], self.observed)

    def sizes(self) -> Array:
        """Rows of the first sample in each labelling: they vary where groups of other sizes are exchanged."""
        found: Array = np.count_nonzero(self.columns, axis=0)
        return found


def as_labels(values: Any, name: str) -> Array | None:
    """One label a row of both samples, from one array or a pair of them; ``name`` is "groups" or "strata"."""
    if values is None:
        return None
    if isinstance(values, str):
        raise InputTypeError(
            "wrong-type",
            f"groups and strata are labels, one for each row of X and then of Y, but {values!r} is a text. "
            "two_sample_test also takes the name of a column.",
        )
    parts = values if isinstance(values, tuple) and len(values) == 2 else [values]
    for part in parts:
        check_labels(part, name)
    return values if isinstance(values, np.ndarray) else np.concatenate([np.asarray(part) for part in parts])


def check_count(labels: Array | None, rows: int, name: str) -> None:
    """Raise `InputError` if there is not one label for each row."""
    if labels is not None and labels.shape != (rows,):
        raise InputError(
            "wrong-number-of-labels",
            f"{name} must have one label for each of the {rows} rows, but has shape {labels.shape}.",
        )


def split_observed(values: Tensor, observed: int) -> NullDistribution:
    """The statistics of labellings as that of the observed one and all others, in the order they were drawn in."""
    return NullDistribution(values[..., observed], torch.cat([values[..., :observed], values[..., observed + 1 :]], -1))


def of_labels(sizes: Array, rows: int, observed: int) -> Callable[[tuple[Tensor, ...]], NullDistribution]:
    """MMD² of labellings from their quadratic forms; ``sizes`` are the rows of the first sample in each.

    Where sizes vary, MMD² is multiplied by mn/(m + n), relative to that of the observed labelling: its spread under the
    null hypothesis is inversely proportional to this, and labellings of odd sizes would else have the largest values.
    """

    def finish(results: tuple[Tensor, ...]) -> NullDistribution:
        found = engine.Forms(*results)
        total = found.total[..., None]
        if (sizes == sizes[0]).all():
            first = int(sizes[0])
            return split_observed(mmd2_of_labels(found.forms, found.crosses, total, first, rows - first), observed)
        m = torch.from_numpy(sizes).double()
        values = mmd2_of_varying(found.forms, found.crosses, total, m, rows - m)
        return split_observed(values * relative_size(sizes, rows, observed), observed)

    return finish


def relative_size(sizes: Array, rows: int, observed: int) -> Tensor:
    """mn/(m + n) of each labelling, relative to the observed one: 1 where sizes do not vary."""
    balance = torch.from_numpy(sizes * (rows - sizes)).double()
    return balance / balance[observed]
