"""``max_memory`` bounds the whole of a call: its peak is measured in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import sys, torch, tellapart as ta

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

def samples(n, d):
    return [torch.randn(n, d, generator=torch.Generator().manual_seed(s)) for s in (0, 1)]

torch.set_num_threads({threads})
call = lambda X, Y, max_memory: {call}
call(*samples(100, 4), "1GB")  # what libraries set up when they are first used
X, Y = samples({n}, {d})
before = peak()
call(X, Y, {most})
print(peak() - before)
"""
#: The call, rows of each sample, coordinates, and megabytes allowed.
CALLS = {
    "permutation": ("ta.mmd_test(X, Y, permutations=499, rng=0, max_memory=max_memory)", 6000, 20, 30),
    "binned": ("ta.mmd_test(X, Y, null='binned', rng=0, max_memory=max_memory)", 6000, 20, 12),
    "paired": ("ta.mmd_test(X, Y, null='paired', permutations=499, rng=0, max_memory=max_memory)", 4000, 20, 20),
    "wild": ("ta.mmd_test(X, Y, null='wild', permutations=99, rng=0, max_memory=max_memory)", 2000, 20, 30),
    "estimate": (
        "ta.estimate(X, Y, ta.kernels.Gaussian(1.0).requires_grad_(False), max_memory=max_memory)",
        6000,
        20,
        12,
    ),
    "witness": ("ta.learned_test(X, Y, permutations=499, rng=0, max_memory=max_memory)", 12_000, 10, 60),
    "witness, wide": ("ta.learned_test(X, Y, permutations=99, rng=0, max_memory=max_memory)", 4000, 400, 60),
    "select_bandwidth": ("ta.select_bandwidth(X, Y, rng=0, max_memory=max_memory)", 4000, 10, 30),
    "fit_kernel": ("ta.fit_kernel(X, Y, steps=5, rng=0, max_memory=max_memory)", 3000, 50, 30),
}
#: Megabytes of the allocator and of threads that are nobody's, and of a copy of the samples where the docs say so.
SLACK = 6


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read there")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_keeps_to_max_memory(name):
    call, n, d, most = CALLS[name]
    code = CODE.format(call=call, n=n, d=d, most=most * 10**6, threads=1 + (name == "permutation"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    copies = 2 * 2 * n * d * 4 / 1e6 if name in ("witness", "witness, wide", "fit_kernel", "select_bandwidth") else 0
    peak = int(done.stdout) / 1e6
    print(f"{name}: {peak:.1f} MB of {most}, beside {copies:.1f} MB of copies of the rows")
    assert peak < most + copies + SLACK
