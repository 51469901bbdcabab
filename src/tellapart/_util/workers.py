"""A pool of threads that each run torch on one core, and hand results back in order.

Ctrl-C may come between any two instructions. What must be put back stands in a ``finally`` that stands in a
``finally``: where an interrupt ends the first, the second does the same again, which changes nothing if all was done.
"""

from __future__ import annotations

import os
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
    """Torch's number of threads, held at one while anybody computes.

    Torch's own threads fight for cores with whatever else the machine does, so a worker has only itself. The
    setting cannot be made for one thread alone (that of MKL is the process's), so it is put back by the last holder.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders: set[object] = set()
        self.threads_before = 1

    def hold(self, holder: object) -> None:
        with self._lock:
            if not self._holders:
                self.threads_before = torch.get_num_threads()
            self._holders.add(holder)
            # Torch keeps the number for each thread, and this one may not be the first that holds it.
            torch.set_num_threads(1)

    def release(self, holder: object) -> None:
        with self._lock:
            if holder in self._holders:
                if len(self._holders) == 1:
                    torch.set_num_threads(self.threads_before)
                self._holders.discard(holder)

    def forget_other_threads(self) -> None:
        """In a forked process only one thread is left: nobody else will release the lock or the setting."""
        self._lock = threading.Lock()
        if self._holders and not getattr(_thread, "holds", False):
            self._holders.clear()
            torch.set_num_threads(self.threads_before)


_thread = threading.local()
_one_core_each = _OneCoreEach()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _one_core_each.forget_other_threads())


class Pool:
    """Threads for one piece of work; see `pool`."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._stopping, self._begin = threading.Event(), threading.Event()
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
        for _ in range(self.threads):
            self._executor.submit(self._begin.wait)
        for task in islice(queue, self.threads + 2):
            pending.append(self._executor.submit(function, task))
        self._begin.set()
        while pending:
            result = pending.popleft().result()
            for task in islice(queue, 1):
                pending.append(self._executor.submit(function, task))
            yield result

    def close(self) -> None:
        """Stop at the next checkpoint and wait until no thread is left. May be called again."""
        self._stopping.set()
        self._begin.set()  # or those who wait for the others would wait for ever
        self._executor.shutdown(wait=True, cancel_futures=True)


class InThisThread:
    """What a `Pool` of one thread is: the same, without a thread."""

    threads = 1

    def checkpoint(self) -> None:
        """Nobody can close the pool while this thread works."""

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Results in the order of the tasks."""
        return map(function, tasks)


@contextmanager
def pool(threads: int) -> Generator[Pool | InThisThread, None, None]:
    """So many threads with a core each; none is left when the block ends.

    A worker's own work stays in its thread: threads of threads would only fight for cores.
    """
    with one_core():
        if threads <= 1 or getattr(_thread, "is_worker", False):
            yield InThisThread()
            return
        workers = Pool(threads)
        try:
            try:
                yield workers
            finally:
                workers.close()
        finally:
            workers.close()


@contextmanager
def one_core() -> Generator[int, None, None]:
    """Torch computes on one core and without denormal numbers, as it does in workers: the same work, the same bits.

    Gives the number of threads that torch is set to use outside. Within another such block it does nothing.
    """
    if getattr(_thread, "holds", False) or getattr(_thread, "is_worker", False):
        yield _one_core_each.threads_before
        return
    holder = object()
    flushing, gradients = _flushes_denormals(), torch.is_grad_enabled()

    def put_back() -> None:
        torch.set_flush_denormal(flushing)
        torch.set_grad_enabled(gradients)  # an interrupt may end `no_grad` between its two halves
        _one_core_each.release(holder)
        _thread.holds = False

    try:
        try:
            _one_core_each.hold(holder)
            _thread.holds = True
            torch.set_flush_denormal(True)
            yield _one_core_each.threads_before
        finally:
            put_back()
    finally:
        put_back()


@contextmanager
def flushing_denormals() -> Generator[None, None, None]:
    """Denormal numbers count as 0 in this thread, and in those that it starts."""
    was_flushing = _flushes_denormals()
    try:
        torch.set_flush_denormal(True)
        yield
    finally:
        torch.set_flush_denormal(was_flushing)


def default_threads() -> int:
    """How many threads work where nobody says otherwise: ``TELLAPART_THREADS``, or what torch is set to use."""
    given = os.environ.get("TELLAPART_THREADS", "").strip()
    if given:
        if not given.isdecimal() or int(given) < 1:
            raise ValueError(f"TELLAPART_THREADS must be a whole number from 1 up, but is {given!r}.")
        return int(given)
    return _one_core_each.threads_before if getattr(_thread, "holds", False) else torch.get_num_threads()


def _prepare_thread() -> None:
    # A denormal number costs a hundred times an ordinary one. The flag belongs to this thread alone.
    torch.set_flush_denormal(True)
    _thread.is_worker = True


def _flushes_denormals() -> bool:
    return (torch.full((1,), 2.0**-130) * 1.0).item() == 0
