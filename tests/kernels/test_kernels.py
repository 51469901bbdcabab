"""One conformance suite for all kernels: a new kernel gets its tests by a line in `CASES`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import rbf_kernel
from torch import Tensor, nn

import tellapart as ta
from tellapart import engine, kernels
from tellapart.engine import tiles
from tellapart.kernels import Gaussian, Laplacian, Matern, RationalQuadratic

D = 3
M, N = 17, 18
Point = Sequence[float]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sample makes two blocks, so that whatever passes the engine passes its seams."""
    monkeypatch.setattr(tiles, "TILE_OF_FEW", (16, 16))


# --- Points, with duplicates within and between the samples


def draw(rows: int, columns: int, seed: int) -> Tensor:
    return torch.randn(rows, columns, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def in_space() -> tuple[Tensor, Tensor]:
    x, y = draw(M, D, seed=0), draw(N, D, seed=1) + 0.5
    x[1] = y[0] = x[0]
    y[2] = y[1]
    y[3, 0] = x[2, 0]
    return x, y


def row_numbers() -> tuple[Tensor, Tensor]:
    x, y = torch.arange(M).double()[:, None], torch.arange(M, M + N).double()[:, None]
    x[1] = y[0] = x[0]
    return x, y


# --- The formulas of the docstrings once more, in plain Python


def square(x: Point, y: Point) -> float:
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def dot(x: Point, y: Point) -> float:
    return sum(a * b for a, b in zip(x, y, strict=True))


def gaussian(x: Point, y: Point, bandwidth: float) -> float:
    return math.exp(-square(x, y) / (2 * bandwidth**2))


def laplacian(x: Point, y: Point, bandwidth: float) -> float:
    return math.exp(-sum(abs(a - b) for a, b in zip(x, y, strict=True)) / bandwidth)


def matern(x: Point, y: Point, bandwidth: float, nu: float) -> float:
    s = math.sqrt(2 * nu * square(x, y)) / bandwidth
    return {0.5: 1, 1.5: 1 + s, 2.5: 1 + s + s * s / 3}[nu] * math.exp(-s)


def rational_quadratic(x: Point, y: Point, bandwidth: float, alpha: float) -> float:
    return (1 + square(x, y) / (2 * alpha * bandwidth**2)) ** -alpha


def polynomial(x: Point, y: Point, degree: int, gamma: float, coef0: float) -> float:
    return (gamma * dot(x, y) + coef0) ** degree


SCALES = [0.3, 1.0, 2.5]


def ard(x: Point, y: Point, bandwidth: float) -> float:
    return math.exp(-sum((s * (a - b)) ** 2 for s, a, b in zip(SCALES, x, y, strict=True)) / (2 * bandwidth**2))


def witness_of(x: Point) -> float:
    points = in_space()[0][:3].tolist()
    return sum(w * gaussian(x, p, 1.3) for w, p in zip((1.0, -2.0, 0.5), points, strict=True))


WIDTHS = [D, 4, 2]


def weights_of_layer(k: int) -> tuple[list[list[float]], list[float]]:
    rows = [[math.sin(1 + k + 3 * i + 5 * j) for j in range(WIDTHS[k])] for i in range(WIDTHS[k + 1])]
    return rows, [math.cos(k + i) for i in range(WIDTHS[k + 1])]


def mlp() -> kernels.MLP:
    network = kernels.MLP(WIDTHS).double()
    for k, layer in enumerate(layer for layer in network if isinstance(layer, nn.Linear)):
        rows, bias = weights_of_layer(k)
        layer.weight.data.copy_(torch.tensor(rows, dtype=torch.float64))
        layer.bias.data.copy_(torch.tensor(bias, dtype=torch.float64))
    return network


def mlp_of(x: Point) -> Point:
    for k in range(2):
        rows, bias = weights_of_layer(k)
        x = [dot(row, x) + b for row, b in zip(rows, bias, strict=True)]
        x = [math.log1p(math.exp(value)) for value in x] if k == 0 else x
    return x


class Waves(nn.Module):
    """A network that `load` cannot remake."""

    def __init__(self, frequency: float = 1.0) -> None:
        super().__init__()
        self.frequency = nn.Parameter(torch.tensor(frequency, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([torch.sin(self.frequency * x), x], 1)


def waves_of(x: Point, frequency: float) -> Point:
    return [math.sin(frequency * a) for a in x] + list(x)


@cache
def psd_matrix() -> Tensor:
    root = draw(M + N, 5, seed=2)
    return root @ root.T


def torch_cauchy(x: Tensor, y: Tensor) -> Tensor:
    return 1 / (1 + (x[:, None] - y).square().sum(-1))


# --- The list


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], kernels.Kernel]
    formula: Callable[[Point, Point], float]
    points: Callable[[], tuple[Tensor, Tensor]] = in_space
    differentiable: bool = True
    """With respect to points; parameters always are."""
    saved: bool = True
    network: Callable[[], nn.Module] | None = None
    """What `load` asks for."""

    @cache  # noqa: B019
    def matrix(self) -> Tensor:
        """The kernel matrix of all points, x before y, by a loop over pairs."""
        points = torch.cat(self.points()).tolist()
        return torch.tensor([[self.formula(p, q) for q in points] for p in points], dtype=torch.float64)


CASES = [
    Case("Gaussian", lambda: Gaussian(1.3), lambda x, y: gaussian(x, y, 1.3)),
    Case("Gaussian, wide", lambda: Gaussian(30.0), lambda x, y: gaussian(x, y, 30.0)),
    Case("Laplacian", lambda: Laplacian(2.1), lambda x, y: laplacian(x, y, 2.1)),
    Case("Laplacian, wide", lambda: Laplacian(70.0), lambda x, y: laplacian(x, y, 70.0)),
    Case("Matern 1/2", lambda: Matern(1.4, nu=0.5), lambda x, y: matern(x, y, 1.4, 0.5)),
    Case("Matern 3/2", lambda: Matern(1.4, nu=1.5), lambda x, y: matern(x, y, 1.4, 1.5)),
    Case("Matern 3/2, wide", lambda: Matern(30.0, nu=1.5), lambda x, y: matern(x, y, 30.0, 1.5)),
    Case("Matern 5/2", lambda: Matern(1.4, nu=2.5), lambda x, y: matern(x, y, 1.4, 2.5)),
    Case(
        "RationalQuadratic",
        lambda: RationalQuadratic(0.9, alpha=1.7),
        lambda x, y: rational_quadratic(x, y, 0.9, 1.7),
    ),
    Case("Linear", lambda: kernels.Linear(), dot),
    Case("Polynomial 2", lambda: kernels.Polynomial(2), lambda x, y: polynomial(x, y, 2, 1 / D, 1.0)),
    Case(
        "Polynomial 3",
        lambda: kernels.Polynomial(3, gamma=0.4, coef0=0.7),
        lambda x, y: polynomial(x, y, 3, 0.4, 0.7),
    ),
    Case("sum", lambda: Gaussian(1.3) + kernels.Linear(), lambda x, y: gaussian(x, y, 1.3) + dot(x, y)),
    Case(
        "product",
        lambda: Gaussian(1.3) * Laplacian(4.0),
        lambda x, y: gaussian(x, y, 1.3) * laplacian(x, y, 4.0),
    ),
    Case(
        "product, wide",
        lambda: Gaussian(30.0) * Laplacian(70.0),
        lambda x, y: gaussian(x, y, 30.0) * laplacian(x, y, 70.0),
    ),
    Case(
        "product of a mixture, wide",
        lambda: kernels.Mixture([20.0, 40.0]) * Gaussian(30.0),
        lambda x, y: (gaussian(x, y, 20.0) + gaussian(x, y, 40.0)) * gaussian(x, y, 30.0),
    ),
    Case("number times kernel", lambda: 2.5 * Matern(1.4), lambda x, y: 2.5 * matern(x, y, 1.4, 1.5)),
    Case(
        "sum of products",
        lambda: 0.5 * (Gaussian(1.0) * kernels.Polynomial(2)) + RationalQuadratic(2.0),
        lambda x, y: 0.5 * gaussian(x, y, 1.0) * polynomial(x, y, 2, 1 / D, 1.0) + rational_quadratic(x, y, 2.0, 1.0),
    ),
    Case(
        "Mixture",
        lambda: kernels.Mixture([0.5, 1.0, 4.0]),
        lambda x, y: sum(gaussian(x, y, b) for b in (0.5, 1.0, 4.0)),
    ),
    Case("ARD", lambda: kernels.ARD(D, 1.2, scales=SCALES), lambda x, y: ard(x, y, 1.2)),
    Case(
        "Witness",
        lambda: kernels.Witness(Gaussian(1.3), in_space()[0][:3], torch.tensor([1.0, -2.0, 0.5])),
        lambda x, y: witness_of(x) * witness_of(y),
    ),
    Case("Deep", lambda: kernels.Deep(mlp(), Gaussian(0.8)), lambda x, y: gaussian(mlp_of(x), mlp_of(y), 0.8)),
    Case(
        "Deep, safe",
        lambda: kernels.Deep(mlp(), Gaussian(0.8), original=Laplacian(3.0), epsilon=0.2),
        lambda x, y: (0.8 * gaussian(mlp_of(x), mlp_of(y), 0.8) + 0.2) * laplacian(x, y, 3.0),
    ),
    Case(
        "Deep, own network",
        lambda: kernels.Deep(Waves(1.5), Matern(2.0, nu=2.5)),
        lambda x, y: matern(waves_of(x, 1.5), waves_of(y, 1.5), 2.0, 2.5),
        network=Waves,
    ),
    Case(
        "Precomputed",
        lambda: kernels.Precomputed(psd_matrix()),
        lambda x, y: psd_matrix()[int(x[0]), int(y[0])].item(),
        points=row_numbers,
        differentiable=False,
    ),
    Case(
        "FromFunction, torch",
        lambda: kernels.FromFunction(torch_cauchy),
        lambda x, y: 1 / (1 + square(x, y)),
        saved=False,
    ),
    Case(
        "FromFunction, sklearn",
        lambda: kernels.FromFunction(partial(rbf_kernel, gamma=0.4)),
        lambda x, y: math.exp(-0.4 * square(x, y)),
        differentiable=False,
        saved=False,
    ),
]
every_kernel = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def full_mmd2(K: Tensor, m: int, n: int) -> float:
    """The definition: means over pairs of different points."""
    xx, yy, xy = K[:m, :m], K[m:, m:], K[:m, m:]
    within = (xx.sum() - xx.trace()) / (m * (m - 1)) + (yy.sum() - yy.trace()) / (n * (n - 1))
    return (within - 2 * xy.mean()).item()


def engine_mmd2(kernel: kernels.Kernel, x: Tensor, y: Tensor) -> list[float]:
    """MMD² by each of the engine's reductions (MATHS §1, §4, §5)."""
    m, n = len(x), len(y)
    label = torch.cat([torch.ones(m), torch.zeros(n)])
    forms = engine.quadratic_forms(kernel, [x, y], label[:, None])
    total = forms.total.item()
    centred = forms.forms.item() + 2 * (m - 1) / (m + n - 2) * (m * total / (2 * (m + n - 1)) - forms.crosses.item())
    scale = 1 / (m * (m - 1)) + 1 / (n * (n - 1)) + 2 / (m * n)
    bins = engine.bin_sums(kernel, [x, y], 1 - label.long(), 2)
    binned = bins[0, 0] / (m * (m - 1)) + bins[1, 1] / (n * (n - 1)) - 2 * bins[0, 1] / (m * n)
    return [ta.mmd2(x, y, kernel).item(), scale * centred, binned.item()]


# --- What every kernel must do


@every_kernel
def test_value_is_the_formula(case: Case) -> None:
    x, y = case.points()
    K = case.matrix()
    torch.testing.assert_close(case.make()(x, y), K[:M, M:], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(case.make()(torch.cat([x, y])), K, rtol=1e-12, atol=1e-12)


@every_kernel
def test_symmetric_and_positive_semidefinite(case: Case) -> None:
    K = case.make()(torch.cat(case.points())).detach()
    torch.testing.assert_close(K, K.T, rtol=1e-14, atol=1e-14)
    eigenvalues = torch.linalg.eigvalsh(K)
    assert eigenvalues.min() >= -1e-13 * eigenvalues.max()


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
        with pytest.raises(ValueError, match=r"network of class Waves: give one as load\(path, network="):
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


# --- Bandwidths


def test_the_convention_for_bandwidths() -> None:
    """|x - y| = 5 and bandwidth 2: exp(-25 / 8)."""
    points = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=torch.float64)
    assert Gaussian(2.0)(points)[0, 1].item() == pytest.approx(0.04393693362340742, rel=1e-15)
    assert ta.mmd2([0.0, 0.0], [2.0, 2.0], Gaussian(2.0)) == pytest.approx(2 - 2 * 0.6065306597126334, rel=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "family",
    [Gaussian, Laplacian, Matern, partial(Matern, nu=0.5), RationalQuadratic],
    ids=["Gaussian", "Laplacian", "Matern", "Matern12", "RQ"],
)
@pytest.mark.parametrize("bandwidths", [[0.5, 1.0, 3.0], [1e-3, 0.7, 100.0], [2.0]])
def test_grid_is_each_bandwidth_alone(
    bandwidths: list[float], family: Callable[[float], kernels.Stationary], dtype: torch.dtype
) -> None:
    x, y = (sample.to(dtype) for sample in in_space())
    rtol = 1e-4 if dtype == torch.float32 else 1e-11
    with torch.no_grad():
        together = engine.sums(kernels.Grid(bandwidths, family), x, y)
        for k, bandwidth in enumerate(bandwidths):
            alone = engine.sums(family(bandwidth), x, y)
            for name in ("rx", "ry", "rho", "kap", "fxx", "fyy", "fxy", "trace_x", "trace_y"):
                found, expected = getattr(together, name), getattr(alone, name)
                found = found if len(bandwidths) == 1 else found[k]
                # Where a kernel is nearly constant, sums are of k - 1, and 0 on the diagonal but for rounding.
                size = (alone.rx if name.startswith("trace") else expected).abs().max().item()
                torch.testing.assert_close(found, expected, rtol=rtol, atol=rtol * size)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "family",
    [
        Gaussian,
        Laplacian,
        partial(Matern, nu=0.5),
        Matern,
        partial(Matern, nu=2.5),
        RationalQuadratic,
        partial(RationalQuadratic, alpha=30.0),
        lambda bandwidth: kernels.Mixture([bandwidth, 3 * bandwidth]),
        lambda bandwidth: kernels.ARD(1, bandwidth),
    ],
    ids=["Gaussian", "Laplacian", "Mat12", "Mat32", "Mat52", "RQ", "RQ-30", "Mixture", "ARD"],
)
def test_no_denormal_numbers(family: Callable[[float], kernels.Kernel], dtype: torch.dtype) -> None:
    """They make a processor slow. Distances from 0.1 to 3000 bandwidths, densely."""
    x = torch.cat([torch.zeros(1, dtype=dtype), torch.logspace(-1, 3.5, 150, dtype=dtype)])[:, None]
    tiny = torch.finfo(dtype).tiny
    for bandwidth in (1e-6, 1.0):
        kernel = family(bandwidth)
        with torch.no_grad():
            K = kernel(x * bandwidth)
        for tile in (K, kernel(x * bandwidth).detach()):
            assert torch.isfinite(tile).all()
            denormal = (tile != 0) & (tile.abs() < tiny)
            assert not denormal.any(), f"{int(denormal.sum())} of {tile.numel()}"


