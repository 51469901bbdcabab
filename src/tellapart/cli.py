"""The command line: parsing and printing only."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="tellapart", description="Tell two samples apart.")
    parser.parse_args(arguments)
    return 0
