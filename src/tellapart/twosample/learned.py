"""A test with a kernel that is learned from other rows than those tested."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch

from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data import as_points, take_rows
from ..engine import Executor, Memory, connected
from ..kernels import Kernel, Witness
from ..learning import Criterion, History, fit_kernel
from ..learning.splits import Split, split_rows
from ..stats import nulls
from .fixed import TestResult, check_groups, check_level, mmd_test

Combination = Literal["bonferroni", "cauchy"]

#: Rows that are read together to evaluate a witness.
_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class SplitResult:
    """One kernel learned on some rows, and its test on others."""

    split: Split
    kernel: Kernel
    history: History
    test: TestResult


@dataclass(frozen=True, eq=False)
class LearnedTest:
    """The outcome of `learned_test`. Unpacks as ``statistic, pvalue = result``.

    Attributes
    ----------
    pvalue
        Of the whole: with swapped halves, the two p-values combined.
    halves
        What was learned where, and its test: one `SplitResult`, or two with ``swap=True``.
    combination, exact
        How two p-values were combined, and whether the test is exact at every sample size.
    seed
        Give it as ``rng`` to have the same result again.
    seconds
        How long it took.
    """

    pvalue: float
    halves: tuple[SplitResult, ...]
    combination: str | None
    exact: bool
    seed: int
    seconds: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def leading(self) -> SplitResult:
        """The half with the smaller p-value, or the only one."""
        return min(self.halves, key=lambda half: half.test.pvalue)

    @property
    def statistic(self) -> float:
        """MMD² on the tested rows of the leading half; with a witness, the difference of its means."""
        return self.leading.test.statistic

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
        return self.pvalue <= check_level(alpha) + 1e-12

    def to_dict(self) -> dict[str, Any]:
        """Everything but the kernels themselves, as plain Python values."""
        halves = [
            {"split": h.split.to_dict(), "history": _plain(asdict(h.history)), "test": h.test.to_dict()}
            for h in self.halves
        ]
        kept = ("pvalue", "combination", "exact", "seed", "seconds")
        return {name: getattr(self, name) for name in kept} | {"statistic": self.statistic, "halves": halves}

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        tests = "; ".join(repr(half.test) for half in self.halves)
        how = f", {self.combination}" if self.combination else ""
        return f"LearnedTest(p = {self.pvalue:.4g}{how}; {tests})"


def learned_test(
    X: Any,
    Y: Any,
    kernel: Any = "witness",
    criterion: Criterion = "t",
    *,
    train: Any = 0.5,
    swap: bool = False,
    combination: Combination = "bonferroni",
    null: Literal["permutation", "binned"] = "permutation",
    permutations: int = 999,
    groups: Any = None,
    rng: RNG = None,
    max_memory: Memory = None,
    cluster: Any = None,
    progress: ProgressLike = None,
    **learning: Any,
) -> LearnedTest:
    """Learn a kernel from one part of the rows, and test whether the samples differ on the other.

    Parameters
    ----------
    X, Y
        The samples: anything `tellapart.data` reads.
    kernel, criterion
        What to learn, and what for; see `fit_kernel`. ``"witness"`` has the best power on Blobs, Blob-D and HDGM, and
        is fast. ``benchmarks/power.py`` compares them all.
    train
        The rows to learn from: their share in each sample, or their numbers as a pair of lists, or a `Split`.
    swap
        Learn on each part and test on the other, so that every row is tested. The smaller part should not be small.
    combination
        Of the two p-values then. ``"bonferroni"``, twice the smaller one, is exact at every sample size. ``"cauchy"``
        (Liu & Xie 2020) is valid only as α goes to 0, and a little more powerful: the two depend on each other.
    null, permutations
        As in `mmd_test`. With a witness, rows are relabelled and the difference of its means is tested, one-sided.
    groups
        A label for each row of X and then of Y, for rows that belong together: groups are learned from or tested as
        a whole, and permuted as a whole.
    rng
        For the split, learning and permutations.
    max_memory, progress
        As in `mmd_test`.
    cluster
        As in `mmd_test`, for the test. Learning, and the test of a witness, which takes no time, are done here.
    **learning
        More arguments for `fit_kernel`: ``steps``, ``batch_size``, ``learning_rate``, ….

    Examples
    --------
    >>> from tellapart.datasets import blobs
    >>> X, Y = blobs(1000, ratio=6, rng=0)
    >>> result = learned_test(X, Y, rng=0)
    >>> result.pvalue
    0.001
    >>> result.split
    Split(learn from 1000 rows, test 1000)
    """
    start = time.perf_counter()
    if combination not in ("bonferroni", "cauchy"):
        raise ValueError(f"combination must be 'bonferroni' or 'cauchy', but is {combination!r}.")
    if null not in ("permutation", "binned"):
        raise ValueError(f"null must be 'permutation' or 'binned' for a learned test, but is {null!r}.")
    x, y = as_points(X, Y, at_least=2)
    labels = check_groups(groups, len(x), len(y), null)
    seed = seed_of(rng)
    first = split_rows(len(x), len(y), train, groups=labels, rng=seed)
    splits = [first, split_rows(len(x), len(y), first.swapped())] if swap else [first]

    def half(split: Split, seed: int, executor: Executor | None) -> SplitResult:
        learned, history = fit_kernel(
            x[split.train_x],
            y[split.train_y],
            kernel,
            criterion,
            rng=seed,
            max_memory=max_memory,
            progress=progress,
            **learning,
        )
        tested = take_rows(x, split.test_x), take_rows(y, split.test_y)
        kept = None if labels is None else labels[np.concatenate([split.test_x, len(x) + split.test_y])]
        if isinstance(learned, Witness):
            test = witness_test(*tested, learned, permutations=permutations, groups=kept, rng=seed)
        else:
            test = mmd_test(
                *tested,
                kernel=learned,
                null=null,
                permutations=permutations,
                groups=kept,
                rng=seed,
                max_memory=max_memory,
                cluster=executor,
                progress=progress,
            )
        return SplitResult(split, learned, history, test)

    with connected(cluster) as executor:
        halves = tuple(half(split, seed + k, executor) for k, split in enumerate(splits))
    pvalues = [half.test.pvalue for half in halves]
    return LearnedTest(
        pvalue=COMBINATIONS[combination](pvalues) if swap else pvalues[0],
        halves=halves,
        combination=combination if swap else None,
        exact=not swap or combination == "bonferroni",
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def witness_test(
    X: Any,
    Y: Any,
    witness: Witness,
    *,
    permutations: int = 999,
    groups: Any = None,
    rng: RNG = None,
) -> TestResult:
    """Test whether a function learned elsewhere is larger on X than on Y: an exact permutation test of its means."""
    start = time.perf_counter()
    x, y = as_points(X, Y, at_least=2)
    labels = check_groups(groups, len(x), len(y), "permutation")
    seed = seed_of(rng)
    with torch.no_grad():
        blocks = (part[start : start + _ROWS] for part in (x, y) for start in range(0, len(part), _ROWS))
        values = torch.cat([witness.values(block).cpu() for block in blocks])
        found = nulls.means(values, len(x), permutations, np.random.default_rng(seed), labels)
    return TestResult(
        statistic=float(found.statistic),
        pvalue=float(found.pvalue(1e-12)),
        null_distribution=found.distribution.numpy(),
        null="permutation",
        exact=True,
        m=len(x),
        n=len(y),
        kernel=repr(witness),
        bandwidth=getattr(witness.kernel, "bandwidth", None),
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def bonferroni(pvalues: list[float]) -> float:
    """Valid for any number of p-values, however they depend on each other."""
    return min(1.0, len(pvalues) * min(pvalues))


def cauchy(pvalues: list[float]) -> float:
    """The mean of Cauchy quantiles, which is nearly Cauchy in its tail however the p-values depend on each other."""
    mean = float(np.mean([math.tan((0.5 - min(p, 1 - 1e-9)) * math.pi) for p in pvalues]))
    return 0.5 - math.atan(mean) / math.pi


COMBINATIONS = {"bonferroni": bonferroni, "cauchy": cauchy}


def _plain(value: Any) -> Any:
    """Arrays as lists, for JSON; and NaN as nothing."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
