"""The league table of two-sample tests: how often each rejects where samples differ, and where they do not.

    python benchmarks/power.py --install                     # the environments of peers (once, 0.6 GB)
    python benchmarks/power.py --quick                       # smallest sizes, few repetitions
    python benchmarks/power.py --group reporting --jobs 2    # hours
    python benchmarks/power.py --group real --sum-real --generated samples.npy
    python benchmarks/power.py --problems blob_d hdgm --methods auto fuse --repetitions 200
    python benchmarks/power.py --page                        # run nothing: add all trials to docs/power.{json,md,png}
    python benchmarks/power.py --page --again auto           # the same after a change of auto: replace, do not join

Problems are in four groups (``league/problems.py``): our settings were chosen on those of "development"; those of
"reporting" and "real" are only reported; those of "null" are for the level. All methods (``league/methods.py``) see the
same samples, and have one setting for all problems.

Every trial is appended to ``OUT/trials.jsonl`` when it is done and not run again: stop at any time, start again, ask
for more. ``OUT/power.json``, ``power.png`` and ``power.md`` are made of them. Seconds are of the CPU, on one thread,
and their median. Sentence embeddings (``real_minilm_*``) are made once and kept in ``OUT/embeddings``.

``docs/power.json`` keeps each decision by its seed, so that trials can be added on any machine (``league/merging.py``).
``--page`` adds those of ``OUT`` to it and makes the page and the figure anew; ``--page FOLDER`` does so in another
folder. Cells that were not tried in ``OUT`` stay as they are; others are joined by seed: ``--first-seed 100`` adds to
the first hundred repetitions. Where a method has changed, its old decisions count no more: ``--again METHOD`` forgets
those in ``OUT`` before a run; with ``--page`` it replaces those in ``docs`` wherever there are new ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import platform
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import asdict
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from league import merging, page
from league.methods import METHODS, ONLY_IF_ASKED, REMOTE, SLOW, Outcome, Settings, warm_up
from league.problem import GENERATED, Problem, Size
from league.problems import GROUPS, PROBLEMS
from league.results import Cell, Journal, sum_over, summary
from league.texts import EMBEDDINGS

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


def summaries(journal: Journal, cells: Iterable[Cell]) -> list[dict[str, Any]]:
    return [summary(cell, journal.cells[cell], PROBLEMS[cell.problem]) for cell in cells if cell in journal.cells]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By problem, size and method, with the titles of today; without those that there are no more."""
    names, methods = list(PROBLEMS), list(METHODS)
    rows = [
        row | {"title": PROBLEMS[row["problem"]].title, "group": PROBLEMS[row["problem"]].group}
        for row in rows
        if row["problem"] in PROBLEMS and row["method"] in METHODS
    ]
    return sorted(rows, key=lambda row: (names.index(row["problem"]), row["m"], row["n"], methods.index(row["method"])))


def result_of(rows: list[dict[str, Any]], settings: Settings) -> dict[str, Any]:
    """What ``power.json`` holds."""
    methods = [method for method in METHODS if any(row["method"] == method for row in rows)]
    real = {row["method"] for row in rows if row["group"] == "real"}
    tried = [name for name in methods if name in real and name not in ONLY_IF_ASKED]
    # A method that takes long has fewer trials: all are summed over these, and the others over theirs.
    sums = [sum_over(rows, "real", some) for some in (tried, [name for name in tried if name not in SLOW])]
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
        "cells": rows,
    }


def added_to(known: dict[str, Any], journal: Journal, settings: Settings, changed: list[str]) -> dict[str, Any]:
    """A ``power.json`` and all that was tried here with the same settings."""
    if known.get("settings", asdict(settings)) != asdict(settings):
        raise SystemExit(f"Trials with {settings} cannot be added to those with {known['settings']}.")
    # A file of generated images that is not given now adds to the effort: all such files are shown.
    cells = [cell for cell in journal.cells if cell.problem in PROBLEMS and cell.method in METHODS]
    fresh = summaries(journal, (cell for cell in cells if cell.effort.startswith(effort_of(settings))))
    before = known.get("cells", [])
    for method, (count, common) in merging.disagreements(before, fresh).items():
        if method not in changed:
            print(f"{method}: {count} of {common} decisions differ from those known. Has it changed? --again {method}")
    result = result_of(in_order(merging.merge(before, fresh, changed)), settings)
    real = [row for row in result["cells"] if row["group"] == "real"]
    for name in ("sum_real", "sum_real_with_slow_ones"):
        result[name] = merging.newer_sum(known.get(name), result[name], real)
    return result if fresh or not known else result | {"machine": known["machine"]}


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
    parser.add_argument(
        "--page",
        type=Path,
        nargs="?",
        const=DOCS,
        metavar="FOLDER",
        help="run nothing: add all trials to FOLDER/power.json (default docs), and write power.md and power.png",
    )
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
    parser.add_argument(
        "--again",
        nargs="+",
        choices=METHODS,
        metavar="NAME",
        default=[],
        help="these methods have changed: forget their trials, or with --page replace what is known of them",
    )
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
    os.environ.setdefault(EMBEDDINGS, str((options.out / "embeddings").resolve()))
    journal = Journal(options.out / "trials.jsonl")
    settings = Settings.quick() if options.quick else Settings()
    problems = options.problems or [name for name, p in PROBLEMS.items() if p.group in options.group]
    seeds = range(options.first_seed, options.first_seed + (options.repetitions or (5 if options.quick else 100)))
    rows = [(size, size) for size in options.rows] if options.rows else None
    if options.page:
        path = options.page / "power.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        write(added_to(known, journal, settings, options.again), options.page)
        return

    journal.forget(options.again)
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
            result = result_of(summaries(journal, cells), settings)
            write(result, options.out)
    if options.sum_real:
        for total in filter(None, (result["sum_real"], result["sum_real_with_slow_ones"])):
            print(page.sum_line(total))


if __name__ == "__main__":
    main()
