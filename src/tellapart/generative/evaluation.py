"""Evaluation of generated images by a small classifier: frequencies of classes, and confidence."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Adam

from .._util.errors import InputError
from .._util.files import write_tensors
from .._util.progress import ProgressLike, progress_bar
from . import checkpoints
from .data import Data
from .networks import Layers

#: A class that has less than this share of the samples counts as missed.
COVERED = 0.03


@dataclass(frozen=True)
class Evaluation:
    """Distribution of generated rows over classes.

    Attributes
    ----------
    proportions
        The share of each class.
    entropy
        -Σ p log p of the proportions, in nats: log 10 = 2.303 if all ten classes are equally frequent.
    covered
        How many classes have a share of at least `COVERED`.
    confidence
        Mean probability of the class that the classifier chose. About 0.99 for real digits, lower for other images.
    accuracy
        The classifier's accuracy on held-out data, which limits the accuracy of the other numbers.
    """

    proportions: list[float]
    entropy: float
    covered: int
    confidence: float
    accuracy: float

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values, for JSON."""
        return asdict(self)


class Classifier(nn.Module):
    """Classifier with one hidden layer. Use `load_or_train_classifier` to create one."""

    def __init__(self, pixels: int, classes: int, rng: torch.Generator, hidden: int = 256) -> None:
        super().__init__()
        self.layers = Layers([pixels, hidden, classes], [nn.ReLU, nn.Identity], 1 / math.sqrt(pixels), rng)
        self.accuracy = math.nan

    def forward(self, rows: Tensor) -> Tensor:
        """Logits."""
        return self.layers(rows)[-1]  # type: ignore[no-any-return]


def load_or_train_classifier(data: Data, folder: Path, *, epochs: int = 8, progress: ProgressLike = None) -> Classifier:
    """Load a classifier of the data from ``folder``, or train it and save it there.

    It is trained with noise on its pixels, so that it does not depend on invisible differences. The same data give the
    same classifier, so that evaluations are comparable.
    """
    if data.labels is None or data.held_out_labels is None:
        raise InputError("no-labels", f"{data.name} has no labels, so that no classifier can be trained on it.")
    rng = checkpoints.make_generator(0)
    classifier = Classifier(data.pixels, data.classes, rng)
    path = folder / f"classifier-{data.digest}-{epochs}.safetensors"
    if path.exists():
        tensors, facts = checkpoints.read(path)
        checkpoints.restore_state({"classifier": classifier}, {}, tensors, facts)
        classifier.accuracy = facts["accuracy"]
        return classifier
    optimiser = Adam(classifier.parameters(), 1e-3)
    with progress_bar(progress, "classifier") as report:
        for epoch in range(epochs):
            for group in optimiser.param_groups:
                group["lr"] = 1e-3 * (1 - epoch / epochs)
            for chosen in torch.randperm(len(data.rows), generator=rng).split(100):
                rows = data.rows[chosen]
                noisy = rows + 0.2 * torch.randn(rows.shape, generator=rng)
                loss = cross_entropy(classifier(noisy), data.labels[chosen])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            if report is not None:
                report(epoch + 1, epochs)
    with torch.no_grad():
        right = classifier(data.held_out).argmax(1) == data.held_out_labels
    classifier.accuracy = float(right.double().mean())
    folder.mkdir(parents=True, exist_ok=True)
    tensors, facts = checkpoints.collect_state({"classifier": classifier}, {})
    write_tensors(path, tensors, facts | {"accuracy": classifier.accuracy})
    return classifier


@torch.no_grad()
def evaluate(rows: Tensor, classifier: Classifier) -> Evaluation:
    """Classify rows with values from 0 to 1.

    >>> from tellapart.generative import load
    >>> import tempfile
    >>> digits = load("digits")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = evaluate(digits.held_out, load_or_train_classifier(digits, Path(folder)))
    >>> found.covered, found.entropy > 2.2
    (10, True)
    """
    probabilities = torch.cat([classifier(part).softmax(1) for part in rows.cpu().split(1000)])
    top = probabilities.max(1)
    counts = top.indices.bincount(minlength=probabilities.shape[1]).double()
    shares = counts / counts.sum()
    return Evaluation(
        proportions=shares.tolist(),
        entropy=float(torch.special.entr(shares).sum()),
        covered=int((shares >= COVERED).sum()),
        confidence=float(top.values.double().mean()),
        accuracy=classifier.accuracy,
    )
