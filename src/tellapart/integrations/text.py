"""Features of texts: what to compare instead of strings."""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np

from .._util.errors import InputError, InputTypeError
from .._util.extras import extra

Array: TypeAlias = "np.ndarray[Any, Any]"
TextFeatures: TypeAlias = Callable[[Sequence[str]], Array]


def hashing_ngrams(
    sizes: Sequence[int] = (1, 2, 3), *, unit: Literal["character", "word"] = "character", dimensions: int = 256
) -> TextFeatures:
    """How often runs of characters or words occur in a text: no model, no vocabulary, nothing to fetch.

    The inner product of two such rows is the spectrum kernel of two strings, but for collisions of hashes.

    Parameters
    ----------
    sizes
        Lengths of the runs.
    unit
        Runs of characters, or of words (what white space separates). Both in lower case.
    dimensions
        Into how many counts the runs are hashed.

    Returns
    -------
    A function of a list of strings, to be given as ``features=``. Each row has length 1, or is 0 for an empty text.

    Examples
    --------
    >>> import tellapart as ta
    >>> old, new = ["yes", "no", "yes", "maybe"] * 20, ["yes!", "no!", "yes!", "maybe!"] * 20
    >>> ta.two_sample_test(old, new, features=ta.features.hashing_ngrams(), rng=0).pvalue
    0.001
    """
    if unit not in ("character", "word"):
        raise InputError("unknown-choice", f"unit={unit!r} is not known. Choose 'character' or 'word'.")
    if not sizes or min(sizes) < 1 or dimensions < 2:
        raise InputError(
            "out-of-range",
            f"sizes must be lengths from 1 up, and dimensions from 2 up, but are {sizes!r}, {dimensions!r}.",
        )

    def runs(text: str) -> Iterator[tuple[str, int]]:
        """Each run, and the count that it is hashed into."""
        parts: Sequence[str] = text.lower() if unit == "character" else text.lower().split()
        glue = "" if unit == "character" else " "
        for size in sizes:
            for start in range(len(parts) - size + 1):
                run = glue.join(parts[start : start + size])
                yield run, zlib.crc32(f"{size}{run}".encode("utf-8", "surrogatepass")) % dimensions

    def features(texts: Sequence[str]) -> Array:
        counts = np.zeros((len(texts), dimensions), np.float32)
        for row, text in zip(counts, _as_texts(texts), strict=True):
            for _, place in runs(text):
                row[place] += 1
        norms = np.linalg.norm(counts, axis=1, keepdims=True)
        return counts / np.where(norms > 0, norms, 1)

    def name_counts(texts: Sequence[str]) -> list[str]:
        """Each count by the run that is most often in it: others, which are hashed into the same, count too."""
        found = Counter(chain.from_iterable(map(runs, texts)))
        most = {place: run for (run, place), _ in reversed(found.most_common())}
        return [f"feature {k} “{most[k]}”" if k in most else f"feature {k}" for k in range(dimensions)]

    features.output_names = name_counts  # type: ignore[attr-defined]
    return _named(features, f"hashing_ngrams({tuple(sizes)}, {unit})")


def characters(length: int) -> TextFeatures:
    """The code points of the first ``length`` characters, 0 where a text is shorter: for `tellapart.kernels.Hamming`.

    >>> characters(3)(["ab", "abcd"])
    array([[97., 98.,  0.],
           [97., 98., 99.]])
    """
    if length < 1:
        raise InputError("out-of-range", f"length must be from 1 up, but is {length!r}.")

    def features(texts: Sequence[str]) -> Array:
        codes = np.zeros((len(texts), length))
        for row, text in zip(codes, _as_texts(texts), strict=True):
            row[: min(len(text), length)] = [ord(c) for c in text[:length]]
        return codes

    return _named(features, f"characters({length})")


def sentence_transformer(model: Any, **encode: Any) -> TextFeatures:
    """What a sentence model says of each text (the extra ``text``).

    Parameters
    ----------
    model
        The name or the folder of a model, or a ``SentenceTransformer``. A name is fetched by that library, a folder is
        not; either is loaded at the first text.
    **encode
        Options of ``SentenceTransformer.encode``, such as ``normalize_embeddings=True``.

    Returns
    -------
    A function of a list of strings, to be given as ``features=``.
    """
    loaded: list[Any] = [] if isinstance(model, str) or hasattr(model, "__fspath__") else [model]
    if loaded and not hasattr(model, "encode"):
        raise InputTypeError(
            "wrong-type", f"model must be a name, a folder or a SentenceTransformer, but is {type(model).__name__}."
        )

    def features(texts: Sequence[str]) -> Array:
        if not loaded:
            _check_folder(os.fspath(model))
            library = extra("sentence_transformers", group="text", what="ta.features.sentence_transformer")
            loaded.append(_load(library, os.fspath(model)))
        found = loaded[0].encode(_as_texts(texts), show_progress_bar=False, convert_to_numpy=True, **encode)
        return np.asarray(found)

    # A folder by its last name: a reference may be fitted on one machine and used on another.
    called = type(model).__name__ if loaded else os.path.basename(os.path.abspath(os.fspath(model)))
    return _named(features, f"sentence_transformer({called})")


def _is_path(model: str) -> bool:
    """Whether a text can be a folder only: names that can be fetched are ``model`` or ``owner/model``.

    >>> [_is_path(text) for text in ("/models/a", "./a", "a/b/c", "a/", "owner/a", "all-MiniLM-L6-v2")]
    [True, True, True, True, False, False]
    """
    parts = model.replace(os.sep, "/").split("/")
    return model.startswith((".", "~")) or "" in parts or len(parts) > 2


def _check_folder(model: str) -> None:
    """Complain of a folder that is not there, which would be looked for on the net."""
    if _is_path(model) and not os.path.isdir(model):
        raise InputError(
            "file-not-found",
            f"There is no folder {model}. Give the folder of a model, or a name that can be fetched, such as "
            "all-MiniLM-L6-v2.",
        )


def _load(library: Any, model: str) -> Any:
    try:
        return library.SentenceTransformer(model)
    except Exception as error:  # of the file system, of the net, or of whatever is in the folder
        said = str(error).strip().split("\n")[0]
        raise InputError(
            "model-not-loaded",
            f"The sentence model {model!r} cannot be loaded: {said.rstrip('.')}. Give the folder of a model, or a name "
            "that can be fetched.",
        ) from error


def _as_texts(texts: Any) -> list[str]:
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise InputTypeError(
            "unsuitable-features",
            "These features are for texts: a list of strings, or a table with one column of text.",
        )
    return list(texts)


def _named(features: TextFeatures, name: str) -> TextFeatures:
    """So that reports say what was compared."""
    features.__name__ = name
    return features
