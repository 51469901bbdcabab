"""Problems on images: MNIST, the digits of scikit-learn, patches of its photographs. Rows are never drawn twice.

Development problems use the training images of MNIST, all others the test images.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import numpy as np
import torch

import tellapart as ta
from tellapart import datasets

from .problem import GENERATED, Pair, Problem, Size, rng_of

Sizes = tuple[Size, ...]
Array = np.ndarray
#: Alters an array of images: ``change(images, draws)``.
Change = Callable[[Array, np.random.Generator], Array]


@cache
def mnist(part: str = "test") -> tuple[Array, Array]:
    """Images from 0 to 1 and their labels."""
    found = datasets.mnist()
    images, labels = (found.images, found.labels) if part == "train" else (found.test_images, found.test_labels)
    return images.astype(np.float32) / 255, labels


@cache
def digits() -> tuple[Array, Array]:
    return datasets.digits(labels=True)


@cache
def generated_images() -> Array:
    """The images of --generated: .npy, (n, 28, 28) or any shape of as many values; 0 to 1, -1 to 1 or 0 to 255."""
    images = ta.read(os.environ[GENERATED], image_shape=(28, 28)).content.pixels.astype(np.float32)
    if images.min() < -0.01:
        return (images + 1) / 2
    return images / 255 if images.max() > 1.01 else images


def _components(images: Array, count: int) -> Array:
    """Principal components of all images together, without their labels."""
    flat = images.reshape(len(images), -1).astype(float)
    centred = flat - flat.mean(0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    return centred @ axes[:, :count]


def _pair(X: Array, Y: Array, binary: bool = False) -> Pair:
    if binary:
        X, Y = (X > 0.5).astype(np.float32), (Y > 0.5).astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(X)), torch.from_numpy(np.ascontiguousarray(Y))


def _two_parts(images: Array, m: int, n: int, draws: np.random.Generator) -> tuple[Array, Array]:
    if m + n > len(images):
        raise ValueError(f"{m} + {n} images are needed, but there are {len(images)}.")
    order = draws.permutation(len(images))
    return images[order[:m]], images[order[m : m + n]]


def _same(images: Callable[[], Array], binary: bool = False) -> Callable[[int, int, int], Pair]:
    return lambda m, n, seed: _pair(*_two_parts(images(), m, n, rng_of(seed)), binary)


def unchanged(name: str, title: str, group: str, sizes: Sizes, binary: bool) -> Problem:
    return Problem(name, title, group, sizes, null=_same(lambda: mnist()[0], binary))


def generated(name: str, title: str, group: str, sizes: Sizes, binary: bool) -> Problem:
    """Test images against those of a file."""

    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        X, _ = _two_parts(mnist()[0], m, 0, draws)
        Y, _ = _two_parts(generated_images(), n, 0, draws)
        return _pair(X, Y, binary)

    return Problem(name, title, group, sizes, draw, _same(lambda: mnist()[0], binary), needs="generated")


def rare(name: str, title: str, group: str, sizes: Sizes, part: str = "test") -> Problem:
    """One digit, in turn each of the ten, is half as frequent."""

    def draw(m: int, n: int, seed: int) -> Pair:
        return _pair(*datasets.underrepresented(*mnist(part), seed % 10, 0.5, m, n, rng=seed))

    return Problem(name, title, group, sizes, draw, _same(lambda: mnist(part)[0]))


# Shifts as in "Failing loudly" (Rabanser et al. 2019).


def shifted(
    name: str, title: str, group: str, sizes: Sizes, change: Change, share: float, part: str = "test"
) -> Problem:
    """A share of the images of Y is changed, and stored in bytes again."""

    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        X, Y = _two_parts(mnist(part)[0], m, n, draws)
        Y = Y.copy()
        count = round(share * n)
        Y[:count] = np.round(255 * change(Y[:count], draws)) / 255
        return _pair(X, Y)

    return Problem(name, title, group, sizes, draw, _same(lambda: mnist(part)[0]))


def noise(sigma: float) -> Change:
    return lambda images, draws: (images + sigma * draws.standard_normal(images.shape)).clip(0, 1)


def transformed(images: Array, draws: np.random.Generator) -> Array:
    """Turned by up to 10°, moved by up to 1.4 pixels and scaled by up to 10%, each its own way."""
    from scipy.ndimage import affine_transform

    result = np.empty_like(images)
    centre = (np.array(images.shape[1:]) - 1) / 2
    for k, image in enumerate(images):
        angle = np.deg2rad(draws.uniform(-10, 10))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) / draws.uniform(0.9, 1.1)
        offset = centre - turn @ centre + draws.uniform(-1.4, 1.4, 2)
        result[k] = affine_transform(image, turn, offset, order=1)
    return result


def step_to_blur(size: float) -> Change:
    """Every pixel takes a small step towards a blurred image: slight and everywhere, as an adversary's."""
    from scipy.ndimage import gaussian_filter

    def change(images: Array, _: np.random.Generator) -> Array:
        difference = gaussian_filter(images, (0, 1, 1)) - images
        return (images + np.clip(difference, -size, size)).clip(0, 1)

    return change


