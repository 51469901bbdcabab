"""Kills, full disks and races: nothing is lost, nothing half-written, one clear line.

    python tests/hostile/faults.py [--share 1.0] [--only NAME]

``make faults`` runs all of it; the tests run a small share.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from tellapart import generative
from tellapart.generative import checkpoints
from tellapart.generative.callbacks import read_log

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "TELLAPART_THREADS": "1"}
SETTINGS = ["batch_size=40", "hidden=[16,32]", "log_every=1", "evaluate_every=40", "checkpoint_every=5", "noise=4"]


def start(*arguments: Any, code: str | None = None, **options: Any) -> subprocess.Popen[str]:
    """A call of ``tellapart`` in another process, in which Ctrl-C works."""
    code = code or "from tellapart.cli import main; sys.exit(main())"
    before = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", before + code, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=ENVIRONMENT, **pipes | options)  # type: ignore[call-overload, no-any-return]


def check(condition: Any, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def is_one_line(text: str) -> bool:
    return text.startswith("tellapart: ") and text.count("\n") == 1 and "Error" not in text


def drafts(folder: Path) -> list[Path]:
    return list(folder.rglob(".tellapart-*.unfinished"))


# --- Killed in training


NURSERY = """
import json, os
import numpy, torch.utils.tensorboard, PIL.Image
from tellapart import generative
from tellapart.cli import main, train
for line in sys.stdin:
    words, errors = json.loads(line)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(2, 1)
        code = main(words)
        sys.stderr.flush()
        os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def killed_training(times: int, folder: Path, rng: random.Random) -> str:
    """A run that is killed again and again ends as one that was not: the same weights, the same log.

    Each life of the run is a process of its own, forked from one that has imported everything.
    """
    np.savez(folder / "images.npz", images=generative.load("digits").rows.reshape(-1, 8, 8))
    words = ["train", "gmmn", "--data", str(folder / "images.npz"), "--set", *SETTINGS, "--out"]
    run, whole, errors = folder / "killed", folder / "whole", folder / "errors"
    step, said = 0, {"silently": 0, "one line": 0}
    with start(code=NURSERY, stdin=subprocess.PIPE) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None

        def live(*more: Any, seconds: float | None, number: int = 0) -> int:
            assert nursery.stdin is not None
            assert nursery.stdout is not None
            print(json.dumps([[*words, *map(str, more)], str(errors)]), file=nursery.stdin, flush=True)
            child = int(nursery.stdout.readline())
            if seconds is not None:
                # Most are killed in training, some on the way to it, however slow the machine is.
                until = time.monotonic() + (120 if rng.random() < 0.8 else 0)
                lock = folder / "killed" / ".lock"
                while time.monotonic() < until and not (lock.exists() and lock.read_text() == str(child)):
                    time.sleep(0.005)
                time.sleep(seconds)
                os.kill(child, number)
            return int(nursery.stdout.readline())

        for _ in range(times):
            number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            code = live(run, "--steps", 10**6, "--resume", seconds=rng.uniform(0, 1.5), number=number)
            error = errors.read_text()
            check(code in (-9, -15, 130, 143), f"code {code}: {error}")
            # A signal before the command has begun ends it as it ends any other program.
            check(error == "" or is_one_line(error) or "Traceback" not in error, f"killed training said {error!r}")
            said["one line" if error else "silently"] += 1
            if (run / "checkpoint.safetensors").exists():
                found = checkpoints.read_run(run / "checkpoint.safetensors")[1]["step"]
                check(found >= step, f"step {found} after step {step}")
                step = found
        for out in (run, whole):
            check(live(out, "--steps", step + 3, "--resume", seconds=None) == 0, errors.read_text())
        nursery.stdin.close()
    (a, first), (b, second) = (checkpoints.read_run(out / "checkpoint.safetensors") for out in (run, whole))
    check(first == second, "the facts of the checkpoints differ")
    check(all(torch.equal(a[name], b[name]) for name in a), "the weights differ")
    check(read_log(run / "log.jsonl") == read_log(whole / "log.jsonl"), "the logs differ")
    return f"{times} kills ({said}), {step + 3} steps, same weights and log, {len(drafts(run))} drafts left"


