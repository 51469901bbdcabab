"""Pictures of results with matplotlib: one function each, which draws on ``ax`` and returns it.

``result.plot()`` draws the one that says most about a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.errors import InputError, InputTypeError
from ..criticism import Comparison, Weights
from ..data.arrays import Array
from ..stats.pvalues import rejects
from ..twosample.equivalence import EquivalenceResult
from ..twosample.findings import AutoResult, Finding, Findings, KSampleResult, PairwiseTest
from ..twosample.monitor import Monitor
from ..twosample.planning import Plan
from ..twosample.ranked import RankResult
from ..twosample.results import LearnedTest, SplitResult, TestResult
from .axes import far_arrow, finish, new_axes, plain, say_empty
from .histograms import bin_edges, range_of_null, shared_edges
from .pixels import PixelMap, pixel_map_of
from .words import number, p_text, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "columns",
    "equivalence",
    "k_samples",
    "monitor",
    "null_distribution",
    "pairs",
    "pixel_map",
    "plot",
    "power",
    "ranking",
    "roc",
    "slices",
    "weights",
    "witness",
]

#: The samples, what was observed, and what is only there for comparison; told apart without seeing red from green.
X_COLOUR, Y_COLOUR, ACCENT, GREY = "#0072b2", "#c85200", "#5b4bb7", "#9a9da3"
#: What the effect of each kind of finding is measured in, and its marker.
KINDS = {
    "location": ("difference of means, SD", "o"),
    "scale": ("log ratio of SDs", "s"),
    "shape": ("difference of means, SD", "D"),
    "share": ("difference of shares", "^"),
    "dependence": ("difference of correlations", "o"),
}
#: Batches that are named on an axis.
_NAMED = 6


def plot(result: Any, *, ax: Axes | None = None, **options: Any) -> Axes:
    """The picture that says most about a result.

    Tests: the null distribution. Automatic tests, findings and comparisons: columns with their effects, or for images a
    map of pixels. Several samples: each two of them.
    """
    for kind, draw in _PICTURES:
        if isinstance(result, kind):
            return draw(result, ax=ax, **options)
    raise InputTypeError(f"There is no picture of {type(result).__name__}.")


def null_distribution(result: Any, *, alpha: float = 0.05, bins: int | None = None, ax: Axes | None = None) -> Axes:
    """The statistic against its values for other labellings: could it be chance?

    Parameters
    ----------
    result
        Any test, or a comparison.
    alpha
        The level at which the threshold is drawn.
    bins
        How many; by default by the number of draws.
    ax
        Where to draw; by default a new figure.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> result = ta.mmd_test(np.zeros((20, 2)), np.ones((20, 2)), rng=0)
    >>> ta.plots.null_distribution(result).get_xlabel()
    'MMD²'
    """
    ax = new_axes(ax)
    test = result.test if isinstance(result, (Comparison, SplitResult)) else result
    halves = len(test.halves) if isinstance(test, LearnedTest) else 1
    one = test.leading.test if isinstance(test, LearnedTest) else test
    draws = np.asarray(one.null_distribution, float)
    ax.hist(draws, bins=bins or bin_edges(draws).tolist(), color=GREY, alpha=0.75, label="other labellings")
    threshold = one.threshold(alpha / halves)
    if math.isfinite(threshold):
        ax.axvline(threshold, color="0.45", ls="--", lw=1.2, label=f"threshold at level {alpha / halves:g}")
    low, high, beyond = range_of_null(draws, threshold, one.statistic)
    p = f"p {_equals(test.pvalue, halves * one.pvalue_floor)}"
    if beyond:
        ax.set_xlim(low, high)
        far_arrow(ax, ACCENT, f"observed {number(one.statistic)}, far beyond, {p}", one.statistic < low)
    else:
        ax.axvline(one.statistic, color=ACCENT, lw=2, label=f"observed, {p}")
    ax.set_xlabel(one.statistic_name)
    ax.set_ylabel("labellings")
    return finish(ax, legend=True)


def columns(result: Any, *, alpha: float = 0.05, count: int = 20, ax: Axes | None = None) -> Axes:
    """The columns that differ most: their effects, with intervals where there are any.

    Filled marks are columns that differ, all of them together at level ``alpha``.

    Parameters
    ----------
    result
        A `TwoSampleResult`, `KSampleResult`, `Comparison`, or its `Findings`.
    alpha
        The level at which columns are named.
    count
        How many to draw.
    ax
        Where to draw; by default a new figure.
    """
    return _forest(_columns_of(result), alpha, count, ax, _may_name(result, alpha), "columns")


def pairs(result: Any, *, alpha: float = 0.05, count: int = 20, ax: Axes | None = None) -> Axes:
    """The pairs of columns whose dependence differs most; as `columns`."""
    found = result if isinstance(result, Findings) else result.pairs
    return _forest(found, alpha, count, ax, _may_name(result, alpha), "pairs of columns")


def witness(comparison: Comparison, *, bins: int | None = None, ax: Axes | None = None) -> Axes:
    """The witness function in both samples: how far apart are they?"""
    ax = new_axes(ax)
    of_x, of_y = _witness_values(comparison)
    edges = shared_edges(of_x, of_y) if bins is None else np.histogram_bin_edges(np.concatenate([of_x, of_y]), bins)
    for values, colour, name in zip((of_x, of_y), (X_COLOUR, Y_COLOUR), comparison.names, strict=True):
        heights = 100 * np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values)
        ax.stairs(heights, edges, fill=True, color=colour, alpha=0.3)
        ax.stairs(heights, edges, color=colour, label=plain(name))
        ax.axvline(values.mean(), color=colour, ls="--", lw=1.2)
    ax.set_xlabel("witness function")
    ax.set_ylabel("rows, %")
    return finish(ax, legend=True)


def roc(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """How well the witness function tells the samples apart: the ROC curve, whose area is the AUC."""
    ax = new_axes(ax, square=True)
    of_x, of_y = _witness_values(comparison)
    cuts = np.unique(np.concatenate([of_x, of_y]))[::-1]
    if len(cuts) > 2000:
        cuts = cuts[np.linspace(0, len(cuts) - 1, 2000).astype(int)]
    hits, alarms = (1 - np.searchsorted(np.sort(values), cuts, "left") / len(values) for values in (of_x, of_y))
    ax.plot([0, 1], [0, 1], color=GREY, ls="--", lw=1)
    ax.plot([0, *alarms, 1], [0, *hits, 1], color=ACCENT, lw=2, label=_auc_text(comparison))
    ax.set_xlabel(f"share of {plain(comparison.names[1])} above the cut")
    ax.set_ylabel(f"share of {plain(comparison.names[0])} above the cut")
    ax.set_aspect("equal")
    return finish(ax, legend=True)


def pixel_map(result: Any, *, alpha: float = 0.05, ax: Axes | None = None) -> Axes:
    """Images: how each pixel differs. Pixels that do not differ, all of them together at level ``alpha``, are faint."""
    found = _pixels(result, alpha)
    if found is None:
        raise InputError("A map of pixels is of images, but these findings are not about pixels.")
    second = "the second" if isinstance(result, Findings) else plain(result.names[1])
    ax = new_axes(ax, square=True)
    largest = float(np.nanmax(np.abs(found.effects))) or 1.0
    shades = np.where(found.named, 1.0, 0.15)
    drawn = ax.imshow(found.effects, cmap="PuOr_r", vmin=-largest, vmax=largest, alpha=shades, interpolation="nearest")
    ax.figure.colorbar(drawn, ax=ax, label=f"brighter in {second}, SD", fraction=0.046, pad=0.04)
    ax.set_title(f"{int(found.named.sum()):,} of {found.named.size:,} pixels differ", fontsize="medium")
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def slices(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Kinds of rows that one sample has more of: their shares in both."""
    found = comparison.slices
    ax = new_axes(ax, height=max(1.6, 0.7 * len(found) + 0.9))
    if not found:
        return say_empty(ax, "no slices")
    places = np.arange(len(found))[::-1]
    for offset, shares, colour, name in (
        (0.19, [100 * one.share_x for one in found], X_COLOUR, comparison.names[0]),
        (-0.19, [100 * one.share_y for one in found], Y_COLOUR, comparison.names[1]),
    ):
        ax.barh(places + offset, shares, height=0.36, color=colour, label=plain(name))
    ax.set_yticks(places, [f"{plain(one.text)}\np = {p_text(one.pvalue)}" for one in found])
    ax.set_xlabel("rows, %")
    return finish(ax, legend=True)


