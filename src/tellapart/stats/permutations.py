"""Permutations: the observed one among others that were as likely, if there is no difference.

Every test takes its permutations from here: `draw_permutations` packs them for forms in features, `draw_columns` leaves
them as a matrix for nulls. What may be exchanged, how many labellings there are, and how they are listed or drawn is
decided once.
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
from .pvalues import min_pvalue

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Labels that are drawn together.
_TOGETHER = 2**22


class NothingToExchange(InputError):
    """Only the observed labelling is allowed."""


@dataclass(frozen=True, eq=False)
class Permutations:
    """Permutations of N rows as columns, the observed one at a place that was drawn uniformly.

    Attributes
    ----------
    packed
        Labels 0 … k - 1 of each row; of two samples as packed bits, N · count / 8 bytes.
    count, observed
        How many labellings there are, and the column of the observed one.
    samples
        How many samples, k.
    sizes
        Rows of each sample in each labelling: (count, k).
    strata
        The stratum of each row, from 0 up, within which labels were exchanged.
    by_group
        Whether whole groups were exchanged: then the rows of a sample vary.
    distinct, alike
        How many different labellings there are, and how many of them no form can tell from the observed one, because
        only the names of the samples are exchanged.
    complete
        Whether these are all that there are.
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

    def codes(self, rows: Array | slice) -> Array:
        """Labels of some rows, one column for each labelling."""
        if self.samples > 2:
            return self.packed[rows]
        return np.unpackbits(self.packed[rows], axis=1, count=self.count)

    def take(self, order: Array) -> Permutations:
        """The same for the rows in another order."""
        strata = None if self.strata is None else self.strata[order]
        return Permutations(**vars(self) | {"packed": self.packed[order], "strata": strata})

    @property
    def restricted(self) -> bool:
        """Whether only some exchanges were allowed."""
        return self.by_group or self.strata is not None

    @property
    def floor(self) -> float:
        """The smallest p-value there can be."""
        return min_pvalue(self.count, self.distinct, self.alike)


@dataclass(frozen=True, eq=False)
class Exchange:
    """What may be exchanged: units (rows, or groups of them) within cells of units that are exchangeable.

    Attributes
    ----------
    unit
        For each row its unit.
    labels
        For each unit its observed sample.
    cells
        Lists of units that may be exchanged with each other.
    """

    unit: Array
    labels: Array
    cells: tuple[Array, ...]

    def counts(self, samples: int) -> Array:
        """Units of each sample in each cell."""
        return np.stack([np.bincount(self.labels[cell], minlength=samples) for cell in self.cells])


