"""How points are cut into blocks and tiles."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from .. import _memory
from ..kernels import Kernel, leaves, map_leaves, probe_rows, take

#: Rows and columns of a tile on a CPU, where it should stay in a core's cache, and on a device.
TILE, TILE_ON_DEVICE = (512, 512), (4096, 4096)
#: Few points are cut into flat tiles: there is less to compute in vain below the diagonal.
FEW, TILE_OF_FEW = 2048, (256, 1024)
#: Tiles are kept for the second pass if all of them, with what autograd saves, take less than this.
KEEP_BYTES = 2**27

Memory: TypeAlias = int | float | str | None


class Block(NamedTuple):
    """Some consecutive points of one sample: their place in the sample, and among all pooled points."""

    sample: int
    local: slice
    pooled: slice


class Tiling:
    """Points of one or more samples, prepared by a kernel, and how they are cut into tiles."""

    def __init__(
        self,
        kernel: Kernel,
        samples: Sequence[Tensor],
        *,
        additive: bool,
        max_memory: Memory,
        columns: int = 2,
        dtype: torch.dtype | None = None,
    ) -> None:
        self.kernel = kernel
        self._of_thread = threading.local()
        self.device = samples[0].device
        self.sizes = [len(sample) for sample in samples]
        self.starts = [sum(self.sizes[:k]) for k in range(len(samples))]
        self.plan = kernel.plan(probe_rows(*samples), additive=additive, dtype=dtype)
        self.features = [kernel.features(sample, self.plan) for sample in samples]
        refined = self.plan
        for features in self.features:
            refined = kernel.refined(refined, features)
        if refined is not self.plan:
            self.plan = refined
            self.features = [kernel.features(sample, self.plan) for sample in samples]
        self.detached = [map_leaves(Tensor.detach, features) for features in self.features]
        self.height, self.width = tile_size(
            self.device, sum(self.sizes), self.plan.dtype, columns, kernel.members, max_memory
        )
        self.strips = [block for k in range(len(samples)) for block in self._blocks(k, 0, self.height)]
        # A tile with what autograd saves of it takes about five times its own size.
        needed = sum(self.sizes) ** 2 // 2 * self.plan.dtype.itemsize * 5
        self.keepable = needed <= min(KEEP_BYTES, _memory.budget(max_memory) // 2)

    def _blocks(self, sample: int, start: int, length: int) -> list[Block]:
        before = self.starts[sample]
        return [
            Block(sample, local, slice(before + local.start, before + local.stop))
            for local in cut(start, self.sizes[sample], length)
        ]

    def across(self, rows: Block) -> list[Block]:
        """The columns of a strip's tiles: from the diagonal to the end. The first begins where the rows begin."""
        later = range(rows.sample + 1, len(self.sizes))
        parts = [(rows.sample, rows.local.start), *((sample, 0) for sample in later)]
        return [block for sample, start in parts for block in self._blocks(sample, start, self.width)]

    def tiles(self, rows: Block, columns: Block) -> Iterator[Tensor]:
        """The tiles of all members between two blocks; each is gone when this thread makes the next."""
        a, b = (take(self.detached[block.sample], block.local) for block in (rows, columns))
        shape = (rows.local.stop - rows.local.start, columns.local.stop - columns.local.start)
        return self.kernel.tiles(a, b, self.plan, self.scratch("tile", shape))

    def scratch(self, name: str, shape: tuple[int, int]) -> Tensor:
        """Memory of this thread, uninitialised, the same at every call: fresh memory is slow memory."""
        memory = getattr(self._of_thread, name, None)
        if memory is None or memory.numel() < math.prod(shape):
            memory = torch.empty(math.prod(shape), dtype=self.plan.dtype, device=self.device)
            setattr(self._of_thread, name, memory)
        return memory[: math.prod(shape)].view(shape)

    def asks_for_gradients(self, rows: Block, columns: Block) -> bool:
        """Whether the tile between two blocks depends on anything that asks for a gradient."""
        points = (leaf for block in (rows, columns) for leaf in leaves(self.features[block.sample]))
        return any(tensor.requires_grad for tensor in (*points, *self.kernel.parameters()))

    def differentiable_tile(self, rows: Block, columns: Block) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """A tile with a graph behind it, and the leaves of that graph on the side of the rows and the columns."""
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


def on_diagonal(rows: Block, columns: Block) -> bool:
    """Whether the tile between two blocks has entries on or below the diagonal of the whole matrix."""
    return bool(columns.pooled.start < rows.pooled.stop)


def strict_upper(tile: Tensor, rows: Block, columns: Block) -> Tensor:
    """The tile without what lies on or below the diagonal of the whole matrix, in place."""
    if not on_diagonal(rows, columns):
        return tile
    return tile.triu_(rows.pooled.start - columns.pooled.start + 1)


def cut(start: int, stop: int, length: int) -> list[slice]:
    """Cut a range into as few nearly equal parts not above ``length`` as there can be, at multiples of 8."""
    count = math.ceil((stop - start) / length)
    edges = [start + (stop - start) * k // count // 8 * 8 for k in range(count)] + [stop]
    return [slice(a, b) for a, b in pairwise(edges) if a < b]


def tile_size(
    device: torch.device, points: int, dtype: torch.dtype, columns: int, members: int, max_memory: Memory
) -> tuple[int, int]:
    """Rows and columns of a tile: the standard size, or less where the memory allowed is less."""
    budget = _memory.budget(max_memory)
    on_cpu = device.type == "cpu"
    height, width = TILE_ON_DEVICE if not on_cpu else TILE_OF_FEW if points <= FEW else TILE
    threads = torch.get_num_threads() if on_cpu else 1

    def need() -> int:
        return threads * dtype.itemsize * (6 * height * width + 3 * members * height * (columns + 16))

    while width > 64 and need() > budget:
        height, width = max(height // 2, 64), width // 2
    if need() > budget:
        raise MemoryError(
            f"max_memory is {budget:,} bytes, but tiles of {height} × {width} for {threads} threads take {need():,}. "
            "Allow more, or use fewer threads (torch.set_num_threads) or fewer permutations."
        )
    return height, width