def test_data_far_from_the_origin() -> None:
    """float32 has 7 digits, and none may be lost to the distance from 0."""
    x, y = (sample.float() + 4096 for sample in in_space())
    expected = Gaussian(1.3)(x.double(), y.double())
    torch.testing.assert_close(Gaussian(1.3)(x, y), expected.float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [lambda: kernels.Polynomial(2) + Gaussian(1.3), lambda: kernels.Polynomial(2) * Gaussian(1.3)],
    ids=["sum", "product"],
)
def test_parts_with_plans_of_different_types(make: Callable[[], kernels.Kernel]) -> None:
    """Far from 0, Polynomial asks for float64 where Gaussian does not."""
    x, y = (sample.float() + 64 for sample in in_space())
    expected = full_mmd2(make()(torch.cat([x, y]).double()).detach(), M, N)
    assert engine_mmd2(make(), x, y) == pytest.approx([expected] * 3, rel=1e-4)
    weights = draw(N, 2, seed=3)
    found = engine.product(make(), x, y, weights)
    torch.testing.assert_close(found, (make()(x.double(), y.double()) @ weights).detach(), rtol=1e-4, atol=1e-2)


def test_a_far_cluster_that_no_plan_has_seen() -> None:
    """Plans look at some rows only; distances between the others must be right too."""
    x = draw(1000, 2, seed=7).float()
    x[1:6] += 3000
    weights = torch.zeros(1000, 1, dtype=torch.float64)
    weights[1:6] = 1
    found, expected = (engine.product(Gaussian(1.0), points, points, weights) for points in (x, x.double()))
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("make", [Gaussian, partial(kernels.ARD, D), Laplacian, Matern, RationalQuadratic])
def test_gradient_of_a_wide_bandwidth_keeps_its_precision(make: Callable[[float], kernels.Kernel]) -> None:
    """float32 tiles of k - 1 know the slope as well as the value (MATHS §2)."""

    def slope(dtype: torch.dtype) -> float:
        kernel = make(1000.0)
        x, y = (sample.to(dtype) for sample in in_space())
        ta.mmd2(x, y, kernel).backward()
        return kernel.log_bandwidth.grad.item()

    assert slope(torch.float32) == pytest.approx(slope(torch.float64), rel=1e-4)


