"""How much each coordinate carries of a difference, from a kernel that was learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..data import Sample
from ..data.arrays import Array, as_array
from ..data.torch_rows import TensorSample
from ..engine.compute import Compute
from ..kernels import Kernel
from ..learning import fitting
from .weights import Weights

Pair: TypeAlias = tuple[TensorSample, TensorSample]

#: Rows at which, and rows of each sample from which, the slopes of a witness are computed.
_SLOPES, _SLOPES_FROM = 500, 2000
#: Rows of each sample at the most from which weights are computed again to see how stable they are.
_AGAIN = 2000
#: Scales that differ by less have not been learned.
_LEARNED = 1.01
#: Numbers that autograd keeps, at a guess, for each value of a kernel, and for each coordinate of a point.
_KEPT_BY_VALUE, _KEPT_BY_COORDINATE = 8, 4
#: Points that a learned witness function is made of, at the most.
_WITNESS_POINTS = 6000
#: Pixels up to which weights are learned beside another test; rows and numbers of each sample they are learned from.
_PIXELS, _PIXEL_ROWS, _PIXEL_NUMBERS = 8_000, 1_000, 800_000
#: Images of each sample from which weights can be learned.
_FEWEST = 20
#: How: the samples are known to differ, and a picture of where needs no more.
_PIXEL_LEARNING = fitting.LearningSettings(steps=150, patience=5, scan=False)


def find_weights(
    kernel: Kernel,
    learned_from: Pair,
    tested: Pair,
    relearn: Callable[[Tensor, Tensor, np.random.Generator], Kernel] | None,
    *,
    repetitions: int,
    rng: np.random.Generator,
    compute: Compute,
) -> Weights:
    """The weights of a learned kernel and their range: by its scales where it has learned some, else by slopes.

    Parameters
    ----------
    kernel
        The learned kernel.
    learned_from, tested
        The rows it was learned from, which scales are of; and other rows, at which slopes are taken.
    relearn
        Learns such a kernel again from some of the rows; None where there are no repetitions.
    repetitions
        How often weights are computed again, to see their range: scales are learned again, slopes taken elsewhere.
    """
    columns = tuple(dict.fromkeys(learned_from[0].column_names))
    scales = kernel.coordinate_scales
    # Where no step was better than the start, all scales are equal, and the witness says more than they do.
    by_scales = scales is not None and float(scales.max() / scales.min()) > _LEARNED
    rows = learned_from if by_scales else tested

    def weights(kernel: Kernel, part: Pair) -> Array:
        found = _scales(kernel, part) if by_scales else _slopes(kernel, part, compute)
        return _sum_columns(found, part[0].column_names, columns)

    values = weights(kernel, rows)
    again = []
    for _ in range(repetitions if relearn is not None else 0):
        # Some of the rows, and none twice: a row that is learned from and held out would flatter.
        x, y = (part.take(rng.permutation(len(part))[: min(int(0.8 * len(part)), _AGAIN)]) for part in rows)
        again.append(weights(relearn(x.values, y.values, rng) if by_scales and relearn else kernel, (x, y)))
    spread = np.array([values, *again])
    return Weights(
        columns,
        values,
        spread.min(0) if again else None,
        spread.max(0) if again else None,
        "scales" if by_scales else "slopes",
        tested[0].image_shape,
    )


def learn_pixel_weights(images: tuple[Sample, Sample], rng: np.random.Generator, compute: Compute) -> Weights | None:
    """The weights of an ARD kernel that is learned from some images; None where they are too few or too large."""
    pixels = int(np.prod(images[0].values.shape[1:]))
    rows = min(_PIXEL_ROWS, _PIXEL_NUMBERS // pixels)
    if pixels > _PIXELS or min(map(len, images)) < _FEWEST:
        return None
    some = [part.take(np.sort(rng.permutation(len(part))[:rows])) for part in images]
    single = [replace(part, values=as_array(part.values, "").astype(np.float32)) for part in some]
    x, y = map(TensorSample.of, single)
    kernel = fitting.learn_kernel(x.values, y.values, "ard", _PIXEL_LEARNING, int(rng.integers(2**31)), compute)[0]
    return find_weights(kernel, (x, y), (x, y), None, repetitions=0, rng=rng, compute=compute)


def _sum_columns(weights: Array, column_of: tuple[str, ...], columns: tuple[str, ...]) -> Array:
    """The weight of each column, of which a column of text has several coordinates; they sum to 1."""
    total = dict.fromkeys(columns, 0.0)
    for name, weight in zip(column_of, weights.tolist(), strict=True):
        total[name] += weight**2
    found = np.sqrt(np.array(list(total.values())))
    return np.asarray(found / found.sum() if found.sum() > 0 else np.full(len(found), 1 / len(found)))


def _scales(kernel: Kernel, rows: Pair) -> Array:
    """The scales of the coordinates; 0 for those that never vary."""
    scales = kernel.coordinate_scales
    assert scales is not None
    lows, highs = zip(*(torch.aminmax(part.values.flatten(1), dim=0) for part in rows), strict=True)
    varies = torch.maximum(*highs) > torch.minimum(*lows)
    return np.asarray((scales.cpu() * varies.cpu()).numpy())


def _slopes(kernel: Kernel, rows: Pair, compute: Compute) -> Array:
    """The root mean square slope of the witness along each coordinate, in standard deviations of the coordinate."""
    half = _SLOPES // 2
    X, Y = rows[0].values, rows[1].values
    at = torch.cat([X[:half], Y[:half]]).detach()
    X, Y = (part[half : half + _SLOPES_FROM] if len(part) - half >= 2 else part for part in (X, Y))
    squares = witness_gradients(kernel, X, Y, at, compute).flatten(1).square().mean(0)
    deviations = torch.cat([X, Y]).flatten(1).std(0)
    return np.asarray((squares.sqrt() * deviations).double().cpu().numpy())


def witness_gradients(kernel: Kernel, X: Tensor, Y: Tensor, at: Tensor, compute: Compute) -> Tensor:
    """The gradient of the witness function at each row of ``at``, made of as many rows at a time as memory allows."""
    coordinates = _KEPT_BY_COORDINATE * at[0].numel()
    numbers = max(compute.max_memory // (2 * at.element_size()), 1)

    def block_sizes(columns: int) -> tuple[int, int]:
        """Rows of ``at`` and of a sample that fit together with the values between them: all of them, or squares."""
        if (len(at) + columns) * coordinates + _KEPT_BY_VALUE * len(at) * columns <= numbers:
            return len(at), columns
        side = numbers / (2 * coordinates + (4 * coordinates**2 + 4 * _KEPT_BY_VALUE * numbers) ** 0.5) * 2
        return max(min(int(side), len(at)), 1), max(min(int(side), columns), 1)

    def gradients(function: Callable[[Tensor], Tensor], rows: int) -> Tensor:
        found = []
        for block in at.split(rows):
            points = block.clone().requires_grad_(True)
            (slope,) = torch.autograd.grad(function(points).sum(), points)
            found.append(slope)
        return torch.cat(found)

    h = kernel.witness_function
    if h is not None:
        return gradients(h, min(max(numbers // (coordinates + 2 * _KEPT_BY_VALUE * _WITNESS_POINTS), 1), len(at)))
    rows, columns = block_sizes(len(X) + len(Y))
    if columns == len(X) + len(Y):
        return gradients(lambda z: kernel(z, X).mean(1) - kernel(z, Y).mean(1), rows)
    total = torch.zeros_like(at)
    for sample, sign in ((X, 1), (Y, -1)):
        for block in sample.split(columns):
            total += gradients(lambda z, block=block: kernel(z, block).sum(1), rows) * (sign / len(sample))  # type: ignore[misc]
    return total
