"""CPU seconds from start to answer on the command line, beside those of importing torch, and of NumPy with scipy.stats.

    python benchmarks/start.py [--repetitions 7] [--rows 500] [--columns 5] [--out FILE]

Each command is a process of its own, and commands take turns, so that what else the machine does meets all of them.
Times are user and system time of the process, by the operating system; the median of all repetitions counts.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

#: The command that counts, and what it is compared with; importing what it needs comes with it.
COMMANDS = {
    "tellapart test a.csv b.csv": ["-m", "tellapart", "test", "a.csv", "b.csv"],
    "import torch": ["-c", "import torch"],
    "import numpy, scipy.stats": ["-c", "import numpy, scipy.stats"],
    "import pandas": ["-c", "import pandas"],
    "import tellapart, two_sample_test": ["-c", "import tellapart; tellapart.two_sample_test"],
    "python": ["-c", "pass"],
}


def write_tables(folder: Path, rows: int, columns: int) -> None:
    """Two CSV files, with a difference in one column."""
    rng = np.random.default_rng(0)
    for name, shift in (("a", 0.0), ("b", 0.3)):
        values = rng.normal(size=(rows, columns))
        values[:, 0] += shift
        header = ",".join(f"column{k}" for k in range(columns))
        np.savetxt(folder / f"{name}.csv", values, delimiter=",", header=header, comments="")


def measure(words: list[str], folder: Path) -> tuple[float, float]:
    """CPU seconds and seconds of a process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    options = parser.parse_args()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, options.rows, options.columns)
        for words in COMMANDS.values():  # files are read from the disk, and compiled, before anything counts
            measure(words, folder)
        for _ in range(options.repetitions):
            for command, words in COMMANDS.items():
                times[command].append(measure(words, folder))
    found = {
        command: {
            "CPU seconds": float(np.median([cpu for cpu, _ in measured])),
            "least": min(cpu for cpu, _ in measured),
            "most": max(cpu for cpu, _ in measured),
            "seconds": float(np.median([seconds for _, seconds in measured])),
        }
        for command, measured in times.items()
    }
    torch = found["import torch"]["CPU seconds"]
    print(f"{options.rows} + {options.rows} rows of {options.columns} columns, medians of {options.repetitions}")
    print(f"{'':34} {'CPU s':>6} {'least':>6} {'most':>6} {'of torch':>9}")
    for command, one in found.items():
        print(
            f"{command:34} {one['CPU seconds']:6.2f} {one['least']:6.2f} {one['most']:6.2f} "
            f"{one['CPU seconds'] / torch:9.2f}"
        )
    if options.out is not None:
        options.out.write_text(json.dumps({"arguments": sys.argv[1:], **found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
