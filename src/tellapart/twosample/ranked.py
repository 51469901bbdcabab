"""What `rank` found: an order, which of it is sure, and where other measures say otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._util.numbers import number, p_sentence, p_text
from .._util.text import shorten
from .._util.view import (
    Axis,
    Block,
    BlockColumn,
    Detail,
    Figure,
    Gallery,
    Headline,
    Matrix,
    MatrixCell,
    Notes,
    Row,
    Series,
    Strip,
    TableBlock,
    Tile,
    View,
    notes,
)
from ..stats.pvalues import check_level, rejects
from .figures import witness_figure
from .result import Result
from .views import evidence_share

if TYPE_CHECKING:
    from ..kernels import Kernel

Array: TypeAlias = "np.ndarray[Any, Any]"

_WITNESS = "The witness function is larger where the reference has more, and smaller where the model has more."
#: AUCs that differ by more than so many standard errors rank models.
_SURE = 3.0


@dataclass(frozen=True, eq=False)
class RankedModel:
    """A model and its distance from the reference.

    Attributes
    ----------
    name, rows, tested
        What it is called, its rows, and how many of them were tested.
    mmd2, error
        Its squared MMD from the reference, unbiased, and the standard error of that.
    auc, auc_error
        How well a classifier tells it from the reference on rows that it has not seen (0.5: not at all), and the
        standard error.
    witness
        The witness function at the rows of the reference and at its own: larger where the reference has more.
    images
        Of images those with the largest witness in the reference (what the model lacks), and with the smallest in the
        model (what it has too much of).
    """

    name: str
    rows: int
    tested: int
    mmd2: float
    error: float
    auc: float | None
    auc_error: float | None
    witness: tuple[Array, Array] = field(repr=False)
    images: tuple[Array, Array] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RelativeTest:
    """Two models: which is closer to the reference, by how much, and how sure that is.

    Attributes
    ----------
    closer, farther
        Their names.
    difference, error, z
        MMD² of the farther less that of the closer, its standard error, and their ratio.
    pvalue_unadjusted, pvalue
        Two-sided, of this pair by itself, and adjusted for all pairs (Holm).
    """

    closer: str
    farther: str
    difference: float
    error: float
    z: float
    pvalue_unadjusted: float
    pvalue: float


@dataclass(frozen=True)
class Scale:
    """How a Gaussian of one bandwidth ranks the models: its order, and the pairs that it is sure of."""

    bandwidth: float
    factor: float
    order: tuple[str, ...]
    sure: tuple[tuple[str, str], ...]


#: Fields of a ranking that `RankResult.of` takes by themselves, or finds.
_BY_LEVEL = ("models", "pairs", "alpha", "scales", "notes", "disagreements")


@dataclass(frozen=True, eq=False)
class RankResult(Result):
    """The outcome of `rank`.

    Attributes
    ----------
    models
        The closest to the reference first.
    pairs
        Each two of them.
    alpha
        The level at which pairs count as told apart, all of them together.
    kernel, learned
        The kernel, and by which name it was learned, if it was.
    given
        Whether the kernel was given; else it was learned, or chosen by the distances of rows of the reference.
    scales
        What Gaussians of single bandwidths say, where kernels disagree.
    rows
        Rows of the reference that were tested.
    notes
        What should be known beside it.
    disagreements
        Those of the notes that say where measures disagree, and what that means.
    seed, seconds
        Give the first as ``rng`` to have the same result again; how long it took.
    """

    json_name = "rank"

    models: tuple[RankedModel, ...]
    pairs: tuple[RelativeTest, ...]
    alpha: float
    kernel: Kernel = field(repr=False)
    learned: str | None
    scales: tuple[Scale, ...] = field(repr=False)
    rows: int
    image_shape: tuple[int, ...] | None
    notes: tuple[str, ...]
    seed: int
    seconds: float
    exact: bool = False
    given: bool = False
    disagreements: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        models: Sequence[RankedModel],
        pairs: Sequence[RelativeTest],
        *,
        alpha: float,
        scales: Sequence[Scale],
        notes: Sequence[str],
        **others: Any,
    ) -> RankResult:
        """Models in order, with notes where measures disagree."""
        ordered = tuple(sorted(models, key=lambda model: model.mmd2))
        sure = [(one.closer, one.farther) for one in pairs if rejects(one.pvalue, alpha)]
        more = (*_contradicting_scales(scales), *_contradicting_auc(ordered, sure))
        others |= {"scales": tuple(scales), "notes": (*notes, *more), "disagreements": more}
        return cls(ordered, tuple(pairs), alpha, **others)

    def at_level(self, alpha: float) -> RankResult:
        """The ranking with another level, at which pairs count as told apart."""
        kept = [note for note in self.notes if note not in self.disagreements]
        others = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _BY_LEVEL}
        return RankResult.of(self.models, self.pairs, alpha=alpha, scales=self.scales, notes=kept, **others)

    @property
    def order(self) -> tuple[str, ...]:
        """The names, the closest to the reference first. `description` says which of it is sure."""
        return tuple(model.name for model in self.models)

    @property
    def beats(self) -> dict[str, tuple[str, ...]]:
        """For each model those that it is closer to the reference than, at level ``alpha`` together."""
        sure = {(one.closer, one.farther) for one in self.pairs if rejects(one.pvalue, self.alpha)}
        return {name: tuple(other for other in self.order if (name, other) in sure) for name in self.order}

    @property
    def description(self) -> str:
        """The ranking in words, with only what is sure."""
        beats = self.beats
        tiers = _tiers(self.order, beats)
        if tiers is None:
            told = [f"{name} beats {_listed(beats[name])}" for name in self.order if beats[name]]
            return f"{'; '.join(told)}. Other pairs cannot be told apart."
        if len(tiers) == 1:
            return f"{_listed(tiers[0])} cannot be told apart."
        if len(self.order) == 2:
            return f"{self.order[0]} is closer to the reference than {self.order[1]}."
        parts = [f"{_listed(tier)} cannot be told apart" for tier in tiers if len(tier) > 1]
        for k, tier in enumerate(tiers[:-1]):
            subject = _listed(tier) if len(tier) < 3 else "these"
            parts.append(f"{subject} {'beats' if len(tier) == 1 else 'beat'} {_listed(tiers[k + 1])}")
        return f"{'; '.join(parts)}."

    @property
    def _decisive_pvalue(self) -> float:
        return min((pair.pvalue for pair in self.pairs), default=1.0)

    def _json_fields(self) -> dict[str, Any]:
        hidden = ("witness", "images")
        return {
            "order": self.order,
            "description": self.description,
            "models": [{k: v for k, v in vars(model).items() if k not in hidden} for model in self.models],
            **{
                name: getattr(self, name) for name in ("pairs", "scales", "alpha", "kernel", "learned", "rows", "exact")
            },
            **{name: getattr(self, name) for name in ("notes", "seed", "seconds")},
        }

    def view(self, alpha: float | None = None) -> View:
        """The result as blocks of plain data, which summaries, cards, pages and plots are rendered from.

        The level is by default that of the ranking.
        """
        if alpha not in (None, self.alpha):
            return self.at_level(check_level(alpha)).view()
        return View.of(
            self._headline(),
            notes(self.disagreements, title="Measures disagree", prefix="Note: "),
            self._models_table(),
            self.distance_figure(),
            self._matrix(),
            self._scales_table(),
            *self._witness_blocks(),
            Notes(
                section="How it was computed",
                link="Method",
                items=(
                    "Relative tests of Bounliphone et al. (2016) with the unbiased variance of the difference of two "
                    "MMD² that share a sample; p-values from a t distribution (asymptotic), two-sided, adjusted by "
                    "Holm's method.",
                    f"Kernel: {shorten(' '.join(repr(self.kernel).split()), 300)}. Seed {self.seed}, "
                    f"{self.seconds:.1f} s.",
                ),
                detail=Detail.PAGE,
            ),
            notes([note for note in self.notes if note not in self.disagreements], prefix="Note: "),
        )

    def _headline(self) -> Headline:
        best, pairs = self.models[0], sum(rejects(pair.pvalue, self.alpha) for pair in self.pairs)
        return Headline(
            title=f"{len(self.models)} models and a reference",
            text=self.description.rstrip("."),
            positive=bool(pairs),
            explanation=f"Closest first: {', '.join(self.order)}.",
            tiles=(
                Tile("closest", best.name, f"MMD² {best.mmd2:.3g} ± {best.error:.1g}"),
                Tile("pairs told apart", f"{pairs} of {len(self.pairs)}", f"at level {self.alpha:g}"),
                Tile("reference", f"{self.rows:,}", "rows tested"),
                self._kernel_tile(),
            ),
        )

    def _kernel_tile(self) -> Tile:
        if self.learned:
            return Tile("kernel", self.learned, "learned on other rows")
        if self.given:
            return Tile("kernel", type(self.kernel).__name__, "given")
        return Tile("kernel", "Gaussians", "bandwidths from the distances of rows of the reference")

    def _models_table(self) -> TableBlock:
        beats = self.beats
        return TableBlock(
            title="MMD² from the reference (AUC of a classifier)",
            section="How far from the reference",
            link="Distances",
            lead="Squared MMD, with two standard errors to either side in the figure. Whether two models can be told "
            "apart does not follow from these errors, because both share the reference: see the table below.",
            columns=(
                BlockColumn("model", "name"),
                BlockColumn("MMD² from the reference", "number"),
                BlockColumn("AUC", "number"),
                BlockColumn("significantly closer than", detail=Detail.CARD),
            ),
            rows=tuple(
                Row.of(
                    model.name,
                    f"{number(model.mmd2)} ± {number(model.error)}",
                    "" if model.auc is None else f"{model.auc:.3f} ± {model.auc_error:.3f}",
                    ", ".join(beats[model.name]),
                )
                for model in self.models
            ),
            total=len(self.models),
        )

    def distance_figure(self) -> Figure:
        """The models by their distance from the reference, with two standard errors to each side."""
        models = self.models[::-1]
        ends = [(model.mmd2 - 2 * model.error, model.mmd2 + 2 * model.error) for model in models]
        low, high = min(0.0, *(end[0] for end in ends)), max(0.0, *(end[1] for end in ends))
        room = 0.04 * ((high - low) or 1.0)
        places = tuple(map(float, range(len(models))))
        hints = tuple(f"{model.name}: {number(model.mmd2)} ± {number(model.error)}" for model in models)
        flat = tuple(end for pair in ends for end in pair)
        return Figure(
            title="Distance from the reference",
            x=Axis("MMD² from the reference", low - room, high + room),
            y=Axis("", -0.7, len(models) - 0.3, names=tuple(model.name for model in models)),
            series=(
                Series("rule", "limit", "", (0.0,)),
                Series("interval", "estimate", "", flat, places),
                Series("dots", "estimate", "", tuple(model.mmd2 for model in models), places, hints),
            ),
            description="MMD² of each model from the reference, with two standard errors",
        )

    def _matrix(self) -> Matrix:
        by_pair = {(pair.closer, pair.farther): pair for pair in self.pairs}

        def cell(name: str, other: str) -> MatrixCell | None:
            pair = by_pair.get((name, other))
            if pair is None:
                return None
            text = f"{name} before {other}: {p_sentence(pair.pvalue)}"
            return MatrixCell(p_text(pair.pvalue), evidence_share(pair.pvalue), rejects(pair.pvalue, self.alpha), text)

        adjusted = ", adjusted for all pairs" if len(self.order) > 2 else ""
        return Matrix(
            title=f"Two at a time (asymptotic p-values{adjusted})",
            section="Two at a time",
            lead=f'P-values of "equally far"{adjusted}. In bold: the model of the row is significantly closer than '
            f"that of the column, at level {self.alpha:g}.",
            corner="closer ↓ farther →",
            names=self.order,
            columns=self.order,
            cells=tuple(tuple(cell(name, other) for other in self.order) for name in self.order),
        )

    def _scales_table(self) -> TableBlock | None:
        if not self.scales:
            return None
        rows = tuple(
            Row.of(f"{s.factor:g}", ", ".join(s.order), "; ".join(f"{a} before {b}" for a, b in s.sure) or "none")
            for s in self.scales
        )
        return TableBlock(
            title="By single bandwidths",
            columns=(
                BlockColumn("bandwidth, median distances", "name"),
                BlockColumn("order"),
                BlockColumn("significant pairs"),
            ),
            rows=rows,
            total=len(rows),
            after="Gaussian kernels from narrow (details) to wide (where the mass is).",
            detail=Detail.PAGE,
        )

    def _witness_blocks(self) -> list[Block]:
        blocks: list[Block] = []
        for k, model in enumerate(self.models):
            auc = "" if model.auc is None else f"AUC {model.auc:.3f} ± {model.auc_error:.3f}"
            names = ("reference", model.name)
            figure = witness_figure(*model.witness, names, title=model.name, caption=auc)
            if not k:
                figure = replace(
                    figure, section="What tells each model from the reference", link="Witness", lead=_WITNESS
                )
            blocks.append(figure)
            if model.images is not None and self.image_shape is not None:
                lacks, extra = (tuple(_as_pictures(part, self.image_shape)) for part in model.images)
                blocks.append(
                    Gallery(
                        title=model.name,
                        strips=(
                            Strip("Rows of the reference that the model lacks", "x", lacks),
                            Strip("Rows of the model that the reference lacks", "y", extra),
                        ),
                    )
                )
        return blocks

    def __repr__(self) -> str:
        return f"RankResult({' < '.join(self.order)}: {self.description})"


def _tiers(order: Sequence[str], beats: dict[str, tuple[str, ...]]) -> list[list[str]] | None:
    """Groups such that each beats all later ones and nobody in it; None where that is not so.

    >>> _tiers("abc", {"a": ("c",), "b": ("c",), "c": ()}), _tiers("abc", {"a": ("c",), "b": (), "c": ()})
    ([['a', 'b'], ['c']], None)
    """
    found: list[list[str]] = []
    for name in order:
        if found and name not in beats[found[-1][-1]]:
            found[-1].append(name)
        else:
            found.append([name])
    place = {name: k for k, tier in enumerate(found) for name in tier}
    fits = all((b in beats[a]) == (place[a] < place[b]) for i, a in enumerate(order) for b in order[i + 1 :])
    return found if fits else None


def _listed(names: Sequence[str]) -> str:
    """Names with commas and an "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _contradicting_scales(scales: Sequence[Scale]) -> list[str]:
    """Pairs that bandwidths are sure of in opposite ways."""
    found = []
    sure = {(pair, scale.factor) for scale in scales for pair in scale.sure}
    for a, b in sorted({pair for pair, _ in sure}):
        first = sorted(factor for pair, factor in sure if pair == (a, b))
        second = sorted(factor for pair, factor in sure if pair == (b, a))
        if second and first[0] < second[0]:
            found.append(
                f"Bandwidths disagree: a narrow kernel ({_times(first)} the median distance) puts {a} before {b}, a "
                f"wide one ({_times(second)}) the reverse. Narrow kernels look at details, wide ones at where the mass "
                "is: choose by what matters to you, or compare embeddings of them."
            )
    return found


