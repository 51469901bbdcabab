"""Learn a kernel on one part of the rows, test and criticise on the other (Sutherland et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from torch import Tensor

from .._util.rng import seed_of
from ..engine import Compute
from ..kernels import Kernel
from ..learning import Criterion, fitting
from ..stats.nulls import Permutation
from ..twosample.learned import run_learned_test
from .comparison import Comparison
from .crossfit import fold_auc
from .notices import without_left_out
from .reading import Standardise, prepare, take_items
from .request import Request
from .weights import find_weights
from .witness import witness_values

#: Steps and patience at the most, when weights are learned again to see how stable they are.
_QUICK = {"steps": 150, "patience": 3}


@dataclass(frozen=True, eq=False)
class LearnedOptions:
    """The options that only learned tests have: see `compare`."""

    criterion: Criterion = "t"
    train_size: Any = 0.5
    cross_fit: bool = False
    null: Literal["auto", "permutation", "binned"] = "auto"
    standardise: Standardise = "auto"
    stability: int = 4
    learning: Mapping[str, Any] | None = None


def compare_learned(request: Request, kernel: Any, options: LearnedOptions) -> Comparison:
    """`compare` by a kernel that is learned."""
    settings = fitting.Settings.from_mapping(options.criterion, options.learning)
    permutations, seed, compute = request.permutations, request.seed, request.compute
    data = prepare(request, options)
    x, y = data.samples
    test = run_learned_test(x.values, y.values, kernel, settings, data.splits, data.null, permutations, seed, compute)
    here = compute.here()
    split = test.split
    learned_from = x.take(split.train_x), y.take(split.train_y)
    tested = x.take(split.test_x), y.take(split.test_y)
    witness = partial(witness_values, test.kernel, learned_from[0].values, learned_from[1].values)
    witness_x, witness_y = (witness(part.values, here) for part in tested)
    weights = find_weights(
        test.kernel,
        learned_from,
        tested,
        _relearner(kernel, settings, here),
        repetitions=options.stability,
        rng=np.random.default_rng([seed, 1]),
        compute=here,
    )
    rows = np.concatenate([split.test_x, split.test_y + len(x.values)])
    groups = data.null.design(len(x), len(y)).groups if isinstance(data.null, Permutation) else None
    units = np.arange(len(rows)) if groups is None else np.unique(groups[rows], return_inverse=True)[1].reshape(-1)
    labels = np.repeat([0, 1], [len(witness_x), len(witness_y)])
    values = np.concatenate([witness_x, witness_y])
    auc, interval = fold_auc(values, labels, np.zeros(len(rows), int), units, [0.0])  # other rows were learned from
    return Comparison(
        test=test,
        alpha=request.alpha,
        x=tested[0],
        y=tested[1],
        names=request.names or data.names,
        witness_x=witness_x,
        witness_y=witness_y,
        auc=auc,
        auc_interval=interval,
        distance=test.kernel.distance(test.statistic),
        distance_interval=None,
        distance_name=test.kernel.distance_name,
        slices=(),
        weights=weights,
        noticed=data.noticed,
        items=take_items(data.items, tested),
        notes=(*data.notes, *test.notes),
        settings=request.settings(
            data.sources,
            (len(x), len(y)),
            test=kernel if isinstance(kernel, str) else type(kernel).__name__,
            criterion=options.criterion,
            train_size=options.train_size if isinstance(options.train_size, float) else None,
            cross_fit=options.cross_fit,
            null=data.null.name,
        ),
        seconds=request.seconds,
        _witness=witness,
        _encoding=data.encoding,
        _source=without_left_out(data.sources[0], data.noticed),
    )


def _relearner(
    kernel: Any, settings: fitting.Settings, compute: Compute
) -> Callable[[Tensor, Tensor, np.random.Generator], Kernel]:
    """What learns the kernel again, in fewer steps."""
    quick = replace(settings, **{name: min(most, getattr(settings, name)) for name, most in _QUICK.items()})

    def relearn(x: Tensor, y: Tensor, rng: np.random.Generator) -> Kernel:
        return fitting.learn_kernel(x, y, kernel, quick, seed_of(rng), compute)[0]

    return relearn
