"""Findings about the pixels of images, laid out as the images are."""

from __future__ import annotations

import math

import numpy as np

from .._util.view import PixelMap
from ..stats.pvalues import rejects
from .findings import Finding, Findings


def map_pixels(
    findings: Findings,
    alpha: float = 0.05,
    *,
    reject: bool = True,
    image_shape: tuple[int, ...] | None = None,
    label: str = "brighter in the second sample, SD",
) -> PixelMap | None:
    """The map of pixels, or None if the findings are not about pixels.

    Of the colors of a pixel, the one with the smallest p-value counts.

    Parameters
    ----------
    findings : Findings
        Findings about single columns, sorted by their p-values.
    alpha : float
        The largest adjusted p-value that counts as different.
    reject : bool
        Whether the whole test rejects. No pixel may be named unless it does.
    image_shape : tuple of int, optional
        The shape of the images, if it is known: pixels that never vary are not among the findings.
    label : str
        What a positive effect means.
    """
    best: dict[tuple[int, int], Finding] = {}
    for finding in findings:
        if finding.pixel is None:
            return None
        best.setdefault(finding.pixel, finding)
    if not best:
        return None
    height, width = 1 + max(row for row, _ in best), 1 + max(column for _, column in best)
    if image_shape is not None:
        sides = image_shape if len(image_shape) == 2 or image_shape[2] in (1, 3) else image_shape[1:]
        height, width = max(height, sides[0]), max(width, sides[1])
    effects, pvalues, named = np.zeros((height, width)), np.ones((height, width)), np.zeros((height, width), bool)
    for place, finding in best.items():
        effects[place] = finding.effect if math.isfinite(finding.effect) else 0.0
        pvalues[place] = finding.pvalue
        named[place] = reject and rejects(finding.pvalue, alpha)
    return PixelMap(effects=effects, pvalues=pvalues, named=named, label=label)
