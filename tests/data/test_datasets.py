"""The problems, against their definitions."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tellapart.data import datasets
from tellapart.data import mnist as mnist_files

N = 40_000
GENERATED = {
    "gaussian_laplace": (datasets.gaussian_laplace, 2),
    "blobs": (datasets.blobs, 2),
    "blob_d": (datasets.blob_d, 2),
    "hdgm": (datasets.hdgm, 10),
    "hdgm, d = 3": (partial(datasets.hdgm, d=3), 3),
    "perturbed_uniform": (datasets.perturbed_uniform, 1),
    "perturbed_uniform, d = 2": (partial(datasets.perturbed_uniform, d=2), 2),
}


@pytest.mark.parametrize("name", GENERATED)
def test_shapes_and_seeds(name):
    problem, d = GENERATED[name]
    X, Y = problem(30, 20, rng=1)
    assert X.shape == (30, d)
    assert Y.shape == (20, d)
    assert X.dtype == Y.dtype == np.float64
    assert problem(30, rng=1)[1].shape == (30, d)
    again, other = problem(30, 20, rng=1), problem(30, 20, rng=2)
    assert np.array_equal(X, again[0])
    assert np.array_equal(Y, again[1])
    assert not np.array_equal(X, other[0])
    assert not np.array_equal(Y, other[1])
    assert problem(30, 1, rng=np.random.default_rng(0))[1].shape == (1, d)


def test_blob_d_has_the_covariances_of_the_paper():
    X, Y = datasets.blob_d(N, rng=0)
    expected = [-0.020, -0.022, -0.024, -0.026, 0, 0.020, 0.022, 0.024, 0.026]
    for Z, off_diagonal in ((X, [0] * 9), (Y, expected)):
        # Half the way to the next blob is 2.9 deviations: to round is to know the blob of nearly every point.
        blob = Z.round().clip(0, 2)
        for k in range(9):
            points = Z[(blob == (k // 3, k % 3)).all(1)]
            assert len(points) == pytest.approx(N / 9, abs=6 * (N * 8 / 81) ** 0.5)
            covariance = np.cov(points.T)
            assert covariance == pytest.approx(np.array([[0.03, off_diagonal[k]], [off_diagonal[k], 0.03]]), abs=0.003)


def test_hdgm_has_the_moments_of_the_definition():
    d = 4
    X, Y = datasets.hdgm(N, d=d, rng=0)
    for Z in (X, Y):
        assert Z.mean(0) == pytest.approx(np.full(d, 0.25), abs=0.03)
        # Correlations of the modes cancel: variance 1 + 0.25², covariance 0.25² in X and in Y.
        assert np.cov(Z.T) == pytest.approx(np.eye(d) + 0.0625, abs=0.04)

    def third(Z):
        """E[(z_0 - ¼)(z_1 - ¼) Σ_j (z_j - ¼)] over the other coordinates: it is the modes' difference that counts."""
        centred = Z - 0.25
        return float((centred[:, 0] * centred[:, 1] * centred[:, 2:].sum(1)).mean())

    # In a mode at ±¼, E = ±¼ (d - 2) (covariance + 1/16), averaged over the modes; the covariances are ∓½ in Y.
    assert third(X) == pytest.approx(0, abs=0.04)
    assert third(Y) == pytest.approx(-0.25 * (d - 2) * 0.5, abs=0.05)


@pytest.mark.parametrize("P", [1, 2, 3])
def test_perturbed_uniform_has_the_density_of_the_paper(P):
    X, Y = (Z[:, 0] for Z in datasets.perturbed_uniform(N, perturbations=P, rng=0))
    halves = 2 * P
    error = 5 * (N / halves) ** 0.5
    assert np.bincount((halves * X).astype(int)) == pytest.approx(np.full(halves, N / halves), abs=error)
    counts = np.bincount((halves * Y).astype(int)).reshape(P, 2)
    # A bump exp(-1/(1 - s²)) has integral 0.443994 over (-1, 1), and dt = ds/4, du = dt/P.
    excess = 2.7 / P * 0.443994 / 4 / P * N
    assert np.abs(counts - N / halves) == pytest.approx(np.full((P, 2), excess), abs=error)
    assert counts.sum(1) == pytest.approx(np.full(P, N / P), abs=error * 2)


def test_perturbed_uniform_in_two_dimensions_goes_up_and_down_like_a_chessboard():
    _, Y = datasets.perturbed_uniform(N, d=2, perturbations=1, rng=0)
    upper = (Y * 2).astype(int)
    same = (upper[:, 0] == upper[:, 1]).mean()
    excess = 7.3 * 2 * (0.443994 / 4) ** 2
    assert abs(same - 0.5) == pytest.approx(excess, abs=0.015)
    assert upper.mean(0) == pytest.approx([0.5, 0.5], abs=0.015)


def test_perturbed_uniform_draws_its_signs_and_takes_no_negative_density():
    ups = [float((datasets.perturbed_uniform(2000, perturbations=1, rng=k)[1] < 0.5).mean()) for k in range(20)]
    assert {up > 0.5 for up in ups} == {True, False}
    _, flat = datasets.perturbed_uniform(N, perturbations=1, amplitude=0, rng=0)
    assert float((flat < 0.5).mean()) == pytest.approx(0.5, abs=0.015)
    with pytest.raises(ValueError, match=r"between 0 and 1\.007, but is 1\.1"):
        datasets.perturbed_uniform(10, perturbations=1, amplitude=1.1)
    datasets.perturbed_uniform(10, perturbations=2, amplitude=2)


