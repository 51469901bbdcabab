"""A moment of `fuzz.py`, and the same damage drawn by Hypothesis, which makes small what it finds."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import fuzz
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUICK = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return fuzz.seeds(tmp_path_factory.mktemp("good"))


@pytest.mark.filterwarnings("ignore")
@QUICK
@given(rng=st.randoms(use_true_random=False))
def test_random_tables(rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert fuzz.attempt(lambda: fuzz.call_tables(Path(folder), rng)) in ("ok", "refused")


@pytest.mark.filterwarnings("ignore")
@QUICK
@given(data=st.data())
def test_damaged_files(good: dict[str, Path], data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(good)))
    rng = data.draw(st.randoms(use_true_random=False))
    with tempfile.TemporaryDirectory() as folder:
        assert fuzz.attempt(lambda: fuzz.call_damaged(name, good[name], Path(folder), rng, b"other")) in (
            "ok",
            "refused",
        )


@pytest.mark.filterwarnings("ignore")
def test_a_moment_of_fuzzing() -> None:
    counts, failures = fuzz.fuzz(3, seed=7)
    assert not failures
    assert sum(counts.values()) >= 1