def k_samples(result: KSampleResult, *, ax: Axes | None = None) -> Axes:
    """Several samples: the adjusted p-value of each two of them."""
    names = list(result.names)
    size = len(names)
    ax = new_axes(ax, square=True)
    table = np.full((size, size), np.nan)
    for one in result.pairwise:
        i, j = (names.index(name) for name in one.names)
        table[i, j] = table[j, i] = one.pvalue
    shade = np.ma.masked_invalid(-np.log10(table))
    drawn = ax.imshow(shade, cmap="Purples", vmin=0, vmax=max(3.0, float(shade.max() or 0)))
    for i, j in np.ndindex(size, size):
        if np.isfinite(table[i, j]):
            dark = shade[i, j] > 0.6 * drawn.get_clim()[1]
            ax.text(j, i, p_text(table[i, j]), ha="center", va="center", color="white" if dark else "black")
    ax.set_xticks(range(size), [plain(name) for name in names], rotation=45 if size > 4 else 0)
    ax.set_yticks(range(size), [plain(name) for name in names])
    ax.set_title("p-values, two samples at a time", fontsize="medium")
    ax.spines[:].set_visible(False)
    return ax


def weights(result: Comparison | Weights, *, count: int = 20, ax: Axes | None = None) -> Axes:
    """The weights that a kernel learned: an image for pixels, else bars."""
    found = result if isinstance(result, Weights) else result.weights
    if found is None:
        raise InputError("This comparison learned no weights.", "Ask for them with {test}.", test="ard")
    if found.image_shape is not None:
        ax = new_axes(ax, square=True)
        height, width = found.image_shape[:2]
        drawn = ax.imshow(np.asarray(found.values, float).reshape(height, width, -1).sum(-1), cmap="magma")
        ax.figure.colorbar(drawn, ax=ax, label="weight", fraction=0.046, pad=0.04)
        ax.set_xticks([])
        ax.set_yticks([])
        return ax
    order = np.argsort(-found.values, kind="stable")[:count][::-1]
    ax = new_axes(ax, height=max(1.6, 0.3 * len(order) + 0.9))
    spread = None
    if found.low is not None and found.high is not None:
        spread = np.abs(np.array([found.values - found.low, found.high - found.values])[:, order])
    ax.barh(range(len(order)), found.values[order], xerr=spread, color=ACCENT, alpha=0.75, ecolor="0.3", capsize=2)
    ax.set_yticks(range(len(order)), [plain(found.names[k]) for k in order])
    ax.set_xlabel("weight")
    return finish(ax)


