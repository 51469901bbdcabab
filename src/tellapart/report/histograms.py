"""Paired histograms of the values of a column."""

from __future__ import annotations

from .._util.numbers import number
from ..data.arrays import Array
from .svg import Plot, SvgAxis


def draw_shares(
    of_both: tuple[Array, Array], edges: Array, x: SvgAxis, names: tuple[str, str], width: int, height: int
) -> Plot:
    """Two histograms, of which the share in each bin is known."""
    shares = [100 * share for share in of_both]
    top = max(float(share.max()) for share in shares) * 1.05
    plot = Plot(x, SvgAxis(0, top, form=lambda value: f"{value:g} %"), width, height)
    for share, style in zip(shares, ("x", "y"), strict=True):
        plot.histogram(edges.tolist(), share.tolist(), style)
    form = x.form or number
    titles = (
        f"{form(a)} to {form(b)}\n{names[0]}: {p:.1f} %\n{names[1]}: {q:.1f} %"
        for a, b, p, q in zip(edges[:-1], edges[1:], *shares, strict=True)
    )
    plot.hover(edges.tolist(), titles)
    return plot
