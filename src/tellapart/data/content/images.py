"""Images of one size, grey or in colour, as they came: bytes stay bytes until they are encoded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from ..._util.errors import InputError, Note
from ..arrays import Array, iterate_blocks
from ..encoding import Encoding, Standardise
from ..features import apply_features
from ..finite import check_finite
from ..hashing import hash_blocks
from ..limits import check_memory
from ..sample import Kind
from .base import Content, Given
from .features import Features

if TYPE_CHECKING:
    from ..options import Missing

Numbers = TypeVar("Numbers")

#: Below this a side is more likely a few coordinates than an image.
_SMALLEST = 4

#: Images that are looked at to see whether they are any.
LOOKED_AT = 256

#: What stands for white in types that have but one use for images.
WHITE = {"uint8": 255.0, "uint16": 65535.0, "bool": 1.0}


@dataclass(frozen=True, eq=False)
class Images(Content):
    """Images of one size.

    Attributes
    ----------
    pixels
        Shape (n, h, w) for grey images, (n, h, w, 3) for coloured ones, of any number type.
    low, high
        The values that stand for black and for full brightness.
    channels
        Where the array that they came in had its axis of channels, if it had one.
    """

    pixels: Array
    low: float
    high: float
    channels: Literal["first", "last"] | None = None

    @property
    def kind(self) -> Kind:
        """Images."""
        return "images"

    def __len__(self) -> int:
        return len(self.pixels)

    def describe(self) -> str:
        """What it is, for messages."""
        return f"images of {format_sides(self.shape)}"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one image: (h, w) or (h, w, 3)."""
        return tuple(self.pixels.shape[1:])

    @property
    def image_shape(self) -> tuple[int, ...]:
        """The shape of one image."""
        return self.shape

    @property
    def typed(self) -> bool:
        """Whether white is what the number type says."""
        return self.pixels.dtype.name in WHITE

    @property
    def unit(self) -> bool:
        """Whether white is 1."""
        return (self.low, self.high) in ((0, 1), (-1, 1))

    def to_range(self, low: float, high: float) -> Images:
        """The images with other values of black and white: computed where the present ones are known, else declared."""
        known = self.typed or (self.unit and (low, high) in [(0, white) for white in WHITE.values()])
        if (self.low, self.high) == (low, high) or not known:
            return replace(self, low=low, high=high)
        scale = (high - low) / (self.high - self.low)
        pixels = ((self.pixels.astype(np.float64) - self.low) * scale + low).astype(np.float32)
        return Images(pixels, low, high, self.channels)

    def take(self, rows: Array) -> Images:
        """Some of the images."""
        return replace(self, pixels=self.pixels[rows])

    def select(self, columns: tuple[str, ...] | None, drop: tuple[str, ...] | None, label: str) -> Images:
        """Raise `InputError` if columns are chosen, for images have none."""
        if columns is None and drop is None:
            return self
        argument = "columns" if columns is not None else "drop"
        advice = f"{{{argument}}} is for tables and rows."
        raise InputError("no-columns", f"{label} holds images, which have no columns.", advice, **{argument: ...})

    def notes(self, image_options: bool) -> tuple[str, ...]:
        """A note on numbers that pixels hardly have, unless the user declared that they are images."""
        return () if image_options else note_odd_pixels(self.pixels, self.shape)

    def validate(self, label: str, missing: Missing) -> None:
        """Raise `InputError` if pixels are not finite."""
        check_finite(self.pixels, label)

    def pixel_array(self, label: str) -> Array:
        """The pixels."""
        return self.pixels

    def apply(self, function: Callable[..., Any], label: str, missing: Missing, batch_size: int) -> Features:
        """Features of the images, which the function gets as `planes`."""

        batches = (self.planes(slice(k, k + batch_size)) for k in range(0, len(self), batch_size))
        return Features(apply_features(batches, function, label), function, self)

    def in_given_order(self) -> Array:
        """The pixels with their axes in the order in which they came."""
        pixels = self.pixels[..., None] if self.pixels.ndim == 3 and self.channels else self.pixels
        return np.moveaxis(pixels, -1, 1) if self.channels == "first" else pixels

    def as_given(self, like: Content) -> Given:
        """The pixels with their axes in the order in which they came, if the other images have the same order."""
        pixels = self.in_given_order()
        if isinstance(like, Images) and pixels.shape[1:] != like.in_given_order().shape[1:]:
            pixels = self.pixels
        as_images = pixels.shape[1:] == self.shape
        return Given(pixels, None, "images" if as_images else "rows", self.shape if as_images else None)

    def fit_encoding(self, other: Content, rows: tuple[Array, Array], standardise: Standardise) -> Encoding:
        """All pixels by one scale, from black at 0 to white at 1; or each standardised."""
        names, pixels = pixel_names(self.shape)
        fitted = (self.pixels, other.numbers(None, "")), rows
        white = (self.low, self.high)
        return Encoding.fit_pixels(names, pixels, self.shape, white, fitted if standardise is True else None)

    def numbers(self, encoding: Encoding | None, label: str) -> Array:
        """The pixels, in the range and with the colors of the encoding."""
        if encoding is None or encoding.pixel_range is None:
            return self.pixels
        images = self.to_range(*encoding.pixel_range)
        return images.in_colour().pixels if len(encoding.image_shape or ()) == 3 else images.pixels

    def most_numbers(self, indicators: bool) -> int:
        """One number for each pixel and color."""
        return math.prod(self.shape)

    def hash_rows(self) -> Array:
        """A number of 64 bits for each image, which equal images share."""
        return hash_blocks(self.pixels)

    def row(self, i: int) -> Array:
        """Image ``i`` as uint8."""
        image: Array = self.pixels[i]
        if image.dtype == np.uint8 and (self.low, self.high) == (0, 255):
            return np.array(image)
        unit = (image.astype(np.float64) - self.low) / (self.high - self.low)
        shown: Array = np.clip(np.rint(unit * 255), 0, 255).astype(np.uint8)
        return shown

    def planes(self, rows: slice) -> Array:
        """Some of the images as floats between 0 and 1 of shape (n, channels, h, w), as networks take them."""
        unit = (self.pixels[rows].astype(np.float64) - self.low) / (self.high - self.low)
        channels = unit[:, None] if unit.ndim == 3 else np.moveaxis(unit, -1, 1)
        return np.ascontiguousarray(channels)

    def in_colour(self) -> Images:
        """Grey images as coloured ones that look the same."""
        if self.pixels.ndim == 4:
            return self
        return replace(self, pixels=np.repeat(self.pixels[..., None], 3, axis=-1))

    def resized(self, size: tuple[int, int], label: str, max_memory: int | None) -> Images:
        """The images at another size, by linear interpolation that averages where it shrinks."""
        # In single precision, and once more to be joined.
        need = 8.0 * len(self) * math.prod((*size, *self.shape[2:]))
        advice = "Give a smaller {image_size}, or {max_rows} to draw some of the images."
        check_memory(need, f"{label} at {size[0]} × {size[1]} pixels", max_memory, advice, image_size=..., max_rows=...)
        if self.shape[:2] == size:
            return self
        parts = []
        for rows, _ in iterate_blocks(self.pixels):
            planes = resize(self.planes(rows), size)
            parts.append(np.moveaxis(np.clip(planes, 0, 1).astype(np.float32), 1, -1))
        pixels = np.concatenate(parts)
        return Images(pixels if self.pixels.ndim == 4 else pixels[..., 0], 0.0, 1.0, self.channels)


