"""A pool of threads that each compute on one core, and hand results back in order.

Ctrl-C may come between any two instructions. What must be put back stands in a ``finally`` that stands in a
``finally``: where an interrupt ends the first, the second does the same again, which changes nothing if all was done.
"""

from __future__ import annotations

import os
import sys
import threading
from _thread import start_new_thread
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")


class Stopped(Exception):
    """Raised inside a worker whose results are no longer needed."""


class _OneCoreEach:
    """The numbers of threads of BLAS and of torch, held at one while anybody computes.

    Their own threads fight for cores with whatever else the machine does, so a worker has only itself. The setting
    cannot be made for one thread alone (that of OpenBLAS and MKL is the process's), so it is put back by the last
    holder. Torch takes part if it is there: nothing here imports it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders: set[object] = set()
        self._blas: list[Any] = []
        self._blas_before: list[int] = []
        self.threads_before = 1

    def hold(self, holder: object) -> None:
        with self._lock:
            if not self._holders:
                self.threads_before = _usual_threads()
                # Libraries that are loaded later are not those of NumPy and SciPy, which compute here.
                self._blas = self._blas or ThreadpoolController().select(user_api="blas").lib_controllers
                self._blas_before = [library.num_threads for library in self._blas]
            self._holders.add(holder)
            for library in self._blas:
                library.set_num_threads(1)
            # Torch keeps the number for each thread, and this one may not be the first that holds it.
            _set_torch_threads(1)

    def release(self, holder: object) -> None:
        with self._lock:
            if holder in self._holders:
                if len(self._holders) == 1:
                    self._put_back()
                self._holders.discard(holder)

    def forget_other_threads(self) -> None:
        """Reset the state in a forked process, where the threads that held the lock or the setting do not exist."""
        self._lock = threading.Lock()
        if self._holders and not getattr(_thread, "holds", False):
            self._holders.clear()
            self._put_back()

    def _put_back(self) -> None:
        for library, before in zip(self._blas, self._blas_before, strict=True):
            library.set_num_threads(before)
        _set_torch_threads(self.threads_before)


_thread = threading.local()
_one_core_each = _OneCoreEach()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _one_core_each.forget_other_threads())


class Pool:
    """Threads for one piece of work; see `pool`.

    An interrupt may leave what is written in Python half done: a condition or a semaphore that is neither held nor
    free, a thread that counts as ended and still runs. So the thread that may be interrupted only calls what is written
    in C, which an interrupt does not divide: it puts into queues and takes from them. Threads are started by a thread
    of their own, and say themselves when they are gone.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._stopping = False
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._news: SimpleQueue[None] = SimpleQueue()  # all have started, or one is gone: look again
        self._starter: list[int] = []
        self._all_started = False
        self._not_started: BaseException | None = None
        self._started: list[threading.Thread] = []
        self._gone: list[threading.Thread] = []

    def checkpoint(self) -> None:
        """For workers to call now and then: raises `Stopped` when the pool is being closed."""
        if self._stopping:
            raise Stopped

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Results in the order of the tasks, with only a few of them waiting at any time."""
        # A worker that has started leaves others little chance to start: nothing is to do before all have.
        self._start()
        done: SimpleQueue[tuple[int, Result | _Failure]] = SimpleQueue()
        queue, results = enumerate(tasks), dict[int, "Result | _Failure"]()

        def answer(number: int, task: Task) -> None:
            try:
                done.put((number, function(task)))
            except BaseException as error:
                done.put((number, _Failure(error)))

        def submit(count: int) -> int:
            chosen = list(islice(queue, count))
            for number, task in chosen:
                self._tasks.put(partial(answer, number, task))
            return len(chosen)

        submitted, wanted = submit(self.threads + 2), 0
        while wanted < submitted:
            while wanted not in results:
                number, result = done.get()
                results[number] = result
            result = results.pop(wanted)
            if isinstance(result, _Failure):
                try:
                    raise result.error
                finally:
                    del result  # its traceback knows this frame
            submitted += submit(1)
            wanted += 1
            yield result

    def close(self) -> None:
        """Stop at the next checkpoint and wait until no thread is left. May be called again."""
        self._stopping = True
        for _ in range(self.threads):
            self._tasks.put(None)
        while self._starter and not (self._all_started and len(self._gone) == len(self._started)):
            self._news.get()
        for thread in self._started:
            thread.join()

    def _start(self) -> None:
        if not self._starter:
            # One call in C: an interrupt comes before it or after it, and the list says which.
            self._starter.extend(map(start_new_thread, [self._start_threads], [()]))
        while not self._all_started:
            self._news.get()
        if self._not_started is not None:
            raise self._not_started

    def _start_threads(self) -> None:
        try:
            for number in range(self.threads):
                thread = threading.Thread(target=self._work, name=f"tellapart_{number}", daemon=True)
                thread.start()
                self._started.append(thread)
        except BaseException as error:
            self._not_started = error
        self._all_started = True
        self._news.put(None)

    def _work(self) -> None:
        try:
            _prepare_thread()
            while (task := self._tasks.get()) is not None:
                if not self._stopping:
                    task()
                del task  # or it would be kept until the next one comes
        finally:
            self._gone.append(threading.current_thread())
            self._news.put(None)


class _Failure(NamedTuple):
    error: BaseException


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
    """BLAS and torch compute on one core and without denormal numbers, as they do in workers: the same bits.

    Gives the number of threads that are used outside. Within another such block it does nothing.
    """
    if getattr(_thread, "holds", False) or getattr(_thread, "is_worker", False):
        yield _one_core_each.threads_before
        return
    holder = object()
    torch = sys.modules.get("torch")
    flushing, gradients = _flushes_denormals(), torch is not None and torch.is_grad_enabled()

    def put_back() -> None:
        if torch is not None:
            torch.set_flush_denormal(flushing)
            torch.set_grad_enabled(gradients)  # an interrupt may end `no_grad` between its two halves
        _one_core_each.release(holder)
        _thread.holds = False

    try:
        try:
            _one_core_each.hold(holder)
            _thread.holds = True
            _flush_denormals()
            yield _one_core_each.threads_before
        finally:
            put_back()
    finally:
        put_back()


@contextmanager
def flushing_denormals() -> Generator[None, None, None]:
    """Denormal numbers count as 0 in this thread, and in those that it starts, where torch is used."""
    was_flushing = _flushes_denormals()
    try:
        _flush_denormals()
        yield
    finally:
        if "torch" in sys.modules:
            sys.modules["torch"].set_flush_denormal(was_flushing)


def default_threads() -> int:
    """Return the default number of threads: ``TELLAPART_THREADS``, or the number that torch or BLAS uses."""
    given = os.environ.get("TELLAPART_THREADS", "").strip()
    if given:
        if not given.isdecimal() or int(given) < 1:
            raise ValueError(f"TELLAPART_THREADS must be a whole number from 1 up, but is {given!r}.")
        return int(given)
    return _one_core_each.threads_before if getattr(_thread, "holds", False) else _usual_threads()


def _usual_threads() -> int:
    """The number of threads that torch uses; where it is not there, one for each core, or what OMP_NUM_THREADS says."""
    if "torch" in sys.modules:
        return int(sys.modules["torch"].get_num_threads())
    given = os.environ.get("OMP_NUM_THREADS", "").strip()
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _set_torch_threads(count: int) -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)


def _prepare_thread() -> None:
    # A denormal number costs a hundred times an ordinary one. The flag belongs to this thread alone.
    _flush_denormals()
    _thread.is_worker = True


def _flush_denormals() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(True)


def _flushes_denormals() -> bool:
    return bool((np.full(1, 2.0**-130, np.float32) * np.float32(1.0))[0] == 0)
