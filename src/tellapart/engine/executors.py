"""Executors, which compute strips: on the threads of this process, on a device, or elsewhere.

Parts are joined in a binary tree whose shape depends only on how many strips there are. Who computed them, how many
were computed together and when they came changes no bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from .._util import workers

Progress: TypeAlias = Callable[[int, int], None]
Part = TypeVar("Part")


class Job(Protocol):
    """Work on numbered strips. A panel is a range of strips that forms a complete branch of the tree."""

    #: How many threads have room, and enough to do; 1 on a device.
    threads: int

    def allow(self, most: int | None) -> None:
        """Limit the memory used in this process to the given number of bytes, if ``max_memory`` allows more."""

    def panels(self, workers: int) -> Sequence[range]:
        """Return all strips, cut into panels for the given number of workers."""

    def size(self, panel: range) -> int:
        """Amount of work in a panel: its number of tiles."""

    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> Any:
        """Compute a panel, or only its first ``most`` columns of tiles to measure their duration.

        It calls ``checkpoint`` repeatedly, which raises if the result is no longer needed.
        """

    def join(self, left: Any, right: Any) -> Any:
        """Join two adjacent parts without changing them."""


@runtime_checkable
class Divisible(Protocol):
    """A job of which a panel needs only some of the data: other processes get these with the task of the panel."""

    def data_of(self, panel: range) -> Any:
        """What only this panel needs."""

    def with_data(self, data: Any) -> Job:
        """The job that can compute this panel."""


class Executor(Protocol):
    """Does the work of a `Job` and joins the parts in a `tree`."""

    def reduce(self, job: Job, progress: Progress | None) -> Any:
        """Compute all parts of the job and join them."""


class Local:
    """Executor on the threads of this process, as options and memory allow. On a device, strips run one by one."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def reduce(self, job: Job, progress: Progress | None) -> Any:
        """Compute all parts of the job and join them."""
        with workers.pool(min(self.threads, job.threads)) as pool:
            panels = job.panels(pool.threads)
            parts = pool.map(lambda panel: job.part(panel, pool.checkpoint), panels)
            return tree(job.join, report_parts(job, panels, parts, progress))


def tree(join: Callable[[Part, Part], Part], parts: Iterable[Part]) -> Part:
    """Join adjacent parts, then adjacent results, and so on, with few parts in memory at any time.

    >>> tree(lambda a, b: f"({a}{b})", "abcde")
    '(((ab)(cd))e)'
    """
    stack: list[tuple[int, Part]] = []
    for part in parts:
        level = 0
        while stack and stack[-1][0] == level:
            part = join(stack.pop()[1], part)
            level += 1
        stack.append((level, part))
    _, right = stack.pop()
    while stack:
        right = join(stack.pop()[1], right)
    return right


def branches(count: int, least: int) -> list[range]:
    """Return ranges of numbers up to ``count`` in whole branches of the tree, at least ``least`` if there are enough.

    >>> branches(10, 3)
    [range(0, 4), range(4, 8), range(8, 10)]
    """
    size = 1
    while size < count and -(-count // (2 * size)) >= least:
        size *= 2
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def report_parts(job: Job, panels: Sequence[range], parts: Iterable[Part], progress: Progress | None) -> Iterator[Part]:
    """Yield the parts of all panels in order and report each to ``progress``."""
    done, total = 0, sum(map(job.size, panels))
    for panel, part in zip(panels, parts, strict=True):
        yield part
        done += job.size(panel)
        if progress is not None:
            progress(done, total)