def resize(planes: Array, size: tuple[int, int]) -> Array:
    """Images of shape (…, h, w) at another size, by linear interpolation that averages where it shrinks.

    >>> resize(np.array([[[0.0, 1.0, 2.0, 3.0]]]), (1, 2))
    array([[[0.71428571, 2.28571429]]])
    """
    rows, columns = (_interpolation(old, new) for old, new in zip(planes.shape[-2:], size, strict=True))
    resized: Array = rows @ (planes @ columns.T)
    return resized


def _interpolation(old: int, new: int) -> Array:
    """The matrix that makes ``new`` pixels of ``old`` ones: each a mean with weights that fall linearly to 0."""
    step = old / new
    reach = max(step, 1.0)
    centres = (np.arange(new) + 0.5) * step
    weights = np.maximum(0.0, 1.0 - np.abs(np.arange(old) + 0.5 - centres[:, None]) / reach)
    normed: Array = weights / weights.sum(1, keepdims=True)
    return normed


def format_sides(shape: tuple[int, ...]) -> str:
    """The shape of an image for a message.

    >>> format_sides((28, 28))
    '28 × 28'
    """
    return " × ".join(map(str, shape))


def looks_like_images(shape: tuple[int, ...]) -> bool:
    """Whether rows of this shape are taken for images.

    >>> looks_like_images((28, 28)), looks_like_images((3, 32, 32)), looks_like_images((2, 5))
    (True, True, False)
    """
    if len(shape) == 2:
        return min(shape) >= _SMALLEST
    last = len(shape) == 3 and shape[2] in (1, 3) and min(shape[:2]) >= _SMALLEST
    first = len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) >= _SMALLEST
    return last or first


