"""Figure 1 of Sutherland et al. 2017: how long a two-sample test takes.

    tellapart reproduce speed [--quick] [--out DIR]

Standard normal against Laplace samples with the same moments, in two dimensions; a Gaussian kernel with the median
bandwidth; 200 draws from the null distribution. A test is timed from data to p-value, and again with the kernel matrix
given. All methods are timed in turns in one run: ratios are more reliable than seconds.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from .._util.extras import extra
from .._util.files import write_json
from .._util.progress import progress_bar
from ..kernels import Precomputed
from ..learning.bandwidths import median_bandwidth
from ..twosample import mmd_test
from .figures import new_figure
from .parts import command

DRAWS = 200
#: The size at which methods are compared. All of them are timed there, however long they take.
REFERENCE = 2000
SIZES = (250, 500, 1000, REFERENCE, 4000, 8000, 16000)
#: Methods whose matrices would take more stop growing.
BYTES = 4e9
#: Seconds in the paper, at m = n = 2,000 with 200 draws, on its authors' machine.
PAPER = {"one pass": 12.0, "spectral, Shogun": 87.0, "spectral, Python": 182.0, "spectral, Matlab": 381.0}


class Effort(NamedTuple):
    """Sizes, number of repeated fast calls, time limit for repeating a call, and time limit of a call, in seconds."""

    sizes: tuple[int, ...]
    repeats: int
    patience: float
    limit: float


EFFORT = {"quick": Effort(SIZES[:5], 9, 2.0, 10.0), "full": Effort(SIZES, 15, 20.0, 60.0)}


class Trial(NamedTuple):
    """Seconds from data to p-value, seconds given the kernel matrix, and the result of the test."""

    seconds: float
    given: float
    statistic: float
    pvalue: float


class Method(NamedTuple):
    """A test: its name, the growth of its time with m, the number of N × N matrices in memory, and how it is run."""

    label: str
    order: int
    matrices: float
    colour: str
    attempt: Callable[[Any, Any, Precomputed | None], Trial]


def run(out: Path, quick: bool = False, progress: bool | None = None) -> dict[str, Any]:
    """Time all methods, print their ratios, write ``speed.json``, ``speed.png`` and ``speed.pdf`` into ``out``."""
    effort = EFFORT["quick" if quick else "full"]
    extra("matplotlib")
    cores = int(extra("numba").config.NUMBA_NUM_THREADS)
    counts = sorted({*(2**k for k in range(cores.bit_length())), cores})
    by_size: list[dict[str, Any]] = []
    with progress_bar(progress, "speed") as report:
        # Compilers, thread pools and libraries wake up here.
        time_in_turns(METHODS, counts, effort.sizes[0], effort._replace(repeats=1))
        by_threads = time_in_turns(METHODS, counts, REFERENCE, effort)
        for done, m in enumerate(effort.sizes, 1):
            growing = [name for name in METHODS if _may_grow(name, m, by_size, effort.limit)]
            at_reference = [row for row in by_threads if row["threads"] == 1]
            by_size += at_reference if m == REFERENCE else time_in_turns(growing, [1], m, effort)
            if report is not None:
                report(done, len(effort.sizes))
    made_by = {"command": command("speed", quick=quick), "limit": effort.limit, "load": load_average()}
    result = made_by | _summary(by_threads, by_size, cores)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "speed.json", result)
    draw(result, out)
    print(table(result))
    return result


def load_average() -> float | None:
    """Load average of the machine, if available."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def time_in_turns(names: Iterable[str], counts: list[int], m: int, effort: Effort) -> list[dict[str, Any]]:
    """Time the methods in turns, slow ones less often. The first run is a warm-up unless it takes over a second."""
    rng = np.random.default_rng(m)
    X, Y = rng.standard_normal((m, 2)), rng.laplace(scale=0.5**0.5, size=(m, 2))
    given = Precomputed(stored_kernel(X, Y)) if matrix_bytes(m) <= BYTES else None
    # NumPy's indexing knows nothing of threads.
    trials = {(name, n): list[Trial]() for n in counts for name in names if n == 1 or name != "naive"}
    for turn in range(effort.repeats + 1):
        for (name, threads), done in trials.items():
            if sum(max(trial.seconds, trial.given) for trial in done) <= effort.patience:
                with _threads(threads):
                    trial = METHODS[name].attempt(X, Y, given)
                if turn or trial.seconds > 1:
                    done.append(trial)
    return [
        {"method": name, "threads": threads, "m": m, "repeats": len(done)}
        | {"seconds": statistics.median(trial.seconds for trial in done)}
        | {"seconds_kernel_given": None if given is None else statistics.median(trial.given for trial in done)}
        | {"statistic": done[0].statistic, "pvalue": done[0].pvalue}
        for (name, threads), done in trials.items()
    ]


