"""A pool of threads that each run torch on one core, and hand results back in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

import torch

Task = TypeVar("Task")
Result = TypeVar("Result")

_starting = threading.Lock()


class Stopped(Exception):
    """Raised inside a worker whose results nobody waits for any more."""


class Pool:
    """Threads for one piece of work; see `pool`."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._stopping = threading.Event()
        # Torch's own threads fight for cores with whatever else the machine does, so each worker has one.
        # set_num_threads() holds for the calling thread, but it also becomes the default of threads started
        # later: put that default back as soon as all workers have theirs.
        with _starting:
            before = torch.get_num_threads()
            ready = threading.Barrier(threads)
            self._executor = ThreadPoolExecutor(threads, "tellapart", _prepare_thread)
            try:
                for future in [self._executor.submit(ready.wait) for _ in range(threads)]:
                    future.result()
            finally:
                torch.set_num_threads(before)

    def checkpoint(self) -> None:
        """For workers to call now and then: raises `Stopped` when the pool is being closed."""
        if self._stopping.is_set():
            raise Stopped

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Results in the order of the tasks, with only a few of them waiting at any time."""
        queue = iter(tasks)
        pending: deque[Future[Result]] = deque()
        for task in islice(queue, self.threads + 1):
            pending.append(self._executor.submit(function, task))
        while pending:
            result = pending.popleft().result()
            for task in islice(queue, 1):
                pending.append(self._executor.submit(function, task))
            yield result

    def close(self) -> None:
        """Stop at the next checkpoint and wait until no thread is left."""
        self._stopping.set()
        self._executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def pool(threads: int | None = None) -> Generator[Pool, None, None]:
    """As many single-core threads as torch is set to use; none is left when the block ends, however it ends."""
    workers = Pool(threads or torch.get_num_threads())
    try:
        yield workers
    finally:
        workers.close()


def _prepare_thread() -> None:
    torch.set_num_threads(1)
    # A denormal number costs a hundred times an ordinary one. The flag belongs to this thread alone.
    torch.set_flush_denormal(True)
