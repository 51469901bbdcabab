"""Everything that the page of a report says, in order, as plain values for its template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..criticism import Comparison
from ..kernels import Witness
from ..learning.starts import NAMES
from . import pictures
from .examples import examples
from .marginals import marginals
from .plots import learning_figure, null_figure, witness_figure
from .svg import number

#: Weights that are shown at once, and those that are in the page at all.
_TOP, _MOST = 20, 500


@dataclass(frozen=True)
class Weight:
    """A coordinate's weight; positions in per cent of the axis."""

    name: str
    text: str
    length: float
    low: float | None
    high: float | None


def contents(c: Comparison, command: str | None = None) -> dict[str, Any]:
    """The values of the template."""
    names = _names(c)
    unit = pictures.pixel_weights(c.weights)
    return {
        "names": names,
        "differ": c.reject(),
        "verdict": "The samples differ." if c.reject() else f"No difference is seen at level {c.alpha:g}.",
        "detail": _detail(c),
        "tiles": _tiles(c),
        "words": _words(c, names),
        "evidence": [null_figure(c), witness_figure(c, names)],
        "examples": examples(c, names),
        "weights": [] if unit is not None else _weights(c),
        "weights_left_out": max(0, len(c.weights.values) - _MOST),
        "top": _TOP,
        "stable": c.weights.low is not None,
        "heat": None if unit is None else _heat(unit, c),
        "meaning": _meaning(c),
        "marginals": marginals(c, names),
        "learning": learning_figure(c.history),
        "settings": _settings(c),
        "notes": c.notes,
        "command": command or _call(c),
        "language": "shell" if command else "python",
        "version": c.settings["versions"]["tellapart"],
    }


def _names(c: Comparison) -> tuple[str, str]:
    first, second = c.names
    return (first, second) if first != second else (f"{first} (X)", f"{second} (Y)")


def _tiles(c: Comparison) -> list[dict[str, Any]]:
    """The numbers at the top."""
    test, split = c.test.leading.test, c.split
    floor = test.pvalue_floor * len(c.test.halves)
    at_floor = c.pvalue <= floor * (1 + 1e-9)
    sizes = [len(rows) for rows in (split.test_x, split.test_y, split.train_x, split.train_y)]
    rule = "the smallest that so many draws can give" if at_floor else f"{test.permutations:,} relabellings"
    size = (
        {"name": "Difference of means", "value": number(c.statistic), "text": "of the learned witness function"}
        if isinstance(c.kernel, Witness)
        else {"name": "MMD", "value": number(c.mmd), "text": "distance under the learned kernel"}
    )
    return [
        {"name": "p-value", "value": f"{'≤ ' if at_floor else ''}{number(c.pvalue)}", "text": rule},
        {
            "name": "Separability (AUC)",
            "value": f"{c.auc:.3f}",
            "text": "0.5: not at all, 1: entirely",
            "gauge": 100 * min(1.0, max(0.0, 2 * c.auc - 1)),
        },
        size,
        {
            "name": "Rows tested",
            "value": f"{sizes[0]:,} + {sizes[1]:,}",
            "text": f"learned from {sizes[2]:,} + {sizes[3]:,} others",
        },
    ]


def _detail(c: Comparison) -> str:
    """What stands below the verdict."""
    found = c.verdict()
    p = found[found.rindex("(") + 1 : found.rindex(")")]
    if not c.reject():
        return f"{p}."
    return f"{p}. By the witness function the two are {c.separable} separable."


def _percent(share: float) -> str:
    return f"{100 * share:.{1 if share >= 0.985 else 0}f} %"


def _words(c: Comparison, names: tuple[str, str]) -> list[str]:
    """What the numbers mean."""
    level = f"{100 * c.alpha:g} %"
    if c.reject():
        first = (
            "The p-value is the share of random relabellings that look at least as different as the samples do. "
            f"If both came from one source, a difference like this would be reported in at most {level} of cases."
        )
    else:
        first = (
            "The p-value is the share of random relabellings that look at least as different as the samples do. "
            "This one is no evidence of a difference; nor does it prove that there is none: with more rows, a small "
            "difference may still show."
        )
    auc = (
        f"How large is it? Take one row of {names[0]} and one of {names[1]}: by their witness values you would guess "
        f"which is which in {_percent(max(c.auc, 1 - c.auc))} of cases. Guessing blindly gives 50 %."
    )
    large = (
        "Significant is not the same as large: with enough rows, every difference becomes significant, also one that "
        "does not matter. Judge by the separability, and by what differs below."
    )
    return [first, auc, large]


