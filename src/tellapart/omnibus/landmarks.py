"""Kernel features: similarities to landmarks, at several bandwidths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.linalg.lapack import dtrtri

from .._util.errors import InputError

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Rows of the sketch from which and to which distances are measured, and of those that the largest bandwidth is from.
_FROM, _TO, _FAR = 200, 4_000, 500
#: Rows of the sketch over which similarities are centred.
CENTRED_ON = 1_000
#: Bandwidths are at least about this factor apart.
_STEP = 1.6
#: If the kernel matrix of `_RANK_PROBE` landmarks has a numerical rank below half of that, this many times the rank are
#: used as landmarks, and at least `_MIN_LANDMARKS`.
_RANK_PROBE, _LANDMARKS_PER_RANK, _MIN_LANDMARKS = 200, 3, 128
#: Added to the diagonal of the kernel matrix of the landmarks, relative to its trace.
JITTER = 1e-5


class SimilarityFeatures(Protocol):
    """Similarities by several kernels to landmarks."""

    @property
    def names(self) -> Sequence[str]:
        """A name for each kernel."""

    @property
    def widths(self) -> Sequence[int]:
        """The number of landmarks of each kernel."""

    def features(self, Z: Array, wanted: Sequence[int]) -> Iterator[Array]:
        """Centred similarities of rows to the landmarks, for the kernels with these numbers."""

    def whitening(self, kernel: int) -> Array:
        """The Cholesky factor R of K_LL: the inner product of features k(·, L) R^-ᵀ is the kernel."""


@dataclass(frozen=True, eq=False)
class GaussianFeatures:
    """Gaussian similarities to landmarks at several bandwidths, less their mean over the sketch."""

    landmarks: Array
    bandwidths: tuple[float, ...]
    means: tuple[Array, ...] = field(default=())

    @classmethod
    def fit(cls, sketch: Array, rows: int, count: int, most: int, width: int) -> GaussianFeatures:
        """Choose bandwidths between the distances of near and of far points.

        Parameters
        ----------
        sketch : ndarray
            Rows as distances are computed from them.
        rows : int
            Number of rows of all samples: with more rows than the sketch has, near points are nearer.
        count, most : int
            Number of landmarks, and maximum number of bandwidths.
        width : int
            Number of columns that vary.
        """
        landmarks = sketch[:count].copy()
        distances = np.sqrt(squared_distances(landmarks[:_FROM], sketch[:_TO]))
        nearest = min(6, distances.shape[1]) - 1
        near = lower_median(np.partition(distances, nearest, axis=1)[:, nearest])
        if rows > _TO:
            near *= (_TO / rows) ** (1 / max(width, 2))
        far = float(np.quantile(distances[:, :_FAR], 0.95)) or 1.0
        near = min(max(near, far / 200), far)
        number = min(most, max(3, 1 + math.ceil(math.log(far / near) / math.log(_STEP))))
        bandwidths = tuple(np.geomspace(near, far, number).tolist())
        counts = _count_landmarks(landmarks, bandwidths)
        bare = cls(landmarks, bandwidths, tuple(np.zeros(count, np.float32) for count in counts))
        means = (F.mean(0) for F in bare.features(sketch[:CENTRED_ON], range(number)))
        return cls(landmarks, bandwidths, tuple(means))

    def reduced(self, landmarks: int, bandwidths: int) -> GaussianFeatures:
        """The same with fewer landmarks and bandwidths."""
        kept = np.unique(np.linspace(0, len(self.bandwidths) - 1, bandwidths + 1).round().astype(int)[1:])
        return GaussianFeatures(
            self.landmarks[:landmarks],
            tuple(self.bandwidths[j] for j in kept),
            tuple(self.means[j][:landmarks] for j in kept),
        )

    def is_consistent(self) -> bool:
        """Whether there is a mean for each bandwidth and landmark."""
        return (
            len(self.means) == len(self.bandwidths)
            and min(self.bandwidths) > 0
            and all(0 < len(mean) <= len(self.landmarks) for mean in self.means)
        )

    @property
    def names(self) -> list[str]:
        """The bandwidths."""
        return [f"bandwidth {bandwidth:.3g}" for bandwidth in self.bandwidths]

    @property
    def widths(self) -> list[int]:
        """The number of landmarks of each bandwidth, which are the first ones."""
        return [len(mean) for mean in self.means]

    def features(self, Z: Array, wanted: Sequence[int]) -> Iterator[Array]:
        """Centred similarities of rows to the landmarks, for the bandwidths with these numbers."""
        squared = squared_distances(Z, self.landmarks)
        for j in wanted:
            mean = self.means[j]
            F = similarities(squared[:, : len(mean)], self.bandwidths[j])
            F -= mean
            yield F

    def matrices(self, Z: Array, wanted: Sequence[int]) -> Iterator[Array]:
        """Similarities of rows to each other, not centred, for the bandwidths with these numbers."""
        squared = squared_distances(Z, Z)
        for j in wanted:
            yield similarities(squared, self.bandwidths[j])

    def whitening(self, kernel: int) -> Array:
        """The Cholesky factor of K_LL."""
        chosen = self.landmarks[: len(self.means[kernel])]
        return factorize(similarities(squared_distances(chosen, chosen), self.bandwidths[kernel]))


def squared_distances(Z: Array, landmarks: Array) -> Array:
    """Squared distances of rows to landmarks, in their precision."""
    squared = Z @ (-2 * landmarks.T)
    squared += np.einsum("ij,ij->i", landmarks, landmarks)
    squared += np.einsum("ij,ij->i", Z, Z)[:, None]
    found: Array = np.maximum(squared, 0, out=squared)
    return found


def similarities(squared: Array, bandwidth: float) -> Array:
    """Gaussian similarities."""
    found: Array = squared * squared.dtype.type(-0.5 / bandwidth**2)
    # Smaller values would be denormal numbers, which are slow.
    np.maximum(found, -80, out=found)
    return np.exp(found, out=found)


def lower_median(values: Array) -> float:
    """The median; of an even number of values, the smaller of the two in the middle.

    >>> lower_median(np.array([4.0, 1.0, 3.0, 2.0]))
    2.0
    """
    middle = (values.size - 1) // 2
    return float(np.partition(values, middle, axis=None)[middle])


def inverse_root(factor: Array) -> Array:
    """R^-ᵀ of a triangular R, such as `SimilarityFeatures.whitening` returns."""
    root, _ = dtrtri(factor.T, lower=0)
    inverse: Array = np.triu(root).astype(np.float32, order="C")
    return inverse


def factorize(K: Array) -> Array:
    """The Cholesky factor of a kernel matrix, with as much added to its diagonal as that takes."""
    K = K.astype(np.float64)
    K = (K + K.T) / 2
    size = max(float(K.diagonal().mean()), 1e-300)
    for jitter in (JITTER, 1e-3, 1e-1):
        K[np.diag_indices_from(K)] += jitter * len(K) * size
        with suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.cholesky(K))
    raise InputError("indefinite-kernel", "A kernel is not positive semi-definite on the data.")


def _count_landmarks(landmarks: Array, bandwidths: Sequence[float]) -> list[int]:
    """How many landmarks each bandwidth uses: a smooth kernel in few dimensions needs few."""
    few = landmarks[:_RANK_PROBE].astype(np.float64)
    squared, counts = squared_distances(few, few), [len(landmarks)] * len(bandwidths)
    for k in reversed(range(len(bandwidths))):
        # Entries near the smallest numbers of float64 keep LAPACK from converging, where many rows are equal.
        spectrum = np.linalg.eigvalsh(similarities(squared, bandwidths[k]))
        rank = int((spectrum > 1e-6 * spectrum[-1]).sum())
        if 2 * rank >= _RANK_PROBE:  # smaller bandwidths have a larger rank
            break
        counts[k] = min(len(landmarks), max(_MIN_LANDMARKS, _LANDMARKS_PER_RANK * rank))
    return counts
