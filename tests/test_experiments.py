"""The experiments, on problems so small that only their workings are tested."""

from __future__ import annotations

import json

import pytest

from tellapart.experiments import speed


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
