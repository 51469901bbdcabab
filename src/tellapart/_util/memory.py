"""How much memory a call may take."""

from __future__ import annotations

import ctypes
import os
import re
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .errors import InputError, InputTypeError

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}

#: Names of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def memory_budget(max_memory: Any) -> int:
    """Bytes from ``max_memory``: a number of bytes, a string such as ``"1GB"``, or None for a quarter of what is free.

    >>> memory_budget("1.5 GB")
    1500000000
    """
    if max_memory is None:
        return available_memory() // 4
    if isinstance(max_memory, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", max_memory.lower())
        if match is None or match[2] not in _UNITS:
            raise InputError(
                "invalid-memory-size",
                f"{max_memory!r} is not a size of memory.",
                "{max_memory} takes bytes, or a size such as 500MB.",
                max_memory=...,
            )
        max_memory = float(match[1]) * _UNITS[match[2]]
    if isinstance(max_memory, bool) or not isinstance(max_memory, (int, float, np.integer, np.floating)):
        kind = type(max_memory).__name__
        raise InputTypeError(
            "invalid-memory-size",
            f"A size of memory is a number of bytes or a string such as '500MB', not of type {kind}.",
            "Correct {max_memory}.",
            max_memory=...,
        )
    if not max_memory > 0:
        raise InputError(
            "invalid-memory-size",
            f"{max_memory:g} bytes of memory are too few.",
            "{max_memory} must be positive.",
            max_memory=...,
        )
    return int(min(float(max_memory), 2.0**62))


def available_memory() -> int:
    """Bytes of memory that can be had now without swapping (a guess where the system does not tell)."""
    try:
        with open("/proc/meminfo") as lines:
            free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (AttributeError, ValueError, OSError):
            free = 4 * 2**30
    return max(min(free, _container_room(), _address_room()), 2**24)


class _Group(NamedTuple):
    """A group of processes (cgroup) with a limit of memory: the files that say so."""

    limit: Path
    used: Path
    details: Path

    def room(self) -> int:
        """What the limit leaves. Files that are kept in memory only because there is room for them do not count."""
        try:
            kept = (line.split() for line in self.details.read_text().splitlines())
            cache = next((int(size) for name, size in kept if name in ("total_inactive_file", "inactive_file")), 0)
            return int(self.limit.read_text()) - int(self.used.read_text()) + cache
        except (OSError, ValueError):  # "max": no limit
            return 2**62


def _container_room() -> int:
    """What the memory limits of this process's container leave; a very large number without any."""
    return max(min((group.room() for group in _limited_groups()), default=2**62), 2**24)


@lru_cache(maxsize=1)
def _limited_groups(
    root: Path = Path("/sys/fs/cgroup"), groups: Path = Path("/proc/self/cgroup")
) -> tuple[_Group, ...]:
    """The groups that this process is in (of version 1 or 2), and those that they are in, where they have limits."""
    found: dict[Path, _Group] = {}
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        number, kinds, path = line.split(":", 2)
        if number == "0":
            base, limit, used = root, "memory.max", "memory.current"
        elif "memory" in kinds.split(","):
            base, limit, used = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        inner = base.joinpath(*(part for part in path.split("/") if part not in ("", "..")))
        # Seen from within a container the path may be that of the outside; the limit is then at the root.
        for folder in (base, inner, *(up for up in inner.parents if up.is_relative_to(base))):
            group = _Group(folder / limit, folder / used, folder / "memory.stat")
            if group.room() < 2**60:
                found[folder] = group
    return tuple(found.values())


def _address_room() -> int:
    """Return the bytes left by `ulimit -v`, or a very large number without such a limit."""
    try:
        resource: Any = import_module("resource")
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return 2**62
        with open("/proc/self/statm") as sizes:
            return max(int(limit) - int(sizes.read().split()[0]) * int(resource.getpagesize()), 0)
    except (ImportError, OSError, ValueError):
        return 2**62


def keep_freed_memory() -> None:
    """Let this process keep the memory it frees for its next use, rather than give it back and ask for it again.

    A step of training takes and frees the same megabytes again and again, and fresh memory is slow memory: a page
    fault for every 4 kB. It changes the allocator of the whole process, so it is for programs and not for libraries;
    without the GNU C library it does nothing.
    """
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    adjust(_TRIM_THRESHOLD, 2**30)
    adjust(_MMAP_THRESHOLD, 2**25)  # the largest that it takes
