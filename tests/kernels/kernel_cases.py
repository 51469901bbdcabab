"""The kernels that the conformance suite tries, in one place.

Every registered class is tried: with the cases below, which know its formula, or else with its own `Kernel.examples`.
So a new kernel gets its tests by being registered; a line in `WITH_FORMULA` also holds it to its formula.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module

import torch
from sklearn.metrics.pairwise import rbf_kernel
from torch import Tensor, nn

import tellapart as ta
from tellapart import engine, kernels
from tellapart.kernels import Gaussian, Laplacian, Matern, RationalQuadratic

D = 3
M, N = 17, 18
Point = Sequence[float]


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
    formula: Callable[[Point, Point], float] | None = None
    points: Callable[[], tuple[Tensor, Tensor]] = in_space
    differentiable: bool = True
    """With respect to points; parameters always are."""
    saved: bool = True
    network: Callable[[], nn.Module] | None = None
    """What `load` asks for."""

    @cache  # noqa: B019
    def matrix(self) -> Tensor:
        """The kernel matrix of all points, x before y, by a loop over pairs."""
        points = torch.cat(self.points())
        formula = self.formula or partial(one_value, self.make().requires_grad_(False))
        return torch.tensor([[formula(p, q) for q in points.tolist()] for p in points.tolist()], dtype=torch.float64)


def one_value(kernel: kernels.Kernel, x: Point, y: Point) -> float:
    """What a kernel without a formula says of a pair of points alone."""
    return kernel(torch.tensor([x], dtype=torch.float64), torch.tensor([y], dtype=torch.float64)).item()


WITH_FORMULA = [
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
    Case(
        "Hamming",
        lambda: kernels.Hamming(1.7),
        lambda x, y: math.exp(-sum(a != b for a, b in zip(x, y, strict=True)) / 1.7),
        differentiable=False,
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


def cases_of(kind: type[kernels.Kernel]) -> list[Case]:
    """The examples of a registered class."""
    count = len(kind.examples(D))
    return [Case(f"{kind.__name__}, example {k}", lambda k=k: kind.examples(D)[k]) for k in range(count)]


# A class in a module that nothing imports is not registered, and would not be tried.
for module in pkgutil.iter_modules(kernels.__path__):
    import_module(f"{kernels.__name__}.{module.name}")

#: The library's own: other tests, and the guide, may have registered more.
REGISTERED = {name: kind for name, kind in kernels.REGISTRY.items() if kind.__module__.startswith("tellapart.")}
KNOWN = {type(case.make()) for case in WITH_FORMULA}
CASES = [*WITH_FORMULA, *(case for kind in REGISTERED.values() if kind not in KNOWN for case in cases_of(kind))]


# --- MMD² by the definition, and by the engine


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
