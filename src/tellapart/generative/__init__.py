"""Generative models trained with the statistics of the tests (Sutherland et al. 2017, §4)."""

from .data import Data, load
from .evaluation import Evaluation, evaluate, fitted
from .models import MODELS, Diverged, Model
from .runs import open_run, sample, save_samples, train
from .trainer import Trainer

__all__ = [
    "MODELS",
    "Data",
    "Diverged",
    "Evaluation",
    "Model",
    "Trainer",
    "evaluate",
    "fitted",
    "load",
    "open_run",
    "sample",
    "save_samples",
    "train",
]