# --- Combining


def test_combinations_keep_parts_and_weights() -> None:
    x, y = in_space()
    k, q = Gaussian(1.0), Laplacian(2.0)
    torch.testing.assert_close((3 * k + q * 2)(x, y), 3 * k(x, y) + 2 * q(x, y))
    torch.testing.assert_close((k * q * 0.5)(x, y), 0.5 * k(x, y) * q(x, y))


def test_a_kernel_twice_in_a_combination_can_be_saved(tmp_path) -> None:
    k = Gaussian(1.3)
    x, y = in_space()
    kernels.save(k * k, tmp_path / "k.safetensors")
    assert torch.equal(kernels.load(tmp_path / "k.safetensors")(x, y), (k * k)(x, y))


def test_load_fills_a_network_without_layers(tmp_path) -> None:
    """An empty nn.Sequential is a network too, though it counts as false."""
    k, (x, y) = kernels.Deep(nn.Sequential(), Gaussian(1.3)), in_space()
    kernels.save(k, tmp_path / "k.safetensors")
    again = kernels.load(tmp_path / "k.safetensors", network=nn.Sequential())
    assert torch.equal(again(x, y), k(x, y))


def test_load_names_a_file_that_is_no_kernel(tmp_path) -> None:
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"other.safetensors .* not a kernel written by"):
        kernels.load(tmp_path / "other.safetensors")


