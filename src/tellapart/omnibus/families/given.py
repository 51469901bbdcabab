"""Kernels that the user passed, applied to rows as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from ..._util.errors import InputError
from ..landmarks import CENTRED_ON, factorize
from ..rows import RowBlock
from ..sketch import Sketch
from .spectral import SpectralFamily

if TYPE_CHECKING:
    from ...kernels import Features, Kernel, Plan

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class GivenFeatures:
    """Similarities to landmarks by kernels of the user, less their mean over the sketch."""

    kernels: tuple[Kernel, ...]
    plans: tuple[Plan, ...]
    landmarks: tuple[Features, ...]
    names: tuple[str, ...]
    members: tuple[tuple[int, int], ...]
    widths: tuple[int, ...]
    means: tuple[Array, ...] = ()

    @classmethod
    def fit(cls, kernels: Sequence[Kernel], sketch: Array, count: int) -> GivenFeatures:
        """Use the first rows of a sketch as landmarks."""
        import torch

        rows = torch.from_numpy(sketch)
        with torch.no_grad():
            plans = tuple(kernel.plan(rows[:128], dtype=torch.float32) for kernel in kernels)
            landmarks = tuple(k.features(rows[:count], plan) for k, plan in zip(kernels, plans, strict=True))
        members = tuple((k, member) for k, kernel in enumerate(kernels) for member in range(kernel.members))
        names = tuple(_name(kernels[k], member) for k, member in members)
        bare = cls(tuple(kernels), plans, landmarks, names, members, (min(count, len(sketch)),) * len(members))
        means = tuple(F.mean(0) for F in bare.features(sketch[:CENTRED_ON], range(len(members))))
        for name, mean in zip(names, means, strict=True):
            if not np.isfinite(mean).all():
                raise InputError("non-finite-kernel", f"The kernel {name} has values that are not finite.")
        return cls(bare.kernels, plans, landmarks, names, members, bare.widths, means)

    def features(self, Z: Array, wanted: Sequence[int]) -> Iterator[Array]:
        """Centred similarities of rows to the landmarks, for the kernels with these numbers."""
        for k in range(len(self.kernels)):
            of_kernel = [j for j in wanted if self.members[j][0] == k]
            tiles = self._tiles(k, Z) if of_kernel else []
            for j in of_kernel:
                tile = tiles[self.members[j][1]].astype(np.float32)
                yield tile - self.means[j] if self.means else tile

    def whitening(self, kernel: int) -> Array:
        """The Cholesky factor of K_LL."""
        k, member = self.members[kernel]
        return factorize(self._tiles(k)[member])

    def _tiles(self, k: int, Z: Array | None = None) -> list[Array]:
        """Similarities of rows, or of the landmarks, to the landmarks, for all members of a kernel."""
        import torch

        kernel, plan, landmarks = self.kernels[k], self.plans[k], self.landmarks[k]
        with torch.no_grad():
            rows = landmarks if Z is None else kernel.features(torch.from_numpy(Z), plan)
            return [tile.detach().numpy() for tile in kernel.tiles(rows, landmarks, plan)]


@dataclass(frozen=True, eq=False)
class GivenFamily(SpectralFamily):
    """Similarities to landmarks by kernels of the user."""

    similarities: GivenFeatures

    name: ClassVar[str] = "given"
    description: ClassVar[str] = "the kernels given"

    @classmethod
    def fit(cls, sketch: Sketch) -> GivenFamily | None:
        """Use the first rows as landmarks; None if the user passed no kernels."""
        if not sketch.kernels:
            return None
        return cls(GivenFeatures.fit(sketch.kernels, sketch.values, sketch.landmarks))

    def view(self, rows: RowBlock) -> Array:
        """Rows as they are."""
        return rows.values


def _name(kernel: Kernel, member: int) -> str:
    text = repr(kernel)
    text = text if "\n" not in text and len(text) < 60 else type(kernel).__name__
    return text if kernel.members == 1 else f"{text}, member {member}"
