"""Results of tests: what was found, and with which kernel."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch

from .._util.schema import stamp
from .._util.shown import Shown
from ..kernels import Kernel
from ..learning import History
from ..learning.splits import Split
from ..stats.pvalues import COMBINATIONS, critical_value, rejects


@dataclass(frozen=True, eq=False)
class TestResult(Shown):
    """The outcome of `mmd_test` or `witness_test`. Unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    statistic, statistic_name
        The unbiased estimate of MMD² (for ``null="paired"`` the paired one); or the difference of means of a witness.
    pvalue
        The p-value: at least `min_pvalue`, never 0.
    min_pvalue
        The smallest p-value that this test can give: by the number of draws, and by that of distinct relabellings.
    null_distribution
        The statistic under relabelling (or, for nulls that are not exact, draws from an approximation).
    null, exact
        The name of the null distribution, and whether the test is exact at every sample size.
    m, n
        The sizes of the samples.
    kernel
        The kernel.
    seed
        Give it as ``rng`` to have the same result again.
    seconds
        How long it took.
    notes
        What should be known about the samples and the test.
    """

    __test__ = False  # not a test case, whatever pytest thinks of its name

    statistic: float
    pvalue: float
    min_pvalue: float
    null_distribution: np.ndarray[Any, Any] = field(repr=False)
    null: str
    exact: bool
    m: int
    n: int
    kernel: Kernel
    seed: int
    seconds: float
    statistic_name: str = "MMD²"
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def bandwidth(self) -> float | None:
        """The bandwidth of the kernel (of a witness, of the kernel that it is made of), where it has one."""
        kernel = self.kernel if self.kernel.witness_function is None else getattr(self.kernel, "kernel", None)
        return getattr(kernel, "bandwidth", None)

    @property
    def permutations(self) -> int:
        """How many draws the null distribution has."""
        return len(self.null_distribution)

    def threshold(self, alpha: float = 0.05) -> float:
        """What the statistic must exceed for the test to reject at level ``alpha``; infinite with too few draws."""
        return float(critical_value(torch.from_numpy(self.null_distribution), alpha))

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the test rejects at level ``alpha``."""
        return rejects(self.pvalue, alpha)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values, the kernel as its ``repr``."""
        return (
            stamp("test")
            | vars(self)
            | {
                "kernel": repr(self.kernel),
                "bandwidth": self.bandwidth,
                "null_distribution": self.null_distribution.tolist(),
                "notes": list(self.notes),
            }
        )

    def to_json(self) -> str:
        """All fields as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "asymptotic"
        at_floor = " (the smallest possible)" if self.pvalue <= self.min_pvalue * (1 + 1e-9) else ""
        kernel = repr(self.kernel)
        kernel = kernel if "\n" not in kernel else type(self.kernel).__name__
        return (
            f"TestResult({self.statistic_name} = {self.statistic:.4g}, p = {self.pvalue:.4g}{at_floor}; {kind} "
            f"{self.null} null, {self.permutations} draws, m = {self.m}, n = {self.n}, {kernel})"
        )


@dataclass(frozen=True, eq=False)
class SplitResult(Shown):
    """One kernel learned on some rows, and its test on others."""

    split: Split
    history: History
    test: TestResult

    @property
    def kernel(self) -> Kernel:
        """The learned kernel."""
        return self.test.kernel


@dataclass(frozen=True, eq=False)
class LearnedTest(Shown):
    """The outcome of `learned_test`. Unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    pvalue
        The p-value of the whole: with swapped halves, the two p-values combined.
    halves
        What was learned where, and its test: one `SplitResult`, or two with ``cross_fit=True``.
    combination, exact
        How two p-values were combined, and whether the test is exact at every sample size.
    seed
        Give it as ``rng`` to have the same result again.
    seconds
        How long it took.
    notes
        What should be known about the samples and the test.
    """

    pvalue: float
    halves: tuple[SplitResult, ...]
    combination: str | None
    exact: bool
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def min_pvalue(self) -> float:
        """The smallest p-value that this test can give: with swapped halves, the smallest ones combined."""
        floors = [half.test.min_pvalue for half in self.halves]
        return floors[0] if self.combination is None else COMBINATIONS[self.combination](floors)

    @property
    def leading(self) -> SplitResult:
        """The half with the smaller p-value, or the only one."""
        return min(self.halves, key=lambda half: half.test.pvalue)

    @property
    def statistic(self) -> float:
        """MMD² on the tested rows of the leading half; with a witness, the difference of its means."""
        return self.leading.test.statistic

    @property
    def statistic_name(self) -> str:
        """What the statistic is called."""
        return self.leading.test.statistic_name

    @property
    def null_distribution(self) -> np.ndarray[Any, Any]:
        """The null distribution of the statistic."""
        return self.leading.test.null_distribution

    @property
    def kernel(self) -> Kernel:
        """The learned kernel of the leading half."""
        return self.leading.kernel

    @property
    def history(self) -> History:
        """How it was learned."""
        return self.leading.history

    @property
    def split(self) -> Split:
        """Which rows were learned from and which were tested."""
        return self.leading.split

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the test rejects at level ``alpha``."""
        return rejects(self.pvalue, alpha)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the kernels themselves, as plain Python values."""
        halves = [
            {"split": h.split.to_dict(), "history": _plain(asdict(h.history)), "test": h.test.to_dict()}
            for h in self.halves
        ]
        kept = ("pvalue", "min_pvalue", "statistic", "statistic_name", "combination", "exact", "seed", "seconds")
        found = {name: getattr(self, name) for name in kept}
        return stamp("learned_test") | found | {"halves": halves, "notes": list(self.notes)}

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def __repr__(self) -> str:
        tests = "; ".join(repr(half.test) for half in self.halves)
        how = f", {self.combination}" if self.combination else ""
        return f"LearnedTest(p = {self.pvalue:.4g}{how}; {tests})"


def _plain(value: Any) -> Any:
    """Arrays as lists, for JSON; and NaN as None."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
