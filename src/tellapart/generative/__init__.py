"""Generative models trained with the statistics of the tests (Sutherland et al. 2017, §4).

One module a model in `models`, with its settings; one `Trainer` for all, with callbacks; runs are folders that are
resumed exactly.
"""

from .._util import needs_torch  # noqa: F401
from .callbacks import Callback, evaluate_on_held_out, read_log
from .data import Data, load
from .evaluation import Evaluation, evaluate, load_or_train_classifier
from .measures import SampleCheck, measure_samples
from .models import MODELS, Diverged, Model
from .runs import open_run, sample, save_samples, train
from .settings import Settings
from .trainer import Trainer

__all__ = [
    "MODELS",
    "Callback",
    "Data",
    "Diverged",
    "Evaluation",
    "Model",
    "SampleCheck",
    "Settings",
    "Trainer",
    "evaluate",
    "evaluate_on_held_out",
    "load",
    "load_or_train_classifier",
    "measure_samples",
    "open_run",
    "read_log",
    "sample",
    "save_samples",
    "train",
]
