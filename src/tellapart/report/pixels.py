"""Findings about the pixels of images, laid out as the images are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Array
from ..stats.pvalues import rejects
from ..twosample.findings import Finding, Findings


@dataclass(frozen=True, eq=False)
class PixelMap:
    """For each pixel its effect (0 where it never varies), its adjusted p-value, and whether it differs.

    A pixel has several colors: the one with the smallest p-value counts.
    """

    effects: Array
    pvalues: Array
    named: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.effects.shape
        return height, width


def pixel_map(
    found: Findings, alpha: float = 0.05, reject: bool = True, image_shape: tuple[int, ...] | None = None
) -> PixelMap | None:
    """The map of pixels, or None if the findings are not about pixels.

    Parameters
    ----------
    found : Findings
        Findings about single columns, sorted by their p-values.
    alpha : float
        The largest adjusted p-value that counts as different.
    reject : bool
        Whether the whole test rejects. No pixel may be named unless it does.
    image_shape : tuple of int, optional
        The shape of the images, if it is known: pixels that never vary are not among the findings.
    """
    best: dict[tuple[int, int], Finding] = {}
    for one in found:
        if one.pixel is None:
            return None
        best.setdefault(one.pixel, one)
    if not best:
        return None
    height, width = 1 + max(row for row, _ in best), 1 + max(column for _, column in best)
    if image_shape is not None:
        sides = image_shape if len(image_shape) == 2 or image_shape[2] in (1, 3) else image_shape[1:]
        height, width = max(height, sides[0]), max(width, sides[1])
    effects, pvalues, named = np.zeros((height, width)), np.ones((height, width)), np.zeros((height, width), bool)
    for place, one in best.items():
        effects[place] = one.effect if math.isfinite(one.effect) else 0.0
        pvalues[place] = one.pvalue
        named[place] = reject and rejects(one.pvalue, alpha)
    return PixelMap(effects, pvalues, named)
