"""The values of a column in both samples, as the user knows them, and how often they occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._util.bins import shared_edges, shares_in
from .._util.numbers import date_text, number, percent
from ..data import Sample
from ..data.arrays import Array
from ..data.columns import ColumnValues
from ..twosample.findings import Finding

#: Different numbers up to which each is counted by itself, and texts that are.
_FEW_VALUES, _FEW_TEXTS = 3, 7
#: The label of missing texts.
_MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Counts:
    """How often values occur in both samples.

    Attributes
    ----------
    edges
        Of the bins, for numbers; else None.
    labels
        Of the values, where each is counted by itself; else of the bins.
    shares
        In each sample: of texts among all rows, of numbers among those that are not missing.
    form
        How numbers are written.
    missing
        The share that is missing in each sample, where that is not one of the values.
    means
        Of numbers.
    ends
        The smallest and the largest number, as far as the edges reach.
    beyond
        Whether there are values beyond the edges, which are counted at the ends.
    """

    edges: Array | None
    labels: tuple[str, ...]
    shares: tuple[Array, Array]
    form: Callable[[float], str]
    missing: tuple[float, float]
    means: tuple[float, float] | None = None
    ends: tuple[float, float] = (0.0, 0.0)
    beyond: bool = False

    def sentence(self, names: tuple[str, str]) -> str:
        """Means and missing values in words."""
        sentences = []
        if self.means is not None:
            x, y = (self.form(mean) for mean in self.means)
            sentences.append(f"Mean {x} in {names[0]}, {y} in {names[1]}.")
        if self.beyond:
            sentences.append("Values beyond the ends are counted at the ends.")
        if any(self.missing):
            x, y = (percent(share) for share in self.missing)
            sentences.append(f"Missing: {x} in {names[0]}, {y} in {names[1]}.")
        return " ".join(sentences)


def count_values(x: Sample, y: Sample, name: str, bins: int | None = None) -> Counts | None:
    """How often the values of a column occur in both samples; None where there is no such column."""
    of_x, of_y = x.values_of(name), y.values_of(name)
    if of_x is None or of_y is None:
        return None
    if of_x.levels is not None and of_y.levels is not None:
        return _count_texts(of_x, of_y)
    return _count_numbers(of_x, of_y, bins)


def _count_texts(x: ColumnValues, y: ColumnValues) -> Counts:
    """The texts whose shares of all rows differ most, what is missing among them, and all others together."""
    counted: list[dict[str, float]] = []
    for part in (x, y):
        assert part.levels is not None
        # What is missing has the code -1, and so the last place.
        counts = np.bincount(part.numbers % (len(part.levels) + 1), minlength=len(part.levels) + 1)
        shares = (counts / max(1, len(part.numbers))).tolist()
        counted.append({level: share for level, share in zip((*part.levels, _MISSING), shares, strict=True) if share})
    both = [(t, counted[0].get(t, 0.0), counted[1].get(t, 0.0)) for t in {**counted[0], **counted[1]}]
    both.sort(key=lambda item: (-abs(item[1] - item[2]), item[0]))
    kept, rest = both[:_FEW_TEXTS], both[_FEW_TEXTS:]
    if rest:
        kept.append((f"{len(rest):,} others", sum(item[1] for item in rest), sum(item[2] for item in rest)))
    of_x, of_y = (np.array([item[k] for item in kept], float) for k in (1, 2))
    return Counts(None, tuple(item[0] for item in kept), (of_x, of_y), number, (0.0, 0.0))


def _count_numbers(x: ColumnValues, y: ColumnValues, bins: int | None) -> Counts | None:
    gaps = [float(np.isnan(v.numbers).mean()) for v in (x, y)]
    of_x, of_y = (v.numbers[~np.isnan(v.numbers)] for v in (x, y))
    missing, form = (gaps[0], gaps[1]), date_text if x.is_date else number
    if not len(of_x) or not len(of_y):
        return Counts(None, (), (np.zeros(0), np.zeros(0)), form, missing)
    means = float(of_x.mean()), float(of_y.mean())
    distinct = _few_distinct(of_x, of_y)
    if distinct is not None:
        shares = [np.array([float((v == one).mean()) for one in distinct]) for v in (of_x, of_y)]
        return Counts(None, tuple(map(form, distinct)), (shares[0], shares[1]), form, missing, means)
    edges = shared_edges(of_x, of_y, bins)
    labels = tuple(f"{form(a)} to {form(b)}" for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    shares = [shares_in(v, edges) for v in (of_x, of_y)]
    low, high = float(min(of_x.min(), of_y.min())), float(max(of_x.max(), of_y.max()))
    ends, beyond = (max(low, edges[0]), min(high, edges[-1])), bool(low < edges[0] or high > edges[-1])
    return Counts(edges, labels, (shares[0], shares[1]), form, missing, means, ends, beyond)


def counts_of_finding(one: Finding) -> Counts | None:
    """The shares of a finding, for columns that are not in the user's data, such as indicators of missing values."""
    known = {name: shares for name, shares in one.values.items() if len(shares) == 2}
    if one.kind != "share" or not known:
        return None
    shares = [np.array([pair[k] for pair in known.values()], float) for k in (0, 1)]
    if len(known) == 1:
        name = next(iter(known))
        known, shares = {name: known[name], f"not {name}": (0.0, 0.0)}, [np.append(s, 1 - s) for s in shares]
    return Counts(None, tuple(known), (shares[0], shares[1]), number, (0.0, 0.0))


def _few_distinct(of_x: Array, of_y: Array) -> list[float] | None:
    """The different values, where there are few."""
    found: set[float] = set()
    for values in (of_x, of_y):
        # Most columns have many: a few rows are enough to see that.
        found |= set(np.unique(values[:100]).tolist())
        if len(found) > _FEW_VALUES:
            return None
    found = set(np.unique(of_x).tolist()) | set(np.unique(of_y).tolist())
    return sorted(found) if len(found) <= _FEW_VALUES else None
