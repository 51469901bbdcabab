"""Kernel features: similarities to landmarks, at several bandwidths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError

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
_JITTER = 1e-5


class SimilarityFeatures(Protocol):
    """Similarities by several kernels to landmarks."""

    @property
    def names(self) -> Sequence[str]:
        """A name for each kernel."""

    @property
    def widths(self) -> Sequence[int]:
        """The number of landmarks of each kernel."""

    def features(self, Z: Tensor, wanted: Sequence[int]) -> Iterator[Tensor]:
        """Centred similarities of rows to the landmarks, for the kernels with these numbers."""

    def whitening(self, kernel: int) -> Tensor:
        """The Cholesky factor R of K_LL: the inner product of features k(·, L) R^-ᵀ is the kernel."""


@dataclass(frozen=True, eq=False)
class GaussianFeatures:
    """Gaussian similarities to landmarks at several bandwidths, less their mean over the sketch."""

    landmarks: Tensor
    bandwidths: tuple[float, ...]
    means: tuple[Tensor, ...] = field(default=())

    @classmethod
    def fit(cls, sketch: Tensor, rows: int, count: int, most: int, width: int) -> GaussianFeatures:
        """Choose bandwidths between the distances of near and of far points.

        Parameters
        ----------
        sketch : Tensor
            Rows as distances are computed from them.
        rows : int
            Number of rows of all samples: with more rows than the sketch has, near points are nearer.
        count, most : int
            Number of landmarks, and maximum number of bandwidths.
        width : int
            Number of columns that vary.
        """
        landmarks = sketch[:count].clone()
        distances = torch.cdist(landmarks[:_FROM], sketch[:_TO])
        near = float(torch.kthvalue(distances, min(6, distances.shape[1]), dim=1).values.median())
        if rows > _TO:
            near *= (_TO / rows) ** (1 / max(width, 2))
        far = float(torch.quantile(distances[:, :_FAR].flatten(), 0.95)) or 1.0
        near = min(max(near, far / 200), far)
        number = min(most, max(3, 1 + math.ceil(math.log(far / near) / math.log(_STEP))))
        bandwidths = tuple(np.geomspace(near, far, number).tolist())
        bare = cls(landmarks, bandwidths, tuple(torch.zeros(_count_landmarks(landmarks, b)) for b in bandwidths))
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

    def features(self, Z: Tensor, wanted: Sequence[int]) -> Iterator[Tensor]:
        """Centred similarities of rows to the landmarks, for the bandwidths with these numbers."""
        squared = self._squared_distances(Z, self.landmarks)
        for j in wanted:
            mean = self.means[j]
            yield self._similarities(squared[:, : len(mean)], j).sub_(mean)

    @staticmethod
    def _squared_distances(Z: Tensor, landmarks: Tensor) -> Tensor:
        squared = torch.addmm((landmarks**2).sum(1)[None, :], Z, landmarks.T, alpha=-2.0)
        squared += (Z**2).sum(1)[:, None]
        return squared.clamp_(min=0)

    def _similarities(self, squared: Tensor, j: int) -> Tensor:
        # Smaller values would be denormal numbers, which are slow.
        return torch.mul(squared, -0.5 / self.bandwidths[j] ** 2).clamp_(min=-80).exp_()

    def whitening(self, kernel: int) -> Tensor:
        """The Cholesky factor of K_LL."""
        chosen = self.landmarks[: len(self.means[kernel])]
        return factorize(self._similarities(self._squared_distances(chosen, chosen), kernel))


def inverse_root(factor: Tensor) -> Tensor:
    """R^-ᵀ of a triangular R, such as `SimilarityFeatures.whitening` returns."""
    unit = torch.eye(len(factor), dtype=factor.dtype)
    root: Tensor = torch.linalg.solve_triangular(factor, unit, upper=False).T.float()
    return root


def factorize(K: Tensor) -> Tensor:
    """The Cholesky factor of a kernel matrix, with as much added to its diagonal as that takes."""
    K = K.double()
    K = (K + K.T) / 2
    size = float(K.diagonal().mean().clamp(min=1e-300))
    for jitter in (_JITTER, 1e-3, 1e-1):
        K.diagonal().add_(jitter * len(K) * size)
        factor: Tensor
        factor, failed = torch.linalg.cholesky_ex(K)
        if not failed:
            return factor
    raise InputError("indefinite-kernel", "A kernel is not positive semi-definite on the data.")


def _count_landmarks(landmarks: Tensor, bandwidth: float) -> int:
    """How many landmarks a bandwidth uses: a smooth kernel in few dimensions needs few."""
    few = landmarks[:_RANK_PROBE].double()
    # Entries near the smallest numbers of float64 keep LAPACK from converging, where many rows are equal.
    spectrum = torch.linalg.eigvalsh(torch.exp((torch.cdist(few, few) ** 2 * (-0.5 / bandwidth**2)).clamp(min=-80)))
    rank = int((spectrum > 1e-6 * spectrum[-1]).sum())
    if 2 * rank >= _RANK_PROBE:
        return len(landmarks)
    return min(len(landmarks), max(_MIN_LANDMARKS, _LANDMARKS_PER_RANK * rank))
