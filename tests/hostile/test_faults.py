"""A small share of `faults.py`: kills, full disks, interrupts and races."""

from __future__ import annotations

from pathlib import Path

import faults
import pytest

SHARES = {"kills of train": 0.03, "kills of a report": 0.1, "full disks": 0.1, "interrupts": 0.02, "races": 0.1}


@pytest.mark.serial
@pytest.mark.parametrize("name", SHARES)
def test_nothing_is_lost(name: str, tmp_path: Path) -> None:
    faults.run(name, SHARES[name], tmp_path)


@pytest.mark.full
@pytest.mark.serial
def test_workers_and_schedulers_that_are_killed(tmp_path: Path) -> None:
    faults.run("dask", 0.1, tmp_path)
