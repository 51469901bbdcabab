"""`import tellapart`: everything is there, and nothing heavy until it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tellapart as ta
from tellapart.cli import COMMANDS


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ta.__all__)
def test_every_public_name_is_there_after_import_tellapart(name):
    assert getattr(ta, name) is not None
    assert name in dir(ta)


def test_dir_has_the_promised_names_and_no_internal_packages():
    tests = "two_sample_test k_sample_test compare rank mmd_test learned_test equivalence_test plan Reference"
    others = "read InputError mmd2 mmd2_variance t_statistic estimate select_bandwidth fit_kernel __version__"
    modules = "kernels nulls losses features datasets plots results testing generative"
    assert set(dir(ta)) == {*tests.split(), *others.split(), *modules.split()}


def test_the_public_modules_can_be_imported_from():
    from tellapart.datasets import blobs
    from tellapart.losses import MMDLoss
    from tellapart.nulls import Permutation

    assert (ta.losses.MMDLoss, ta.datasets.blobs, ta.nulls.Permutation) == (MMDLoss, blobs, Permutation)
    exec("from tellapart import *", names := {})
    assert set(ta.__all__) <= set(names)


def test_nulls_are_those_of_stats():
    from tellapart.stats import nulls

    assert all(getattr(ta.nulls, name) is getattr(nulls, name) for name in nulls.__all__)


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'tellapart' has no attribute 'nonsense'"):
        ta.nonsense  # noqa: B018
    with pytest.raises(ImportError):
        from tellapart import nonsense  # noqa: F401


@pytest.mark.parametrize("code", ["import tellapart; dir(tellapart)", "import tellapart.cli"])
def test_neither_torch_nor_numpy_is_imported_before_it_is_used(code):
    loaded = python(f"import sys; {code}; print(*sys.modules)").split()
    assert "tellapart" in loaded
    assert not {"torch", "numpy", "safetensors", "tqdm"} & set(loaded)


HELPED = """
import sys
from tellapart.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    print("loaded", *sys.modules)
"""


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_does_not_import_torch(command):
    words = [sys.executable, "-c", HELPED, *filter(None, [command]), "--help"]
    shown, loaded = subprocess.run(words, capture_output=True, text=True).stdout.rsplit("loaded", 1)
    assert "usage: tellapart" in shown
    assert not {"torch", "numpy"} & set(loaded.split()), "import what is slow in run(), not at the top of the module"
