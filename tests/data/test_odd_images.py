"""Arrays that have the shape of images and are none: what they were taken for is said, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tellapart as ta
from tellapart.data import read

RNG = np.random.default_rng(0)
STATES, OTHERS = RNG.normal(size=(2, 30, 5, 8))
SAYS = "Rows of shape 5 × 8 are taken for images of so many pixels"


def notes(X: Any, Y: Any, **options: Any) -> str:
    return " ".join(ta.two_sample_test(X, Y, 99, rng=0, **options).notes)


def test_hidden_states_are_said_to_be_taken_for_images(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", STATES)
    for X in (STATES, STATES.astype(np.float32), tmp_path / "x.npy"):
        told = notes(X, OTHERS)
        assert told.count(SAYS) == 1
        assert "X.mean(1)" in told
        assert "X.reshape(len(X), -1)" in told
    assert SAYS in notes(STATES, OTHERS, max_rows=20)
    assert SAYS in notes(np.abs(STATES), OTHERS)
    assert SAYS in " ".join(ta.compare(STATES, OTHERS, permutations=99, rng=0).notes)
    assert SAYS in ta.Reference.fit(STATES, rng=0).contents.notes[0]
    assert SAYS in read(STATES).notes[0]


@pytest.mark.parametrize(
    "images",
    [
        RNG.uniform(size=(30, 8, 8)),
        RNG.uniform(-1, 1, (30, 8, 8)),
        RNG.uniform(0, 255, (30, 8, 8)),
        RNG.integers(0, 256, (30, 8, 8)).astype(np.uint8),
        RNG.integers(-1000, 3000, (30, 8, 8)).astype(np.float32),  # a scanner's whole numbers
        RNG.normal(size=(30, 3, 8, 8)),
        RNG.normal(size=(30, 64)),
        RNG.normal(size=(30, 2, 8)),
    ],
    ids=lambda images: f"{images.dtype}-{images.shape}",
)
def test_images_are_images(images: Any) -> None:
    assert notes(images[:15], images[15:]) == ""


def test_what_the_user_says_is_not_doubted() -> None:
    assert notes(STATES.reshape(30, -1), OTHERS.reshape(30, -1), image_shape=(5, 8)) == ""
    assert notes(STATES, OTHERS, image_shape=(5, 8)) == ""
