"""Every call that needs no torch, each by name: ``python calls_without_torch.py blocked|installed`` in an empty folder.

Writes what became of each as JSON: "" if it ended well. ``blocked`` makes every import of torch fail; ``installed``
says which calls imported it.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


class Blocked:
    """A finder of modules that refuses torch."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__" and sys.argv[1] == "blocked":
    sys.meta_path.insert(0, Blocked())

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import tellapart as ta  # noqa: E402
from tellapart.cli import main  # noqa: E402

R = np.random.default_rng(0)
X, Y = R.normal(size=(60, 3)), R.normal([1.0, 0.0, 0.0], size=(60, 3))
SMALL: dict[str, Any] = {"permutations": 99, "rng": 0}
TEXTS = [f"{word} {k % 7}" for k, word in enumerate(["alpha", "beta", "gamma"] * 10)]


def table(shift: float) -> pd.DataFrame:
    return pd.DataFrame({"size": R.normal(size=60) + shift, "town": R.choice(list("uvw"), 60)})


def files() -> None:
    for name, shift in (("a", 0.0), ("b", 1.0)):
        table(shift).to_csv(f"{name}.csv", index=False)
        np.save(f"{name}.npy", X + shift)


def images() -> None:
    library = import_module("PIL.Image")
    for name, shift in (("p", 0), ("q", 60)):
        Path(name).mkdir()
        for k in range(24):
            library.fromarray((R.integers(0, 190, (9, 8)) + shift).astype(np.uint8)).save(f"{name}/{k}.png")


def command(words: str) -> None:
    assert main(words.split()) == 0, words


def scikit_learn() -> None:
    from tellapart.integrations.sklearn import DriftDetector, TwoSampleTest

    assert DriftDetector(random_state=0).fit(X).predict(Y).all()
    assert TwoSampleTest(random_state=0).fit(np.concatenate([X, Y]), np.repeat([0, 1], 60)).get_support()[0]


def watching() -> None:
    monitor = ta.Reference.fit(X, rng=0).monitor()
    monitor.add(Y, "monday")
    monitor.summary()
    monitor.to_html("watch.html")


def saved_reference() -> None:
    ta.Reference.fit("a.csv", rng=0).save("kept.tellapart")
    assert ta.Reference.load("kept.tellapart").test("b.csv", **SMALL).pvalue <= 0.05


def plugin() -> None:
    import pytest

    Path("test_own.py").write_text(
        "import numpy as np\n"
        "def test_it(distribution_snapshot):\n"
        "    distribution_snapshot(np.random.default_rng(0).normal(size=(50, 2)))\n"
    )
    for more in (["--tellapart-update"], []):
        assert pytest.main(["-q", "--rootdir", ".", *more]) == 0


CALLS: dict[str, Callable[[], Any]] = {
    "files": files,
    "two_sample_test": lambda: ta.two_sample_test(X, Y, **SMALL).summary(),
    "k_sample_test": lambda: ta.k_sample_test([X, Y, X + 1], **SMALL).to_json(),
    "equivalence_test": lambda: ta.equivalence_test(X, X[::-1] + 0.01, margin=0.5, rng=0),
    "plan": lambda: ta.plan(X, Y, rng=0).summary(),
    "compare": lambda: ta.compare(table(0.0), table(1.0), **SMALL).to_html("compare.html"),
    "groups, strata, pairs": lambda: (
        ta.two_sample_test(X, Y, groups=np.arange(120) // 3, **SMALL),
        ta.two_sample_test(X, Y, strata=np.arange(120) % 4, **SMALL),
        ta.two_sample_test(X, Y, paired=True, **SMALL),
    ),
    "CSV files": lambda: ta.two_sample_test("a.csv", "b.csv", **SMALL).to_html("test.html"),
    "NumPy files": lambda: ta.two_sample_test("a.npy", "b.npy", **SMALL),
    "single precision": lambda: ta.two_sample_test(X.astype(np.float32), Y.astype(np.float16), **SMALL),
    "reference": saved_reference,
    "monitor": watching,
    "assertion": lambda: ta.testing.assert_different(X, Y),
    "texts": lambda: ta.two_sample_test(
        TEXTS, [text + "!" for text in TEXTS], features=ta.features.hashing_ngrams(), **SMALL
    ),
    "data sets": lambda: ta.two_sample_test(*ta.datasets.blobs(50, rng=0), **SMALL),
    "classes of results": lambda: [ta.results.TwoSampleResult, ta.results.Comparison, ta.results.TestResult],
    "images": images,
    "folders of images": lambda: ta.two_sample_test("p", "q", **SMALL),
    "images at another size": lambda: ta.two_sample_test("p", "q", image_size=(5, 6), **SMALL),
    "scikit-learn": scikit_learn,
    "tellapart test": lambda: command("test a.csv b.csv --permutations 99 --report t.html --quiet"),
    "tellapart compare": lambda: command("compare a.csv b.csv --permutations 99 --report c.html --quiet"),
    "tellapart reference": lambda: command("reference a.csv --out r.tellapart --quiet"),
    "tellapart watch": lambda: command("watch r.tellapart b.csv --state s.json --quiet"),
    "plugin": plugin,
}
#: Libraries of other extras that a call needs.
NEEDS = {
    "compare": "jinja2",
    "CSV files": "jinja2",
    "monitor": "jinja2",
    "images": "PIL",
    "folders of images": "PIL",
    "images at another size": "PIL",
    "scikit-learn": "sklearn",
    "tellapart test": "jinja2",
    "tellapart compare": "jinja2",
}


def outcome(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception:
        return traceback.format_exc()
    return "torch was imported" if "torch" in sys.modules else ""


if __name__ == "__main__":
    found = {name: outcome(call) for name, call in CALLS.items()}
    Path("found.json").write_text(json.dumps(found), encoding="utf-8")
