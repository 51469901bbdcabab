"""What a step of GMMN training costs at the paper's settings, against the same loss by plain autograd.

    python benchmarks/training.py

Generator 10-64-256-256-1024-784, batches of 500, six bandwidths summed, SGD with momentum, √MMD²_biased, denormals
flushed, one thread. The plain implementation makes the three Gram matrices and leaves the rest to autograd. Both sides
train their own copy of the same generator; their steps are taken in turns, and times are medians.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import torch
from torch.optim import SGD

import tellapart as ta
from tellapart.generative import checkpoints, models, networks, settings

BATCH, PIXELS = 500, 784


def plain(bandwidths):
    """√MMD²_biased as it is commonly written: three Gram matrices."""

    def squared_distances(x, y):
        return (x.square().sum(1)[:, None] + y.square().sum(1) - 2 * x @ y.T).clamp_min(0)

    def gram(x, y):
        distances = squared_distances(x, y)
        return sum(torch.exp(distances / (-2 * b**2)) for b in bandwidths)

    def loss(made, rows):
        mmd2 = gram(made, made).mean() + gram(rows, rows).mean() - 2 * gram(made, rows).mean()
        return mmd2.clamp_min(1e-10).sqrt()

    return loss


def like_mnist(rng):
    """Batches with about the distances of MNIST: most pixels 0, rows that resemble one of ten others."""
    prototypes = (torch.rand(10, PIXELS, generator=rng) < 0.19).float()
    which = torch.randint(10, (BATCH,), generator=rng)
    return (prototypes[which] * torch.rand(BATCH, PIXELS, generator=rng) ** 0.5).contiguous()


def stepper(loss, seed=0):
    s = settings.GMMN()
    rng = checkpoints.seeded(seed)
    generator = networks.Generator(s.noise, s.hidden, PIXELS, s.initial, rng)
    optimiser = SGD(generator.parameters(), s.learning_rate, s.momentum)

    def step(rows):
        noise = torch.rand(BATCH, s.noise, generator=rng) * 2 - 1
        optimiser.zero_grad()
        value = loss(generator(noise), rows)
        value.backward()
        optimiser.step()
        return value.item()

    return step


def main(steps=60):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    s = settings.GMMN()
    steppers = {
        "plain autograd": stepper(plain(s.bandwidths)),
        "tellapart": stepper(ta.losses.MMDLoss(models.paper_kernel(s.bandwidths, PIXELS), "biased", root=True)),
        "no loss": stepper(lambda made, rows: made.sum() * 1e-9),
    }
    rng = checkpoints.seeded(1)
    times = {name: [] for name in steppers}
    values = dict.fromkeys(steppers, 0.0)
    for k in range(steps + 5):
        rows = like_mnist(rng)
        for name, step in steppers.items():
            start = time.perf_counter()
            values[name] = step(rows)
            if k >= 5:
                times[name].append(time.perf_counter() - start)
        if k == 0:
            assert abs(values["tellapart"] - values["plain autograd"]) < 1e-3 * values["plain autograd"], values
    medians = {name: statistics.median(found) for name, found in times.items()}
    ratio = medians["plain autograd"] / medians["tellapart"]
    print(f"GMMN, batch {BATCH}, {PIXELS} pixels, {len(s.bandwidths)} bandwidths, one thread, {steps} steps each")
    for name, seconds in medians.items():
        print(f"  {name:15} {1e3 * seconds:6.1f} ms a step   {1 / seconds:5.1f} steps a second")
    print(f"  ratio of steps a second: {ratio:.2f}")
    return {"ratio": ratio, **medians}


if __name__ == "__main__":
    found = main()
    if "--json" in sys.argv:
        print(json.dumps(found))
