"""Test and criticise without a choice: every row is tested, and judged by a witness learned from other rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._util.errors import InputError
from ..data import Source, reindex
from ..data.mixed import display_names, mix_sources
from ..data.options import ReadOptions
from ..data.read import check_pair, keep_pairs
from ..data.shared import hash_rows
from ..engine import Compute
from ..stats.forms.distance import measure_distance
from ..stats.forms.features import Layout
from ..twosample.auto import as_kernels, run_two_sample_test
from ..twosample.designs import Design, check_paired
from .comparison import Comparison
from .crossfit import cross_fit
from .folds import find_units
from .notices import find_notices, notice_rows
from .reading import check_items, open_samples, take_items
from .settings import Settings, design_of
from .slicing import can_be_found, find_slices
from .weights import learn_pixel_weights

_WITHOUT_SLICES = "Kinds of rows were not looked for, which needs scikit-learn: pip install 'tellapart[report]'."


@dataclass(frozen=True, eq=False)
class AutomaticOptions:
    """The options of the automatic test: see `compare`."""

    permutations: int
    groups: Any
    strata: Any
    paired: bool
    equal_groups: bool
    kernels: Sequence[Any] | None
    keep: tuple[str, ...] | bool


def compare_automatically(
    X: Any,
    Y: Any,
    options: AutomaticOptions,
    alpha: float,
    names: tuple[str, str] | None,
    items: Any,
    reading: ReadOptions,
    compute: Compute,
    start: float,
) -> Comparison:
    """`compare` with options that are checked; ``start`` is when it began."""
    seed = reading.seed
    opened = open_samples(X, Y, reading, {"groups": options.groups, "strata": options.strata, "items": items})
    known = names or _two(display_names(opened.sources))
    chosen, noticed = find_notices(opened.sources, options.keep, known)
    sources = check_pair(*chosen)
    if check_paired(options.paired):
        sources = keep_pairs(*sources)
    mixed, (x, y), encoding = mix_sources(sources, ("X", "Y"))
    mixed = replace(mixed, names=known)
    groups, strata = (opened.of_rows(kind, sources) for kind in ("groups", "strata"))
    given = {"groups": options.groups, "strata": options.strata}
    design = Design.check(mixed, groups, strata, options.paired, options.equal_groups, given)
    kernels = as_kernels(options.kernels)
    points = reindex(mixed.points, np.arange(len(x) + len(y)))
    hashes = hash_rows(points)
    if (hashes == hashes[0]).all():
        raise InputError("Every row of both samples is the same: there is nothing to compare.")
    test = run_two_sample_test(mixed, design, options.permutations, kernels, seed, compute, start)
    here = compute.here()
    rng = np.random.default_rng([seed, 2])
    units = find_units(hashes, design.units)
    layout = Layout(x.values.shape[1], mixed.categories, mixed.image_shape)
    fit = cross_fit((mixed.points[0], mixed.points[1]), layout, kernels, units, rng, here)
    labels = np.repeat(np.array([0, 1], np.uint8), [len(x), len(y)])
    distance = measure_distance(fit.features.plan, points, labels, design.units, rng, here)
    slices = find_slices(mixed, points, fit, design, options.permutations, rng)
    weights = None
    if mixed.image_shape is not None and test.reject(alpha):
        weights = learn_pixel_weights((x, y), np.random.default_rng([seed, 3]), here)
    left_out = {column for notice in noticed if notice.left_out for column in notice.columns}
    return Comparison(
        test=test,
        alpha=alpha,
        x=x,
        y=y,
        names=known,
        witness_x=fit.values[: len(x)],
        witness_y=fit.values[len(x) :],
        auc=fit.auc,
        auc_interval=fit.auc_interval,
        distance=distance.value,
        distance_interval=distance.interval,
        distance_name="MMD",
        slices=slices,
        weights=weights,
        noticed=(*notice_rows(hashes, len(x), sources, known), *noticed),
        items=take_items(check_items(opened.labels["items"], sources), (x, y)),
        notes=test.notes if can_be_found() else (*test.notes, _WITHOUT_SLICES),
        settings=Settings(
            test="auto",
            null="permutation",
            permutations=options.permutations,
            seed=seed,
            origins=(sources[0].origin or None, sources[1].origin or None),
            rows=(len(x), len(y)),
            kind=sources[0].kind,
            keep=options.keep if isinstance(options.keep, tuple) else (),
            design=design_of(
                groups=options.groups, strata=options.strata, paired=options.paired, equal_groups=options.equal_groups
            ),
            reading=reading,
        ),
        seconds=time.perf_counter() - start,
        _witness=fit,
        _encoding=encoding,
        _source=_for_more(sources[0], left_out),
    )


def _two(names: Sequence[str]) -> tuple[str, str]:
    return names[0], names[1]


def _for_more(source: Source, left_out: set[str]) -> Source:
    """A source whose `like` reads further rows without the columns that were left out."""
    if not left_out:
        return source
    options = source.options
    if options.columns is not None:
        wanted = tuple(name for name in options.columns if name not in left_out)
        return replace(source, options=replace(options, columns=wanted))
    return replace(source, options=replace(options, drop=(*(options.drop or ()), *sorted(left_out))))
