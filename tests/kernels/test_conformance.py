"""What every kernel must do: the suite that a new kernel gets for being registered (see `kernel_cases`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from kernel_cases import CASES, KNOWN, REGISTERED, Case, D, M, N, cases_of, draw, engine_mmd2, full_mmd2, row_numbers
from torch import Tensor

import tellapart as ta
from tellapart import engine, kernels
from tellapart.engine import tiles

every_kernel = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sample makes two blocks, so that whatever passes the engine passes its seams."""
    monkeypatch.setattr(tiles, "TILE_OF_FEW", (16, 16))


def test_every_registered_class_is_tried() -> None:
    """Also those with a formula have examples, which are of the class, for whoever wants some."""
    tried = {type(case.make()) for case in CASES}
    assert set(REGISTERED.values()) <= tried
    for kind in REGISTERED.values():
        assert all(type(example) is kind for example in kind.examples(D))
        assert kind in KNOWN or cases_of(kind)


def test_every_registered_class_can_be_imported_from_the_package() -> None:
    missing = set(REGISTERED) - set(kernels.__all__)
    assert not missing, f"import {', '.join(sorted(missing))} in kernels/__init__.py, and add it to __all__"


@every_kernel
def test_value_is_the_formula(case: Case) -> None:
    x, y = case.points()
    K = case.matrix()
    torch.testing.assert_close(case.make()(x, y), K[:M, M:], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(case.make()(torch.cat([x, y])), K, rtol=1e-12, atol=1e-12)


@every_kernel
def test_symmetric_and_positive_semidefinite(case: Case) -> None:
    K = case.make()(torch.cat(case.points())).detach()
    torch.testing.assert_close(K, K.T, rtol=1e-14, atol=1e-14, msg=lambda text: f"k(x, y) is not k(y, x). {text}")
    eigenvalues = torch.linalg.eigvalsh(K)
    assert eigenvalues.min() >= -1e-13 * eigenvalues.max(), "a negative eigenvalue: k is not positive semi-definite"


@pytest.mark.parametrize("case", [case for case in CASES if case.points is not row_numbers], ids=lambda case: case.name)
@pytest.mark.parametrize("extent", [0.3, 3.0, 30.0])
def test_positive_semidefinite_on_many_points_near_and_far(case: Case, extent: float) -> None:
    """A few points do not show a negative part of the spectrum: those of a lattice, at some spacing, do."""
    side = torch.linspace(-extent, extent, 6, dtype=torch.float64)
    K = case.make()(torch.cartesian_prod(*[side] * D)).detach()
    eigenvalues = torch.linalg.eigvalsh((K + K.T) / 2)
    # Distances by matrix products are precise to the root of the rounding error.
    assert eigenvalues.min() >= -1e-6 * eigenvalues.max(), "a negative eigenvalue: k is not positive semi-definite"


@every_kernel
def test_engine_agrees_with_the_definition(case: Case) -> None:
    x, y = case.points()
    expected = full_mmd2(case.matrix(), M, N)
    assert engine_mmd2(case.make(), x, y) == pytest.approx([expected] * 3, rel=1e-10, abs=1e-14)


@every_kernel
def test_product_with_vectors(case: Case) -> None:
    x, y = case.points()
    weights = draw(N, 2, seed=3)
    found = engine.product(case.make(), x, y, weights)
    torch.testing.assert_close(found, case.matrix()[:M, M:] @ weights, rtol=1e-11, atol=1e-11)


@every_kernel
@pytest.mark.parametrize(
    ("points", "parameters"),
    [(torch.float32, torch.float32), (torch.float32, torch.float64), (torch.float64, torch.float32)],
    ids=["all32", "points32", "kernel32"],
)
def test_float32_and_float64_agree(case: Case, points: torch.dtype, parameters: torch.dtype) -> None:
    """Also where the network is of one type and the data are of the other."""
    x, y = (sample.to(points) for sample in case.points())
    kernel = case.make().to(parameters)
    K = case.matrix()
    size = K.abs().max().item()
    torch.testing.assert_close(kernel(x, y).double(), K[:M, M:], rtol=1e-5, atol=1e-6 * size)
    # Wide kernels are constant but for little, and MMD² must be precise for that little.
    spread = (K - K.mean()).abs().max().item()
    expected = full_mmd2(K, M, N)
    assert engine_mmd2(kernel, x, y) == pytest.approx([expected] * 3, rel=1e-4, abs=1e-5 * spread)
    weights = draw(N, 2, seed=3)
    found = engine.product(kernel, x, y, weights)
    torch.testing.assert_close(found, K[:M, M:] @ weights, rtol=1e-5, atol=1e-5 * size)


def gradients_hold(
    case: Case, kernel: kernels.Kernel, function: Callable[[Tensor, Tensor], Tensor], fast: bool
) -> None:
    """Finite differences; gradcheck moves the parameters in place, where the kernel finds them."""
    rows = M + N if fast else 5
    x, y = (sample[:rows].clone().requires_grad_(case.differentiable) for sample in case.points())
    asked = [t for t in (x, y, *kernel.parameters()) if t.requires_grad]
    if asked:
        assert torch.autograd.gradcheck(
            lambda *_: function(x, y), asked, atol=1e-7, rtol=1e-5, fast_mode=fast, check_undefined_grad=False
        )
        found = torch.autograd.grad(function(x, y), asked)
        assert all(torch.isfinite(gradient).all() for gradient in found)
    elif case.name != "FromFunction, sklearn":
        assert not function(x, y).requires_grad


@every_kernel
@pytest.mark.parametrize("frozen", [False, True], ids=["all", "points"])
def test_gradient_of_the_kernel(case: Case, frozen: bool) -> None:
    kernel = case.make().requires_grad_(not frozen)
    weights = draw(5, 5, seed=8)
    gradients_hold(case, kernel, lambda x, y: (kernel(x, y) * weights).sum(), fast=False)


@every_kernel
@pytest.mark.parametrize(("estimator", "kept"), [("full", True), ("biased", False)], ids=["kept", "two-pass"])
def test_gradient_of_mmd2(case: Case, estimator: str, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kept:
        monkeypatch.setattr(tiles, "KEEP_BYTES", 0)
    kernel = case.make()
    gradients_hold(case, kernel, lambda x, y: ta.mmd2(x, y, kernel, estimator=estimator), fast=True)


@every_kernel
def test_float32_gradient_agrees_with_float64(case: Case) -> None:
    def gradients(dtype: torch.dtype) -> list[Tensor]:
        x, y = (sample.to(dtype).requires_grad_(case.differentiable) for sample in case.points())
        kernel = case.make()
        asked = [t for t in (x, y, *kernel.parameters()) if t.requires_grad]
        return list(torch.autograd.grad(ta.mmd2(x, y, kernel), asked)) if asked else []

    singles, doubles = gradients(torch.float32), gradients(torch.float64)
    scale = max((double.abs().max().item() for double in doubles), default=0)
    for single, double in zip(singles, doubles, strict=True):
        torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-5 * scale)


@every_kernel
def test_all_points_equal(case: Case) -> None:
    if case.points is row_numbers:
        x, y = torch.zeros(5, 1), torch.zeros(6, 1)
    else:
        x, y = torch.full((5, D), 0.7), torch.full((6, D), 0.7)
    x.requires_grad_(case.differentiable)
    kernel = case.make()
    value = ta.mmd2(x, y, kernel)
    assert value.item() == pytest.approx(0, abs=1e-6)
    if value.requires_grad:
        value.backward()
        assert all(t.grad is None or torch.isfinite(t.grad).all() for t in (x, *kernel.parameters()))


@every_kernel
def test_save_and_load(case: Case, tmp_path) -> None:
    kernel, path = case.make(), tmp_path / "kernel.safetensors"
    if not case.saved:
        with pytest.raises(TypeError, match="FromFunction kernel cannot be saved"):
            kernels.save(kernel, path)
        assert list(tmp_path.iterdir()) == []
        return
    kernels.save(kernel, path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    if case.network is not None:
        with pytest.raises(ValueError, match=r"network is of class Waves. .* load\(path, network="):
            kernels.load(path)
    again = kernels.load(path, network=case.network() if case.network else None)
    assert repr(again) == repr(kernel)
    x, y = case.points()
    assert torch.equal(again(x, y), kernel(x, y))
    for old, new in zip(kernel.parameters(), again.parameters(), strict=True):
        assert torch.equal(old, new)
        assert old.requires_grad == new.requires_grad


@every_kernel
def test_read_only_arrays_and_no_writing(case: Case) -> None:
    x, y = case.points()
    arrays = [x.numpy().copy(), y.numpy().copy()]
    for array in arrays:
        array.setflags(write=False)
    kernel = case.make()
    before = {name: value.clone() for name, value in kernel.state_dict().items()}
    tensors = [x.clone(), y.clone()]
    versions = [t._version for t in tensors]

    from_arrays = ta.mmd2(*arrays, kernel)
    from_tensors = ta.mmd2(*tensors, kernel)
    with torch.no_grad():
        kernel(*tensors)
        engine_mmd2(kernel, *tensors)

    assert type(from_arrays) is float
    assert from_arrays == from_tensors.item()
    assert [t._version for t in tensors] == versions
    for original, tensor, array in zip((x, y), tensors, arrays, strict=True):
        assert torch.equal(tensor, original)
        assert np.array_equal(array, original.numpy())
    for name, value in kernel.state_dict().items():
        assert torch.equal(value, before[name])


@every_kernel
def test_repr_names_the_kernel(case: Case) -> None:
    assert type(case.make()).__name__ in repr(case.make())
