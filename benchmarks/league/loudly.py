"""The shifts of "Failing Loudly" (Rabanser, Günnemann and Lipton 2019) on MNIST, as its authors define them.

Each run divides the 70,000 images at random: 10,000 are shifted, and of 10,000 others as many are drawn as of these.
What the authors did by Keras' generator of images is done by SciPy: an affine map about the center, linear
interpolation, and the nearest pixel beyond the border.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Literal

import numpy as np
import torch

from tellapart import datasets

from .problem import Pair, rng_of

Array = np.ndarray
#: Images of each part.
PART = 10_000
Change = Literal["", "small noise", "medium noise", "large noise", "small", "medium", "large"]
_NOISE = {"small noise": 1.0, "medium noise": 10.0, "large noise": 100.0}
#: Degrees of rotation; shares of width and height; degrees of shear; zoom; horizontal and vertical flips.
_GEOMETRY = {
    "small": (10.0, 0.05, 0.05, 0.1, 0.1, False, False),
    "medium": (40.0, 0.2, 0.2, 0.2, 0.2, True, False),
    "large": (90.0, 0.4, 0.4, 0.3, 0.4, True, True),
}


@dataclass(frozen=True)
class Shift:
    """What is changed in which share of the images, the share of zeros left out, and whether all but zeros are."""

    name: str
    change: Change = ""
    share: float = 0.0
    without_zeros: float = 0.0
    only_zeros: bool = False


def _shifts() -> list[Shift]:
    shares = (0.1, 0.5, 1.0)
    changes: list[Change] = ["small noise", "medium noise", "large noise", "small", "medium", "large"]
    return [
        *(Shift(f"{change}, {share:.0%}", change, share) for change in changes for share in shares),
        *(Shift(f"without {share:.0%} of zeros", without_zeros=share) for share in shares),
        *(Shift(f"medium, 50%, without {share:.0%} of zeros", "medium", 0.5, share) for share in shares),
        *(Shift(f"only zeros, medium, {share:.0%}", "medium", share, only_zeros=True) for share in shares),
    ]


SHIFTS = tuple(_shifts())


@cache
def all_digits() -> tuple[Array, Array]:
    """All images of MNIST, from 0 to 255, and their labels."""
    found = datasets.mnist()
    images = np.concatenate([found.images, found.test_images])
    return images, np.concatenate([found.labels, found.test_labels])


def shifted_pair(shift: Shift, m: int, n: int, seed: int) -> Pair:
    """Images without a shift, and shifted ones; there may be fewer of these than n if only zeros are left."""
    images, labels = all_digits()
    draws = rng_of(seed)
    order = draws.permutation(len(images))
    X, rows = images[order[:m]] / np.float32(255), order[PART : 2 * PART]
    if shift.only_zeros:
        rows = rows[labels[rows] == 0]
    changed = np.zeros(len(rows), bool)
    changed[draws.permutation(len(rows))[: ceil(shift.share * len(rows))]] = True
    kept = np.ones(len(rows), bool)
    zeros = np.flatnonzero(labels[rows] == 0)
    count = ceil(shift.without_zeros * len(zeros))
    kept[zeros[: count + count % 2]] = False  # an even number, as the authors do
    chosen = draws.permutation(np.flatnonzero(kept))[:n]
    Y = images[rows[chosen]] / np.float32(255)
    Y[changed[chosen]] = _change(shift.change, Y[changed[chosen]], draws)
    return torch.from_numpy(X), torch.from_numpy(Y)


def _change(change: Change, images: Array, draws: np.random.Generator) -> Array:
    if not change:
        return images
    if change in _NOISE:
        noisy = images + _NOISE[change] / 255 * draws.standard_normal(images.shape)
        return np.asarray(noisy.clip(0, 1), np.float32)
    return np.stack([_distort(image, *_GEOMETRY[change], draws) for image in images]) if len(images) else images


def _distort(
    image: Array,
    degrees: float,
    width: float,
    height: float,
    shear: float,
    zoom: float,
    horizontal: bool,
    vertical: bool,
    draws: np.random.Generator,
) -> Array:
    """One image, turned, moved, sheared, zoomed in both directions, and flipped, all at random."""
    from scipy.ndimage import affine_transform

    angle, slant = np.deg2rad(draws.uniform(-degrees, degrees)), np.deg2rad(draws.uniform(-shear, shear))
    move = draws.uniform(-1, 1, 2) * (height, width) * image.shape
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn @ [[1, -np.sin(slant)], [0, np.cos(slant)]] @ np.diag(draws.uniform(1 - zoom, 1 + zoom, 2))
    center = (np.array(image.shape) - 1) / 2
    # The map leads from a pixel of the result to where its value is read; moves come after turns.
    found = affine_transform(image, matrix, center + turn @ move - matrix @ center, order=1, mode="nearest")
    if horizontal and draws.random() < 0.5:
        found = found[:, ::-1]
    if vertical and draws.random() < 0.5:
        found = found[::-1]
    return np.ascontiguousarray(found)
