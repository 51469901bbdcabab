"""Images as distributions of patches: how much of an image looks like each of some patches, wherever it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ...engine.rows import add_at
from ..landmarks import GaussianFeatures, lower_median, similarities, squared_distances
from ..rows import RowBlock, RowTransform
from ..sketch import Sketch
from .base import Family
from .spectral import GaussianFamily

Array: TypeAlias = np.ndarray[Any, Any]

#: Number of centres, maximum side of a patch, and number of images that patches are drawn from.
_CENTRES, _SIDE, _IMAGES = 64, 5, 400
#: Number of patches drawn, number of those with contrast that are clustered, iterations of the clustering, and number
#: of images for means and scales.
_DRAWN, _CLUSTERED, _ROUNDS, _FITTED = 40_000, 6_000, 5, 2_000
#: Numbers of patches that are compared together.
_TOGETHER = 2**22
#: Maximum number of bandwidths, and number of images that they are chosen on.
_BANDWIDTHS, _BANDWIDTH_IMAGES = 5, 4_000


@dataclass(frozen=True, eq=False)
class PatchFeatures:
    """Gaussian similarities of the patches of an image to the centres of patch clusters, averaged over all positions.

    The clusters are those of patches with contrast from the pooled images. An image is treated as its distribution of
    patches, which reflects texture, strokes and edges wherever they are.
    """

    shape: tuple[int, ...]
    size: int
    stride: int
    centres: Array
    width: float = 1.0
    mean: Array | None = None
    scale: Array | None = None

    @classmethod
    def fit(cls, sketch: Array, shape: tuple[int, ...], rng: np.random.Generator) -> PatchFeatures | None:
        """Cluster the patches of images of shape (h, w), (h, w, 3) or (3, h, w); None if all images are flat."""
        sides = _planes(sketch[:1], shape).shape[2:]
        made = cls(shape, min(_SIDE, *sides), max(1, min(sides) // 32), np.empty((0, 0), np.float32))
        patches = made._patches(sketch[:_IMAGES])
        patches = patches.reshape(-1, patches.shape[2])
        patches = patches[rng.integers(len(patches), size=min(len(patches), _DRAWN))]
        contrast = patches.var(1)
        patches = patches[contrast > 0.1 * contrast.max()][:_CLUSTERED]
        if len(patches) < 2:
            return None
        centres = patches[:_CENTRES].copy()
        for _ in range(_ROUNDS):
            nearest = squared_distances(patches, centres).argmin(1)
            sums = np.zeros_like(centres)
            add_at(sums, nearest, patches)
            sizes = np.bincount(nearest, minlength=len(centres)).astype(np.float32)[:, None]
            centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres)
        near = math.sqrt(lower_median(squared_distances(patches[:1_000], centres).min(1)))
        made = replace(made, centres=centres, width=max(near, 1e-3 * float(patches.std(ddof=1))))
        found = made(sketch[:_FITTED])
        mean, scale = found.mean(0), found.std(0, ddof=1)
        used = scale > 1e-3 * scale.max()
        if not used.any():
            return None
        return replace(made, centres=centres[used], mean=mean[used], scale=scale[used])

    def _patches(self, Z: Array) -> Array:
        """All patches of images: (images, places, numbers)."""
        edge = self.size // 2
        images = np.pad(_planes(Z, self.shape), ((0, 0), (0, 0), (edge, edge), (edge, edge)))
        seen = np.lib.stride_tricks.sliding_window_view(images, (self.size, self.size), axis=(2, 3))
        seen = seen[:, :, :: self.stride, :: self.stride].transpose(0, 2, 3, 1, 4, 5)
        patches: Array = seen.reshape(len(images), seen.shape[1] * seen.shape[2], math.prod(seen.shape[3:]))
        return patches

    def __call__(self, Z: Array) -> Array:
        """The features of images, passed as rows."""
        parts = []
        places = Z.shape[1] // self.stride**2
        together = max(1, _TOGETHER // (places * max(self.size**2, len(self.centres))))
        for start in range(0, max(len(Z), 1), together):
            patches = self._patches(Z[start : start + together])
            squared = squared_distances(patches.reshape(-1, patches.shape[2]), self.centres)
            parts.append(similarities(squared, self.width).reshape(*patches.shape[:2], len(self.centres)).mean(1))
        found = np.concatenate(parts)
        return found if self.mean is None or self.scale is None else (found - self.mean) / self.scale


@dataclass(frozen=True, eq=False)
class PatchFamily(GaussianFamily):
    """Gaussian similarities of images, as distributions of patches, to landmarks."""

    patches: PatchFeatures
    similarities: GaussianFeatures

    name: ClassVar[str] = "patches"
    description: ClassVar[str] = "patches of images"
    parts: ClassVar[tuple[type, ...]] = (PatchFeatures, GaussianFeatures)

    @classmethod
    def fit(cls, sketch: Sketch) -> PatchFamily | None:
        """Cluster patches, and choose landmarks and bandwidths; None if rows are not images, or are flat."""
        shape = sketch.layout.image_shape
        patches = PatchFeatures.fit(sketch.values[:_FITTED], shape, sketch.rng) if sketch.width and shape else None
        if patches is None:
            return None
        seen = patches(sketch.values[:_BANDWIDTH_IMAGES])
        return cls(patches, GaussianFeatures.fit(seen, sketch.rows, sketch.landmarks, _BANDWIDTHS, seen.shape[1]))

    def view(self, rows: RowBlock) -> Array:
        """Similarities of patches."""
        return self.patches(rows.values)

    def reduced(self, rows: int) -> Family:
        """Fewer landmarks and bandwidths."""
        return replace(self, similarities=self.reduce_similarities(rows))

    def is_consistent(self, transform: RowTransform) -> bool:
        """Whether patches fit into the images."""
        shape = transform.layout.image_shape
        return (
            shape is not None
            and self.patches.shape == shape
            and 0 < self.patches.size <= 64
            and 0 < self.patches.stride <= max(shape)
            and super().is_consistent(transform)
        )


def _planes(Z: Array, shape: tuple[int, ...]) -> Array:
    """Rows as images of shape (n, channels, h, w)."""
    images = Z.astype(np.float32).reshape(-1, *shape)
    if images.ndim == 3:
        return images[:, None]
    return np.moveaxis(images, -1, 1) if shape[2] in (1, 3) else images
