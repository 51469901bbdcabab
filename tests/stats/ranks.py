"""What `test_gather.py` runs on several ranks, and alone to compare: ``torchrun tests/ranks.py FOLDER``."""

from __future__ import annotations

import json
import sys
import warnings
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tellapart.kernels import MLP, Deep, Gaussian, Mixture
from tellapart.stats.losses import FeatureMatchingMMD, MMDLoss, TStatisticLoss

FIXED = Mixture([0.5, 1, 2, 5]).requires_grad_(False)
FEATURES = MLP([3, 4], rng=1).double().requires_grad_(False)
LOSSES = {
    "full": lambda gather: MMDLoss(FIXED, gather=gather),
    "paired": lambda gather: MMDLoss(FIXED, "paired", gather=gather),
    "root": lambda gather: MMDLoss(FIXED, "biased", root=True, gather=gather),
    "t": lambda gather: TStatisticLoss(FIXED, gather=gather),
    "features": lambda gather: FeatureMatchingMMD(FIXED, lambda x: [FEATURES(x), x.sum(1)], gather=gather),
    "network": lambda gather: FeatureMatchingMMD(FIXED, FEATURES, gather=gather),
    "bandwidth": lambda gather: MMDLoss(Gaussian(1.5), gather=gather),
    "deep": lambda gather: TStatisticLoss(Deep(MLP([3, 5, 2], rng=2), original=Gaussian(2.0)), gather=gather),
}
#: How many rows of noise, and of data, each rank has.
SPLITS = {"even": ((6, 6), (6, 6)), "uneven": ((9, 3), (2, 10)), "one without": ((12, 0), (0, 12))}
RNG = torch.Generator().manual_seed(0)
NOISE, DATA = (torch.randn(12, d, generator=RNG, dtype=torch.float64) for d in (2, 3))


def gradients(name, noise=NOISE, data=DATA, gather=False, wrap=lambda module: module):
    """The loss of a generator, and the gradients of its parameters and of those of the kernel."""
    generator = MLP([2, 4, 3], rng=3).double()
    loss = LOSSES[name](gather)
    learns = any(p.requires_grad for p in loss.parameters())
    make, judge = wrap(generator), wrap(loss) if learns else loss
    value = judge(make(noise), data)
    value.backward()
    both = nn.ModuleDict({"generator": generator, "loss": loss})
    return {"value": value.detach()} | {key: p.grad for key, p in both.named_parameters() if p.requires_grad}


def averaged(found):
    """What a loop without `DistributedDataParallel` does; the kernel has its whole gradient on every rank."""
    for key, grad in found.items():
        if key.startswith("generator"):
            dist.all_reduce(grad)
            grad /= dist.get_world_size()
    return found


def part(rows, sizes):
    return rows.split(sizes)[dist.get_rank()]


def errors(group_of_1):
    """What is said to bad input; rank 1 is the odd one."""
    odd = dist.get_rank()
    wide = torch.zeros(4, 3 + odd, dtype=torch.float64)
    calls = {
        "shape": lambda: MMDLoss(FIXED, gather=True)(wide, DATA),
        "shape of data": lambda: TStatisticLoss(FIXED, gather=True)(DATA, wide),
        "type": lambda: MMDLoss(FIXED, gather=True)(DATA.float() if odd else DATA, DATA),
        "network": lambda: LOSSES["network"](True)(wide, wide),
        "nan": lambda: MMDLoss(FIXED, gather=True)(DATA / (0 if odd else 1), DATA),
        "rows": lambda: MMDLoss(FIXED, "paired", gather=True)(DATA[odd:], DATA),
        "group": lambda: MMDLoss(FIXED, gather=group_of_1),
    }
    found = {}
    for name, call in calls.items():
        try:
            call()
        except (TypeError, ValueError) as error:
            found[name] = str(error)
    return found


def main(folder: Path) -> None:
    warnings.simplefilter("error")
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    torch.set_num_threads(1)
    rank = dist.get_rank()
    # The other rank is no member, and this one is rank 0 of it.
    group_of_1 = dist.new_group([1])
    found = {}
    for split, (noise, data) in SPLITS.items():
        rows = part(NOISE, noise), part(DATA, data)
        for name in LOSSES:
            of_ways = {
                "ddp": gradients(name, *rows, gather=True, wrap=DistributedDataParallel),
                "loop": averaged(gradients(name, *rows, gather=dist.group.WORLD)),
            }
            found |= {f"{way}/{split}/{name}/{key}": v for way, grads in of_ways.items() for key, v in grads.items()}
    if rank == 1:
        grads = gradients("root", NOISE[9:], DATA[2:], gather=group_of_1)
        found |= {f"group/{key}": value for key, value in grads.items()}
    save_file({key: value.contiguous() for key, value in found.items()}, folder / f"{rank}.safetensors")
    (folder / f"{rank}.json").write_text(json.dumps(errors(group_of_1)))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
