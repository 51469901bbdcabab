"""Families of forms: each comes to one score for every labelling, and says what carried it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .constants import (
    COLUMN_WEIGHTS,
    COLUMNS_EXPONENT,
    COSINES,
    FLAT,
    KERNELS_EXPONENT,
    PAIR_WEIGHTS,
    PAIRS_EXPONENT,
    PIXEL_WEIGHTS,
)
from .contrasts import Contrasts
from .features import FeaturePlan
from .members import Member
from .ranks import in_order
from .scores import align, chi2_tail, column_scores, power_mean, rank_pvalue, step_down, upper_tail
from .spectral import SpectralForms, spectral_forms

Array: TypeAlias = "np.ndarray[Any, Any]"
#: G and C of each member.
Sums: TypeAlias = Mapping[Member, tuple[Tensor, Tensor]]
#: Positions of a part's numbers in a row, what differs most, and its sign: as in `Part`.
_Described: TypeAlias = tuple[tuple[int, ...], str, int]

_KINDS = ("location", "scale", "shape", "shape")
#: Squares whose average is below this are rounding; that of rows which are exchanged one by one is 1. Sums of float32
#: leave about 1e-11, and one row of n that differs between groups leaves 1 / n.
_NOTHING = 1e-8
#: A column is said to differ in location or scale where that says at least this much of what its shape says.
_PLAIN = 0.3


@dataclass(frozen=True, eq=False)
class Part:
    """A column, or a pair of columns.

    Attributes
    ----------
    columns
        Positions of its numbers in a row.
    kind
        What differs most: ``"location"``, ``"scale"``, ``"shape"``, ``"share"`` (of a category) or ``"dependence"``.
    sign
        1 if there is more of it in the second sample, -1 if less, 0 if that has no meaning.
    pvalue, pvalue_unadjusted
        Adjusted for all parts, and by itself.
    """

    columns: tuple[int, ...]
    kind: str
    sign: int
    pvalue: float
    pvalue_unadjusted: float


class Answer(NamedTuple):
    """The score of a family for every labelling, the form that carries the observed one, and the parts it looked at."""

    score: Array
    strongest_statistic: str
    parts: tuple[Part, ...] = ()


class Judge:
    """What families make of sums over rows."""

    def __init__(self, plan: FeaturePlan, contrasts: Contrasts, sums: Sums) -> None:
        self.plan, self.contrasts, self.sums = plan, contrasts, sums
        self.labellings, self.degrees = contrasts.labellings, contrasts.degrees
        self.observed = contrasts.labellings.observed

    def of_family(self, family: str) -> list[Member]:
        """The members of a family."""
        return [member for member in self.sums if member.family == family]

    def kernels(self, forms: dict[Member, SpectralForms], leverages: Mapping[Member, Array]) -> Answer | None:
        """The family of kernel forms, less what leverages add to them."""
        if not forms:
            return None
        values = np.concatenate([found.values - leverages.get(member, 0.0) for member, found in forms.items()])
        scores, varies = column_scores(values, np.concatenate([found.skewness for found in forms.values()]))
        if not varies.any():
            return None
        names = [
            f"{self.plan.similarities[member.family].names[member.index]}, {name}"
            for member, found in forms.items()
            for name in found.names
        ]
        best = int(np.argmax(np.where(varies, scores[:, self.observed], -1)))
        return Answer(power_mean(scores[varies], KERNELS_EXPONENT), names[best])

    def columns(self) -> Answer | None:
        """The family of single columns: each of them, and all together."""
        own: list[Array] = []
        kinds: list[_Described] = []
        together = None
        for member in self.of_family("columns"):
            scores, described, shared = self._numbers(member, self.plan.numeric.tolist())
            own.append(scores)
            kinds += described
            together = self._together(member, shared, "columns")
        for member in self.of_family("category"):
            score = self._category(member)
            if score is not None:
                own.append(score)
                kinds.append((self.plan.layout.categories[member.index], "share", 0))
        if not own:
            return None
        scores = np.concatenate(own)
        parts = self._parts(scores, kinds)
        if len(scores) == 1:
            return Answer(scores[0], "its only column", parts)
        best = ",".join(map(str, kinds[int(np.argmax(scores[:, self.observed]))][0]))
        single = Answer(power_mean(scores, COLUMNS_EXPONENT), f"column:{best}", parts)
        weights = COLUMN_WEIGHTS if self.plan.layout.image_shape is None else PIXEL_WEIGHTS
        return self._with_all(single, together, weights)

    def components(self) -> Answer | None:
        """The family of principal components: each of them, and all together."""
        members = self.of_family("components")
        if not members or self.plan.components is None:
            return None
        names = self.plan.components.names
        scores, _, shared = self._numbers(members[0], range(len(names)))
        single = Answer(power_mean(scores, COLUMNS_EXPONENT), names[int(np.argmax(scores[:, self.observed]))])
        return self._with_all(single, self._together(members[0], shared, "components"), COLUMN_WEIGHTS)

    def _with_all(self, single: Answer, together: Answer | None, weights: tuple[float, float]) -> Answer:
        """The largest of some columns or pairs, and all of them together."""
        if together is None:
            return single
        both = np.stack([align(single.score), align(together.score)])
        strongest_statistic = max(
            (both[0, self.observed], single.strongest_statistic), (both[1, self.observed], together.strongest_statistic)
        )[1]
        return Answer(power_mean(both, FLAT, weights), strongest_statistic, single.parts)

    def pairs(self) -> Answer | None:
        """The family of pairs of columns: each of them, and their sum."""
        members = self.of_family("pairs")
        if not members or self.plan.pairs is None:
            return None
        variance, C = self.sums[members[0]]
        used = np.flatnonzero(variance.numpy() > 1e-5 * self.plan.rows)
        if not len(used):
            return None
        P = C[used] / variance[used, None].sqrt()
        squares = self._to_variance(self.contrasts.squares(P).numpy())
        own = chi2_tail(squares, self.degrees)
        i, j = (self.plan.numeric[side[used]].tolist() for side in (self.plan.pairs.first, self.plan.pairs.second))
        signs = self._signs(self.contrasts.observed(P)).tolist()
        parts = self._parts(own, [((a, b), "dependence", s) for a, b, s in zip(i, j, signs, strict=True)])
        best = int(np.argmax(own[:, self.observed]))
        largest = Answer(power_mean(own, PAIRS_EXPONENT), f"column:{i[best]},{j[best]}", parts)
        total, varies = column_scores(squares.sum(0)[None])
        if len(used) == 1 or not varies[0]:
            return largest
        return self._with_all(largest, Answer(total[0], "all pairs together"), PAIR_WEIGHTS)

    def _parts(self, scores: Array, kinds: list[_Described]) -> tuple[Part, ...]:
        adjusted, alone = step_down(scores, self.observed), rank_pvalue(scores, self.observed)
        return tuple(
            Part(columns, kind, sign, float(p), float(q))
            for (columns, kind, sign), p, q in zip(kinds, adjusted, alone, strict=True)
        )

    def _signs(self, values: Tensor) -> Array:
        found: Array = np.sign(values.numpy()).astype(int)
        return found if self.contrasts.columns == 1 else np.zeros_like(found)

    def _to_variance(self, squares: Array) -> Array:
        """Where not all labellings are allowed, the variance over those that are is another; rounding is set to 0."""
        if not self.labellings.restricted:
            return squares
        mean = squares.mean(-1, keepdims=True)
        varies = mean > _NOTHING * self.degrees
        found: Array = np.where(varies, squares / np.where(varies, mean, 1.0) * self.degrees, 0.0)
        return found

    def _numbers(self, member: Member, columns: Sequence[int]) -> tuple[Array, list[_Described], dict[str, Array]]:
        """Scores of single columns of numbers, what they are, and the forms that are sums over columns."""
        G, C = (x.numpy() for x in self.sums[member])
        d, K = len(columns), COSINES
        blocks = G.reshape(d, K, d, K)[np.arange(d), :, np.arange(d)] if G.ndim == 2 else G
        P, used = in_order(blocks, C.reshape(d, K, -1), self.plan.rows)
        squares = self._to_variance(self.contrasts.squares(torch.from_numpy(P)).numpy())
        filters = {
            "location": np.eye(K)[0],
            "scale": np.eye(K)[1],
            "Cramér–von Mises": 1.0 / np.arange(1, K + 1) ** 2,
            "shape": np.ones(K),
        }
        single = np.zeros((len(filters), d, self.labellings.count))
        shared = {}
        for f, (name, kind) in enumerate(filters.items()):
            weights = used * kind
            some = weights.sum(1) > 0
            q = np.einsum("dk,dkb->db", weights[some], squares[some])
            if f < 2:
                single[f, some] = chi2_tail(q, self.degrees)
            else:
                k1, k2, k3 = ((weights[some] ** p).sum(1)[:, None] * self.degrees for p in (1, 2, 3))
                single[f, some] = upper_tail(q, k1, 2 * k2, math.sqrt(8) * k3 / k2**1.5)
            shared[name] = np.einsum("dk,dkb->b", weights, squares)
        best = _plainest(single[:, :, self.observed])
        signs = self._signs(self.contrasts.observed(torch.from_numpy(P[:, :2])))
        # cos(πu) falls as u grows, and cos(2πu) is large at both ends.
        directions = [-signs[:, 0], signs[:, 1], np.zeros(d, int), np.zeros(d, int)]
        described: list[_Described] = [
            ((column,), _KINDS[best[c]], int(directions[best[c]][c])) for c, column in enumerate(columns)
        ]
        return power_mean(single, FLAT), described, shared

    def _category(self, member: Member) -> Array | None:
        """The χ² score of a column of categories."""
        G, C = self.sums[member]
        eigenvalues, V = torch.linalg.eigh(G)
        kept = eigenvalues > 1e-6 * eigenvalues[-1].clamp(min=1e-3)
        if not kept.any():
            return None
        squares = self.contrasts.squares((V[:, kept] * eigenvalues[kept] ** -0.5).T @ C).sum(0)[None].numpy()
        if not self.labellings.restricted:
            return chi2_tail(squares, float(kept.sum()) * self.degrees)
        scores, varies = column_scores(squares)
        return scores if varies[0] and squares.mean() > _NOTHING * float(kept.sum()) * self.degrees else None

    def _together(self, member: Member, shared: dict[str, Array], what: str) -> Answer | None:
        """Sums over columns, and the ridge regression of the labels on all rank cosines (an additive model)."""
        scores, varies = column_scores(np.stack(list(shared.values())))
        found, names = [scores[varies]], [name for name, v in zip(shared, varies, strict=True) if v]
        if member.gram == "full":
            smooth = torch.from_numpy(np.tile(1 / np.arange(1.0, COSINES + 1), member.width // COSINES))
            G, C = self.sums[member]
            forms = spectral_forms(G * smooth * smooth[:, None], C * smooth[:, None], self.plan.rows, self.contrasts)
            if forms is not None:
                scores, varies = column_scores(forms.values, forms.skewness)
                found.append(scores[varies])
                names += [f"ridge, {name}" for name, v in zip(forms.names, varies, strict=True) if v]
        scores = np.concatenate(found)
        if not len(scores):
            return None
        strongest = names[int(np.argmax(scores[:, self.observed]))]
        return Answer(power_mean(scores, FLAT), f"all {what}: {strongest}")


def _plainest(scores: Array) -> Array:
    """For each column its best form (of the rows of ``scores``), or location or scale if these say nearly as much."""
    plain = scores[:2].argmax(0)
    enough = scores[:2].max(0) >= _PLAIN * scores.max(0)
    found: Array = np.where(enough, plain, scores.argmax(0))
    return found
