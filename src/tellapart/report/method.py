"""How it was computed, and how to repeat it."""

from __future__ import annotations

from dataclasses import dataclass

from ..criticism import Comparison
from ..learning.starts import NAMES
from .histograms import Figure
from .learning import learning_figure

_KINDS = {"rows": "rows of numbers", "table": "tables", "images": "images"}
#: Characters of a kernel's description.
_LONGEST = 300


@dataclass(frozen=True)
class Method:
    """How the kernel was learned, settings as names and values, notes, and what repeats the comparison."""

    learning: Figure | None
    settings: list[tuple[str, str]]
    notes: tuple[str, ...]
    command: str
    language: str


def method(c: Comparison, names: tuple[str, str], command: str | None) -> Method:
    """The section "How it was computed"."""
    language = "shell" if command else "python"
    return Method(learning_figure(c.history), _settings(c, names), c.notes, command or _call(c), language)


def _settings(c: Comparison, names: tuple[str, str]) -> list[tuple[str, str]]:
    s, split = c.settings, c.split
    sources = zip(names, s.origins, s.rows, strict=True)
    kernel = " ".join(repr(c.kernel).split())
    share = "rows that were given" if s.train is None else f"{s.train:g} of the rows"
    exact = "exact at every sample size" if c.test.exact else "valid for large samples"
    combined = f", both halves, p-values combined by {c.test.combination}" if c.test.combination else ""
    return [
        *((name, f"{origin or 'given in memory'}, {count:,} rows") for name, origin, count in sources),
        ("Kind", _KINDS.get(s.kind, s.kind)),
        ("Learned from", f"{share}: {len(split.train_x):,} + {len(split.train_y):,}{combined}"),
        ("Tested on", f"{len(split.test_x):,} + {len(split.test_y):,} other rows"),
        ("Kernel", f"{s.kernel}, learned: {kernel if len(kernel) <= _LONGEST else kernel[: _LONGEST - 1] + '…'}"),
        ("Criterion", s.criterion),
        ("Statistic", c.kernel.statistic_name),
        ("Null distribution", f"{s.null}, {s.permutations:,} draws, {exact}"),
        ("Level", f"{c.alpha:g}"),
        ("Seed", str(s.seed)),
        ("Time", f"{c.seconds:.1f} s"),
        ("Versions", ", ".join(f"{name} {text}" for name, text in s.versions.items())),
    ]


def _call(c: Comparison) -> str:
    """A call in Python that repeats the comparison; an ellipsis stands for what only its author has."""
    s = c.settings
    x, y = (repr(origin) if origin else name for origin, name in zip(s.origins, ("X", "Y"), strict=True))
    options = {
        "kernel": repr(s.kernel) if s.kernel in NAMES else "…",
        "criterion": repr(s.criterion),
        "alpha": repr(c.alpha),
        "train": "…" if s.train is None else repr(s.train),
        **({"swap": "True"} if s.swap else {}),
        "null": repr(s.null),
        "permutations": str(s.permutations),
        **{name: "…" if name == "features" else repr(value) for name, value in s.reading.to_dict().items()},
        "rng": str(s.seed),
    }
    arguments = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"import tellapart as ta\n\nta.compare({x}, {y}, {arguments})"
