"""Feature functions of texts."""

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
    """Return a feature function that counts hashed n-grams of characters or words.

    It needs no model, no vocabulary and no download. Up to hash collisions, the inner product of two rows is the
    normalized spectrum kernel of two strings.

    Parameters
    ----------
    sizes : sequence of int, default (1, 2, 3)
        Lengths of the n-grams.
    unit : {"character", "word"}, default "character"
        Whether n-grams consist of characters or of words separated by white space. Texts are converted to lower case.
    dimensions : int, default 256
        Number of counts that the n-grams are hashed into.

    Returns
    -------
    features : callable
        Function of a list of strings, to be passed as ``features=``. Rows have norm 1, or 0 for an empty text.

    Examples
    --------
    >>> import tellapart as ta
    >>> old, new = ["yes", "no", "yes", "maybe"] * 20, ["yes!", "no!", "yes!", "maybe!"] * 20
    >>> ta.two_sample_test(old, new, features=ta.features.hashing_ngrams(), rng=0).pvalue
    0.001
    """
    if unit not in ("character", "word"):
        raise InputError("unknown-choice", f"`unit` must be 'character' or 'word', got {unit!r}.")
    if not sizes or min(sizes) < 1 or dimensions < 2:
        raise InputError(
            "out-of-range",
            f"`sizes` must be positive and `dimensions` at least 2, got {sizes!r} and {dimensions!r}.",
        )

    def ngrams(text: str) -> Iterator[tuple[str, int]]:
        """Yield each n-gram and the index of the count that it is hashed into."""
        parts: Sequence[str] = text.lower() if unit == "character" else text.lower().split()
        separator = "" if unit == "character" else " "
        for size in sizes:
            for start in range(len(parts) - size + 1):
                ngram = separator.join(parts[start : start + size])
                yield ngram, zlib.crc32(f"{size}{ngram}".encode("utf-8", "surrogatepass")) % dimensions

    def features(texts: Sequence[str]) -> Array:
        counts = np.zeros((len(texts), dimensions), np.float32)
        for row, text in zip(counts, as_texts(texts), strict=True):
            for _, index in ngrams(text):
                row[index] += 1
        norms = np.linalg.norm(counts, axis=1, keepdims=True)
        return counts / np.where(norms > 0, norms, 1)

    def name_counts(texts: Sequence[str]) -> list[str]:
        """Name each count by its most frequent n-gram; n-grams with the same hash are counted together."""
        totals = Counter(chain.from_iterable(map(ngrams, texts)))
        names = {index: ngram for (ngram, index), _ in reversed(totals.most_common())}
        return [f"feature {k} “{names[k]}”" if k in names else f"feature {k}" for k in range(dimensions)]

    features.output_names = name_counts  # type: ignore[attr-defined]
    return _named(features, f"hashing_ngrams({tuple(sizes)}, {unit})")


def characters(length: int) -> TextFeatures:
    """Return a feature function that gives the code points of the first characters of a text.

    Intended for `tellapart.kernels.Hamming`.

    Parameters
    ----------
    length : int
        Number of characters. Shorter texts are padded with 0.

    Returns
    -------
    features : callable
        Function of a list of strings, to be passed as ``features=``.

    Examples
    --------
    >>> import tellapart as ta
    >>> ta.features.characters(3)(["ab", "abcd"])
    array([[97., 98.,  0.],
           [97., 98., 99.]])
    """
    if length < 1:
        raise InputError("out-of-range", f"`length` must be a positive integer, got {length!r}.")

    def features(texts: Sequence[str]) -> Array:
        codes = np.zeros((len(texts), length))
        for row, text in zip(codes, as_texts(texts), strict=True):
            row[: min(len(text), length)] = [ord(c) for c in text[:length]]
        return codes

    return _named(features, f"characters({length})")


def sentence_transformer(model: Any, **encode: Any) -> TextFeatures:
    """Return a feature function that embeds texts with a sentence-transformers model.

    Requires the extra ``text``.

    Parameters
    ----------
    model : str, path or SentenceTransformer
        Name or folder of a model, or a loaded model. A model given by name is downloaded by sentence-transformers. The
        model is loaded when the first text is embedded.
    **encode
        Options of ``SentenceTransformer.encode``, such as ``normalize_embeddings=True``.

    Returns
    -------
    features : callable
        Function of a list of strings, to be passed as ``features=``.
    """
    loaded: list[Any] = [] if isinstance(model, str) or hasattr(model, "__fspath__") else [model]
    if loaded and not hasattr(model, "encode"):
        raise InputTypeError(
            "wrong-type", f"`model` must be a name, a folder or a SentenceTransformer, got {type(model).__name__}."
        )

    def features(texts: Sequence[str]) -> Array:
        if not loaded:
            _check_folder(os.fspath(model))
            library = extra("sentence_transformers", group="text", what="ta.features.sentence_transformer")
            loaded.append(_load(library, os.fspath(model)))
        embeddings = loaded[0].encode(as_texts(texts), show_progress_bar=False, convert_to_numpy=True, **encode)
        return np.asarray(embeddings)

    # Only the last part of a folder: a reference may be fitted on one machine and used on another.
    name = type(model).__name__ if loaded else os.path.basename(os.path.abspath(os.fspath(model)))
    return _named(features, f"sentence_transformer({name})")


def _is_path(model: str) -> bool:
    """Return whether a text can only be a folder. Names of models have the form ``model`` or ``owner/model``.

    >>> [_is_path(text) for text in ("/models/a", "./a", "a/b/c", "a/", "owner/a", "all-MiniLM-L6-v2")]
    [True, True, True, True, False, False]
    """
    parts = model.replace(os.sep, "/").split("/")
    return model.startswith((".", "~")) or "" in parts or len(parts) > 2


def _check_folder(model: str) -> None:
    """Raise `InputError` if a folder does not exist; the library would try to download it."""
    if _is_path(model) and not os.path.isdir(model):
        raise InputError(
            "file-not-found",
            f"Folder not found: {model}. Pass the folder of a model, or the name of a model that can be downloaded, "
            "such as all-MiniLM-L6-v2.",
        )


def _load(library: Any, model: str) -> Any:
    try:
        return library.SentenceTransformer(model)
    except Exception as error:  # raised by the file system, the network, or the contents of the folder
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            "model-not-loaded",
            f"The sentence model {model!r} cannot be loaded: {reason.rstrip('.')}. Pass the folder of a model, or the "
            "name of a model that can be downloaded.",
        ) from error


def as_texts(texts: Any) -> list[str]:
    """Return texts as a list; raise `InputTypeError` for anything else."""
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise InputTypeError(
            "unsuitable-features",
            "These features apply to texts: a list of strings, or a table with one text column.",
        )
    return list(texts)


def _named(features: TextFeatures, name: str) -> TextFeatures:
    """Set the name that reports show for the features."""
    features.__name__ = name
    return features
