"""Images of a page, reduced and embedded as data URLs."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from .._util.extras import extra
from ..criticism import Weights
from ..data.arrays import Array

#: Images with sides up to the first are shown pixel by pixel; larger ones are reduced to the second.
_SHARP, _LARGEST = 64, 128
#: Colors from no weight to the largest: dark to bright, also for readers who do not see red from green.
_COLORS = np.array([(0, 0, 4), (60, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191)])
#: The colors of the samples, on light and on dark pages.
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
    """Whether an image is so small that it is shown pixel by pixel."""
    return max(shape[:2]) <= _SHARP


def pixel_weights(weights: Weights) -> Array | None:
    """The weight of each pixel as a position on the color scale; None if coordinates are not pixels.

    The square root of its share of the largest weight, so that one large weight does not hide all others.
    """
    values = weights.pixels
    if values is None:
        return None
    return np.asarray(np.sqrt(values / values.max() if values.max() > 0 else values))


def heat_map(unit: Array) -> str:
    """Positions on the color scale as a colored image."""
    return _data_url(_image(_colors(unit).astype(np.uint8)), "PNG", optimize=True)


def overlay(unit: Array) -> str:
    """Positions on the color scale as a layer over images, transparent where they are 0."""
    # Bright colors only, which show on dark pixels and on light ones.
    colors = _colors(0.55 + 0.35 * unit)
    alpha = 235 * np.clip(unit, 0, 1) ** 1.3
    return _data_url(_image(np.dstack([colors, alpha]).astype(np.uint8)), "PNG", optimize=True)


def signed_map(effects: Array) -> str:
    """Effects in the color of X if they are negative and of Y if they are positive; transparent if they are 0."""
    largest = float(np.abs(effects).max()) or 1.0
    strength = np.sqrt(np.abs(effects) / largest)
    colors = np.where((effects < 0)[..., None], _OF_X, _OF_Y)
    alpha = np.where(effects == 0, 0.0, 45 + 210 * strength)
    return _data_url(_image(np.dstack([colors, alpha]).astype(np.uint8)), "PNG", optimize=True)


def gradient() -> str:
    """The colors of a heat map, for the style of its legend."""
    return ", ".join(f"rgb({r} {g} {b})" for r, g, b in _COLORS.tolist())


def _colors(unit: Array) -> Array:
    places = np.linspace(0, 1, len(_COLORS))
    return np.stack([np.interp(unit, places, channel) for channel in _COLORS.T], axis=-1)


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
