"""What a person would notice first, and what is better left out: ids, running numbers, dates that cannot overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

NoticeKind: TypeAlias = Literal[
    "same data",
    "shared rows",
    "duplicated rows",
    "disjoint ranges",
    "identifier",
    "constant",
    "new categories",
    "renamed columns",
]


@dataclass(frozen=True)
class Notice:
    """Something that is seen without any test.

    Attributes
    ----------
    kind
        ``"same data"``, ``"shared rows"`` (equal rows in both samples), ``"duplicated rows"`` (within one),
        ``"disjoint ranges"``, ``"identifier"``, ``"constant"``, ``"new categories"`` or ``"renamed columns"``.
    columns
        The columns it is about.
    text
        A sentence.
    left_out
        Whether these columns are not compared.
    count
        How many rows, or categories, it is about; 0 where that has no meaning.
    """

    kind: NoticeKind
    columns: tuple[str, ...]
    text: str
    left_out: bool = False
    count: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values."""
        return vars(self) | {"columns": list(self.columns)}
