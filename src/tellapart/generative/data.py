"""Training data of generative models: rows with values from 0 to 1, optional labels, and held-out rows."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError, InputFileError
from ..data import datasets, read
from ..data.mnist import read_idx_folder


@dataclass(frozen=True)
class Data:
    """Images as rows of pixels from 0 to 1. ``shape`` is the shape of an image."""

    name: str
    shape: tuple[int, ...]
    rows: Tensor
    held_out: Tensor
    labels: Tensor | None = None
    held_out_labels: Tensor | None = None

    @property
    def pixels(self) -> int:
        """Number of values in a row."""
        return math.prod(self.shape)

    @property
    def classes(self) -> int:
        """Number of classes, 0 without labels."""
        return 0 if self.labels is None else int(self.labels.max()) + 1

    @cached_property
    def digest(self) -> str:
        """Digest of the data, so that a run is not resumed on other data."""
        return hashlib.sha256(self.rows.numpy().tobytes()).hexdigest()[:16]

    def choose_labelled(self, count: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw ``count`` rows with their labels, the same number of each class."""
        assert self.labels is not None
        classes = self.labels.unique()
        order = torch.randperm(len(self.rows), generator=rng)
        chosen = torch.cat([order[self.labels[order] == c][: count // len(classes)] for c in classes])
        if len(chosen) < count // len(classes) * len(classes) or not len(chosen):
            raise InputError(
                "too-few-rows",
                f"labels={count} requires {count // len(classes)} rows of each class, but {self.name} has fewer.",
            )
        return self.rows[chosen], self.labels[chosen]


def load(name: str, *, held_out: float = 1 / 6, image_size: tuple[int, int] | None = None) -> Data:
    """Load MNIST, digits or other images, and hold out a share of them.

    Parameters
    ----------
    name
        ``"mnist"``, ``"digits"``, the path of a folder of images or of a file of them, or of a folder with the four idx
        files of a data set that is published like MNIST (Fashion-MNIST, …).
    held_out
        The share to hold out. MNIST and what is published like it have their own test images.
    image_size
        Size to which the images of a folder or file are resized.

    Examples
    --------
    >>> load("digits").rows.shape
    torch.Size([1498, 64])
    """
    if name in ("mnist", "digits") and image_size is not None:
        raise InputError(
            "ignored-option", f"The images of {name} have their own size.", "Leave out {image_size}.", image_size=...
        )
    if name == "mnist":
        return _with_own_test(name, *map(torch.from_numpy, datasets.mnist()))
    if name == "digits":
        images, labels = map(torch.from_numpy, datasets.digits(labels=True))
        return _split(name, (8, 8), images.flatten(1).float(), labels, held_out)
    if not Path(name).exists():
        raise InputFileError(
            "file-not-found",
            f"{name!r} does not exist.",
            "{data} takes mnist, digits, a folder of images, or a file of them.",
            data=...,
        )
    if image_size is None and (arrays := read_idx_folder(Path(name))) is not None:
        train, labels, test, test_labels = (torch.from_numpy(part.copy()) for part in arrays.values())
        if train.ndim != 3 or (len(labels), len(test_labels), train.shape[1:]) != (
            len(train),
            len(test),
            test.shape[1:],
        ):
            raise InputError(
                "wrong-number-of-labels",
                f"The idx files in {name} do not belong together: they are images and one label for each.",
            )
        return _with_own_test(Path(name).resolve().name, train, labels, test, test_labels)
    source = read(name, "data", image_size=image_size)
    content = source.content
    if content.image_shape is None:
        raise InputError("not-images", f"{name} holds a {source.kind}, but generative models are trained on images.")
    rows = torch.from_numpy(content.planes(slice(None))).float().movedim(1, -1).flatten(1)
    return _split(str(Path(name).resolve()), content.image_shape, rows, None, held_out)


def _with_own_test(name: str, train: Tensor, labels: Tensor, test: Tensor, test_labels: Tensor) -> Data:
    # The first half of MNIST's test images was written by other people than the second: in random order, any part of
    # them stands for all.
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(test)))
    rows, out = (images.flatten(1).float() / 255 for images in (train, test[order]))
    return Data(name, tuple(train.shape[1:]), rows, out, labels.long(), test_labels[order].long())


def _split(name: str, shape: tuple[int, ...], rows: Tensor, labels: Tensor | None, held_out: float) -> Data:
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(rows)))
    out, kept = order[: int(held_out * len(rows))], order[int(held_out * len(rows)) :]
    return Data(
        name,
        shape,
        rows[kept],
        rows[out],
        None if labels is None else labels[kept],
        None if labels is None else labels[out],
    )