def test_digits_are_those_of_scikit_learn():
    images, labels = datasets.digits(labels=True)
    assert images.shape == (1797, 8, 8)
    assert (float(images.min()), float(images.max())) == (0, 1)
    assert labels.tolist()[:10] == list(range(10))
    assert np.array_equal(datasets.digits(), images)


def test_what_is_not_installed_is_named(monkeypatch):
    def nothing(name):
        raise ImportError(name)

    monkeypatch.setattr("tellapart._util.extras.import_module", nothing)
    with pytest.raises(ImportError, match=r"tellapart\[demo\]"):
        datasets.digits()


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_one_digit_is_under_represented(share):
    labels = np.repeat(np.arange(4), 30_000)
    images = np.arange(len(labels))[:, None]  # an image that says where it comes from
    X, Y = (Z[:, 0] for Z in datasets.underrepresented(images, labels, 2, share, N, N // 2, rng=0))
    assert (len(X), len(Y)) == (N, N // 2)
    assert len(np.unique(np.concatenate([X, Y]))) == N + N // 2
    assert np.bincount(labels[X]) / len(X) == pytest.approx(np.full(4, 0.25), abs=0.015)
    weights = np.array([1, 1, share, 1]) / (3 + share)
    assert np.bincount(labels[Y], minlength=4) / len(Y) == pytest.approx(weights, abs=0.02)
    assert not (np.diff(labels[X]) >= 0).all()  # in no order


def test_under_representation_says_what_is_wrong():
    images, labels = datasets.digits(labels=True)
    with pytest.raises(ValueError, match=r"images of \d are needed"):
        datasets.underrepresented(images, labels, 3, 0.5, 1500, 1500, rng=0)
    with pytest.raises(ValueError, match="digit=11"):
        datasets.underrepresented(images, labels, 11, 0.5, 10)
    with pytest.raises(ValueError, match="share"):
        datasets.underrepresented(images, labels, 1, 2, 10)
    first, second = (datasets.underrepresented(images, labels, 3, 0.5, 50, rng=4) for _ in range(2))
    assert np.array_equal(first[1], second[1])


def test_shuffling_a_column_keeps_its_values_and_all_others():
    table = np.arange(100.0)[:, None] + np.array([0, 1000, 2000])
    before = table.copy()
    X, Y = datasets.shuffled_column(table, 1, 40, 50, rng=0)
    assert (X.shape, Y.shape) == ((40, 3), (50, 3))
    assert np.array_equal(table, before)
    assert np.array_equal(X - X[:, :1], np.tile([0, 1000, 2000], (40, 1)))
    assert np.array_equal(Y[:, 2] - Y[:, 0], np.full(50, 2000))
    assert sorted(Y[:, 1] - 1000) == sorted(Y[:, 0])
    assert (Y[:, 1] - 1000 != Y[:, 0]).sum() > 40
    assert not set(X[:, 0]) & set(Y[:, 0])
    assert np.array_equal(datasets.shuffled_column(table, 1, 40, 50, rng=0)[1], Y)
    with pytest.raises(ValueError, match=r"60 \+ 60 rows"):
        datasets.shuffled_column(table, 1, 60)


def test_the_table_of_tumours_is_standardised():
    table = datasets.breast_cancer()
    assert table.mean(0) == pytest.approx(np.zeros(30), abs=1e-12)
    assert table.var(0) == pytest.approx(np.ones(30))


MNIST = Path(__file__).parents[3] / "shared" / "data" / "mnist"
with_mnist = pytest.mark.skipif(not MNIST.exists(), reason="needs the idx files of MNIST")


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes()


@with_mnist
def test_mnist_is_read_from_a_folder_and_from_the_cache(tmp_path, monkeypatch):
    found = datasets.mnist(MNIST)
    assert (found.images.shape, found.test_images.shape) == ((60_000, 28, 28), (10_000, 28, 28))
    assert np.bincount(found.labels).tolist()[:3] == [5923, 6742, 5958]
    monkeypatch.delenv("TELLAPART_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []
    monkeypatch.setattr(mnist_files, "_fetch", lambda: calls.append(1) or mnist_files.load_mnist(MNIST))
    for _ in range(2):
        assert all(map(np.array_equal, datasets.mnist(), found))
    assert calls == [1]
    monkeypatch.setattr(mnist_files, "_fetch", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setenv("TELLAPART_DATA", str(MNIST.parent))
    assert np.array_equal(datasets.mnist().images, found.images)


def test_what_is_not_mnist_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="does not hold MNIST: it needs the files train-images-idx3-ubyte"):
        datasets.mnist(tmp_path)
    for key, (name, _) in mnist_files.FILES.items():
        shape = (10,) if "labels" in key else (10, 28, 28)
        (tmp_path / name).write_bytes(idx(np.zeros(shape, np.uint8)))
    with pytest.raises(ValueError, match="is not MNIST: its labels occur"):
        datasets.mnist(tmp_path)
    monkeypatch.setattr(mnist_files, "COUNTS", {})
    with pytest.raises(ValueError, match="is not MNIST: what train-images-idx3-ubyte should hold"):
        datasets.mnist(tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(b"\0\0\x08\3\0")
    with pytest.raises(ValueError, match="is cut short"):
        datasets.mnist(tmp_path)


def test_mnist_that_cannot_be_fetched_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("TELLAPART_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no network")
    monkeypatch.setattr(mnist_files.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(OSError, match=r"could not be fetched \(ERROR: no network\)\. Put its four idx files"):
        datasets.mnist()
    assert not list(tmp_path.rglob("*.npz"))