def _may_grow(name: str, m: int, rows: list[dict[str, Any]], limit: float) -> bool:
    """Whether a method completed the previous size, and one call at this size meets the limits of time and memory."""
    last = [row for row in rows if row["method"] == name][-1:]
    in_time = all(2 * row["m"] == m and row["seconds"] * 2 ** METHODS[name].order <= limit for row in last)
    return m <= REFERENCE or (in_time and METHODS[name].matrices * matrix_bytes(m) <= BYTES)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Context with the given number of threads for torch, numba and the BLAS of NumPy and SciPy."""
    numba = extra("numba")
    of_torch, of_numba = torch.get_num_threads(), numba.get_num_threads()
    with extra("threadpoolctl").threadpool_limits(count, user_api="blas"):
        try:
            torch.set_num_threads(count)
            numba.set_num_threads(count)
            yield
        finally:
            torch.set_num_threads(of_torch)
            numba.set_num_threads(of_numba)


def matrix_bytes(m: int) -> int:
    """Size of the float32 kernel matrix of two samples of m points."""
    return 4 * (2 * m) ** 2


def stored_kernel(X: Any, Y: Any) -> torch.Tensor:
    """The pooled Gaussian kernel matrix in float32, by one matrix product: -|x - y|²/2 = x·y - |x|²/2 - |y|²/2."""
    Z = torch.from_numpy(np.concatenate([X, Y])).float() / median_bandwidth(X, Y, rng=0)
    halves = Z.square().sum(1, keepdim=True) / -2
    ones = torch.ones_like(halves)
    return (torch.cat([Z, halves, ones], 1) @ torch.cat([Z, ones, halves], 1).T).exp_()


def time_ours(null: Literal["permutation", "binned"], X: Any, Y: Any, matrix: Precomputed | None) -> Trial:
    """The test of this package, from data and from a given matrix."""
    result = mmd_test(X, Y, null=null, permutations=DRAWS, rng=0)
    given = math.nan
    if matrix is not None:
        x, y = np.split(np.arange(2 * len(X)), 2)
        given = mmd_test(x, y, kernel=matrix, null=null, permutations=DRAWS, rng=0).seconds
    return Trial(result.seconds, given, result.statistic, result.pvalue)


def time_stored(
    null: Callable[[Any, int, np.random.Generator], Any], X: Any, Y: Any, matrix: Precomputed | None
) -> Trial:
    """A test that computes the kernel matrix first. ``null`` returns the statistic and its null distribution."""
    start = time.perf_counter()
    K = stored_kernel(X, Y).numpy()
    middle = time.perf_counter()
    statistic, *distribution = null(K, len(X), np.random.default_rng(0))
    pvalue = (1 + sum(value >= statistic for value in distribution)) / (1 + DRAWS)
    end = time.perf_counter()
    return Trial(end - start, end - middle, float(statistic), float(pvalue))


def one_pass(tuned: bool, K: Any, m: int, rng: np.random.Generator) -> Any:
    """The algorithm of the paper: entries are looked up in the inverse permutations and no matrix is permuted.

    As published, each permutation is a sequential pass through the matrix. Tuned, one pass serves all permutations:
    they lie side by side as bytes, there are no branches, and of the three blocks one follows from the total.
    """
    inverses = np.stack([np.arange(2 * m), *(rng.permutation(2 * m) for _ in range(DRAWS))])
    if not tuned:
        xx, yy, xy = _published_sums()(K, inverses.astype(np.int32), m)
        return _mmd2(2 * xx, 2 * yy, xy, m)
    xx, xy, total = _block_sums()(K, np.ascontiguousarray((inverses < m).T.astype(np.uint8)))
    return _mmd2(2 * xx, 2 * (total - xx - xy), xy, m)


@cache
def _published_sums() -> Any:
    numba = extra("numba")

    def published_sums(K: Any, inverses: Any, m: int) -> Any:
        count, N = inverses.shape
        within_x, within_y, across = np.zeros(count), np.zeros(count), np.zeros(count)
        for b in numba.prange(count):
            xx, yy, xy = 0.0, 0.0, 0.0
            for i in range(N):
                for j in range(i + 1, N):
                    if inverses[b, i] < m and inverses[b, j] < m:
                        xx += K[i, j]
                    elif inverses[b, i] >= m and inverses[b, j] >= m:
                        yy += K[i, j]
                    else:
                        xy += K[i, j]
            within_x[b], within_y[b], across[b] = xx, yy, xy
        return within_x, within_y, across

    return numba.njit(parallel=True, fastmath=True)(published_sums)


@cache
def _block_sums() -> Any:
    numba = extra("numba")

    def block_sums(K: Any, of_x: Any) -> Any:
        N, count = of_x.shape
        chunks = 64
        within, across, totals = np.zeros((chunks, count)), np.zeros((chunks, count)), np.zeros(chunks)
        for chunk in numba.prange(chunks):
            # Every 64th row: rows grow shorter, and threads should have the same to do.
            for i in range(chunk, N, chunks):
                xx, xy, total = np.zeros(count, np.float32), np.zeros(count, np.float32), 0.0
                for j in range(i + 1, N):
                    k = K[i, j]
                    total += k
                    # Permutations lie side by side: this loop becomes vector instructions. The block yy is the rest.
                    for b in range(count):
                        both = of_x[i, b] + of_x[j, b]
                        xx[b] += k if both == 2 else np.float32(0)
                        xy[b] += k if both == 1 else np.float32(0)
                within[chunk] += xx
                across[chunk] += xy
                totals[chunk] += total
        return within.sum(0), across.sum(0), totals.sum()

    return numba.njit(parallel=True, fastmath=True)(block_sums)


def naive(K: Any, m: int, rng: np.random.Generator) -> Any:
    """The usual algorithm: permute rows and columns of the matrix and sum its blocks."""
    orders = (np.arange(2 * m), *(rng.permutation(2 * m) for _ in range(DRAWS)))
    halves = (np.split(order, 2) for order in orders)
    return [_from_blocks(K[np.ix_(x, x)], K[np.ix_(y, y)], K[np.ix_(x, y)]) for x, y in halves]


def spectral(library: Literal["torch", "scipy"], K: Any, m: int, rng: np.random.Generator) -> Any:
    """Draws from the asymptotic null by the eigenvalues of the centred matrix (Gretton et al. 2009)."""
    means = K.mean(0)
    centred = K - means - means[:, None] + means.mean()
    if library == "torch":
        eigenvalues = torch.linalg.eigvalsh(torch.from_numpy(centred)).numpy()
    else:
        eigenvalues = extra("scipy.linalg").eigvalsh(centred, overwrite_a=True, check_finite=False)
    draws = (rng.standard_normal((DRAWS, 2 * m)) ** 2 - 1) @ np.maximum(eigenvalues, 0) / m**2
    return [_from_blocks(K[:m, :m], K[m:, m:], K[:m, m:]), *draws]


def _from_blocks(Kxx: Any, Kyy: Any, Kxy: Any) -> Any:
    return _mmd2(Kxx.sum() - np.trace(Kxx), Kyy.sum() - np.trace(Kyy), Kxy.sum(), len(Kxx))


def _mmd2(xx: Any, yy: Any, xy: Any, m: int) -> Any:
    """MMD² from the sums of the blocks, those of xx and yy without the diagonal."""
    return (xx + yy) / (m * (m - 1)) - 2 * xy / m**2


#: Colours of Okabe and Ito, which everybody can tell apart.
METHODS = {
    "naive": Method("NumPy, indexing the matrix", 2, 1.75, "#666666", partial(time_stored, naive)),
    "scipy": Method("Spectral, SciPy", 3, 3, "#CC79A7", partial(time_stored, partial(spectral, "scipy"))),
    "torch": Method("Spectral, torch (MKL)", 3, 3, "#009E73", partial(time_stored, partial(spectral, "torch"))),
    "one pass": Method("The paper’s algorithm, numba", 2, 1, "#D55E00", partial(time_stored, partial(one_pass, False))),
    "tuned": Method("The same, tuned (numba)", 2, 1, "#E69F00", partial(time_stored, partial(one_pass, True))),
    "permutation": Method("tellapart, permutations", 2, 0, "#0072B2", partial(time_ours, "permutation")),
    "binned": Method("tellapart, binned", 2, 0, "#56B4E9", partial(time_ours, "binned")),
}


def _summary(by_threads: list[dict[str, Any]], by_size: list[dict[str, Any]], cores: int) -> dict[str, Any]:
    seconds = {(row["method"], row["threads"]): row["seconds"] for row in by_threads}
    both = {name: seconds[name, 1] / seconds[name, 2] for name in ("permutation", "binned") if (name, 2) in seconds}
    return {
        "machine": {"cores": cores, "torch": torch.__version__, "mkl": torch.backends.mkl.is_available()},
        "draws": DRAWS,
        "by_threads": by_threads,
        "by_size": by_size,
        "ratios_to_ours": {name: seconds[name, 1] / seconds["permutation", 1] for name in METHODS},
        "speed_up_of_ours_with_two_threads": both,
        "paper": {"seconds": PAPER, "ratios_to_theirs": {name: s / PAPER["one pass"] for name, s in PAPER.items()}},
    }


def table(result: dict[str, Any]) -> str:
    """Format times and ratios at the reference size on one thread, next to those of the paper."""
    rows = [row for row in result["by_threads"] if row["threads"] == 1]
    ours = next(row for row in rows if row["method"] == "permutation")
    lines = [f"m = n = {REFERENCE:,}, {DRAWS} draws, one thread       kernel included           kernel given"]
    for row in rows:
        cells = (f"{row[key]:9.3f} s {row[key] / ours[key]:7.2f} ×" for key in ("seconds", "seconds_kernel_given"))
        lines.append(f"  {METHODS[row['method']].label:34}" + "     ".join(cells))
    for name, factor in result["speed_up_of_ours_with_two_threads"].items():
        lines.append(f"  two threads speed up {METHODS[name].label} {factor:.2f} ×")
    lines.append("In the paper, on another machine")
    lines += [f"  {name:34}{s:9.0f}   s {s / PAPER['one pass']:7.2f} × theirs" for name, s in PAPER.items()]
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence."""
    ratios, theirs = result["ratios_to_ours"], result["paper"]["ratios_to_theirs"]
    return (
        f"The paper's algorithm takes {ratios['one pass']:.1f} times as long as ours, the spectral test "
        f"{ratios['torch']:.0f} times; in the paper the fastest spectral test takes "
        f"{theirs['spectral, Shogun']:.1f} times as long as its algorithm, here "
        f"{ratios['torch'] / ratios['one pass']:.1f} times. (One of {result['machine']['cores']} cores, with a load "
        f"average of {result['load']} when this was timed: trust the ratios.)"
    )


