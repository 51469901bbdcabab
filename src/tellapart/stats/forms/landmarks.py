"""Features of kernels: similarities to landmarks, at several bandwidths or of kernels that the user gave."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ..._util.errors import InputError
from ...kernels import Features, Kernel, Plan
from .constants import LANDMARKS_PER_RANK, MIN_LANDMARKS, RANK_PROBE, STEP

#: Rows of the sketch that distances are measured from and to, and that similarities are centred on.
_FROM, _TO, _FAR, _CENTRE = 200, 4_000, 500, 1_000
#: What is added to the kernel matrix of the landmarks, relative to its trace.
_JITTER = 1e-5


class SimilarityFeatures(Protocol):
    """Several kernels' similarities to the same landmarks."""

    @property
    def names(self) -> Sequence[str]:
        """What to call each kernel."""

    @property
    def widths(self) -> Sequence[int]:
        """How many landmarks each kernel uses."""

    def features(self, Z: Tensor, wanted: Sequence[int]) -> Iterator[Tensor]:
        """Similarities of some rows to the landmarks, centred, of the kernels wanted."""

    def whitening(self, member: int) -> Tensor:
        """The Cholesky factor R of K_LL: features k(·, L) R^-ᵀ have the kernel as their inner product."""


@dataclass(frozen=True, eq=False)
class GaussianFeatures:
    """Gaussian similarities to landmarks at several bandwidths, less their mean over the sketch."""

    landmarks: Tensor
    bandwidths: tuple[float, ...]
    means: tuple[Tensor, ...] = field(default=())

    @classmethod
    def fit(cls, sketch: Tensor, rows: int, count: int, most: int, width: int) -> GaussianFeatures:
        """Bandwidths from the distance of neighbours to that of far points of ``rows`` rows like the sketch's.

        ``width`` is how many columns vary.
        """
        landmarks = sketch[:count].clone()
        some = torch.cdist(landmarks[:_FROM], sketch[:_TO])
        near = float(torch.kthvalue(some, min(6, some.shape[1]), dim=1).values.median())
        if rows > _TO:
            near *= (_TO / rows) ** (1 / max(width, 2))
        far = float(torch.quantile(some[:, :_FAR].flatten(), 0.95)) or 1.0
        near = min(max(near, far / 200), far)
        number = min(most, max(3, 1 + math.ceil(math.log(far / near) / math.log(STEP))))
        bandwidths = tuple(np.geomspace(near, far, number).tolist())
        bare = cls(landmarks, bandwidths, tuple(torch.zeros(_count_landmarks(landmarks, b)) for b in bandwidths))
        centred = (F.mean(0) for F in bare.features(sketch[:_CENTRE], range(number)))
        return cls(landmarks, bandwidths, tuple(centred))

    @property
    def names(self) -> list[str]:
        """The bandwidths."""
        return [f"bandwidth {bandwidth:.3g}" for bandwidth in self.bandwidths]

    @property
    def widths(self) -> list[int]:
        """How many landmarks each bandwidth uses: the first ones."""
        return [len(mean) for mean in self.means]

    def features(self, Z: Tensor, wanted: Sequence[int]) -> Iterator[Tensor]:
        """Similarities of some rows to the landmarks, centred, at the bandwidths wanted."""
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
        # Smaller ones would be denormal numbers, which are slow.
        return torch.mul(squared, -0.5 / self.bandwidths[j] ** 2).clamp_(min=-80).exp_()

    def whitening(self, member: int) -> Tensor:
        """The Cholesky factor of K_LL."""
        chosen = self.landmarks[: len(self.means[member])]
        return _cholesky(self._similarities(self._squared_distances(chosen, chosen), member))


@dataclass(frozen=True, eq=False)
class GivenFeatures:
    """Similarities to landmarks by kernels that the user gave, of rows as they came."""

    kernels: tuple[Kernel, ...]
    plans: tuple[Plan, ...]
    landmarks: tuple[Features, ...]
    names: tuple[str, ...]
    members: tuple[tuple[int, int], ...]
    widths: tuple[int, ...]
    means: tuple[Tensor, ...] = ()

    @classmethod
    def fit(cls, kernels: Sequence[Kernel], sketch: Tensor, count: int) -> GivenFeatures:
        """The first rows of a sketch are the landmarks."""
        plans = tuple(kernel.plan(sketch[:128], dtype=torch.float32) for kernel in kernels)
        landmarks = tuple(k.features(sketch[:count], plan) for k, plan in zip(kernels, plans, strict=True))
        members = tuple((k, member) for k, kernel in enumerate(kernels) for member in range(kernel.members))
        names = tuple(_name(kernels[k], member) for k, member in members)
        made = cls(tuple(kernels), plans, landmarks, names, members, (min(count, len(sketch)),) * len(members))
        every = range(len(members))
        means = tuple(F.mean(0) for F in made.features(sketch[:_CENTRE], every))
        for name, mean in zip(names, means, strict=True):
            if not torch.isfinite(mean).all():
                raise InputError("non-finite-kernel", f"The kernel {name} has values that are not finite.")
        return cls(made.kernels, plans, landmarks, names, members, made.widths, means)

    def features(self, Z: Tensor, wanted: Sequence[int]) -> Iterator[Tensor]:
        """Similarities of some rows to the landmarks, centred, of the kernels wanted."""
        for k, kernel in enumerate(self.kernels):
            of_kernel = [j for j in wanted if self.members[j][0] == k]
            if not of_kernel:
                continue
            tiles = list(kernel.tiles(kernel.features(Z, self.plans[k]), self.landmarks[k], self.plans[k]))
            for j in of_kernel:
                tile = tiles[self.members[j][1]].detach().float()
                yield tile - self.means[j] if self.means else tile

    def whitening(self, member: int) -> Tensor:
        """The Cholesky factor of K_LL."""
        k, place = self.members[member]
        tiles = self.kernels[k].tiles(self.landmarks[k], self.landmarks[k], self.plans[k])
        return _cholesky(list(tiles)[place].detach())


def inverse_root(factor: Tensor) -> Tensor:
    """R^-ᵀ of a triangular R, such as `whitening` gives."""
    unit = torch.eye(len(factor), dtype=factor.dtype)
    found: Tensor = torch.linalg.solve_triangular(factor, unit, upper=False).T.float()
    return found


def _count_landmarks(landmarks: Tensor, bandwidth: float) -> int:
    """How many landmarks a bandwidth uses: a smooth kernel in few dimensions needs few."""
    few = landmarks[:RANK_PROBE].double()
    # Entries near the smallest numbers of float64 keep LAPACK from converging, where many rows are equal.
    spectrum = torch.linalg.eigvalsh(torch.exp((torch.cdist(few, few) ** 2 * (-0.5 / bandwidth**2)).clamp(min=-80)))
    rank = int((spectrum > 1e-6 * spectrum[-1]).sum())
    if 2 * rank >= RANK_PROBE:
        return len(landmarks)
    return min(len(landmarks), max(MIN_LANDMARKS, LANDMARKS_PER_RANK * rank))


def _name(kernel: Kernel, member: int) -> str:
    text = repr(kernel)
    text = text if "\n" not in text and len(text) < 60 else type(kernel).__name__
    return text if kernel.members == 1 else f"{text}, member {member}"


def _cholesky(K: Tensor) -> Tensor:
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
