"""Findings about the pixels of images, laid out as the images are."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Array
from ..stats.pvalues import rejects
from ..twosample.findings import Finding, Findings

_PIXEL = re.compile(r"pixel (\d+),(\d+)(?: (?:red|green|blue))?")


@dataclass(frozen=True, eq=False)
class PixelMap:
    """For each pixel its effect (0 where it never varies), its adjusted p-value, and whether it is named.

    Of the colours of a pixel, the one that says most.
    """

    effects: Array
    pvalues: Array
    named: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.effects.shape
        return height, width


def pixel_map_of(
    found: Findings, alpha: float = 0.05, reject: bool = True, image_shape: tuple[int, ...] | None = None
) -> PixelMap | None:
    """The map of pixels, or None where findings are not of pixels.

    Parameters
    ----------
    found
        Findings about single columns.
    alpha
        The level at which pixels are named, all of them together.
    reject
        Whether the test of the whole rejects: nothing is named where it does not.
    image_shape
        Height and width, where they are known: pixels that never vary are not among the findings.
    """
    places = [_PIXEL.fullmatch(one.name) for one in found]
    if not found or not all(places):
        return None
    rows, columns = (np.array([int(place[k]) for place in places if place]) for k in (1, 2))
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    if image_shape is not None and len(image_shape) >= 2:
        shape = (max(shape[0], image_shape[0]), max(shape[1], image_shape[1]))
    effects, pvalues, named = np.zeros(shape), np.ones(shape), np.zeros(shape, bool)
    best: dict[tuple[int, int], Finding] = {}
    for row, column, one in zip(rows.tolist(), columns.tolist(), found, strict=True):
        best.setdefault((row, column), one)  # findings come in the order of their p-values
    for place, one in best.items():
        effects[place] = one.effect if math.isfinite(one.effect) else 0.0
        pvalues[place] = one.pvalue
        named[place] = reject and rejects(one.pvalue, alpha)
    return PixelMap(effects, pvalues, named)
