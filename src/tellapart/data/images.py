"""Images of one size, grey or in colour, as they came: bytes stay bytes until they are encoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .arrays import Array, blocks

#: Below this a side is more likely a few coordinates than an image.
_SMALLEST = 4


@dataclass(frozen=True, eq=False)
class Images:
    """Images of one size.

    Attributes
    ----------
    pixels
        Shape (n, h, w) for grey images, (n, h, w, 3) for coloured ones, of any number type.
    low, high
        The values that stand for black and for full brightness.
    """

    pixels: Array
    low: float
    high: float

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one image: (h, w) or (h, w, 3)."""
        return tuple(self.pixels.shape[1:])

    def take(self, rows: Array) -> Images:
        """Some of the images."""
        return replace(self, pixels=self.pixels[rows])

    def row(self, i: int) -> Array:
        """Image ``i`` as uint8."""
        image: Array = self.pixels[i]
        if image.dtype == np.uint8 and (self.low, self.high) == (0, 255):
            return np.array(image)
        unit = (image.astype(np.float64) - self.low) / (self.high - self.low)
        shown: Array = np.clip(np.rint(unit * 255), 0, 255).astype(np.uint8)
        return shown

    def planes(self, rows: slice, dtype: torch.dtype) -> Tensor:
        """Some of the images as floats between 0 and 1 of shape (n, channels, h, w), as networks take them."""
        unit = (self.pixels[rows].astype(np.float64) - self.low) / (self.high - self.low)
        channels = unit[:, None] if unit.ndim == 3 else np.moveaxis(unit, -1, 1)
        return torch.from_numpy(np.ascontiguousarray(channels)).to(dtype)

    def in_colour(self) -> Images:
        """Grey images as coloured ones that look the same."""
        if self.pixels.ndim == 4:
            return self
        return replace(self, pixels=np.repeat(self.pixels[..., None], 3, axis=-1))

    def resized(self, size: tuple[int, int]) -> Images:
        """The images at another size, by linear interpolation that averages where it shrinks."""
        if self.shape[:2] == size:
            return self
        parts = []
        for rows, _ in blocks(self.pixels):
            planes = torch.nn.functional.interpolate(
                self.planes(rows, torch.float32), size, mode="bilinear", antialias=True, align_corners=False
            )
            parts.append(np.moveaxis(planes.clamp(0, 1).numpy(), 1, -1))
        pixels = np.concatenate(parts)
        return Images(pixels if self.pixels.ndim == 4 else pixels[..., 0], 0.0, 1.0)


def images_of(array: Array, label: str, image_shape: Any = None) -> Images | None:
    """The images in an array, or None where its shape is not that of images.

    >>> images_of(np.zeros((5, 3, 8, 9), np.uint8), "X").shape
    (8, 9, 3)
    >>> images_of(np.zeros((5, 64)), "X", image_shape=(8, 8)).shape
    (8, 8)
    """
    if image_shape is not None:
        shape = check_shape(image_shape)
        if int(np.prod(shape)) != array[0].size:
            raise ValueError(
                f"image_shape={shape} has {int(np.prod(shape))} pixels, but the rows of {label} have {array[0].size} "
                "numbers."
            )
        array = array.reshape(len(array), *shape)
    if (
        array.ndim == 4
        and array.shape[3] in (1, 3)
        and min(array.shape[1:3]) >= (_SMALLEST if image_shape is None else 1)
    ):
        pixels = array
    elif (
        array.ndim == 4
        and array.shape[1] in (1, 3)
        and min(array.shape[2:]) >= (_SMALLEST if image_shape is None else 1)
    ):
        pixels = np.moveaxis(array, 1, -1)
    elif array.ndim == 3 and (image_shape is not None or min(array.shape[1:]) >= _SMALLEST):
        pixels = array
    else:
        return None
    pixels = pixels[..., 0] if pixels.ndim == 4 and pixels.shape[3] == 1 else pixels
    return Images(pixels, *_range(pixels))


def joined_range(first: Images, second: Images) -> tuple[Images, Images]:
    """Both with one meaning of black and white."""
    low, high = min(first.low, second.low), max(first.high, second.high)
    if low < 0:
        low = -max(-low, high)
        high = -low
    return replace(first, low=low, high=high), replace(second, low=low, high=high)


def check_shape(image_shape: Any) -> tuple[int, ...]:
    """The shape of one image, as the user gave it."""
    try:
        shape = tuple(int(side) for side in image_shape)
    except (TypeError, ValueError):
        shape = ()
    coloured = len(shape) == 3 and (shape[0] in (1, 3) or shape[2] in (1, 3))
    if not (len(shape) == 2 or coloured) or min(shape) < 1:
        raise ValueError(
            f"image_shape={image_shape!r} is not the shape of an image. Give (h, w), (h, w, 3) or (3, h, w)."
        )
    return shape


def check_size(image_size: Any) -> tuple[int, int] | None:
    """The size to bring images to, as the user gave it."""
    if image_size is None:
        return None
    try:
        height, width = (int(side) for side in image_size)
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise ValueError(f"image_size={image_size!r} is not a size. Give (height, width) in pixels.")
    return height, width


def pixel_names(shape: tuple[int, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A name for each coordinate, and the pixel it belongs to."""
    pixels = [f"pixel {row},{column}" for row in range(shape[0]) for column in range(shape[1])]
    if len(shape) == 2:
        return tuple(pixels), tuple(pixels)
    colours = ("red", "green", "blue")
    return tuple(f"{pixel} {colour}" for pixel in pixels for colour in colours), tuple(np.repeat(pixels, 3).tolist())


def _range(pixels: Array) -> tuple[float, float]:
    """What stands for black and white: by the type for bytes, else by what occurs.

    Floats are taken to fill [0, 1], [-1, 1] or [0, 255] where that is plausible, or else to reach as far as they do.
    """
    whole = {"uint8": 255.0, "uint16": 65535.0, "bool": 1.0}.get(pixels.dtype.name)
    if whole is not None:
        return 0.0, whole
    extremes = [(float(block.min()), float(block.max())) for _, block in blocks(pixels)]
    low, high = min(e[0] for e in extremes), max(e[1] for e in extremes)
    reach = max(-low, high)
    if reach <= 1:
        reach = 1.0
    elif low >= 0 and 128 <= reach <= 255:
        reach = 255.0
    return (0.0 if low >= 0 else -reach), reach
