"""Time and memory of `two_sample_test` on the same rows in .npy, Parquet and CSV files.

    python benchmarks/files.py [--rows 250000 1000000] [--columns 32] [--out docs/files.json] [--folder FOLDER]

Each test runs in a process of its own, with 999 permutations and 1 GB of memory allowed; the files have been read once
before. ``rows`` are those of both samples. The script keeps the results of other numbers of rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TEST = """
import json, sys, time
import tellapart as ta

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))

ta.two_sample_test
imported = peak()
wall, cpu = time.perf_counter(), time.process_time()
result = ta.two_sample_test(*sys.argv[1:3], 999, rng=0, max_memory="1GB", threads=int(sys.argv[3]))
print(json.dumps({
    "seconds": round(time.perf_counter() - wall, 2),
    "CPU seconds": round(time.process_time() - cpu, 2),
    "peak MB": peak(),
    "imports MB": imported,
    "p-value": result.pvalue,
    "statistic": float(result.statistic).hex(),
}))
"""
CONTAINERS = ("npy", "parquet", "csv")


def write_files(folder: Path, rows: int, columns: int) -> None:
    """Two samples in each container, made block by block."""
    import pyarrow as arrow
    import pyarrow.csv
    import pyarrow.parquet

    names = [f"c{k}" for k in range(columns)]
    for k, sample in enumerate("xy"):
        rng = np.random.default_rng(k)
        count = rows // 2
        values = np.lib.format.open_memmap(folder / f"{sample}.npy", "w+", np.float32, (count, columns))
        schema = arrow.schema([(name, arrow.float32()) for name in names])
        with (
            arrow.parquet.ParquetWriter(folder / f"{sample}.parquet", schema) as parquet,
            arrow.csv.CSVWriter(folder / f"{sample}.csv", schema) as csv,
        ):
            for start in range(0, count, 100_000):
                block = rng.normal(size=(min(100_000, count - start), columns)).astype(np.float32)
                values[start : start + len(block)] = block
                table = arrow.table([arrow.array(np.ascontiguousarray(column)) for column in block.T], schema=schema)
                parquet.write_table(table)
                csv.write_table(table)
        values.flush()


def measure_sgemm() -> float:
    """GFLOP/s of a product of single precision on one core."""
    A = np.random.default_rng(0).normal(size=(2048, 2048)).astype(np.float32)
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        A @ A
        best = min(best, time.process_time() - start)
    return 2 * 2048**3 / best / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=32)
    parser.add_argument("--containers", nargs="+", default=CONTAINERS, choices=CONTAINERS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("docs/files.json"))
    parser.add_argument("--folder", type=Path, help="where to keep the files")
    options = parser.parse_args()
    kept = json.loads(options.out.read_text()) if options.out.exists() else {}
    kept |= {"columns": options.columns, "threads": options.threads, "sgemm GFLOP/s": round(measure_sgemm(), 1)}
    print(f"{'rows':>12} {'file':10} {'GB':>6} {'seconds':>8} {'CPU s':>8} {'peak MB':>8} {'imports':>8}")
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.folder or Path(temporary)
            if not (folder / "y.csv").exists():
                write_files(folder, rows, options.columns)
            found = kept.setdefault("tests", {}).setdefault(str(rows), {})
            for container in options.containers:
                paths = [str(folder / f"{sample}.{container}") for sample in "xy"]
                command = [sys.executable, "-c", TEST, *paths, str(options.threads)]
                one = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                one["file GB"] = round(sum(Path(path).stat().st_size for path in paths) / 1e9, 3)
                found[container] = one
                print(
                    f"{rows:12,} {container:10} {one['file GB']:6.2f} {one['seconds']:8.1f} {one['CPU seconds']:8.1f} "
                    f"{one['peak MB']:8} {one['imports MB']:8}",
                    flush=True,
                )
                options.out.write_text(json.dumps(kept, indent=1) + "\n")
            same = {(one["p-value"], one["statistic"]) for name, one in found.items() if name != "csv"}
            assert len(same) == 1, "the same rows give different results"


if __name__ == "__main__":
    main()
