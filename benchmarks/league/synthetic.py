"""Draws from densities we know. Each function returns a ``draw(m, n, seed)``, or is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from tellapart import datasets

from .problem import Draw, Pair, rng_of

Array = np.ndarray
Generator = np.random.Generator


def _pair(X: Array, Y: Array) -> Pair:
    return torch.from_numpy(X), torch.from_numpy(Y)


def uniform(d: int, amplitude: float, perturbations: int = 1) -> Draw:
    """The density is 1 ± amplitude at the crests of its waves (Schrab et al. 2023)."""
    height = amplitude * perturbations
    waves = {"d": d, "perturbations": perturbations, "amplitude": height}
    return lambda m, n, seed: _pair(*datasets.perturbed_uniform(m, n, rng=seed, **waves))


def blobs(ratio: float, grid: int = 5) -> Draw:
    return lambda m, n, seed: _pair(*datasets.blobs(m, n, ratio=ratio, grid=grid, rng=seed))


def blob_d(m: int, n: int, seed: int) -> Pair:
    return _pair(*datasets.blob_d(m, n, rng=seed))


def hdgm(d: int) -> Draw:
    return lambda m, n, seed: _pair(*datasets.hdgm(m, n, d, rng=seed))


def laplace(d: int) -> Draw:
    return lambda m, n, seed: _pair(*datasets.gaussian_laplace(m, n, d, rng=seed))


def _changed_normal(d: int, change: Callable[[Array, Generator], None]) -> Draw:
    """Standard normal points, and others that ``change`` alters in place."""

    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        X, Y = draws.standard_normal((m, d)), draws.standard_normal((n, d))
        change(Y, draws)
        return _pair(X, Y)

    return draw


def shift(d: int, columns: int, by: float) -> Draw:
    def change(Y: Array, _: Generator) -> None:
        Y[:, :columns] += by

    return _changed_normal(d, change)


def wider(d: int, columns: int, factor: float) -> Draw:
    def change(Y: Array, _: Generator) -> None:
        Y[:, :columns] *= factor

    return _changed_normal(d, change)


def correlation(d: int, rho: float) -> Draw:
    def change(Y: Array, _: Generator) -> None:
        Y[:, 1] = rho * Y[:, 0] + (1 - rho**2) ** 0.5 * Y[:, 1]

    return _changed_normal(d, change)


def contaminated(d: int, share: float, factor: float) -> Draw:
    """A share of the rows of Y is ``factor`` times as far out."""

    def change(Y: Array, draws: Generator) -> None:
        Y[draws.random(len(Y)) < share] *= factor

    return _changed_normal(d, change)


def tails(d: int, freedom: int) -> Draw:
    """Normal against Student's t, both with variance 1."""

    def change(Y: Array, draws: Generator) -> None:
        Y[:] = draws.standard_t(freedom, Y.shape) / (freedom / (freedom - 2)) ** 0.5

    return _changed_normal(d, change)


def mirrored(d: int) -> Draw:
    """Gamma(6) columns with mean 0 and variance 1, and their mirror images: location and scale are the same."""

    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        X, Y = ((draws.gamma(6.0, size=(size, d)) - 6) / 6**0.5 for size in (m, n))
        return _pair(X, -Y)

    return draw


def embeddings(d: int, *, noise: float = 1.0, shift: float = 0.0, rarer: float = 1.0, seed: int = 0) -> Draw:
    """Clusters and factors as embeddings have them, below noise in all d columns.

    In the second sample the noise is ``noise`` times as large, rows are shifted across the factors by so much of the
    noise, and the first cluster has ``rarer`` times its share. ``seed`` draws what both samples have in common.
    """
    fixed = np.random.default_rng(seed)
    clusters, factors = int(fixed.integers(6, 15)), int(fixed.integers(8, 25))
    centres = fixed.standard_normal((clusters, d))
    loadings = fixed.standard_normal((factors, d)) * np.geomspace(1, 0.3, factors)[:, None]
    level, across = fixed.uniform(0.15, 0.35), fixed.standard_normal(d)

    def points(draws: Generator, rows: int, second: bool) -> Array:
        share = np.ones(clusters)
        share[0] = rarer if second else 1.0
        found = centres[draws.choice(clusters, rows, p=share / share.sum())]
        found += draws.standard_normal((rows, factors)) @ loadings
        found += level * (noise if second else 1.0) * draws.standard_normal((rows, d))
        return found + (shift * level / np.sqrt(d) * across if second else 0.0)

    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        return _pair(points(draws, m, False), points(draws, n, True))

    return draw


