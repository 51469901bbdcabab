"""Division of points into blocks and tiles."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

import torch
from torch import Tensor

from .._util import workers
from .._util.errors import InputMemoryError
from .._util.memory import available_memory
from ..data import TensorPoints
from ..kernels import Features, Kernel, Plan, leaves, map_leaves, probe_rows, take
from .compute import Compute
from .prepared import Prepared, StripSpan

#: Rows and columns of a tile on a CPU, where it should stay in a core's cache, and on a device.
TILE, TILE_ON_DEVICE = (512, 512), (4096, 4096)
#: Few points are cut into flat tiles: there is less to compute in vain below the diagonal.
FEW, TILE_OF_FEW = 2048, (256, 1024)
#: Tiles are kept for the second pass if all of them, with what autograd saves, take less than this.
KEEP_BYTES = 2**27
#: Maximum number of strips for which points that are not kept are read and prepared once.
PANEL = 16
#: Seconds of work that are worth a thread: on a machine that does other things too, one that is started for less is
#: waited for longer than it works. (With four processes for each core, two threads were slower than one below 50 ms of
#: work, up to eight times so at 2 ms, and as fast or faster beyond.) The time of an entry, and of an operation of a
#: matrix product, by rule of thumb.
SECONDS_PER_THREAD, SECONDS_PER_ENTRY, SECONDS_PER_PRODUCT = 25e-3, 3e-9, 4e-11


class Tiling:
    """TensorPoints of one or more samples, prepared by a kernel, and their division into tiles."""

    def __init__(
        self,
        kernel: Kernel,
        samples: Sequence[TensorPoints],
        *,
        additive: bool,
        compute: Compute,
        columns: int = 2,
        dtype: torch.dtype | None = None,
    ) -> None:
        self.kernel, self.max_memory = kernel, compute.max_memory
        self.device = samples[0].device
        self.sizes = [len(sample) for sample in samples]
        self.starts = [sum(self.sizes[:k]) for k in range(len(samples))]
        asked = [*kernel.parameters(), *(sample for sample in samples if isinstance(sample, Tensor))]
        self.differentiable = torch.is_grad_enabled() and any(t.requires_grad for t in asked)
        #: Tensors that the result depends on, for autograd.
        self.inputs = [*(s[:] for s in samples), *kernel.parameters()] if self.differentiable else []
        probe = probe_rows(*samples)
        with workers.one_core():
            self.plan = kernel.plan(probe, additive=additive, dtype=dtype)
            with torch.no_grad():
                width = sum(leaf.nbytes for leaf in leaves(kernel.features(probe, self.plan)))
        #: Bytes of a point and of its features, and of what a reduction keeps of a row of a strip.
        self.bytes_per_point = probe[:1].nbytes + width // len(probe)
        self.bytes_per_row = 3 * kernel.members * (columns + 16) * self.plan.dtype.itemsize
        budget = self.max_memory
        self.height, self.width = tile_size(
            self.device, sum(self.sizes), self.plan.dtype.itemsize, self.bytes_per_row, self.bytes_per_point, budget
        )
        self.strips = [
            StripSpan(k, local, slice(before + local.start, before + local.stop))
            for k, (before, size) in enumerate(zip(self.starts, self.sizes, strict=True))
            for local in cut(0, size, self.height)
        ]
        #: Strips whose rows are the columns of one tile.
        self.strips_per_tile = max(1, self.width // self.height)
        entries = sum(self.sizes) ** 2 // 2
        # A tile with what autograd saves of it takes about five times its own size, and its time.
        self.keepable = entries * self.plan.dtype.itemsize * 5 <= min(KEEP_BYTES, budget // 2)
        products = columns + self.bytes_per_point / self.plan.dtype.itemsize
        seconds = entries * kernel.members * (SECONDS_PER_ENTRY + SECONDS_PER_PRODUCT * products)
        #: Threads that have enough to do; on a device, one strip comes after the other.
        self.busy_threads = max(1, int(seconds * (5 if self.differentiable else 1) / SECONDS_PER_THREAD))
        if self.device.type != "cpu":
            self.busy_threads = 1
        #: Features of whole samples, if they require gradients. Others come from `prepared`.
        self.points: list[Tensor] = []
        self.features: list[Features] = []
        if self.differentiable:
            # The graph from points to features is the engine's own, so that the way back is on one core too.
            given = self.inputs[: len(samples)]
            self.points = [points.detach().requires_grad_(points.requires_grad) for points in given]
            with workers.one_core(), torch.enable_grad():
                self.features = self._differentiable_features()
        self.detached = [map_leaves(Tensor.detach, features) for features in self.features]
        self.prepared = Prepared(kernel, samples, self.strips)
        self._set_up(budget)

    def _set_up(self, budget: int) -> None:
        """State that belongs to this process and is not sent to others."""
        self._budget = budget
        self._of_thread = threading.local()
        self.allow(None)

    def allow(self, most: int | None) -> None:
        """Choose the numbers of threads and of kept features for the given memory and ``max_memory``."""
        budget = min(self._budget, most or self._budget)
        of_thread = tile_bytes(
            self.height, self.width, self.plan.dtype.itemsize, self.bytes_per_row, self.bytes_per_point
        )
        self.threads = max(1, min(self.busy_threads, budget // (2 * of_thread)))
        # Put together at the end, they are there twice.
        self.prepared.resident = 2 * sum(self.sizes) * self.bytes_per_point <= budget // 2
        #: Strips that are worked on together where points are read again for each.
        self.panel = max(
            1, min(PANEL, budget // 4 // (self.height * (self.bytes_per_row + self.bytes_per_point) * self.threads))
        )
        self.prepared.room = max(self.panel + 3, budget // 4 // (self.height * self.bytes_per_point))

    @property
    def resident(self) -> bool:
        """Whether all features are kept."""
        return self.prepared.resident

    def bytes_needed(self, threads: int) -> int:
        """Return the maximum memory of the given number of threads, including the kept features."""
        of_thread = tile_bytes(
            self.height, self.width, self.plan.dtype.itemsize, self.bytes_per_row, self.bytes_per_point
        )
        points = 2 * sum(self.sizes) if self.resident else self.prepared.room * self.height
        panel = 0 if self.resident else (self.panel - 1) * self.height * self.bytes_per_row
        return threads * (of_thread + panel) + points * self.bytes_per_point

    def tiles_of(self, strip: int) -> int:
        """Number of tiles in a strip."""
        return len(self.strips) - strip if self.strips_per_tile == 1 else len(self.across(strip))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_budget", "_of_thread")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        # A worker process may have less memory than the process that set the limit.
        self._set_up(min(self.max_memory, available_memory() // 2))

    def replan(self, plan: Plan) -> None:
        """Use another plan from now on."""
        self.plan = plan
        self.prepared.forget()

    def across(self, strip: int) -> list[StripSpan]:
        """Columns of the tiles of a strip, from the diagonal to the end."""
        found = []
        for _, of_sample in groupby(self.strips[strip:], lambda rows: rows.sample):
            blocks = list(of_sample)
            for start in range(0, len(blocks), self.strips_per_tile):
                run = blocks[start : start + self.strips_per_tile]
                local, pooled = (
                    slice(a.start, b.stop) for a, b in ((run[0].local, run[-1].local), (run[0].pooled, run[-1].pooled))
                )
                found.append(StripSpan(run[0].sample, local, pooled))
        return found

    def _differentiable_features(self) -> list[Features]:
        features = [self.kernel.features(points, self.plan) for points in self.points]
        refined = self.plan
        for found in features:
            refined = self.kernel.refine_plan(refined, found)
        if refined is not self.plan:
            self.plan = refined
            features = [self.kernel.features(points, self.plan) for points in self.points]
        return features

    def tiles(self, rows: StripSpan, columns: StripSpan) -> Iterator[Tensor]:
        """Yield the tiles of all members between two blocks. Each is overwritten by the next one of this thread."""
        shape = (rows.local.stop - rows.local.start, columns.local.stop - columns.local.start)
        a, b = map(self._features_of, (rows, columns))
        return self.kernel.tiles(a, b, self.plan, self.scratch("tile", shape))

    def _features_of(self, block: StripSpan) -> Features:
        if self.detached:
            return take(self.detached[block.sample], block.local)
        return self.prepared.block_features(block, self.plan)

    def scratch(self, name: str, shape: tuple[int, int]) -> Tensor:
        """Uninitialized memory of this thread, reused by every call because allocating is slow."""
        memory = getattr(self._of_thread, name, None)
        if memory is None or memory.numel() < math.prod(shape):
            memory = torch.empty(math.prod(shape), dtype=self.plan.dtype, device=self.device)
            setattr(self._of_thread, name, memory)
        return memory[: math.prod(shape)].view(shape)

    def asks_for_gradients(self, rows: StripSpan, columns: StripSpan) -> bool:
        """Whether the tile between two blocks depends on anything that requires a gradient."""
        points = (leaf for block in (rows, columns) for leaf in leaves(self.features[block.sample]))
        return any(tensor.requires_grad for tensor in (*points, *self.kernel.parameters()))

    def differentiable_tile(self, rows: StripSpan, columns: StripSpan) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """A tile with its graph, and the leaves of that graph for rows and for columns."""
        a, b = (
            map_leaves(
                lambda f: f[block.local].detach().requires_grad_(f.requires_grad),  # noqa: B023
                self.features[block.sample],
            )
            for block in (rows, columns)
        )
        with torch.enable_grad():
            tile = self.kernel.tile(a, b, self.plan)
        return tile, leaves(a), leaves(b)


def on_diagonal(rows: StripSpan, columns: StripSpan) -> bool:
    """Whether the tile between two blocks has entries on or below the diagonal of the whole matrix."""
    return bool(columns.pooled.start < rows.pooled.stop)


def strict_upper(tile: Tensor, rows: StripSpan, columns: StripSpan) -> Tensor:
    """Set the entries on or below the diagonal of the whole matrix to 0, in place."""
    if not on_diagonal(rows, columns):
        return tile
    return tile.triu_(rows.pooled.start - columns.pooled.start + 1)


def cut(start: int, stop: int, length: int) -> list[slice]:
    """Divide a range into the fewest nearly equal parts of about ``length``, at multiples of 16.

    Then a block begins at a whole cache line wherever it lies, among others or alone: products have the same bits.
    """
    count = math.ceil((stop - start) / length)
    edges = [start + (stop - start) * k // count // 16 * 16 for k in range(count)] + [stop]
    return [slice(a, b) for a, b in pairwise(edges) if a < b]


def tile_size(
    device: torch.device, points: int, itemsize: int, bytes_per_row: int, bytes_per_point: int, budget: int
) -> tuple[int, int]:
    """Rows and columns of a tile: the standard size, or less if memory is limited.

    The number of threads has no influence: if memory does not suffice for all of them, fewer threads work.
    """
    height, width = TILE_ON_DEVICE if device.type != "cpu" else TILE_OF_FEW if points <= FEW else TILE
    while width > 64 and 2 * tile_bytes(height, width, itemsize, bytes_per_row, bytes_per_point) > budget:
        height, width = max(height // 2, 64), width // 2
    need = tile_bytes(height, width, itemsize, bytes_per_row, bytes_per_point)
    if need > budget:
        raise InputMemoryError(
            "not-enough-memory",
            f"Tiles of {height} × {width} need {need:,} bytes, but {budget:,} are allowed.",
            "Allow more with {max_memory}, or use fewer {permutations}.",
            max_memory=...,
            permutations=...,
        )
    return height, width


def tile_bytes(height: int, width: int, itemsize: int, bytes_per_row: int, bytes_per_point: int) -> int:
    """Memory that a thread needs for a tile and its points."""
    return 6 * height * width * itemsize + height * bytes_per_row + 2 * (height + width) * bytes_per_point
