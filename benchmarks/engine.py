"""Speed and memory of the tile engine, as ratios measured in one run.

    python benchmarks/engine.py             # everything, a few minutes
    python benchmarks/engine.py forms grad  # only some sections

Each measurement runs in a process of its own, so that its peak memory is its own; memory is what was needed above
the imports. Times are medians; the things compared are timed in turns, because these machines are noisy.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable

import torch

import tellapart as ta
from tellapart import engine
from tellapart.stats import formulas


def timed_in_turns(functions: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each function, called in turns after one warm-up."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for round_ in range(repeats + 1):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if round_:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def _child(connection, function, arguments):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = function(*arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    connection.send((result, peak * 1024))


def alone(function, *arguments):
    """Result and peak memory (bytes above the imports) of a function run in a fresh process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    result = ours.recv()
    process.join()
    return result


def points(n: int, d: int, seed: int) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def indicators(N: int, B: int) -> torch.Tensor:
    return (torch.rand(N, B, generator=torch.Generator().manual_seed(2)) < 0.5).to(torch.uint8)


# --- permutation quadratic forms -------------------------------------------------------------------------------


def stored_forms(Z: torch.Tensor, S: torch.Tensor, bandwidth: float) -> torch.Tensor:
    """The plain way: make the kernel matrix, multiply it."""
    squares = Z.square().sum(1)
    K = torch.exp(-(squares[:, None] + squares - 2 * Z @ Z.T) / (2 * bandwidth**2))
    K.fill_diagonal_(0)
    return (S * (K @ S)).sum(0)


