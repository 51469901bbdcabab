"""What a reduction will cost: an executor that measures a few tiles instead of computing all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from .executors import Executor, Job, Local, Progress
from .passes import Preparation, Strips

#: Seconds that are enough to tell the time of a tile.
_ENOUGH = 0.5


@dataclass(frozen=True)
class Cost:
    """What a test will take.

    Attributes
    ----------
    rows, coordinates
        Of both samples together.
    tiles, tile
        How many tiles there are, and their rows and columns.
    seconds
        How long it will take, if the machine does nothing else than during the probe.
    memory
        Bytes at the most in each process, beside what is in memory already.
    kept
        Whether rows that lie in files are read once and kept, or read again and again because they do not fit.
    workers
        Threads of this process, or workers of a cluster.
    probe
        The tiles that were computed to tell the time.
    """

    rows: int
    coordinates: int
    tiles: int
    tile: tuple[int, int]
    seconds: float
    memory: int
    kept: bool
    workers: int
    probe: int

    def __str__(self) -> str:
        height, width = self.tile
        return "\n".join(
            [
                f"{self.rows:,} rows of {self.coordinates:,} numbers: {self.tiles:,} tiles of {height} × {width}.",
                f"About {_duration(self.seconds)} with {self.workers} at work (by a probe of {self.probe:,} tiles).",
                f"At most {self.memory / 1e6:,.0f} MB of memory in each process, beside the data it has already.",
                *([] if self.kept else ["The rows do not fit into that: they are read again and again."]),
            ]
        )


class Measured(Exception):
    """Ends a computation whose cost is known by now."""

    def __init__(self, cost: Cost) -> None:
        super().__init__(str(cost))
        self.cost = cost


class Probe:
    """An `Executor` that raises `Measured` where another would begin with the tiles."""

    def __init__(self, executor: Executor | None) -> None:
        self.executor = executor or Local()

    def reduce(self, job: Any, progress: Progress | None) -> Any:
        """Time some of the work. To look at all points once is next to nothing beside it, and left out."""
        if isinstance(job, Preparation):
            return None
        seconds, probe, workers = self._seconds(job)
        threads = workers if isinstance(self.executor, Local) else 1
        raise Measured(_cost(job, seconds, probe, workers, threads))

    def _seconds(self, job: Any) -> tuple[float, int, int]:
        """How long the job takes, what of it was done to tell, and how many took part."""
        tiles, taken = 1, []
        while True:
            short = Short(job, tiles)
            start = time.perf_counter()
            self.executor.reduce(short, None)
            taken.append((short.count, time.perf_counter() - start))
            # The first time files are read and workers wake up. That is not what a tile takes.
            if len(taken) > 2 and (taken[-1][1] > _ENOUGH or taken[-1][0] == taken[-2][0]):
                break
            tiles *= 1 if len(taken) == 1 else 4
        (few, least), (many, most) = taken[1], taken[-1]
        each = (most - least) / (many - few) if many > few and most > least else most / many
        total = sum(job.size(panel) for panel in job.panels(1))
        return taken[0][1] + total * each, sum(count for count, _ in taken), short.workers


class Short:
    """The first tiles of the first strips of a job, as many strips as there are workers."""

    def __init__(self, job: Job, tiles: int) -> None:
        self.job, self.tiles, self.device, self.threads = job, tiles, job.device, job.threads
        self.count = self.workers = 0

    def allow(self, most: int | None) -> None:
        """As the job."""
        self.job.allow(most)

    def panels(self, workers: int) -> list[range]:
        """One strip for each worker."""
        strips = self.job.panels(1)[-1].stop
        found = [range(k, k + 1) for k in range(min(workers, strips))]
        self.workers = workers
        self.count = sum(min(self.tiles, self.job.size(panel)) for panel in found)
        return found

    def size(self, panel: range) -> int:
        """All alike."""
        return 1

    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> Any:
        """Some tiles of a strip."""
        self.job.part(panel, checkpoint, self.tiles)

    def join(self, left: Any, right: Any) -> Any:
        """Nobody asks for the result."""


def _cost(job: Strips, seconds: float, probe: int, workers: int, threads: int) -> Cost:
    tiling = job.tiling
    # Labels take three times as much while they are drawn.
    held = 3 * sum(value.nbytes for value in vars(job.reduction).values() if isinstance(value, Tensor))
    return Cost(
        rows=sum(tiling.sizes),
        coordinates=math.prod(tiling.prepared.samples[0].shape[1:]),
        tiles=sum(map(job.size, job.panels(1))),
        tile=(tiling.height, tiling.width),
        seconds=seconds,
        memory=held + tiling.bytes_needed(threads),
        kept=tiling.resident,
        workers=workers,
        probe=probe,
    )


def _duration(seconds: float) -> str:
    for unit, name in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.1f} seconds"
