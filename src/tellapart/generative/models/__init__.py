"""The models: one module each, with its networks, its settings and what one step of training does.

To add one, write a module with a subclass of `Settings` and a subclass of `Model`, and enter it in `MODELS` (and its
name in ``cli/train.py``). ``tests/generative/test_models.py`` then trains it, kills it, resumes it and samples from it.
"""

from typing import Any

from .adversarial import Adversarial
from .base import Diverged, Model
from .feature_matching import FeatureMatching
from .gmmn import GMMN
from .improved_gan import ImprovedGAN
from .t_gmmn import TGMMN

MODELS: dict[str, type[Model[Any]]] = {
    "gmmn": GMMN,
    "t-gmmn": TGMMN,
    "feature-matching": FeatureMatching,
    "improved-gan": ImprovedGAN,
    "adversarial": Adversarial,
}

__all__ = ["GMMN", "MODELS", "TGMMN", "Adversarial", "Diverged", "FeatureMatching", "ImprovedGAN", "Model"]
