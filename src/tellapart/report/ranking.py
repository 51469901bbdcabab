"""The page of a ranking: distances, pairs, and each model's witness against the reference."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from ..criticism import Array
from ..stats.pvalues import rejects
from ..twosample import RankedModel, RankResult
from ..twosample.ranking import FACTORS
from .histograms import paired_histograms, shared_edges
from .pictures import thumbnail
from .sheets import as_pvalue, evidence_share, write_sheet
from .svg import Axis


def write(result: RankResult, path: str | PathLike[str], command: str | None = None) -> None:
    """Write the page."""
    write_sheet("ranking.html", path, contents(result, command))


def contents(result: RankResult, command: str | None = None) -> dict[str, Any]:
    """Everything that the page says."""
    best = result.models[0]
    sure = sum(rejects(one.pvalue, result.alpha) for one in result.pairs)
    tiles = [
        {"name": "closest", "value": best.name, "text": f"MMD² {best.mmd2:.3g} ± {best.error:.1g}"},
        {"name": "pairs told apart", "value": f"{sure} of {len(result.pairs)}", "text": f"at level {result.alpha:g}"},
        {"name": "reference", "value": f"{result.rows:,}", "text": "rows tested"},
        _kernel(result),
    ]
    return {
        "title": "Ranking",
        "hero": {
            "title": f"{len(result.models)} models and a reference",
            "sentence": result.description,
            "detail": "Closest first: " + ", ".join(result.order) + ".",
            "alarm": bool(sure),
            "tiles": tiles,
            "notes": list(result.disagreements),
        },
        "alpha": f"{result.alpha:g}",
        "order": result.order,
        "models": _bars(result),
        "matrix": _matrix(result),
        "scales": [
            {
                "factor": f"{one.factor:g}",
                "order": ", ".join(one.order),
                "sure": "; ".join(f"{a} before {b}" for a, b in one.sure) or "none",
            }
            for one in result.scales
        ],
        "witnesses": [_witness(model, result.image_shape) for model in result.models],
        "method": [
            "Relative tests of Bounliphone et al. (2016) with the unbiased variance of the difference of two MMD² that "
            "share a sample; p-values from a t distribution (asymptotic), two-sided, adjusted by Holm.",
            f"Kernel: {' '.join(repr(result.kernel).split())}. Seed {result.seed}, {result.seconds:.1f} s.",
        ],
        "notes": [note for note in result.notes if note not in result.disagreements],
        "command": command,
    }


def _kernel(result: RankResult) -> dict[str, Any]:
    """What the kernel is, and where it is from."""
    if result.learned:
        return {"name": "kernel", "value": result.learned, "text": "learned on other rows"}
    if result.given:
        return {"name": "kernel", "value": type(result.kernel).__name__, "text": "given"}
    return {
        "name": "kernel",
        "value": "Gaussians",
        "text": f"{len(FACTORS)} bandwidths, by the distances of rows of the reference",
    }


def _bars(result: RankResult) -> list[dict[str, Any]]:
    reach = max(model.mmd2 + 2 * model.error for model in result.models) or 1.0
    low = min(0.0, *(model.mmd2 - 2 * model.error for model in result.models))

    def place(value: float) -> float:
        return 2 + 96 * (value - low) / ((reach - low) or 1.0)

    found = []
    for model in result.models:
        auc = "" if model.auc is None else f", AUC {model.auc:.3f}"
        found.append(
            {
                "name": model.name,
                "low": place(model.mmd2 - 2 * model.error),
                "high": place(model.mmd2 + 2 * model.error),
                "place": place(model.mmd2),
                "text": f"{model.mmd2:.4g} ± {model.error:.2g}{auc}",
            }
        )
    return found


def _matrix(result: RankResult) -> list[dict[str, Any]]:
    by_pair = {(one.closer, one.farther): one for one in result.pairs}
    rows = []
    for name in result.order:
        cells: list[dict[str, Any] | None] = []
        for other in result.order:
            one = by_pair.get((name, other))
            cells.append(
                None
                if one is None
                else {
                    "share": evidence_share(one.pvalue),
                    "sure": rejects(one.pvalue, result.alpha),
                    "text": as_pvalue(one.pvalue),
                    "title": f"{name} is closer than {other} by {one.difference:.3g} ± {one.error:.2g}",
                }
            )
        rows.append({"name": name, "cells": cells})
    return rows


def _witness(model: RankedModel, shape: tuple[int, ...] | None) -> dict[str, Any]:
    of_reference, of_model = model.witness
    edges = shared_edges(of_reference, of_model)
    axis = Axis(float(edges[0]), float(edges[-1]), "witness")
    plot = paired_histograms(of_reference, of_model, edges, axis, ("reference", model.name), 440, 200)
    auc = "" if model.auc is None else f"AUC {model.auc:.3f} ± {model.auc_error:.3f}"
    missing, extra = ([], []) if model.images is None or shape is None else (_pictures(p, shape) for p in model.images)
    return {
        "name": model.name,
        "text": auc,
        "plot": plot.svg(f"witness at the reference and at {model.name}"),
        "missing": missing,
        "extra": extra,
    }


def _pictures(rows: Array, shape: tuple[int, ...]) -> list[str]:
    """Rows of pixels as pictures; whatever their range, the largest value of all is white."""
    images = rows.reshape(-1, *shape)
    if len(shape) == 3 and shape[0] in (1, 3) and shape[2] not in (1, 3):
        images = np.moveaxis(images, 1, -1)
    if images.ndim == 4 and images.shape[-1] == 1:
        images = images[..., 0]
    low, high = min(0.0, float(images.min())), max(float(images.max()), 1e-9)
    scaled = (255 * (images - low) / (high - low)).round().astype(np.uint8)
    return [thumbnail(image) for image in scaled]
