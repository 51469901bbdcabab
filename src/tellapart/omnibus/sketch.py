"""The sketch: some of the pooled rows, in random order, that everything label-free is fitted on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..data import Points
from ..engine import Compute
from ..engine.rows import take_matrix
from .constants import LANDMARKS, LANDMARKS_NARROW, NARROW, SKETCH, SKETCH_LEAST, SKETCH_NUMBERS
from .rows import Layout, RowBlock, RowTransform, find_constant

if TYPE_CHECKING:
    from ..kernels import Kernel

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Bytes that fitting takes for each number of a sketch, and the minimum number of rows.
_BYTES, _FEWEST = 128, 256


@dataclass(frozen=True, eq=False)
class Sketch:
    """What a family is fitted on.

    Attributes
    ----------
    block : RowBlock
        Rows of the pooled samples in random order, without labels, with their transforms.
    rows : int
        Number of rows of all samples; the sketch may have fewer.
    width : int
        Number of columns that vary; of images, of all pixels. 0 if no column varies.
    kernels : sequence of Kernel
        Kernels that the user passed.
    rng : numpy.random.Generator
        Randomness of the fit.
    """

    block: RowBlock
    rows: int
    width: int
    kernels: Sequence[Kernel]
    rng: np.random.Generator

    @classmethod
    def of(
        cls, values: Array, rows: int, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator
    ) -> Sketch:
        """Fit the transforms of columns on the values of a sketch."""
        # Constant columns do not change distances, nor the choices that depend on the number of columns.
        varying = int((~find_constant(values)).sum())
        width = layout.width if varying and layout.image_shape is not None else varying
        return cls(RowBlock(values, RowTransform.fit(values, rows, layout)), rows, width, kernels, rng)

    @property
    def values(self) -> Array:
        """The rows as they are."""
        return self.block.values

    @property
    def layout(self) -> Layout:
        """The meaning of the numbers in a row."""
        return self.block.transform.layout

    @property
    def landmarks(self) -> int:
        """How many landmarks kernel features have."""
        return min(len(self.values), LANDMARKS_NARROW if self.width <= NARROW else LANDMARKS)


def sketch_rows(rows: int, width: int, compute: Compute) -> int:
    """Number of rows that features are fitted on: fewer if rows are wide, or the user allows little memory."""
    most = min(rows, SKETCH, max(SKETCH_LEAST, SKETCH_NUMBERS // max(width, 1)))
    return most if compute.automatic else min(most, max(_FEWEST, compute.max_memory // (_BYTES * width)))


def draw_sketch(points: Points, rng: np.random.Generator, compute: Compute) -> Array:
    """Draw rows without replacement, in random order."""
    N = len(points)
    chosen = rng.permutation(N)[: sketch_rows(N, math.prod(points.shape[1:]), compute)]
    return take_matrix(points, np.sort(chosen)[rng.permutation(len(chosen))])