def knocked_out(name: str, title: str, group: str, sizes: Sizes, digit: int) -> Problem:
    """Y has none of one digit."""

    def draw(m: int, n: int, seed: int) -> Pair:
        images, labels = mnist()
        order = rng_of(seed).permutation(len(images))
        rest = order[m:]
        return _pair(images[order[:m]], images[rest[labels[rest] != digit][:n]])

    return Problem(name, title, group, sizes, draw, _same(lambda: mnist()[0]))


# Real against real.


def _mixture(
    name: str, title: str, group: str, sizes: Sizes, of: Callable[[int], Array], kinds: tuple[int, int], share: float
) -> Problem:
    """Images of one kind, and the same with a share of another."""
    common, other = kinds

    def draw(m: int, n: int, seed: int) -> Pair:
        draws, foreign = rng_of(seed), round(share * n)
        X, Y = _two_parts(of(common), m, n - foreign, draws)
        return _pair(X, np.concatenate([Y, _two_parts(of(other), foreign, 0, draws)[0]]))

    return Problem(name, title, group, sizes, draw, _same(lambda: of(common)))


def _by_label(data: Callable[[], tuple[Array, Array]], components: int | None) -> Callable[[int], Array]:
    @cache
    def rows() -> Array:
        images = data()[0]
        return images if components is None else _components(images, components)

    return lambda label: rows()[data()[1] == label]


def digit_mixture(
    name: str,
    title: str,
    group: str,
    sizes: Sizes,
    common: int,
    other: int,
    share: float,
    components: int | None = None,
) -> Problem:
    return _mixture(name, title, group, sizes, _by_label(digits, components), (common, other), share)


def mnist_mixture(
    name: str,
    title: str,
    group: str,
    sizes: Sizes,
    common: int,
    other: int,
    share: float,
    components: int | None = None,
) -> Problem:
    return _mixture(name, title, group, sizes, _by_label(mnist, components), (common, other), share)


def _two_sources(name: str, title: str, group: str, sizes: Sizes, parts: Callable[[], tuple[Array, Array]]) -> Problem:
    def draw(m: int, n: int, seed: int) -> Pair:
        draws, (first, second) = rng_of(seed), parts()
        return _pair(_two_parts(first, m, 0, draws)[0], _two_parts(second, n, 0, draws)[0])

    return Problem(name, title, group, sizes, draw, _same(lambda: parts()[0]))


def digit_writers(name: str, title: str, group: str, sizes: Sizes) -> Problem:
    """The first and the second half of the file, as it is stored: other people wrote them."""
    return _two_sources(name, title, group, sizes, lambda: (digits()[0][:898], digits()[0][898:]))


def mnist_sources(name: str, title: str, group: str, sizes: Sizes) -> Problem:
    """The first 5,000 test images were written by employees of the Census Bureau, the others by students."""
    return _two_sources(name, title, group, sizes, lambda: (mnist()[0][:5000], mnist()[0][5000:]))


@cache
def photograph(which: int) -> Array:
    """All 8 × 8 patches of a grey photograph that do not overlap."""
    from sklearn.datasets import load_sample_images

    grey = load_sample_images().images[which].mean(2) / 255
    height, width = (8 * (side // 8) for side in grey.shape)
    patches = grey[:height, :width].reshape(height // 8, 8, width // 8, 8)
    return patches.swapaxes(1, 2).reshape(-1, 8, 8)


def patches(name: str, title: str, group: str, sizes: Sizes, share: float) -> Problem:
    return _mixture(name, title, group, sizes, photograph, (0, 1), share)


def blurred_patches(name: str, title: str, group: str, sizes: Sizes) -> Problem:
    from scipy.ndimage import gaussian_filter

    def draw(m: int, n: int, seed: int) -> Pair:
        X, Y = _two_parts(photograph(0), m, n, rng_of(seed))
        return _pair(X, gaussian_filter(Y, (0, 0.6, 0.6)))

    return Problem(name, title, group, sizes, draw, _same(lambda: photograph(0)))