def _meaning(c: Comparison) -> str:
    if c.weights.meaning == "scales":
        text = (
            "Weights are the scales that the kernel learned for each coordinate: the kernel looks "
            "closely where a weight is large, and hardly at all where it is small."
        )
    else:
        text = (
            "Weights are the mean slope of the witness function along each coordinate, in standard deviations of it: "
            "where a weight is large, changing the coordinate makes a row look more like the other sample."
        )
    text += " Together they sum to 1."
    if not c.reject():
        text += " Since no difference was found, they may show nothing but chance."
    return text


def _weights(c: Comparison) -> list[Weight]:
    weights = c.weights
    order = np.argsort(-weights.values, kind="stable")[:_MOST]
    ends = weights.values if weights.high is None else weights.high
    full = float(max(ends.max(), weights.values.max())) or 1.0

    def at(values: Any, k: int) -> float | None:
        return None if values is None else 100 * float(values[k]) / full

    return [
        Weight(
            weights.names[k],
            f"{weights.values[k]:.3f}",
            100 * float(weights.values[k]) / full,
            at(weights.low, k),
            at(weights.high, k),
        )
        for k in order.tolist()
    ]


def _heat(unit: Any, c: Comparison) -> dict[str, Any]:
    """The weights of pixels as an image, and in thousandths of the largest, to be read under the pointer."""
    height, width = unit.shape
    thousandths = np.rint(unit**2 * 1000).astype(int).ravel().tolist()
    return {
        "image": pictures.heat_map(unit),
        "sharp": pictures.is_sharp(unit.shape),
        "height": height,
        "width": width,
        "values": " ".join(map(str, thousandths)) if len(thousandths) <= 10_000 else "",
        "largest": number(float(c.weights.values.max())),
        "quarter": number(float(c.weights.values.max()) / 4),
        "gradient": pictures.gradient(),
        "leading": c.weights.leading(1)[0][0],
    }


def _settings(c: Comparison) -> list[tuple[str, str]]:
    """How it was computed, as names and values."""
    s, split = c.settings, c.split
    names = _names(c)
    rows = [(f"{name}", f"{source or 'given in memory'}, {count:,} rows") for name, source, count in _sources(c, names)]
    kernel = " ".join(str(s["learned kernel"]).split())
    share = f"{s['train']:g} of the rows" if isinstance(s["train"], float) else "rows that were given"
    exact = "exact at every sample size" if c.test.exact else "valid for large samples"
    combined = f", both halves, p-values combined by {c.test.combination}" if c.test.combination else ""
    return [
        *rows,
        ("Kind", {"rows": "rows of numbers", "table": "tables", "images": "images"}.get(s["kind"], s["kind"])),
        ("Learned from", f"{share}: {len(split.train_x):,} + {len(split.train_y):,}{combined}"),
        ("Tested on", f"{len(split.test_x):,} + {len(split.test_y):,} other rows"),
        ("Kernel", f"{s['kernel']}, learned: {kernel if len(kernel) <= 300 else kernel[:299] + '…'}"),
        ("Criterion", str(s["criterion"])),
        ("Null distribution", f"{s['null']}, {s['permutations']:,} draws, {exact}"),
        ("Level", f"{c.alpha:g}"),
        ("Seed", str(s["seed"])),
        ("Time", f"{c.seconds:.1f} s"),
        ("Versions", ", ".join(f"{name} {text}" for name, text in s["versions"].items())),
    ]


def _sources(c: Comparison, names: tuple[str, str]) -> list[tuple[str, str | None, int]]:
    s = c.settings
    return list(zip(names, (s["x"], s["y"]), s["rows"], strict=True))


def _call(c: Comparison) -> str:
    """A call in Python that repeats the comparison."""
    s = c.settings
    x, y = (repr(s[name]) if s[name] else name.upper() for name in ("x", "y"))
    kernel = repr(s["kernel"]) if s["kernel"] in NAMES else "…"
    options = [f"kernel={kernel}", f"criterion={s['criterion']!r}", f"alpha={c.alpha!r}"]
    options += [f"train={s['train']!r}"] if isinstance(s["train"], float) else ["train=…"]
    options += ["swap=True"] if s["swap"] else []
    options += [f"null={s['null']!r}", f"permutations={s['permutations']}", f"rng={s['seed']}"]
    return f"import tellapart as ta\n\nta.compare({x}, {y}, {', '.join(options)})"
