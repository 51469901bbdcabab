"""What a test will cost, before it is begun: its pass over the kernel is prepared, and a few of its tiles computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch

from .._util.rng import RNG, seed_of
from ..data import TensorPoints, take_rows
from ..data.encoding import Standardise
from ..data.torch_rows import as_tensors
from ..engine import Compute, Cost, MemoryLike, computing, measure
from ..kernels import Kernel
from ..learning.splits import Split
from ..learning.starts import named_kernel
from ..stats.nulls import Null, NullLike, Problem, as_null
from .fixed import AUTO_LIMIT, check_permutations, check_precision, choose_kernel
from .learned import take_labels
from .opening import KernelInput, place_labels


def mmd_test_cost(
    X: Any,
    Y: Any,
    kernel: Any = "median",
    null: NullLike = "permutation",
    permutations: int | Literal["auto"] = 999,
    *,
    precision: Literal["single", "double"] = "single",
    standardise: Standardise = "auto",
    keep_columns: Iterable[Any] | bool | None = None,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    cluster: Any = None,
    **reading: Any,
) -> Cost:
    """How many tiles `mmd_test` will make of these samples, how long it will take, and how much memory.

    Takes a second or two: a few tiles are computed, by whoever would compute all of them. ``print`` the result to read
    it. ``permutations="auto"`` counts as the most there can be.

    Parameters
    ----------
    X, Y, kernel, null, permutations, precision, standardise, keep_columns, rng, max_memory, threads, cluster, **reading
        As in `mmd_test`. There is no estimate for ``null="spectral"``, which does not work on tiles.

    Examples
    --------
    >>> import numpy as np
    >>> from tellapart.twosample import mmd_test_cost
    >>> rng = np.random.default_rng(0)
    >>> cost = mmd_test_cost(rng.normal(size=(3000, 4)), rng.normal(size=(3000, 4)), null="binned")
    >>> cost.tiles, cost.tile
    (78, (512, 512))
    """
    chosen, dtype = as_null(null), check_precision(precision)
    check_permutations(permutations, chosen)
    seed = seed_of(rng)
    samples = KernelInput(X, Y, kernel, seed, standardise, keep_columns, max_memory, reading, null=chosen).open()
    chosen = place_labels(chosen, samples)
    x, y = map(as_tensors, samples.points)
    with computing(max_memory, cluster, threads=threads) as compute:
        found = choose_kernel(kernel, x, y, seed)
        return cost_of_test(x, y, found, chosen, permutations, seed, compute, dtype=dtype)


def cost_of_learned_test(
    x: TensorPoints,
    y: TensorPoints,
    kernel: Any,
    splits: Sequence[Split],
    null: Null,
    permutations: int,
    seed: int,
    compute: Compute,
) -> Cost:
    """What the tests of `run_learned_test` will cost. Which kernel is learned, and how well, makes no difference."""
    split = splits[0]
    start = named_kernel(kernel, x[split.train_x[:500]], y[split.train_y[:500]], seed)
    tested = take_rows(x, split.test_x), take_rows(y, split.test_y)
    cost = cost_of_test(*tested, start, take_labels(null, split, len(x), len(y)), permutations, seed, compute)
    return replace(cost, seconds=len(splits) * cost.seconds, tiles=len(splits) * cost.tiles)


@torch.no_grad()
def cost_of_test(
    x: TensorPoints,
    y: TensorPoints,
    kernel: Kernel,
    null: Null,
    permutations: int | Literal["auto"],
    seed: int,
    compute: Compute,
    *,
    dtype: torch.dtype = torch.float32,
) -> Cost:
    """What `run_test` will cost."""
    null = null.checked(len(x), len(y))
    problem = Problem(kernel, x, y, np.random.default_rng(seed), compute, dtype)
    work, _ = null.prepare(problem, AUTO_LIMIT if permutations == "auto" else permutations)
    return measure(work)
