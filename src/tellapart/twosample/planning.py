"""How many rows a study needs, from a pilot: power at smaller sizes by resampling, continued to larger ones."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from .._util.errors import InputError
from .._util.numbers import percent
from .._util.progress import ProgressLike, progress_bar
from .._util.rng import RNG, seed_of
from .._util.schema import stamp
from .._util.shown import Shown
from ..data.lazy import take_rows
from ..data.mixed import open_mixed
from ..data.options import check_reading
from ..engine import MemoryLike, computing
from ..stats.pvalues import check_level, rejects
from .auto import run_two_sample_test
from .designs import Design

_NORMAL = NormalDist()
#: Sizes of the samples drawn from the pilot, as shares of it: larger ones would be too much alike.
_SHARES = (0.15, 0.25, 0.35, 0.5)
#: Rows of each sample below which a pilot says nothing, and the least that is drawn.
_FEWEST, _LEAST = 24, 6
#: How the distance from the null may grow with n: as √n for a mean, faster for a quadratic form
_EXPONENTS = np.linspace(0.5, 1.5, 11)
#: More rows than so many times the pilot's are not foretold.
_FARTHEST = 1_000


@dataclass(frozen=True, eq=False)
class Plan(Shown):
    """How many rows a study needs.

    Attributes
    ----------
    rows
        Rows of each sample (of X; of Y in the proportion of the pilot) for the power wanted; infinite where the pilot
        shows nothing that more rows would find.
    power, alpha
        What was asked for.
    pilot_rows, pilot_power
        The rows of the pilot, and the power that a study of its size has: what it could have found.
    sizes, rates
        Numbers of rows of X that were drawn from the pilot, and how often the test rejected then.
    repetitions, permutations, seed
        How often each size was drawn, with which number of permutations, and from which seed.
    """

    rows: float
    power: float
    alpha: float
    pilot_rows: tuple[int, int]
    pilot_power: float
    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    repetitions: int
    permutations: int
    seed: int
    _slope: float
    _exponent: float

    def power_at(self, rows: float) -> float:
        """The power of a study with so many rows of X, and of Y in proportion."""
        return _power(rows / self.pilot_rows[0], self._slope, self._exponent, self.alpha)

    def __repr__(self) -> str:
        return f"Plan({self.summary()})"

    def summary(self) -> str:
        """What was found, in plain words."""
        m, n = self.pilot_rows
        found = f"A study as large as this one ({m:,} + {n:,} rows) finds such a difference in"
        pilot = f"{found} {percent(self.pilot_power)} of cases."
        if math.isinf(self.rows):
            return f"{pilot} The pilot shows no difference that more rows would find."
        # Fewer rows than were ever drawn are not foretold.
        few = self.rows < self.sizes[0]
        rows = self.sizes[0] if few else math.ceil(self.rows)
        needs = "fewer are enough than" if few else "it needs about"
        return f"{pilot} For {percent(self.power)} {needs} {rows:,} + {math.ceil(rows * n / m):,} rows."

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values."""
        found = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items() if not k.startswith("_")}
        return stamp("plan") | found | {"rows": None if math.isinf(self.rows) else self.rows}

    def to_json(self) -> str:
        """All fields as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)


def plan(
    X: Any,
    Y: Any,
    power: float = 0.9,
    *,
    alpha: float = 0.05,
    repetitions: int = 40,
    permutations: int = 199,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    **reading: Any,
) -> Plan:
    """How many rows `two_sample_test` needs to find what a pilot shows, and what the pilot itself could have found.

    Smaller samples are drawn from the pilot, without replacement, and tested; Φ⁻¹(power) is then fitted as Φ⁻¹(α) +
    b nᵞ with γ from ½ to 1½, and continued to larger n. (Drawing more rows than there are, with replacement, would take
    the pilot's chance differences for true ones.)

    Parameters
    ----------
    X, Y
        The pilot, with at least 24 rows each: whatever `two_sample_test` takes.
    power
        How often the study shall find the difference.
    alpha
        Its level.
    repetitions
        How many samples are drawn at each of four sizes.
    permutations
        Of each test.
    rng, max_memory, threads, progress, **reading
        As in `two_sample_test`.

    Notes
    -----
    It foretells for the difference that the pilot shows, which is part chance: a pilot that barely rejects flatters.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = plan(rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 0.4, rng=0, repetitions=10, permutations=59)
    >>> 40 < found.rows < 400
    True
    """
    check_level(alpha)
    if not alpha < power < 1:
        raise InputError(f"power must lie between alpha and 1, but is {power!r}.")
    seed = seed_of(rng)
    options = check_reading({"rng": seed, "max_memory": max_memory, **reading})
    mixed = open_mixed([X, Y], ("X", "Y"), options)
    m, n = (len(part) for part in mixed.points)
    if min(m, n) < _FEWEST:
        raise InputError(f"A pilot needs at least {_FEWEST} rows of each sample, but has {m} and {n}.")
    shares = [share for share in _SHARES if share * min(m, n) >= _LEAST]
    counts = []
    with computing(max_memory, None, False, threads) as compute, progress_bar(progress, "plan") as report:
        for k, share in enumerate(shares):
            found = 0
            for r in range(repetitions):
                generator = np.random.default_rng([seed, k, r])
                rows = [np.sort(generator.permutation(size)[: round(share * size)]) for size in (m, n)]
                points = tuple(take_rows(part, chosen) for part, chosen in zip(mixed.points, rows, strict=True))
                part = replace(mixed, points=points, numbers=(None, None))
                test = run_two_sample_test(part, Design(), permutations, [], seed_of(generator), compute, 0.0)
                found += rejects(test.pvalue, alpha)
                if report is not None:
                    report(k * repetitions + r + 1, len(shares) * repetitions)
            counts.append(found)
    slope, exponent = _fit(shares, counts, repetitions, alpha)
    wanted = _NORMAL.inv_cdf(power) - _NORMAL.inv_cdf(alpha)
    times = (wanted / slope) ** (1 / exponent) if slope > 0 else math.inf
    return Plan(
        rows=times * m if times <= _FARTHEST else math.inf,
        power=power,
        alpha=alpha,
        pilot_rows=(m, n),
        pilot_power=_power(1.0, slope, exponent, alpha),
        sizes=tuple(round(share * m) for share in shares),
        rates=tuple(count / repetitions for count in counts),
        repetitions=repetitions,
        permutations=permutations,
        seed=seed,
        _slope=slope,
        _exponent=exponent,
    )


def _power(times: float, slope: float, exponent: float, alpha: float) -> float:
    """The power at so many times the rows of the pilot."""
    return _NORMAL.cdf(_NORMAL.inv_cdf(alpha) + slope * times**exponent)


def _fit(shares: Sequence[float], counts: Sequence[int], repetitions: int, alpha: float) -> tuple[float, float]:
    """Slope and exponent of the greatest likelihood."""
    best = (-math.inf, 0.0, float(_EXPONENTS[0]))
    for exponent in _EXPONENTS.tolist():
        for slope in (0.0, *np.geomspace(0.01, 100, 200).tolist()):
            likelihood = 0.0
            for share, count in zip(shares, counts, strict=True):
                p = min(max(_power(share, slope, exponent, alpha), 1e-12), 1 - 1e-12)
                likelihood += count * math.log(p) + (repetitions - count) * math.log1p(-p)
            best = max(best, (likelihood, slope, exponent))
    return best[1], best[2]
