"""Our permutation test against the packages that one would pick instead, as ratios measured in one run.

    python benchmarks/peers.py --install             # make every peer's environment (3-4 GB in all), then run
    python benchmarks/peers.py --install hyppo       # make, or make anew, this one, then run
    python benchmarks/peers.py                       # ours, and every peer that has an environment
    python benchmarks/peers.py --only hyppo scipy --m 1000 --json peers.json

The problem is that of Figure 1 of Sutherland et al. (2017): m standard normal points against m Laplace points of the
same mean and variance, in float64. All use the kernel exp(-|x-y|²/(2σ²)), σ being the median distance of the pooled
sample, and the same number of permutations, except where the remark says otherwise; σ is found before the clock starts.

Each peer lives in benchmarks/.peers/NAME and runs in a process of its own, which calls it once on a few points (so
that imports and compilation are not timed) and then measures. Seconds are a median; MB is the peak of the process,
or of a worker of its own, above what it had reached by then. A peer that fails has the reason as its remark.
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
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / "benchmarks" / ".peers"
OURS = "tellapart"
THREAD_SETTINGS = ["OMP", "MKL", "OPENBLAS", "NUMBA", "NUMEXPR"]
WARM_UP_POINTS = 100
SLOW = 10.0  # seconds; what takes longer is timed once


# Adapters: X, Y and the settings (bandwidth, permutations, threads, seed) → statistic, p-value.
# They import what they need themselves, because each runs where only its own package is installed.


def tellapart(X, Y, settings):
    import tellapart as ta

    kernel = ta.kernels.Gaussian(settings.bandwidth)
    result = ta.mmd_test(X, Y, kernel=kernel, null="permutation", permutations=settings.permutations, rng=settings.seed)
    return result.statistic, result.pvalue


def alibi_detect(X, Y, settings):
    import numpy as np
    import torch
    from alibi_detect.cd import MMDDrift

    torch.manual_seed(settings.seed)
    detector = MMDDrift(
        X,
        backend="pytorch",
        sigma=np.array([settings.bandwidth]),
        configure_kernel_from_x_ref=False,
        n_permutations=settings.permutations,
        device="cpu",
    )
    result = detector.predict(Y)["data"]
    return result["distance"], result["p_val"]


def torchdrift(X, Y, settings):
    import torch
    from torchdrift.detectors.mmd import GaussianKernel, kernel_mmd

    torch.manual_seed(settings.seed)
    kernel = GaussianKernel(settings.bandwidth)
    return kernel_mmd(torch.from_numpy(X), torch.from_numpy(Y), n_perm=settings.permutations, kernel=kernel)


def frouros(X, Y, settings):
    from functools import partial

    from frouros.callbacks import PermutationTestDistanceBased
    from frouros.detectors.data_drift import MMD
    from frouros.utils.kernels import rbf_kernel

    null = PermutationTestDistanceBased(
        settings.permutations, num_jobs=settings.threads, method="conservative", random_state=settings.seed
    )
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
    OURS: Peer((OURS,), tellapart),
    "alibi-detect": Peer(("alibi-detect==0.13.0", "torch"), alibi_detect, "torch backend; p can be 0"),
    "torchdrift": Peer(("torchdrift==0.1.0.post1", "torch", "numpy", "tqdm"), torchdrift, "p can be 0"),
    "frouros": Peer(("frouros==0.9.0",), frouros, "kernel made anew for each permutation"),
    "hyppo": Peer(("hyppo==0.5.2",), hyppo, "MMD as HSIC, rescaled; takes no seed"),
    "kerneltests": Peer(("kerneltests==0.0.1",), kerneltests, "MMD-FUSE, 2 bandwidths of its own: the fewest"),
    "goodpoints": Peer(("goodpoints==0.6.3",), goodpoints, "CTT, g = 4: approximate, permutes 32 bins"),
    "scipy": Peer(("scipy==1.17.1",), scipy, "permutation_test of indices, one product"),
    "naive": Peer(("numpy==2.4.6",), naive, "kernel matrix shuffled in NumPy"),
    # Nothing is fetched under this name: whoever registers it later need not be the author.
    "torch-two-sample": Peer((), None, "not on the package index"),
}


def environment_of(name: str) -> Path:
    return ROOT / ".venv" if name == OURS else ENVIRONMENTS / name


def python_of(name: str) -> Path:
    return environment_of(name) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(name: str) -> None:
    """Make a peer's environment, or leave in its place the reason why that failed."""
    folder, peer = environment_of(name), PEERS[name]
    if name == OURS or not peer.requirements:
        return
    print(f"installing {name}", file=sys.stderr)
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


