"""The pytest plugin: a seed for each test, reports of failures, and snapshots of distributions.

pytest loads it wherever tellapart is installed; it imports nothing heavy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import assertions

#: Where snapshots lie, beside the test that made them.
SNAPSHOTS = "__distributions__"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two options."""
    group = parser.getgroup("tellapart", "samples and their distributions")
    group.addoption(
        "--tellapart-reports",
        metavar="DIR",
        help="where assert_same_distribution writes the HTML report of a failure (by default in pytest's cache)",
    )
    group.addoption("--tellapart-update", action="store_true", help="store all distribution snapshots anew")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let assertions know which test is running, and where its reports go."""
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
    """A NumPy generator whose seed depends on the name of the test alone."""
    import numpy as np

    assert assertions.running is not None
    return np.random.default_rng(assertions.running.seed)


@pytest.fixture
def distribution_snapshot(request: pytest.FixtureRequest) -> DistributionSnapshot:
    """Compares a sample with the one that was stored when the test first ran."""
    assert assertions.running is not None
    folder = Path(request.path).parent / SNAPSHOTS / Path(request.path).stem
    return DistributionSnapshot(folder, assertions.running, bool(request.config.getoption("--tellapart-update")))


class DistributionSnapshot:
    """Call it with a sample. The first run of the test stores it, later runs compare theirs with it.

    Where the environment variable ``CI`` is set, a snapshot that is missing is a failure: nobody would commit it.
    """

    def __init__(self, folder: Path, test: assertions.RunningTest, update: bool) -> None:
        self.folder, self.test, self.update = folder, test, update
        self._calls = 0

    def __call__(self, sample: Any, alpha: float = 1e-4, **options: Any) -> None:
        """Assert that ``sample`` is distributed as the stored one; see `tellapart.testing.assert_same_distribution`.

        Parameters
        ----------
        sample
            An array or tensor of numbers (stored as .npy) or a DataFrame (stored as .parquet).
        alpha
            The probability that samples from one distribution fail.
        **options
            As in `assert_same_distribution`.
        """
        __tracebackhide__ = True
        self._calls += 1
        path, write = _storage(sample, self.folder / f"{self.test.file_name}-{self._calls}")
        if self.update or not path.exists():
            if os.environ.get("CI") and not self.update:
                pytest.fail(f"There is no snapshot {path}. Run this test outside CI once, and commit the file.")
            path.parent.mkdir(parents=True, exist_ok=True)
            from .._util.files import atomic_path

            with atomic_path(path) as unfinished:
                write(unfinished)
            return
        assertions.assert_same_distribution(path, sample, alpha, **options)


def _storage(sample: Any, stem: Path) -> tuple[Path, Any]:
    """The file that a sample is stored in, and the function that writes it."""
    import numpy as np

    from ..data.arrays import as_array
    from ..data.frames import is_frame

    if is_frame(sample):
        import narwhals as nw

        return Path(f"{stem}.parquet"), nw.from_native(sample, eager_only=True).write_parquet
    values = as_array(sample, "The sample")

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.save(file, values, allow_pickle=False)

    return Path(f"{stem}.npy"), write