def forms(threads: int, N: int, d: int, B: int) -> dict[str, float]:
    torch.set_num_threads(threads)
    X, Y, S = points(N // 2, d, 0), points(N // 2, d, 1), indicators(N, B)
    Z, floats, kernel = torch.cat([X, Y]), S.float(), ta.kernels.Gaussian(1.5).requires_grad_(False)
    A = torch.randn(2048, 2048)
    gemm_flops = 2 * 2048**3
    got = timed_in_turns(
        {
            "ours": lambda: engine.quadratic_forms(kernel, [X, Y], S),
            "stored": lambda: stored_forms(Z, floats, 1.5),
            "sgemm": lambda: A @ A,
        },
        15,
    )
    got["sgemm"] *= N**2 * B / gemm_flops
    return got


def bare_tiles(count: int) -> None:
    """The torch calls of ``count`` tiles and nothing else: no engine can be faster."""
    z, h = torch.randn(500, 2), torch.randn(500)
    S, total, tile = torch.ones(500, 208), torch.zeros(500, 208), torch.empty(500, 500)
    for _ in range(count):
        torch.addmm(h, z, z.T, out=tile).add_(h[:, None]).clamp_(-100, 0).exp2_()
        total.addmm_(tile, S)


def bare_tiles_in_two_threads(count: int) -> None:
    workers = [threading.Thread(target=bare_tiles, args=(count // 2,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def forms_two_threads(N: int, d: int, B: int) -> dict[str, float]:
    X, Y, S = points(N // 2, d, 0), points(N // 2, d, 1), indicators(N, B)
    kernel = ta.kernels.Gaussian(1.5).requires_grad_(False)

    def run(threads: int, function: Callable[[], object]) -> Callable[[], object]:
        def call() -> None:
            torch.set_num_threads(threads)
            function()

        return call

    def ours() -> object:
        return engine.quadratic_forms(kernel, [X, Y], S)

    return timed_in_turns(
        {
            "1": run(1, ours),
            "2": run(2, ours),
            "bare 1": run(1, lambda: bare_tiles(36)),
            "bare 2": run(1, lambda: bare_tiles_in_two_threads(36)),
        },
        25,
    )


def forms_once(N: int, d: int, B: int) -> float:
    torch.set_num_threads(1)
    X, Y, S = points(N // 2, d, 0), points(N // 2, d, 1), indicators(N, B)
    start = time.perf_counter()
    engine.quadratic_forms(ta.kernels.Gaussian(1.5).requires_grad_(False), [X, Y], S)
    return time.perf_counter() - start


# --- gradient of t ---------------------------------------------------------------------------------------------


def plain_t(X: torch.Tensor, Y: torch.Tensor, log_scales: torch.Tensor) -> torch.Tensor:
    """t by autograd on stored matrices, written as a careful user would: in matrix products, without loops."""
    m, n = len(X), len(Y)
    X, Y = X * log_scales.exp(), Y * log_scales.exp()

    def gram(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        squares = A.square().sum(1)[:, None] + B.square().sum(1)
        return torch.exp(-0.5 * torch.addmm(squares, A, B.T, alpha=-2).clamp_min(0))

    Kxy = gram(X, Y)
    Kxx, Kyy = (K - torch.diag(torch.diagonal(K)) for K in (gram(X, X), gram(Y, Y)))
    s = engine.Sums(
        m, n, Kxx.sum(1), Kyy.sum(1), Kxy.sum(1), Kxy.sum(0), Kxx.square().sum(), Kyy.square().sum(),
        Kxy.square().sum(), torch.diagonal(Kxx).sum(), torch.diagonal(Kyy).sum(), None,
    )  # fmt: skip
    return formulas.estimate_from(s).t


def step_plain(m: int, d: int) -> Callable[[], object]:
    X, Y, scales = (
        points(m, d, 0),
        points(m, d, 1) + 0.1,
        torch.full((d,), -0.5 * math.log(d), requires_grad=True),
    )
    return lambda: torch.autograd.grad(plain_t(X, Y, scales), scales)


def step_ours(m: int, d: int) -> Callable[[], object]:
    X, Y = points(m, d, 0), points(m, d, 1) + 0.1
    kernel = ta.kernels.ARD(d, scales=d**-0.5)
    return lambda: torch.autograd.grad(ta.t_statistic(X, Y, kernel), list(kernel.parameters()))


def grad_small(m: int, d: int) -> dict[str, float]:
    torch.set_num_threads(1)
    return timed_in_turns({"ours": step_ours(m, d), "plain": step_plain(m, d)}, 25)


def grad_large(which: str, m: int, d: int) -> float:
    torch.set_num_threads(1)
    step = {"ours": step_ours, "plain": step_plain}[which](m, d)
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


# --- sections --------------------------------------------------------------------------------------------------


def section_forms() -> dict[str, float]:
    N, d, B = 4000, 2, 200
    one, _ = alone(forms, 1, N, d, B)
    two, _ = alone(forms_two_threads, N, d, B)
    print(f"Quadratic forms of {B} indicators, N = {N:,}, d = {d}, float32")
    print(f"  ours, 1 thread            {one['ours'] * 1e3:8.1f} ms")
    print(f"  (a) stored K @ S          {one['stored'] * 1e3:8.1f} ms   {one['stored'] / one['ours']:5.2f} × ours")
    print(
        f"  (b) sgemm, N²B flops      {one['sgemm'] * 1e3:8.1f} ms   ours is {one['ours'] / one['sgemm']:5.2f} × that"
    )
    speed_up, limit = two["1"] / two["2"], two["bare 1"] / two["bare 2"]
    print(f"  ours, 2 threads           {two['2'] * 1e3:8.1f} ms   speed-up {speed_up:5.2f} ×")
    print(f"  the bare torch calls of the tiles gain {limit:.2f} × from a second thread", flush=True)
    return {
        "stored_over_ours": one["stored"] / one["ours"],
        "ours_over_sgemm": one["ours"] / one["sgemm"],
        "two_threads": speed_up,
        "two_threads_bare": limit,
    }


def section_growth() -> dict[str, float]:
    d, B, found = 2, 200, {}
    print(f"Growth, d = {d}, B = {B}, one thread")
    for N in (8_000, 32_000, 64_000):
        runs = [alone(forms_once, N, d, B) for _ in range(3 if N < 64_000 else 1)]
        found[N] = statistics.median(seconds for seconds, _ in runs)
        peak = max(peak for _, peak in runs)
        print(f"  N = {N:6,}   {found[N]:7.2f} s   peak memory {peak / 1e6:6.0f} MB", flush=True)
    exponent = math.log(found[32_000] / found[8_000]) / math.log(4)
    print(f"  exponent from 8,000 to 32,000: {exponent:.2f}", flush=True)
    return {"exponent": exponent, "peak_bytes_64000": peak}


def section_grad() -> dict[str, float]:
    d = 784
    small, _ = alone(grad_small, 500, d)
    print(f"Gradient step of t, ARD, d = {d}, one thread, float32")
    print(f"  500 + 500          ours {small['ours'] * 1e3:7.1f} ms   plain autograd {small['plain'] * 1e3:7.1f} ms"
          f"   {small['plain'] / small['ours']:5.2f} ×", flush=True)  # fmt: skip
    (ours, our_peak), (plain, plain_peak) = (alone(grad_large, which, 10_000, d) for which in ("ours", "plain"))
    print(f"  10,000 + 10,000    ours {ours:7.1f} s    plain autograd {plain:7.1f} s    {plain / ours:5.2f} ×")
    print(f"       peak memory   ours {our_peak / 1e6:7.0f} MB   plain autograd {plain_peak / 1e6:7.0f} MB"
          f"   {plain_peak / our_peak:5.1f} ×", flush=True)  # fmt: skip
    return {
        "small": small["plain"] / small["ours"],
        "large": plain / ours,
        "large_memory": plain_peak / our_peak,
    }


SECTIONS = {"forms": section_forms, "growth": section_growth, "grad": section_grad}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(SECTIONS)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} cores")
    print(json.dumps({name: SECTIONS[name]() for name in wanted}, indent=1))
