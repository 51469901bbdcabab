"""Where two samples differ: the witness function, the rows at its extremes, and the weights of coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .. import engine
from ..data import Sample, as_pair, as_sample
from ..engine import Memory
from ..kernels import ARD, Kernel, Witness

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Rows at which, and rows from which, the slopes of a witness are computed.
_SLOPES, _SLOPES_FROM = 500, 2000


def witness(kernel: Kernel, X: Any, Y: Any, at: Any, *, max_memory: Memory = None) -> Array:
    """The witness function f(z) = mean_i k(x_i, z) - mean_j k(y_j, z): positive where X has more, negative where Y has.

    Parameters
    ----------
    kernel
        The kernel.
    X, Y
        The samples that it is estimated from.
    at
        Where to evaluate it; best rows that are neither in X nor in Y, since a row is always like itself.

    Examples
    --------
    >>> from tellapart.kernels import Gaussian
    >>> f = witness(Gaussian(1.0), torch.zeros(10, 1), torch.ones(10, 1) * 3, at=[[0.0], [3.0]])
    >>> f.round(2)
    array([ 0.99, -0.99])
    """
    x, y = as_pair(X, Y)
    z = as_sample(at, "at").values
    with torch.no_grad():
        if isinstance(kernel, Witness):
            # Its own function does not grow with the number of rows, and has the sign that was learned.
            values = kernel.values(z) - kernel.values(torch.cat([x.values, y.values])).mean()
            return np.asarray(values.cpu().numpy())
        weights = torch.cat([torch.full((len(x),), 1 / len(x)), torch.full((len(y),), -1 / len(y))])
        pooled = torch.cat([x.values, y.values])
        found = engine.product(kernel, z.to(pooled), pooled, weights[:, None].double(), max_memory=max_memory)
    return np.asarray(found[:, 0].cpu().numpy())


def separability(of_x: Array, of_y: Array) -> float:
    """The AUC: how often a row of X has the larger witness value than a row of Y, ties counted half.

    >>> separability(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    pooled = np.concatenate([of_x, of_y])
    _, inverse, counts = np.unique(pooled, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    m, n = len(of_x), len(of_y)
    return float((ranks[:m].sum() - m * (m + 1) / 2) / (m * n))


@dataclass(frozen=True)
class Exemplar:
    """A row at a level of the witness function.

    ``sample`` is ``"X"`` or ``"Y"``, ``index`` its position among the tested rows of that sample, ``where`` what the
    user calls it, and ``level`` whether it lies where X has more, where Y has more, or where there is no difference.
    """

    sample: Literal["X", "Y"]
    index: int
    where: str
    value: float
    level: Literal["more of X", "more of Y", "no difference"]


def exemplars(x: Sample, y: Sample, of_x: Array, of_y: Array, count: int = 8) -> list[Exemplar]:
    """The ``count`` rows of each sample with the largest, the smallest and the most neutral witness values.

    (Lloyd & Ghahramani 2015.) Where the witness is largest, rows of X are what Y lacks, and rows of Y, if there are
    any, what it still has of them.
    """
    found = []
    pooled = np.concatenate([of_x, of_y])
    middle = (of_x.mean() + of_y.mean()) / 2 if pooled.min() > 0 or pooled.max() < 0 else 0.0
    for name, sample, values in (("X", x, of_x), ("Y", y, of_y)):
        order = np.argsort(values, kind="stable")
        few = min(count, len(values))
        levels = {
            "more of X": order[::-1][:few],
            "no difference": np.argsort(np.abs(values - middle), kind="stable")[:few],
            "more of Y": order[:few],
        }
        for level, rows in levels.items():
            for i in rows.tolist():
                where = f"row {i}" if sample.shown is None else sample.shown.where(i)
                found.append(Exemplar(name, i, where, float(values[i]), level))  # type: ignore[arg-type]
    return found


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each coordinate carries of the difference; all together 1.

    Attributes
    ----------
    names
        Of the coordinates: columns of a table, pixels of an image.
    values
        The weights.
    low, high
        The least and the greatest weight over repetitions with other rows and seeds, where there were any.
    meaning
        ``"scales"``: what an `ARD` kernel learned. ``"slopes"``: the mean slope of the witness function along each
        coordinate, times the coordinate's standard deviation.
    image_shape
        For pixels: the shape of the image that ``values`` make.
    """

    names: tuple[str, ...]
    values: Array
    low: Array | None
    high: Array | None
    meaning: Literal["scales", "slopes"]
    image_shape: tuple[int, ...] | None = None

    def leading(self, count: int = 5) -> list[tuple[str, float]]:
        """The largest weights with their names."""
        order = np.argsort(-self.values, kind="stable")[:count]
        return [(self.names[i], float(self.values[i])) for i in order]


def coordinate_weights(kernel: Kernel, x: Sample, y: Sample, columns: tuple[str, ...], scales: bool) -> Array:
    """The weight of each column (a column of text has several coordinates), summing to 1: by scales or by slopes."""
    if scales and isinstance(kernel, ARD):
        deviations = torch.cat([x.values, y.values]).flatten(1).double().std(0)
        weights = (kernel.scales.cpu() * (deviations.cpu() > 0)).numpy()
    else:
        weights = _slopes(kernel, x.values, y.values)
    total: dict[str, float] = dict.fromkeys(columns, 0.0)
    for name, weight in zip(x.columns or columns, weights.tolist(), strict=True):
        total[name] += weight**2
    found = np.sqrt(np.array(list(total.values())))
    return np.asarray(found / found.sum() if found.sum() > 0 else np.full(len(found), 1 / len(found)))


def _slopes(kernel: Kernel, X: Tensor, Y: Tensor) -> Array:
    """The root mean square slope of the witness along each coordinate, in standard deviations of the coordinate."""
    half = _SLOPES // 2
    at = torch.cat([X[:half], Y[:half]]).detach().clone().requires_grad_(True)
    rows = X[half : half + _SLOPES_FROM], Y[half : half + _SLOPES_FROM]
    X, Y = (part if len(part) >= 2 else whole for part, whole in zip(rows, (X, Y), strict=True))
    values = kernel.values(at) if isinstance(kernel, Witness) else kernel(at, X).mean(1) - kernel(at, Y).mean(1)
    (slopes,) = torch.autograd.grad(values.sum(), at)
    deviations = torch.cat([X, Y]).flatten(1).std(0)
    return np.asarray((slopes.flatten(1).square().mean(0).sqrt() * deviations).double().cpu().numpy())
