"""Runs command lines, each in a process of its own, and tells what came of them: code, words, time and memory.

A server imports what is heavy once and forks for each call, so that hundreds of them take a minute. Each has a limit of
processor time, which other processes of the machine do not take away, and of memory beyond what the server itself has.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: How much longer than its processor time a call may take: it waits for the machine, or for a pipe without end.
WAITING = 10


@dataclass(frozen=True)
class Outcome:
    """What came of a call: ``code`` (negative: a signal), ``out``, ``err``, ``seconds``, and ``peak`` bytes taken."""

    code: int
    out: str
    err: str
    seconds: float
    peak: int


class Arena:
    """The server and what it is told; a context."""

    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-W", "ignore", __file__]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.kill()
        self.process.communicate()

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        *,
        seconds: float = 60,
        file_size: int | None = None,
        address_space: int | None = None,
        environment: dict[str, str] | None = None,
        code: str | None = None,
    ) -> Outcome:
        """Call ``tellapart`` with these arguments in a folder, or run ``code``.

        Limits are in bytes, that of the address space beyond what the server has, and in seconds of processor time.
        """
        request = {"arguments": [os.fsencode(a).hex() for a in arguments], "folder": str(folder), "seconds": seconds}
        request |= {"file_size": file_size, "address_space": address_space, "environment": environment, "code": code}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return Outcome(**json.loads(self.process.stdout.readline()))


def _serve() -> None:
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.json
    import pyarrow.parquet  # noqa: F401
    import torch._dynamo  # what optimisers import when they are made
    import torch.utils.tensorboard  # noqa: F401
    import zarr  # noqa: F401

    from tellapart import criticism, generative, report  # noqa: F401
    from tellapart.cli import compare, rank, reference, sample, test, train, watch  # noqa: F401

    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(_attempt(json.loads(line))), file=answers, flush=True)


def _attempt(request: dict[str, Any]) -> dict[str, Any]:
    written = [os.memfd_create(name) for name in ("out", "err", "peak")]
    start = time.monotonic()
    child = os.fork()
    if not child:
        _call(request, written)
    waiting = os.pidfd_open(child)
    if not select.select([waiting], [], [], WAITING * request["seconds"])[0]:
        os.kill(child, signal.SIGKILL)
    os.close(waiting)
    _, status = os.waitpid(child, 0)
    texts = []
    for file in written:
        os.lseek(file, 0, os.SEEK_SET)
        texts.append(b"".join(iter(lambda file=file: os.read(file, 2**20), b"")).decode(errors="replace"))
        os.close(file)
    code = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    return {"code": code, "out": texts[0], "err": texts[1], "seconds": seconds, "peak": int(texts[2] or 0)}


def _memory(name: str) -> int:
    """Bytes of this process: VmRSS as they are now, VmHWM as they were at the most, VmSize of its address space."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _call(request: dict[str, Any], written: Sequence[int]) -> None:
    code = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(request["folder"])
        os.environ.update(request["environment"] or {})
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")  # forget the largest that the server ever was
        before = _memory("VmRSS")
        resource.setrlimit(resource.RLIMIT_CPU, (int(request["seconds"]),) * 2)
        if request["file_size"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_size"],) * 2)
        if request["address_space"] is not None:
            resource.setrlimit(resource.RLIMIT_AS, (_memory("VmSize") + request["address_space"],) * 2)
        for target, file in zip((1, 2), written, strict=False):
            os.dup2(file, target)
        sys.stdout = open(1, "w", encoding="utf-8", errors="strict", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        code = _run(request)
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(written[2], str(max(0, _memory("VmHWM") - before)).encode())
    except BaseException as error:
        os.write(2, f"ESCAPED {type(error).__name__}: {error}\n".encode())
    os._exit(code)


def _run(request: dict[str, Any]) -> int:
    from tellapart.cli import main

    if request["code"] is not None:
        exec(request["code"], {})
        return 0
    try:
        return main([os.fsdecode(bytes.fromhex(a)) for a in request["arguments"]])
    except SystemExit as ending:
        return int(ending.code or 0)


if __name__ == "__main__":
    _serve()
