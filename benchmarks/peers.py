"""Our permutation test against the packages that one would pick instead, as ratios measured in one run.

    python benchmarks/peers.py --install             # make every peer's environment (4.6 GB in all), then run
    python benchmarks/peers.py --install hyppo       # make, or make anew, this one, then run
    python benchmarks/peers.py                       # ours, and every peer that has an environment
    python benchmarks/peers.py --only hyppo scipy --m 1000 --json peers.json

The problem is that of Figure 1 of Sutherland et al. (2017): m standard normal points against m Laplace points of
the same mean and variance. All use the kernel exp(-|x-y|²/(2σ²)), σ being the median distance of the pooled sample,
found before the clock starts, and the same number of permutations, except where the remark says otherwise. The data
are float64; ours is run as it comes, with tiles in single precision, and in double precision like the others.

Each peer lives in benchmarks/.peers/NAME and runs in a process of its own, which calls it once on a few points (so
that imports and compilation are not timed) and then measures. Times are medians. The ratio is of CPU seconds, which
a busy machine disturbs less; where seconds are far above them, the machine was busy. MB is the peak of the process,
or of its largest worker, above what it had reached before. A peer that fails has the reason as its remark.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / "benchmarks" / ".peers"
OURS, DOUBLE = "tellapart", "tellapart-double"
THREADED = ["OMP", "MKL", "OPENBLAS", "NUMBA", "NUMEXPR"]
WARM_UP_POINTS = 100
SLOW = 10.0  # seconds; what takes longer is timed once


# Adapters: X, Y and the settings (bandwidth, permutations, threads, seed) → statistic, p-value.
# They import what they need themselves, because each runs where only its own package is installed.


def tellapart(X, Y, settings, precision="single"):
    import tellapart as ta

    kernel = ta.kernels.Gaussian(settings.bandwidth)
    null = {"null": "permutation", "permutations": settings.permutations, "rng": settings.seed}
    result = ta.mmd_test(X, Y, kernel=kernel, precision=precision, **null)
    return result.statistic, result.pvalue


def alibi_detect(X, Y, settings):
    import numpy as np
    import torch
    from alibi_detect.cd import MMDDrift

    torch.manual_seed(settings.seed)
    kernel = {"sigma": np.array([settings.bandwidth]), "configure_kernel_from_x_ref": False}
    detector = MMDDrift(X, backend="pytorch", n_permutations=settings.permutations, device="cpu", **kernel)
    result = detector.predict(Y)["data"]
    return result["distance"], result["p_val"]


def torchdrift(X, Y, settings):
    import torch
    from torchdrift.detectors.mmd import GaussianKernel, kernel_mmd

    torch.manual_seed(settings.seed)
    kernel = GaussianKernel(settings.bandwidth)
    return kernel_mmd(torch.from_numpy(X), torch.from_numpy(Y), n_perm=settings.permutations, kernel=kernel)


def frouros(X, Y, settings):
    from frouros.callbacks import PermutationTestDistanceBased
    from frouros.detectors.data_drift import MMD
    from frouros.utils.kernels import rbf_kernel

    how = {"num_jobs": settings.threads, "method": "conservative", "random_state": settings.seed}
    null = PermutationTestDistanceBased(settings.permutations, **how)
    detector = MMD(kernel=partial(rbf_kernel, sigma=settings.bandwidth), callbacks=null)
    detector.fit(X=X)
    result, logs = detector.compare(X=Y)
    return result.distance, logs[null.name]["p_value"]


def hyppo(X, Y, settings):
    from hyppo.ksample import MMD

    test = MMD(compute_kernel="rbf", gamma=1 / (2 * settings.bandwidth**2))
    return test.test(X, Y, reps=settings.permutations, workers=settings.threads, auto=False)


def kerneltests(X, Y, settings):
    import kt

    test = {"kernels": "gaussian", "number_bandwidths": 2, "number_permutations": settings.permutations}
    details = kt.two_sample(X, Y, method="mmdfuse", seed=settings.seed, **test).details
    return details["statistic"], details["p_value"]


def goodpoints(X, Y, settings):
    from goodpoints.ctt import ctt

    seeds = {"null_seed": settings.seed, "statistic_seed": settings.seed}
    lam = 2**0.5 * settings.bandwidth  # its kernel is exp(-|x-y|²/λ²)
    result = ctt(X, Y, g=4, B=settings.permutations, lam=lam, **seeds)
    return result.statistic_values, (result.estimator_values >= result.statistic_values).mean()


def scipy(X, Y, settings):
    """Permutes indices, so that the kernel matrix is made once, and takes all permutations in one product."""
    import numpy as np
    from scipy.stats import permutation_test

    K = kernel_matrix(X, Y, settings.bandwidth)
    rows = K.sum(1)

    def statistic(x, _y, axis):
        members = np.zeros((*x.shape[:-1], len(K)))
        np.put_along_axis(members, x, 1.0, axis)
        xx = ((members @ K) * members).sum(axis)
        x_all = members @ rows
        return mmd2(xx, rows.sum() - 2 * x_all + xx, x_all - xx, len(X), len(Y))

    indices = np.split(np.arange(len(K)), [len(X)])
    resampling = {"n_resamples": settings.permutations, "rng": settings.seed}
    result = permutation_test(indices, statistic, vectorized=True, alternative="greater", **resampling)
    return result.statistic, result.pvalue


def naive(X, Y, settings):
    """Makes the kernel matrix once and shuffles its rows and columns for every permutation."""
    import numpy as np

    rng = np.random.default_rng(settings.seed)
    K = kernel_matrix(X, Y, settings.bandwidth)
    m, n = len(X), len(Y)

    def statistic(K):
        return mmd2(K[:m, :m].sum(), K[m:, m:].sum(), K[:m, m:].sum(), m, n)

    permutations = (rng.permutation(m + n) for _ in range(settings.permutations))
    null = [statistic(K[np.ix_(order, order)]) for order in permutations]
    observed = statistic(K)
    return observed, (1 + np.sum(null >= observed)) / (1 + len(null))


def kernel_matrix(X, Y, bandwidth):
    import numpy as np

    K = np.exp(squared_distances(np.concatenate([X, Y])) / (-2 * bandwidth**2))
    np.fill_diagonal(K, 0)
    return K


def squared_distances(Z):
    norms = (Z**2).sum(1)
    return norms[:, None] + norms - 2 * (Z @ Z.T)


def mmd2(xx, yy, xy, m, n):
    """The unbiased estimate, from the sums of the blocks of a kernel matrix whose diagonal is 0."""
    return xx / (m * (m - 1)) + yy / (n * (n - 1)) - 2 * xy / (m * n)


class Peer(NamedTuple):
    requirements: tuple[str, ...]  # the first is the package whose version is shown
    adapter: Callable[..., tuple[Any, Any]] | None
    remark: str = ""


PEERS = {
    OURS: Peer((OURS,), tellapart, "single precision, its default: all others use double"),
    DOUBLE: Peer((OURS,), partial(tellapart, precision="double"), "double precision, like the others"),
    "alibi-detect": Peer(("alibi-detect==0.13.0", "torch"), alibi_detect, "torch backend; p can be 0"),
    "torchdrift": Peer(("torchdrift==0.1.0.post1", "torch", "numpy", "tqdm"), torchdrift, "p can be 0"),
    "frouros": Peer(("frouros==0.9.0",), frouros, "kernel made anew for each permutation"),
    "hyppo": Peer(("hyppo==0.5.2",), hyppo, "MMD as HSIC, normalised; takes no seed"),
    "kerneltests": Peer(("kerneltests==0.0.1",), kerneltests, "MMD-FUSE, its own 2 bandwidths (the fewest)"),
    "goodpoints": Peer(("goodpoints==0.6.3",), goodpoints, "CTT: 32 bins, each thinned to 4^k points"),
    "scipy": Peer(("scipy==1.17.1",), scipy, "permutation_test of indices, one product"),
    "naive": Peer(("numpy==2.4.6",), naive, "kernel matrix shuffled in NumPy"),
    # Nothing is fetched under this name: whoever registers it later need not be the author.
    "torch-two-sample": Peer((), None, "not on the package index"),
}


def environment_of(name: str) -> Path:
    return ROOT / ".venv" if name in (OURS, DOUBLE) else ENVIRONMENTS / name


def python_of(name: str) -> Path:
    return environment_of(name) / "bin" / "python"


def install(name: str) -> None:
    """Make a peer's environment, or leave in its place the reason why that failed."""
    folder, peer = environment_of(name), PEERS[name]
    if name in (OURS, DOUBLE) or not peer.requirements:
        return
    print(f"installing {name}", file=sys.stderr)
    ENVIRONMENTS.mkdir(exist_ok=True)
    (ENVIRONMENTS / ".gitignore").write_text("*\n")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # Only torch is held to our version: peers ask for older releases of much else.
    ours = (ROOT / "constraints.txt").read_text().splitlines()
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(line for line in ours if line.startswith("torch==")))
    pip = [python_of(name), "-m", "pip", "--disable-pip-version-check", "install", "-q", "-c", constraints]
    done = subprocess.run([*pip, *peer.requirements], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "failed.txt").write_text(f"pip: {last_line(done.stderr)}")


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def make_problem(folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(options["seed"])
    shape = options["m"], options["d"]
    X, Y = rng.standard_normal(shape), rng.laplace(scale=0.5**0.5, size=shape)
    np.save(folder / "X.npy", X)
    np.save(folder / "Y.npy", Y)
    pairs = np.triu_indices(2 * options["m"], 1)
    return {"bandwidth": float(np.median(squared_distances(np.concatenate([X, Y]))[pairs]) ** 0.5)}


def usage() -> tuple[float, int]:
    """CPU seconds of this process and its workers, and the peak bytes of the largest of them."""
    every = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    unit = 1 if sys.platform == "darwin" else 1024
    return sum(r.ru_utime + r.ru_stime for r in every), unit * max(r.ru_maxrss for r in every)


def measure(name: str, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    peer, settings = PEERS[name], SimpleNamespace(**options)
    X, Y = np.load(folder / "X.npy"), np.load(folder / "Y.npy")
    peer.adapter(X[:WARM_UP_POINTS], Y[:WARM_UP_POINTS], settings)
    before = usage()[1]
    seconds: list[float] = []
    cpu: list[float] = []
    while len(seconds) < (1 if seconds and seconds[0] > SLOW else settings.repeats):
        start, cpu_start = time.perf_counter(), usage()[0]
        statistic, pvalue = peer.adapter(X, Y, settings)
        seconds.append(time.perf_counter() - start)
        cpu.append(usage()[0] - cpu_start)
    return {
        "version": version(peer.requirements[0].partition("==")[0]),
        "seconds": statistics.median(seconds),
        "cpu_seconds": statistics.median(cpu),
        "peak_mb": (usage()[1] - before) / 1e6,
        "statistic": float(statistic),
        "pvalue": float(pvalue),
    }


def child(name: str, folder: Path) -> None:
    """What runs in the other process: `name` is a peer or "problem"; the answer is the last line printed."""
    options = json.loads((folder / "options.json").read_text())
    try:
        answer = make_problem(folder, options) if name == "problem" else measure(name, folder, options)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {last_line(str(error))}"}
    print("\n" + json.dumps(answer))


def ask(name: str, python: Path, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Run `child` with another Python. This process stays small: a child's peak begins at its parent's."""
    (folder / "options.json").write_text(json.dumps(options))
    settings = os.environ | {f"{library}_NUM_THREADS": str(options["threads"]) for library in THREADED}
    command = [python, __file__, "--child", name, folder]
    limit = options["timeout"]
    try:
        done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit:.0f} s"}
    if done.returncode:
        return {"error": f"exit code {done.returncode}: {last_line(done.stderr)}"}
    return json.loads(last_line(done.stdout))


def result_of(name: str, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    if PEERS[name].adapter is None:
        return {"error": PEERS[name].remark}
    if python_of(name).exists():
        return ask(name, python_of(name), folder, options)
    failure = environment_of(name) / "failed.txt"
    return {"error": failure.read_text() if failure.exists() else "not installed"}


def row(name: str, result: dict[str, Any], ours: float | None) -> str:
    if "error" in result:
        return f"{name:17} {'':12} {'':44}  failed: {result['error'][:90]}"
    ratio = f"{result['cpu_seconds'] / ours:.1f}×" if ours else "-"
    times = f"{result['seconds']:8.3f} {result['cpu_seconds']:8.3f} {ratio:>8}"
    numbers = f"{times} {result['peak_mb']:8.0f} {result['pvalue']:8.4f}"
    return f"{name:17} {result['version']:12} {numbers}  {PEERS[name].remark}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--install", nargs="*", choices=PEERS, metavar="PEER", help="no PEER: all of them")
    parser.add_argument("--only", nargs="+", choices=PEERS, metavar="PEER", help="run these, and ours")
    parser.add_argument("--m", type=int, default=2000, help="points in each sample")
    parser.add_argument("--d", type=int, default=2, help="dimensions")
    parser.add_argument("--permutations", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3, help=f"1 for what takes over {SLOW:.0f} s")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one peer")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here too")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]))
        return

    for name in PEERS if arguments.install == [] else arguments.install or []:
        install(name)
    numbers = ("m", "d", "permutations", "repeats", "threads", "seed", "timeout")
    options = {key: getattr(arguments, key) for key in numbers}
    ours = python_of(OURS) if python_of(OURS).exists() else Path(sys.executable)
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        problem = ask("problem", ours, Path(temporary), options)
        if "error" in problem:
            raise SystemExit(f"cannot make the problem: {problem['error']}")
        options |= problem
        print(", ".join(f"{key} {value:.5g}" for key, value in options.items()), end="\n\n")
        print(f"{'':17} {'version':12}  seconds    CPU s    ratio  peak MB  p-value  remark")
        for name in PEERS:
            if name in (OURS, DOUBLE, *(arguments.only or PEERS)):
                results[name] = result_of(name, Path(temporary), options)
                print(row(name, results[name], results[OURS].get("cpu_seconds")), flush=True)
    if arguments.json:
        machine = {"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version()}
        report = {"options": options, "machine": machine, "results": results}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
