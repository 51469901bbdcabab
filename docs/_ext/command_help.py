"""The help of a command, as the program prints it: ``{command-help} test``; without a name, that of ``tellapart``."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout, suppress
from typing import Any
from unittest.mock import patch

from docutils import nodes
from docutils.parsers.rst import Directive

from tellapart.cli import main


class CommandHelp(Directive):
    """What ``tellapart NAME --help`` prints."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The text, as it is."""
        shown = io.StringIO()
        with redirect_stdout(shown), patch.dict(os.environ, COLUMNS="92"), suppress(SystemExit):
            main([*self.arguments, "--help"])
        return [nodes.literal_block(shown.getvalue(), shown.getvalue(), language="none")]


def setup(app: Any) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"version": "1", "parallel_read_safe": True}