def equivalence(result: EquivalenceResult, *, ax: Axes | None = None) -> Axes:
    """The distance of two samples with its interval, and the margin that it is compared with."""
    ax = new_axes(ax, height=1.8)
    low, high = result.interval
    ax.plot([low, high], [0, 0], color=ACCENT, lw=2, solid_capstyle="butt")
    ax.plot([result.distance], [0], "o", color=ACCENT, label="MMD, 95 % interval")
    ax.axvline(result.margin, color="0.45", ls="--", lw=1.2, label=f"margin, p {_equals(result.pvalue)}")
    ax.set_xlim(0, 1.15 * max(high, result.margin))
    ax.set_ylim(-1, 1)
    ax.set_yticks([])
    ax.set_xlabel("MMD")
    return finish(ax, legend=True)


def power(result: Plan, *, ax: Axes | None = None) -> Axes:
    """How often a study finds the difference, by its rows: as drawn from the pilot, and as foretold."""
    ax = new_axes(ax)
    pilot = result.pilot_rows[0]
    most = 1.5 * (min(result.rows, 100 * pilot) if math.isfinite(result.rows) else pilot)
    rows = np.geomspace(min(result.sizes), max(most, 1.5 * pilot), 100)
    ax.plot(rows, [100 * result.power_at(float(n)) for n in rows], color=ACCENT, label="foretold")
    ax.plot(result.sizes, [100 * rate for rate in result.rates], "o", color=GREY, label="drawn from the pilot")
    ax.axvline(pilot, color="0.6", lw=1, label="the pilot")
    if math.isfinite(result.rows):
        ax.plot([result.rows], [100 * result.power], "D", color=Y_COLOUR, label=f"{math.ceil(result.rows):,} rows")
    ax.set_xscale("log")
    ax.set_ylim(0, 102)
    ax.set_xlabel("rows of the first sample")
    ax.set_ylabel("power, %")
    return finish(ax, legend=True)


