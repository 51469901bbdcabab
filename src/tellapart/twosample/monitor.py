"""A stream of batches against a reference, with control over how often that is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._util.errors import InputError, Note
from .._util.files import read_json, write_json
from .._util.progress import ProgressLike
from .._util.records import fits
from .._util.rng import RNG, seed_of
from .._util.text import count_noun
from .._util.view import View
from ..data.schema import Strictness
from ..engine import MemoryLike, computing
from ..stats.pvalues import check_draws, check_level, rejects
from .batches import BatchRecord, DeviationRecord, describe_finding, free_name
from .bets import Bets
from .control import GUARANTEES, Control, flag_history, spend_levels
from .metrics import Metric, write_metrics
from .reference import Reference
from .result import Result, check_own_level

#: What files say they are.
FORMAT = "tellapart monitor, version 4"
#: A p-value that is among the so many smallest possible is computed again with more permutations.
_SMALLEST = 2


class Monitor(Result):
    """Tests batches as they come, and says when there is reason for alarm. `Reference.monitor` makes one.

    Parameters
    ----------
    reference
        What batches are compared with.
    alpha
        How often it may be wrong.
    control
        What that means. ``"anytime"``: the probability of a false alarm over a stream without end, by betting: it adds
        up small differences over batches. Bets are learned from the rows before, so that the first batch that differs
        raises an alarm only if it is large, or altogether different; the next ones do. ``"fwer"``: the same for single
        batches, by spending ``alpha`` over them: one batch that differs enough is an alarm at once. ``"fdr"``: the
        expected share of false ones among the batches that are flagged. `guarantee` says it exactly.
    state
        A JSON file. It is written after each batch, whole or not at all; where it exists, the monitor goes on from it,
        and a batch whose name it knows is not counted again (see `add`).
    permutations, refine_permutations
        Relabellings for the p-value of a batch, and for one whose p-value is among the smallest possible, so that it
        may be smaller. (Whether it is computed again depends on the first one only, so it stays valid.)
    horizon
        With ``"fwer"``, the number of batches over which half of ``alpha`` is spent.
    schema
        As in `Reference.test`.
    rng
        The seed of all that is random.
    max_memory, threads
        As in `two_sample_test`.

    Notes
    -----
    The guarantee is about the batches that are counted. It holds if their rows, and those of the reference, are
    independent and have one distribution. Whether a batch is counted is therefore decided by its name alone, and never
    by what is in it: a stream without the batches that look like earlier ones, or like something else, does not have
    the distribution of the reference. For the same reason a batch should not be left out because it raised
    `InputError`: ``schema="lenient"`` counts batches with unseen categories, missing columns and other types, and
    ``missing="indicator"`` of `Reference.fit` those with missing values.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> rng = np.random.default_rng(0)
    >>> monitor = ta.Reference.fit(rng.normal(size=(4000, 3)), rng=0).monitor(0.01, rng=0, permutations=99)
    >>> for day in range(8):
    ...     found = monitor.add(rng.normal(size=(100, 3)) + (0.5 if day > 3 else 0.0), f"day {day}")
    >>> monitor.alarms[0].name
    'day 5'
    """

    json_name = "monitor"

    def __init__(
        self,
        reference: Reference,
        alpha: float = 0.01,
        control: Control = "anytime",
        *,
        state: str | PathLike[str] | None = None,
        permutations: int = 999,
        refine_permutations: int = 9_999,
        horizon: int = 50,
        schema: Strictness = "normal",
        rng: RNG = None,
        max_memory: MemoryLike = None,
        threads: int | None = None,
    ) -> None:
        check_level(alpha)
        if control not in GUARANTEES:
            raise InputError(
                "unknown-choice", f"control={control!r} is not known. Choose one of {', '.join(map(repr, GUARANTEES))}."
            )
        for name, value in (
            ("permutations", permutations),
            ("refine_permutations", refine_permutations),
            ("horizon", horizon),
        ):
            check_draws(value, name)
        self.reference, self.alpha, self.control = reference, alpha, control
        self.state = None if state is None else Path(state).expanduser()
        self.permutations, self.refine_permutations, self.horizon, self.schema = (
            permutations,
            refine_permutations,
            horizon,
            schema,
        )
        self.max_memory, self.threads = max_memory, threads
        self.records: list[BatchRecord] = []
        self.bets = Bets(reference)
        self._written = None if self.state is None else _signature(self.state)
        known = _read_state(self.state) if self.state is not None and self._written is not None else None
        self.seed = seed_of(rng) if known is None or rng is not None else _stored_seed(known)
        if known is not None:
            self._restore(known)

    def add(
        self, batch: Any, name: str | None = None, *, key: str | None = None, progress: ProgressLike = None
    ) -> BatchRecord:
        """Test the next batch, and write the state.

        Parameters
        ----------
        batch
            One row or more, as `Reference.test` takes it.
        name
            What to call it; by default its number. A name identifies a batch, such as a date or the name of a file that
            is written once. If a batch of this name was added before, this one is not counted: with the same rows it is
            the same batch again, whose record is returned, and with other rows `InputError` is raised. Batches without
            a name are always counted.
        key
            What identifies the batch, if that is not its name. Batches of one name with different keys are all counted,
            and called "name", "name (2)", and so on.
        progress
            As in `two_sample_test`.

        Raises
        ------
        InputError
            If a batch with the same key and other rows was counted before, or if the batch cannot be compared with the
            reference. The monitor and its state are then as they were.
        """
        number = len(self.records)
        called = str(number if name is None else name)
        key = key if name is None or key is not None else called
        known = None if key is None else next((one for one in self.records if one.key == key), None)
        opened = self.reference.open(batch, called, self.schema)
        digest = opened.digest
        if known is not None and known.digest == digest:
            return known
        if known is not None:
            # Not counted either: whether a batch is counted must not depend on its rows.
            raise InputError(
                "repeated-batch",
                f"The batch {called!r} was counted before, with other rows. It is not counted again.",
                "Give each batch a {name} of its own, such as its date, or none.",
                name=...,
            )
        with computing(self.max_memory, None, progress, self.threads, title=f"batch {called}") as compute:
            result = self.reference.run(opened, self.permutations, _derive(self.seed, number, 0), compute)
            smallest = result.pvalue * (result.permutations + 1) <= _SMALLEST + 1e-9
            if (
                smallest
                and self.control != "anytime"
                and self.refine_permutations > result.permutations == self.permutations
            ):
                result = self.reference.run(opened, self.refine_permutations, _derive(self.seed, number, 1), compute)
        # Nothing changes before all of it is known and written: an interrupt, or a full disk, leaves what was there.
        bets = self.bets.copy()
        fresh = bets.add(opened, np.random.default_rng(_derive(self.seed, number, 2)))
        pvalues = [*(one.pvalue for one in self.records), result.pvalue]
        level = spend_levels(pvalues, self.alpha, self.horizon)[-1] if self.control == "fwer" else None
        named = result.differing_columns(self.alpha)
        record = BatchRecord(
            number=number,
            name=free_name(self.records, called),
            key=key,
            digest=digest,
            rows=len(opened.rows),
            pvalue=result.pvalue,
            min_pvalue=result.min_pvalue,
            permutations=result.permutations,
            level=level,
            evidence=bets.evidence,
            fresh=fresh,
            alarm=self._is_alarm(pvalues, level, bets),
            columns=tuple(describe_finding(one) for one in named),
            deviations=tuple(DeviationRecord(kind=d.kind, column=d.column, count=d.count) for d in opened.deviations),
            notes=(*result.notes, *self._notes(level, result.min_pvalue, bets)),
        )
        records = [*self.records, record]
        if self.state is not None:
            self._write(self.state, bets, records)
        self.bets, self.records = bets, records
        return record

    def _write(self, state: Path, bets: Bets, records: list[BatchRecord]) -> None:
        """Write the state, unless another monitor has."""
        if _signature(state) != self._written:
            raise InputError(
                "state-changed",
                f"The state in {state} was written by another monitor meanwhile: this batch is not counted.",
                "Open the monitor again, and let one at a time use a {state}.",
                state=...,
            )
        write_json(state, self._state(bets, records))
        self._written = _signature(state)

    def _is_alarm(self, pvalues: list[float], level: float | None, bets: Bets) -> bool:
        if self.control == "anytime":
            return bets.evidence >= 1 / self.alpha * (1 - 1e-12)
        if self.control == "fdr":
            return flag_history(pvalues, self.alpha)[-1]
        return rejects(pvalues[-1], level or 1e-300)

    def _notes(self, level: float | None, floor: float, bets: Bets) -> list[str]:
        if self.control == "anytime" and not bets.left:
            text = "All rows of the reference have been bet on: no more can be learned. Fit one that keeps more rows."
            return [Note("reference-used-up", text)]
        if level is not None and level < min(floor, 1 / (self.refine_permutations + 1)):
            least = 1 / (self.refine_permutations + 1)
            return [
                Note(
                    "level-not-attainable",
                    f"The smallest attainable p-value is {least:.2g}, but the level is {level:.2g}.",
                    "Raise {refine_permutations}.",
                    refine_permutations=...,
                )
            ]
        return []

    @property
    def guarantee(self) -> str:
        """What the control promises, exactly."""
        return GUARANTEES[self.control].format(alpha=self.alpha, limit=1 / self.alpha)

    @property
    def alarms(self) -> list[BatchRecord]:
        """Batches for alarm: with ``"fdr"`` those flagged now, else those that raised one when they came."""
        if self.control != "fdr":
            return [one for one in self.records if one.alarm]
        flags = flag_history([one.pvalue for one in self.records], self.alpha)
        return [one for one, flag in zip(self.records, flags, strict=True) if flag]

    @property
    def alarmed(self) -> bool:
        """Whether there has been an alarm."""
        return bool(self.alarms)

    def is_pending(self, record: BatchRecord) -> bool:
        """Whether a batch by itself differs at level alpha, but bets, which are learned from rows before, say nothing.

        Only ``control="anytime"`` has such batches: what they show is bet on from the next batch on.
        """
        return self.control == "anytime" and not record.alarm and rejects(record.pvalue, self.alpha)

    def describe(self, record: BatchRecord) -> str:
        """One batch in a line."""
        told = ""
        if self.control == "anytime":
            told = f", evidence {record.evidence:.3g} so far (an alarm from {1 / self.alpha:g} on)"
        elif record.level is not None:
            told = f", level {record.level:.3g}"
        verdict = f"{'ALARM' if record in self.alarms else 'no alarm'}; p = {record.pvalue:.4g}"
        if self.is_pending(record):
            verdict = f"no alarm yet: this batch by itself differs (p = {record.pvalue:.4g})"
            told = f"; that counts from the next batch on{told}"
        return f"{record.name} ({count_noun(record.rows, 'row')}): {verdict}{told}."

    def view(self, alpha: float | None = None) -> View:
        """The history of all batches as blocks of plain data, which all renderings are made from.

        The level is that of the monitor: another one is refused, since alarms depend on the level of all batches.
        """
        from .history import view_history  # which takes a monitor

        check_own_level(alpha, self.alpha, "Monitor")

        return view_history(self)

    def reject(self, alpha: float | None = None) -> bool:
        """Whether there has been an alarm, at the level of the monitor; another one is refused."""
        check_own_level(alpha, self.alpha, "Monitor")
        return bool(self.alarms)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Remarks on the last batch."""
        return self.records[-1].notes if self.records else ()

    def count(self) -> str:
        """How many batches there are, and how many of them are for alarm."""
        alarms = self.alarms
        first = f": first {alarms[0].name}" if alarms else ""
        return f"{count_noun(len(self.records), 'batch')}, {len(alarms)} with alarm{first}."

    def _json_fields(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "control": self.control,
            "guarantee": self.guarantee,
            "evidence": self.bets.evidence,
            "fresh": self.bets.left,
            "alarms": [one.name for one in self.alarms],
            "batches": self.records,
            "reference": self.reference.digest,
            "seed": self.seed,
        }

    def to_prometheus(self, **labels: object) -> str:
        """Metrics of the last batch in the text format of Prometheus, for its textfile collector.

        Parameters
        ----------
        **labels
            Labels of all of them, such as ``stream="orders"``.
        """
        last = self.records[-1] if self.records else None
        metrics = (
            Metric("batches_total", len(self.records), "Batches that were tested.", "counter"),
            Metric("alarms", len(self.alarms), "Batches for alarm."),
            Metric("alarm", int(last in self.alarms), "Whether the last batch is for alarm."),
            Metric("pvalue", math.nan if last is None else last.pvalue, "P-value of the last batch."),
            Metric("evidence", self.bets.evidence, "Evidence against no change, an e-value."),
            Metric("rows", 0 if last is None else last.rows, "Rows of the last batch."),
            Metric("columns_named", 0 if last is None else len(last.columns), "Columns named in the last batch."),
        )
        return write_metrics(metrics, **labels)

    def _state(self, bets: Bets, records: list[BatchRecord]) -> dict[str, Any]:
        """All that is needed to go on."""
        return {
            "format": FORMAT,
            "reference": self.reference.digest,
            "alpha": self.alpha,
            "control": self.control,
            "horizon": self.horizon,
            "seed": self.seed,
            **bets.to_dict(),
            "batches": [one.to_dict() for one in records],
        }

    def _restore(self, known: Mapping[str, Any]) -> None:
        """Go on from a state, if it is one of this reference and these settings."""
        where = f"The state in {self.state}"
        if known.get("format") != FORMAT:
            raise InputError(
                "wrong-file-kind",
                f"{self.state} is not a monitor state file, or is of another version.",
                "Give another {state}.",
                state=...,
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
                    "state-differs",
                    f"{where} has {name} {known.get(name)!r:.60}, and cannot go on with {own!r}.",
                    "Give the same as before, or another {state}.",
                    state=...,
                )
        try:
            self.bets.restore(known)
            self.records = [BatchRecord.from_dict(one, number) for number, one in enumerate(known["batches"])]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(
                "damaged-file", f"{where} is damaged: {error!s:.100}.", "Give another {state}.", state=...
            ) from error
        if self.bets.betting.batches != len(self.records):
            raise InputError(
                "damaged-file", f"{where} is damaged: its counts do not agree.", "Give another {state}.", state=...
            )

    def __repr__(self) -> str:
        found = f"{count_noun(len(self.records), 'batch')}, {count_noun(len(self.alarms), 'alarm')}"
        return f"Monitor({self.control}, alpha = {self.alpha:g}: {found})"


def _derive(seed: int, number: int, which: int) -> int:
    """A seed for one test of one batch."""
    return int(np.random.SeedSequence([seed, number, which]).generate_state(1, np.uint64)[0] >> 1)


def _signature(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is written; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read_state(path: Path) -> dict[str, Any]:
    found = read_json(path, f"The state in {path}", state=...)
    if not isinstance(found, dict):
        raise InputError("wrong-file-kind", f"{path} is not a monitor state file.", "Give another {state}.", state=...)
    return found


def _stored_seed(known: Mapping[str, Any]) -> int:
    """The seed in a state; 0 if it is invalid, which `_restore` then reports."""
    seed: Any = known.get("seed")
    return int(seed) if fits(seed, int) and seed >= 0 else 0
