"""Texts in memory: a list of strings, for ``features=`` to make numbers of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._util.errors import InputTypeError
from ..columns import TableColumn
from ..content import TableContent
from ..features import NGRAMS
from .base import Format, Opened, Request


class Strings(Format):
    """A list, tuple or flat array of strings; None is a missing one."""

    name = "lists of strings"
    tabular = True

    def matches(self, data: Any) -> bool:
        """Whether the first item is a string; texts in DataFrames are columns."""
        flat = isinstance(data, (list, tuple)) or (isinstance(data, np.ndarray) and data.ndim == 1)
        return flat and len(data) > 0 and isinstance(data[0], str)

    def open(self, request: Request) -> Opened:
        """A table with one column of texts."""
        if not request.options.by_features:
            raise InputTypeError(
                "text-without-features",
                f"{request.label} must hold numbers, but holds texts ({request.data[0]!r:.40}).",
                "Give {features}, or a table with a column of categories.",
                features=NGRAMS,
            )
        numbers = request.choose_rows(len(request.data))
        texts = [request.data[k] for k in numbers]
        for k, text in zip(numbers, texts, strict=True):
            if text is not None and not isinstance(text, str):
                raise InputTypeError(
                    "mixed-items", f"{request.label} holds texts, but item {k} is of type {type(text).__name__}."
                )
        return Opened(table_of_texts(texts), numbers, total=len(request.data))


def table_of_texts(texts: Iterable[str | None]) -> TableContent:
    """A table with one column of texts; None is a missing one."""
    place: dict[str, int] = {}
    codes = [-1 if text is None else place.setdefault(str(text), len(place)) for text in texts]
    return TableContent((TableColumn("text", "text", np.array(codes, np.int32), tuple(place)),))
