"""The experiments, on problems so small that only their workings are tested."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart import datasets, generative
from tellapart.experiments import (
    blobs,
    criticism,
    figures,
    footnote,
    gans,
    minimising_t,
    other_images,
    paper,
    planted,
    speed,
    streaming,
    threshold,
    training,
    unlabelled,
)

#: Models that are trained in a moment.
SMALL = {"batch_size": 50, "hidden": [16, 32]}


@pytest.fixture(autouse=True)
def _coarse_figures(monkeypatch, one_thread):
    monkeypatch.setattr(figures, "DPI", 40)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.full)])
def test_speed_times_methods_that_agree(compiled, tmp_path, monkeypatch, capsys):
    if not compiled:  # compilers take longer than all the rest
        monkeypatch.setattr(speed.extra("numba").config, "DISABLE_JIT", True)
        monkeypatch.setattr(speed, "DRAWS", 20)
    monkeypatch.setattr(speed, "REFERENCE", 30)
    monkeypatch.setattr(speed, "EFFORT", {"quick": speed.Effort((15, 30, 60), 2, 0.5, 10.0)})
    for sums in (speed._published_sums, speed._block_sums):
        sums.cache_clear()
    result = speed.run(tmp_path, quick=True)
    for sums in (speed._published_sums, speed._block_sums):
        sums.cache_clear()
    assert "kernel included" in capsys.readouterr().out
    assert "The paper's algorithm takes" in speed.found(result)
    assert (tmp_path / "speed.png").stat().st_size > 1000
    assert json.loads((tmp_path / "speed.json").read_text())["paper"]["seconds"]["one pass"] == 12
    at_reference = [row for row in result["by_threads"] if row["threads"] == 1]
    assert {row["method"] for row in at_reference} == set(speed.METHODS)
    expected = next(row["statistic"] for row in at_reference if row["method"] == "naive")
    for row in at_reference:
        assert row["statistic"] == pytest.approx(expected, rel=1e-3, abs=1e-6), row["method"]
        assert row["seconds"] > 0
        assert 0 < row["pvalue"] <= 1


def test_blobs_writes_its_curves_and_resumes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(blobs, "RATIOS", (1, 6))
    monkeypatch.setattr(blobs, "M", 60)
    monkeypatch.setattr(blobs, "EFFORT", {"quick": (8, 99)})
    first = blobs.run(tmp_path, quick=True)
    assert "max t" in capsys.readouterr().out
    assert (tmp_path / "blobs.png").stat().st_size > 1000
    curves = first["curves"]
    assert f"is worth a rejection rate of {curves['t']['mean'][1]:.2f}" in blobs.found(first)
    assert curves["best"]["mean"][1] >= max(curves[name]["mean"][1] for name in ("t", "mmd", "power", "median"))
    assert all(0 <= value <= 1 for curve in curves.values() for value in curve["mean"])
    monkeypatch.setattr(blobs, "trial", None)  # what is done is not done again
    assert blobs.run(tmp_path, quick=True) == first


@pytest.fixture
def small_gans(monkeypatch):
    models = {title: (name, settings | SMALL, colour) for title, (name, settings, colour) in gans.MODELS.items()}
    models["improved GAN"][1].update(labels=100, discriminator=[32])
    monkeypatch.setattr(gans, "MODELS", models)
    monkeypatch.setattr(gans, "DATA", "digits")
    monkeypatch.setattr(gans, "EVALUATE_EVERY", 10)
    monkeypatch.setattr(gans, "SAMPLES", 300)
    monkeypatch.setattr(training, "LONG", 0.0)


def test_gans_draws_four_models_and_resumes(tmp_path, monkeypatch, capsys, small_gans):
    monkeypatch.setattr(gans, "STEPS", {"quick": 20})
    first = gans.run(tmp_path, quick=True)
    told = capsys.readouterr().out
    assert "feature matching" in told
    assert first["ranking"]["description"] in told
    assert sorted(first["ranking"]["order"]) == sorted(gans.MODELS)
    assert first["held out"]["covered"] == 10
    assert first["held out"]["accuracy"] > 0.9
    for row in first["models"].values():
        assert sum(row["proportions"]) == pytest.approx(1)
        assert 0 <= row["entropy"] <= 2.31
        assert 0.1 <= row["confidence"] <= 1
        assert row["curves"]["step"] == [*range(10, row["iterations"] + 1, 10)]
        assert all(sum(shares) == pytest.approx(1, abs=1e-3) for shares in row["curves"]["shares"])
    assert "After 20 iterations t on held-out digits is" in gans.found(first)
    for name in ("gans.png", "gans-curves.png"):
        assert (tmp_path / name).stat().st_size > 1000
    assert json.loads((tmp_path / "gans.json").read_text()) == first
    monkeypatch.setattr(generative.Model, "descend", None)  # what is done is not done again
    assert gans.run(tmp_path, quick=True) == first
    # What has been taken further than asked for is shown as it is.
    assert gans.run(tmp_path, steps=12)["models"] == first["models"]


def small_criticism(monkeypatch):
    small = {"LEARNED": 100, "SIZES": (20, 60), "DRAWS": {"quick": 3}, "LEARNING": {"steps": 10}, "PERMUTATIONS": 99}
    small["STABILITY"] = 1
    for name, value in small.items():
        monkeypatch.setattr(criticism, name, value)


def test_criticism_trains_tests_and_is_not_done_again(tmp_path, monkeypatch, capsys, small_gans):
    small_criticism(monkeypatch)
    first = criticism.run(tmp_path, quick=True, steps=20)
    out = capsys.readouterr().out
    assert "40 iterations to go, about" in out
    assert "MNIST against improved GAN, 40 iterations" in out
    found = first["models"]["improved GAN"]
    assert set(found["tests"]) == set(criticism.LABELS)
    assert all(set(found["tests"][name]) == {"20", "60"} for name in criticism.LABELS)
    assert found["compared"]["pvalue"] < 0.01  # a model of 40 iterations draws no digits
    assert found["tests"]["ard"]["60"] == {"power": 1, "largest": 0.01, "least": 1}
    assert len(found["weights"]) == 64
    assert "of improved GAN, at α = 0.01" in criticism.found(first)
    for name in ("criticism.png", "criticism-power.png", "criticism.pdf", "criticism.html", "criticism.json"):
        assert (tmp_path / name).stat().st_size > 1000
    monkeypatch.setattr(criticism, "compare", None)  # what is done is not done again
    assert criticism.run(tmp_path, quick=True, steps=20) == first


def test_criticism_of_samples_that_are_real_finds_nothing_to_reject(tmp_path, monkeypatch, small_gans):
    small_criticism(monkeypatch)
    monkeypatch.setattr(criticism, "DRAWS", {"quick": 10})
    rows = generative.load("digits").rows[:300]
    np.save(tmp_path / "real.npy", (rows * 255).round().to(torch.uint8).reshape(-1, 8, 8).numpy())
    found = criticism.run(tmp_path, quick=True, samples=tmp_path / "real.npy")["models"]["real"]
    for name in criticism.LABELS:
        assert found["tests"][name]["60"]["power"] <= 0.2, name
    assert found["iterations"] is None


def test_specks_are_black_pixels_without_a_black_neighbour():
    images = np.zeros((4, 5, 5), np.float32)
    images[1, 2, 2] = 1
    images[2, 0, 0] = images[2, 1, 1] = 1
    images[3, 4, 4] = images[3, 0, 0] = images[3, 0, 1] = 1
    assert criticism.share_with_specks(images) == 0.5
    weights = np.zeros((5, 5))
    weights[4, 4], weights[2, 2] = 3, 1
    first, second = criticism.heaviest_pixels(weights, [images, images[:2]], 2)
    assert first == {"row": 4, "column": 4, "weight": 0.75, "black in data": 0.25, "black in samples": 0}
    assert (second["row"], second["black in samples"]) == (2, 0.5)


def test_criticism_of_samples_that_do_not_fit(tmp_path, monkeypatch, small_gans):
    small_criticism(monkeypatch)
    for images, message in ((np.zeros((300, 5, 5)), "8 × 8 pixels"), (np.zeros((30, 8, 8)), "holds 30 images")):
        np.save(tmp_path / "made.npy", images.astype(np.uint8))
        with pytest.raises(ValueError, match=message):
            criticism.run(tmp_path, quick=True, samples=tmp_path / "made.npy")


def test_planted_defects_are_pointed_to(tmp_path, monkeypatch, capsys):
    images, labels = datasets.digits(labels=True)
    shades = (images * 255).round().astype(np.uint8)
    monkeypatch.setattr(planted.datasets, "mnist", lambda: (shades, labels, None, None))
    monkeypatch.setattr(planted, "ROWS", {"too few ones": 400, "dead column": 200, "turned images": 400, "none": 40})
    monkeypatch.setattr(planted, "REPETITIONS", {"quick": 2})
    monkeypatch.setattr(planted, "COLUMN", 3)
    first = planted.run(tmp_path, quick=True)
    assert "no defect, witness: 2 repetitions" in capsys.readouterr().out
    assert f"{first['dead column']['of the column']} of" in planted.found(first)
    assert first["dead column"]["pvalue"] <= 0.01
    assert first["dead column"]["pixels named"] == first["dead column"]["of the column"] > 3
    assert first["turned images"]["marked"][1] == 0.05
    assert first["too few ones"]["marked"][0] > first["too few ones"]["marked"][1]
    assert (tmp_path / "planted-dead-column.html").stat().st_size > 10_000
    monkeypatch.setattr(planted, "compare", None)  # what is done is not done again
    assert planted.run(tmp_path, quick=True) == first


def test_turning_an_image_four_times_by_90_degrees_changes_nothing():
    images = torch.arange(2 * 28 * 28).reshape(2, 28, 28).remainder(251).to(torch.uint8)
    turned = planted.rotate(images, 90)
    assert torch.equal(turned, images.rot90(-1, (1, 2))) or torch.equal(turned, images.rot90(1, (1, 2)))
    for _ in range(3):
        turned = planted.rotate(turned, 90)
    assert torch.equal(turned, images)


def test_the_threshold_is_weighed_against_t(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(threshold, "SIZES", (10, 20))
    monkeypatch.setattr(threshold, "EFFORT", {"quick": (6, 39)})
    result = threshold.run(tmp_path, quick=True)
    assert "max power" in capsys.readouterr().out
    assert "of 6 cells" in threshold.found(result)
    for sizes in result["worth"].values():
        assert all(one["best"] >= max(one["t"], one["power"], one["mmd"]) for one in sizes.values())
    monkeypatch.setattr(threshold, "trial", None)  # what is done is not done again
    assert threshold.run(tmp_path, quick=True) == result


def test_streaming_needs_more_rows(tmp_path, monkeypatch, capsys):
    kept = {"shift": (*streaming.PROBLEMS["shift"][:3], (1.0, 0.7))}
    monkeypatch.setattr(streaming, "PROBLEMS", kept)
    monkeypatch.setattr(streaming, "EFFORT", {"quick": (12, 39, 2**12)})
    result = streaming.run(tmp_path, quick=True)
    assert "quadratic time" in capsys.readouterr().out
    assert f"slopes of {result['slopes']['shift']['linear']:.2f} and" in streaming.found(result)
    for needed in result["needed"].values():
        assert all(a > b > 0 for a, b in zip(needed["linear"], needed["quadratic"], strict=True))
    monkeypatch.setattr(streaming, "rejects", None)
    assert streaming.run(tmp_path, quick=True) == result


def test_generators_that_minimise_t(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(minimising_t, "SIZES", {"digits": ((16,), 2, 1)})
    kept = ("gmmn", "t", "t_adam", "log_t", "t_v2", "t_biased", "t_adam_schedule", "t_adam_warm", "t_adam_average")
    monkeypatch.setattr(minimising_t, "VARIANTS", {name: minimising_t.VARIANTS[name] for name in (*kept, "gmmn_adam")})
    result = minimising_t.run(tmp_path, steps=2)
    assert set(result["variants"]) == set(minimising_t.VARIANTS)
    assert all(len(found["t"]) == 2 for found in result["variants"].values())
    assert "√MMD² (GMMN)" in capsys.readouterr().out
    assert "By Adam, minimising t ends with" in minimising_t.found(result)
    monkeypatch.setattr(minimising_t, "_descend", None)
    assert minimising_t.run(tmp_path, steps=2) == json.loads((tmp_path / "minimising_t.json").read_text())


def test_a_kernel_learned_against_the_generator(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(footnote, "SEEDS", 2)
    monkeypatch.setattr(footnote, "SETTINGS", {"hidden": [16], "features": [8, 4], "batch_size": 50})
    first = footnote.run(tmp_path, steps=2)
    assert "penalty, slow kernel" in capsys.readouterr().out
    assert all(one["step"] == [1, 2] for found in first["variants"].values() for one in found["runs"])
    assert "0 of 8 runs diverged" in footnote.found(first)
    assert (tmp_path / "footnote.png").stat().st_size > 1000
    monkeypatch.setattr(generative.Model, "descend", None)  # what is done is not done again
    assert footnote.run(tmp_path, steps=2) == first == json.loads((tmp_path / "footnote.json").read_text())


def test_a_run_that_diverges_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(footnote, "SEEDS", 2)
    monkeypatch.setattr(footnote, "VARIANTS", {"wild": ("wild", {"kernel_learning_rate": 1e30})})
    monkeypatch.setattr(footnote, "SETTINGS", {"hidden": [16], "features": [8, 4], "batch_size": 50})
    result = footnote.run(tmp_path, steps=3)
    assert [one["diverged"] for one in result["variants"]["wild"]["runs"]] == [True, True]
    assert "2 of 2 runs diverged" in footnote.found(result)


def test_models_without_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(unlabelled, "RUNS", 2)
    small = {name: given | SMALL | {"discriminator": [16]} for name, given in unlabelled.SMALL.items()}
    monkeypatch.setattr(unlabelled, "SMALL", small)
    first = unlabelled.run(tmp_path, steps=3)
    assert "run 2" in capsys.readouterr().out
    for runs in first["models"].values():
        assert [one["seed"] for one in runs] == [0, 1]
        assert all(sum(one["shares"]) == pytest.approx(1, abs=1e-3) for one in runs)
    assert "of 2 runs have every digit" in unlabelled.found(first)
    monkeypatch.setattr(generative.Model, "descend", None)  # what is done is not done again
    assert unlabelled.run(tmp_path, steps=3) == first == json.loads((tmp_path / "unlabelled.json").read_text())


def test_images_of_other_sizes_and_in_colour(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(other_images, "PATCHES", 600)
    monkeypatch.setattr(other_images, "MODELS", {t: (n, s | SMALL) for t, (n, s) in other_images.MODELS.items()})
    folder = tmp_path / "clothes"
    write_idx_files(folder, np.random.default_rng(0), rows=300)
    result = other_images.run(tmp_path, steps=4, data=str(folder))
    assert "12 × 10" in capsys.readouterr().out
    assert [one["shape"] for one in result["runs"]] == [[12, 10]] * 2 + [[16, 16, 3]] * 2
    assert result["command"].endswith("clothes")
    assert "GMMN on codes on clothes: AUC" in other_images.found(result)
    assert (tmp_path / "other_images.png").stat().st_size > 1000


def write_idx_files(folder, rng, rows):
    """Four idx files of random images of 12 × 10 pixels, as MNIST's are published."""
    folder.mkdir()
    for name, n in (("train", rows), ("t10k", rows // 2)):
        for kind, shape in (("images-idx3", (n, 12, 10)), ("labels-idx1", (n,))):
            head = bytes([0, 0, 8, len(shape)]) + b"".join(side.to_bytes(4, "big") for side in shape)
            content = rng.integers(0, 10 if len(shape) == 1 else 256, shape, dtype=np.uint8).tobytes()
            (folder / f"{name}-{kind}-ubyte").write_bytes(head + content)


def test_idx_files_that_do_not_belong_together(tmp_path):
    folder = tmp_path / "clothes"
    write_idx_files(folder, np.random.default_rng(0), rows=30)
    assert generative.load(str(folder)).shape == (12, 10)
    (folder / "train-labels-idx1-ubyte").write_bytes((folder / "t10k-labels-idx1-ubyte").read_bytes())
    with pytest.raises(ValueError, match="do not belong together"):
        generative.load(str(folder))


def test_the_page_of_the_paper(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper, "SECTIONS", tuple(s for s in paper.SECTIONS if s.name in ("threshold", "gans")))
    monkeypatch.setattr(threshold, "SIZES", (10,))
    monkeypatch.setattr(threshold, "EFFORT", {"quick": (4, 39)})
    assert paper.run(tmp_path, quick=True) == {"sections": ["threshold"], "missing": ["gans"]}
    text = (tmp_path / "paper.md").read_text()
    assert "Command: `tellapart reproduce threshold --quick`" in text
    assert "![§2: when the threshold matters](threshold.png)" in text
    assert "Not run in this folder" in text
    assert "tellapart reproduce gans --out" in capsys.readouterr().out


def test_the_page_in_the_documentation_is_made_of_its_numbers():
    folder = Path(__file__).parents[2] / "docs" / "paper"
    assert (folder / "paper.md").read_text() == paper.page(paper.read_results(folder))
    for section in paper.SECTIONS:
        if (folder / f"{section.key}.json").exists():
            assert all((folder / f"{name}.png").exists() for name in section.figures or (section.key,))
