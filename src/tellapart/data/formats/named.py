"""Data sets that have a name."""

from __future__ import annotations

from typing import Any

from ..arrays import as_array
from .base import Format, Opened, Request

#: The names in ``datasets.NAMED``.
NAMES = ("mnist", "digits")


class Named(Format):
    """MNIST (its 10,000 test images, fetched once) and the digits of scikit-learn."""

    name = "'mnist' and 'digits'"

    def matches(self, data: Any) -> bool:
        """Whether this is such a name."""
        return isinstance(data, str) and data in NAMES

    def open(self, request: Request) -> Opened:
        """Load the images."""
        from .. import datasets  # which needs the format of MNIST's files

        return Opened(as_array(datasets.NAMED[request.data](), request.label))