def as_images(array: Array, label: str, image_shape: Any = None) -> Images | None:
    """The images in an array, or None where its shape is not that of images.

    >>> as_images(np.zeros((5, 3, 8, 9), np.uint8), "X").shape
    (8, 9, 3)
    >>> as_images(np.zeros((5, 64)), "X", image_shape=(8, 8)).shape
    (8, 8)
    """
    if image_shape is not None:
        shape = check_shape(image_shape)
        if int(np.prod(shape)) != array[0].size:
            raise InputError(
                "wrong-image-shape",
                f"The rows of {label} have {array[0].size} numbers, but images of {' × '.join(map(str, shape))} have "
                f"{int(np.prod(shape))} pixels.",
                "Correct {image_shape}.",
                image_shape=...,
            )
        array = array.reshape(len(array), *shape)
    smallest = _SMALLEST if image_shape is None else 1
    channels: Literal["first", "last"] | None = None
    if array.ndim == 4 and array.shape[3] in (1, 3) and min(array.shape[1:3]) >= smallest:
        channels = "last"
    elif array.ndim == 4 and array.shape[1] in (1, 3) and min(array.shape[2:]) >= smallest:
        channels, array = "first", np.moveaxis(array, 1, -1)
    elif array.ndim != 3 or min(array.shape[1:]) < smallest:
        return None
    pixels = array[..., 0] if array.ndim == 4 and array.shape[3] == 1 else array
    return Images(pixels, *_find_range(pixels), channels)


def note_odd_pixels(pixels: Any, shape: tuple[int, ...]) -> tuple[str, ...]:
    """A note where an array has the shape of grey images, but numbers that pixels hardly have.

    So have the hidden states of a language model, of shape (n, tokens, dim). Only the first rows are looked at.

    >>> [len(note_odd_pixels(np.full((1, 8, 8), value), (8, 8))) for value in (0.5, -0.5, -1.5)]
    [0, 0, 1]
    """
    if len(shape) != 2:
        return ()
    values = np.asarray(pixels[:LOOKED_AT])
    low, high = float(values.min()), float(values.max())
    if (low >= -1 and high <= 255) or bool((values == np.rint(values)).all()):
        return ()
    text = (
        f"Rows of shape {shape[0]} × {shape[1]} are taken for images of so many pixels, though values from {low:.3g} "
        f"to {high:.3g} are unusual in images. If they are sequences of vectors, such as hidden states of tokens, "
        "compare their means, X.mean(1), or all numbers of a row, X.reshape(len(X), -1)."
    )
    return (Note("unusual-pixels", text),)


