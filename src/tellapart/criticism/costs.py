"""What a comparison will cost, before it is begun."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal

from torch import Tensor

from .._util.errors import InputError
from .._util.rng import RNG, seed_of
from ..engine import Cost
from ..engine.compute import MemoryLike
from ..learning import Criterion
from ..learning.starts import named_kernel
from ..twosample.costs import mmd_test_cost
from ..twosample.fixed import check_level
from .comparing import check_permutations, choose_null, using_threads
from .reading import Missing, Reading, Standardise, prepare


def compare_cost(
    X: Any,
    Y: Any,
    kernel: Any = "ard",
    criterion: Criterion = "t",
    *,
    alpha: float = 0.05,
    train: Any = 0.5,
    swap: bool = False,
    null: Literal["auto", "permutation", "binned"] = "auto",
    permutations: int = 999,
    groups: Any = None,
    strata: Any = None,
    columns: Iterable[Any] | None = None,
    drop: Iterable[Any] | None = None,
    missing: Missing = "error",
    image_shape: tuple[int, ...] | None = None,
    image_size: tuple[int, int] | None = None,
    max_rows: int | None = None,
    features: Callable[[Tensor], Any] | None = None,
    standardise: Standardise = "auto",
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    cluster: Any = None,
) -> Cost:
    """What the test of a comparison will cost. Reading comes before it, learning on top.

    Parameters
    ----------
    X, Y, kernel, criterion, alpha, train, swap, null, permutations, groups, strata, rng
        As in `compare`.
    columns, drop, missing, image_shape, image_size, max_rows, features, standardise
        As in `compare`.
    max_memory, threads, cluster
        As in `compare`.
    """
    check_level(alpha)
    check_permutations(permutations, alpha, swap)
    if isinstance(kernel, str) and kernel == "witness":
        raise InputError("A witness is tested without tiles, in a moment: there is nothing to estimate.")
    seed = seed_of(rng)
    reading = Reading(columns, drop, missing, image_shape, image_size, max_rows, features, seed)
    with using_threads(threads):
        data = prepare(X, Y, reading, train=train, swap=swap, groups=groups, standardise=standardise)
        x, y = data.samples[0].take(data.split.test_x), data.samples[1].take(data.split.test_y)
        # How well a kernel is learned does not matter for the time of the test.
        start = named_kernel("ard" if isinstance(kernel, str) and kernel == "rbf" else kernel, x.values, y.values, seed)
        cost = mmd_test_cost(
            x,
            y,
            start.requires_grad_(False),
            choose_null(null, data, strata),
            permutations,
            max_memory=max_memory,
            cluster=cluster,
            rng=seed,
        )
    return replace(cost, seconds=2 * cost.seconds, tiles=2 * cost.tiles) if swap else cost