def test_networks_see_images_as_images() -> None:
    network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
    images = draw(5, 64, seed=4).float().view(5, 1, 8, 8)
    assert kernels.Deep(network)(images).shape == (5, 5)


def test_batch_normalisation_is_fine_in_evaluation_mode() -> None:
    network = nn.Sequential(nn.Linear(D, 4), nn.BatchNorm1d(4)).double()
    x, y = in_space()
    kernel = kernels.Deep(network.eval(), Gaussian(1.0))
    torch.testing.assert_close(kernel(x, y)[:2, :2], kernel(x[:2], y[:2]), rtol=1e-12, atol=0)


# --- Second derivatives


@pytest.mark.parametrize("kernel", [Gaussian(1.3), kernels.ARD(D, 1.2, SCALES), Laplacian(2.1)], ids=repr)
def test_second_derivatives_are_right_or_refused(kernel: kernels.Kernel) -> None:
    """A gradient penalty differentiates a gradient with respect to points by the parameters."""
    x, y = draw(3, D, seed=5).requires_grad_(), draw(4, D, seed=6)

    def penalty() -> Tensor:
        (slope,) = torch.autograd.grad(kernel(x, y).sum(), x, create_graph=True)
        return slope.square().sum()

    try:
        assert torch.autograd.gradcheck(lambda *_: penalty(), [x, *kernel.parameters()])
    except RuntimeError as refusal:
        if "once_differentiable" not in str(refusal) and "not implemented" not in str(refusal):
            raise


