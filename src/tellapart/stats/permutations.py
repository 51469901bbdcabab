"""Permutations of labels: the observed labels among others that are as likely under the null hypothesis.

Every test draws its permutations with `draw_permutations`. Which rows may be exchanged is a `Design`; how many
permutations there are, and how they are enumerated or drawn, is decided here.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputError
from .design import Design, number_combinations
from .pvalues import min_pvalue

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Labels that are drawn together.
_TOGETHER = 2**22
_ANY = Design()


class NothingToExchange(InputError):
    """The design allows only the observed labels."""


@dataclass(frozen=True, eq=False)
class Permutations:
    """Permuted labels of N rows as columns, with the observed labels in a random column.

    Attributes
    ----------
    packed : ndarray of uint8
        Labels 0 … k - 1 of each row; of two samples as packed bits, N · count / 8 bytes.
    count, observed : int
        Number of columns, and the column of the observed labels.
    samples : int
        Number of samples, k.
    sizes : ndarray
        Number of rows of each sample in each permutation: (count, k).
    strata : ndarray of int, optional
        The stratum of each row, from 0 up, within which labels were permuted.
    by_group : bool
        Whether groups were permuted: the number of rows of a sample may then vary.
    distinct : float
        Number of distinct permutations; infinite from 1e15 up.
    alike : int
        Number of those that only rename the samples, so that no symmetric statistic distinguishes them from the
        observed labels.
    complete : bool
        Whether these are all distinct permutations.
    """

    packed: Array
    count: int
    observed: int
    samples: int
    sizes: Array
    strata: Array | None
    by_group: bool
    distinct: float
    alike: int
    complete: bool

    def codes(self, rows: Array | slice = slice(None)) -> Array:
        """Labels of some rows: (rows, count)."""
        if self.samples > 2:
            return self.packed[rows]
        return np.unpackbits(self.packed[rows], axis=1, count=self.count)

    def take(self, order: Array) -> Permutations:
        """The same for the rows in another order."""
        strata = None if self.strata is None else self.strata[order]
        return Permutations(**vars(self) | {"packed": self.packed[order], "strata": strata})

    @property
    def restricted(self) -> bool:
        """Whether the design restricts the permutations."""
        return self.by_group or self.strata is not None

    @property
    def min_pvalue(self) -> float:
        """The smallest attainable p-value of a symmetric statistic."""
        return min_pvalue(self.count, self.distinct, self.alike)


@dataclass(frozen=True, eq=False)
class Exchange:
    """Units (rows, or groups of rows) and the cells within which they may be exchanged.

    Attributes
    ----------
    unit : ndarray of int
        The unit of each row.
    labels : ndarray
        The observed sample of each unit.
    cells : tuple of ndarray
        Units that may be exchanged with each other.
    """

    unit: Array
    labels: Array
    cells: tuple[Array, ...]

    def counts(self, samples: int) -> Array:
        """Number of units of each sample in each cell."""
        return np.stack([np.bincount(self.labels[cell], minlength=samples) for cell in self.cells])


def find_exchange(labels: Array, design: Design = _ANY) -> Exchange:
    """Which units of rows with these labels may be exchanged with which."""
    N, groups, strata = len(labels), design.groups, design.strata
    unit, first, sizes = np.arange(N), np.arange(N), np.ones(N, int)
    if groups is not None:
        _, first, unit, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
        unit = unit.reshape(-1)
    kind = np.zeros(len(first), int) if strata is None else strata[first]
    if design.equal_groups and groups is not None:
        kind = number_combinations(kind, sizes)
    order = np.argsort(kind, kind="stable")
    cells = np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
    return Exchange(unit, labels[first], tuple(cells))


def draw_permutations(
    labels: Array,
    permutations: int,
    rng: np.random.Generator,
    design: Design = _ANY,
    *,
    place_last: bool = False,
) -> Permutations:
    """Draw permutations of the labels, or enumerate all if there are no more than ``permutations + 1``.

    Parameters
    ----------
    labels : ndarray
        The sample of each row, 0 … k - 1.
    permutations : int
        How many to draw, in addition to the observed labels.
    rng : numpy.random.Generator
        Randomness. Its draws are part of what a seed promises.
    design : Design
        Which rows may be exchanged.
    place_last : bool
        Draw the column of the observed labels after the permutations and from a copy of ``rng``. The state of ``rng``
        then depends only on the number of permutations drawn, so that more can be drawn later.

    Raises
    ------
    NothingToExchange
        If the design allows only the observed labels.
    """
    design = design.effective
    strata = None if design.strata is None else np.unique(design.strata, return_inverse=True)[1].reshape(-1)
    exchange = find_exchange(labels, design)
    samples = int(labels.max()) + 1
    distinct, alike = _count(exchange, samples)
    refuse_fixed(distinct, design)
    complete = distinct <= permutations + 1
    count = int(distinct) if complete else permutations + 1
    if complete:
        columns, observed = _all_columns(exchange, samples, count, rng)
        parts: Iterator[Array] = iter([columns])
    elif place_last:
        columns = _draw_units(_alike_cells(exchange), len(exchange.labels), samples, permutations, rng)
        observed = draw_place(count, rng)
        columns = np.insert(columns, observed, exchange.labels, axis=1)
        parts = iter([columns])
    else:
        observed = int(rng.integers(count))
        parts = _drawn_columns(exchange, samples, count, rng)
    chunks, sizes, start = [], np.empty((count, samples)), 0
    rows_of_unit = np.bincount(exchange.unit)
    for part in parts:
        width = part.shape[1]
        if start <= observed < start + width:
            part[:, observed - start] = exchange.labels
        for k in range(samples):
            sizes[start : start + width, k] = _column_sums(part == k, rows_of_unit)
        rows = part if design.groups is None else part[exchange.unit]
        chunks.append(np.packbits(rows, axis=1) if samples == 2 else rows)
        start += width
    return Permutations(
        packed=np.concatenate(chunks, axis=1) if len(chunks) > 1 else chunks[0],
        count=count,
        observed=observed,
        samples=samples,
        sizes=sizes,
        strata=strata,
        by_group=design.groups is not None,
        distinct=distinct,
        alike=alike,
        complete=complete,
    )


def refuse_fixed(distinct: float, design: Design) -> None:
    """Raise `NothingToExchange` if the observed labels are the only permutation."""
    if distinct == 1:
        groups = design.groups is not None
        what = "no group may change places with another" if groups else "no stratum has rows of two samples"
        raise NothingToExchange("nothing-to-exchange", f"There is nothing to exchange: {what}.")


def draw_place(count: int, rng: np.random.Generator) -> int:
    """A random column for the observed labels, from a copy of the generator: later draws do not depend on it."""
    return int(copy.deepcopy(rng).integers(count))


def draw_subsets(rng: np.random.Generator, N: int, m: int, count: int) -> Array:
    """Independent uniform subsets of m out of N, as the columns of a matrix of 0 and 1.

    Random bits are flipped at random places until there are m ones. This is symmetric in the places, so all subsets of
    a size are equally likely. It is far faster than sorting.
    """
    if 2 * m == N:
        bits = np.unpackbits(np.frombuffer(rng.bytes(-(-N * count // 8)), np.uint8), count=N * count)
    else:
        bits = (np.frombuffer(rng.bytes(N * count), np.uint8) < round(256 * m / N)).view(np.uint8)
    surplus = np.add.reduce(bits.reshape(N, count), 0, dtype=np.int32).astype(np.int64) - m
    visits = np.arange(63, dtype=np.uint8)[:, None]
    while (columns := np.flatnonzero(surplus)).size:
        excess = surplus[columns]
        places = rng.integers(N, size=(len(visits), columns.size)) * count + columns
        before = bits[places]
        # A place that is visited twice counts once: the number of the first visit is written last.
        bits[places[::-1]] = (before | visits << 1)[::-1]
        flip = (bits[places] >> 1 == visits) & (before == (excess > 0))
        flip &= np.cumsum(flip, axis=0, dtype=np.int16) <= np.abs(excess)
        bits[places] = before
        bits[places[flip]] ^= 1
        surplus[columns] = excess - np.sign(excess) * flip.sum(0)
    return bits.reshape(N, count)


def _column_sums(which: Array, weights: Array) -> Array:
    alone = bool((weights == 1).all())
    found: Array = np.count_nonzero(which, axis=0) if alone else (which * weights[:, None]).sum(0)
    return found


def count_permutations(labels: Array, design: Design = _ANY) -> tuple[float, int]:
    """Number of distinct permutations of labels, and of those that only rename the samples.

    >>> count_permutations(np.array([0, 0, 1, 1]))
    (6.0, 2)
    """
    return _count(find_exchange(labels, design), int(labels.max()) + 1)


def _count(exchange: Exchange, samples: int) -> tuple[float, int]:
    counts = exchange.counts(samples)
    return _count_distinct(counts), _count_alike(counts)


def _count_distinct(counts: Array) -> float:
    """Number of permutations: a product of multinomial coefficients, or infinity from 1e15 up."""
    cells = counts.tolist()
    # The coefficients of many rows have many digits, so their logarithms are computed first.
    logs = sum(math.lgamma(sum(cell) + 1) - sum(math.lgamma(part + 1) for part in cell) for cell in cells)
    if logs > math.log(1e15):
        return math.inf
    exact = 1
    for cell in cells:
        total = sum(cell)
        for part in cell:
            exact *= math.comb(total, part)
            total -= part
    return float(exact)


def _count_alike(counts: Array) -> int:
    """Number of ways to rename the samples that keep the number of units of each sample in every cell."""
    samples = counts.shape[1]
    if samples > 6:
        return 1
    return sum(bool((counts[:, list(order)] == counts).all()) for order in itertools.permutations(range(samples)))


def _drawn_columns(exchange: Exchange, samples: int, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Labels of units in ``count`` permutations, a multiple of eight columns at a time."""
    units = len(exchange.labels)
    width = min(8 * max(1, _TOGETHER // 8 // units), -(-count // 8) * 8)
    alike = _alike_cells(exchange)
    for start in range(0, count, width):
        yield _draw_units(alike, units, samples, min(width, count - start), rng)


def _draw_units(
    alike: list[tuple[Array, Array]], units: int, samples: int, columns: int, rng: np.random.Generator
) -> Array:
    """Labels of all units: (units, columns)."""
    found = np.empty((units, columns), np.uint8)
    for members, template in alike:
        found[members.reshape(-1)] = _draw_cells(members, template, samples, columns, rng)
    return found


def _alike_cells(exchange: Exchange) -> list[tuple[Array, Array]]:
    """Cells with the same number of units of each sample: their units (cells, units), and their sorted labels."""
    found: dict[tuple[int, ...], list[Array]] = {}
    for cell in exchange.cells:
        found.setdefault(tuple(np.sort(exchange.labels[cell]).tolist()), []).append(cell)
    return [(np.stack(cells), np.array(template, np.uint8)) for template, cells in found.items()]


def _draw_cells(members: Array, template: Array, samples: int, columns: int, rng: np.random.Generator) -> Array:
    """Labels of the units of cells with the same numbers of units: (cells · units, columns)."""
    cells, units = members.shape
    if template[0] == template[-1]:
        return np.broadcast_to(template[0], (cells * units, columns))
    if samples == 2 and (units > 16 or cells <= 4):
        ones = int(template.sum())
        return np.concatenate([draw_subsets(rng, units, ones, columns) for _ in range(cells)])
    if cells == 1:
        return rng.permuted(np.repeat(template[:, None], columns, axis=1), axis=0)
    if units == 2:
        first = rng.integers(0, 2, (cells, columns), np.uint8)
        places = np.stack([first, 1 - first], axis=1)
    else:
        # The order of random keys is a random order.
        places = rng.random((cells, units, columns)).argsort(axis=1)
    found: Array = template[places].reshape(cells * units, columns)
    return found


def _all_columns(exchange: Exchange, samples: int, count: int, rng: np.random.Generator) -> tuple[Array, int]:
    """All permutations in random order, and the column of the observed labels."""
    found = np.empty((len(exchange.labels), count), np.uint8)
    choices = [list(_arrangements(np.bincount(exchange.labels[c], minlength=samples).tolist())) for c in exchange.cells]
    order = rng.permutation(count)
    for column, chosen in zip(order, itertools.product(*choices), strict=True):
        for cell, labels in zip(exchange.cells, chosen, strict=True):
            found[cell, column] = labels
    return found, int(np.flatnonzero((found == exchange.labels[:, None]).all(0))[0])


def _arrangements(counts: list[int]) -> Iterator[tuple[int, ...]]:
    """All sequences with these numbers of 0s, 1s, …

    >>> list(_arrangements([1, 2]))
    [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    found = [label for label, count in enumerate(counts) for _ in range(count)]
    while True:
        yield tuple(found)
        # The next sequence in lexicographic order.
        place = next((k for k in range(len(found) - 2, -1, -1) if found[k] < found[k + 1]), None)
        if place is None:
            return
        larger = next(k for k in range(len(found) - 1, place, -1) if found[k] > found[place])
        found[place], found[larger] = found[larger], found[place]
        found[place + 1 :] = found[:place:-1]
