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


class Stopped(Exception):
    """Raised inside a worker whose results nobody waits for any more."""


class _OneCoreEach:
    """Torch's number of threads, held at one while pools are open.

    Torch's own threads fight for cores with whatever else the machine does, so a worker has only itself. The
    setting cannot be made for one thread alone (that of MKL is the process's), so it is put back by the last pool.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools = 0
        self._before = 1

    def hold(self) -> int:
        with self._lock:
            if self._pools == 0:
                self._before = torch.get_num_threads()
                torch.set_num_threads(1)
            self._pools += 1
            return self._before

    def release(self) -> None:
        with self._lock:
            self._pools -= 1
            if self._pools == 0:
                torch.set_num_threads(self._before)


_one_core_each = _OneCoreEach()
_thread = threading.local()


class Pool:
    """Threads for one piece of work; see `pool`."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._stopping = threading.Event()
        self._executor = ThreadPoolExecutor(self.threads, "tellapart", _prepare_thread)

    def checkpoint(self) -> None:
        """For workers to call now and then: raises `Stopped` when the pool is being closed."""
        if self._stopping.is_set():
            raise Stopped

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Results in the order of the tasks, with only a few of them waiting at any time."""
        queue = iter(tasks)
        pending: deque[Future[Result]] = deque()
        # A worker that has started leaves this thread little chance to start the next one: they wait for each other.
        begin = threading.Event()
        for _ in range(self.threads):
            self._executor.submit(begin.wait)
        for task in islice(queue, self.threads + 2):
            pending.append(self._executor.submit(function, task))
        begin.set()
        while pending:
            result = pending.popleft().result()
            for task in islice(queue, 1):
                pending.append(self._executor.submit(function, task))
            yield result

    def close(self) -> None:
        """Stop at the next checkpoint and wait until no thread is left."""
        self._stopping.set()
        self._executor.shutdown(wait=True, cancel_futures=True)


class InThisThread:
    """What a `Pool` is when torch is set to use one thread: the same, without a thread."""

    def checkpoint(self) -> None:
        """Nobody can close the pool while this thread works."""

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Results in the order of the tasks."""
        return map(function, tasks)


@contextmanager
def pool(most: int | None = None) -> Generator[Pool | InThisThread, None, None]:
    """As many single-core threads as torch is set to use (or ``most``); none is left when the block ends.

    A worker's own work stays in its thread: threads of threads would only fight for cores.
    """
    with one_core() as threads:
        threads = min(threads, most or threads)
        if threads == 1 or getattr(_thread, "is_worker", False):
            yield InThisThread()
            return
        workers = Pool(threads)
        try:
            yield workers
        finally:
            workers.close()


@contextmanager
def one_core() -> Generator[int, None, None]:
    """Torch computes on one core and without denormal numbers, as it does in workers: the same work, the same bits.

    Gives the number of threads that torch was set to use.
    """
    threads = _one_core_each.hold()
    try:
        # Torch keeps the number for each thread, and this one may not be the one that holds it.
        torch.set_num_threads(1)
        with flushing_denormals():
            yield threads
    finally:
        _one_core_each.release()


@contextmanager
def flushing_denormals() -> Generator[None, None, None]:
    """Denormal numbers count as 0 in this thread, and in those that it starts."""
    was_flushing = _flushes_denormals()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(was_flushing)


def _prepare_thread() -> None:
    # A denormal number costs a hundred times an ordinary one. The flag belongs to this thread alone.
    torch.set_flush_denormal(True)
    _thread.is_worker = True


def _flushes_denormals() -> bool:
    return (torch.full((1,), 2.0**-130) * 1.0).item() == 0
