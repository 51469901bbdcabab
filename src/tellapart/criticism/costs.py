"""What a comparison will cost, before it is begun."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from .._util.errors import InputError
from .._util.rng import RNG, seed_of
from ..data.encoding import Standardise
from ..data.options import Missing, check_options
from ..data.torch_rows import TensorSample
from ..engine import Cost, MemoryLike, computing
from ..learning import Criterion, fitting
from ..stats.pvalues import check_level, check_reach
from ..twosample.costs import cost_of_learned_test
from .learned import prepare
from .options import ComparisonOptions, LearnedOptions

if TYPE_CHECKING:
    from torch import Tensor


def compare_cost(
    X: Any,
    Y: Any,
    test: Any = "auto",
    criterion: Criterion = "t",
    *,
    alpha: float = 0.05,
    train_size: Any = 0.5,
    cross_fit: bool = False,
    null: Literal["auto", "permutation", "binned"] = "auto",
    permutations: int = 999,
    groups: Any = None,
    strata: Any = None,
    equal_groups: bool = False,
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
    """What the learned test of a comparison will cost. Reading comes before it, learning on top.

    The default test has no estimate, because its time is linear in the rows: name a learned one.

    Parameters
    ----------
    X, Y, test, criterion, alpha, train_size, cross_fit, null, permutations, groups, strata, equal_groups, rng
        As in `compare`.
    columns, drop, missing, image_shape, image_size, max_rows, features, standardise
        As in `compare`.
    max_memory, threads, cluster
        As in `compare`.
    """
    check_level(alpha)
    check_reach(permutations, alpha, tests=1 + cross_fit)
    if isinstance(test, str) and test == "auto":
        raise InputError(
            "nothing-to-estimate",
            "The automatic test takes time that is linear in the rows: there is nothing to estimate.",
            "Name a learned test with {test}.",
            test="ard",
        )
    if isinstance(test, str) and test == "witness":
        raise InputError(
            "nothing-to-estimate", "A witness is tested without tiles, in a moment: there is nothing to estimate."
        )
    reading = check_options(
        columns=columns,
        drop=drop,
        missing=missing,
        image_shape=image_shape,
        image_size=image_size,
        max_rows=max_rows,
        features=features,
        rng=seed_of(rng),
        max_memory=max_memory,
    )
    with computing(max_memory, cluster, threads=threads) as compute:
        fitting.LearningSettings.from_mapping(criterion, None)  # complains about a criterion that is not known
        request = ComparisonOptions(X, Y, permutations, groups, strata, reading, compute, equal_groups=equal_groups)
        samples, chosen, splits, _ = prepare(
            request, LearnedOptions(criterion, train_size, cross_fit, null, standardise)
        )
        x, y = (TensorSample.of(sample).values for sample in samples.encoded)
        return cost_of_learned_test(x, y, test, splits, chosen, permutations, reading.seed, compute)
