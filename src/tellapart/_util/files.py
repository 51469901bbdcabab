"""Writing files so that they appear whole or not at all, and arrays with facts about them in one file."""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from safetensors import SafetensorError

from .errors import InputError, InputFileError, InputMemoryError, OutputError
from .memory import available_memory
from .text import printable

if TYPE_CHECKING:
    from torch import Tensor

Array: TypeAlias = "np.ndarray[Any, Any]"

#: None on Windows, which has other locks.
fcntl: Any = None
with suppress(ImportError):
    fcntl = import_module("fcntl")

#: How files are called that are being written, and after how many seconds one may be what a killed process left.
_PREFIX, _SUFFIX, _STALE = ".tellapart-", ".unfinished", 60.0
#: Bytes that JSON may take when read, for each of its own.
_PARSED = 20


def check_writable(path: str | PathLike[str], what: str) -> None:
    """Raise `OSError`, before a long computation, if ``path`` cannot be written.

    >>> check_writable("no such folder/report.html", "The report")
    Traceback (most recent call last):
    ...
    FileNotFoundError: The report cannot be written: the folder no such folder does not exist.
    """
    try:
        target = Path(path).expanduser()
        target.parent.joinpath(target.name).lstat()  # a name may be too long, or none at all
    except FileNotFoundError:
        pass
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        if not isinstance(error, NotADirectoryError):
            raise OutputError(f"{what} cannot be written: {printable(str(path)):.200}: {reason}.") from None
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
    The temporary name is random and the file is new, so that it cannot be a link placed by another user. Temporary
    files of killed processes are removed.
    """
    target = Path(path).expanduser()
    with _naming_target(target):
        _remove_stale(target.parent)
        unfinished = target.parent / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
        unfinished.touch(exist_ok=False)
        try:
            with unfinished.open("rb") as file:
                try_lock(file)  # says that somebody is writing it
                yield unfinished
                os.fsync(file.fileno())
            os.replace(unfinished, target)
        finally:
            unfinished.unlink(missing_ok=True)


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file, until it is closed or its process ends; False if another process has locked it.

    Also returns True if the system or the network folder does not support locks.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def atomic_write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text file."""
    target = Path(path).expanduser()
    if _special(target):
        with _naming_target(target):
            target.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    with atomic_path(target) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def write_json(path: str | PathLike[str], value: Any) -> None:
    """Write a JSON file that people can read."""
    atomic_write_text(path, json.dumps(value, indent=1) + "\n")


def read_json(path: str | PathLike[str], what: str, **argument: Any) -> Any:
    """Return the contents of a JSON file. Errors describe the file as ``what`` and name the argument to correct."""
    advice = "".join(f"Give another {{{name}}}." for name in argument)
    place = Path(path).expanduser()
    if not place.is_file():
        raise InputError("not-a-file", f"{what} is not a file.", advice, **argument)
    if _PARSED * place.stat().st_size > available_memory():
        raise InputMemoryError("file-too-large", f"{what} is larger than what can be read here.", advice, **argument)
    try:
        return json.loads(place.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError("damaged-file", f"{what} is no JSON: {error}.", advice, **argument) from None


def write_arrays(path: str | PathLike[str], arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
    """Write arrays to a safetensors file, and facts about them as JSON in its header."""
    from safetensors.numpy import save_file

    flat = {name: np.array(value, order="C") for name, value in arrays.items()}
    with atomic_path(path) as unfinished:
        save_file(flat, unfinished, {"tellapart": json.dumps(facts)})


def read_arrays(path: str | PathLike[str], what: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read a file written by `write_arrays`. Raise `InputError` if it is not ``what`` it should be."""
    from safetensors.numpy import load

    arrays, facts = _read(path, what, load)
    return {name: array.copy() for name, array in arrays.items()}, facts


def write_tensors(path: str | PathLike[str], tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """`write_arrays` for tensors."""
    from safetensors.torch import save_file

    flat = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
    with atomic_path(path) as unfinished:
        save_file(flat, unfinished, {"tellapart": json.dumps(facts)})


def read_tensors(path: str | PathLike[str], what: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """`read_arrays` for tensors."""
    from safetensors.torch import load

    tensors, facts = _read(path, what, load)
    # Copies: tensors in one block of memory are not aligned, and sums over them may round another way.
    return {name: tensor.clone() for name, tensor in tensors.items()}, facts


def _read(
    path: str | PathLike[str], what: str, load: Callable[[bytes], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    place = Path(path).expanduser()
    if not place.is_file():
        raise InputFileError("file-not-found", f"{printable(str(path))} is not there, or not a file.")
    if place.stat().st_size > available_memory() // 2:
        raise InputMemoryError("file-too-large", f"{printable(str(path))} is larger than what can be read here.")
    # Read, not mapped: a mapped file that is cut short meanwhile would end the process.
    content = place.read_bytes()
    try:
        found = load(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__") or {}
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(
            "damaged-file", f"{printable(str(path))} is not a safetensors file, or damaged: {error}."
        ) from None
    try:
        facts = json.loads(metadata["tellapart"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InputError("wrong-file-kind", f"{printable(str(path))} is a safetensors file, but not {what}.") from None
    return found, facts


@contextmanager
def _naming_target(target: Path) -> Iterator[None]:
    """Whatever keeps a file from being written becomes an error that names it, and not the file written meanwhile."""
    try:
        yield
    except OutputError:
        raise
    except SafetensorError as error:  # its message contains that of the system
        found = re.search(r"I/O error: (.*?) \(os error", str(error))
        raise OutputError(f"{printable(str(target))} cannot be written: {found[1] if found else error}.") from error
    except OSError as error:
        raise OutputError(f"{printable(str(target))} cannot be written: {error.strerror or error}.") from error


def _remove_stale(folder: Path) -> None:
    """Remove what killed processes left: no longer locked, and not just being made."""
    for left in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE:
                with left.open("rb") as file:
                    if fcntl is not None and try_lock(file):
                        left.unlink()


def _special(path: Path) -> bool:
    """Whether this is a pipe or a device, such as /dev/stdout, which must not be replaced by a file."""
    return path.exists() and not path.is_file()
