"""Speed and memory of the tests that need no choice, of `mmd_test` and of `compare`, beside those of older code.

    python benchmarks/auto.py                          # everything, some minutes
    python benchmarks/auto.py small compare            # cases whose names begin so
    python benchmarks/auto.py --old ../old/src         # beside other source code, in turns
    python benchmarks/auto.py --json docs/speed.json   # and write (or replace) these cases there
    python benchmarks/auto.py rows-10m --folder /data  # 10⁷ rows of 32 numbers take 1.3 GB there

Every call runs in a process that does nothing else, after a warm-up on few rows. Medians of wall and of CPU seconds are
over calls and processes; memory is the largest peak of a process. Seconds depend on the machine, so the rate of its
matrix products is measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

SOURCE = Path(__file__).parents[1] / "src"

CHILD = """
import json, sys, time, numpy as np, tellapart as ta
case = json.loads(sys.argv[1])
test = getattr(ta, case["call"])
options = {"permutations": case["permutations"], "rng": 0, "threads": case["threads"]}
rng = np.random.default_rng(0)
test(*(rng.normal(size=(200, 2)) for _ in range(2)), permutations=19, rng=0)
samples = case["paths"] or [rng.normal(size=(n, case["d"])) for n in (case["m"], case["n"])]
if case["calls"] > 1:
    test(*samples, **options)
seconds = []
for _ in range(case["calls"]):
    start, cpu = time.perf_counter(), time.process_time()
    result = test(*samples, **options)
    seconds.append((time.perf_counter() - start, time.process_time() - cpu))
with open("/proc/self/status") as lines:
    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
test = getattr(result, "test", result)
print(json.dumps({"seconds": seconds, "peak": peak, "pvalue": test.pvalue}))
"""


class Case(NamedTuple):
    """A call: the function, the rows of both samples and their columns.

    ``calls`` are made in one process, and ``processes`` are started for each code; rows are in .npy files if ``files``.
    """

    name: str
    call: str
    m: int
    n: int
    d: int
    permutations: int = 999
    threads: int = 1
    calls: int = 1
    processes: int = 2
    files: bool = False

    @property
    def title(self) -> str:
        return f"{self.m:,} + {self.n:,} × {self.d}"


CASES = (
    Case("small", "two_sample_test", 200, 200, 10, calls=15),
    Case("middle-2", "two_sample_test", 2_000, 2_000, 2, calls=5),
    Case("middle-32", "two_sample_test", 2_000, 2_000, 32, calls=5),
    Case("mmd", "mmd_test", 2_000, 2_000, 2, permutations=200, calls=9),
    Case("images", "two_sample_test", 2_000, 2_000, 784, threads=2),
    Case("rows-60k", "two_sample_test", 31_250, 31_250, 32, threads=2, files=True),
    Case("rows-250k", "two_sample_test", 125_000, 125_000, 32, threads=2, files=True),
    Case("rows-400k", "two_sample_test", 200_000, 200_000, 8, threads=2, files=True),
    Case("rows-1m", "two_sample_test", 500_000, 500_000, 32, threads=2, files=True),
    Case("compare-10k", "compare", 10_000, 10_000, 50, threads=2, files=True),
    Case("compare-100k", "compare", 100_000, 100_000, 50, threads=2, files=True),
)
#: Cases that are run only if they are named in full.
LARGE = (Case("rows-10m", "two_sample_test", 5_000_000, 5_000_000, 32, threads=2, files=True, processes=1),)


def rate_of_products(size: int = 2_048, rounds: int = 5) -> float:
    """Gigaflops per second of a product of matrices of single precision, on one core."""
    A = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
    seconds = []
    with threadpool_limits(1):
        for _ in range(rounds):
            start = time.process_time()
            A @ A
            seconds.append(time.process_time() - start)
    return 2e-9 * size**3 / min(seconds)


def write_samples(case: Case, folder: Path) -> list[str]:
    """The rows of a case in two .npy files, written in blocks."""
    paths = []
    for k, rows in enumerate((case.m, case.n)):
        path = folder / f"{rows}-{case.d}-{k}.npy"
        if not path.exists():
            rng = np.random.default_rng(k)
            out = np.lib.format.open_memmap(path, "w+", np.float32, (rows, case.d))
            for start in range(0, rows, 100_000):
                out[start : start + 100_000] = rng.standard_normal((min(100_000, rows - start), case.d), np.float32)
            out.flush()
        paths.append(str(path))
    return paths


def run(case: Case, source: Path, paths: list[str]) -> dict[str, Any]:
    """What the calls of one process took."""
    command = [sys.executable, "-c", CHILD, json.dumps({**case._asdict(), "paths": paths})]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(case: Case, sources: dict[str, Path], folder: Path) -> dict[str, Any]:
    """Medians for each code, whose processes take turns."""
    paths = write_samples(case, folder) if case.files else []
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
    for _ in range(case.processes):
        for name, source in sources.items():
            runs[name].append(run(case, source, paths))
    report: dict[str, Any] = {
        "call": case.call,
        "title": case.title,
        "permutations": case.permutations,
        "threads": case.threads,
        "files": case.files,
    }
    for name, results in runs.items():
        wall, cpu = zip(*(pair for result in results for pair in result["seconds"]), strict=True)
        report[name] = {
            "wall": round(statistics.median(wall), 4),
            "cpu": round(statistics.median(cpu), 4),
            "peak_mb": round(max(result["peak"] for result in results) / 1e6),
            "pvalue": results[0]["pvalue"],
        }
    return report


def show(name: str, report: dict[str, Any]) -> str:
    """A line for each code."""
    lines = []
    for code in ("new", "old"):
        if code in report:
            of = report[code]
            lines.append(
                f"{name:13} {report['call']:15} {report['title']:>23} {code}: {of['wall']:8.3f} s, "
                f"{of['cpu']:8.3f} CPU s, peak {of['peak_mb']:,} MB, p = {of['pvalue']:.3f}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases whose names begin so")
    parser.add_argument("--old", type=Path, metavar="SOURCE", help="the src folder of other code")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there, for these cases")
    parser.add_argument("--folder", type=Path, help="where files of rows are kept (default: a temporary folder)")
    options = parser.parse_args()
    names = tuple(options.names)
    cases = [case for case in CASES if not names or case.name.startswith(names)]
    cases += [case for case in LARGE if case.name in names]
    sources = {"new": SOURCE} | ({"old": options.old} if options.old else {})
    rate, load = rate_of_products(), round(os.getloadavg()[0], 1)
    print(f"{os.cpu_count()} cores, sgemm {rate:.0f} GF/s on one core, load {load}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        for case in cases:
            report = measure(case, sources, options.folder or Path(temporary))
            print(show(case.name, report), flush=True)
            if options.json:
                data = json.loads(options.json.read_text(encoding="utf-8")) if options.json.exists() else {}
                report |= {"cores": os.cpu_count(), "sgemm_gflops": round(rate), "load": load}
                data["default"] = {**data.get("default", {}), case.name: report}
                options.json.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
