"""The experiments, on problems so small that only their workings are tested."""

from __future__ import annotations

import json

import pytest

from tellapart.experiments import blobs, gans, speed


def test_speed_times_methods_that_agree(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(speed, "REFERENCE", 60)
    monkeypatch.setattr(speed, "SIZES", (30, 60, 120, 240, 480))
    result = speed.run(tmp_path, quick=True)
    assert "kernel included" in capsys.readouterr().out
    assert (tmp_path / "speed.png").stat().st_size > 10_000
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
    monkeypatch.setattr(blobs, "M", 100)
    first = blobs.run(tmp_path, quick=True)
    assert "max t" in capsys.readouterr().out
    assert (tmp_path / "blobs.png").stat().st_size > 10_000
    curves = first["curves"]
    assert curves["best"]["mean"][1] >= max(curves[name]["mean"][1] for name in ("t", "mmd", "power", "median"))
    assert all(0 <= value <= 1 for curve in curves.values() for value in curve["mean"])
    monkeypatch.setattr(blobs, "trial", None)  # what is done is not done again
    assert blobs.run(tmp_path, quick=True) == first


def test_gans_draws_four_models_and_resumes(tmp_path, monkeypatch, capsys):
    small = {"batch_size": 50, "hidden": [16, 32]}
    models = {title: (name, settings | small) for title, (name, settings) in gans.MODELS.items()}
    models["improved GAN"][1].update(labels=100, discriminator=[32])
    monkeypatch.setattr(gans, "MODELS", models)
    monkeypatch.setattr(gans, "DATA", "digits")
    monkeypatch.setattr(gans, "STEPS", {"quick": 20})
    monkeypatch.setattr(gans, "BASELINES", {})
    monkeypatch.setattr(gans, "REPEATED", ("feature matching",))
    first = gans.run(tmp_path, quick=True)
    assert "feature matching" in capsys.readouterr().out
    assert first["held out"]["covered"] == 10
    assert first["held out"]["accuracy"] > 0.9
    for row in first["models"].values():
        assert sum(row["proportions"]) == pytest.approx(1)
        assert 0 <= row["entropy"] <= 2.31
        assert 0.1 <= row["confidence"] <= 1
    assert (tmp_path / "gans.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "gans.json").read_text()) == first
    repeated = gans.run(tmp_path, steps=6)["seeds"]["feature matching"]
    assert [row["settings"]["seed"] for row in repeated] == [0, 1, 2, 3, 4]
    assert [row["settings"]["steps"] for row in repeated] == [2] * 5
    assert "feature matching, seed 4" in capsys.readouterr().out
    monkeypatch.setattr(gans.generative.models.Model, "descend", None)  # what is done is not done again
    assert gans.run(tmp_path, quick=True) == first