def ranking(result: RankResult, *, ax: Axes | None = None) -> Axes:
    """Models by their distance from the reference, with two standard errors to each side."""
    models = result.models[::-1]
    ax = new_axes(ax, height=max(1.6, 0.4 * len(models) + 0.9))
    errors = [2 * model.error for model in models]
    ax.errorbar(
        [model.mmd2 for model in models], range(len(models)), xerr=errors, fmt="o", color=ACCENT, elinewidth=1.6
    )
    ax.axvline(0, color="0.6", lw=1, zorder=0)
    ax.set_yticks(range(len(models)), [plain(model.name) for model in models])
    ax.set_ylim(-0.7, len(models) - 0.3)
    ax.set_xlabel("MMD² from the reference")
    return finish(ax)


def monitor(result: Monitor, *, ax: Axes | None = None) -> Axes:
    """A stream of batches: the capital of the bets and its limit, or with other controls the p-values."""
    ax = new_axes(ax)
    if not result.records:
        return say_empty(ax, "no batches yet")
    betting = result.control == "anytime"
    values = [one.capital if betting else one.pvalue for one in result.records]
    places = [one.number for one in result.records]
    ax.plot(places, values, "-" if betting else "o", color=ACCENT, label="capital" if betting else "p-value")
    if betting:
        ax.axhline(1 / result.alpha, color="0.45", ls="--", lw=1.2, label=f"alarm at {1 / result.alpha:g}")
    alarms = result.alarms
    heights = [one.capital if betting else one.pvalue for one in alarms]
    ax.scatter([one.number for one in alarms], heights, color=Y_COLOUR, zorder=3, label="alarm" if alarms else None)
    ax.set_yscale("log")
    names = short_names([one.name for one in result.records])
    step = -(-len(places) // _NAMED)
    ax.set_xticks(places[::step], [plain(name) for name in names[::step]], fontsize="small")
    ax.set_xlabel("batch")
    return finish(ax, legend=True)


def _forest(found: Findings, alpha: float, count: int, ax: Axes | None, may_name: bool, what: str) -> Axes:
    shown = [one for one in found[:count] if math.isfinite(one.effect)]
    ax = new_axes(ax, height=max(1.6, 0.3 * len(shown) + 1.1))
    if not shown:
        return say_empty(ax, f"no {what}")
    for kind in dict.fromkeys(one.kind for one in shown):
        unit, marker = KINDS.get(kind, ("effect", "o"))
        rows = [(len(shown) - 1 - k, one) for k, one in enumerate(shown) if one.kind == kind]
        named = [may_name and rejects(one.pvalue, alpha) for _, one in rows]
        for (place, one), known in zip(rows, named, strict=True):
            low, high = _interval(one)
            ax.plot([low, high], [place, place], color=ACCENT if known else GREY, lw=1.6, solid_capstyle="butt")
        ax.scatter(
            [one.effect for _, one in rows],
            [place for place, _ in rows],
            marker=marker,
            s=34,
            facecolors=[ACCENT if known else "white" for known in named],
            edgecolors=[ACCENT if known else GREY for known in named],
            zorder=3,
            label=f"{kind}: {unit}",
        )
    ax.axvline(0, color="0.6", lw=1, zorder=0)
    ax.set_yticks(range(len(shown)), [f"{plain(one.name)}  (p {_equals(one.pvalue)})" for one in reversed(shown)])
    ax.set_ylim(-0.7, len(shown) - 0.3)
    kinds = list(dict.fromkeys(KINDS.get(one.kind, ("effect", ""))[0] for one in shown))
    ax.set_xlabel("effect" if len(kinds) > 1 else kinds[0])
    if len(kinds) > 1:
        # Above: below are the numbers and the name of the axis.
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(kinds))
    return finish(ax)


