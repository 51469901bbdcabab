"""Images of Pillow, and how they become pixels of one size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._util.errors import InputError, Note
from ..._util.extras import extra
from ..arrays import Array
from ..content import Images
from .base import Format, Opened, Request


class Pictures(Format):
    """A list of Pillow's images."""

    name = "lists of PIL images"

    def matches(self, data: Any) -> bool:
        """Whether this is an image, or a list that starts with one."""
        return _is_image(data[0] if isinstance(data, (list, tuple)) and data else data)

    def open(self, request: Request) -> Opened:
        """Read the pixels of the images wanted."""
        if _is_image(request.data):
            raise InputError("single-image", f"{request.label} is a single image. Give a list of images.")
        numbers = request.choose_rows(len(request.data))
        for k in numbers:
            if not _is_image(request.data[k]):
                raise InputError(
                    "mixed-items", f"{request.label} has images, but item {k} is a {type(request.data[k]).__name__}."
                )
        pictures = [Picture(f"image {k}", partial(nullcontext, request.data[k])) for k in numbers]
        content, notes = read_pictures(pictures, request)
        return Opened(content, numbers, notes=notes, total=len(request.data))


class Picture(NamedTuple):
    """What to call an image in messages, and how to open it."""

    name: str
    open: Callable[[], AbstractContextManager[Any]]


def read_pictures(pictures: Sequence[Picture], request: Request) -> tuple[Images, tuple[str, ...]]:
    """Images of one size, and what was done to them.

    They are grey if all are, and else in colour. What is transparent is laid on white. The orientation in EXIF is
    ignored, as most training pipelines ignore it.
    """
    heads = [_read_head(picture, request.label) for picture in pictures]
    sizes = Counter(size for size, _ in heads)
    height, width = request.options.image_size or sizes.most_common(1)[0][0]
    if request.options.image_size is None and len(sizes) > 1:
        odd = next(k for k, (size, _) in enumerate(heads) if size != (height, width))
        raise InputError(
            "image-sizes-differ",
            f"{request.label} has images of different sizes: most are {height} × {width}, but {pictures[odd].name} is "
            f"{heads[odd][0][0]} × {heads[odd][0][1]}.",
            "Give {image_size} to bring all to one size.",
            image_size=(height, width),
        )
    colour = not all(grey for _, grey in heads)
    shape = (height, width, 3) if colour else (height, width)
    request.check_memory(
        len(pictures) * float(np.prod(shape)) * 5,  # a byte, and its float later
        "Give {max_rows} to draw some of the images, or {image_size} to make them smaller.",
        max_rows=...,
        image_size=...,
    )
    pixels = np.empty((len(pictures), *shape), np.uint8)
    transparent = 0
    for k, picture in enumerate(pictures):
        pixels[k], seen_through = _read_pixels(picture, request.label, (height, width), colour)
        transparent += seen_through
    note = Note(
        "transparent-images", f"{transparent} of {len(pictures)} images were transparent and are laid on white."
    )
    return Images(pixels, 0.0, 255.0, "last" if colour else None), (note,) if transparent else ()


def _read_head(picture: Picture, label: str) -> tuple[tuple[int, int], bool]:
    """Size and whether it is grey, without decoding the image."""
    library = pillow()
    try:
        with picture.open() as image:
            return (image.height, image.width), image.mode in ("1", "L", "LA", "La", "I", "F") or image.mode[:2] == "I;"
    except (OSError, SyntaxError, ValueError, library.DecompressionBombError) as error:
        raise InputError(
            "damaged-image", f"{label}: {picture.name} cannot be read as an image ({_explain(error)})."
        ) from None


def _read_pixels(picture: Picture, label: str, size: tuple[int, int], colour: bool) -> tuple[Array, bool]:
    """The pixels, and whether anything could be seen through them."""
    library = pillow()
    try:
        with picture.open() as image:
            image.load()
            image, transparent = _make_opaque(image)
            image = image.convert("RGB" if colour else "L")
            if (image.height, image.width) != size:
                image = image.resize(size[::-1], library.Resampling.BILINEAR)
            return np.asarray(image), transparent
    except (OSError, SyntaxError, ValueError, library.DecompressionBombError) as error:
        raise InputError("damaged-image", f"{label}: {picture.name} is damaged ({_explain(error)}).") from None


def _make_opaque(image: Any) -> tuple[Any, bool]:
    """The image without an alpha channel, and whether anything could be seen through it."""
    library = pillow()
    if image.mode[0] == "I":  # 16 bits, which Pillow would cut off at 255 instead of scaling
        values = np.asarray(image).astype(np.float64) / 257
        return library.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8)), False
    if image.mode not in ("LA", "La", "PA", "RGBA", "RGBa") and "transparency" not in image.info:
        return image, False
    with_alpha = image.convert("RGBA")
    if with_alpha.getextrema()[3][0] == 255:
        return image.convert("L" if image.mode in ("L", "LA", "La", "1") else "RGB"), False
    white = library.new("RGBA", image.size, "white")
    return library.alpha_composite(white, with_alpha).convert("RGB"), True


def pillow() -> Any:
    """The library, or an error that says how to get it."""
    return extra("PIL.Image", group="images", what="Reading images")


def _is_image(data: Any) -> bool:
    return any(base.__module__.startswith("PIL.") for base in type(data).__mro__)


def _explain(error: Exception) -> str:
    """Why, in one line and without a path, which the message has already."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return "not an image" if reason.startswith("cannot identify") else reason.rstrip(".")
