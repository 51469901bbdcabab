"""Figures of `criticism`: samples, weights and the witness of one model, and the power of tests on all models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..criticism import Array, Comparison, Weights
from ..generative.images import image_grid
from .figures import new_figure


def draw(title: str, found: Comparison, learned: Weights, images: list[Array], out: Path) -> None:
    """Draw (a) data, (b) samples, (c) weights, (d) the witness function with images at its levels."""
    colours = ("#0072B2", "#D55E00")
    with new_figure(out / "criticism", 12, 8.6) as figure:
        above, below = figure.subfigures(2, 1, height_ratios=(1.05, 1))
        shown = above.subplots(1, 3)
        for axis, letter, name, part in zip(shown, "ab", ("MNIST", title), images, strict=False):
            axis.imshow(1 - image_grid(part[:100]), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            axis.set_title(f"({letter}) {name}", color=colours["ab".index(letter)])
        weights = learned.values.reshape(images[0].shape[1:])
        drawn = shown[2].imshow(weights, cmap="magma_r", vmin=0)
        above.colorbar(drawn, ax=shown[2], shrink=0.8, label="weight")
        shown[2].set_title("(c) ARD weights")
        for axis in shown:
            axis.axis("off")
        _draw_witness(below, found, weights, colours)


def draw_power(
    models: Mapping[str, Any], labels: Mapping[str, tuple[str, str]], sizes: Sequence[int], out: Path
) -> None:
    """Plot the power of every test against the number of images, with one panel for each model."""
    with new_figure(out / "criticism-power", 12 if len(models) > 1 else 7, 3.6) as figure:
        panels = figure.subplots(1, len(models), sharey=True, squeeze=False)[0]
        for panel, (title, found) in zip(panels, models.items(), strict=True):
            for name, (label, colour) in labels.items():
                power = [found["tests"][name][str(m)]["power"] for m in sizes]
                panel.plot(sizes, power, color=colour, marker="o", ms=3, label=label)
            panel.set(title=title, xscale="log", xlabel="images of each side", xticks=sizes, ylim=(-0.02, 1.02))
            panel.set_xticklabels(sizes, fontsize=7, rotation=45)
            panel.minorticks_off()
        panels[0].set_ylabel("power")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)


def _draw_witness(panel: Any, found: Comparison, weights: Array, colours: tuple[str, str], count: int = 11) -> None:
    """Draw two histograms of the witness with their means, and the images nearest to its levels."""
    values = found.witness_x, found.witness_y
    pooled = np.concatenate(values)
    low, high = np.quantile(pooled, [0.001, 0.999])
    axis, strip = panel.subplots(2, 1, height_ratios=(1.3, 1))
    for of, colour, name in zip(values, colours, found.names, strict=True):
        axis.hist(of, np.linspace(low, high, 60), density=True, color=colour, alpha=0.5, label=name)
        axis.axvline(of.mean(), color=colour, linewidth=1.5)
    axis.set(xlim=(low, high), yticks=[], ylabel="density")
    axis.set_title(f"(d) witness function on images that were not learned from; AUC {found.auc:.2f}")
    axis.set_xlabel(f"← more of {found.names[1]}        witness        more of {found.names[0]} →")
    axis.legend(frameon=False)
    # Each image stands under its own level: those of the extremes are of the sample that has more there.
    levels = np.linspace(low, high, count)
    width = (high - low) / count
    overlay = np.clip(weights / weights.max(), 0, 1)
    for k, level in enumerate(levels):
        which = 0 if k > count // 2 else 1 if k < count // 2 else k % 2
        sample = (found.x, found.y)[which]
        image = sample.values[int(np.abs(values[which] - level).argmin())].reshape(weights.shape).numpy()
        picture = np.repeat(1 - image[:, :, None], 3, 2)
        picture = picture * (1 - 0.6 * overlay[:, :, None]) + 0.6 * overlay[:, :, None] * np.array([0.9, 0.1, 0.1])
        left = low + k * width + 0.04 * width
        place = strip.inset_axes((left, 0, 0.92 * width, 1), transform=strip.transData)
        place.imshow(picture, interpolation="nearest")
        place.set(xticks=[], yticks=[])
        for spine in place.spines.values():
            spine.set(visible=True, color=colours[which], linewidth=1.5)
        place.set_xlabel(f"{level:.2g}", fontsize=8)
    strip.set(xlim=(low, high), ylim=(0, 1))
    strip.axis("off")
