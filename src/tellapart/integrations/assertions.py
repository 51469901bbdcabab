"""Assertions about distributions for test suites: exact tests with a stated probability of a false failure.

Imports of torch are deferred until an assertion is called, because every pytest run imports this module.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._util.rng import RNG
    from ..twosample import TwoSampleResult

#: Number of permutations of the first test, and the p-value above which samples pass without a second one.
_FIRST_LOOK, _SUSPICIOUS = 199, 0.05
#: Maximum number of characters of an option value in a message.
_LONGEST = 60


@dataclass(frozen=True)
class RunningTest:
    """The running pytest test: its name, the folder of its reports, and a function that attaches a report to it."""

    name: str
    folder: Path
    attach: Callable[[Path, str], None]

    @property
    def seed(self) -> int:
        """Seed that depends only on the name of the test."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:6], "big")

    @property
    def file_name(self) -> str:
        """File name derived from the name of the test; different tests have different file names."""
        readable = "".join(c if c.isalnum() or c in "-." else "_" for c in self.name.split("::", 1)[-1])[:80]
        return f"{readable}-{self.seed:012x}"


#: The running test; set by the pytest plugin.
running: RunningTest | None = None


class DistributionError(AssertionError):
    """An assertion about the distributions of two samples failed.

    Attributes
    ----------
    result : TwoSampleResult
        Result of the test.
    report : pathlib.Path or None
        Path of the HTML report, if one was written.
    """

    def __init__(self, message: str, result: TwoSampleResult, report: Path | None = None) -> None:
        super().__init__(message)
        self.result, self.report = result, report


def assert_same_distribution(
    X: Any,
    Y: Any,
    alpha: float = 1e-4,
    *,
    rng: RNG = None,
    report: str | os.PathLike[str] | bool = True,
    **options: Any,
) -> None:
    """Assert that two samples have the same distribution: fails if an exact test rejects this at level ``alpha``.

    If the null hypothesis is true, the assertion fails with probability at most ``alpha`` at every sample size. This
    holds if the data are drawn anew in each run; with data from a fixed seed the outcome is always the same.

    Parameters
    ----------
    X, Y : array_like, DataFrame or path
        The samples: anything that `tellapart.read` accepts.
    alpha : float, default 1e-4
        Significance level, i.e. the probability of failure under the null hypothesis. With 10,000 such assertions a
        day, 1e-4 means one false alarm a day on average.
    rng : int or generator, optional
        Seed of the permutations. By default it is derived from the name of the running test, and is 0 outside pytest.
    report : bool or path, default True
        Path of an HTML report that is written on failure. True: a file in the folder of pytest's option
        ``--tellapart-reports`` (default: its cache folder), and no report outside pytest. False: no report.
    **options
        Options of `tellapart.two_sample_test`: ``groups``, ``strata``, ``paired``, ``keep_columns``, ``features``, …

    Raises
    ------
    DistributionError
        If the test rejects. This ``AssertionError`` reports the columns that differ and how to repeat the test.

    Notes
    -----
    A first test uses 199 permutations. Only if its p-value is at most 0.05 (or ``alpha``, if larger), a second test is
    run with as many permutations as ``alpha`` requires (9,999 for 1e-4), and its p-value alone decides. The level is
    therefore that of a single exact test.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> ta.testing.assert_same_distribution(rng.normal(size=(200, 2)), rng.normal(size=(300, 2)))
    >>> ta.testing.assert_same_distribution(rng.normal(size=(200, 2)), rng.normal(size=(300, 2)) + [0, 1])
    Traceback (most recent call last):
    ...
    tellapart.integrations.assertions.DistributionError: The samples differ (p ≤ 0.0001, 9,999 permutations).
    ...
    """
    __tracebackhide__ = True
    from ..twosample import two_sample_test

    _check_alpha(alpha)
    seed = _seed(rng)
    result = two_sample_test(X, Y, _FIRST_LOOK, rng=seed, **options)
    _check_can_fail(result, alpha, all_seen=result.permutations < _FIRST_LOOK)
    if result.pvalue > max(_SUSPICIOUS, alpha):
        return
    needed = math.ceil(1 / alpha) - 1
    if needed > _FIRST_LOOK:
        result = two_sample_test(X, Y, needed, rng=seed, **options)
        _check_can_fail(result, alpha, all_seen=True)
    if not result.reject(alpha):
        return
    path, remark = _write_report(X, Y, seed, report, options)
    message = [
        result.summary(alpha),
        f"Samples from the same distribution fail this assertion with probability at most {alpha:g}.",
        f"To repeat the test: ta.two_sample_test(X, Y, {result.permutations}, {_spelled(options)}rng={seed})",
        *([remark] if remark else []),
    ]
    raise DistributionError("\n".join(message), result, path)


