"""How to compute: made once at the public boundary, passed on whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .._util.memory import memory_budget
from .._util.progress import ProgressLike, progress_bar
from .cluster import connected
from .executors import Executor, Local, Progress

#: Bytes, a string such as ``"1GB"``, or None for a quarter of what is free.
MemoryLike: TypeAlias = int | float | str | None


@dataclass(frozen=True)
class Compute:
    """How to compute.

    Attributes
    ----------
    max_memory
        Bytes that a process may take for this call.
    executor
        Who computes tiles.
    progress
        Who is told how far it is.
    """

    max_memory: int = field(default_factory=lambda: memory_budget(None))
    executor: Executor = field(default_factory=Local)
    progress: Progress | None = None


@contextmanager
def computing(
    max_memory: MemoryLike = None, cluster: Any = None, progress: ProgressLike = False, title: str = ""
) -> Iterator[Compute]:
    """What a user said of memory, cluster and progress, as a `Compute`; connections and bars end with the block."""
    budget = memory_budget(max_memory)
    with connected(cluster) as executor, progress_bar(progress, title) as report:
        yield Compute(budget, executor or Local(), report)
