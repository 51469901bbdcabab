"""What `rank` found: an order, which of it is sure, and where other measures say otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._util.view import Figure, View
from ..stats.pvalues import check_level, rejects
from .rank_view import distance_figure, rank_view
from .result import Result

if TYPE_CHECKING:
    from ..kernels import Kernel

Array: TypeAlias = "np.ndarray[Any, Any]"

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
        return rank_view(self)

    def distance_figure(self) -> Figure:
        """The models by their distance from the reference, with two standard errors to each side."""
        return distance_figure(self)

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
