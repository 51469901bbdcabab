"""How often tests reject: power where the samples differ, and beside it the level where they do not.

    python benchmarks/power.py --quick            # few repetitions and steps, a small HDGM: minutes
    python benchmarks/power.py --jobs 8           # everything, hours
    python benchmarks/power.py --problems blob_d hdgm --methods median witness --repetitions 200

Every method sees the same samples, at the same n, with the same settings for all problems. "median" tests all rows;
every other method learns from half of them and tests the others, then the other way round, and takes twice the smaller
p-value. What the first split alone would have done is known too ("split"). For the level both samples are of P.

The p-values of each problem and method are written as they come, and not computed again; more repetitions add to them.
Results are in ``power.json`` and ``power.png``, and as a table.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import tellapart as ta
from tellapart import datasets
from tellapart._util.files import write_json
from tellapart.data.files import read_idx
from tellapart.stats import nulls
from tellapart.stats.pvalues import bonferroni

Pair = tuple[Tensor, Tensor]
#: Repetitions after which p-values are written: some take a minute.
BLOCK = 20


@dataclass(frozen=True)
class Settings:
    """All there is to set, the same for every problem. In all else kernels are learned as by default."""

    alpha: float = 0.05
    permutations: int = 399
    steps: int = 500
    classifier: tuple[int, ...] = (64, 64)
    epochs: int = 300


# Problems: rows of each sample (and with --quick), and two samples of m and n rows.


@cache
def labelled_digits() -> Pair:
    return datasets.digits(labels=True)


@cache
def labelled_mnist() -> Pair:
    """The training images in the folder given by --mnist."""
    folder = Path(os.environ[MNIST])
    found = []
    for name in ("train-images", "train-labels"):
        paths = sorted(folder.glob(f"{name}*idx*"))
        if not paths:
            raise FileNotFoundError(f"--mnist {folder} has no file {name}-idx…, plain or gzipped.")
        found.append(torch.from_numpy(np.array(read_idx(paths[0], str(paths[0]), None))))
    return found[0].double() / 255, found[1].long()


@cache
def measurements() -> Tensor:
    return datasets.breast_cancer()


@dataclass(frozen=True)
class Problem:
    title: str
    rows: int
    quick: int
    draw: Callable[[int, int, int], Pair]

    def samples(self, rows: int, seed: int, null: bool) -> Pair:
        """X and Y; or for the level two halves of a larger X, which have no row in common even in a finite set."""
        if not null:
            return self.draw(rows, rows, 1_000_000 + seed)
        X, _ = self.draw(2 * rows, 1, 2_000_000 + seed)
        return X[:rows], X[rows:]


MNIST = "TELLAPART_MNIST"
#: The digit that is rarer, how much, and the column that is shuffled (mean smoothness): neither hopeless nor certain.
RARE, SHARE, COLUMN = 3, 0.2, 4
PROBLEMS = {
    "blobs": Problem("Blobs, ε = 4", 1000, 1000, lambda m, n, seed: datasets.blobs(m, n, ratio=4, rng=seed)),
    "blob_d": Problem("Blob-D", 270, 270, lambda m, n, seed: datasets.blob_d(m, n, rng=seed)),
    "hdgm": Problem("HDGM, d = 10", 4000, 1000, lambda m, n, seed: datasets.hdgm(m, n, rng=seed)),
    "uniform": Problem(
        "Perturbed uniform, P = 2", 500, 500, lambda m, n, seed: datasets.perturbed_uniform(m, n, rng=seed)
    ),
    "digits": Problem(
        f"Digits, few {RARE}s",
        500,
        500,
        lambda m, n, seed: datasets.underrepresented(*labelled_digits(), RARE, SHARE, m, n, rng=seed),
    ),
    "mnist": Problem(
        f"MNIST, few {RARE}s",
        1000,
        500,
        lambda m, n, seed: datasets.underrepresented(*labelled_mnist(), RARE, SHARE, m, n, rng=seed),
    ),
    "table": Problem(
        "Tumours, a column shuffled",
        200,
        200,
        lambda m, n, seed: datasets.shuffled_column(measurements(), COLUMN, m, n, rng=seed),
    ),
}


# Methods: the p-values of two samples, one for each part of the rows that is tested.


def median(X: Tensor, Y: Tensor, settings: Settings, seed: int) -> list[float]:
    return [ta.mmd_test(X, Y, permutations=settings.permutations, rng=seed).pvalue]


def learned(X: Tensor, Y: Tensor, settings: Settings, seed: int, *, kernel: str, criterion: Any = "t") -> list[float]:
    effort = {"permutations": settings.permutations, "learning": {"steps": settings.steps}}
    result = ta.learned_test(X, Y, kernel, criterion, swap=True, rng=seed, **effort)
    return [half.test.pvalue for half in result.halves]


def cross_validated(train: Pair, test: Pair, settings: Settings, seed: int) -> float:
    """The bandwidth by MMD² across folds of the training rows."""
    kernel = ta.select_bandwidth(*train, criterion="cv", rng=seed).kernel
    return ta.mmd_test(*test, kernel=kernel, permutations=settings.permutations, rng=seed).pvalue


def classified(train: Pair, test: Pair, settings: Settings, seed: int) -> float:
    """A network that tells X from Y, tested by the means of its log-odds."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPClassifier(
        settings.classifier, max_iter=settings.epochs, early_stopping=True, n_iter_no_change=20, random_state=seed
    )
    model = make_pipeline(StandardScaler(), network)
    is_x = np.repeat([1, 0], [len(Z) for Z in train])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(torch.cat(train).flatten(1).numpy(), is_x)
    probabilities = model.predict_proba(torch.cat(test).flatten(1).numpy())[:, 1].clip(1e-6, 1 - 1e-6)
    log_odds = torch.from_numpy(np.log(probabilities / (1 - probabilities)))
    draws = np.random.default_rng(seed)
    null = nulls.Permutation().draw_means(log_odds, len(test[0]), settings.permutations, draws, 10**9)
    return float(null.pvalue(1e-12))