def _spelled(options: dict[str, Any]) -> str:
    """Spell options as in a call, with long values replaced by an ellipsis.

    >>> _spelled({"paired": True, "keep_columns": ["id"], "groups": list(range(100))})
    "paired=True, keep_columns=['id'], groups=…, "
    """
    written = ((name, repr(value)) for name, value in options.items())
    return "".join(f"{name}={value if len(value) <= _LONGEST else '…'}, " for name, value in written)


def assert_different(X: Any, Y: Any, alpha: float = 0.01, *, rng: RNG = None, **options: Any) -> None:
    """Assert that two samples have different distributions: fails unless an exact test rejects that they are equal.

    If the distributions are equal, the assertion passes with probability at most ``alpha``. If they differ, it passes
    with the power of the test, which grows with the number of rows.

    Parameters
    ----------
    X, Y : array_like, DataFrame or path
        The samples: anything that `tellapart.read` accepts.
    alpha : float, default 0.01
        Significance level of the test.
    rng : int or generator, optional
        Seed of the permutations, as in `assert_same_distribution`.
    **options
        Options of `tellapart.two_sample_test`.

    Raises
    ------
    DistributionError
        If the test does not reject.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> ta.testing.assert_different(rng.normal(size=(200, 2)), rng.normal(size=(300, 2)) + [0, 1])
    """
    __tracebackhide__ = True
    from ..twosample import two_sample_test

    _check_alpha(alpha)
    permutations = max(999, math.ceil(1 / alpha) - 1)
    result = two_sample_test(X, Y, permutations, rng=_seed(rng), **options)
    _check_can_fail(result, alpha, all_seen=True)
    if not result.reject(alpha):
        raise DistributionError(f"{result.summary(alpha)}\nExpected the samples to differ at level {alpha:g}.", result)


def _check_alpha(alpha: Any) -> None:
    from .._util.errors import InputError

    if not isinstance(alpha, (int, float)) or not 1e-6 <= alpha < 1:
        raise InputError("out-of-range", f"`alpha` must be between 1e-6 and 1, got {alpha!r}.")


def _seed(rng: RNG) -> int:
    from .._util.rng import seed_of

    if rng is None:
        return 0 if running is None else running.seed
    return seed_of(rng)


def _check_can_fail(result: TwoSampleResult, alpha: float, all_seen: bool) -> None:
    """Raise `InputError` if there are too few rows to reject at level ``alpha``, whatever the data."""
    from .._util.errors import InputError

    if all_seen and result.min_pvalue > alpha:
        sizes = " and ".join(map(str, result.sizes))
        raise InputError(
            "level-not-attainable",
            f"With {sizes} rows the smallest attainable p-value is {result.min_pvalue:.3g}, so the test cannot reject "
            f"at level {alpha:g}.",
            "Use more rows, or a larger {alpha}.",
            alpha=...,
        )


def _write_report(X: Any, Y: Any, seed: int, report: Any, options: dict[str, Any]) -> tuple[Path | None, str]:
    """Write the report of a failure; return its path and a remark. An error in doing so must not hide the failure."""
    from .._util.errors import InputError
    from ..criticism import compare

    if report is False or (report is True and running is None):
        return None, ""
    path = Path(report) if running is None or report is not True else running.folder / f"{running.file_name}.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        compare(X, Y, rng=seed, **options).to_html(path)
    except (ImportError, InputError, OSError) as error:
        return None, f"No report was written: {error}"
    remark = f"Report: {path}"
    if running is not None:
        running.attach(path, remark)
    return path, remark
