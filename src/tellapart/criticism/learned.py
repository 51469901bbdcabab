"""Learn a kernel on one part of the rows, test and criticise on the other (Sutherland et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from .._util.errors import Note
from .._util.rng import seed_of
from ..data import Sample
from ..data.arrays import as_array
from ..data.notices import Notice
from ..data.samples import Samples
from ..data.shared import find_shared_rows
from ..data.torch_rows import TensorSample
from ..engine import Compute
from ..kernels import Kernel
from ..learning import fitting
from ..learning.splits import Split
from ..stats.design import Design
from ..stats.nulls import Binned, Null, Permutation
from ..twosample.learned import check_learned_null, run_learned_test, split_samples
from .comparison import Comparison
from .crossfit import fold_auc
from .kernel_witness import witness_values
from .learned_weights import find_weights
from .notices import notice_shared
from .options import ComparisonOptions, LearnedOptions

#: Rows of each sample at most, unless ``max_rows`` says otherwise: time grows with the square.
ROWS = 100_000
#: Tested rows up to which every row is permuted; beyond, bins of rows, which cost next to nothing.
PERMUTED = 20_000
#: Standard deviations from the mean beyond which it makes no difference how far a row is.
_FARTHEST = 1e15
#: Steps and patience at the most, when weights are learned again to see how stable they are.
_QUICK = {"steps": 150, "patience": 3}


def compare_learned(request: ComparisonOptions, kernel: Any, options: LearnedOptions) -> Comparison:
    """`compare` by a kernel that is learned."""
    settings = fitting.LearningSettings.from_mapping(options.criterion, options.learning)
    permutations, seed, compute = request.permutations, request.seed, request.compute
    samples, null, splits, noticed = prepare(request, options)
    (x, y), items = map(TensorSample.of, samples.encoded), request.items_of(samples)
    assert samples.encoding is not None
    test = run_learned_test(x.values, y.values, kernel, settings, splits, null, permutations, seed, compute)
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
    design = null.design(len(x), len(y)) if isinstance(null, Permutation) else Design()
    groups = design.groups
    units = np.arange(len(rows)) if groups is None else np.unique(groups[rows], return_inverse=True)[1].reshape(-1)
    labels = np.repeat([0, 1], [len(witness_x), len(witness_y)])
    values = np.concatenate([witness_x, witness_y])
    auc, interval = fold_auc(values, labels, np.zeros(len(rows), int), units, [0.0])  # other rows were learned from
    return Comparison(
        test=test,
        alpha=request.alpha,
        x=tested[0],
        y=tested[1],
        names=(samples.names[0], samples.names[1]),
        witness_x=witness_x,
        witness_y=witness_y,
        auc=auc,
        auc_interval=interval,
        distance=test.kernel.distance(test.statistic),
        distance_interval=None,
        distance_name=test.kernel.distance_name,
        slices=(),
        weights=weights,
        noticed=noticed,
        items=None if items is None else (items[0][split.test_x], items[1][split.test_y]),
        notes=(*samples.notes, *test.notes),
        settings=request.settings(
            samples,
            test=kernel if isinstance(kernel, str) else type(kernel).__name__,
            criterion=options.criterion,
            train_size=options.train_size if isinstance(options.train_size, float) else None,
            cross_fit=options.cross_fit,
            null=null.name,
        ),
        seconds=request.seconds,
        _witness=witness,
        _encoding=samples.encoding,
        _source=samples.sources[0],
        _unit=design.permuted_unit,
    )


def prepare(request: ComparisonOptions, how: LearnedOptions) -> tuple[Samples, Null, list[Split], tuple[Notice, ...]]:
    """Two samples, read, matched and encoded for a learned test.

    Returns
    -------
    The samples, the null distribution of the test, which rows to learn from and which to test (twice if both halves
    are tested), and what is seen of the data without a test.
    """
    limit = request.reading.max_rows or ROWS
    opened = request.open(replace(request.reading, max_rows=limit), standardise=how.standardise)
    x, y = opened.sources
    groups, strata = opened.labels["groups"], opened.labels["strata"]
    null = check_learned_null("binned" if how.null == "binned" else "permutation", groups, strata, request.equal_groups)
    null = null.checked(len(x), len(y))
    shared = find_shared_rows(x.content.hash_rows(), y.content.hash_rows())
    splits = split_samples(len(x), len(y), how.train_size, how.cross_fit, null, request.seed, shared)
    tested = len(splits[0].test_x) + len(splits[0].test_y)
    if how.null == "auto" and groups is None and strata is None and tested > PERMUTED:
        null = Binned()
    # If both halves are tested, the encoding is fitted on all rows: it does not look at labels.
    samples = opened.encode(None if how.cross_fit else (splits[0].train_x, splits[0].train_y))
    if how.standardise:
        samples = replace(samples, encoded=tuple(map(_as_single, samples.encoded)))
    drawn = (
        Note("rows-drawn", f"{source.label}: {limit:,} rows were drawn at random.")
        for source in (x, y)
        if source.numbers.max() >= limit
    )
    samples = replace(samples, notes=(*drawn, *samples.notes))
    return samples, null, splits, (*notice_shared(shared), *samples.notices)


def _as_single(sample: Sample) -> Sample:
    """In single precision: numbers around 0 lose nothing in it, and learning takes half the time.

    A tested row may be farther out than single precision reaches, for the scale is that of the rows learned from.
    """
    values = as_array(sample.values, "")
    return replace(sample, values=np.clip(values, -_FARTHEST, _FARTHEST).astype(np.float32))


def _relearner(
    kernel: Any, settings: fitting.LearningSettings, compute: Compute
) -> Callable[[Tensor, Tensor, np.random.Generator], Kernel]:
    """What learns the kernel again, in fewer steps."""
    quick = replace(settings, **{name: min(most, getattr(settings, name)) for name, most in _QUICK.items()})

    def relearn(x: Tensor, y: Tensor, rng: np.random.Generator) -> Kernel:
        return fitting.learn_kernel(x, y, kernel, quick, seed_of(rng), compute)[0]

    return relearn
