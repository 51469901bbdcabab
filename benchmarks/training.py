"""What a step of GMMN training costs at the paper's settings, against the same loss by plain autograd.

    python benchmarks/training.py

Generator 10-64-256-256-1024-784, batches of 500, six bandwidths summed, SGD with momentum, √MMD²_biased, denormals
flushed, one thread. The plain implementation makes the three Gram matrices and leaves the rest to autograd and
torch.optim. Ours takes the steps of `tellapart train`, in a process that keeps the memory it frees, as that command's
does. A third is the plain one in such a process, to see what that alone is worth; a fourth has a generator and no loss.
The last does only the matrix products of a step (three for each layer; the distances of generated rows to all, half of
those among data, and the way back), without activations, exponentials or optimiser: nobody can be faster than that in
single precision. Each has a process of its own; steps are taken in turns, and times are medians.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from itertools import pairwise
from multiprocessing import get_context

import torch
from torch.optim import SGD

from tellapart._util.memory import keep_freed_memory
from tellapart.generative import checkpoints, models, networks

BATCH, PIXELS = 500, 784
S = models.GMMN.settings_class()


def gram(x, y):
    distances = (x.square().sum(1)[:, None] + y.square().sum(1) - 2 * x @ y.T).clamp_min(0)
    return sum(torch.exp(distances / (-2 * b**2)) for b in S.bandwidths)


def root_mmd(made, rows):
    mmd2 = gram(made, made).mean() + gram(rows, rows).mean() - 2 * gram(made, rows).mean()
    return mmd2.clamp_min(1e-10).sqrt()


def plain(loss):
    rng = checkpoints.make_generator(0)
    generator = networks.Generator(S.noise, S.hidden, PIXELS, S.initial_std, rng)
    optimiser = SGD(generator.parameters(), S.learning_rate, S.momentum)

    def step(rows, noise):
        optimiser.zero_grad()
        value = loss(generator(torch.rand(BATCH, S.noise, generator=noise) * 2 - 1), rows)
        value.backward()
        optimiser.step()
        return value.item()

    return step


def ours():
    model = models.GMMN(S, PIXELS, 0, checkpoints.make_generator(0))
    return lambda rows, noise: model.step(1, rows, noise)["loss"].item()


def products():
    """The matrix products of a step, each on memory that is there."""
    rng = checkpoints.make_generator(0)
    widths = [S.noise, *S.hidden, PIXELS]
    layers = [
        [torch.randn(*shape, generator=rng) for shape in ((BATCH, a), (a, b), (BATCH, b))] for a, b in pairwise(widths)
    ]
    pooled = torch.randn(2 * BATCH, PIXELS, generator=rng)
    forth = torch.empty(BATCH, 2 * BATCH)

    def step(rows, noise):
        for k, (inputs, weights, outputs) in enumerate(layers):
            torch.mm(inputs, weights, out=outputs)
            torch.mm(inputs.T, outputs)
            if k:
                torch.mm(outputs, weights.T)
        torch.mm(pooled[:BATCH], pooled.T, out=forth)
        torch.mm(pooled[: BATCH // 2], pooled[BATCH:].T)
        torch.mm(forth, pooled)
        return 0.0

    return step


CONTENDERS = {
    "plain autograd": (lambda: plain(root_mmd), False),
    "tellapart": (ours, True),
    "plain, memory kept": (lambda: plain(root_mmd), True),
    "no loss": (lambda: plain(lambda made, rows: made.sum() * 1e-9), False),
    "products alone": (products, True),
}


def like_mnist(rng):
    """Batches with about the distances of MNIST: most pixels 0, rows that resemble one of ten others."""
    prototypes = (torch.rand(10, PIXELS, generator=rng) < 0.19).float()
    which = torch.randint(10, (BATCH,), generator=rng)
    return (prototypes[which] * torch.rand(BATCH, PIXELS, generator=rng) ** 0.5).contiguous()


def work(name, pipe):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    make, keep = CONTENDERS[name]
    if keep:
        keep_freed_memory()
    step, data, noise = make(), checkpoints.make_generator(1), checkpoints.make_generator(2)
    while pipe.recv():
        rows = like_mnist(data)
        start = time.perf_counter()
        loss = step(rows, noise)
        pipe.send((time.perf_counter() - start, loss))


def main(steps=60, warm_up=5):
    context = get_context("spawn")
    pipes = {}
    for name in CONTENDERS:
        pipes[name], other = context.Pipe()
        context.Process(target=work, args=(name, other), daemon=True).start()
    times = {name: [] for name in pipes}
    for k in range(steps + warm_up):
        losses = {}
        for name, pipe in pipes.items():
            pipe.send(True)
            seconds, losses[name] = pipe.recv()
            times[name] += [seconds] if k >= warm_up else []
        if k == 0:  # later the same rounding errors have grown apart
            assert abs(losses["tellapart"] / losses["plain autograd"] - 1) < 1e-4, losses
    for pipe in pipes.values():
        pipe.send(False)
    medians = {name: statistics.median(found) for name, found in times.items()}
    ratio = medians["plain autograd"] / medians["tellapart"]
    print(f"GMMN, batch {BATCH}, {PIXELS} pixels, {len(S.bandwidths)} bandwidths, one thread, {steps} steps each")
    for name, seconds in medians.items():
        print(f"  {name:20} {1e3 * seconds:6.1f} ms a step   {1 / seconds:5.1f} steps a second")
    print(f"  tellapart against plain autograd, steps a second: {ratio:.2f} ×")
    most = medians["plain autograd"] / medians["products alone"]
    print(f"  the products alone against plain autograd, which no implementation passes: {most:.2f} ×")
    return {"ratio": ratio, "seconds": medians}


if __name__ == "__main__":
    found = main()
    if "--json" in sys.argv:
        print(json.dumps(found))
