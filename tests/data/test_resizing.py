"""Images at another size: as torch interpolates with antialiasing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tellapart.data import read
from tellapart.data.content.images import resize

SIZES = [((28, 28), (14, 14)), ((28, 28), (10, 17)), ((8, 9), (31, 20)), ((50, 70), (50, 7)), ((5, 5), (1, 12))]


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_resizing_is_that_of_torch(old: tuple[int, int], new: tuple[int, int]) -> None:
    planes = np.random.default_rng(0).random((3, 2, *old))
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(planes), new, mode="bilinear", antialias=True, align_corners=False
    )
    assert np.allclose(resize(planes, new), expected.numpy(), rtol=0, atol=1e-14)


def test_a_constant_image_stays_constant() -> None:
    assert np.allclose(resize(np.full((1, 7, 5), 0.3), (4, 9)), 0.3, atol=1e-15)


def test_images_are_read_at_another_size() -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, 12, 16, 3), dtype=np.uint8)
    content = read(images, image_size=(6, 8)).content
    assert content.image_shape == (6, 8, 3)
    halves = images.reshape(4, 6, 2, 8, 2, 3).mean((2, 4)) / 255
    assert np.abs(content.numbers(None, "") - halves).mean() < 0.1
    assert content.numbers(None, "").dtype == np.float32
