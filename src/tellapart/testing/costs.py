"""What a test will cost, before it is begun."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..reductions import Cost, Measured, Memory, Probe, connected
from .comparing import compare
from .fixed import AUTO_LIMIT, mmd_test


def mmd_test_cost(
    X: Any,
    Y: Any,
    kernel: Any = "median",
    null: str = "permutation",
    permutations: Any = 999,
    *,
    max_memory: Memory = None,
    cluster: Any = None,
    **options: Any,
) -> Cost:
    """How many tiles `mmd_test` will make of these samples, how long it will take, and how much memory.

    Takes a second or two: a few tiles are computed, by whoever would compute all of them. ``print`` the result to read
    it. ``permutations="auto"`` counts as the most there can be.

    Parameters
    ----------
    X, Y, kernel, null, permutations, max_memory, cluster, **options
        As in `mmd_test`. There is no estimate for ``null="spectral"``, which does not work on tiles.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> cost = ta.mmd_test_cost(rng.normal(size=(3000, 4)), rng.normal(size=(3000, 4)), null="binned")
    >>> cost.tiles, cost.tile
    (78, (512, 512))
    """
    if null == "spectral":
        raise ValueError("null='spectral' does not work on tiles: it stores N² numbers and takes time in N³.")
    if permutations == "auto":
        permutations = AUTO_LIMIT
    with connected(cluster) as executor:
        try:
            mmd_test(X, Y, kernel, null, permutations, max_memory=max_memory, cluster=Probe(executor), **options)  # type: ignore[arg-type]
        except Measured as found:
            return found.cost
    raise AssertionError("A test has been done without a tile.")


def compare_cost(
    X: Any, Y: Any, kernel: Any = "ard", *, swap: bool = False, cluster: Any = None, **options: Any
) -> Cost:
    """The same for the test that `compare` makes. Learning comes on top.

    Parameters
    ----------
    X, Y, kernel, swap, cluster, **options
        As in `compare`.
    """
    if kernel == "witness":
        raise ValueError("A witness is tested without tiles, in a moment: there is nothing to estimate.")
    # Which kernel is learned, and how well, does not matter for the time of the test.
    quick = {"learning": {"steps": 1}, "stability": 0, "progress": False}
    with connected(cluster) as executor:
        try:
            compare(X, Y, "ard" if kernel == "rbf" else kernel, swap=swap, cluster=Probe(executor), **options | quick)
        except Measured as found:
            cost = found.cost
            return replace(cost, seconds=2 * cost.seconds, tiles=2 * cost.tiles) if swap else cost
    raise AssertionError("A test has been done without a tile.")
