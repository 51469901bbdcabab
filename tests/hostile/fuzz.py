"""Random damage to every reader, report and checkpoint: bytes flipped, cut, repeated, and random tables.

    python tests/hostile/fuzz.py --seconds 1800 [--seed N] [--only NAME]

Whatever comes, each call must end in a result or in an `InputError`, within its time. What does not is kept in
``--keep FOLDER``, printed, and makes the exit code 1. ``make fuzz SECONDS=1800`` runs it; the tests do so for a moment.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import json
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import zarr
from PIL import Image
from safetensors.torch import save_file

import tellapart as ta
from tellapart import generative, kernels
from tellapart._util.errors import InputError
from tellapart.data import as_points, read
from tellapart.generative.callbacks import read_log
from tellapart.generative.runs import open_run

#: Seconds of processor time that one call may take, and ten times as many where it waits.
PATIENCE = 60
#: Strings that break things, put into files at random.
NASTY = [
    b"\0", b"\xff\xfe", b"\r", b"\n", b'"', b",", b";", b"\t", b"nan", b"inf", b"-0", b"1e999", b"1e-320", b"{", b"[",
    b"\xf0\x9f\x92\xa9", b"\x1b[2J", b"9" * 30, b"-" * 5, b"null", b"true", b"%s%n", b"../", b"\x80" * 8, b"\xff" * 8,
]  # fmt: skip
#: Values that do not belong where they are put.
WRONG: list[Any] = [
    None, True, 0, 1, -1, 2**31, 2**63, 10**400, 0.5, -1e-300, 1e308, float("nan"), float("inf"), "", "a", "x" * 5000,
    "\x1b[2J", "\ud800", "__class__", "../..", [], [[]], [0] * 1000, {}, {"a": 1},
]  # fmt: skip


# --- Good files to damage


def seeds(folder: Path) -> dict[str, Path]:
    """A small good file of every format that is read, of a kernel, and of a training run."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(30, 3))
    frame = pd.DataFrame(numbers, columns=list("abc")).assign(
        t=rng.choice(["u", "v", "w"], 30),
        d=pd.date_range("2024-01-01", periods=30).astype(str),
        k=rng.integers(9, size=30),
    )
    made: dict[str, Path] = {}

    def place(name: str) -> Path:
        made[name] = folder / name
        return made[name]

    np.save(place("x.npy"), numbers)
    np.save(place("f.npy"), np.asfortranarray(numbers))
    np.savez(place("x.npz"), x=numbers, y=numbers[:, 0])
    np.savez_compressed(place("z.npz"), x=numbers)
    save_file({"x": torch.tensor(numbers)}, place("x.safetensors"))
    place("x.csv").write_text(frame.to_csv(index=False))
    place("x.tsv").write_text(frame.to_csv(index=False, sep="\t"))
    place("s.csv").write_text(frame.to_csv(index=False, sep=";", decimal=","))
    place("x.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    place("x.jsonl").write_text(frame.to_json(orient="records", lines=True))
    place("x.jsonl.gz").write_bytes(gzip.compress(frame.to_json(orient="records", lines=True).encode()))
    pq.write_table(pa.Table.from_pandas(frame), place("x.parquet"))
    place("x.idx").write_bytes(bytes([0, 0, 8, 2, 0, 0, 0, 30, 0, 0, 0, 3]) + bytes(range(90)))
    place("x.idx.gz").write_bytes(gzip.compress((folder / "x.idx").read_bytes()))
    for version in (2, 3):
        zarr.save_array(str(place(f"v{version}.zarr")), numbers, zarr_format=version)
    place("pictures").mkdir()
    for k in range(3):
        pixels = rng.integers(256, size=(8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "pictures" / f"{k}.{'jpg' if k else 'png'}")
    kernels.save(kernels.Gaussian(1.0) * 2 + kernels.Matern(1.0, nu=1.5), place("sum.kernel"))
    kernels.save(kernels.Deep(kernels.MLP([3, 4], rng=0), original=kernels.Gaussian(1.0)), place("deep.kernel"))
    settings = {"steps": 2, "batch_size": 20, "hidden": [4], "log_every": 1, "noise": 2}
    generative.train("gmmn", generative.load("digits"), place("gmmn.run"), settings, rng=0, progress=False)
    for part in ("samples", "tensorboard"):
        _remove(folder / "gmmn.run" / part)
    for name, reference in references().items():
        reference.save(place(f"{name}.tellapart"))
    monitor = references()["mixed"].monitor(rng=0, permutations=9, state=place("state.json"))
    for day in range(3):
        monitor.add(frame[day::3], f"day {day}")
    return made


@cache
def samples() -> dict[str, Any]:
    """Rows of numbers, a table, and images."""
    rng = np.random.default_rng(0)
    mixed = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc")).assign(
        t=rng.choice(["u", "v", "w"], 60),
        d=pd.date_range("2024-01-01", periods=60).astype(str),
        k=rng.integers(9, size=60),
    )
    images = rng.integers(256, size=(40, 8, 8), dtype=np.uint8)
    return {"rows": rng.normal(size=(60, 3)), "mixed": mixed, "images": images}


@cache
def references() -> dict[str, ta.Reference]:
    """Of each of them."""
    return {name: ta.Reference.fit(data, rng=0, missing="indicator") for name, data in samples().items()}


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for part in path.iterdir():
            _remove(part)
        path.rmdir()
    else:
        path.unlink()


# --- Damage


def damage(content: bytes, rng: random.Random, other: bytes) -> bytes:
    """A few changes at random."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        at = rng.randrange(len(changed) + 1)
        end = min(len(changed), at + rng.choice([1, 2, 4, 8, 64]))
        match rng.randrange(9):
            case 0 | 1 | 2 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 3:
                changed[at:end] = rng.randbytes(end - at)
            case 4:
                del changed[at:end]
            case 5:
                changed[at:at] = rng.choice(NASTY)
            case 6:
                del changed[at:]
            case 7:
                changed[at:at] = changed[at:end] * rng.choice([2, 100])
            case 8 if other:
                start = rng.randrange(len(other))
                changed[at:end] = other[start : start + 64]
    return bytes(changed)


def distort(value: Any, rng: random.Random) -> Any:
    """JSON with one of its values replaced by another."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.93:
        changed: Any = value.copy()
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if rng.random() < 0.05:
            del changed[key]
        else:
            changed[key] = distort(value[key], rng)
        return changed
    near = [value + 1, -value, value * 1e30] if isinstance(value, (int, float)) else []
    return rng.choice([*WRONG, *near * 3])


def distort_header(content: bytes, rng: random.Random) -> bytes:
    """A safetensors file that says something else of its tensors, or in the facts that we put there."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    if "__metadata__" in header and rng.random() < 0.9:
        facts = distort(json.loads(header["__metadata__"]["tellapart"]), rng)
        header["__metadata__"]["tellapart"] = json.dumps(facts)
    else:
        header = distort(header, rng)
    changed = json.dumps(header).encode()
    return len(changed).to_bytes(8, "little") + changed + content[8 + length :]


def damage_file(path: Path, rng: random.Random, other: bytes) -> bytes:
    """What is in a file, changed: bytes at random, or, where it is JSON or begins with it, what it says."""
    content = path.read_bytes()
    if path.suffix in (".safetensors", ".kernel", ".tellapart") and rng.random() < 0.7:
        return distort_header(content, rng)
    if path.suffix == ".json" and rng.random() < 0.7:
        return json.dumps(distort(json.loads(content), rng)).encode()
    return damage(content, rng, other)


def spoil(source: Path, target: Path, rng: random.Random, other: bytes) -> None:
    """A damaged copy of a file, or of a folder with one file damaged."""
    if source.is_file():
        target.write_bytes(damage_file(source, rng, other))
        return
    files = sorted(path for path in source.rglob("*") if path.is_file())
    victim = rng.choice(files)
    for path in files:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path != victim:
            copy.write_bytes(path.read_bytes())
        elif rng.random() < 0.9:  # or it is not there at all
            copy.write_bytes(damage_file(path, rng, other))


# --- Calls


def call_reader(path: Path, rng: random.Random) -> None:
    options: dict[str, Any] = {"missing": rng.choice(["error", "indicator", "drop"])}
    if rng.random() < 0.3:
        options["max_rows"] = rng.choice([1, 5, 1000])
    source = read(path, **options, rng=0)
    source.row(0), source.where(0), repr(source), source.columns
    if rng.random() < 0.2:
        ta.two_sample_test(path, path, 9, rng=0, **options)
    if rng.random() < 0.2:
        x, _ = as_points(path, path)
        x[:2]


def call_kernel(path: Path, _: random.Random) -> None:
    kernels.load(path)(torch.zeros(2, 3, dtype=torch.float64))


def call_run(path: Path, rng: random.Random) -> None:
    read_log(path / "log.jsonl")
    open_run(path)
    if rng.random() < 0.3:
        generative.sample(path, 2, rng=0)


def call_reference(path: Path, rng: random.Random) -> None:
    reference = ta.Reference.load(path)
    repr(reference), len(reference)
    batch = random_table(rng) if rng.random() < 0.2 else samples()[path.stem][:4]
    schema = rng.choice(["strict", "normal", "lenient"])
    if rng.random() < 0.5:
        reference.test(batch, 9, schema=schema, rng=0).summary()
    else:
        reference.monitor(permutations=9, refine_permutations=9, schema=schema, rng=0).add(batch)


def call_state(path: Path, rng: random.Random) -> None:
    monitor = references()["mixed"].monitor(rng=0, permutations=9, state=path)
    if rng.random() < 0.3:
        monitor.add(pd.DataFrame({"a": [1.0], "b": 2.0, "c": 3.0, "t": "u", "d": "2024-01-01", "k": 1}))
    shown = [monitor.summary(), monitor.to_prometheus(), repr(monitor)]
    strict_json(monitor.to_json())
    if rng.random() < 0.3:
        monitor.to_html(path.with_name("history.html"))
        shown.append(path.with_name("history.html").read_text(encoding="utf-8"))
    assert not any("\x1b" in text for text in shown)


def strict_json(text: str) -> Any:
    """What JSON says; NaN and infinities, which Python writes and nobody else reads, are an error."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


#: Who reads a file, by its suffix.
CALLS: dict[str, Callable[[Path, random.Random], None]] = {
    ".kernel": call_kernel,
    ".run": call_run,
    ".tellapart": call_reference,
    ".json": call_state,
}


def call_damaged(name: str, good: Path, work: Path, rng: random.Random, other: bytes) -> None:
    """A damaged copy of one of `seeds`, and whoever reads it."""
    spoil(good, work / name, rng, other)
    CALLS.get(good.suffix, call_reader)(work / name, rng)


def random_table(rng: random.Random) -> pd.DataFrame:
    """Columns of whatever kind."""
    rows = rng.choice([0, 1, 2, 3, 17, 17, 17, 60, 60])
    draws = np.random.default_rng(rng.randrange(2**32))
    numbers = [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e39, 1e-310, 1.7e308, -1e300, 2.0**53 + 2, 1e15, 0.1]
    texts = [
        "",
        "a",
        "b",
        "1",
        "1,5",
        "40%",
        "$3",
        "2024-01-01",
        "31/12/2024",
        "nan",
        "?",
        "x" * 3000,
        "\x1b[2J",
        "é\u202e",
    ]
    whole = [0, 1, 2**53 + 1, 2**53, 2**62, -(2**63), 7]
    makers: list[Callable[[], Any]] = [
        lambda: draws.normal(size=rows) * 10.0 ** rng.randrange(-320, 308),
        lambda: draws.choice(numbers, rows),
        lambda: draws.choice([3.0, 4.0, np.nan], rows),
        lambda: draws.integers(-3, 5, rows),
        lambda: draws.choice(np.array(whole), rows),
        lambda: draws.choice(np.array(texts, object), rows),
        lambda: draws.choice(np.array([*texts, None, 1, 2.5, True, pd.Timestamp("2024-01-01")], object), rows),
        lambda: np.full(rows, rng.choice([0.0, 1e200, np.nan])),
        lambda: pd.to_datetime(draws.integers(-(2**60), 2**60, rows)),
        lambda: draws.random(rows) < 0.5,
        lambda: pd.Categorical(draws.choice(np.array(["u", "v", "1"]), rows)),
        lambda: pd.array(draws.choice(np.array([1, 2, None], object), rows), dtype="Int64"),
        lambda: draws.normal(size=rows).astype(np.float32) * np.float32(1e38),
        lambda: [f"{value:,}" for value in draws.integers(0, 5000, rows)],
        lambda: [b"x"] * rows,
    ]  # fmt: skip
    tame: list[Callable[[], Any]] = [
        lambda: draws.normal(size=rows),
        lambda: draws.integers(-3, 5, rows),
        lambda: draws.choice(np.array(["u", "v", "\x1b[2J", "é\u202e", "<b>"], object), rows),
        lambda: draws.random(rows) < 0.5,
        lambda: np.full(rows, 10.0 ** rng.uniform(0, 149)),
        lambda: pd.to_datetime(draws.integers(2**59, 2**60, rows)),
        lambda: [f"{value:,}" for value in draws.integers(0, 5000, rows)],
    ]
    names = ["a", "b", "", "a", "c\n", "{0}", "%s", "<b>", "x" * 500]
    # Half of them are such that something is computed, and not only refused.
    chosen = makers if rng.random() < 0.5 else tame
    columns = [rng.choice(chosen)() for _ in range(rng.choice([1, 1, 2, 3, 6]))]
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = [rng.choice(names) + str(k if rng.random() < 0.9 else "") for k in range(len(columns))]
    return frame


def call_tables(folder: Path, rng: random.Random) -> None:
    x = random_table(rng)
    y = x.sample(frac=1, random_state=rng.randrange(2**31), replace=True) if rng.random() < 0.7 else random_table(rng)
    options: dict[str, Any] = {"missing": rng.choice(["error", "indicator", "drop"]), "rng": 0}
    if rng.random() < 0.3 and not x.empty and not y.empty:
        for name, frame in (("x.csv", x), ("y.csv", y)):
            frame.to_csv(folder / name, index=False)
        x, y = folder / "x.csv", folder / "y.csv"  # type: ignore[assignment]
    match rng.randrange(13):
        case 0 | 1 | 2 | 3:
            tested = ta.two_sample_test(x, y, 9, **options)
            tested.summary()
            strict_json(json.dumps(tested.to_dict()))
        case 4 | 5:
            ta.mmd_test(x, y, permutations=9, **options)
        case 6:
            ta.learned_test(x, y, rng.choice(["witness", "rbf"]), permutations=9, **options)
        case 7:
            read(x, **options)
        case 8:
            reference = ta.Reference.fit(x, **options)
            reference.save(folder / "r.tellapart")
            monitor = ta.Reference.load(folder / "r.tellapart").monitor(
                permutations=9, refine_permutations=9, schema="lenient", rng=0
            )
            monitor.add(y)
            assert reference.digest == monitor.reference.digest
            strict_json(monitor.to_json())
        case 9:
            ranked = ta.rank(x, {"y": y, "x": x, "y again": y}, **options)
            ranked.summary()
            strict_json(ranked.to_json())
        case 10:
            by = rng.choice(list(x.columns)) if isinstance(x, pd.DataFrame) else "a0"
            grouped = ta.k_sample_test(x, by, permutations=9, **options)
            grouped.summary()
            strict_json(grouped.to_json())
        case _:
            found = ta.compare(x, y, test=rng.choice(["rbf", "auto"]), permutations=19, stability=0, **options)
            found.summary()
            strict_json(found.to_json())
            found.to_html(folder / "r.html")
            assert "\x1b" not in (folder / "r.html").read_text(encoding="utf-8")


# --- The loop


class TooSlow(Exception):
    """A call took longer than it may."""


def _stop(*_: Any) -> None:
    raise TooSlow


def attempt(call: Callable[[], None]) -> str:
    """``"ok"``, ``"refused"``, or how it failed."""
    signal.signal(signal.SIGALRM, _stop)
    signal.signal(signal.SIGPROF, _stop)
    signal.alarm(10 * PATIENCE)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        call()
        return "ok"
    except InputError as error:
        text = str(error)
        bad = not text or "\n" in text or "\x1b" in text or len(text) > 5000
        return f"a bad message: {text[:300]!r}" if bad else "refused"
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def fuzz(seconds: float, seed: int, keep: Path | None = None, only: str = "") -> tuple[Counter[str], list[str]]:
    """How often each ended how, and the failures."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        (good := Path(place, "good")).mkdir()
        made = seeds(good)
        contents = [path.read_bytes() for path in made.values() if path.is_file()]
        names = [name for name in [*made, *["tables"] * 12] if only in name]
        until, number = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            number += 1
            name = rng.choice(names)
            work = Path(place, "work")
            work.mkdir()
            case = random.Random(rng.randrange(2**62))
            if name == "tables":
                outcome = attempt(lambda: call_tables(work, case))  # noqa: B023
            else:
                other = case.choice(contents)
                outcome = attempt(lambda: call_damaged(name, made[name], work, case, other))  # noqa: B023
            counts[name if outcome == "ok" else f"{name} {outcome}" if outcome == "refused" else "FAILED"] += 1
            if outcome not in ("ok", "refused"):
                failures.append(f"seed {seed}, number {number}, {name}:\n{outcome}")
                print(failures[-1], file=sys.stderr, flush=True)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    work.rename(keep / f"{seed}-{number}")
                    continue
            _remove(work)
    return counts, failures


def main() -> int:
    """Run for some time, and print how often each ended how."""
    faulthandler.enable()
    parser = argparse.ArgumentParser(description="Random damage to every reader, report and checkpoint.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    counts, failures = fuzz(given.seconds, given.seed, given.keep, given.only)
    kinds = sorted({key.removesuffix(" refused") for key in counts} - {"FAILED"})
    for kind in kinds:
        print(f"{kind:16} {counts[kind]:7,} read  {counts[f'{kind} refused']:7,} refused")
    print(f"{sum(counts.values()):,} executions, {len(failures)} failures (seed {given.seed}, {given.seconds:.0f} s).")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
