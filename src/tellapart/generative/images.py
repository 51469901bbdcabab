"""Conversion of rows to images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def as_images(rows: Tensor, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Convert rows with values from 0 to 1 to uint8 images."""
    images: np.ndarray[Any, Any] = (rows.cpu() * 255).round().clamp(0, 255).to(torch.uint8).numpy()
    return images.reshape(-1, *shape)


def image_grid(images: np.ndarray[Any, Any], columns: int = 10) -> np.ndarray[Any, Any]:
    """Arrange images in rows in one image."""
    rows = [np.concatenate(list(images[k : k + columns]), 1) for k in range(0, len(images), columns)]
    return np.concatenate(rows, 0)
