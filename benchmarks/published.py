"""The league of others: problems that others published, run as they define them, with their numbers beside ours.

    python benchmarks/published.py --list
    python benchmarks/published.py --repetitions 20                      # auto and median on everything: hours
    python benchmarks/published.py --only mnist --methods auto --repetitions 200 --jobs 2
    python benchmarks/published.py --enter my_test.py:test               # any function of X and Y
    python benchmarks/published.py --page                                # docs/league.json and docs/league.md

A method is one of the league (``league/methods.py``), or a function in a file: ``function(X, Y, seed)`` gets two arrays
of rows and a seed, and returns a p-value, or True to reject. Its name is that of the function.

Every trial is appended to ``OUT/trials.jsonl`` when it is done, and not run again: stop at any time, start again, ask
for more. Trials of `auto` belong to the version of the test that made them, by a digest of its sources: after a change
it is run anew, and its new trials take the place of the old ones on the page, setting by setting. ``--page`` adds the
trials of ``OUT`` to ``docs/league.json``, which keeps each decision by its seed, and makes ``docs/league.md`` of it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from league import published_page
from league.merging import join_rates
from league.methods import METHODS, Method, Outcome, Settings
from league.published import PAPERS, SETTINGS
from league.results import Cell, Journal, rate

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: Sources that decide what the default test does.
SOURCES = ("omnibus", "stats", "engine")
#: Seeds begin here: those of other benchmarks are smaller.
FIRST = 3_000_000


@cache
def version_of(method: str) -> str:
    """Which sources made the trials of `auto`; empty for methods that do not change."""
    if method != "auto":
        return ""
    found = hashlib.sha256()
    for path in sorted(path for room in SOURCES for path in (ROOT / "src/tellapart" / room).rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:8]


def entered(where: str) -> Method:
    """A function of X and Y in a file, as a method of the league."""
    file, _, name = where.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} is not a file of Python. Give FILE.py:FUNCTION.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name)

    def run(X: Any, Y: Any, settings: Settings, seed: int) -> float | Outcome:
        start = time.process_time()
        found = function(X, Y, seed)
        if isinstance(found, bool):
            return Outcome(found, None, time.process_time() - start)
        return float(found)

    return Method(name, run, f"`{name}`, entered from {Path(file).name}")


def trial(name: str, method: str, where: str | None, seed: int, settings: Settings) -> Outcome:
    """One test. Runs in a worker process."""
    problem = SETTINGS[name].problem
    assert problem.draw is not None
    X, Y = problem.draw(*problem.sizes[0], FIRST + seed)
    test = METHODS[method] if where is None else entered(where)
    return test(X, Y, settings, seed)


def cell_of(name: str, method: str, settings: Settings) -> Cell:
    """What trials must have in common to be counted together."""
    m, n = SETTINGS[name].problem.sizes[0]
    version = version_of(method)
    effort = f"B{settings.permutations} α{settings.alpha}" + (f" {version}" if version else "")
    return Cell(name, m, n, method, effort)


def run_cell(
    cell: Cell, where: str | None, repetitions: int, settings: Settings, journal: Journal, pool: Executor, jobs: int
) -> None:
    """All trials that are not known, in the order of their seeds."""
    trials = journal.cells[cell]
    trials.error = None
    missing: Iterator[int] = (seed for seed in range(repetitions) if seed not in trials.power)
    while trials.error is None and (block := list(islice(missing, 2 * jobs))):
        args = (cell.problem, cell.method, where)
        futures = {pool.submit(trial, *args, seed, settings): seed for seed in block}
        for future in as_completed(futures):
            if (error := future.exception()) is not None:
                journal.add(cell, "power", futures[future], error=f"{type(error).__name__}: {error}")
            else:
                journal.add(cell, "power", futures[future], **future.result()._asdict())


def rows_of(journal: Journal, titles: dict[str, str]) -> list[dict[str, Any]]:
    """The trials of a journal, as ``league.json`` has them."""
    found = []
    for cell, trials in journal.cells.items():
        if cell.problem not in SETTINGS:
            continue
        # Of problems that take cases in turn, whole rounds count.
        every = SETTINGS[cell.problem].every
        rounds = len(trials.power) // every * every
        known = rate({seed: one["reject"] for seed, one in trials.power.items() if seed < rounds})
        if known is not None:
            title = METHODS[cell.method].title if cell.method in METHODS else titles.get(cell.method, cell.method)
            found.append({**cell._asdict(), "title": title, "power": known})
    return found


def merged(known: list[dict[str, Any]], fresh: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Known rows and fresh ones: decisions of one effort are joined, those of another take the place of the known."""
    rows = {(row["problem"], row["method"]): row for row in known if row["problem"] in SETTINGS}
    for row in fresh:
        key = row["problem"], row["method"]
        if key in rows and rows[key]["effort"] == row["effort"]:
            row = row | {"power": join_rates(rows[key]["power"], row["power"])}
        rows[key] = row
    names, methods = list(SETTINGS), list(METHODS)
    order = {key: (names.index(key[0]), (*methods, key[1]).index(key[1]), key[1]) for key in rows}
    return [rows[key] for key in sorted(rows, key=lambda key: order[key])]


