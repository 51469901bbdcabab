"""Writing files so that they appear whole or not at all, and tensors with facts about them in one file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor


def check_writable(path: str | PathLike[str], what: str) -> None:
    """Complain, before long work, where ``path`` could not be written after it.

    >>> check_writable("no such folder/report.html", "The report")
    Traceback (most recent call last):
    ...
    FileNotFoundError: The report cannot be written: the folder no such folder does not exist.
    """
    target = Path(path).expanduser()
    if target.is_dir():
        raise IsADirectoryError(f"{what} cannot be written: {target} is a folder. Give the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{what} cannot be written: the folder {target.parent} does not exist.")
    if _special(target):
        return
    try:
        # Permissions are not the only reason: a file system may be full of rules. So try it.
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise PermissionError(
            f"{what} cannot be written: the folder {target.parent} does not take new files ({error.strerror})."
        ) from None


@contextmanager
def atomic_path(path: str | PathLike[str]) -> Iterator[Path]:
    """Another name in the same folder to write to. If the block ends well, that file is put in the place of ``path``.

    It is on the disk before it gets its name: whatever interrupts the writing, what was there before is still there.
    """
    target = Path(path).expanduser()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        yield unfinished
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def atomic_write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text file."""
    target = Path(path).expanduser()
    if _special(target):
        target.write_text(text, encoding="utf-8")
        return
    with atomic_path(target) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | PathLike[str], value: Any) -> None:
    """Write a JSON file that people can read."""
    atomic_write_text(path, json.dumps(value, indent=1) + "\n")


def write_tensors(path: str | PathLike[str], tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write tensors to a safetensors file, and facts about them as JSON in its header."""
    flat = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    with atomic_path(path) as unfinished:
        save_file(flat, unfinished, {"tellapart": json.dumps(facts)})


def read_tensors(path: str | PathLike[str], what: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote; ``what`` it should be is said where it is not."""
    try:
        opened = safe_open(str(path), "pt")
    except SafetensorError as error:
        raise ValueError(f"{path} is not a safetensors file: {error}.") from None
    with opened as file:
        metadata = file.metadata() or {}
        if "tellapart" not in metadata:
            raise ValueError(f"{path} is a safetensors file, but not {what}.")
        # Copies: tensors in a mapped file are not aligned, and sums over them may round another way.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    return tensors, json.loads(metadata["tellapart"])


def _special(path: Path) -> bool:
    """Whether this is a pipe or a device, such as /dev/stdout, which must not be replaced by a file."""
    return path.exists() and not path.is_file()
