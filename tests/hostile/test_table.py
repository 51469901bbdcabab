"""Every hostile input gets one line that says what is wrong, code 2, in bounded time and memory, and runs no code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from afresh import CASES as AFRESH
from arena import Arena, Outcome
from inputs import CASES as FIRST
from inputs import Case, lay_out

CASES = [*FIRST, *AFRESH]
#: Seconds, and bytes beyond what the libraries themselves take. The machine that runs the tests may be slow.
SECONDS, BYTES = 90, 300e6
#: Names of classes and of places in our code are for developers.
LEAKS = re.compile(r"Traceback|\w+Error\b|\w+Exception\b|TELLAPART_DEBUG|\.py\b")


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with Arena() as found:
        yield found


def attack(arena: Arena, case: Case, folder: Path) -> Outcome:
    lay_out(folder, case.files)
    return arena.run(case.arguments, folder, seconds=SECONDS, **case.options)


def judge(case: Case, outcome: Outcome, folder: Path) -> str:
    """What is wrong with an answer; empty if nothing is."""
    lines = outcome.err.splitlines()
    if outcome.code != case.code:
        return f"code {outcome.code}"
    for name, content in case.files.items():
        made = content.encode() if isinstance(content, str) else content
        if isinstance(made, bytes) and (folder / name).read_bytes() != made:
            return f"{name} was written to"
    if case.code == 0:
        odd = "\x1b" in outcome.out or outcome.peak > BYTES or not re.search(case.says, outcome.out)
        return "more than the answer" if lines else "not the answer" if odd else ""
    if outcome.out or not lines or not lines[-1].startswith("tellapart"):
        return "no line that says what is wrong, or more than that"
    if len(lines) > 1 and not lines[0].startswith("usage: "):
        return "more than one line"
    if LEAKS.search(lines[-1]):
        return "an error of a library"
    if not re.search(case.says, lines[-1]):
        return f"it does not say {case.says!r}"
    if outcome.peak > BYTES:
        return f"{outcome.peak / 1e6:.0f} MB"
    if (folder / "precious").exists() and (folder / "precious").read_text() != "mine":
        return "a file elsewhere was written to"
    return "code was run" if (folder / "harm").exists() else ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_line_and_code_2(arena: Arena, case: Case, tmp_path: Path) -> None:
    outcome = attack(arena, case, tmp_path)
    assert not judge(case, outcome, tmp_path), (outcome.code, outcome.err[-500:])


def main() -> None:
    """Print the table with counts, and the slowest and the largest; of all cases, or of those with a word in them."""
    import sys
    import tempfile

    assert len({case.name for case in CASES}) == len(CASES)
    outcomes: list[tuple[Case, Outcome]] = []
    failed = 0
    with Arena() as arena:
        cases = [case for case in CASES if all(word in case.name for word in sys.argv[1:])]
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                outcome = attack(arena, case, Path(folder))
                wrong = judge(case, outcome, Path(folder))
            outcomes.append((case, outcome))
            failed += bool(wrong)
            line = (outcome.err.splitlines() or ["(nothing)"])[-1]
            print(f"{'FAILED: ' + wrong if wrong else 'ok':8} {case.name:32} {outcome.seconds:5.1f} s  {line[:150]}")
    slowest = max(outcomes, key=lambda pair: pair[1].seconds)
    largest = max(outcomes, key=lambda pair: pair[1].peak)
    print(f"\n{len(cases)} tried, {len(cases) - failed} survived, {failed} failed.")
    print(f"Slowest: {slowest[0].name}, {slowest[1].seconds:.1f} s.")
    print(f"Largest: {largest[0].name}, {largest[1].peak / 1e6:.0f} MB.")


if __name__ == "__main__":
    main()
