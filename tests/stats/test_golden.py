"""Test vectors with 17 digits, values and gradients (`golden.json`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import tellapart as ta
from tellapart.engine import quadratic_forms, sums
from tellapart.stats.formulas import permutation_variance_from

CASES = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text())["cases"]


@pytest.fixture(params=CASES, ids=lambda case: case["name"])
def case(request):
    return request.param


@pytest.fixture
def data(case):
    X, Y = (torch.tensor(case[name], dtype=torch.float64, requires_grad=True) for name in "XY")
    return X, Y, ta.kernels.Gaussian(case["sigma"])


def close(got, expected):
    torch.testing.assert_close(got.detach(), torch.tensor(expected, dtype=torch.float64), rtol=1e-10, atol=1e-10)


def variants(case):
    return ["full", "paired"] if case["m"] == case["n"] else ["full"]


def test_sums(case, data):
    X, Y, kernel = data
    s = sums(kernel, X, Y, additive=False)
    computed = {"trx": s.trace_x, "try": s.trace_y, "Tx": (s.rx * s.rho).sum(), "Ty": (s.ry * s.kap).sum()}
    for name, value in case["sums"].items():
        if value is not None:
            close(computed[name] if name in computed else getattr(s, name.lower()), value)


def test_mmd2(case, data):
    for estimator in ("full", "paired", "biased"):
        if case[f"mmd2_{estimator}"] is not None:
            close(ta.mmd2(*data, estimator=estimator), case[f"mmd2_{estimator}"])


def test_variance_and_t(case, data):
    for estimator in variants(case):
        if case[f"vhat_{estimator}"] is None:
            with pytest.raises(ValueError, match="at least 4 rows"):
                ta.estimate(*data, estimator=estimator)
            continue
        found = ta.estimate(*data, estimator=estimator)
        close(found.variance, case[f"vhat_{estimator}"])
        close(found.second_order, case[f"v2_{estimator}"])
        close(found.positive_variance, case[f"vplus_{estimator}"])
        expected = case[f"t_vplus_{estimator}"]
        close(found.t, 0.0 if expected is None else expected)
        assert found.replaced == (case[f"vhat_{estimator}"] < case[f"v2_{estimator}"])


def test_gradients(case, data):
    X, Y, kernel = data
    for estimator in variants(case):
        if case["m"] < 4:
            continue
        found = ta.estimate(X, Y, kernel, estimator=estimator)
        for value, name in ((found.mmd2, "dmmd2"), (found.variance, "dvhat")):
            (slope,) = torch.autograd.grad(value, kernel.log_bandwidth, retain_graph=True)
            close(slope / case["sigma"], case[f"{name}_dsigma_{estimator}"])
        if case[f"t_{estimator}"] is None:
            continue
        t = found.mmd2 / found.variance.sqrt()
        close(t, case[f"t_{estimator}"])
        of_x, of_y, of_log = torch.autograd.grad(t, [X, Y, kernel.log_bandwidth])
        close(of_x, case[f"dt_dX_{estimator}"])
        close(of_y, case[f"dt_dY_{estimator}"])
        close(of_log / case["sigma"], case[f"dt_dsigma_{estimator}"])


def test_permutation_variance(case, data):
    X, Y, kernel = data
    close(permutation_variance_from(sums(kernel, X, Y)), case["perm_var_full_exact"])


@pytest.mark.parametrize("case", [case for case in CASES if "permutations" in case], ids=lambda case: case["name"])
def test_permutations(case, data):
    X, Y, kernel = data
    m, n, rows = case["m"], case["n"], case["permutations"]
    S = torch.zeros(m + n, len(rows), dtype=torch.uint8)
    for b, row in enumerate(rows):
        S[row["perm"][:m], b] = 1
    got = quadratic_forms(kernel, [X, Y], S)
    within_x, across = got.forms, got.crosses - got.forms
    within_y = got.total - 2 * got.crosses + got.forms
    full = within_x / (m * (m - 1)) + within_y / (n * (n - 1)) - 2 * across / (m * n)
    close(full, [row["mmd2_full"] for row in rows])
