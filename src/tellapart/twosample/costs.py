"""What a test will cost, before it is begun."""

from __future__ import annotations

from typing import Any

from ..engine import Cost, Measured, Memory, Probe, connected
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
