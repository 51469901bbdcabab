"""Assertions about distributions, for tests: exact, with a stated probability that a true null fails.

Nothing heavy is imported before an assertion is made: every run of pytest imports this module.
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

#: The first look: samples whose p-value is above `_SUSPICIOUS` in so few relabellings pass at once.
_FIRST_LOOK, _SUSPICIOUS = 199, 0.05
#: Characters of an option that is written out.
_LONGEST = 60


@dataclass(frozen=True)
class RunningTest:
    """The test that is running: its name, where reports of its failures go, and whom to tell about them."""

    name: str
    folder: Path
    attach: Callable[[Path, str], None]

    @property
    def seed(self) -> int:
        """A seed that depends on the name of the test and on nothing else."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:6], "big")

    @property
    def file_name(self) -> str:
        """The name of the test as the name of a file; tests whose names differ have files whose names do."""
        readable = "".join(c if c.isalnum() or c in "-." else "_" for c in self.name.split("::", 1)[-1])[:80]
        return f"{readable}-{self.seed:012x}"


#: Set by the pytest plugin while a test runs.
running: RunningTest | None = None


class DistributionError(AssertionError):
    """Two samples are not as an assertion says.

    Attributes
    ----------
    result
        The test that found it.
    report
        The HTML report, where one was written.
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
    """Assert that two samples come from one distribution: fails if an exact test rejects that at level ``alpha``.

    Where the null hypothesis is true, the assertion fails with probability at most ``alpha``, at every sample size.
    That holds for data drawn anew in each run; with data from a fixed seed it always fails or never.

    Parameters
    ----------
    X, Y
        The samples: anything that `tellapart.read` takes.
    alpha
        The probability that a true null hypothesis fails. With 10,000 such assertions a day, 1e-4 is one false alarm.
    rng
        A seed for the relabellings. By default it is made of the name of the running test, or is 0 outside pytest.
    report
        Where to write an HTML report on failure. True: into the folder of pytest's option ``--tellapart-reports`` (by
        default its cache), and not at all outside pytest. False: nowhere.
    **options
        Of `tellapart.two_sample_test`: ``groups``, ``strata``, ``paired``, ``keep_columns``, ``features``, …

    Raises
    ------
    DistributionError
        An ``AssertionError`` that says in which columns the samples differ, and how to repeat the test.

    Notes
    -----
    There is a first look with 199 relabellings. Only if its p-value is at most 0.05 are there as many as ``alpha``
    needs (9,999 for 1e-4), and it is their p-value that decides. So the level is that of one exact test.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> ta.testing.assert_same_distribution(rng.normal(size=(200, 2)), rng.normal(size=(300, 2)))
    >>> ta.testing.assert_same_distribution(rng.normal(size=(200, 2)), rng.normal(size=(300, 2)) + [0, 1])
    Traceback (most recent call last):
    ...
    tellapart.integrations.assertions.DistributionError: X (200 rows), Y (300 rows) differ: p = 0.0001, ...
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
        f"Samples from one distribution fail this assertion with probability at most {alpha:g}.",
        f"To repeat it: ta.two_sample_test(X, Y, {result.permutations}, {_spelled(options)}rng={seed})",
        *([remark] if remark else []),
    ]
    raise DistributionError("\n".join(message), result, path)


def _spelled(options: dict[str, Any]) -> str:
    """Options as they are written in a call; of values that are long only the name.

    >>> _spelled({"paired": True, "keep_columns": ["id"], "groups": list(range(100))})
    "paired=True, keep_columns=['id'], groups=…, "
    """
    written = ((name, repr(value)) for name, value in options.items())
    return "".join(f"{name}={value if len(value) <= _LONGEST else '…'}, " for name, value in written)


def assert_different(X: Any, Y: Any, alpha: float = 0.01, *, rng: RNG = None, **options: Any) -> None:
    """Assert that two samples can be told apart: fails unless an exact test rejects that they are alike.

    Where they are alike, the assertion passes with probability at most ``alpha``. How often it fails where they differ
    is a matter of power: have enough rows.

    Parameters
    ----------
    X, Y, rng, **options
        As in `assert_same_distribution`.
    alpha
        The level of the test.

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
        raise DistributionError(f"{result.summary(alpha)}\nThey were to differ at level {alpha:g}.", result)


def _check_alpha(alpha: Any) -> None:
    from .._util.errors import InputError

    if not isinstance(alpha, (int, float)) or not 1e-6 <= alpha < 1:
        raise InputError("out-of-range", f"alpha must be between 1e-6 and 1, but is {alpha!r}.")


def _seed(rng: RNG) -> int:
    from .._util.rng import seed_of

    if rng is None:
        return 0 if running is None else running.seed
    return seed_of(rng)


def _check_can_fail(result: TwoSampleResult, alpha: float, all_seen: bool) -> None:
    """Complain about an assertion whose outcome is certain, as too few rows make it."""
    from .._util.errors import InputError

    if all_seen and result.min_pvalue > alpha:
        sizes = " and ".join(map(str, result.sizes))
        raise InputError(
            "level-not-attainable",
            f"With {sizes} rows p cannot be below {result.min_pvalue:.3g}: nothing can be found at level {alpha:g}.",
            "Give more rows, or a larger {alpha}.",
            alpha=...,
        )


def _write_report(X: Any, Y: Any, seed: int, report: Any, options: dict[str, Any]) -> tuple[Path | None, str]:
    """The report of a failure, and what to say of it; a report that cannot be made must not hide the failure."""
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
