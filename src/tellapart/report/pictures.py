"""Images in a page: small, and inside it as data."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from .._util.extras import extra
from ..criticism import Weights
from ..data.arrays import Array

#: The longest side of an image up to which it is kept as it is, pixel by pixel; and to which larger ones are reduced.
_SHARP, _LARGEST = 64, 128
#: Colours from no weight to the largest: dark to bright, also for readers who do not see red from green.
_COLOURS = np.array([(0, 0, 4), (60, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191)])
#: The colours of the samples, on light and on dark pages.
_OF_X, _OF_Y = (0, 122, 194), (214, 94, 10)


def thumbnail(pixels: Array) -> str:
    """An image of uint8 as a data URL: exact if it is small, else reduced."""
    library = extra("PIL.Image", group="report", what="The report")
    image = library.fromarray(np.ascontiguousarray(pixels))
    if max(image.size) <= _SHARP:
        return _data_url(image, "PNG", optimize=True)
    image.thumbnail((_LARGEST, _LARGEST))
    return _data_url(image, "JPEG", quality=85)


def is_sharp(shape: tuple[int, ...]) -> bool:
    """Whether an image is shown with its pixels to be seen."""
    return max(shape[:2]) <= _SHARP


def pixel_weights(weights: Weights) -> Array | None:
    """The weight of each pixel as its place on the scale of colours; None where coordinates are no pixels.

    0 for none, 1 for the largest, and the square root between: one large weight does not hide all others.
    """
    if weights.image_shape is None:
        return None
    height, width = weights.image_shape[:2]
    values = np.asarray(weights.values, float).reshape(height, width, -1).sum(-1)
    return np.asarray(np.sqrt(values / values.max() if values.max() > 0 else values))


def heat_map(unit: Array) -> str:
    """Places on the scale as a coloured image."""
    return _data_url(_image(_colours(unit).astype(np.uint8)), "PNG", optimize=True)


def overlay(unit: Array) -> str:
    """Places on the scale as a veil to lay over images: clear where they are 0."""
    # Bright colours only, which show on dark pixels and on light ones.
    colours = _colours(0.55 + 0.35 * unit)
    alpha = 235 * np.clip(unit, 0, 1) ** 1.3
    return _data_url(_image(np.dstack([colours, alpha]).astype(np.uint8)), "PNG", optimize=True)


def signed_map(effects: Array) -> str:
    """Effects as colours: that of X where they are negative, that of Y where they are positive, clear where 0."""
    largest = float(np.abs(effects).max()) or 1.0
    strength = np.sqrt(np.abs(effects) / largest)
    colours = np.where((effects < 0)[..., None], _OF_X, _OF_Y)
    alpha = np.where(effects == 0, 0.0, 45 + 210 * strength)
    return _data_url(_image(np.dstack([colours, alpha]).astype(np.uint8)), "PNG", optimize=True)


def gradient() -> str:
    """The colours of a heat map, for the style of its legend."""
    return ", ".join(f"rgb({r} {g} {b})" for r, g, b in _COLOURS.tolist())


def _colours(unit: Array) -> Array:
    places = np.linspace(0, 1, len(_COLOURS))
    return np.stack([np.interp(unit, places, channel) for channel in _COLOURS.T], axis=-1)


def _image(pixels: Array) -> Any:
    library = extra("PIL.Image", group="report", what="The report")
    image = library.fromarray(np.ascontiguousarray(pixels))
    if max(image.size) > 2 * _LARGEST:
        image.thumbnail((2 * _LARGEST, 2 * _LARGEST))
    return image


def _data_url(image: Any, form: str, **options: Any) -> str:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return f"data:image/{form.lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"