def draw(result: dict[str, Any], out: Path) -> None:
    """Plot time against the number of threads and against the sample size."""
    dashed = {"linestyle": (0, (2, 2)), "markerfacecolor": "white"}
    with new_figure(out / "speed", 10.5, 4.8, **{"lines.marker": "o", "lines.markersize": 5}) as figure:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1.9))
        for axes, rows, key in ((left, result["by_threads"], "threads"), (right, result["by_size"], "m")):
            for name, method in METHODS.items():
                for field, look in (("seconds_kernel_given", dashed), ("seconds", {"label": method.label})):
                    line = [(row[key], row[field]) for row in rows if row["method"] == name and row[field]]
                    axes.plot(*zip(*line, strict=True), color=method.colour, **look)
            ticks = sorted({row[key] for row in rows})
            axes.set_xscale("log", base=2)
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        right.plot([], [], color="black", label="from data to p-value")
        right.plot([], [], color="black", label="kernel matrix given", **dashed)
        left.set_yscale("log")
        left.set_yticks([0.001, 0.01, 0.1, 1, 10, 100], ["1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"])
        shortest, longest = (f([row["seconds"] for row in result["by_size"]]) for f in (min, max))
        left.set(xlabel="Threads", ylabel="Time of one test", ylim=(shortest / 3, longest * 2))
        left.set_title(f"m = n = {REFERENCE:,}")
        left.margins(x=0.15)
        left.yaxis.minorticks_off()
        right.tick_params(axis="y", left=False)
        right.set(xlabel="Size of each sample, m = n", title="One thread")
        figure.legend(*right.get_legend_handles_labels(), loc="outside right center", frameon=False)
        ratios = result["ratios_to_ours"]
        figure.suptitle(
            f"tellapart: {DRAWS} permutations {ratios['one pass']:.1f}× as fast as the paper’s algorithm and "
            f"{ratios['torch']:.0f}× as fast as the spectral test",
            weight="bold",
        )
        figure.supxlabel(
            "Normal against Laplace samples in two dimensions. Medians of runs in turns. "
            f"Above {REFERENCE:,}, lines end where a call would take {result['limit']:.0f} s or {BYTES / 1e9:.0f} GB.",
            fontsize=8.5,
            color="#555555",
        )
