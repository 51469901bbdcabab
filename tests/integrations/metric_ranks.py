"""What `test_torchmetrics.py` runs on two ranks: ``torchrun tests/integrations/metric_ranks.py FOLDER``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from tellapart.integrations.torchmetrics import KernelDistance
from tellapart.kernels import Gaussian

#: One that keeps all features, and one that keeps sums.
METRICS = {
    "buffer": lambda: KernelDistance(kernel=Gaussian(2.0), permutations=99),
    "sums": lambda: KernelDistance(dimensions=4),
}
RNG = torch.Generator().manual_seed(0)
REAL, FAKE = torch.randn(40, 4, generator=RNG), torch.randn(30, 4, generator=RNG) + 0.3
#: How many real and generated rows each rank has.
SPLITS = ((25, 15), (10, 20))


def measure(name, real, fake):
    metric = METRICS[name]()
    for x, is_real in ((real, True), (fake, False)):
        for batch in x.split(7):
            metric.update(batch, real=is_real)
    return {key: value.item() for key, value in metric.compute().items()}


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    found = {name: measure(name, REAL.split(SPLITS[0])[rank], FAKE.split(SPLITS[1])[rank]) for name in METRICS}
    Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()
