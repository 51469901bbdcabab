"""Links from the pages of source code back to the descriptions.

`sphinx.ext.viewcode` assumes that all names of a file are described under the same module. Here a file may have a
function that belongs to `tellapart` and its result, which belongs to `tellapart.results`.
"""

from __future__ import annotations

import re
from typing import Any

_BACK = re.compile(r'(<div class="viewcode-block" id="([^"]+)">\n<a class="viewcode-back" href="[^"#]*#)([^"]+)')


def correct_anchors(app: Any, pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Replace the anchors that do not exist by those of the same names in other modules."""
    if not pagename.startswith("_modules/"):
        return
    described = app.env.get_domain("py").objects

    def correct(match: re.Match[str]) -> str:
        before, name, anchor = match.groups()
        others = [known for known in described if known.endswith(f".{name}")]
        return match[0] if anchor in described or not others else before + others[0]

    context["body"] = _BACK.sub(correct, context["body"])


def setup(app: Any) -> dict[str, Any]:
    """Correct each page before it is written."""
    app.connect("html-page-context", correct_anchors)
    return {"version": "1", "parallel_read_safe": True}
