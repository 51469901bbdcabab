"""Execution settings (memory budget, threads, executor, progress), created once per public call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from .._util import workers
from .._util.errors import InputError
from .._util.memory import memory_budget
from .._util.progress import ProgressLike, progress_bar
from .cluster import cluster_executor
from .executors import Executor, Job, Local, Progress

#: Bytes, a string such as ``"1GB"``, or None for a quarter of free memory.
MemoryLike: TypeAlias = int | float | str | None


@dataclass(frozen=True)
class Compute:
    """Execution settings.

    Attributes
    ----------
    max_memory
        Bytes that a process may use for this call, in addition to the samples.
    automatic
        Whether ``max_memory`` was derived from free memory. Then results must not depend on it.
    threads
        Maximum number of threads of this process. Results do not depend on it, to the last bit.
    executor
        Computes tiles, if not these threads.
    progress
        Function that progress is reported to.
    """

    max_memory: int = field(default_factory=lambda: memory_budget(None))
    automatic: bool = True
    threads: int = field(default_factory=workers.default_threads)
    executor: Executor | None = None
    progress: Progress | None = None

    def run(self, job: Job) -> Any:
        """Run a job and return its result."""
        return (self.executor or Local(self.threads)).reduce(job, self.progress)

    def here(self) -> Compute:
        """Return the same settings with the threads of this process only, and without progress reports."""
        return replace(self, executor=None, progress=None)

    def phase(self, number: int, of: int) -> Compute:
        """Return settings for one of several parts of equal duration, which reports the progress of the whole."""
        report = self.progress
        if report is None:
            return self
        return replace(self, progress=lambda done, total: report(number * total + done, of * total))

    def leaving(self, taken: int) -> Compute:
        """Return the same settings with the memory budget reduced by the given number of bytes."""
        return replace(self, max_memory=max(self.max_memory - taken, 1))


@contextmanager
def computing(
    max_memory: MemoryLike = None,
    cluster: Any = None,
    progress: ProgressLike = False,
    threads: int | None = None,
    title: str = "",
) -> Iterator[Compute]:
    """Return the user's options for memory, cluster, threads and progress as a `Compute`.

    Connections and bars end with the block. Within it torch computes on one core, and our threads take the others:
    so what a call gives has the same bits whatever torch is set to.
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise InputError("out-of-range", f"threads must be a whole number from 1 up, or None, but is {threads!r}.")
    count = workers.default_threads() if threads is None else threads
    budget = memory_budget(max_memory)
    with workers.one_core(), cluster_executor(cluster, count) as executor, progress_bar(progress, title) as report:
        yield Compute(budget, max_memory is None, count, executor, report)
