"""Results that show themselves: as HTML in a notebook, and as a picture.

What shows a result is made of results, and so lives further up; this is the one module that imports upwards, and only
when something is to be shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Shown:
    """A result that notebooks show as a small table, and that can be drawn."""

    def _repr_html_(self) -> str:
        from ..report.cards import card

        return card(self)

    def plot(self, *, ax: Axes | None = None, **options: Any) -> Axes:
        """The picture that says most about this result; `tellapart.plots` has all of them, with their options."""
        from ..report.plots import plot

        return plot(self, ax=ax, **options)
