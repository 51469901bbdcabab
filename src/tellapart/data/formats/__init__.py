"""One file for each format. A new one is a subclass of `Format` in a file of its own, and a line in this list."""

from __future__ import annotations

from ..._util.errors import InputError
from .arrays import Arrays
from .base import Format, Opened, Request
from .dask import Dask
from .delimited import Delimited
from .frames import Frames
from .idx import Idx
from .image_folder import ImageFolder
from .jsonlines import JSONLines
from .lines import TextLines
from .named import Named
from .npy import Npy
from .npz import Npz
from .parquet import Parquet
from .pillow import Pictures
from .safetensors import Safetensors
from .strings import Strings
from .torch_data import TorchData
from .zarr import Zarr

#: Files and folders, by name or by what lies in them. The first that matches is taken.
FILES: tuple[Format, ...] = (
    Npy(),
    Npz(),
    Delimited(),
    JSONLines(),
    TextLines(),
    Parquet(),
    Safetensors(),
    Idx(),
    Zarr(),
    ImageFolder(),
)

#: Everything that can be read. What is neither a path nor anything else must be an array.
FORMATS: tuple[Format, ...] = (Named(), *FILES, Frames(), Dask(), TorchData(), Pictures(), Strings(), Arrays())

#: Files that may run code when they are read.
_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib", ".bin", ".ckpt")


def find_format(request: Request) -> Format:
    """The format of the data, or an error that says which there are."""
    found = next((entry for entry in FORMATS if entry.matches(request.data)), None)
    if found is not None:
        return found
    suffix = request.data.suffix.lower()
    if suffix in _PICKLES:
        raise InputError(
            "unsafe-file",
            f"{request.label} may hold a pickle, which can run code when read. Save it as .npy or .safetensors.",
        )
    supported = ", ".join(entry.name for entry in FILES)
    what = f"Unsupported format {suffix!r}" if suffix else "Unsupported format: the file's name has no suffix"
    raise InputError("unknown-format", f"{request.label}: {what}. Supported: {supported}.")


__all__ = ["FILES", "FORMATS", "Format", "Opened", "Request", "find_format"]
