"""A stream of batches against a reference, with control over how often that is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, get_type_hints

import numpy as np
import torch
from torch import Tensor

from .._util.errors import InputError
from .._util.files import read_json, write_json
from .._util.progress import ProgressLike
from .._util.records import fits
from .._util.rng import RNG, seed_of
from .._util.shown import Shown
from ..data.schema import Strictness
from ..engine import MemoryLike, computing
from ..stats.betting import Betting, Group
from ..stats.forms.constants import COSINES
from ..stats.forms.fixed import FixedForms
from ..stats.pvalues import check_draws, check_level, rejects
from .control import GUARANTEES, Control, flag_history, spend_levels
from .reference import Reference

Array: TypeAlias = "np.ndarray[Any, Any]"

#: What files say they are.
FORMAT = "tellapart monitor, version 1"
#: A p-value that is among the so many smallest possible is computed again with more permutations.
_SMALLEST = 2
#: Rows of the reference that bets are calibrated on at the most, and the share of them.
_CALIBRATION, _SHARE = 4_096, 0.25
#: Fresh rows that a batch is bet on with: one in (t + the first) of those left and in the second, where batches so far
#: look like the reference; and one in the third of those left where they do not, by so many standard deviations.
_PARTS, _SPARED, _SPENT, _PROMISING = 32, 6, 8, 2.0
#: Features of bets: kernels, components of each, and columns at the most.
_KERNELS, _COMPONENTS, _COLUMNS = 2, 32, 64


@dataclass(frozen=True)
class BatchRecord(Shown):
    """What was found of one batch.

    Attributes
    ----------
    number, name, digest, rows
        Its place in the stream (from 0), what it is called, a fingerprint of its rows, and how many they are.
    pvalue, pvalue_floor, permutations
        Exact, of this batch by itself.
    level
        With ``control="holm"``, the level that it is tested at.
    capital
        What the bets have become with it: 1 at the beginning; an e-value at every time.
    fresh
        Rows of the reference that were bet on.
    alarm
        Whether it raised an alarm when it came.
    columns
        Those that differ by themselves, at the monitor's level all together: name, kind, effect, words and p-value of
        each.
    deviations
        Where it was not built like the reference: kind, column and count of each.
    notes
        What should be known.
    """

    number: int
    name: str
    digest: str
    rows: int
    pvalue: float
    pvalue_floor: float
    permutations: int
    level: float | None
    capital: float
    fresh: int
    alarm: bool
    columns: tuple[dict[str, Any], ...]
    deviations: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]


class Monitor(Shown):
    """Tests batches as they come, and says when there is reason for alarm. `Reference.monitor` makes one.

    Parameters
    ----------
    reference
        What batches are compared with.
    alpha
        How often it may be wrong.
    control
        What that means. ``"anytime"``: the probability of a false alarm over a stream without end, by betting: it adds
        up small differences over batches. ``"holm"``: the same for single batches, by spending ``alpha`` over them.
        ``"bh"``: the expected share of false ones among the batches that are flagged. `guarantee` says it exactly.
    state
        A JSON file. It is written after each batch, whole or not at all; where it exists, the monitor goes on from it,
        and a batch that it knows (by name and contents) is not counted again.
    permutations, deep
        Relabellings for the p-value of a batch, and for one whose p-value is among the smallest possible, so that it
        may be smaller. (Whether it is computed again depends on the first one only, so it stays valid.)
    horizon
        With ``"holm"``, the number of batches over which half of ``alpha`` is spent.
    schema
        As in `Reference.test`.
    rng
        The seed of all that is random.
    max_memory, threads
        As in `two_sample_test`.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> monitor = ta.Reference.fit(rng.normal(size=(4000, 3)), rng=0).monitor(0.01, rng=0, permutations=99)
    >>> for day in range(8):
    ...     found = monitor.add(rng.normal(size=(100, 3)) + (0.5 if day > 3 else 0.0), f"day {day}")
    >>> monitor.alarms[0].name
    'day 6'
    """

    def __init__(
        self,
        reference: Reference,
        alpha: float = 0.01,
        control: Control = "anytime",
        *,
        state: str | PathLike[str] | None = None,
        permutations: int = 999,
        deep: int = 9_999,
        horizon: int = 50,
        schema: Strictness = "normal",
        rng: RNG = None,
        max_memory: MemoryLike = None,
        threads: int | None = None,
    ) -> None:
        check_level(alpha)
        if control not in GUARANTEES:
            raise InputError(f"control={control!r} is not known. Choose one of {', '.join(map(repr, GUARANTEES))}.")
        for name, value in (("permutations", permutations), ("deep", deep), ("horizon", horizon)):
            check_draws(value, name)
        self.reference, self.alpha, self.control = reference, alpha, control
        self.state = None if state is None else Path(state).expanduser()
        self.permutations, self.deep, self.horizon, self.schema = permutations, deep, horizon, schema
        self.max_memory, self.threads = max_memory, threads
        self.records: list[BatchRecord] = []
        self.features = BetFeatures.of(reference)
        self.betting = Betting(self.features.groups)
        self.used = 0
        known = _read_state(self.state) if self.state is not None and self.state.exists() else None
        self.seed = seed_of(rng) if known is None or rng is not None else _stored_seed(known)
        if known is not None:
            self._restore(known)

    def add(self, batch: Any, name: str | None = None, *, progress: ProgressLike = None) -> BatchRecord:
        """Test the next batch, and write the state.

        Parameters
        ----------
        batch
            One row or more, as `Reference.test` takes it.
        name
            What to call it; by default its number. A batch of the same name with the same rows is known already: its
            record is returned, and nothing is counted twice.
        progress
            As in `two_sample_test`.
        """
        number = len(self.records)
        called = str(number) if name is None else name
        opened = self.reference.open(batch, called, self.schema)
        digest = opened.digest
        for known in self.records:
            if name is not None and (known.name, known.digest) == (called, digest):
                return known
        with computing(self.max_memory, None, progress, self.threads, title=f"batch {called}") as compute:
            result = self.reference.run(opened, self.permutations, _derive(self.seed, number, 0), compute)
            smallest = result.pvalue * (result.permutations + 1) <= _SMALLEST + 1e-9
            if smallest and self.control != "anytime" and self.deep > result.permutations == self.permutations:
                result = self.reference.run(opened, self.deep, _derive(self.seed, number, 1), compute)
        fresh = self._bet(opened.rows)
        pvalues = [*(one.pvalue for one in self.records), result.pvalue]
        level = spend_levels(pvalues, self.alpha, self.horizon)[-1] if self.control == "holm" else None
        named = result.coordinates.named(self.alpha) if rejects(result.pvalue, self.alpha) else ()
        record = BatchRecord(
            number=number,
            name=called,
            digest=digest,
            rows=len(opened.rows),
            pvalue=result.pvalue,
            pvalue_floor=result.pvalue_floor,
            permutations=result.permutations,
            level=level,
            capital=self.betting.capital,
            fresh=fresh,
            alarm=self._is_alarm(pvalues, level),
            columns=tuple(_describe(one) for one in named),
            deviations=tuple({"kind": d.kind, "column": d.column, "count": d.count} for d in opened.deviations),
            notes=(*result.notes, *self._notes(level, result.pvalue_floor)),
        )
        self.records.append(record)
        if self.state is not None:
            write_json(self.state, self.to_dict())
        return record

    def _bet(self, rows: Tensor) -> int:
        """Bet on a batch with rows of the reference that are still fresh, and say with how many."""
        left = self.features.fresh - self.used
        promising = self.betting.promise > _PROMISING
        part = _SPENT if promising else _SPARED * (len(self.records) + _PARTS)
        count = min(len(rows), math.ceil(left / part)) if left > 0 else 0
        kept = self.reference.contents.rows
        fresh = kept[self.used : self.used + count]
        self.used += count
        self.betting.bet(self.features(rows.to(kept.dtype)), self.features(fresh))
        return count

    def _is_alarm(self, pvalues: list[float], level: float | None) -> bool:
        if self.control == "anytime":
            return self.betting.capital >= 1 / self.alpha * (1 - 1e-12)
        if self.control == "bh":
            return flag_history(pvalues, self.alpha)[-1]
        return rejects(pvalues[-1], level or 1e-300)

    def _notes(self, level: float | None, floor: float) -> list[str]:
        if self.control == "anytime" and self.used >= self.features.fresh:
            return ["All rows of the reference have been bet on: no more can be learned. Fit it with a larger keep=."]
        if level is not None and level < min(floor, 1 / (self.deep + 1)):
            return [
                f"No p-value can be below {1 / (self.deep + 1):.2g}, but the level is {level:.2g}: give more deep=."
            ]
        return []

    @property
    def guarantee(self) -> str:
        """What the control promises, exactly."""
        return GUARANTEES[self.control].format(alpha=self.alpha, limit=1 / self.alpha)

    @property
    def alarms(self) -> list[BatchRecord]:
        """Batches for alarm: with ``"bh"`` those flagged now, else those that raised one when they came."""
        if self.control != "bh":
            return [one for one in self.records if one.alarm]
        flags = flag_history([one.pvalue for one in self.records], self.alpha)
        return [one for one, flag in zip(self.records, flags, strict=True) if flag]

    @property
    def alarmed(self) -> bool:
        """Whether there has been an alarm."""
        return bool(self.alarms)

    def summary(self) -> str:
        """The last batch, and what there is to say of all, in plain words."""
        if not self.records:
            return "No batches yet."
        last, alarms = self.records[-1], self.alarms
        verdict = "ALARM" if last in alarms else "no alarm"
        told = ""
        if self.control == "anytime":
            told = f"evidence {last.capital:.3g} of the {1 / self.alpha:g} that make an alarm, added up over batches"
        told = f"level {last.level:.3g}" if last.level is not None else told
        lines = [
            f"{last.name} ({last.rows:,} rows): {verdict}; p = {last.pvalue:.4g}{', ' + told if told else ''}.",
            *(f"  {one['name']}: {one['words']} (p = {one['pvalue']:.3g})" for one in last.columns[:10]),
            f"{len(self.records)} batches, {len(alarms)} with alarm{': first ' + alarms[0].name if alarms else ''}.",
            *(f"Note: {note}" for note in last.notes),
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The whole state as plain values."""
        return {
            "format": FORMAT,
            "reference": self.reference.digest,
            "alpha": self.alpha,
            "control": self.control,
            "horizon": self.horizon,
            "guarantee": self.guarantee,
            "seed": self.seed,
            "used": self.used,
            "fresh": self.features.fresh - self.used,
            "betting": self.betting.to_dict(),
            "alarms": [one.name for one in self.alarms],
            "batches": [_plain(one) for one in self.records],
        }

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict())

    def to_html(self, path: str | PathLike[str], command: str | None = None) -> None:
        """Write a page with the history: p-values, capital, and which columns drifted when."""
        from ..report import history

        history.write(self, path, command)

    def to_prometheus(self) -> str:
        """Metrics of the last batch in the text format of Prometheus, for its textfile collector."""
        last = self.records[-1] if self.records else None
        lines = []
        for name, kind, what, value in (
            ("batches_total", "counter", "Batches that were tested.", len(self.records)),
            ("alarms_total", "counter", "Batches with an alarm.", len(self.alarms)),
            ("pvalue", "gauge", "P-value of the last batch.", math.nan if last is None else last.pvalue),
            ("capital", "gauge", "Capital of the bets, an e-value.", self.betting.capital),
            ("alarm", "gauge", "Whether the last batch is for alarm.", int(last in self.alarms if last else 0)),
            ("rows", "gauge", "Rows of the last batch.", 0 if last is None else last.rows),
            ("columns_named", "gauge", "Columns named in the last batch.", 0 if last is None else len(last.columns)),
        ):
            lines += [f"# HELP tellapart_{name} {what}", f"# TYPE tellapart_{name} {kind}"]
            lines.append(f"tellapart_{name} {'NaN' if value != value else repr(value)}")
        return "\n".join(lines) + "\n"

    def _restore(self, known: Mapping[str, Any]) -> None:
        """Go on from a state, if it is one of this reference and these settings."""
        where = f"The state in {self.state}"
        if known.get("format") != FORMAT:
            raise InputError(
                f"{where} is none of a monitor, or of another version.", "Give another {state}.", state=...
            )
        for name, own in (
            ("reference", self.reference.digest),
            ("control", self.control),
            ("alpha", self.alpha),
            ("horizon", self.horizon),
            ("seed", self.seed),
        ):
            if known.get(name) != own:
                raise InputError(
                    f"{where} has {name} {known.get(name)!r:.60}, and cannot go on with {own!r}.",
                    "Give the same as before, or another {state}.",
                    state=...,
                )
        try:
            self.betting.restore(known["betting"])
            self.used = int(known["used"])
            self.records = [_as_record(one, number) for number, one in enumerate(known["batches"])]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"{where} is damaged: {error!s:.100}.", "Give another {state}.", state=...) from error
        if not 0 <= self.used <= self.features.fresh or self.betting.batches != len(self.records):
            raise InputError(f"{where} is damaged: its counts do not agree.", "Give another {state}.", state=...)

    def __repr__(self) -> str:
        return (
            f"Monitor({self.control}, alpha = {self.alpha:g}: {len(self.records)} batches, {len(self.alarms)} alarms)"
        )


