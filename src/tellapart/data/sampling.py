"""Uniform random subsets of rows, of a known number of them or of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

import numpy as np

from .arrays import Array

Batch = TypeVar("Batch")

#: Random keys of rows, their positions, and the rows.
_Piece: TypeAlias = "tuple[Array, Array, Batch]"


def choose_rows(total: int, size: int | None, seed: int) -> Array:
    """Positions of a uniform random subset in increasing order; all of them if there are no more than ``size``.

    >>> choose_rows(3, 5, 0).tolist()
    [0, 1, 2]
    """
    if size is None or total <= size:
        return np.arange(total)
    return np.sort(np.random.default_rng(seed).choice(total, size, replace=False))


def sample_stream(
    batches: Iterable[Batch],
    size: int,
    seed: int,
    take: Callable[[Batch, Array], Batch],
    check: Callable[[list[Batch]], None] | None = None,
) -> tuple[list[Batch], Array, int]:
    """A uniform random subset of rows that come in batches of unknown number, their positions, and how many there were.

    Every row gets a random key, and those with the smallest keys stay. So the memory is that of one batch and twice the
    rows wanted, and the outcome does not depend on how the rows are batched. Where rows may be of any length, ``check``
    is called with what is held after each batch, to raise where it is too much.
    """
    random = np.random.default_rng(seed)
    pieces: list[_Piece[Batch]] = []
    start, held, limit = 0, 0, np.inf
    for batch in batches:
        count = len(batch)  # type: ignore[arg-type]
        keys = random.random(count)
        stay = np.flatnonzero(keys <= limit)
        pieces.append((keys[stay], stay + start, take(batch, stay)))
        start, held = start + count, held + len(stay)
        if held > 2 * size:
            pieces, limit = _keep_smallest(pieces, size, take)
            held = size
        if check is not None:
            check([batch for *_, batch in pieces])
    if held > size:
        pieces, _ = _keep_smallest(pieces, size, take)
    where = [numbers for _, numbers, _ in pieces]
    return [batch for *_, batch in pieces], np.concatenate(where) if where else np.arange(0), start


def _keep_smallest(
    pieces: list[_Piece[Batch]], size: int, take: Callable[[Batch, Array], Batch]
) -> tuple[list[_Piece[Batch]], float]:
    """The ``size`` rows with the smallest keys, and the largest of these keys."""
    limit = float(np.partition(np.concatenate([keys for keys, *_ in pieces]), size - 1)[size - 1])
    kept = []
    for keys, numbers, batch in pieces:
        stay = np.flatnonzero(keys <= limit)
        if len(stay):
            kept.append((keys[stay], numbers[stay], take(batch, stay)))
    return kept, limit