def mixture(centre: float, sigma: float, d: int = 1) -> Draw:
    """Modes at ± centre in every coordinate, of width 1 in X and σ in Y."""

    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        X, Y = (
            draws.choice([-centre, centre], (size, d)) + width * draws.standard_normal((size, d))
            for size, width in ((m, 1.0), (n, sigma))
        )
        return _pair(X, Y)

    return draw


# A stand-in for HIGGS: the objects of a collision, and the masses made of them. In the signal two jets come from one
# heavy particle, so that their joint mass has a peak; in the background all are independent.


def higgs_like(m: int, n: int, seed: int) -> Pair:
    draws = rng_of(seed)
    return _pair(_collisions(draws, m, signal=False), _collisions(draws, n, signal=True))


def _four_vectors(pt: Array, eta: Array, phi: Array) -> Array:
    """Energy and momentum of massless objects, in the last axis."""
    return np.stack([pt * np.cosh(eta), pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)], -1)


def _mass(*objects: Array) -> Array:
    total = sum(objects)
    return np.sqrt(np.maximum(total[..., 0] ** 2 - (total[..., 1:] ** 2).sum(-1), 0))


def _collisions(draws: Generator, size: int, signal: bool) -> Array:
    """Rows of 28: lepton (3), missing momentum (2), four jets with a tag each (16), seven masses."""
    pt = 0.25 + draws.gamma(2.0, 0.35, size=(size, 6))  # lepton, neutrino, jets
    eta = draws.normal(0, 1, size=(size, 6))
    phi = draws.uniform(-np.pi, np.pi, size=(size, 6))
    tags = draws.random((size, 4)) < [0.5, 0.4, 0.25, 0.15]
    if signal:
        paired = draws.random(size) < 0.7
        mass = draws.normal(1.25, 0.15, size).clip(0.3)
        # m² = 2 p₁ p₂ (cosh Δη - cos Δφ): the fourth jet gets the momentum that gives the mass.
        angle = np.cosh(eta[:, 4] - eta[:, 5]) - np.cos(phi[:, 4] - phi[:, 5])
        needed = mass**2 / (2 * pt[:, 4] * np.maximum(angle, 0.3))
        pt[:, 5] = np.where(paired, needed.clip(0.25, 6), pt[:, 5])
        tags[:, 2:] |= paired[:, None] & (draws.random((size, 2)) < 0.15)
    lepton, neutrino, *jets = np.moveaxis(_four_vectors(pt, eta, phi), 1, 0)
    masses = [
        _mass(jets[0], jets[1]),
        _mass(*jets[:3]),
        _mass(lepton, neutrino),
        _mass(jets[0], lepton, neutrino),
        _mass(jets[2], jets[3]),
        _mass(lepton, neutrino, jets[2], jets[3]),
        _mass(lepton, neutrino, *jets),
    ]
    columns = [pt[:, 0], eta[:, 0], phi[:, 0], pt[:, 1], phi[:, 1]]
    for k in range(4):
        columns += [pt[:, 2 + k], eta[:, 2 + k], phi[:, 2 + k], 2.2 * tags[:, k]]
    return np.stack([*columns, *masses], 1)


# P = Q.


def _same(points: Callable[[Generator, tuple[int, int]], Array], d: int) -> Draw:
    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        return _pair(points(draws, (m, d)), points(draws, (n, d)))

    return draw


def normal(d: int) -> Draw:
    return _same(lambda draws, shape: draws.standard_normal(shape), d)


def cauchy(d: int) -> Draw:
    return _same(lambda draws, shape: draws.standard_cauchy(shape), d)


def rounded(d: int) -> Draw:
    return _same(lambda draws, shape: np.round(2 * draws.standard_normal(shape)) / 2, d)


def counts(d: int) -> Draw:
    return _same(lambda draws, shape: draws.poisson(1.0, shape).astype(float), d)


def binary(d: int, probability: float) -> Draw:
    return _same(lambda draws, shape: (draws.random(shape) < probability).astype(float), d)