# --- Errors say what is wrong


X, Y = in_space()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gaussian(0.0), ValueError, r"bandwidth must be positive and finite, but is 0\.0"),
        (lambda: Laplacian(-1.0), ValueError, r"bandwidth must be positive and finite, but is -1\.0"),
        (lambda: Matern(math.nan), ValueError, "bandwidth must be positive and finite, but is nan"),
        (lambda: RationalQuadratic(math.inf), ValueError, "bandwidth must be positive and finite, but is inf"),
        (lambda: RationalQuadratic(1.0, alpha=0.0), ValueError, r"alpha must be positive and finite, but is 0\.0"),
        (lambda: Gaussian([1.0, 2.0]), ValueError, "bandwidth must be one number.* ARD.* Mixture"),
        (lambda: Matern(1.0, nu=2.0), ValueError, r"nu must be 0\.5, 1\.5 or 2\.5, but is 2\.0"),
        (lambda: kernels.Mixture([]), ValueError, "bandwidths must be a list of numbers"),
        (lambda: kernels.Mixture([1.0, -2.0]), ValueError, r"bandwidths must be positive.* \[1\.0, -2\.0\]"),
        (lambda: kernels.Mixture(2.0), ValueError, "bandwidths must be a list of numbers"),
        (lambda: kernels.Grid([]), ValueError, "bandwidths must be a list of numbers"),
        (lambda: kernels.Grid([0.0, 1.0]), ValueError, r"bandwidths must be positive.* \[0\.0, 1\.0\]"),
        (lambda: kernels.ARD(0), ValueError, "d must be the number of coordinates, but is 0"),
        (lambda: kernels.ARD(3, scales=[1.0, 2.0]), ValueError, r"scales must be one number or 3.*\(2,\)"),
        (lambda: kernels.ARD(3, scales=[1.0, 2.0, 0.0]), ValueError, "scales must be positive and finite"),
        (lambda: kernels.ARD(2)(X), ValueError, r"ARD\(2\) does not fit data with 3 coordinates"),
        (lambda: ta.mmd2(X, Y, kernels.ARD(4)), ValueError, r"ARD\(4\) does not fit data with 3 coordinates"),
        (lambda: kernels.Polynomial(0), ValueError, "degree must be a whole number from 1 up, but is 0"),
        (lambda: kernels.Polynomial(1.5), ValueError, r"degree must be a whole number from 1 up, but is 1\.5"),
        (lambda: kernels.Polynomial(2, gamma=-1.0), ValueError, r"gamma must be positive, but is -1\.0"),
        (lambda: kernels.Polynomial(2, gamma=math.nan), ValueError, "gamma must be positive, but is nan"),
        (lambda: kernels.Polynomial(2, coef0=-1.0), ValueError, r"coef0 must not be negative.* -1\.0"),
        (lambda: 0 * Gaussian(1.0), ValueError, r"weights must be positive and finite, but is \[0\.0\]"),
        (lambda: -1.5 * Gaussian(1.0), ValueError, r"weights must be positive and finite, but is \[-1\.5\]"),
        (lambda: Gaussian(1.0) + 1, TypeError, "unsupported operand"),
        (lambda: kernels.Sum([]), ValueError, "Sum needs at least one kernel"),
        (lambda: kernels.Sum([Gaussian(1.0), Gaussian(2.0)], [3.0]), ValueError, "weights"),
        (lambda: kernels.Product([]), ValueError, "Product needs at least one kernel"),
        (lambda: kernels.MLP([3]), ValueError, r"widths must name at least the input and the output.* \[3\]"),
        (lambda: kernels.Deep(torch.sin), TypeError, "network must be a torch nn.Module, but is of type builtin"),
        (lambda: kernels.Deep(mlp(), epsilon=1.0), ValueError, r"epsilon must be between 0 and 1, but is 1\.0"),
        (
            lambda: kernels.Deep(nn.Sequential(nn.Linear(D, 4), nn.BatchNorm1d(4)))(X),
            ValueError,
            r"batch normalisation in training mode.* LayerNorm.*\.eval\(\)",
        ),
        (lambda: kernels.Precomputed([[1.0, 2.0]]), ValueError, r"matrix must be square, but has shape \(1, 2\)"),
        (lambda: kernels.Precomputed([[1.0, 0.5], [0.4, 1.0]]), ValueError, r"must be symmetric.*K \+ K\.T"),
        (lambda: kernels.Precomputed([[1.0, math.nan], [0.4, 1.0]]), ValueError, "matrix has 1 NaN"),
        (lambda: kernels.Precomputed(np.eye(3))(torch.tensor([[3]])), ValueError, "row numbers.* from 0 to 2"),
        (lambda: ta.mmd2([0, 1.5], [0, 1], kernels.Precomputed(np.eye(3))), ValueError, "row numbers"),
        (lambda: ta.mmd2([0, -1], [0, 1], kernels.Precomputed(np.eye(3))), ValueError, "row numbers"),
        (lambda: kernels.FromFunction(3), TypeError, "function must be callable on two blocks.* int"),
        (lambda: ta.mmd2(X, Y, lambda x, y: x @ (y + 1).T), ValueError, r"not symmetric: k\(x, y\) must equal"),
        (lambda: ta.mmd2(X, Y, lambda x, y: (x @ y.T)[:, :1]), ValueError, r"must return a 35 × 18 .*\(35, 1\)"),
        (lambda: ta.mmd2(X, Y, lambda x, y: (x * x).sum(1)), ValueError, r"must return a 35 × 18 .*\(35,\)"),
        (lambda: ta.mmd2(X, Y, lambda x, y: x @ y.T * math.nan), ValueError, "NaN"),
        (lambda: ta.mmd2(X, Y, Gaussian), TypeError, r"kernel object, but is the class Gaussian: write Gaussian\("),
        (lambda: ta.mmd2(X, Y, "rbf"), TypeError, "kernel must be a kernel such as .* but is of type str"),
        (lambda: kernels.save(kernels.Grid([1.0]), "never.safetensors"), TypeError, "Grid kernel cannot be saved"),
        (
            lambda: ta.mmd2(X.clone().requires_grad_(), Y, kernels.Grid([1.0, 2.0])),
            TypeError,
            "Expected a single kernel, got a Grid of 2",
        ),
    ],
)
def test_errors(make: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
