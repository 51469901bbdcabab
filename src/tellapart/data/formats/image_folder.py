"""A folder of PNG and JPEG files as images of one size."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ..._util.errors import InputError
from ..._util.text import printable
from .base import Format, Opened, Request
from .pillow import Picture, pillow, read_pictures

#: What the names of images end in.
SUFFIXES = (".png", ".jpg", ".jpeg")
_KINDS = ("PNG", "JPEG")


class ImageFolder(Format):
    """All PNG and JPEG files in a folder and below it, sorted by name."""

    name = "folders of PNG or JPEG images"

    def matches(self, data: Any) -> bool:
        """Whether this is the path of a folder (formats that are folders too come first)."""
        return isinstance(data, Path) and data.is_dir()

    def open(self, request: Request) -> Opened:
        """Read the images wanted."""
        library, folder = pillow(), request.data
        found = _list_files(folder, request.label)
        numbers = request.choose_rows(len(found))
        files = [found[k] for k in numbers]
        pictures = [Picture(printable(file), partial(library.open, folder / file, formats=_KINDS)) for file in files]
        content, notes = read_pictures(pictures, request)
        return Opened(content, numbers, tuple(map(printable, files)), notes, total=len(found))


def _list_files(folder: Path, label: str) -> list[str]:
    """Names below the folder. Hidden files are left out: some systems put a second file beside each image."""
    below = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    below = [path for path in below if not any(part.startswith(".") for part in path.parts)]
    found = sorted(path.as_posix() for path in below if path.suffix.lower() in SUFFIXES)
    if not below:
        raise InputError("empty-folder", f"{label} is an empty folder. Give a folder with PNG or JPEG images.")
    if not found:
        others = ", ".join(sorted({repr(path.suffix or path.name) for path in below})[:5])
        raise InputError("no-images", f"{label} is a folder without PNG or JPEG images (it has {others}).")
    return found
