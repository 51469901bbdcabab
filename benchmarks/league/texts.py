"""Texts that every installation has: the documentation of functions, as hashed words."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import Any

import torch

from .problem import Pair, Problem, Size, rng_of

COLUMNS, WORDS = 64, 60


@cache
def embedded(package: str) -> Any:
    """The first words of the documentation of a package's public functions and classes, hashed to unit vectors."""
    from sklearn.feature_extraction.text import HashingVectorizer

    module = importlib.import_module(package)
    documents = set()
    for name in sorted(vars(module)):
        member = getattr(module, name)
        text = inspect.getdoc(member) if callable(member) and not name.startswith("_") else None
        if text and len(text.split()) >= WORDS:
            documents.add(" ".join(text.split()[:WORDS]))
    vectors = HashingVectorizer(n_features=COLUMNS, alternate_sign=False).transform(sorted(documents))
    return torch.from_numpy(vectors.toarray())


def docstrings(
    name: str, title: str, group: str, sizes: tuple[Size, ...], common: str, other: str, share: float = 0.3
) -> Problem:
    """Documentation of one package, and the same with a share from another."""

    def rows(m: int, n: int, foreign: int, seed: int) -> Pair:
        draws = rng_of(seed)
        ours, theirs = embedded(common), embedded(other)
        if m + n - foreign > len(ours) or foreign > len(theirs):
            raise ValueError(f"{common} and {other} have {len(ours)} and {len(theirs)} texts: too few for {m} + {n}.")
        order = torch.from_numpy(draws.permutation(len(ours)))
        added = torch.from_numpy(draws.permutation(len(theirs))[:foreign])
        return ours[order[:m]], torch.cat([ours[order[m : m + n - foreign]], theirs[added]])

    return Problem(
        name,
        title,
        group,
        sizes,
        lambda m, n, seed: rows(m, n, round(share * n), seed),
        lambda m, n, seed: rows(m, n, 0, seed),
    )
