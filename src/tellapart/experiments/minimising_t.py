"""§4 of Sutherland et al. 2017: a generator that minimises t. Does it end with a smaller t than one that minimises MMD?

    tellapart reproduce minimising_t [--quick] [--data mnist] [--steps N] [--out DIR]

Small generators of 8 × 8 digits with different losses, optimisers, batches or starts are trained from five seeds. They
are evaluated by t between 1,000 generated and the held-out digits, with the same kernel, after equally many steps and
after equal computing time. ``--data mnist`` uses the generator of the paper, a few of the variants, and two seeds. The
results of each run are cached.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

from .._util.extras import extra
from .._util.files import write_json
from .._util.progress import progress_bar
from ..generative.data import Data, load
from ..generative.models.base import paper_kernel, relative_size
from ..generative.networks import Generator
from ..kernels import Kernel
from ..stats.estimators import estimate, mmd2
from .figures import named, new_figure
from .parts import command, part

BANDWIDTHS = (2.0, 5.0, 10.0, 20.0, 40.0, 80.0)
NOISE, STD = 10, 0.1
#: Of each data set: hidden layers, seeds, and how many times as large batches are.
SIZES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "digits": ((64, 256), 5, 1),
    "mnist": ((64, 256, 256, 1024), 2, 2),
}
#: Steps of every run; entries of a curve.
EFFORT = {"quick": 100, "full": 600}
POINTS = 20
#: The share of the average of weights that is kept at each step.
DECAY = 0.998


@dataclass(frozen=True)
class Variant:
    """Variants of training a generator."""

    title: str
    loss: str = "t"
    optimiser: str = "sgd"
    rate: float = 0.02
    batch: int = 250
    clip: float = 5.0
    warm: float = 0.0
    average: bool = False
    schedule: bool = False


VARIANTS = {
    "gmmn": Variant("√MMD² (GMMN)", "mmd", rate=2.0, clip=0.0),
    "gmmn_adam": Variant("√MMD², Adam", "mmd", "adam", 1e-3, clip=0.0),
    "t_unclipped": Variant("t, as printed", clip=0.0),
    "t": Variant("t, gradients clipped"),
    "t_small": Variant("t, batches of 100", batch=100),
    "t_large": Variant("t, batches of 500", batch=500),
    "t_adam": Variant("t, Adam", optimiser="adam", rate=1e-3, clip=0.0),
    "log_t": Variant("log t, Adam", "log t", "adam", 1e-3, clip=0.0),
    "t_squared": Variant("t², Adam", "t²", "adam", 1e-3, clip=0.0),
    "t_v2": Variant("U/√V2, Adam", "U/√V2", "adam", 1e-3, clip=0.0),
    "t_biased": Variant("biased MMD²/√V+, Adam", "biased", "adam", 1e-3, clip=0.0),
    "t_adam_schedule": Variant("t, Adam, falling rate", optimiser="adam", rate=1e-3, clip=0.0, schedule=True),
    "gmmn_adam_schedule": Variant("√MMD², Adam, falling rate", "mmd", "adam", 1e-3, clip=0.0, schedule=True),
    "t_warm": Variant("t, first half √MMD²", warm=0.5),
    "t_adam_warm": Variant("t, Adam, first half √MMD²", optimiser="adam", rate=1e-3, clip=0.0, warm=0.5),
    "t_adam_average": Variant("t, Adam, averaged weights", optimiser="adam", rate=1e-3, clip=0.0, average=True),
    "gmmn_adam_average": Variant("√MMD², Adam, averaged weights", "mmd", "adam", 1e-3, clip=0.0, average=True),
}
#: Those that are tried on MNIST too.
FEW = ("gmmn", "t", "t_warm", "gmmn_adam", "t_adam")


def _transform(name: str) -> Callable[[Tensor], Tensor]:
    """The minimized function of t: log t, continued linearly below 1, where differences are noise."""
    if name == "log t":
        return lambda t: torch.where(t > 1, t.clamp_min(1).log(), t - 1)
    return (lambda t: t.clamp_min(0) ** 2) if name == "t²" else lambda t: t


def run(
    out: Path, quick: bool = False, steps: int | None = None, data: str = "digits", progress: bool | None = None
) -> dict[str, Any]:
    """Train or read all runs, print a table, write ``minimising_t.json`` and ``.png``, or ``minimising_t-mnist.…``."""
    extra("matplotlib")
    made_by = command("minimising_t", quick=quick, steps=steps, data=data if data != "digits" else None)
    steps = steps or EFFORT["quick" if quick else "full"]
    out.mkdir(parents=True, exist_ok=True)
    images, (hidden, seeds, _) = load(data), SIZES[data]
    names = list(VARIANTS) if data == "digits" else [name for name in FEW if name in VARIANTS]
    found: dict[str, list[Any]] = {name: [] for name in names}
    with progress_bar(progress, "minimising t") as report:
        for k, name in enumerate(names):
            for seed in range(seeds):
                train_it = partial(train, VARIANTS[name], images, steps, seed)
                found[name].append(part(out, f"minimising_t-{data}-{name}-{seed}-{steps}", train_it))
                if report is not None:
                    report(k * seeds + seed + 1, len(names) * seeds)
    seconds = float(np.median([one["seconds"] for one in found["gmmn"]]))
    variants = {name: summary(VARIANTS[name], runs, seconds) for name, runs in found.items()}
    about = {"command": made_by, "data": data, "steps": steps, "seeds": seeds, "hidden": list(hidden)}
    result = about | {"variants": variants}
    path = named(out, "minimising_t", data)
    write_json(path.with_suffix(".json"), result)
    draw(result, path)
    print(table(result))
    return result


def train(variant: Variant, data: Data, steps: int, seed: int) -> dict[str, Any]:
    """Train one generator. Return t and MMD² on held-out digits during training, and the time in seconds."""
    rng = torch.Generator().manual_seed(seed)
    kernel = paper_kernel(BANDWIDTHS, data.pixels)
    hidden, _, times = SIZES[data.name]
    generator = Generator(NOISE, hidden, data.pixels, STD, rng)
    averaged = deepcopy(generator) if variant.average else generator
    first = VARIANTS["gmmn"] if variant.optimiser == "sgd" else VARIANTS["gmmn_adam"]
    optimiser = _optimiser(generator, first if variant.warm else variant, data.pixels)
    seconds, curve = 0.0, []
    for step in range(1, steps + 1):
        start = time.process_time()
        now = first if step <= variant.warm * steps else variant
        if variant.warm and step == int(variant.warm * steps) + 1:
            optimiser = _optimiser(generator, variant, data.pixels)
        if variant.schedule:
            for group in optimiser.param_groups:
                group["lr"] = variant.rate * (1 - (step - 1) / steps)
        rows = data.rows[torch.randint(len(data.rows), (now.batch * times,), generator=rng)]
        made = generator(torch.rand(now.batch * times, NOISE, generator=rng) * 2 - 1)
        _descend(generator, optimiser, _loss(now, made, rows, kernel), now.clip)
        if variant.average:
            with torch.no_grad():
                for mean, weight in zip(averaged.parameters(), generator.parameters(), strict=True):
                    mean.lerp_(weight, 1 - DECAY)
        seconds += time.process_time() - start
        if step % max(1, steps // POINTS) == 0:
            curve.append({"step": step, "seconds": seconds, **judge(averaged, data, kernel)})
    return {"curve": curve, "seconds": seconds}


def _optimiser(generator: nn.Module, variant: Variant, pixels: int) -> Optimizer:
    if variant.optimiser == "adam":
        return Adam(generator.parameters(), variant.rate)
    return SGD(generator.parameters(), variant.rate * relative_size(pixels), 0.9)


def _loss(variant: Variant, made: Tensor, rows: Tensor, kernel: Kernel) -> Tensor:
    if variant.loss == "mmd":
        return torch.as_tensor(mmd2(made, rows, kernel, estimator="biased")).clamp_min(1e-10).sqrt()
    found = estimate(made, rows, kernel)
    if variant.loss == "U/√V2":
        return torch.as_tensor(found.mmd2 / found.second_order.clamp_min(1e-20).sqrt())
    if variant.loss == "biased":
        return torch.as_tensor(mmd2(made, rows, kernel, estimator="biased") / found.positive_variance.sqrt())
    return _transform(variant.loss)(torch.as_tensor(found.t))


def _descend(generator: nn.Module, optimiser: Optimizer, loss: Tensor, clip: float) -> None:
    optimiser.zero_grad()
    loss.backward()
    if clip:
        nn.utils.clip_grad_norm_(generator.parameters(), clip)
    optimiser.step()


def judge(generator: nn.Module, data: Data, kernel: Kernel) -> dict[str, float]:
    """t and MMD² between 1,000 generated and up to 1,000 held-out digits."""
    noise = torch.rand(1000, NOISE, generator=torch.Generator().manual_seed(12345)) * 2 - 1
    with torch.no_grad():
        found = estimate(generator(noise), data.held_out[:1000], kernel)
    return {"t": float(found.t), "mmd2": float(found.mmd2)}


def summary(variant: Variant, runs: list[Any], seconds: float) -> dict[str, Any]:
    """Return means and standard errors over seeds, at the end and after a given computing time in seconds."""
    t = np.array([[point["t"] for point in one["curve"]] for one in runs])
    mmd = np.array([one["curve"][-1]["mmd2"] for one in runs])
    in_time = [[point["t"] for point in one["curve"] if point["seconds"] <= 1.02 * seconds][-1:] for one in runs]
    return {
        "title": variant.title,
        "steps": [point["step"] for point in runs[0]["curve"]],
        "t": t.mean(0).tolist(),
        "t_error": _error(t),
        "t_in_time": float(np.mean(in_time)) if all(in_time) else None,
        "mmd2": float(mmd.mean()),
        "mmd2_error": _error(mmd),
        "seconds": float(np.median([one["seconds"] for one in runs])),
    }


def _error(values: np.ndarray[Any, Any]) -> Any:
    return (values.std(0, ddof=1) / len(values) ** 0.5).tolist()


def table(result: dict[str, Any]) -> str:
    """Format the final values of each variant as a text table."""
    lines = [
        f"t on held-out {result['data']} after {result['steps']:,} steps, {result['seeds']} seeds",
        f"  {'':34}{'t':>16}{'1000 MMD²':>18}{'seconds':>10}  t in the seconds of GMMN",
    ]
    for found in sorted(result["variants"].values(), key=lambda one: one["t"][-1]):
        t, mmd = f"{found['t'][-1]:.2f} ± {found['t_error'][-1]:.2f}", found["mmd2"] * 1000
        in_time = "-" if found["t_in_time"] is None else f"{found['t_in_time']:.2f}"
        lines.append(
            f"  {found['title']:34}{t:>16}{mmd:>10.2f} ± {found['mmd2_error'] * 1000:.2f}{found['seconds']:>10.1f}"
            f"{in_time:>12}"
        )
    return "\n".join(lines)


def found(result: dict[str, Any]) -> str:
    """Summarize the result in a sentence: t against √MMD² as a loss, for SGD and for Adam."""
    sentences = []
    for optimiser, (t, plain) in {"SGD": ("t", "gmmn"), "Adam": ("t_adam", "gmmn_adam")}.items():
        ours, theirs = (result["variants"][name] for name in (t, plain))
        gap = ours["t"][-1] - theirs["t"][-1]
        error = (ours["t_error"][-1] ** 2 + theirs["t_error"][-1] ** 2) ** 0.5
        sentences.append(
            f"By {optimiser}, minimising t ends with t = {ours['t'][-1]:.2f} on held-out images and minimising √MMD² "
            f"with {theirs['t'][-1]:.2f}: a difference of {gap:+.2f} ± {error:.2f}."
        )
    best = min(result["variants"].values(), key=lambda one: one["t"][-1])
    return " ".join([*sentences, f"The least has “{best['title']}”, {best['t'][-1]:.2f} ± {best['t_error'][-1]:.2f}."])


def draw(result: dict[str, Any], path: Path) -> None:
    """Plot t on held-out digits during training."""
    colours = extra("matplotlib").colormaps["tab20"].colors
    with new_figure(path, 10, 4.6) as figure:
        panel = figure.subplots()
        ordered = sorted(result["variants"].values(), key=lambda one: -one["t"][-1])
        for colour, found in zip(colours, ordered, strict=False):
            t, error = np.array(found["t"]), np.array(found["t_error"])
            panel.plot(found["steps"], t, color=colour, label=found["title"])
            panel.fill_between(found["steps"], t - error, t + error, color=colour, alpha=0.15, linewidth=0)
        panel.set(xlabel="steps", ylabel="t, 1,000 generated against held-out", yscale="symlog")
        panel.legend(frameon=False, fontsize=8.5, loc="center left", bbox_to_anchor=(1, 0.5))