# --- Killed while a report is written


WRITER = """
import time
from pathlib import Path
from tellapart._util.files import atomic_write_text
print("ready", flush=True)
k = 0
while True:
    k += 1
    atomic_write_text(sys.argv[1], f"{k}\\n" * 200_000 + "whole")
"""


def killed_writing(times: int, folder: Path, rng: random.Random) -> str:
    """A report that is being written is the old one or the new one, whenever it is killed."""
    target = folder / "r.html"
    for _ in range(times):
        process = start(target, code=WRITER)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate()
        if target.exists():
            lines = target.read_text().splitlines()
            check(lines[-1] == "whole" and len(set(lines)) == 2 and len(lines) == 200_001, "a file is half-written")
    left = drafts(folder)
    for draft in left:
        os.utime(draft, (0, 0))
    start(target, code="from tellapart._util.files import atomic_write_text as w; w(sys.argv[1], 'x')").communicate()
    check(not drafts(folder), "what was left is not removed")
    return f"{times} kills, {len(left)} drafts left, all removed by the next writer"


# --- Full disks


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[dict[str, Any]]:
    """Options of a process that can write little: on a small disk, or with a limit on the size of its files."""
    import resource

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    yield {"preexec_fn": limit}


@contextmanager
def tmpfs(folder: Path, size: int) -> Iterator[bool]:
    """A disk of so many bytes at a folder; False where none can be had."""
    folder.mkdir(exist_ok=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    try:
        yield made.returncode == 0
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", "-l", folder], capture_output=True)


def full_disk(times: int, folder: Path, rng: random.Random) -> str:
    """Every writer on a disk that is full: the verdict is printed, the old file kept, the new one named."""
    for k, name in enumerate("ab"):
        frame = pd.DataFrame(np.random.default_rng(k).normal(size=(60, 3)) + 2 * k, columns=list("xyz"))
        frame.to_csv(folder / f"{name}.csv", index=False)
    np.savez(folder / "images.npz", images=generative.load("digits").rows.reshape(-1, 8, 8))
    train = ["train", "gmmn", "--data", folder / "images.npz", "--set", *SETTINGS, "--out"]
    process = start(*train, folder / "run", "--steps", 10)
    check(process.wait(300) == 0, "no run to sample from")
    process.communicate()
    compare = ["compare", folder / "a.csv", folder / "b.csv", "--test", "rbf"]
    writers: dict[str, tuple[list[Any], str, bool]] = {
        "report": ([*compare, "--report", "OUT/r.html"], "r.html", True),
        "json of compare": ([*compare, "--json", "OUT/r.json"], "r.json", True),
        "json of test": (["test", folder / "a.csv", folder / "b.csv", "--json", "OUT/r.json"], "r.json", True),
        "samples": (["sample", folder / "run", "--n", 5000, "--out", "OUT/x.npy"], "x.npy", False),
        "packed samples": (["sample", folder / "run", "--n", 5000, "--out", "OUT/x.npz"], "x.npz", False),
    }
    tried = 0
    for kind in ("limit", "disk"):
        for name, (words, file, verdict) in writers.items():
            if tried >= times:
                break
            out = folder / f"{kind} {name}"
            disk = tmpfs(out, 8192) if kind == "disk" else _plain_folder(out)
            with disk as there, small_disk(out, 3000) as limits:
                if not there:
                    continue
                (out / file).write_text("before")
                given = [str(word).replace("OUT", str(out)) for word in words]
                process = start(*given, **(limits if kind == "limit" else {}))
                said, error = process.communicate(timeout=300)
                check(process.returncode == 2, f"{kind}, {name}: code {process.returncode}, {error!r}")
                check(
                    is_one_line(error) and file in error and "cannot be written" in error, f"{kind}, {name}: {error!r}"
                )
                check(not verdict or "differ" in said, f"{kind}, {name}: the verdict is lost")
                check((out / file).read_text() == "before", f"{kind}, {name}: what was there is lost")
                check(not drafts(out), f"{kind}, {name}: a draft is left")
                tried += 1
    # A run on a disk that gets full keeps its last checkpoint, and goes on elsewhere.
    with tmpfs(folder / "small", 120_000) as there:
        if there and times > len(writers):
            process = start(*train, folder / "small" / "run", "--steps", 10**6)
            time.sleep(1)
            _, error = process.communicate(timeout=600)
            check(process.returncode == 2 and is_one_line(error), f"training on a full disk: {error!r}")
            check("No space left" in error, error)
            checkpoints.read_run(folder / "small" / "run" / "checkpoint.safetensors")
            tried += 1
    return f"{tried} writers on a full disk: each named its file, kept the old one and the verdict"


@contextmanager
def _plain_folder(path: Path) -> Iterator[bool]:
    path.mkdir()
    yield True


# --- Ctrl-C


INTERRUPTED = """
import json, os, time, threading, warnings
import numpy as np, torch, tellapart as ta
warnings.simplefilter("ignore")
torch.set_num_threads(2)
os.environ["TELLAPART_THREADS"] = "2"
X, Y = (torch.randn(120, 3, generator=torch.Generator().manual_seed(s)) for s in (0, 1))
quick = {"permutations": 19, "rng": 0}
calls = {
    "compare": lambda: ta.compare(X, Y, test="rbf", stability=0, permutations=19, rng=0).null_distribution.sum(),
    "mmd_test": lambda: ta.mmd_test(X, Y, **quick).null_distribution.sum(),
    "learned_test": lambda: ta.learned_test(X, Y, **quick).null_distribution.sum(),
    "two_sample_test": lambda: ta.two_sample_test(X, Y, 19, rng=0).pvalue,
}
call = calls[sys.argv[1]]
def state():
    flushes = (torch.tensor([2.0**-130]) * 1).item() == 0
    return [torch.get_num_threads(), str(torch.get_default_dtype()), flushes, torch.random.initial_seed(),
            hash(torch.random.get_rng_state().numpy().tobytes()), str(np.random.get_state()[1][:3]),
            len(warnings.filters), str(signal.getsignal(signal.SIGINT)), str(signal.getsignal(signal.SIGTERM)),
            torch.is_grad_enabled(), str(np.geterr())]
expected = call()
before = state()
print("ready", flush=True)
while True:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # one that comes too early waits for this
        while True:
            assert call() == expected
    except KeyboardInterrupt:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    until = time.monotonic() + 60
    while threading.active_count() > 1 and time.monotonic() < until:
        time.sleep(0.01)
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    print("same" if not left and state() == before else json.dumps([left, before, state()]), flush=True)
"""


def interrupts(times: int, folder: Path, rng: random.Random) -> str:
    """Ctrl-C at random moments: no hang, no thread left, global state and the next result as before."""
    import selectors

    done = {}
    for name in ("compare", "mmd_test", "learned_test", "two_sample_test"):
        with start(name, code=INTERRUPTED) as process, selectors.DefaultSelector() as selector:
            assert process.stdout is not None
            selector.register(process.stdout, selectors.EVENT_READ)
            try:
                check(selector.select(120) and process.stdout.readline() == "ready\n", f"{name} does not begin")
                for _ in range(times):
                    selector.select(rng.uniform(0.001, 0.3))
                    process.send_signal(signal.SIGINT)
                    check(selector.select(120), f"{name} hangs")
                    line = process.stdout.readline()
                    if line != "same\n":
                        process.kill()
                        error = process.stderr.read() if process.stderr else ""
                        check(False, f"{name}: {line} {error[-2000:]}")
                done[name] = times
            finally:
                process.kill()
    return f"{done}: no hang, no thread left, state and bits the same"


# --- Dask


CLUSTERED = """
import json, time
import numpy as np, tellapart as ta
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(1500, 4)), rng.normal(size=(1500, 4)) + 0.05
if sys.argv[1] == "here":
    print(ta.mmd_test(X, Y, permutations=49, rng=0).null_distribution.sum().hex())
else:
    from tellapart.engine import cluster
    cluster.PATIENCE = 8
    try:
        found = ta.mmd_test(X, Y, permutations=49, rng=0, cluster=sys.argv[1], max_memory="20MB")
        print(found.null_distribution.sum().hex())
    except (OSError, RuntimeError, MemoryError) as error:
        print("tellapart:", " ".join(str(error).split()))
"""


def dask(times: int, folder: Path, rng: random.Random) -> str:
    """Workers and the scheduler killed at random moments: the same bits, or one line."""
    expected = start("here", code=CLUSTERED).communicate(timeout=300)[0]
    outcomes = {"same": 0, "one line": 0}
    for k in range(2 * times):
        victim = "scheduler" if k % 2 else "worker"
        processes: list[subprocess.Popen[str]] = []
        try:
            port = 20000 + rng.randrange(20000)
            listen = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
            serve = [sys.executable, "-m", "distributed.cli.dask_scheduler", *listen]
            quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENVIRONMENT}
            processes.append(subprocess.Popen(serve, text=True, **quiet))
            work = [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", "--no-nanny"]
            work += ["--nthreads", "1", "--no-dashboard", "--local-directory", str(folder)]
            processes += [subprocess.Popen(work, text=True, **quiet) for _ in range(2)]
            client = start(f"tcp://127.0.0.1:{port}", code=CLUSTERED)
            time.sleep(rng.uniform(4, 14))
            (processes[0] if victim == "scheduler" else processes[1]).kill()
            said, error = client.communicate(timeout=180)
            good = said == expected or (said.startswith("tellapart: ") and said.count("\n") == 1)
            check(good, f"{victim} killed: {said!r} {error[-500:]!r}")
            outcomes["same" if said == expected else "one line"] += 1
        finally:
            for process in processes:
                process.kill()
                process.wait()
    return f"{times} workers and {times} schedulers killed: {outcomes}"


# --- Races


def races(times: int, folder: Path, rng: random.Random) -> str:
    """Files that change while they are read, and runs that meet in one folder."""
    from tellapart import mmd_test
    from tellapart._util.errors import InputError

    found = {"changed": 0, "in time": 0}
    for k in range(times):
        for name in ("x", "y"):
            np.save(folder / f"{name}.npy", np.random.default_rng(k).normal(size=(400, 2)))
        code = "import numpy as np, time; time.sleep(float(sys.argv[2])); np.save(sys.argv[1], np.full((400, 2), 9.0))"
        expected = mmd_test(folder / "x.npy", folder / "y.npy", permutations=99, rng=0).pvalue
        process = start(folder / "x.npy", rng.uniform(0, 0.3), code=code)
        try:
            while process.poll() is None:
                got = mmd_test(folder / "x.npy", folder / "y.npy", permutations=99, rng=0).pvalue
                # After the change the file is another one, and so is the result.
                done = process.poll() is not None or np.load(folder / "x.npy")[0, 0] == 9
                check(got == expected or done, f"p = {got} instead of {expected}")
            found["in time"] += 1
        except (InputError, ValueError, EOFError) as error:
            check("Traceback" not in str(error), str(error))
            found["changed"] += 1
        process.communicate()
    return f"{times} files changed while they were read: {found}"


FAULTS: dict[str, tuple[Callable[[int, Path, random.Random], str], int]] = {
    "kills of train": (killed_training, 100),
    "kills of a report": (killed_writing, 20),
    "full disks": (full_disk, 20),
    "interrupts": (interrupts, 200),
    "dask": (dask, 20),
    "races": (races, 20),
}


def run(name: str, share: float, folder: Path, seed: int = 0) -> str:
    """One kind of fault, so many times."""
    fault, times = FAULTS[name]
    return fault(max(1, round(share * times)), folder, random.Random(seed))


def main() -> int:
    """Run them, and print what came of each."""
    parser = argparse.ArgumentParser(description="Kills, full disks and races.")
    parser.add_argument("--share", type=float, default=1.0, help="how many, of 100 kills and so on")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed = 0
    for name in FAULTS:
        if given.only in name:
            begin = time.monotonic()
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                try:
                    found = run(name, given.share, Path(folder), given.seed)
                except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                    found = f"FAILED: {error}"
                    failed += 1
            print(f"{name:18} {time.monotonic() - begin:6.0f} s  {found}", flush=True)
    print(json.dumps({"failed": failed}))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