def peak_memory() -> int:
    """Bytes, of this process or of the largest of its workers. (macOS counts bytes, others kilobytes.)"""
    peaks = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(peaks) * (1 if sys.platform == "darwin" else 1024)


def measure(name: str, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    peer, settings = PEERS[name], SimpleNamespace(**options)
    X, Y = np.load(folder / "X.npy"), np.load(folder / "Y.npy")
    peer.adapter(X[:WARM_UP_POINTS], Y[:WARM_UP_POINTS], settings)
    before = peak_memory()
    seconds: list[float] = []
    while len(seconds) < (1 if seconds and seconds[0] > SLOW else settings.repeats):
        start = time.perf_counter()
        statistic, pvalue = peer.adapter(X, Y, settings)
        seconds.append(time.perf_counter() - start)
    return {
        "version": version(peer.requirements[0].partition("==")[0]),
        "seconds": statistics.median(seconds),
        "peak_mb": (peak_memory() - before) / 1e6,
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
    threads = {f"{library}_NUM_THREADS": str(options["threads"]) for library in THREAD_SETTINGS}
    command = [python, __file__, "--child", name, folder]
    try:
        done = subprocess.run(
            command, env=os.environ | threads, capture_output=True, text=True, timeout=options["timeout"]
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {options['timeout']} s"}
    if done.returncode:
        return {"error": f"exit code {done.returncode}: {last_line(done.stderr)}"}
    return json.loads(last_line(done.stdout))


def result_of(name: str, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    failure = environment_of(name) / "failed.txt"
    if PEERS[name].adapter is None:
        return {"error": PEERS[name].remark}
    if failure.exists():
        return {"error": failure.read_text()}
    if not python_of(name).exists():
        return {"error": "not installed" + ("" if name == OURS else f": --install {name}")}
    return ask(name, python_of(name), folder, options)


def row(name: str, result: dict[str, Any], ours: float | None) -> str:
    if "error" in result:
        return f"{name:17} {'':12} {'':>8} {'':>7} {'':>8} {'':>8}  failed: {result['error'][:90]}"
    ratio = f"{result['seconds'] / ours:.1f}×" if ours else "-"
    return (
        f"{name:17} {result['version']:12} {result['seconds']:8.3f} {ratio:>7} {result['peak_mb']:8.0f} "
        f"{result['pvalue']:8.4f}  {PEERS[name].remark}"
    )


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
        return child(arguments.child[0], Path(arguments.child[1]))

    for name in PEERS if arguments.install == [] else arguments.install or []:
        install(name)
    names = [name for name in PEERS if name == OURS or name in (arguments.only or PEERS)]
    options = {key: value for key, value in vars(arguments).items() if key not in ("install", "only", "json", "child")}
    ours = python_of(OURS) if python_of(OURS).exists() else Path(sys.executable)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        options |= ask("problem", ours, folder, options)
        print("m = n = {m}, d = {d}, {permutations} permutations, {threads} thread(s)".format(**options), end="")
        print(f", σ = {options['bandwidth']:.4f}\n\n{'':17} {'version':12}  seconds   ratio  peak MB  p-value  remark")
        results: dict[str, dict[str, Any]] = {}
        for name in names:
            results[name] = result_of(name, folder, options)
            print(row(name, results[name], results[OURS].get("seconds")), flush=True)
    if arguments.json:
        machine = {"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version()}
        report = {"options": options, "machine": machine, "results": results}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    return None


if __name__ == "__main__":
    main()
