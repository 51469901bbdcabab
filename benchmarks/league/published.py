"""The league of others: problems that others published, as their authors define them, with the numbers that they print.

Samples are drawn by other seeds and other generators of random numbers than the authors', so that rates are comparable,
and single decisions are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from tellapart import datasets

from .loudly import SHIFTS, shifted_pair
from .problem import Draw, Pair, Problem, rng_of
from .synthetic import blob_d, hdgm, uniform

#: Rates of tests that were published, by the name of the test.
Rates = Mapping[str, float]


@dataclass(frozen=True)
class Paper:
    """Where problems come from.

    Attributes
    ----------
    title, link
        What to cite, and where it is.
    problems
        How the problems are defined, and how their authors ran them.
    runs
        Repetitions behind each published rate; 0 where none are printed.
    """

    title: str
    link: str
    problems: str
    runs: int


@dataclass(frozen=True)
class Setting:
    """One problem at one size, and what was published for it.

    Attributes
    ----------
    paper, problem, rates
        Its paper, the problem, which has one size, and the published rates.
    every
        Runs are made in multiples of this number: consecutive seeds take cases in turn.
    """

    paper: str
    problem: Problem
    rates: Rates
    every: int = 1

    @property
    def is_null(self) -> bool:
        """Whether the samples have the same distribution."""
        return self.problem.title.endswith("(no difference)")


PAPERS = {
    "fuse": Paper(
        "MMD-FUSE: Biggs, Schrab and Gretton 2023",
        "https://arxiv.org/abs/2306.08777",
        "Perturbed uniforms: in X the uniform density of the unit cube has two waves along each axis, of random "
        "signs, with amplitude a; a = 1 reaches down to 0. Mixture: four Gaussians at (±20, ±20) with standard "
        "deviation 1, one of which has standard deviation σ in Y. Rates are those of the authors' result files.",
        200,
    ),
    "mmdagg": Paper(
        "MMDAgg: Schrab, Kim, Albert, Laurent, Guedj and Gretton 2023",
        "https://arxiv.org/abs/2110.15073",
        "Perturbed uniforms: P waves along each axis, lower by 1/P, the factor is 2.7 for d = 1 and 7.3 for d = 2. "
        "MNIST: all 70,000 digits averaged to 7 × 7 pixels, drawn with replacement; X has all digits, and Y only odd "
        "ones (Q1), odd ones and 0 (Q2), all but 4, 6, 8 (Q3), all but 6, 8 (Q4), all but 8 (Q5). The MMDAgg here is "
        "the one of the paper without parameters (Laplace and Gaussian kernels); AutoML is that of Kübler et al. 2022"
        " as MMDAgg's authors ran it; split MMD has twice as many rows, and MMD with the median bandwidth a Laplace "
        "kernel. Wild bootstrap. Rates are those of the authors' result files.",
        500,
    ),
    "loudly": Paper(
        "Failing Loudly: Rabanser, Günnemann and Lipton 2019",
        "https://arxiv.org/abs/1810.11953",
        "MNIST, 28 × 28, 27 shifts of images that were not seen before, against as many images without a shift: "
        "Gaussian noise (σ = 1, 10, 100 of 255), rotated, moved, sheared, zoomed and flipped images (small, medium, "
        "large), each for 10 %, 50 % and all of the images; 10 %, 50 % and all zeros left out, also with half of the "
        "images changed; only zeros, of which 10 %, 50 % and all are changed. Rates are means over the 27 shifts. "
        "Those of MMDAgg are by its authors, five runs of each shift. The adversarial images, three shifts more, "
        "could not be got; the best published method of the first paper uses a classifier that was trained on 50,000 "
        "labeled images, and is printed as a mean over MNIST and CIFAR-10.",
        135,
    ),
    "automl": Paper(
        "AutoML Two-Sample Test: Kübler, Stimper, Buchholz, Muandet and Schölkopf 2022",
        "https://arxiv.org/abs/2206.08843",
        "Blob-D of Liu et al. 2020: nine blobs on a grid, which are round in X and each correlated in another way in "
        "Y. The published test learned from one half of the rows and tested on the other; here tests get both. "
        "AutoML: regression, one minute.",
        500,
    ),
    "deep": Paper(
        "Deep kernels: Liu, Xu, Lu, Zhang, Gretton and Sutherland 2020",
        "https://arxiv.org/abs/2002.09116",
        "HDGM: two Gaussians in ten dimensions, at 0 and at 0.5 in every coordinate; in Y the first two coordinates "
        "have correlation 0.5 in the first and -0.5 in the second. The powers are printed as curves only, so that no "
        "numbers can be set beside ours. The authors' deep kernel learns from as many further rows as it tests.",
        0,
    ),
    "lc2st": Paper(
        "L-C2ST: Linhart, Gramfort and Rodrigues 2023",
        "https://arxiv.org/abs/2306.03580",
        "A standard normal distribution in two dimensions against one of another variance. The published tests are of"
        " a quadratic discriminant, which is the right model here, learned from 2,000 + 2,000 rows and evaluated on "
        "10,000 + 10,000 more; tests here have 2,000 + 2,000 rows. The other problems of the paper are of local "
        "tests, which compare conditional distributions at a point.",
        100,
    ),
}


def authors_uniform(d: int, amplitude: float) -> Draw:
    """MMD-FUSE's: two waves, and a factor of e^d exactly."""
    return uniform(d, amplitude * math.exp(d) / (math.floor(10 * math.exp(d)) / 10), 2)