def match_ranges(first: Images, second: Images) -> tuple[Images, Images]:
    """Both with one meaning of black and white.

    Where it is known what white is in both (see `know_white`), they are brought to [0, 1] if they differ. Else both get
    the wider range.
    """
    if (first.low, first.high) == (second.low, second.high):
        return first, second
    if know_white(first, second):
        return first.to_range(0.0, 1.0), second.to_range(0.0, 1.0)
    low, high = min(first.low, second.low), max(first.high, second.high)
    if low < 0:
        low = -max(-low, high)
        high = -low
    return replace(first, low=low, high=high), replace(second, low=low, high=high)


def to_unit_range(values: Numbers, low: float, high: float) -> Numbers:
    """Pixels between 0 and 1, with their gradient.

    >>> to_unit_range(np.array([0.0, 51.0, 255.0]), 0.0, 255.0)
    array([0. , 0.2, 1. ])
    """
    plain: Any = values
    return values if (low, high) == (0, 1) else (plain - low) / (high - low)


def know_white(*sides: Images) -> bool:
    """Whether the type of one says what white is (255 for bytes), and the others' do too or their floats reach 1."""
    return any(images.typed for images in sides) and all(images.typed or images.unit for images in sides)


def check_shape(image_shape: Any) -> tuple[int, ...]:
    """The shape of one image, as the user gave it."""
    try:
        shape = tuple(int(side) for side in image_shape)
    except (TypeError, ValueError):
        shape = ()
    coloured = len(shape) == 3 and (shape[0] in (1, 3) or shape[2] in (1, 3))
    if not (len(shape) == 2 or coloured) or min(shape) < 1:
        raise InputError(
            "invalid-image-shape",
            f"{image_shape!r} is not the shape of an image.",
            "{image_shape} takes a height and a width, with 1 or 3 colors before or after them.",
            image_shape=...,
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
        raise InputError(
            "invalid-image-size",
            f"{image_size!r} is not the size of an image.",
            "{image_size} takes a height and a width in pixels.",
            image_size=...,
        )
    return height, width


def pixel_names(shape: tuple[int, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A name for each coordinate, and the pixel it belongs to."""
    pixels = [f"pixel {row},{column}" for row in range(shape[0]) for column in range(shape[1])]
    if len(shape) == 2:
        return tuple(pixels), tuple(pixels)
    colours = ("red", "green", "blue")
    return tuple(f"{pixel} {colour}" for pixel in pixels for colour in colours), tuple(np.repeat(pixels, 3).tolist())


def pixel_at(coordinate: int, shape: tuple[int, ...]) -> tuple[int, int]:
    """Row and column of the pixel that a coordinate of an image belongs to.

    >>> pixel_at(5, (2, 4)), pixel_at(5, (2, 4, 3)), pixel_at(13, (3, 2, 4))
    ((1, 1), (0, 1), (1, 1))
    """
    if len(shape) == 2:
        width, place = shape[1], coordinate
    elif shape[2] in (1, 3):
        width, place = shape[1], coordinate // shape[2]
    else:
        width, place = shape[2], coordinate % (shape[1] * shape[2])
    return place // width, place % width


def _find_range(pixels: Array) -> tuple[float, float]:
    """What stands for black and white: by the type for bytes, else by what occurs.

    Floats are taken to fill [0, 1], [-1, 1] or [0, 255] where that is plausible, or else to reach as far as they do.
    """
    if pixels.dtype.name in WHITE:
        return 0.0, WHITE[pixels.dtype.name]
    extremes = [(float(block.min()), float(block.max())) for _, block in iterate_blocks(pixels)]
    low, high = min(e[0] for e in extremes), max(e[1] for e in extremes)
    reach = max(-low, high)
    if reach <= 1:
        reach = 1.0
    elif low >= 0 and 128 <= reach <= 255:
        reach = 255.0
    return (0.0 if low >= 0 else -reach), reach
