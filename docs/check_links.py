"""Check every link between the pages of the built site: ``python docs/check_links.py docs/_build/html``.

Links that leave the site are counted and not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links and anchors."""
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.links.add(value)


def check(root: Path) -> tuple[list[str], int, int]:
    """Broken links, and how many there are within the site and out of it."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")}
    broken, inside, outside = [], 0, 0
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                outside += 1
                continue
            inside += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            missing_anchor = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            if not target.exists() or missing_anchor:
                broken.append(f"{path.relative_to(root.resolve())}: {link}")
    return broken, inside, outside


if __name__ == "__main__":
    broken, inside, outside = check(Path(sys.argv[1]))
    print(*broken, sep="\n", end="\n" if broken else "")
    print(f"{inside} links within the site, {len(broken)} of them broken; {outside} links out of it, not followed.")
    sys.exit(bool(broken))
