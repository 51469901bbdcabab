"""A folder of PNG and JPEG files as images of one size."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._util.extras import extra
from .arrays import Array
from .images import Images
from .room import check_room, choose

_SUFFIXES = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True, eq=False)
class Folder:
    """What was read: the images, their files (below the folder), where they stand among all files, and remarks."""

    images: Images
    files: tuple[str, ...]
    numbers: Array
    notes: tuple[str, ...]


def read_folder(folder: Path, label: str, size: tuple[int, int] | None, max_rows: int | None, seed: int) -> Folder:
    """Read all PNG and JPEG files in a folder and below it, sorted by name.

    Images are grey if all are, and else in colour. What is transparent is laid on white. The orientation in EXIF is
    ignored, as most training pipelines ignore it.
    """
    library = extra("PIL.Image", group="images", what="Reading images")
    found = _list(folder, label)
    numbers = choose(len(found), max_rows, seed)
    files = [found[k] for k in numbers]
    heads = [_head(library, folder / file, file, label) for file in files]
    sizes = Counter(head[0] for head in heads)
    height, width = size or sizes.most_common(1)[0][0]
    if size is None and len(sizes) > 1:
        odd = next(k for k, head in enumerate(heads) if head[0] != (height, width))
        raise ValueError(
            f"{label} has images of different sizes: most are {height} × {width}, but {files[odd]} is "
            f"{heads[odd][0][0]} × {heads[odd][0][1]}. Give image_size=({height}, {width}) to bring all to one size."
        )
    colour = not all(grey for _, grey in heads)
    shape = (height, width, 3) if colour else (height, width)
    need = len(files) * float(np.prod(shape)) * 5  # a byte, and its float later
    check_room(need, label, "Give max_rows= to draw some of the images, or image_size= to make them smaller.")
    pixels = np.empty((len(files), *shape), np.uint8)
    transparent = 0
    for k, file in enumerate(files):
        pixels[k], seen_through = _read(library, folder / file, file, label, (height, width), colour)
        transparent += seen_through
    notes = (f"{transparent} of {len(files)} images were transparent and are laid on white.",) if transparent else ()
    return Folder(Images(pixels, 0.0, 255.0), tuple(files), numbers, notes)


def _list(folder: Path, label: str) -> list[str]:
    """Names below the folder. Hidden files are left out: some systems put a second file beside each image."""
    below = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    below = [path for path in below if not any(part.startswith(".") for part in path.parts)]
    found = sorted(path.as_posix() for path in below if path.suffix.lower() in _SUFFIXES)
    if not below:
        raise ValueError(f"{label} is an empty folder. Give a folder with PNG or JPEG images.")
    if not found:
        others = ", ".join(sorted({repr(path.suffix or path.name) for path in below})[:5])
        raise ValueError(f"{label} is a folder without PNG or JPEG images (it has {others}).")
    return found


def _head(library: Any, path: Path, file: str, label: str) -> tuple[tuple[int, int], bool]:
    """Size and whether it is grey, without decoding the image."""
    try:
        with library.open(path, formats=("PNG", "JPEG")) as image:
            return (image.height, image.width), image.mode in ("1", "L", "LA", "La", "I", "F") or image.mode[:2] == "I;"
    except (OSError, SyntaxError, ValueError, library.DecompressionBombError) as error:
        raise ValueError(f"{label}: {file} cannot be read as an image ({_reason(error, path)}).") from None


def _read(library: Any, path: Path, file: str, label: str, size: tuple[int, int], colour: bool) -> tuple[Array, bool]:
    try:
        with library.open(path, formats=("PNG", "JPEG")) as image:
            image.load()
            image, transparent = _opaque(library, image)
            image = image.convert("RGB" if colour else "L")
            if (image.height, image.width) != size:
                image = image.resize(size[::-1], library.Resampling.BILINEAR)
            return np.asarray(image), transparent
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{label}: {file} is damaged ({_reason(error, path)}).") from None


def _opaque(library: Any, image: Any) -> tuple[Any, bool]:
    """The image without an alpha channel, and whether anything could be seen through it."""
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


def _reason(error: Exception, path: Path) -> str:
    """Why, without the path, which the message has already."""
    return str(error).replace(repr(str(path)), "it").replace(str(path), "it").rstrip(".") or type(error).__name__
