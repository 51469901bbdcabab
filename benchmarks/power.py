"""The league table of two-sample tests: how often each rejects where samples differ, and where they do not.

    python benchmarks/power.py --install                     # the environments of peers (once, 0.6 GB)
    python benchmarks/power.py --quick                       # smallest sizes, few repetitions
    python benchmarks/power.py --group reporting --jobs 2    # hours
    python benchmarks/power.py --group real --sum-real --generated samples.npy
    python benchmarks/power.py --problems blob_d hdgm --methods auto fuse --repetitions 200
    python benchmarks/power.py --page                        # only the figure and docs/power.md, of what is known

Problems are in four groups (``league/problems.py``): our settings were chosen on those of "development"; those of
"reporting" and "real" are only reported; those of "null" are for the level. All methods (``league/methods.py``) see the
same samples, and have one setting for all problems.

Every trial is appended to ``OUT/trials.jsonl`` when it is done and not run again: stop at any time, start again, ask
for more. ``OUT/power.json``, ``power.png`` and ``power.md`` are made of them; ``--page`` puts the three into ``docs``.
Seconds are of the CPU, on one thread, and their median.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import platform
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import asdict
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from league import page
from league.methods import METHODS, ONLY_IF_ASKED, REMOTE, SLOW, Outcome, Settings, warm_up
from league.problem import GENERATED, Problem, Size
from league.problems import GROUPS, PROBLEMS
from league.results import Cell, Journal, sum_over, summary

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Trials between two looks at the budget, for each process.
BLOCK = 4


def trial(cell: Cell, kind: str, seed: int, settings: Settings) -> Outcome:
    """One test. Runs in a worker process."""
    warm_up(cell.method)
    X, Y = PROBLEMS[cell.problem].samples(kind, cell.m, cell.n, seed)
    return METHODS[cell.method](X, Y, settings, seed)


def start_worker() -> None:
    import torch

    torch.set_num_threads(1)


def effort_of(settings: Settings, problem: Problem | None = None) -> str:
    """What trials must have in common to be counted together: the settings, and the images they were drawn from."""
    steps = "" if settings.steps is None else f" s{settings.steps}"
    effort = f"B{settings.permutations}/{settings.forest_permutations}{steps} α{settings.alpha}"
    if problem is not None and problem.needs == "generated":
        return f"{effort} {hashlib.sha256(Path(os.environ[GENERATED]).read_bytes()).hexdigest()[:8]}"
    return effort


def run_cell(
    cell: Cell,
    work: list[tuple[str, int]],
    settings: Settings,
    journal: Journal,
    pool: Executor,
    jobs: int,
    budget: float,
) -> None:
    """All trials that are not known, in the order of their seeds, until the budget of CPU seconds is spent."""
    trials = journal.cells[cell]
    trials.error = None  # what failed before is tried again
    missing = ((kind, seed) for kind, seed in work if seed not in trials.of(kind))
    while trials.seconds < budget and trials.error is None and (block := list(islice(missing, BLOCK * jobs))):
        futures = {pool.submit(trial, cell, kind, seed, settings): (kind, seed) for kind, seed in block}
        for future in as_completed(futures):
            kind, seed = futures[future]
            if (error := future.exception()) is not None:
                journal.add(cell, kind, seed, error=f"{type(error).__name__}: {error}")
            else:
                journal.add(cell, kind, seed, **future.result()._asdict())


def cells_of(
    problems: list[str], methods: list[str], rows: list[Size] | None, settings: Settings, quick: bool
) -> Iterator[Cell]:
    for name in problems:
        problem = PROBLEMS[name]
        for m, n in rows or (problem.sizes[:1] if quick else problem.sizes):
            for method in methods:
                yield Cell(name, m, n, method, effort_of(settings, problem))


def known_cells(journal: Journal, settings: Settings) -> list[Cell]:
    """All that was tried with these settings, in the order of problems and methods."""
    names, methods = list(PROBLEMS), list(METHODS)
    known = [cell for cell in journal.cells if cell.problem in PROBLEMS and cell.method in METHODS]
    # A file of generated images that is not given now adds to the effort: all such files are shown.
    known = [cell for cell in known if cell.effort.startswith(effort_of(settings))]
    return sorted(known, key=lambda cell: (names.index(cell.problem), cell.m, cell.n, methods.index(cell.method)))


def result_of(journal: Journal, cells: list[Cell], settings: Settings) -> dict[str, Any]:
    """What ``power.json`` holds."""
    done = [cell for cell in cells if cell in journal.cells]
    methods = [method for method in METHODS if any(cell.method == method for cell in done)]
    real = [name for name, problem in PROBLEMS.items() if problem.group == "real"]
    tried = [
        name
        for name in methods
        if name not in ONLY_IF_ASKED and any(c.problem in real for c in done if c.method == name)
    ]
    known = {cell: journal.cells[cell] for cell in done}
    # A method that takes long has fewer trials: all are summed over these, and the others over theirs.
    sums = [sum_over(known, real, some) for some in (tried, [name for name in tried if name not in SLOW])]
    return {
        "settings": asdict(settings),
        "machine": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            **{name: version(name) for name in ("tellapart", "torch", "numpy", "scipy", "scikit-learn")},
        },
        "methods": {name: {"title": METHODS[name].title, "settings": METHODS[name].settings} for name in methods},
        "notes": {name: problem.note for name, problem in PROBLEMS.items() if problem.note},
        "sum_real": sums[1],
        "sum_real_with_slow_ones": sums[0] if sums[0]["trials"] and sums[0] != sums[1] else None,
        "cells": [summary(cell, journal.cells[cell], PROBLEMS[cell.problem]) for cell in done],
    }


def write(result: dict[str, Any], folder: Path) -> None:
    from tellapart._util.files import atomic_path

    with atomic_path(folder / "power.json") as path:
        path.write_text(page.compact_json(result), encoding="utf-8")
    page.draw(result, folder / "power.png")
    with atomic_path(folder / "power.md") as path:
        path.write_text(page.text(result), encoding="utf-8")


def available(names: list[str], what: dict[str, Any], noun: str) -> list[str]:
    """Those that can be run here; of the others the reason is printed."""
    for name in names:
        if reason := what[name].missing():
            print(f"{noun} {name} is left out: {reason}")
    return [name for name in names if not what[name].missing()]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--install", action="store_true", help="make the environments of peers, and end")
    parser.add_argument("--list", action="store_true", help="print problems and methods, and end")
    parser.add_argument("--page", action="store_true", help="run nothing: write docs/power.{md,png,json}")
    parser.add_argument("--quick", action="store_true", help="smallest sizes, 5 repetitions, fewer permutations")
    parser.add_argument("--group", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, metavar="NAME", help="these, of whatever group")
    methods = [name for name in METHODS if name not in ONLY_IF_ASKED]
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="NAME", default=methods)
    parser.add_argument("--repetitions", type=int, metavar="R", help="default 100")
    parser.add_argument("--kinds", nargs="+", choices=("power", "level"), default=["power", "level"])
    parser.add_argument("--first-seed", type=int, default=0, help="for fresh samples")
    parser.add_argument("--rows", type=int, nargs="+", help="sizes of both samples, instead of the problem's own")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on one core")
    parser.add_argument(
        "--budget",
        type=float,
        default=float("inf"),
        metavar="S",
        help="CPU seconds for a problem, size and method; then there are fewer repetitions",
    )
    parser.add_argument("--again", nargs="+", choices=METHODS, default=[], help="forget all trials of these methods")
    parser.add_argument("--generated", type=Path, metavar="FILE", help="generated images of digits, .npy")
    parser.add_argument("--sum-real", action="store_true", help="print the rejections summed over real problems")
    parser.add_argument("--out", type=Path, default=Path("out/power"), help="folder for trials and results")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.install:
        for remote in REMOTE:
            remote.install()
            print(f"{remote.package}: {remote.missing() or 'installed'}")
        return
    if options.list:
        print(page.listing(PROBLEMS, METHODS))
        return
    if options.generated is not None:
        os.environ[GENERATED] = str(options.generated.resolve(strict=True))
    options.out.mkdir(parents=True, exist_ok=True)
    journal = Journal(options.out / "trials.jsonl")
    journal.forget(options.again)
    settings = Settings.quick() if options.quick else Settings()
    problems = options.problems or [name for name, p in PROBLEMS.items() if p.group in options.group]
    seeds = range(options.first_seed, options.first_seed + (options.repetitions or (5 if options.quick else 100)))
    rows = [(size, size) for size in options.rows] if options.rows else None
    if options.page:
        write(result_of(journal, known_cells(journal, settings), settings), DOCS)
        return

    os.environ["OMP_NUM_THREADS"] = "1"  # in the processes below, for those libraries that look there
    problems = available(problems, PROBLEMS, "problem")
    methods = available(options.methods, METHODS, "method")
    cells = list(cells_of(problems, methods, rows, settings, options.quick))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context, initializer=start_worker) as pool:
        try:
            for cell in cells:
                kinds = [kind for kind in PROBLEMS[cell.problem].kinds if kind in options.kinds]
                work = [(kind, seed) for seed in seeds for kind in kinds]
                run_cell(cell, work, settings, journal, pool, options.jobs, options.budget)
                print(page.line(summary(cell, journal.cells[cell], PROBLEMS[cell.problem])), flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            result = result_of(journal, cells, settings)
            write(result, options.out)
    if options.sum_real:
        for total in filter(None, (result["sum_real"], result["sum_real_with_slow_ones"])):
            print(page.sum_line(total))


if __name__ == "__main__":
    main()
