"""Tests that live in an environment of their own: a worker process there answers one line for each line it is sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from peers import PEERS, THREADED, Peer, environment_of, install, python_of

WORKER = Path(__file__).with_name("worker.py")


class RemoteTest:
    """The tests of a package in ``benchmarks/.peers``. Its worker starts at the first call and ends with us."""

    def __init__(self, package: str, requirements: tuple[str, ...] = ()) -> None:
        self.package = package
        self._process: subprocess.Popen[str] | None = None
        if requirements:
            PEERS.setdefault(package, Peer(requirements, None))

    def missing(self) -> str | None:
        if python_of(self.package).exists():
            return None
        failure = environment_of(self.package) / "failed.txt"
        return failure.read_text() if failure.exists() else f"{self.package} is not installed: --install"

    def install(self) -> None:
        """Make its environment, unless it is there."""
        if self.missing():
            install(self.package)

    def __call__(self, test: str, X: np.ndarray, Y: np.ndarray, **settings: Any) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder) / name) for name in ("X.npy", "Y.npy")]
            for path, rows in zip(paths, (X, Y), strict=True):
                np.save(path, rows)
            pipe_in.write(json.dumps({"test": test, "samples": paths, "settings": settings}) + "\n")
            pipe_in.flush()
            answer = pipe_out.readline()
        if not answer:
            raise RuntimeError(f"The worker of {self.package} ended with code {self._process.wait()}.")
        found = json.loads(answer)
        if "error" in found:
            raise RuntimeError(f"{self.package}: {found['error']}")
        return found

    def _start(self) -> subprocess.Popen[str]:
        environment = os.environ | {f"{library}_NUM_THREADS": "1" for library in THREADED}
        environment.pop("PYTHONPATH", None)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": sys.stderr, "text": True}
        return subprocess.Popen([python_of(self.package), WORKER], env=environment, **pipes)