def _contradicting_auc(models: Sequence[RankedModel], sure: Sequence[tuple[str, str]]) -> list[str]:
    """Pairs that MMD is sure of, and a classifier too, the other way round."""
    by_name = {model.name: model for model in models}
    found = []
    for closer, farther in sure:
        a, b = by_name[closer], by_name[farther]
        if a.auc is None or b.auc is None or a.auc_error is None or b.auc_error is None:
            continue
        if a.auc - b.auc > _SURE * math.hypot(a.auc_error, b.auc_error, 1e-3):
            found.append(
                f"Measures disagree: by MMD {closer} is closer than {farther}, but a classifier tells {closer} more "
                f"easily from the reference (AUC {a.auc:.3f} and {b.auc:.3f}). An AUC counts how many rows show a "
                "difference however small (blurred edges will do), MMD how much mass lies elsewhere. Look at the "
                "witness of both; where rows are images, compare features of them."
            )
    return found


def _times(factors: Sequence[float]) -> str:
    return _listed([f"{factor:g}×" for factor in factors])


def _as_pictures(rows: Array, shape: tuple[int, ...]) -> Array:
    """Rows of pixels as images of uint8; the largest value of all is white."""
    images = rows.reshape(-1, *shape)
    if len(shape) == 3 and shape[0] in (1, 3) and shape[2] not in (1, 3):
        images = np.moveaxis(images, 1, -1)
    if images.ndim == 4 and images.shape[-1] == 1:
        images = images[..., 0]
    low, high = min(0.0, float(images.min())), max(float(images.max()), 1e-9)
    return np.asarray((255 * (images - low) / (high - low)).round().astype(np.uint8))
