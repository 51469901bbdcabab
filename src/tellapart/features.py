"""What to compare instead of the rows: functions of texts and images to give as ``features=``."""

from .integrations.onnx import onnx
from .integrations.text import characters, hashing_ngrams, sentence_transformer
from .integrations.words import words

__all__ = ["characters", "hashing_ngrams", "onnx", "sentence_transformer", "words"]
