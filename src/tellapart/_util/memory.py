"""How much memory a call may take."""

from __future__ import annotations

import ctypes
import os
import re
from typing import Any

import numpy as np

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
            raise ValueError(f"max_memory={max_memory!r} is not a size. Give bytes or a string such as '500MB'.")
        max_memory = float(match[1]) * _UNITS[match[2]]
    if isinstance(max_memory, bool) or not isinstance(max_memory, (int, float, np.integer, np.floating)):
        kind = type(max_memory).__name__
        raise TypeError(f"max_memory must be bytes or a string such as '500MB', but is of type {kind}.")
    if not max_memory > 0:
        raise ValueError(f"max_memory must be positive, but is {max_memory}.")
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
    return min(free, _container_room())


def _container_room() -> int:
    """What a container's memory limit (cgroup v2) leaves; a very large number without one."""
    try:
        with open("/sys/fs/cgroup/memory.max") as limit, open("/sys/fs/cgroup/memory.current") as used:
            return max(int(limit.read()) - int(used.read()), 2**24)
    except (OSError, ValueError):
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
