"""Find slices: rules of a shallow tree, or clusters, on one half of the rows; count them on the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .._util.errors import InputError
from .._util.extras import extra
from ..data import Points
from ..data.arrays import Array
from ..data.samples import Samples
from ..engine.rows import as_matrix
from ..omnibus.scores import step_down
from ..stats.design import Design
from ..stats.permutations import draw_permutations
from ..twosample.rules import Bound, Condition, as_condition, find_inside, merge_bounds, simplify_bound, without_implied
from .crossfit import CrossFit
from .slices import Slice

#: Columns up to which rules are looked for, with names and without; of more (embeddings), and of images, clusters.
_COLUMNS, _NAMELESS = 200, 20
#: Rows that are searched at the most, and the depth and leaves of the tree.
_SEARCHED, _DEPTH, _LEAVES = 20_000, 3, 8
#: Rows and share of them that a slice has at the least.
_ROWS, _SHARE = 10, 0.02
#: Slices that are counted, how much two of them may overlap, and how many may be about the same columns.
_RULES, _OVERLAP, _ALIKE = 5, 0.6, 2
#: A part of a slice is a slice of its own where its share within it differs by so many standard errors; and each
#: further condition, or that it is most of the rows, must make a rule so much better.
_APART, _SIMPLE = 3.0, 0.9
#: Clusters, the components they are found in, and how much the witness counts beside all of these.
_CLUSTERS, _COMPONENTS, _WITNESS = 20, 20, 0.3
#: Rows of each half that slices need.
_FEWEST = 40
#: The largest value that a tree of scikit-learn takes.
_LARGEST = 3e38
_BLOCK = 4_096


@dataclass(frozen=True, eq=False)
class Candidate:
    """A slice that is to be counted: its rule, and which rows it has."""

    text: str
    conditions: tuple[Condition, ...]
    members: Array


def find_slices(
    mixed: Samples, points: Points, fit: CrossFit, design: Design, permutations: int, rng: np.random.Generator
) -> tuple[Slice, ...]:
    """Kinds of rows that one sample has more of, by their p-values.

    The rows of the searched half say where to look; those of the other half, whose labels have been no part of that,
    are counted. Labels of these are exchanged as in the test, and p-values adjusted for all slices (Westfall–Young).
    """
    m = len(mixed.points[0])
    labels = (np.arange(len(points)) >= m).astype(np.uint8)
    counted = ~fit.searched
    halves = [[np.count_nonzero(part & (labels == k)) for k in (0, 1)] for part in (fit.searched, counted)]
    if min(map(min, halves)) < _FEWEST or not can_be_found():
        return ()
    most = _NAMELESS if all(unit.name.isdecimal() for unit in mixed.variables) else _COLUMNS
    by_rules = mixed.image_shape is None and len(mixed.variables) <= most
    found = _find_rules(mixed, points, fit, labels, rng) if by_rules else _find_clusters(points, fit, rng)
    if not found:
        return ()
    members = np.stack([one.members for one in found], 1)
    pvalues = _count(members[counted], labels[counted], design, counted, permutations, rng)
    if pvalues is None:
        return ()
    slices = []
    for one, p in zip(found, pvalues, strict=True):
        here = [counted & (labels == k) for k in (0, 1)]
        counts = [int(np.count_nonzero(one.members & part)) for part in here]
        shares = [count / int(np.count_nonzero(part)) for count, part in zip(counts, here, strict=True)]
        telling = np.flatnonzero(one.members)
        sign = -1.0 if shares[0] >= shares[1] else 1.0
        telling = telling[np.argsort(sign * fit.values[telling], kind="stable")]
        of_x, of_y = telling[telling < m], telling[telling >= m] - m
        slices.append(Slice(one.text, one.conditions, shares[0], shares[1], counts[0], counts[1], float(p), of_x, of_y))
    slices.sort(key=lambda one: (one.pvalue, -abs(one.share_y - one.share_x)))
    return tuple(slices[:_RULES])


def can_be_found() -> bool:
    """Whether what finds slices is installed."""
    return find_spec("sklearn") is not None


def _count(
    members: Array, labels: Array, design: Design, counted: Array, permutations: int, rng: np.random.Generator
) -> Array | None:
    """Adjusted p-values of differences of shares: exact, given the rows that were searched."""
    try:
        drawn = draw_permutations(labels, permutations, rng, design.take(counted))
    except InputError:
        return None
    of_y = np.zeros((members.shape[1], drawn.count))
    for start in range(0, len(members), _BLOCK):
        rows = slice(start, start + _BLOCK)
        of_y += members[rows].T.astype(np.float32) @ drawn.codes(rows).astype(np.float32)
    total = members.sum(0, dtype=float)[:, None]
    sizes = drawn.sizes.T
    pooled = total / len(members)
    error = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * (1 / sizes[0] + 1 / sizes[1]))
    return step_down(np.abs(of_y / sizes[1] - (total - of_y) / sizes[0]) / error, drawn.observed)


class _Rule(NamedTuple):
    """A rule with what the searched rows say of it: how much the samples differ, and its share."""

    evidence: float
    share: float
    bounds: list[Bound]
    inside: Array

    @property
    def coordinates(self) -> frozenset[int]:
        """What it is about."""
        return frozenset(bound.coordinate for bound in self.bounds)

    def is_news_beside(self, other: _Rule, labels: Array) -> bool:
        """Whether it is about other rows than another rule that is told, or says more of a part of these."""
        return _overlap(self.inside, other.inside) <= _OVERLAP and self.is_more_than(other, labels)

    def is_more_than(self, other: _Rule, labels: Array) -> bool:
        """Whether it has other rows than another rule, or a part of its rows where the shares are others."""
        if (self.inside & ~other.inside).any():
            return True
        here, of_part = labels[other.inside], self.inside[other.inside]
        sizes = [int((here == k).sum()) for k in (0, 1)]
        share = float(of_part.mean())
        if not min(sizes) or not 0 < share < 1:
            return False
        apart = abs(of_part[here == 1].mean() - of_part[here == 0].mean())
        return bool(apart > _APART * math.sqrt(share * (1 - share) * (1 / sizes[0] + 1 / sizes[1])))


def _find_rules(
    mixed: Samples, points: Points, fit: CrossFit, labels: Array, rng: np.random.Generator
) -> list[Candidate]:
    """The nodes of a shallow regression tree of the witness function that differ most between the samples."""
    trees = extra("sklearn.tree", group="report", what="Finding slices")

    rows = np.flatnonzero(fit.searched)
    rows = np.sort(rng.permutation(rows)[:_SEARCHED])
    Z = np.clip(as_matrix(points[rows]).astype(np.float64), -_LARGEST, _LARGEST)
    of_rows = labels[rows]
    least = max(_ROWS, math.ceil(_SHARE * len(rows)))
    seed = int(rng.integers(2**31))
    tree = trees.DecisionTreeRegressor(
        max_depth=_DEPTH, max_leaf_nodes=_LEAVES, min_samples_leaf=least, random_state=seed
    ).fit(Z, fit.search_values[rows])
    gaps = {unit.coordinates[0]: unit.gap for unit in mixed.variables if unit.gap is not None}
    units = {place: unit for unit in mixed.variables for place in unit.coordinates}
    ranked = []
    for bounds in _paths(tree.tree_):
        simple = [simplify_bound(bound, Z) for bound in without_implied(merge_bounds(bounds), units)]
        inside = find_inside(Z, simple, gaps)
        share = float(inside.mean())
        if not least <= inside.sum() <= len(rows) - least:
            continue
        of_x, of_y = inside[of_rows == 0].mean(), inside[of_rows == 1].mean()
        evidence = abs(of_y - of_x) / math.sqrt(share * (1 - share)) * _SIMPLE ** (len(simple) + (share > 0.5))
        ranked.append(_Rule(evidence, share, simple, inside))
    chosen: list[_Rule] = []
    passed: list[_Rule] = []
    # Of a slice and what is outside of it, which say the same, the smaller.
    for rule in sorted(ranked, key=lambda one: (-round(one.evidence, 9), one.share)):
        alike = sum(rule.coordinates == other.coordinates for other in chosen)
        news = all(rule.is_news_beside(other, of_rows) for other in chosen)
        # What is passed over for a better rule is not told by its parts either.
        news = news and all(rule.is_more_than(other, of_rows) for other in passed)
        (chosen if len(chosen) < _RULES and alike < _ALIKE and news else passed).append(rule)
    found = []
    for bounds in (rule.bounds for rule in chosen):
        conditions = tuple(as_condition(bound, units[bound.coordinate]) for bound in bounds)
        found.append(Candidate(" and ".join(map(str, conditions)), conditions, _inside_all(points, bounds, gaps)))
    return found


def _paths(tree: Any) -> list[list[Bound]]:
    """The way to each node but the root."""
    found: list[list[Bound]] = []
    waiting: list[tuple[int, list[Bound]]] = [(0, [])]
    while waiting:
        node, path = waiting.pop()
        if path:
            found.append(path)
        if tree.children_left[node] >= 0:
            coordinate, threshold = int(tree.feature[node]), float(tree.threshold[node])
            waiting.append((tree.children_left[node], [*path, Bound(coordinate, False, threshold)]))
            waiting.append((tree.children_right[node], [*path, Bound(coordinate, True, threshold)]))
    return found


def _inside_all(points: Points, bounds: Sequence[Bound], gaps: dict[int, int]) -> Array:
    """Which of all rows keep to all bounds, some at a time."""
    starts = range(0, len(points), _BLOCK)
    blocks = (as_matrix(points[start : start + _BLOCK]).astype(np.float64) for start in starts)
    return np.concatenate([find_inside(block, bounds, gaps) for block in blocks])


def _overlap(a: Array, b: Array) -> float:
    """How much two slices, or one and what is outside of the other, have in common."""
    return max(float((a & c).sum() / max((a | c).sum(), 1)) for c in (b, ~b))


def _find_clusters(points: Points, fit: CrossFit, rng: np.random.Generator) -> list[Candidate]:
    """Clusters of the searched rows by their leading components and their witness values."""
    clusters = extra("sklearn.cluster", group="report", what="Finding clusters")

    rows = np.flatnonzero(fit.searched)
    rows = np.sort(rng.permutation(rows)[:_SEARCHED])
    plan = fit.features.plan
    searched = as_matrix(points[rows])
    some = plan.scaled(searched)
    centre = some.mean(0)
    few = some[rng.permutation(len(some))[:4_000]] - centre
    axes = _leading_axes(few, min(_COMPONENTS, *few.shape))
    size = math.sqrt(float(np.square((some - centre) @ axes).sum(1).mean())) or 1.0
    spread = float(np.std(fit.search_values[rows])) or 1.0

    def places(block: Array, values: Array) -> Array:
        leading = (plan.scaled(block) - centre) @ axes / size
        return np.concatenate([leading, _WITNESS * values[:, None] / spread], 1)

    learned = places(searched, fit.search_values[rows])
    count = min(_CLUSTERS, len(rows) // (2 * _ROWS))
    with threadpool_limits(1, "openmp"):  # threads of scikit-learn add up parts in an order of their own
        found = clusters.KMeans(count, n_init=3, random_state=int(rng.integers(2**31))).fit(learned)
    centres = found.cluster_centers_
    nearest = np.empty(len(points), int)
    for start in range(0, len(points), _BLOCK):
        block = as_matrix(points[start : start + _BLOCK])
        apart = np.linalg.norm(
            places(block, fit.search_values[start : start + _BLOCK])[:, None] - centres[None], axis=2
        )
        nearest[start : start + _BLOCK] = apart.argmin(1)
    return [Candidate(f"cluster {k + 1}", (), nearest == k) for k in range(count) if (nearest == k).any()]


def _leading_axes(few: Array, count: int) -> Array:
    """The directions in which some centred rows vary most, as columns."""
    narrow = few.shape[1] <= len(few)
    vectors = np.linalg.eigh(few.T @ few if narrow else few @ few.T)[1][:, : -count - 1 : -1]
    axes = vectors if narrow else few.T @ vectors
    found: Array = axes / np.maximum(np.linalg.norm(axes, axis=0), np.float32(1e-30))
    return found