def on_halves(X: Tensor, Y: Tensor, settings: Settings, seed: int, *, of: Callable[..., float]) -> list[float]:
    """A method that is no `learned_test`, on the same splits as those."""
    split = ta.split_rows(len(X), len(Y), rng=seed)
    return [
        of((X[s.train_x], Y[s.train_y]), (X[s.test_x], Y[s.test_y]), settings, seed + k)
        for k, s in enumerate((split, split.swapped()))
    ]


METHODS: dict[str, Callable[[Tensor, Tensor, Settings, int], list[float]]] = {
    "median": median,
    "rbf-mmd": partial(learned, kernel="rbf", criterion="mmd"),
    "rbf-t": partial(learned, kernel="rbf", criterion="t"),
    "rbf-power": partial(learned, kernel="rbf", criterion="power"),
    "cv": partial(on_halves, of=cross_validated),
    "ard": partial(learned, kernel="ard"),
    "deep": partial(learned, kernel="deep"),
    "witness": partial(learned, kernel="witness"),
    "c2st": partial(on_halves, of=classified),
}
TITLES = {
    "median": "median distance",
    "rbf-mmd": "bandwidth by MMD²",
    "rbf-t": "bandwidth by t",
    "rbf-power": "bandwidth by power",
    "cv": "bandwidth by cross-validation",
    "ard": "ARD kernel",
    "deep": "deep kernel",
    "witness": "witness",
    "c2st": "classifier",
}


def trial(problem: str, method: str, rows: int, settings: Settings, null: bool, seed: int) -> list[float]:
    """The p-values of one pair of samples: of the only test, or of the two halves."""
    X, Y = PROBLEMS[problem].samples(rows, seed, null)
    return METHODS[method](X, Y, settings, seed)


def pvalues(
    problem: str, method: str, rows: int, repetitions: int, settings: Settings, out: Path, pool: Executor
) -> dict[str, Any]:
    """What is known of a pair, read or computed: ``power`` and ``level``, a list of p-values for each seed."""
    wanted = json.loads(json.dumps({"problem": problem, "method": method, "rows": rows, "settings": asdict(settings)}))
    effort = f"{rows}x{settings.permutations}x{settings.steps}"
    path = out / "power" / f"{problem}-{method}-{effort}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if {key: found.get(key) for key in wanted} != wanted:
        found = wanted | {"power": [], "level": [], "seconds": 0.0}
    start, before = time.perf_counter(), len(found["power"])
    while (done := len(found["power"])) < repetitions:
        begin, seeds = time.perf_counter(), range(done, min(done + BLOCK, repetitions))
        runs = {
            kind: [pool.submit(trial, problem, method, rows, settings, kind == "level", seed) for seed in seeds]
            for kind in ("power", "level")
        }
        for kind, futures in runs.items():
            found[kind] += [future.result() for future in futures]
        found["seconds"] += time.perf_counter() - begin
        write_json(path, found)
    if (added := len(found["power"]) - before) > 0:
        print(f"  {problem} {method}: {added} repetitions in {time.perf_counter() - start:.0f} s", flush=True)
    return found | {kind: found[kind][:repetitions] for kind in ("power", "level")}


def rate(trials: list[list[float]], alpha: float) -> dict[str, float]:
    """The rejection rate, its standard error, and its 95% interval (Wilson), which is no point at 0 and 1."""
    r, n = float(np.mean([bonferroni(p) <= alpha + 1e-12 for p in trials])), len(trials)
    middle, half = (r + 1.92 / n) / (1 + 3.84 / n), 1.96 * math.sqrt(r * (1 - r) / n + 0.96 / n**2) / (1 + 3.84 / n)
    error = math.sqrt(r * (1 - r) / n)
    return {"rate": r, "error": error, "low": min(middle - half, r), "high": max(middle + half, r)}


