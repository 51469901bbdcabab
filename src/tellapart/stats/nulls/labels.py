"""Random labels of rows: which of them count as the first sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import engine
from ..._util.errors import InputError, InputTypeError
from ...data.labels import check_labels
from ..formulas import mmd2_of_labels
from .base import NullDistribution

Array: TypeAlias = "np.ndarray[Any, Any]"


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


def draw_labels(
    rng: np.random.Generator, m: int, n: int, count: int, groups: Array | None = None, strata: Array | None = None
) -> Array:
    """Random labellings of m + n rows, uniform over those allowed, as the columns of a matrix of 0 and 1.

    Rows of a group have one label; labels are exchanged within strata only, and among groups of one size. So in every
    stratum as many rows are labelled 1 as there are rows of the first sample.
    """
    if groups is None and strata is None:
        return draw_subsets(rng, m + n, m, count)
    _, first, group, sizes = np.unique(
        np.arange(m + n) if groups is None else groups, return_index=True, return_inverse=True, return_counts=True
    )
    labels = np.empty((len(first), count), dtype=np.uint8)
    for members in exchangeable(sizes, None if strata is None else strata[first]):
        labels[members] = draw_subsets(rng, len(members), int((first[members] < m).sum()), count)
    return labels[group]


def exchangeable(sizes: Array, strata: Array | None) -> list[Array]:
    """The positions of groups that may be exchanged with each other: those of one size in one stratum."""
    if strata is None:
        return [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    _, stratum = np.unique(strata, return_inverse=True)
    both, kind = np.unique(np.stack([stratum, sizes]), axis=1, return_inverse=True)
    return [np.flatnonzero(kind.reshape(-1) == k) for k in range(both.shape[1])]


def as_labels(values: Any, name: str) -> Array | None:
    """One label a row of both samples, from one array or a pair of them; ``name`` is "groups" or "strata"."""
    if values is None:
        return None
    if isinstance(values, str):
        raise InputTypeError(
            f"groups and strata are labels, one for each row of X and then of Y, but {values!r} is a text. "
            "two_sample_test also takes the name of a column."
        )
    parts = values if isinstance(values, tuple) and len(values) == 2 else [values]
    for part in parts:
        check_labels(part, name)
    return values if isinstance(values, np.ndarray) else np.concatenate([np.asarray(part) for part in parts])


def check_count(labels: Array | None, rows: int, name: str) -> None:
    """Complain where there is not one label for each row."""
    if labels is not None and labels.shape != (rows,):
        raise InputError(f"{name} must have one label for each of the {rows} rows, but has shape {labels.shape}.")


def check_exchange(m: int, n: int, groups: Array | None, strata: Array | None) -> None:
    """Complain about groups and strata under which rows cannot be relabelled."""
    if groups is None and strata is None:
        return
    if groups is not None:
        shared = np.intersect1d(groups[:m], groups[m:])
        if len(shared):
            raise InputError(f"A group must lie in one sample, but {shared[0].item()!r} has rows in X and in Y.")
    rows = np.arange(m + n) if groups is None else groups
    _, first, group, sizes = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    if groups is not None and strata is not None:
        odd = np.flatnonzero(strata[first][group] != strata)
        if len(odd):
            raise InputError(f"A group must lie in one stratum, but {groups[odd[0]].item()!r} has rows in two.")
    classes = exchangeable(sizes, None if strata is None else strata[first])
    if not any(0 < int((first[members] < m).sum()) < len(members) for members in classes):
        where = "" if strata is None else "in any stratum "
        what = (
            "No stratum has rows of X and of Y"
            if groups is None
            else (f"No group of X {where}has the size of a group of Y")
        )
        raise InputError(f"{what}, so that there is nothing to exchange.")


def with_observed(observed: Array, drawn: Array) -> torch.Tensor:
    """The observed labelling as the first column, and those drawn."""
    return torch.from_numpy(np.concatenate([observed[:, None], drawn], axis=1, dtype=np.uint8, casting="unsafe"))


def of_labels(m: int, n: int) -> Callable[[tuple[torch.Tensor, ...]], NullDistribution]:
    """MMD² of labellings from their quadratic forms, of which the first is the one observed."""

    def finish(results: tuple[torch.Tensor, ...]) -> NullDistribution:
        found = engine.Forms(*results)
        values = mmd2_of_labels(found.forms, found.crosses, found.total[..., None], m, n)
        return NullDistribution(values[..., 0], values[..., 1:])

    return finish
