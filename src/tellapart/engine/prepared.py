"""Features of points, computed block by block. All are cached if memory allows, otherwise the most recent ones.

So the memory is bounded whatever the number of points, and a feature has the same bits wherever it is made.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..data import TensorPoints, compact
from ..kernels import Features, Kernel, Plan, take


class StripSpan(NamedTuple):
    """Consecutive points of one sample: their positions in the sample and among the pooled points."""

    sample: int
    local: slice
    pooled: slice


class Prepared:
    """Features of samples that are divided into ``strips``. Safe for concurrent use by several threads.

    A copy that is sent to another process makes its own.
    """

    def __init__(self, kernel: Kernel, samples: Sequence[TensorPoints], strips: Sequence[StripSpan]) -> None:
        self.kernel, self.samples, self.strips = kernel, list(samples), list(strips)
        self.resident, self.room = True, 0
        self._set_up()

    def _set_up(self) -> None:
        self._lock, self._joining = threading.Lock(), threading.Lock()
        self._edges = [strip.pooled.start for strip in self.strips]
        self.forget()

    def forget(self) -> None:
        """Discard the features and use another plan."""
        self._whole: list[Features] = []
        self._kept: OrderedDict[int, Features] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return kept | {"samples": list(map(compact, self.samples))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()

    def strip_features(self, number: int, plan: Plan) -> Features:
        """Features of the rows of a strip, from the cache or computed."""
        with self._lock:
            found = self._kept.get(number)
            if found is not None:
                self._kept.move_to_end(number)
                return found
        rows = self.strips[number]
        made = self.kernel.features(self.samples[rows.sample][rows.local], plan)
        with self._lock:
            self._kept[number] = made
            while not self.resident and len(self._kept) > self.room:
                self._kept.popitem(last=False)
        return made

    def block_features(self, block: StripSpan, plan: Plan) -> Features:
        """Features of the rows of one or several strips."""
        if self.resident:
            return take(self._whole_features(plan)[block.sample], block.local)
        first, last = (bisect_left(self._edges, edge) for edge in (block.pooled.start, block.pooled.stop))
        return concatenate_features([self.strip_features(number, plan) for number in range(first, last)])

    def _whole_features(self, plan: Plan) -> list[Features]:
        """Features of all strips of each sample as one tensor."""
        with self._joining:
            if not self._whole:
                of_sample: list[list[Features]] = [[] for _ in self.samples]
                for number, strip in enumerate(self.strips):
                    of_sample[strip.sample].append(self.strip_features(number, plan))
                self._whole, self._kept = [concatenate_features(parts) for parts in of_sample], OrderedDict()
            return self._whole


def concatenate_features(parts: Sequence[Features]) -> Features:
    """Yield the features of the given blocks."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Tensor):
        return torch.cat(list(parts))
    return tuple(concatenate_features(part) for part in zip(*parts, strict=True))