def four_gaussians(sigma: float) -> Draw:
    """Modes at (±20, ±20) of width 1; the last one has width ``sigma`` in Y."""
    centres = 20.0 * np.array([(1, 1), (-1, 1), (1, -1), (-1, -1)])

    def points(draws: np.random.Generator, rows: int, width: float) -> np.ndarray:
        mode = draws.integers(0, 4, rows)
        found: np.ndarray = centres[mode] + np.where(mode == 3, width, 1.0)[:, None] * draws.standard_normal((rows, 2))
        return found

    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        return torch.from_numpy(points(draws, m, 1.0)), torch.from_numpy(points(draws, n, sigma))

    return draw


@cache
def small_digits() -> tuple[np.ndarray, np.ndarray]:
    """All digits of MNIST as 7 × 7 means, and their labels."""
    found = datasets.mnist()
    images = np.concatenate([found.images, found.test_images]).astype(np.float64) / 255
    labels = np.concatenate([found.labels, found.test_labels])
    return images.reshape(-1, 7, 4, 7, 4).mean((2, 4)), labels


def digits_without(*missing: int) -> Draw:
    """All digits, and all but some, drawn with replacement."""

    def draw(m: int, n: int, seed: int) -> Pair:
        images, labels = small_digits()
        draws, rest = rng_of(seed), np.flatnonzero(~np.isin(labels, missing))
        X, Y = images[draws.integers(0, len(images), m)], images[rest[draws.integers(0, len(rest), n)]]
        return torch.from_numpy(X), torch.from_numpy(Y)

    return draw


def variance(scale: float) -> Draw:
    def draw(m: int, n: int, seed: int) -> Pair:
        draws = rng_of(seed)
        X, Y = draws.standard_normal((m, 2)), math.sqrt(scale) * draws.standard_normal((n, 2))
        return torch.from_numpy(X), torch.from_numpy(Y)

    return draw


def loudly(m: int, n: int, seed: int) -> Pair:
    """One of the shifts, in turn."""
    return shifted_pair(SHIFTS[seed % len(SHIFTS)], m, n, seed)


def _setting(paper: str, name: str, title: str, rows: int, draw: Draw, rates: Rates, every: int = 1) -> Setting:
    problem = Problem(f"{paper}_{name}_{rows}", title, "published", ((rows, rows),), draw)
    return Setting(paper, problem, rates, every)


#: Tests of the result files of MMD-FUSE's authors, in the order of the numbers below.
_FUSE = ("MMD-FUSE", "MMDAgg", "AutoML", "deep kernel", "ME", "SCF", "MMD median", "CTT")


def _of_fuse() -> list[Setting]:
    uniform_1d = {
        (0.0, 500): (0.045, 0.035, 0.04, 0.08, 0.065, 0.005, 0.04, 0.045),
        (0.2, 500): (0.18, 0.21, 0.18, 0.11, 0.15, 0.005, 0.105, 0.14),
        (0.3, 500): (0.505, 0.605, 0.365, 0.31, 0.26, 0.03, 0.29, 0.355),
        (0.4, 500): (0.825, 0.88, 0.63, 0.515, 0.51, 0.03, 0.465, 0.545),
        (0.5, 500): (0.975, 0.985, 0.875, 0.84, 0.735, 0.255, 0.675, 0.81),
        (0.2, 1000): (0.43, 0.47, 0.15, 0.21, 0.24, 0.01, 0.22, 0.295),
        (0.2, 2000): (0.79, 0.875, 0.23, 0.45, 0.3, 0.04, 0.455, 0.56),
    }
    uniform_2d = {
        (0.4, 500): (0.17, 0.145, 0.13, 0.12, 0.095, 0.1, 0.065, 0.06),
        (0.6, 500): (0.485, 0.395, 0.2, 0.115, 0.16, 0.16, 0.05, 0.055),
        (0.8, 500): (0.885, 0.83, 0.425, 0.25, 0.23, 0.255, 0.06, 0.07),
        (1.0, 500): (0.995, 0.99, 0.73, 0.38, 0.43, 0.375, 0.075, 0.075),
        (0.4, 1500): (0.69, 0.595, 0.165, 0.165, 0.12, 0.1, 0.055, 0.055),
        (0.4, 2000): (0.805, 0.765, 0.12, 0.17, 0.23, 0.17, 0.045, 0.045),
    }
    mixture = {
        (1.0, 500): (0.035, 0.05, 0.07, 0.07, 0.06, 0.085, 0.035, 0.035),
        (0.6, 500): (0.945, 0.915, 0.59, 0.59, 0.07, 0.55, 0.05, 0.04),
        (0.7, 500): (0.51, 0.46, 0.185, 0.25, 0.085, 0.285, 0.03, 0.055),
        (1.4, 500): (0.235, 0.25, 0.145, 0.105, 0.1, 0.33, 0.04, 0.025),
        (1.6, 500): (0.635, 0.675, 0.495, 0.34, 0.15, 0.6, 0.03, 0.035),
        (1.3, 1000): (0.38, 0.385, 0.21, 0.195, 0.09, 0.42, 0.065, 0.055),
        (1.3, 2000): (0.765, 0.785, 0.585, 0.475, 0.17, 0.81, 0.035, 0.03),
    }
    found = []
    for d, table in ((1, uniform_1d), (2, uniform_2d)):
        for (a, rows), rates in table.items():
            title = f"Perturbed uniform, d = {d}, a = {a:g}" if a else f"Uniform, d = {d} (no difference)"
            draw = authors_uniform(d, a)
            found.append(_setting("fuse", f"uniform{d}_{a:g}", title, rows, draw, dict(zip(_FUSE, rates, strict=True))))
    for (sigma, rows), rates in mixture.items():
        title = f"Mixture, σ = {sigma:g}" if sigma != 1 else "Mixture, σ = 1 (no difference)"
        draw = four_gaussians(sigma)
        found.append(_setting("fuse", f"mixture_{sigma:g}", title, rows, draw, dict(zip(_FUSE, rates, strict=True))))
    return found


