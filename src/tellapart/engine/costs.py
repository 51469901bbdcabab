"""Cost of a reduction, estimated by computing a few of its tiles."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from .compute import Compute
from .executors import Job
from .passes import Pass, Strips

#: Seconds that are enough to tell the time of a tile.
_ENOUGH = 0.5


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a test.

    Attributes
    ----------
    rows, coordinates
        Of both samples together.
    tiles, tile
        How many tiles there are, and their rows and columns.
    seconds
        How long it will take, if the machine does nothing else than during the probe.
    memory
        Maximum number of bytes in each process, in addition to what is in memory already.
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
                f"At most {self.memory / 1e6:,.0f} MB of memory in each process, in addition to its data.",
                *([] if self.kept else ["The rows do not fit into that: they are read again and again."]),
            ]
        )


def measure(work: Pass) -> Cost:
    """Estimate the cost of a pass by computing some of its tiles with its own executor.

    The first pass over all points is not included, because its cost is negligible in comparison.
    """
    tiling, job = work.tiling, Strips(work.reduction, work.tiling)
    seconds, probe, workers = _time(job, work.compute)
    # Labels take three times as much while they are drawn.
    held = 3 * sum(value.nbytes for value in vars(work.reduction).values() if isinstance(value, Tensor))
    return Cost(
        rows=sum(tiling.sizes),
        coordinates=math.prod(tiling.prepared.samples[0].shape[1:]),
        tiles=_total(job),
        tile=(tiling.height, tiling.width),
        seconds=seconds,
        memory=held + tiling.bytes_needed(workers if work.compute.executor is None else 1),
        kept=tiling.resident,
        workers=workers,
        probe=probe,
    )


def _time(job: Job, compute: Compute) -> tuple[float, int, int]:
    """Estimated duration of a job, the number of tiles computed for the estimate, and the number of workers."""
    tiles, taken = 1, []
    while True:
        beginning = Beginning(job, tiles)
        start = time.perf_counter()
        compute.run(beginning)
        taken.append((beginning.count, time.perf_counter() - start))
        # The first time files are read and workers wake up. That is not what a tile takes.
        if len(taken) > 2 and (taken[-1][1] > _ENOUGH or taken[-1][0] == taken[-2][0]):
            break
        tiles *= 1 if len(taken) == 1 else 4
    (few, least), (many, most) = taken[1], taken[-1]
    each = (most - least) / (many - few) if many > few and most > least else most / many
    return taken[0][1] + _total(job) * each, sum(count for count, _ in taken), beginning.workers


def _total(job: Job) -> int:
    return sum(map(job.size, job.panels(1)))


class Beginning:
    """The first tiles of a job: one strip for each worker."""

    def __init__(self, job: Job, tiles: int) -> None:
        self.job, self.tiles, self.threads = job, tiles, job.threads
        self.count = self.workers = 0

    def allow(self, most: int | None) -> None:
        """Bound the memory of the job."""
        self.job.allow(most)

    def panels(self, workers: int) -> list[range]:
        """One strip for each worker."""
        strips = self.job.panels(1)[-1].stop
        found = [range(k, k + 1) for k in range(min(workers, strips))]
        self.workers = workers
        self.count = sum(min(self.tiles, self.job.size(panel)) for panel in found)
        return found

    def size(self, panel: range) -> int:
        """The tiles that are computed."""
        return min(self.tiles, self.job.size(panel))

    def part(self, panel: range, checkpoint: Callable[[], None], most: int | None = None) -> Any:
        """Compute some tiles of a strip. The result is not used."""
        self.job.part(panel, checkpoint, self.tiles)

    def join(self, left: Any, right: Any) -> Any:
        """Return None: the result is not used."""


def _duration(seconds: float) -> str:
    for unit, name in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.1f} seconds"
