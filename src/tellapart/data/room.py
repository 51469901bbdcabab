"""Reading within the memory there is: refuse before trouble, or draw some of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from .._util.memory import available_memory
from .arrays import Array

Batch = TypeVar("Batch")


def check_room(need: float, label: str, advice: str) -> None:
    """Raise if reading would take more memory than is free."""
    free = available_memory()
    if need > free:
        raise MemoryError(
            f"{label} would take about {size_in_words(need)} of memory, but {size_in_words(free)} are free. {advice}"
        )


def choose(total: int, size: int | None, seed: int) -> Array:
    """Positions of a uniform random subset in increasing order; all of them if there are no more than ``size``.

    >>> choose(3, 5, 0).tolist()
    [0, 1, 2]
    """
    if size is None or total <= size:
        return np.arange(total)
    return np.sort(np.random.default_rng(seed).choice(total, size, replace=False))


def draw(
    batches: Iterable[Batch], size: int, seed: int, take: Callable[[Batch, Array], Batch]
) -> tuple[list[Batch], Array]:
    """A uniform random subset of rows that come in batches of unknown number, and where they stood.

    Every row gets a random key, and those with the smallest keys stay. So the memory is that of one batch and twice the
    rows wanted, and the outcome does not depend on how the rows are batched.
    """
    random = np.random.default_rng(seed)
    pieces: list[tuple[Array, Array, Batch]] = []
    start, held, limit = 0, 0, np.inf
    for batch in batches:
        count = len(batch)  # type: ignore[arg-type]
        keys = random.random(count)
        stay = np.flatnonzero(keys <= limit)
        pieces.append((keys[stay], stay + start, take(batch, stay)))
        start, held = start + count, held + len(stay)
        if held > 2 * size:
            pieces, limit = _cut(pieces, size, take)
            held = size
    if held > size:
        pieces, _ = _cut(pieces, size, take)
    where = [numbers for _, numbers, _ in pieces]
    return [batch for *_, batch in pieces], np.concatenate(where) if where else np.arange(0)


def _cut(
    pieces: list[tuple[Array, Array, Batch]], size: int, take: Callable[[Batch, Array], Batch]
) -> tuple[list[tuple[Array, Array, Batch]], float]:
    limit = float(np.partition(np.concatenate([keys for keys, *_ in pieces]), size - 1)[size - 1])
    cut = []
    for keys, numbers, batch in pieces:
        stay = np.flatnonzero(keys <= limit)
        if len(stay):
            cut.append((keys[stay], numbers[stay], take(batch, stay)))
    return cut, limit


def size_in_words(count: float) -> str:
    """Bytes for a message.

    >>> size_in_words(2.5e9)
    '2.5 GB'
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{int(count):,} bytes"


def check_count(value: Any, name: str) -> int | None:
    """A whole number from 1 up, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number from 1 up, but is {value!r}.")
    return int(value)