def _of_mmdagg() -> list[Setting]:
    names = ("MMDAgg", "AutoML", "MMD split, twice the rows", "MMD median")
    waves = {
        (1, 500): {2: (0.988, 0.794, 0.992, 0.962), 3: (0.602, 0.344, 0.516, 0.172), 4: (0.228, 0.154, 0.118, 0.018)},
        (2, 2000): {2: (0.982, 0.312, 0.862, 0.08), 3: (0.26, 0.074, 0.03, 0.014)},
    }
    digits = {
        "Q1": ((0, 2, 4, 6, 8), (1.0, 1.0, 1.0, 0.508)),
        "Q2": ((2, 4, 6, 8), (1.0, 1.0, 1.0, 0.29)),
        "Q3": ((4, 6, 8), (0.996, 0.992, 0.532, 0.094)),
        "Q4": ((6, 8), (0.89, 0.934, 0.564, 0.084)),
        "Q5": ((8,), (0.248, 0.312, 0.092, 0.064)),
    }
    found = [
        _setting(
            "mmdagg",
            f"uniform{d}_{count}",
            f"Perturbed uniform, d = {d}, {count} waves",
            rows,
            uniform(d, 1 / count, count),
            dict(zip(names, rates, strict=True)),
        )
        for (d, rows), table in waves.items()
        for count, rates in table.items()
    ]
    for name, (missing, rates) in digits.items():
        left = ", ".join(map(str, missing))
        title = f"MNIST 7 × 7, {name}: without {left}"
        rows = dict(zip(names, rates, strict=True))
        found.append(_setting("mmdagg", f"mnist_{name}", title, 500, digits_without(*missing), rows))
    none = {"MMDAgg": 0.063, "AutoML": 0.052}
    found.append(_setting("mmdagg", "mnist_null", "MNIST 7 × 7 (no difference)", 500, digits_without(), none))
    return found


def _of_others() -> list[Setting]:
    loud = {10: 0.319, 20: 0.422, 50: 0.570, 200: 0.681, 1000: 0.837}
    blobs = {180: 0.546, 360: 0.982, 540: 1.0}
    scales = {0.9: (1.0, 0.78), 1.1: (0.99, 0.6)}
    return [
        *(
            _setting("loudly", "mnist", "MNIST, 27 shifts", rows, loudly, {"MMDAgg (Laplace)": rate}, len(SHIFTS))
            for rows, rate in loud.items()
        ),
        *(_setting("automl", "blob_d", "Blob-D", rows, blob_d, {"AutoML": rate}) for rows, rate in blobs.items()),
        *(_setting("deep", "hdgm", "HDGM, d = 10", rows, hdgm(10), {}) for rows in (1000, 2000, 4000)),
        *(
            _setting(
                "lc2st",
                f"variance_{scale:g}",
                f"Variance {scale:g}, d = 2",
                2000,
                variance(scale),
                {"C2ST, accuracy": accuracy, "C2ST, regression": regression},
            )
            for scale, (accuracy, regression) in scales.items()
        ),
    ]


SETTINGS = {setting.problem.name: setting for setting in (*_of_fuse(), *_of_mmdagg(), *_of_others())}
#: What was published and cannot be run here, and why.
ABSENT = {
    "CIFAR-10 against CIFAR-10.1 (deep kernels, MMD-FUSE)": "The images of CIFAR-10 cannot be got here.",
    "Galaxy MNIST (MMD-FUSE)": "The images cannot be got here.",
    "Adversarial MNIST, CIFAR-10 (Failing Loudly)": "The adversarial images are not stored with the code, and "
    "CIFAR-10 cannot be got here.",
    "HIGGS (deep kernels, AutoML)": "The authors' extract of the data set cannot be got here.",
}