def _findings(result: Any, *, ax: Axes | None, **options: Any) -> Axes:
    found = _columns_of(result)
    if found and found[0].kind == "dependence":
        return pairs(found, ax=ax, **options)
    if not found and isinstance(result, Comparison) and result.weights is not None:
        return weights(result, ax=ax, **options)
    if not found and not isinstance(result, Findings):
        return null_distribution(result, ax=ax, **options)
    return (columns if _pixels(result, 0.05) is None else pixel_map)(result, ax=ax, **options)


def _several(result: KSampleResult, *, ax: Axes | None, **options: Any) -> Axes:
    return (k_samples if result.pairwise else _findings)(result, ax=ax, **options)


def _one_of_several(result: PairwiseTest, *, ax: Axes | None, **options: Any) -> Axes:
    return _findings(result.test, ax=ax, **options)


def _pixels(result: Any, alpha: float) -> PixelMap | None:
    shape = result.x.image_shape if isinstance(result, Comparison) else None
    return pixel_map_of(_columns_of(result), alpha, _may_name(result, alpha), shape)


def _interval(one: Finding) -> tuple[float, float]:
    """The interval of an effect; the effect alone where there is none."""
    interval = one.interval
    return (one.effect, one.effect) if interval is None else (float(interval[0]), float(interval[1]))


def _columns_of(result: Any) -> Findings:
    if isinstance(result, (Findings, Finding)):
        return result if isinstance(result, Findings) else Findings([result])
    found: Findings = result.columns if isinstance(result, Comparison) else result.coordinates
    return found


def _may_name(result: Any, alpha: float) -> bool:
    """Nothing is named where the whole test finds nothing."""
    return True if isinstance(result, (Findings, Finding)) else bool(result.reject(alpha))


def _witness_values(comparison: Comparison) -> tuple[Array, Array]:
    return np.asarray(comparison.witness_x, float), np.asarray(comparison.witness_y, float)


def _auc_text(comparison: Comparison) -> str:
    low, high = comparison.auc_interval
    return f"AUC {comparison.auc:.3f} [{low:.3f}, {high:.3f}]"


def _equals(pvalue: float, floor: float = 0.0) -> str:
    text = p_text(pvalue, floor)
    return text if text.startswith("≤") else f"= {text}"


#: What `plot` draws for each class of results; the first that fits.
_PICTURES: tuple[tuple[type[Any], Callable[..., Axes]], ...] = (
    (KSampleResult, _several),
    (PairwiseTest, _one_of_several),
    (AutoResult, _findings),
    (Findings, _findings),
    (Finding, _findings),
    (Comparison, _findings),
    (Weights, weights),
    (EquivalenceResult, equivalence),
    (Plan, power),
    (RankResult, ranking),
    (Monitor, monitor),
    (TestResult, null_distribution),
    (SplitResult, null_distribution),
    (LearnedTest, null_distribution),
)