def run(
    problems: list[str],
    methods: list[str],
    repetitions: int,
    out: Path,
    *,
    quick: bool = False,
    jobs: int = 1,
) -> dict[str, Any]:
    """Compute or read what is asked for; write ``power.json`` and ``power.png``; print the table."""
    settings = Settings(permutations=199, steps=100) if quick else Settings()
    (out / "power").mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"  # in the processes below, for those libraries that look there
    rates: dict[str, Any] = {}
    with ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        try:
            for problem in problems:
                rows = PROBLEMS[problem].quick if quick else PROBLEMS[problem].rows
                rates[problem] = {"rows": rows, "methods": {}}
                for method in methods:
                    found = pvalues(problem, method, rows, repetitions, settings, out, pool)
                    rates[problem]["methods"][method] = {
                        "power": rate(found["power"], settings.alpha),
                        "level": rate(found["level"], settings.alpha),
                        "split": rate([p[:1] for p in found["power"]], settings.alpha),
                    }
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    result = {"repetitions": repetitions, "settings": asdict(settings), "problems": rates}
    write_json(out / "power.json", result)
    draw(result, out / "power.png")
    print(table(result))
    return result


def table(result: dict[str, Any]) -> str:
    """Rates in percent ± standard error."""
    repetitions, alpha = result["repetitions"], result["settings"]["alpha"]
    lines = [f"Rejection rates in %, ± standard error, of {repetitions} repetitions; α = {alpha}"]
    for name, problem in result["problems"].items():
        lines.append(f"{PROBLEMS[name].title}, {problem['rows']:,} + {problem['rows']:,}")
        lines.append(f"  {'':30}{'power':>13}{'level':>13}{'power of one split':>23}")
        for method, rates in problem["methods"].items():
            cells = [
                f"{100 * rates[k]['rate']:.0f} ± {100 * rates[k]['error']:.1f}" for k in ("power", "level", "split")
            ]
            split = "" if method == "median" else cells[2]
            lines.append(f"  {TITLES[method]:30}{cells[0]:>13}{cells[1]:>13}{split:>23}")
    return "\n".join(lines)


def draw(result: dict[str, Any], path: Path) -> None:
    """A panel for each problem, a line for each method: power as a dot, level as a hollow one, with 95% intervals."""
    import matplotlib
    from matplotlib.figure import Figure

    alpha, problems = result["settings"]["alpha"], result["problems"]
    methods = list(next(iter(problems.values()))["methods"])
    columns = min(len(problems), 3)
    lines = math.ceil(len(problems) / columns)
    style = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False}
    with matplotlib.rc_context(style):
        size = 2.6 + 3.0 * columns, 0.9 + lines * (0.7 + 0.3 * len(methods))
        figure = Figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(wspace=0.07, hspace=0.06)
        panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for panel in panels[len(problems) :]:
            panel.set_visible(False)
        y = np.arange(len(methods))
        for k, (panel, (name, problem)) in enumerate(zip(panels, problems.items(), strict=False)):
            panel.hlines(y, 0, 1, color="#e8e8e8", linewidth=1, zorder=0)
            panel.axvline(alpha, color="#999999", linewidth=0.8, linestyle="--", zorder=0)
            for kind, colour, face, shift in (
                ("level", "#777777", "white", 0.17),
                ("power", "#0072B2", "#0072B2", -0.1),
            ):
                values = {
                    key: np.array([problem["methods"][m][kind][key] for m in methods])
                    for key in ("rate", "low", "high")
                }
                panel.errorbar(
                    values["rate"],
                    y + shift,
                    xerr=[values["rate"] - values["low"], values["high"] - values["rate"]],
                    fmt="o",
                    markersize=6 if kind == "power" else 5,
                    color=colour,
                    markerfacecolor=face,
                    elinewidth=1.2,
                    clip_on=False,
                    label="power (P ≠ Q)" if kind == "power" else "level (P = Q)",
                )
            panel.set_title(f"{PROBLEMS[name].title}\n{problem['rows']:,} + {problem['rows']:,} rows", fontsize=10)
            panel.set(xlim=(0, 1), ylim=(len(methods) - 0.5, -0.5), xticks=[0, 0.25, 0.5, 0.75, 1])
            panel.set_xticklabels(["0", "¼", "½", "¾", "1"])
            panel.tick_params(left=False, labelbottom=k + columns >= len(problems))
            panel.set_yticks(y, [TITLES[m] for m in methods])
        figure.supxlabel(f"rejection rate at α = {alpha} (dashed), 95% intervals", fontsize=10)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside upper right", ncols=2, frameon=False)
        figure.savefig(path, dpi=200)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Power and level of two-sample tests.")
    parser.add_argument("--quick", action="store_true", help="less of everything, and a smaller HDGM")
    parser.add_argument("--repetitions", type=int, help="pairs of samples for each rate; 100, or 10 with --quick")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, help="all by default; MNIST takes the digits' place")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--mnist", type=Path, metavar="DIR", help="folder with the idx files of MNIST")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, each on one core")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the figure and the numbers")
    options = parser.parse_args()
    if options.mnist is not None:
        os.environ[MNIST] = str(options.mnist.resolve())
    elif "mnist" in (options.problems or ()):
        parser.error("mnist needs --mnist DIR.")
    left_out = "mnist" if options.mnist is None else "digits"
    run(
        options.problems or [name for name in PROBLEMS if name != left_out],
        options.methods,
        options.repetitions or (10 if options.quick else 100),
        options.out,
        quick=options.quick,
        jobs=options.jobs,
    )
