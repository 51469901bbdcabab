"""Problems to try tests on: synthetic ones whose difference is known, and handwritten digits."""

from .data.datasets import (
    MNIST,
    blob_d,
    blobs,
    breast_cancer,
    digits,
    gaussian_laplace,
    hdgm,
    mnist,
    perturbed_uniform,
    shuffled_column,
    underrepresented,
)

__all__ = [
    "MNIST",
    "blob_d",
    "blobs",
    "breast_cancer",
    "digits",
    "gaussian_laplace",
    "hdgm",
    "mnist",
    "perturbed_uniform",
    "shuffled_column",
    "underrepresented",
]
