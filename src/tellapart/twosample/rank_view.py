"""The view of a ranking: distances, pairs of models, bandwidths, and what tells each model from the reference."""

from __future__ import annotations

from dataclasses import replace
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
from ..stats.pvalues import rejects
from .figures import witness_figure
from .views import evidence_share

if TYPE_CHECKING:
    from .ranked import RankResult

Array: TypeAlias = "np.ndarray[Any, Any]"

_WITNESS = "The witness function is larger where the reference has more, and smaller where the model has more."


def rank_view(result: RankResult) -> View:
    """The result as blocks of plain data."""
    return View.of(
        _headline(result),
        notes(result.disagreements, title="Measures disagree", prefix="Note: "),
        _models_table(result),
        distance_figure(result),
        _matrix(result),
        _scales_table(result),
        *_witness_blocks(result),
        Notes(
            section="How it was computed",
            link="Method",
            items=(
                "Relative tests of Bounliphone et al. (2016) with the unbiased variance of the difference of two "
                "MMD² that share a sample; p-values from a t distribution (asymptotic), two-sided, adjusted by "
                "Holm's method.",
                f"Kernel: {shorten(' '.join(repr(result.kernel).split()), 300)}. Seed {result.seed}, "
                f"{result.seconds:.1f} s.",
            ),
            detail=Detail.PAGE,
        ),
        notes([note for note in result.notes if note not in result.disagreements], prefix="Note: "),
    )


def _headline(result: RankResult) -> Headline:
    best, pairs = result.models[0], sum(rejects(pair.pvalue, result.alpha) for pair in result.pairs)
    return Headline(
        title=f"{len(result.models)} models and a reference",
        text=result.description.rstrip("."),
        positive=bool(pairs),
        explanation=f"Closest first: {', '.join(result.order)}.",
        tiles=(
            Tile("closest", best.name, f"MMD² {best.mmd2:.3g} ± {best.error:.1g}"),
            Tile("pairs told apart", f"{pairs} of {len(result.pairs)}", f"at level {result.alpha:g}"),
            Tile("reference", f"{result.rows:,}", "rows tested"),
            _kernel_tile(result),
        ),
    )


def _kernel_tile(result: RankResult) -> Tile:
    if result.learned:
        return Tile("kernel", result.learned, "learned on other rows")
    if result.given:
        return Tile("kernel", type(result.kernel).__name__, "given")
    return Tile("kernel", "Gaussians", "bandwidths from the distances of rows of the reference")


def _models_table(result: RankResult) -> TableBlock:
    beats = result.beats
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
            for model in result.models
        ),
        total=len(result.models),
    )


def distance_figure(result: RankResult) -> Figure:
    """The models by their distance from the reference, with two standard errors to each side."""
    models = result.models[::-1]
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


def _matrix(result: RankResult) -> Matrix:
    by_pair = {(pair.closer, pair.farther): pair for pair in result.pairs}

    def cell(name: str, other: str) -> MatrixCell | None:
        pair = by_pair.get((name, other))
        if pair is None:
            return None
        text = f"{name} before {other}: {p_sentence(pair.pvalue)}"
        return MatrixCell(p_text(pair.pvalue), evidence_share(pair.pvalue), rejects(pair.pvalue, result.alpha), text)

    adjusted = ", adjusted for all pairs" if len(result.order) > 2 else ""
    return Matrix(
        title=f"Two at a time (asymptotic p-values{adjusted})",
        section="Two at a time",
        lead=f'P-values of "equally far"{adjusted}. In bold: the model of the row is significantly closer than '
        f"that of the column, at level {result.alpha:g}.",
        corner="closer ↓ farther →",
        names=result.order,
        columns=result.order,
        cells=tuple(tuple(cell(name, other) for other in result.order) for name in result.order),
    )


def _scales_table(result: RankResult) -> TableBlock | None:
    if not result.scales:
        return None
    rows = tuple(
        Row.of(f"{s.factor:g}", ", ".join(s.order), "; ".join(f"{a} before {b}" for a, b in s.sure) or "none")
        for s in result.scales
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


def _witness_blocks(result: RankResult) -> list[Block]:
    blocks: list[Block] = []
    for k, model in enumerate(result.models):
        auc = "" if model.auc is None else f"AUC {model.auc:.3f} ± {model.auc_error:.3f}"
        names = ("reference", model.name)
        figure = witness_figure(*model.witness, names, title=model.name, caption=auc)
        if not k:
            figure = replace(figure, section="What tells each model from the reference", link="Witness", lead=_WITNESS)
        blocks.append(figure)
        if model.images is not None and result.image_shape is not None:
            lacks, extra = (tuple(_as_pictures(part, result.image_shape)) for part in model.images)
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


def _as_pictures(rows: Array, shape: tuple[int, ...]) -> Array:
    """Rows of pixels as images of uint8; the largest value of all is white."""
    images = rows.reshape(-1, *shape)
    if len(shape) == 3 and shape[0] in (1, 3) and shape[2] not in (1, 3):
        images = np.moveaxis(images, 1, -1)
    if images.ndim == 4 and images.shape[-1] == 1:
        images = images[..., 0]
    low, high = min(0.0, float(images.min())), max(float(images.max()), 1e-9)
    return np.asarray((255 * (images - low) / (high - low)).round().astype(np.uint8))
