"""Style and output of the figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._util.extras import extra

STYLE = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42}
DPI = 200


@contextmanager
def new_figure(path: Path, width: float, height: float, **style: Any) -> Iterator[Any]:
    """Yield a figure of the given size in inches; it is written to ``path`` as PNG and PDF when the block ends."""
    with extra("matplotlib").rc_context(STYLE | style):
        figure = extra("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
        yield figure
        for kind in (".png", ".pdf"):
            figure.savefig(path.with_suffix(kind), dpi=DPI)


def named(out: Path, name: str, data: str) -> Path:
    """Base name of the files of an experiment, with the name of the data unless it is the default."""
    return out / (name if data == "digits" else f"{name}-{data}")


def plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers instead of powers of ten."""
    ticker = extra("matplotlib.ticker")
    axis.set_major_formatter(ticker.LogFormatter())
    axis.set_minor_formatter(ticker.LogFormatter(minor_thresholds=(1.5, 0.5)))
