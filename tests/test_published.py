"""The league of others: problems are those of their authors, trials are kept by version, the page has all numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import published
from league import loudly, published_page
from league.methods import Settings
from league.published import ABSENT, PAPERS, SETTINGS, authors_uniform, four_gaussians, small_digits
from league.results import Journal, rate

MNIST = Path(__file__).parents[2] / "shared" / "data" / "mnist"
SETTINGS_OF_TESTS = Settings(permutations=19)


@pytest.mark.parametrize("name", SETTINGS)
def test_rates_are_rates_of_known_papers(name):
    setting = SETTINGS[name]
    assert setting.paper in PAPERS
    assert all(0 <= value <= 1 for value in setting.rates.values())
    # A published rate is a count of runs.
    runs = PAPERS[setting.paper].runs
    if setting.paper in ("fuse", "lc2st"):
        assert all(abs(value * runs - round(value * runs)) < 1e-9 for value in setting.rates.values())


def test_waves_reach_down_to_zero_and_up_to_two():
    _, Y = authors_uniform(1, 1.0)(1, 400_000, 0)
    # Two waves, each up and down: extremes of the density lie in the middle of each quarter.
    places = (np.arange(4) + 0.5) / 4
    density = [float((np.abs(Y.numpy()[:, 0] - place) < 0.005).mean() / 0.01) for place in places]
    assert sorted(round(value) for value in density) == [0, 0, 2, 2]
    assert min(density) < 0.02


def test_one_of_four_gaussians_is_wider_in_the_second_sample():
    X, Y = (part.numpy() for part in four_gaussians(0.5)(40_000, 40_000, 0))
    for rows, widths in ((X, {1.0}), (Y, {1.0, 0.5})):
        modes = {
            (a, b): rows[(np.sign(rows) == (a, b)).all(1)] - 20 * np.array([a, b]) for a in (1, -1) for b in (1, -1)
        }
        assert {round(float(part.std()) * 20) / 20 for part in modes.values()} == widths
        assert all(abs(len(part) - 10_000) < 400 for part in modes.values())


@pytest.mark.skipif(not MNIST.exists(), reason="needs the idx files of MNIST")
def test_small_digits_are_means_of_blocks_without_those_left_out():
    images, labels = small_digits()
    large, again = loudly.all_digits()
    assert images.shape == (70_000, 7, 7)
    np.testing.assert_array_equal(labels, again)
    assert images[-1, 3, 2] == pytest.approx(large[-1, 12:16, 8:12].mean() / 255)
    X, Y = (part.numpy() for part in SETTINGS["mmdagg_mnist_Q4_500"].problem.draw(2_000, 2_000, 0))
    known = {image.tobytes(): label for image, label in zip(images, labels, strict=True)}
    assert {known[image.tobytes()] for image in X} == set(range(10))
    assert {known[image.tobytes()] for image in Y} == set(range(10)) - {6, 8}


@pytest.fixture
def digits(monkeypatch):
    """Images whose pixels tell their number and label, in place of MNIST."""
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 10, 30_000)
    images = draws.integers(1, 255, (30_000, 28, 28)).astype(np.uint8)
    images[:, 0, 0], images[:, 0, 1], images[:, 0, 2] = labels, np.arange(30_000) % 251, np.arange(30_000) // 251
    monkeypatch.setattr(loudly, "all_digits", lambda: (images, labels))
    return images, labels


def read_back(Y):
    """The label and the number of each image."""
    pixels = np.rint(255 * Y.numpy()[:, 0, :3]).astype(int)
    return pixels[:, 0], pixels[:, 1] + 251 * pixels[:, 2]


def test_there_are_27_shifts():
    assert len(loudly.SHIFTS) == len({shift.name for shift in loudly.SHIFTS}) == 27


def test_shares_of_zeros_are_left_out(digits):
    counts = {}
    for share in (0.1, 0.5, 1.0):
        shift = next(one for one in loudly.SHIFTS if one.without_zeros == share and not one.change)
        X, Y = loudly.shifted_pair(shift, 9_000, 9_000, 1)
        assert not set(read_back(X)[1]) & set(read_back(Y)[1])
        counts[share] = float((read_back(Y)[0] == 0).mean())
    assert counts[1.0] == 0
    assert counts[0.5] == pytest.approx(0.05 / 0.95, abs=0.01)
    assert counts[0.1] == pytest.approx(0.09 / 0.99, abs=0.01)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_shares_of_images_are_changed(digits, share):
    shift = next(one for one in loudly.SHIFTS if one.change == "large noise" and one.share == share)
    _, Y = loudly.shifted_pair(shift, 10, 10_000, 1)
    images = {image.tobytes() for image in digits[0]}
    same = sum(np.rint(255 * image).astype(np.uint8).tobytes() in images for image in Y.numpy())
    assert same == 10_000 - round(share * 10_000)


def test_only_zeros_are_left(digits):
    shift = next(one for one in loudly.SHIFTS if one.only_zeros and one.share == 0.1)
    _, Y = loudly.shifted_pair(shift, 10, 2_000, 1)
    assert 900 < len(Y) < 1_100
    assert (read_back(Y)[0] == 0).mean() > 0.85


def test_a_distortion_of_nothing_changes_nothing():
    image = np.random.default_rng(0).random((28, 28)).astype(np.float32)
    still = loudly._distort(image, 0.0, 0.0, 0.0, 0.0, 0.0, False, False, np.random.default_rng(0))
    np.testing.assert_allclose(still, image, atol=1e-6)


def test_images_are_turned_about_their_center_and_moved():
    spot = np.zeros((29, 29), np.float32)
    spot[14, 14] = 1.0
    draws = np.random.default_rng(0)
    for _ in range(20):
        turned = loudly._distort(spot, 90.0, 0.0, 0.0, 0.1, 0.2, False, False, draws)
        assert np.unravel_index(turned.argmax(), turned.shape) == (14, 14)
        moved = loudly._distort(spot, 0.0, 0.2, 0.1, 0.0, 0.0, False, False, draws)
        rows, columns = np.nonzero(moved)
        assert np.abs(rows - 14).max() <= 29 * 0.1 + 1
        assert np.abs(columns - 14).max() <= 29 * 0.2 + 1


@pytest.fixture
def method(tmp_path):
    """A test in a file: it rejects at even seeds."""
    path = tmp_path / "mine.py"
    path.write_text("def even(X, Y, seed):\n    assert X.shape == Y.shape == (180, 2)\n    return seed % 2 == 0\n")
    return f"{path}:even"


def test_any_function_of_two_samples_can_be_entered(method):
    outcomes = [published.trial("automl_blob_d_180", "even", method, seed, SETTINGS_OF_TESTS) for seed in range(4)]
    assert [one.reject for one in outcomes] == [True, False, True, False]


def test_functions_may_return_pvalues(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def small(X, Y, seed):\n    return 0.04\n")
    found = published.trial("automl_blob_d_180", "small", f"{path}:small", 0, SETTINGS_OF_TESTS)
    assert (found.reject, found.pvalue) == (True, 0.04)


def row(problem="automl_blob_d_180", method="auto", effort="B399 α0.05 aaaaaaaa", decisions=(True, False)):
    power = rate(dict(enumerate(decisions)))
    return {"problem": problem, "m": 180, "n": 180, "method": method, "effort": effort, "title": method, "power": power}


def test_trials_of_one_version_are_joined_and_another_version_takes_their_place():
    known = [row(), row(method="median", effort="B399 α0.05")]
    more = row(decisions=(True, True, True))
    assert published.merged(known, [more])[0]["power"]["rejections"] == 3
    other = row(effort="B399 α0.05 bbbbbbbb", decisions=(False,))
    found = published.merged(known, [other])
    assert [one["power"]["repetitions"] for one in found] == [1, 2]
    assert published.merged(known, [row(problem="unknown")][:0]) == known


def test_the_page_shows_trials_and_published_rates(tmp_path):
    journal = Journal(tmp_path / "trials.jsonl")
    settings = Settings()
    for seed in range(60):
        journal.add(
            published.cell_of("automl_blob_d_180", "auto", settings),
            "power",
            seed,
            reject=seed % 4 > 0,
            pvalue=None,
            seconds=1,
        )
    published.write_page(journal, tmp_path, settings)
    page = (tmp_path / "league.md").read_text(encoding="utf-8")
    assert "| Blob-D | 180 | 60 | **75** <sub>± 6</sub> | 54.6 <sub>± 2</sub> |" in page
    assert all(paper.title in page for paper in PAPERS.values())
    assert all(what in page for what in ABSENT)
    found = json.loads((tmp_path / "league.json").read_text(encoding="utf-8"))
    assert found["published"]["automl_blob_d_180"] == {"AutoML": 0.546}
    # Nothing new: the same page again.
    published.write_page(Journal(tmp_path / "none.jsonl"), tmp_path, settings)
    assert (tmp_path / "league.md").read_text(encoding="utf-8") == page


def test_whole_rounds_of_cases_count(tmp_path):
    journal = Journal(tmp_path / "trials.jsonl")
    cell = published.cell_of("loudly_mnist_10", "auto", Settings())
    for seed in range(30):
        journal.add(cell, "power", seed, reject=True, pvalue=None, seconds=1)
    (found,) = published.rows_of(journal, {})
    assert found["power"]["repetitions"] == 27
    page = published_page.text([found])
    assert "too few repetitions" in page
    assert "| 10 | 27 | 100 | **31.9** <sub>± 4</sub> |" in page  # nothing is compared with few runs


def test_the_page_in_the_docs_is_that_of_its_file():
    docs = Path(__file__).parents[1] / "docs"
    found = json.loads((docs / "league.json").read_text(encoding="utf-8"))
    assert found["published"] == {name: dict(setting.rates) for name, setting in SETTINGS.items()}
    assert (docs / "league.md").read_text(encoding="utf-8") == published_page.text(found["rows"])
