"""Features of images: how much of an image looks like each of some patches, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from .constants import PATCH_IMAGES, PATCH_SIDE, PATCHES

#: Patches that are drawn, and those with contrast that are clustered; rounds of that; images for means and scales.
_DRAWN, _CLUSTERED, _ROUNDS, _FITTED = 40_000, 6_000, 5, 2_000
#: Numbers of patches that are compared together.
_TOGETHER = 2**22


@dataclass(frozen=True, eq=False)
class PatchFeatures:
    """Gaussian similarities of an image's patches to some patches, averaged over all places.

    The latter are centres of clusters of patches with contrast, from the pooled images. An image is taken as its
    distribution of patches, which sees texture, strokes and edges wherever they are.
    """

    shape: tuple[int, ...]
    size: int
    stride: int
    centres: Tensor
    width: float = 1.0
    mean: Tensor | None = None
    scale: Tensor | None = None

    @classmethod
    def fit(cls, sketch: Tensor, shape: tuple[int, ...], rng: np.random.Generator) -> PatchFeatures | None:
        """Those of a sketch of images of a shape (h, w), (h, w, 3) or (3, h, w); None where all are flat."""
        sides = _planes(sketch[:1], shape).shape[2:]
        made = cls(shape, min(PATCH_SIDE, *sides), max(1, min(sides) // 32), torch.empty(0))
        patches = made._patches(sketch[:PATCH_IMAGES]).flatten(0, 1)
        patches = patches[torch.from_numpy(rng.integers(len(patches), size=min(len(patches), _DRAWN)))]
        contrast = patches.var(1)
        patches = patches[contrast > 0.1 * contrast.max()][:_CLUSTERED]
        if len(patches) < 2:
            return None
        centres = patches[:PATCHES].clone()
        for _ in range(_ROUNDS):
            nearest = torch.cdist(patches, centres).argmin(1)
            sums = torch.zeros_like(centres).index_add_(0, nearest, patches)
            sizes = torch.bincount(nearest, minlength=len(centres))[:, None]
            centres = torch.where(sizes > 0, sums / sizes.clamp(min=1), centres)
        near = float(torch.cdist(patches[:1_000], centres).min(1).values.median())
        made = replace(made, centres=centres, width=max(near, 1e-3 * float(patches.std())))
        found = made(sketch[:_FITTED])
        mean, scale = found.mean(0), found.std(0)
        used = scale > 1e-3 * scale.max()
        if not used.any():
            return None
        return replace(made, centres=centres[used], mean=mean[used], scale=scale[used])

    def _patches(self, Z: Tensor) -> Tensor:
        images = torch.nn.functional.pad(_planes(Z, self.shape), (self.size // 2,) * 4)
        return torch.nn.functional.unfold(images, self.size, stride=self.stride).transpose(1, 2)

    def __call__(self, Z: Tensor) -> Tensor:
        """The features of some images, given as rows."""
        parts = []
        norms = (self.centres**2).sum(1)
        places = Z.shape[1] // self.stride**2
        together = max(1, _TOGETHER // (places * max(self.size**2, len(self.centres))))
        for images in Z.split(together):
            patches = self._patches(images)
            squared = torch.matmul(patches, -2 * self.centres.T).add_(norms).add_((patches**2).sum(2, keepdim=True))
            parts.append(squared.clamp_(min=0).mul_(-0.5 / self.width**2).exp_().mean(1))
        found = torch.cat(parts)
        return found if self.mean is None or self.scale is None else (found - self.mean) / self.scale


def _planes(Z: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Rows as images of shape (n, channels, h, w)."""
    images = Z.float().reshape(-1, *shape)
    if images.dim() == 3:
        return images[:, None]
    return images.movedim(-1, 1) if shape[2] in (1, 3) else images
