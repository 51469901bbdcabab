"""The ``--features`` option: a function of texts, rows or images whose values are compared instead."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

#: Prefixes of a folder or a file.
_WITH_PATH = ("model", "onnx")
_WITHOUT = ("ngrams", "word-ngrams", "words")


def features(text: str) -> str:
    """Check the form of a ``--features`` value. `make_features` loads it after all arguments are checked.

    >>> features("ngrams"), features("model:minilm")
    ('ngrams', 'model:minilm')
    """
    kind, _, path = text.partition(":")
    if text not in _WITHOUT and not (kind in _WITH_PATH and path.strip()):
        raise argparse.ArgumentTypeError(f"{text!r:.80} is not ngrams, word-ngrams, words, model:FOLDER or onnx:FILE")
    return text


def add_features(parser: argparse._ActionsContainer) -> None:
    """Add ``--features METHOD``."""
    parser.add_argument(
        "--features",
        type=features,
        metavar="METHOD",
        help="compare features of the data: for a text column words (which words, phrases and endings occur), ngrams "
        "(of characters), word-ngrams or model:FOLDER_OR_NAME (a sentence-transformers model), for numbers or images "
        "onnx:FILE",
    )


def make_features(spelled: str | None) -> Callable[[Any], Any] | None:
    """Return the feature function for a value of ``--features``."""
    if spelled is None:
        return None
    from ..integrations.onnx import onnx
    from ..integrations.text import hashing_ngrams, sentence_transformer
    from ..integrations.words import words

    kind, _, path = spelled.partition(":")
    if kind == "onnx":
        return onnx(path)
    if kind == "model":
        # Its progress bars would be printed in the middle of the output, also with --quiet.
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        return sentence_transformer(path)
    return words() if kind == "words" else hashing_ngrams(unit="word" if kind == "word-ngrams" else "character")
