"""``--features``: what to compare of texts, rows or images instead of themselves."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

#: What is written in front of a folder or a file.
_WITH_PATH = ("model", "onnx")
_WITHOUT = ("ngrams", "words")


def features(text: str) -> str:
    """A value of ``--features``, as it was given: it is made when the call itself is known to be right.

    >>> features("ngrams"), features("model:minilm")
    ('ngrams', 'model:minilm')
    """
    kind, _, path = text.partition(":")
    if text not in _WITHOUT and not (kind in _WITH_PATH and path.strip()):
        raise argparse.ArgumentTypeError(f"{text!r:.80} is not ngrams, words, model:FOLDER or onnx:FILE")
    return text


def add_features(parser: argparse._ActionsContainer) -> None:
    """``--features HOW``."""
    parser.add_argument(
        "--features",
        type=features,
        metavar="HOW",
        help="compare a column of text by ngrams (of letters), words or model:FOLDER_OR_NAME (a sentence model), and "
        "numbers or images by onnx:FILE",
    )


def make_features(spelled: str | None) -> Callable[[Any], Any] | None:
    """The function that a value of ``--features`` stands for."""
    if spelled is None:
        return None
    from ..integrations.onnx import onnx
    from ..integrations.text import hashing_ngrams, sentence_transformer

    kind, _, path = spelled.partition(":")
    if kind == "onnx":
        return onnx(path)
    if kind == "model":
        # Its progress bars would stand among the lines of the answer, and --quiet means quiet.
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        return sentence_transformer(path)
    return hashing_ngrams(unit="word" if kind == "words" else "character")
