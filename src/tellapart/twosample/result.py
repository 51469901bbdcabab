"""The base class of results: one JSON form, one view, and what is rendered from it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._util.errors import InputError, spell_keyword
from .._util.view import View
from ..stats.pvalues import check_level, rejects

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Version of the JSON form. Fields may be added within a version. Renaming or removing a field, or changing its
#: meaning, makes a new version.
SCHEMA_VERSION = 1


class Displayed:
    """An object that notebooks show as a card and that can be plotted.

    What renders it is made of results and so lives in a room above this one. These methods are the only imports
    upwards.
    """

    def view(self, alpha: float | None = None) -> View:
        """The object as blocks of plain data, which cards, pages and plots are rendered from.

        Parameters
        ----------
        alpha : float, optional
            Significance level. By default that of the result, or 0.05.
        """
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from ..report.card import render_card

        return render_card(self.view())

    def plot(self, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the plot that says most about this object; `tellapart.plots` has all plots and their options."""
        from ..report.plots import plot

        return plot(self, ax=ax, **options)


class Result(Displayed):
    """The outcome of a test, a comparison, a ranking, a plan or a monitor.

    Attributes
    ----------
    seed : int
        Pass it as ``rng`` to reproduce the result.
    notes : tuple of str
        Remarks on the data and on the test.
    """

    #: The value of the field ``result`` in the JSON form.
    json_name: ClassVar[str]
    seed: int
    notes: tuple[str, ...]

    @property
    def _decisive_pvalue(self) -> float:
        """The p-value that `reject` looks at."""
        pvalue: float = self.pvalue  # type: ignore[attr-defined]
        return pvalue

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the test rejects its null hypothesis at level ``alpha``."""
        return rejects(self._decisive_pvalue, alpha)

    def _json_fields(self) -> Mapping[str, Any]:
        """The fields of the JSON form, which `to_dict` converts to plain values."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def to_dict(self) -> dict[str, Any]:
        """The result as plain Python values, as in the JSON form."""
        return {"schema_version": SCHEMA_VERSION, "result": self.json_name, **as_plain(self._json_fields())}

    def to_json(self) -> str:
        """The result as JSON. `tellapart.report.schema` describes it; there is no NaN, unknown values are null."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def summary(self, alpha: float | None = None, *, spell: Callable[[str, Any], str] = spell_keyword) -> str:
        """The result in a few lines of text, the answer first.

        Parameters
        ----------
        alpha : float, optional
            Significance level. By default that of the result, or 0.05.
        spell : callable, optional
            Writes an argument that a note recommends, given its name and value. By default as in Python.
        """
        from ..report.text import render_text

        return render_text(self.view(alpha), spell)

    def to_html(self, path: str | PathLike[str], command: str | None = None, *, alpha: float | None = None) -> None:
        """Write a page: one HTML file that needs nothing else. It appears complete or not at all.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        command : str, optional
            A command line that reproduces the result, to be shown on the page.
        alpha : float, optional
            Significance level. By default that of the result, or 0.05.
        """
        from ..report import write

        write(self, path, command, alpha=alpha)


class TestOutcome(Result):
    """The outcome of a test with a null distribution. Unpacks as ``statistic, pvalue = result``."""

    __test__ = False  # not a test case, although pytest would collect a class of this name

    if TYPE_CHECKING:  # fields of some subclasses, computed by others

        @property
        def statistic(self) -> float:
            """The statistic of the test."""

        @property
        def pvalue(self) -> float:
            """The p-value."""

        @property
        def min_pvalue(self) -> float:
            """The smallest attainable p-value."""

        @property
        def null_distribution(self) -> np.ndarray[Any, Any]:
            """The statistic under the null hypothesis."""

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def permutations(self) -> int:
        """Number of draws in the null distribution."""
        return len(self.null_distribution)


def check_own_level(alpha: float | None, own: float, maker: str) -> None:
    """Raise `InputError` for a level other than the one that a result was made at, and that it cannot be shown at."""
    if alpha is not None and check_level(alpha) != own:
        raise InputError(
            "conflicting-arguments",
            f"The level of {maker} is {own:g}, and its result depends on that.",
            f"Leave out {{alpha}}, or give it to {maker}.",
            alpha=alpha,
        )


def as_plain(value: Any) -> Any:
    """A value as JSON has it: arrays and tuples as lists, dataclasses as dicts, other objects as their ``repr``.

    Numbers that are not finite become None.

    >>> as_plain({"a": (1.0, np.inf), "b": np.arange(2), "c": np.float64(0.5)})
    {'a': [1.0, None], 'b': [0, 1], 'c': 0.5}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value)  # a note is a subclass
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, np.ndarray):
        finite = value.dtype.kind in "biu" or (value.dtype.kind == "f" and bool(np.isfinite(value).all()))
        return value.tolist() if finite else as_plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Sequence):
        return [as_plain(item) for item in value]
    if is_dataclass(value):
        return {f.name: as_plain(getattr(value, f.name)) for f in fields(value) if not f.name.startswith("_")}
    return repr(value)