@dataclass(frozen=True, eq=False)
class BetFeatures:
    """Features that bets are made with: components of some kernels, and ranks and categories of single columns.

    The last of the kept rows give their means and covariance; the first ``fresh`` of them are there to be bet on.
    """

    forms: FixedForms
    groups: tuple[Group, ...]
    fresh: int

    @classmethod
    def of(cls, reference: Reference) -> BetFeatures:
        """Those of a reference."""
        known = reference.contents
        calibration = min(_CALIBRATION, math.ceil(_SHARE * len(known.rows)))
        bare = cls(known.forms, (), len(known.rows) - calibration)
        some = known.rows[-calibration:]
        groups, place = [], 0
        features = bare(some)
        for width in bare._widths(some[:1]):
            groups.append(Group.fit(features, slice(place, place + width)))
            place += width
        return replace(bare, groups=tuple(groups))

    def __call__(self, rows: Tensor) -> Array:
        """The features of some rows: (rows, all features)."""
        parts = self._parts(rows)
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(rows), 0), np.float32)

    def _widths(self, row: Tensor) -> list[int]:
        return [part.shape[1] for part in self._parts(row)]

    @torch.no_grad()
    def _parts(self, rows: Tensor) -> list[Array]:
        """One array for each group."""
        plan = self.forms.plan
        kernels = list(self.forms.members.items())
        # The narrowest of all, and one in the middle.
        chosen = kernels[:: max(1, len(kernels) // _KERNELS)][:_KERNELS]
        wanted = [member for member, _ in chosen]
        scale = math.sqrt(plan.rows)
        found = []
        for (_, directions), (_, F) in zip(chosen, plan.features(rows, wanted), strict=True):
            # Eigenvalues increase: the last components say most.
            found.append((F @ directions.directions[:, -_COMPONENTS:]).numpy() * scale)
        columns = []
        for member, F in plan.features(rows, [m for m in plan.members if m.family in ("coordinates", "category")]):
            if member.family == "coordinates":
                cosines = F.reshape(len(F), len(plan.numeric), COSINES)[:, :_COLUMNS, :2]
                columns.append(cosines.flatten(1).numpy())
            else:
                columns.append(F.numpy())
        return [*found, *([np.concatenate(columns, axis=1)] if columns else [])]


def _derive(seed: int, number: int, which: int) -> int:
    """A seed for one test of one batch."""
    return int(np.random.SeedSequence([seed, number, which]).generate_state(1, np.uint64)[0] >> 1)


def _describe(one: Any) -> dict[str, Any]:
    effect = one.effect if math.isfinite(one.effect) else None
    return {"name": one.name, "kind": one.kind, "effect": effect, "words": one.words, "pvalue": one.pvalue}


def _plain(record: BatchRecord) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in vars(record).items()}


def _read_state(path: Path) -> dict[str, Any]:
    found = read_json(path, f"The state in {path}")
    if not isinstance(found, dict):
        raise InputError(f"The state in {path} is none of a monitor.", "Give another {state}.", state=...)
    return found


def _stored_seed(known: Mapping[str, Any]) -> int:
    """The seed in a state; one that is none is found out when the state is compared."""
    seed: Any = known.get("seed")
    return int(seed) if fits(seed, int) and seed >= 0 else 0


#: What is stored of a column that differs, and of a deviation from the schema.
_COLUMN = {"name": str, "kind": str, "effect": float | None, "words": str, "pvalue": float}
_DEVIATION = {"kind": str, "column": str, "count": int}


def _as_record(known: Mapping[str, Any], number: int) -> BatchRecord:
    """A record from a state; a complaint (ValueError) if it is not what `_plain` writes."""
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in known.items()}
    if not _fit(values, get_type_hints(BatchRecord)):
        raise ValueError(f"batch {number} is not what it should be")
    record = BatchRecord(**values)
    columns, deviations = record.columns, record.deviations
    parts = all(_fit(one, _COLUMN) for one in columns) and all(_fit(one, _DEVIATION) for one in deviations)
    pvalues = (
        [record.pvalue, 1.0 if record.level is None else record.level, *(one["pvalue"] for one in columns)]
        if parts
        else [0.0]
    )
    counts = [record.rows, record.fresh, record.capital]
    if record.number != number or min(counts) < 0 or not all(0 < p <= 1 for p in pvalues):
        raise ValueError(f"batch {number} is not what it should be")
    return record


def _fit(values: Mapping[str, Any], types: Mapping[str, Any]) -> bool:
    """Whether these are the keys, and the values are of these types."""
    return set(values) == set(types) and all(fits(values[key], types[key]) for key in types)
