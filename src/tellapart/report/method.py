"""How it was computed, and how to repeat it."""

from __future__ import annotations

from dataclasses import dataclass

from ..criticism import Comparison
from ..learning.starts import NAMES
from .histograms import Figure
from .learning import learning_figure
from .words import clip

_KINDS = {"rows": "rows of numbers", "table": "tables", "images": "images"}
_DESIGN = {"groups": "Groups", "strata": "Strata", "paired": "Paired", "equal_groups": "Only equal groups"}
#: Characters of a kernel's description.
_LONGEST = 300


@dataclass(frozen=True)
class Method:
    """How a kernel was learned, paragraphs, settings as names and values, notes, and what repeats the comparison."""

    learning: Figure | None
    words: list[str]
    settings: list[tuple[str, str]]
    notes: tuple[str, ...]
    command: str
    language: str


def method(c: Comparison, names: tuple[str, str], command: str | None) -> Method:
    """The section "How it was computed"."""
    language = "shell" if command else "python"
    learning = None if c.learned is None else learning_figure(c.learned.history)
    return Method(learning, _words(c), _settings(c, names), c.notes, command or _call(c), language)


def _words(c: Comparison) -> list[str]:
    if c.learned is not None:
        return [
            "A kernel, which says how alike two rows are, was learned on one part of the rows so that it tells the "
            "samples apart. On the other part the distance under this kernel was compared with its distance after "
            f"random relabellings of the {c.permuted_unit}."
        ]
    return [
        "The test uses every row, and there was nothing to choose. It looks at all columns jointly (kernels at several "
        "bandwidths), one by one, in pairs and, if there are many, by principal components; the same is done for "
        f"random relabellings of the {c.permuted_unit}. The p-value is the share of labellings that look at least as "
        "different as the observed one, exact at every sample size.",
        "The AUC comes from a witness function at every row that was learned from other rows. A column's adjusted "
        "p-value compares it with the most different of all columns under each relabelling, so that they hold jointly.",
    ]


def _settings(c: Comparison, names: tuple[str, str]) -> list[tuple[str, str]]:
    s = c.settings
    sources = zip(names, s.origins, s.rows, strict=True)
    exact = "exact at every sample size" if c.test.exact else "valid for large samples"
    return [
        *((name, f"{origin or 'given in memory'}, {count:,} rows") for name, origin, count in sources),
        ("Kind", _KINDS.get(s.kind, s.kind)),
        *_learning(c),
        ("Statistic", c.statistic_name),
        ("Null distribution", f"{s.null} of {c.permuted_unit}, {s.permutations:,} draws, {exact}"),
        *((_DESIGN[name], "yes" if value is True else str(value)) for name, value in s.design.items()),
        ("Level", f"{c.alpha:g}"),
        ("Seed", str(s.seed)),
        ("Time", f"{c.seconds:.1f} s"),
        ("Versions", ", ".join(f"{name} {text}" for name, text in s.versions.items())),
    ]


def _learning(c: Comparison) -> list[tuple[str, str]]:
    if c.learned is None:
        return [("Test", "automatic, on every row")]
    s, split = c.settings, c.learned.split
    share = "rows that were given" if s.train_size is None else f"{s.train_size:g} of the rows"
    combined = f", both halves, p-values combined by {c.learned.combination}" if c.learned.combination else ""
    return [
        ("Learned from", f"{share}: {len(split.train_x):,} + {len(split.train_y):,}{combined}"),
        ("Tested on", f"{len(split.test_x):,} + {len(split.test_y):,} other rows"),
        ("Kernel", f"{s.test}, learned: {clip(' '.join(repr(c.kernel).split()), _LONGEST)}"),
        ("Criterion", str(s.criterion)),
    ]


def _call(c: Comparison) -> str:
    """A call in Python that repeats the comparison; an ellipsis stands for what only its author has."""
    s = c.settings
    x, y = (repr(origin) if origin else name for origin, name in zip(s.origins, ("X", "Y"), strict=True))
    options = {"test": repr(s.test) if s.test in ("auto", *NAMES) else "…"}
    if c.learned is not None:
        options |= {"criterion": repr(s.criterion), "train_size": "…" if s.train_size is None else repr(s.train_size)}
        options |= {"cross_fit": "True"} if s.cross_fit else {}
        options |= {"null": repr(s.null)}
    options |= {
        "alpha": repr(c.alpha),
        "permutations": str(s.permutations),
        **({"keep_columns": repr(list(s.keep_columns))} if s.keep_columns else {}),
        **{name: value if value == "…" else repr(value) for name, value in s.design.items()},
        **{name: "…" if name == "features" else repr(value) for name, value in s.reading.to_dict().items()},
        "rng": str(s.seed),
    }
    arguments = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"import tellapart as ta\n\nta.compare({x}, {y}, {arguments})"
