"""pytest plugin: a seed for each test, reports of failed assertions, and distribution snapshots.

pytest loads this module in every run where tellapart is installed, so torch must not be imported at the top level.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import assertions

#: Folder of snapshots, next to the test file.
SNAPSHOTS = "__distributions__"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--tellapart-reports`` and ``--tellapart-update``."""
    group = parser.getgroup("tellapart", "assertions about distributions")
    group.addoption(
        "--tellapart-reports",
        metavar="DIR",
        help="folder for HTML reports of failed assert_same_distribution calls (default: in pytest's cache)",
    )
    group.addoption("--tellapart-update", action="store_true", help="replace all distribution snapshots")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record which test is running and where its reports are written."""
    before = assertions.running
    assertions.running = assertions.RunningTest(item.nodeid, _report_folder(item.config), _attach_to(item))
    yield
    assertions.running = before


def _report_folder(config: pytest.Config) -> Path:
    chosen = config.getoption("--tellapart-reports")
    if chosen:
        return Path(config.invocation_params.dir, chosen)
    cache = getattr(config, "cache", None)
    return Path(cache.mkdir("tellapart")) if cache is not None else Path(config.rootpath, ".tellapart")


def _attach_to(item: pytest.Item) -> Any:
    def attach(path: Path, remark: str) -> None:
        item.add_report_section("call", "tellapart", remark)
        item.user_properties.append(("tellapart_report", str(path)))  # in the JUnit XML

    return attach


@pytest.fixture
def tellapart_rng() -> Any:
    """NumPy random generator whose seed depends only on the name of the test."""
    import numpy as np

    assert assertions.running is not None
    return np.random.default_rng(assertions.running.seed)


@pytest.fixture
def distribution_snapshot(request: pytest.FixtureRequest) -> DistributionSnapshot:
    """Callable that compares a sample with the one stored in the first run of the test."""
    assert assertions.running is not None
    folder = Path(request.path).parent / SNAPSHOTS / Path(request.path).stem
    return DistributionSnapshot(folder, assertions.running, bool(request.config.getoption("--tellapart-update")))


class DistributionSnapshot:
    """Store a sample in the first run of a test, and compare the samples of later runs with it.

    If the environment variable ``CI`` is set, a missing snapshot is a failure, because a snapshot written there would
    not be committed.
    """

    def __init__(self, folder: Path, test: assertions.RunningTest, update: bool) -> None:
        self.folder, self.test, self.update = folder, test, update
        self._calls = 0

    def __call__(self, sample: Any, alpha: float = 1e-4, **options: Any) -> None:
        """Assert that ``sample`` has the same distribution as the stored sample.

        Parameters
        ----------
        sample : array_like or DataFrame
            Array or tensor of numbers (stored as .npy), or DataFrame (stored as .parquet).
        alpha : float, default 1e-4
            Significance level, i.e. the probability of failure under the null hypothesis.
        **options
            Options of `tellapart.testing.assert_same_distribution`.
        """
        __tracebackhide__ = True
        self._calls += 1
        path, write = _storage(sample, self.folder / f"{self.test.file_name}-{self._calls}")
        if self.update or not path.exists():
            if os.environ.get("CI") and not self.update:
                pytest.fail(f"Snapshot not found: {path}. Run this test once outside CI, and commit the file.")
            path.parent.mkdir(parents=True, exist_ok=True)
            from .._util.files import atomic_path

            with atomic_path(path) as unfinished:
                write(unfinished)
            return
        assertions.assert_same_distribution(path, sample, alpha, **options)


def _storage(sample: Any, stem: Path) -> tuple[Path, Any]:
    """Return the path of the file that stores a sample, and the function that writes it."""
    import numpy as np

    from ..data.arrays import as_array
    from ..data.formats.frames import is_frame

    if is_frame(sample):
        import narwhals as nw

        return Path(f"{stem}.parquet"), nw.from_native(sample, eager_only=True).write_parquet
    values = as_array(sample, "The sample")

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.save(file, values, allow_pickle=False)

    return Path(f"{stem}.npy"), write
