"""The recipes of docs/how-to/tracking.md, run offline with MLflow and Weights & Biases."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "tracking.md").read_text(encoding="utf-8")


@pytest.fixture
def names(tmp_path, monkeypatch, one_thread):
    """What the recipes find: a comparison, and the function that the page defines."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    found = {"c": ta.compare(rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + np.array([0, 1]), rng=0)}
    example = re.search(r">>> (def metrics.*?\n)((?:\.\.\. .*\n)+)", PAGE)
    exec(example[1] + "".join(line[4:] + "\n" for line in example[2].splitlines()), found)
    return found


def recipe(package):
    (code,) = re.findall(rf"```python\n(import {package}\n.*?)```", PAGE, re.DOTALL)
    return code


@pytest.mark.filterwarnings("ignore")  # of MLflow, about itself
def test_mlflow(names, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    exec(recipe("mlflow"), names)
    run = mlflow.last_active_run()
    assert run.data.metrics["tellapart/pvalue"] == names["c"].pvalue == 0.001
    assert run.data.params["columns"] == "['1']"
    (report,) = tmp_path.rglob("artifacts/report.html")
    assert report.stat().st_size > 10_000


def test_weights_and_biases(names, tmp_path):
    """In a process of its own: wandb starts a server, which outlives the test."""
    c = names["c"]
    stand_in = f"""
class c:
    pvalue, auc, differing_columns = {c.pvalue}, {c.auc}, [1]
    def to_html(path):
        open(path, "w").write("<p>the report</p>")
def metrics(c):
    return {names["metrics"](c)}
"""
    quiet = {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    quiet |= {f"WANDB_{name}": str(tmp_path) for name in ("DIR", "CACHE_DIR", "CONFIG_DIR", "DATA_DIR")}
    code = stand_in + recipe("wandb")
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (stored,) = tmp_path.rglob("run-*.wandb")
    assert b"tellapart/pvalue" in stored.read_bytes()
    (report,) = tmp_path.rglob("media/html/report*.html")
    assert "the report" in report.read_text()
