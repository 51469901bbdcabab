"""Install what was built into clean environments: ``python tests/clean_installs.py dist [extra …]``.

First wheel and sdist alone, which must run their commands without the repository; then each extra, which must be enough
for what it is for, while without it the error names it. One line each. Needs a package index; versions are those of
constraints.txt. Environments are made one after the other and removed; that of an extra starts as a copy (hard links)
of one in which the wheel alone was installed. Nothing of the core may bring torch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAMPLES = """
import numpy as np, tellapart as ta
r = np.random.default_rng(0)
X, Y = r.normal(size=(60, 2)), r.normal(size=(60, 2)) + 1
"""
#: For each extra, code that needs it. Without it, the error must name it.
USES = {
    "torch": "print(ta.mmd_test(X, Y, permutations=99, rng=0).pvalue)",
    "tables": "open('t.jsonl', 'w').write('{\"a\": 1}\\n{\"a\": 2}\\n'); print(len(ta.read('t.jsonl')))",
    "images": "import os; os.makedirs('f', exist_ok=True); open('f/empty.png', 'wb').close(); ta.read('f')",
    "report": "ta.compare(X, Y, rng=0).to_html('report.html'); print(open('report.html').read(15))",
    "plots": "print(ta.plots.columns(ta.two_sample_test(X, Y, rng=0)).get_xlabel())",
    "demo": "print(ta.datasets.digits().shape)",
    "training": "from torch.utils.tensorboard import SummaryWriter; SummaryWriter('tb').close()",
    "dask": "if __name__ == '__main__': print(ta.two_sample_test(X, Y, cluster='local', rng=0).pvalue)",
    "sklearn": "from tellapart.integrations.sklearn import DriftDetector; print(DriftDetector().fit(X).predict(Y)[0])",
    "torchmetrics": "from tellapart.integrations.torchmetrics import KernelDistance; print(KernelDistance())",
    "text": "ta.features.sentence_transformer('no such model')(['a'])",
    "onnx": "open('m.onnx', 'wb').close(); ta.features.onnx('m.onnx')",
    "anndata": "import anndata; print(anndata.AnnData(X).shape)",
    "experiments": "from tellapart._util.extras import extra; "
    "[extra(name) for name in ('matplotlib', 'numba', 'sklearn')]",
}
#: Nothing of ours fails without these: there is no AnnData object then, and no TensorBoard to write to.
UNNAMED = ("anndata", "training")
#: Fails with the package too, for want of a model or of an image: what must be in the error then.
FAILS = {"text": "no such model", "onnx": "m.onnx", "images": "empty.png"}


class Environment:
    """A virtual environment in a folder of its own."""

    def __init__(self, folder: Path, base: Environment | None = None) -> None:
        self.folder, self.bin = folder, folder / "venv" / "bin"
        if base is None:
            subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        else:
            shutil.copytree(base.folder / "venv", folder / "venv", symlinks=True, copy_function=os.link)

    def pip(self, *words: object) -> None:
        """Install, quietly."""
        command = [self.bin / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-compile"]
        words = (*command, "-c", ROOT / "constraints.txt", *words)
        subprocess.run(words, check=True, cwd=self.folder, capture_output=True, text=True)

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment where the repository is not."""
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
            "HF_HUB_OFFLINE": "1",
            "MPLBACKEND": "Agg",
        }
        command = [self.bin / str(words[0]), *words[1:]]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    def use(self, extra: str) -> subprocess.CompletedProcess[str]:
        """Run the code that needs an extra."""
        (self.folder / "use.py").write_text(SAMPLES + USES[extra], encoding="utf-8")
        return self.run("python", "use.py")


def check_core(archive: Path) -> str:
    """Install an archive alone, and run its commands; what went wrong, or nothing."""
    with tempfile.TemporaryDirectory() as name:
        environment = Environment(Path(name))
        environment.pip(archive)
        code = SAMPLES + "np.savetxt('x.csv', X, delimiter=','); np.save('y.npy', Y)"
        found = [environment.run("python", "-c", code)]
        if not environment.run("python", "-c", "import torch").returncode:
            return "torch is installed with the core"
        commands = (["--help"], ["test", "x.csv", "y.npy"], ["compare", "x.csv", "y.npy"])
        found += [environment.run("tellapart", *words) for words in commands]
        needed = [extra for extra in USES if extra not in UNNAMED]
        unnamed = [extra for extra in needed if f"tellapart[{extra}]" not in environment.use(extra).stderr]
        if unnamed:
            return f"not named by the error without it: {', '.join(unnamed)}"
        if archive.suffix == ".whl":
            environment.pip(f"{archive}[demo]")
            found.append(environment.run("tellapart", "demo"))
        return next((done.stderr.strip().splitlines()[-1] for done in found if done.returncode), "")


def check_extra(wheel: Path, extra: str, base: Environment) -> str:
    """Add an extra to what the wheel alone installs, and use it; what went wrong, or nothing."""
    with tempfile.TemporaryDirectory() as name:
        environment = Environment(Path(name), base)
        environment.pip(f"{wheel}[{extra}]")
        done = environment.use(extra)
        if extra in FAILS:
            return "" if FAILS[extra] in done.stderr and "pip install" not in done.stderr else done.stderr[-300:]
        return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def main() -> int:
    """A line for each."""
    (wheel,), (sdist,) = (list(Path(sys.argv[1]).resolve().glob(end)) for end in ("*.whl", "*.tar.gz"))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        base: Environment | None = None
        for what in sys.argv[2:] or ["wheel", "sdist", *USES]:
            start = time.perf_counter()
            try:
                if what in ("wheel", "sdist"):
                    problem = check_core(wheel if what == "wheel" else sdist)
                else:
                    if base is None:
                        base = Environment(Path(name))
                        base.pip(wheel)
                    problem = check_extra(wheel, what, base)
            except subprocess.CalledProcessError as error:
                problem = f"could not be installed: {error.stderr.strip().splitlines()[-1]}"
            failed += bool(problem)
            print(
                f"{what:14} {'FAILED: ' + problem if problem else 'ok'} ({time.perf_counter() - start:.0f} s)",
                flush=True,
            )
    return failed


if __name__ == "__main__":
    sys.exit(main())
