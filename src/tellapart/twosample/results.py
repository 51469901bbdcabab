"""Results of tests with a kernel that is given or learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.numbers import is_smallest, number, p_text
from .._util.text import shorten
from .._util.view import Facts, Figure, View, notes
from ..learning.history import History
from ..learning.splits import Split
from ..stats.pvalues import COMBINATIONS, threshold_of
from .figures import null_figure
from .result import Displayed, TestOutcome
from .views import explain_pvalue, headline, interpret

if TYPE_CHECKING:
    from ..kernels import Kernel


@dataclass(frozen=True, eq=False)
class TestResult(TestOutcome):
    """The outcome of `mmd_test` or `witness_test`. Unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    statistic, statistic_name
        The unbiased estimate of MMD² (for ``null="paired"`` the paired one); or the difference of means of a witness.
    pvalue
        The p-value: at least `min_pvalue`, never 0.
    min_pvalue
        The smallest attainable p-value, given the number of draws and of distinct permutations.
    null_distribution
        The statistic under permutation (or, for nulls that are not exact, draws from an approximation).
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

    __test__ = False  # not a test case, although pytest would collect a class of this name
    json_name = "test"

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

    @property
    def bandwidth(self) -> float | None:
        """The bandwidth of the kernel (of a witness, of the kernel that it is made of), where it has one."""
        kernel = self.kernel if self.kernel.witness_function is None else getattr(self.kernel, "kernel", None)
        return getattr(kernel, "bandwidth", None)

    def threshold(self, alpha: float = 0.05) -> float:
        """What the statistic must exceed for the test to reject at level ``alpha``; infinite with too few draws."""
        return threshold_of(self.null_distribution, alpha)

    def _json_fields(self) -> dict[str, Any]:
        return {**super()._json_fields(), "bandwidth": self.bandwidth}

    def view(self, alpha: float | None = None) -> View:
        """The result as blocks of plain data, which summaries, cards, pages and plots are rendered from."""
        alpha = 0.05 if alpha is None else alpha
        differ = self.reject(alpha)
        # Labels: a design may permute them by groups, or within strata.
        explanation = explain_pvalue(self, "labels", alpha)
        return View.of(
            headline(
                self,
                alpha,
                draws="permutations" if self.exact else "draws",
                title=f"{self.m:,} and {self.n:,} rows",
                explanation=explanation if self.null == "permutation" else interpret(differ, alpha, self.exact),
            ),
            notes(self.notes, prefix="Note: "),
            Facts(items=self._facts(), section="The test"),
            self.null_figure(alpha),
        )

    def null_figure(self, alpha: float = 0.05, bins: int | None = None, remark: str = "") -> Figure:
        """The statistic and its null distribution; ``remark`` ends the caption."""
        return null_figure(
            self.null_distribution,
            self.statistic,
            self.threshold(alpha),
            self.pvalue,
            name=self.statistic_name,
            alpha=alpha,
            unit=None if not self.exact else "labels of the tested rows" if remark else "labels",
            bins=bins,
            remark=remark,
        )

    def _facts(self) -> tuple[tuple[str, str], ...]:
        kind = "exact at every sample size" if self.exact else "valid for large samples"
        return (
            (self.statistic_name, number(self.statistic)),
            ("rows", f"{self.m:,} + {self.n:,}"),
            ("null distribution", f"{self.null}, {self.permutations:,} draws, {kind}"),
            ("kernel", shorten(" ".join(repr(self.kernel).split()), 300)),
            ("seed", str(self.seed)),
            ("time", f"{self.seconds:.2g} s"),
        )

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "asymptotic"
        at_floor = " (the smallest possible)" if is_smallest(self.pvalue, self.min_pvalue) else ""
        kernel = repr(self.kernel)
        kernel = kernel if "\n" not in kernel else type(self.kernel).__name__
        return (
            f"TestResult({self.statistic_name} = {self.statistic:.4g}, p = {self.pvalue:.4g}{at_floor}; {kind} "
            f"{self.null} null, {self.permutations} draws, m = {self.m}, n = {self.n}, {kernel})"
        )


@dataclass(frozen=True, eq=False)
class SplitResult(Displayed):
    """One kernel learned on some rows, and its test on others."""

    split: Split
    history: History
    test: TestResult

    @property
    def kernel(self) -> Kernel:
        """The learned kernel."""
        return self.test.kernel

    def view(self, alpha: float | None = None) -> View:
        """The view of the test."""
        return self.test.view(alpha)

    def null_figure(self, alpha: float = 0.05, bins: int | None = None) -> Figure:
        """The statistic and its null distribution."""
        return self.test.null_figure(alpha, bins)


@dataclass(frozen=True, eq=False)
class LearnedTest(TestOutcome):
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

    json_name = "learned_test"

    pvalue: float
    halves: tuple[SplitResult, ...]
    combination: str | None
    exact: bool
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()

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

    def _json_fields(self) -> dict[str, Any]:
        names = ("pvalue", "min_pvalue", "statistic", "statistic_name", "combination", "exact", "seed", "seconds")
        return {
            **{name: getattr(self, name) for name in names},
            "halves": [{"split": one.split, "history": one.history, "test": one.test} for one in self.halves],
            "notes": self.notes,
        }

    def view(self, alpha: float | None = None) -> View:
        """The result as blocks of plain data, which summaries, cards, pages and plots are rendered from."""
        alpha = 0.05 if alpha is None else alpha
        half, count = self.leading, len(self.halves)
        items = [*half.test._facts()]
        items.append(("learned from", f"{len(half.split.train_x):,} + {len(half.split.train_y):,} other rows"))
        if count > 1:
            pvalues = " and ".join(p_text(one.test.pvalue) for one in self.halves)
            items.append(("swapped halves", f"p = {pvalues}, combined by {self.combination}"))
        return View.of(
            headline(
                self,
                alpha,
                title="A learned kernel",
                explanation=interpret(self.reject(alpha), alpha, self.exact),
            ),
            notes(self.notes, prefix="Note: "),
            Facts(items=tuple(items), section="The test"),
            self.null_figure(alpha),
        )

    def null_figure(self, alpha: float = 0.05, bins: int | None = None) -> Figure:
        """The statistic and its null distribution; with swapped halves, those of the half with the smaller p-value."""
        remark = "They were not learned from."
        if len(self.halves) > 1:
            remark = "The half with the smaller p-value is shown; the level is halved, since two are tested."
        return self.leading.test.null_figure(alpha / len(self.halves), bins, remark)

    def __repr__(self) -> str:
        tests = "; ".join(repr(half.test) for half in self.halves)
        how = f", {self.combination}" if self.combination else ""
        return f"LearnedTest(p = {self.pvalue:.4g}{how}; {tests})"