def current(rows: list[dict[str, Any]], settings: Settings) -> list[dict[str, Any]]:
    """Of each method those of the version that is here, and of others what there is."""
    here = {row["method"]: cell_of(row["problem"], row["method"], settings).effort for row in rows}
    newest = {(row["problem"], row["method"]) for row in rows if row["effort"] == here[row["method"]]}
    return [
        row for row in rows if row["effort"] == here[row["method"]] or (row["problem"], row["method"]) not in newest
    ]


def write_page(journal: Journal, folder: Path, settings: Settings) -> None:
    """Add the trials of a journal to the file of a folder, and make its page."""
    path = folder / "league.json"
    known = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = merged(known, current(rows_of(journal, {}), settings))
    path.write_text(published_page.compact(rows), encoding="utf-8")
    (folder / "league.md").write_text(published_page.text(rows), encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print settings and methods, and end")
    parser.add_argument("--page", type=Path, nargs="?", const=DOCS, metavar="FOLDER", help="make the page; run nothing")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="settings whose names have one of these"
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="NAME", default=None)
    parser.add_argument(
        "--enter", nargs="+", default=[], metavar="FILE.py:FUNCTION", help="functions of X, Y and a seed"
    )
    parser.add_argument("--repetitions", type=int, default=20, metavar="R")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on one core")
    parser.add_argument("--out", type=Path, default=Path("out/league"), help="folder of trials")
    return parser.parse_args()


def main() -> None:
    options, settings = arguments(), Settings()
    if options.list:
        for name, setting in SETTINGS.items():
            rows = setting.problem.sizes[0][0]
            print(f"{name:28} {setting.problem.title}, {rows:,} rows ({PAPERS[setting.paper].title})")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    journal = Journal(options.out / "trials.jsonl")
    if options.page is not None:
        write_page(journal, options.page, settings)
        return
    methods: dict[str, str | None] = {entered(where).title: where for where in options.enter}
    chosen = options.methods if options.methods is not None else [] if methods else ["auto", "median"]
    methods = dict.fromkeys(chosen) | methods
    names = [name for name in SETTINGS if any(part in name for part in options.only)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context) as pool:
        # Few repetitions of everything first, so that a run that is stopped has some of each.
        for count in sorted({min(step, options.repetitions) for step in (10, 20, 50, 100, 200, options.repetitions)}):
            for name in names:
                every = SETTINGS[name].every
                runs = -(-count // every) * every
                for method, where in methods.items():
                    cell = cell_of(name, method, settings)
                    if len(journal.cells[cell].power) < runs:
                        run_cell(cell, where, runs, settings, journal, pool, options.jobs)
                        print(published_page.line(cell, journal.cells[cell]), flush=True)


if __name__ == "__main__":
    main()