def find_exchange(
    labels: Array, groups: Array | None = None, strata: Array | None = None, equal_groups: bool = False
) -> Exchange:
    """Which units may be exchanged with which."""
    N = len(labels)
    unit, first, sizes = np.arange(N), np.arange(N), np.ones(N, int)
    if groups is not None:
        _, first, unit, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
        for name, values in (("sample", labels), ("stratum", strata)):
            odd = np.empty(0) if values is None else np.flatnonzero(values[first][unit] != values)
            if len(odd):
                raise InputError(
                    "group-in-two-parts",
                    f"A group must lie in one {name}, but {groups[odd[0]].item()!r} has rows in two.",
                )
    kind = np.zeros(len(first), int) if strata is None else strata[first]
    if equal_groups and groups is not None:
        kind = np.unique(np.stack([kind, sizes]), axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(kind, kind="stable")
    cells = np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
    return Exchange(unit, labels[first], tuple(cells))


def without_idle(groups: Array | None, strata: Array | None) -> tuple[Array | None, Array | None]:
    """Groups and strata, or None where they restrict nothing: groups of one row each, and one stratum of all rows.

    The permutations are then those without them.

    >>> without_idle(np.arange(4), np.zeros(4))
    (None, None)
    """
    idle_groups = groups is None or len(np.unique(groups)) == len(groups)
    idle_strata = strata is None or (strata == strata[0]).all()
    return None if idle_groups else groups, None if idle_strata else strata


def draw_permutations(
    labels: Array,
    permutations: int,
    rng: np.random.Generator,
    *,
    groups: Array | None = None,
    strata: Array | None = None,
    equal_groups: bool = False,
) -> Permutations:
    """The observed labelling among ``permutations`` drawn ones, or among all where there are no more than that.

    Parameters
    ----------
    labels
        The sample of each row, 0 … k - 1.
    permutations
        How many to draw.
    rng
        Where they come from.
    groups
        Whole groups are exchanged, of whatever size: a labelling may change how many rows a sample has.
    strata
        Labels are exchanged within strata only. Paired samples are strata of two rows.
    equal_groups
        Only groups with the same number of rows are exchanged.
    """
    groups, strata = without_idle(groups, strata)
    strata = None if strata is None else np.unique(strata, return_inverse=True)[1].reshape(-1)
    exchange = find_exchange(labels, groups, strata, equal_groups)
    samples = int(labels.max()) + 1
    distinct, alike = count_permutations(exchange, samples)
    refuse_fixed(distinct, groups)
    complete = distinct <= permutations + 1
    count = int(distinct) if complete else permutations + 1
    if complete:
        columns, observed = _all_columns(exchange, samples, count, rng)
        parts: Iterator[Array] = iter([columns])
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
        rows = part if groups is None else part[exchange.unit]
        chunks.append(np.packbits(rows, axis=1) if samples == 2 else rows)
        start += width
    return Permutations(
        packed=np.concatenate(chunks, axis=1) if len(chunks) > 1 else chunks[0],
        count=count,
        observed=observed,
        samples=samples,
        sizes=sizes,
        strata=strata,
        by_group=groups is not None,
        distinct=distinct,
        alike=alike,
        complete=complete,
    )


def refuse_fixed(distinct: float, groups: Array | None) -> None:
    """Raise `NothingToExchange` if the observed labelling is the only one."""
    if distinct == 1:
        what = "no stratum has rows of two samples" if groups is None else "no group may change places with another"
        raise NothingToExchange("nothing-to-exchange", f"There is nothing to exchange: {what}.")


def draw_columns(exchange: Exchange, permutations: int, rng: np.random.Generator) -> tuple[Array, int]:
    """Labels of the units of two samples in each labelling, (units, labellings), and the column of the observed one.

    All labellings where there are no more than ``permutations + 1``; else the observed one at a random place among
    ``permutations`` drawn ones.
    """
    distinct, _ = count_permutations(exchange, 2)
    if distinct <= permutations + 1:
        return _all_columns(exchange, 2, int(distinct), rng)
    drawn = _draw_units(_alike_cells(exchange), len(exchange.labels), 2, permutations, rng)
    place = draw_place(permutations + 1, rng)
    return np.insert(drawn, place, exchange.labels, axis=1), place


def draw_place(count: int, rng: np.random.Generator) -> int:
    """A random column for the observed labelling, by a copy of the generator: later draws do not depend on it."""
    return int(copy.deepcopy(rng).integers(count))


def draw_subsets(rng: np.random.Generator, N: int, m: int, count: int) -> Array:
    """Independent uniform subsets of m out of N, as the columns of a matrix of 0 and 1.

    Random bits, of which single ones are flipped at random places until there are m ones. Nothing in this favours
    any place over another, so all subsets of a size are equally likely. It is far faster than sorting.
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
        # A place visited twice counts once: the first visit leaves its number there, because it is written last.
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


def count_permutations(exchange: Exchange, samples: int) -> tuple[float, int]:
    """How many labellings there are, and how many of them only rename the samples of the observed one."""
    counts = exchange.counts(samples)
    return _count_distinct(counts), _count_alike(counts)


def _count_distinct(counts: Array) -> float:
    """How many labellings there are: a product of multinomial coefficients, and infinite from 1e15 up."""
    cells = counts.tolist()
    # The coefficients of many rows have many digits: their logarithms say first whether they are needed.
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
    """Ways to rename the samples such that every cell has as many units of each as before."""
    samples = counts.shape[1]
    if samples > 6:
        return 1
    return sum(bool((counts[:, list(order)] == counts).all()) for order in itertools.permutations(range(samples)))


def _drawn_columns(exchange: Exchange, samples: int, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Labels of units for so many labellings, some columns (a multiple of eight) at a time."""
    units = len(exchange.labels)
    width = min(8 * max(1, _TOGETHER // 8 // units), -(-count // 8) * 8)
    alike = _alike_cells(exchange)
    for start in range(0, count, width):
        yield _draw_units(alike, units, samples, min(width, count - start), rng)


def _draw_units(
    alike: list[tuple[Array, Array]], units: int, samples: int, columns: int, rng: np.random.Generator
) -> Array:
    """Labels of all units in so many labellings."""
    found = np.empty((units, columns), np.uint8)
    for members, template in alike:
        found[members.reshape(-1)] = _draw_cells(members, template, samples, columns, rng)
    return found


def _alike_cells(exchange: Exchange) -> list[tuple[Array, Array]]:
    """Cells with the same number of units of each sample: their members (cells, units), and their sorted labels."""
    found: dict[tuple[int, ...], list[Array]] = {}
    for cell in exchange.cells:
        found.setdefault(tuple(np.sort(exchange.labels[cell]).tolist()), []).append(cell)
    return [(np.stack(cells), np.array(template, np.uint8)) for template, cells in found.items()]


def _draw_cells(members: Array, template: Array, samples: int, columns: int, rng: np.random.Generator) -> Array:
    """Labels of the units of cells that are alike: (cells · units, columns)."""
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
    """All labellings, in random order, and the column of the observed one."""
    found = np.empty((len(exchange.labels), count), np.uint8)
    choices = [list(_arrangements(np.bincount(exchange.labels[c], minlength=samples).tolist())) for c in exchange.cells]
    order = rng.permutation(count)
    for column, chosen in zip(order, itertools.product(*choices), strict=True):
        for cell, labels in zip(exchange.cells, chosen, strict=True):
            found[cell, column] = labels
    return found, int(np.flatnonzero((found == exchange.labels[:, None]).all(0))[0])


def _arrangements(counts: list[int]) -> Iterator[tuple[int, ...]]:
    """All sequences with so many 0s, 1s, …

    >>> list(_arrangements([1, 2]))
    [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    found = [label for label, count in enumerate(counts) for _ in range(count)]
    while True:
        yield tuple(found)
        # The next one in the order of the alphabet: the last place that can grow does, and what follows starts again.
        place = next((k for k in range(len(found) - 2, -1, -1) if found[k] < found[k + 1]), None)
        if place is None:
            return
        larger = next(k for k in range(len(found) - 1, place, -1) if found[k] > found[place])
        found[place], found[larger] = found[larger], found[place]
        found[place + 1 :] = found[:place:-1]
