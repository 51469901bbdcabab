"""How a report looks and works in a real browser."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from browser import Browser
from comparisons import EVIL

#: Set to a folder to keep screenshots of the reports.
SCREENSHOTS = os.environ.get("TELLAPART_SCREENSHOTS")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


def opened(browser, comparison, path, width=1200, theme="light"):
    if not path.exists():
        comparison.to_html(path, "tellapart compare a b")
    browser.open(path, width, theme)


def is_clean(browser, path):
    """No error, and nothing fetched but the file itself."""
    assert browser.errors == []
    assert {url for url in browser.requests if not url.startswith("data:")} == {path.as_uri()}


def colours(browser):
    found = browser.run("['color', 'backgroundColor'].map(k => getComputedStyle(document.body)[k])")
    return [sum(map(int, re.findall(r"\d+", text)[:3])) for text in found]


@pytest.mark.parametrize("kind", ["images", "table"])
def test_it_fits_every_screen_and_theme(browser, kind, request, tmp_path):
    path = tmp_path / 'a "quoted" & odd name.html'
    for name, width, theme in (("light", 1200, "light"), ("dark", 1200, "dark"), ("phone", 360, "light")):
        opened(browser, request.getfixturevalue(kind), path, width, theme)
        is_clean(browser, path)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("[...document.images].every(i => i.complete && i.naturalWidth > 0 && i.alt)")
        text, background = colours(browser)
        assert (text > background) == (theme == "dark")
        if SCREENSHOTS:
            browser.screenshot(Path(SCREENSHOTS) / f"{kind}-{name}.png")


def test_the_theme_can_be_switched(browser, images, tmp_path):
    opened(browser, images, tmp_path / "report.html")
    before = colours(browser)
    browser.run("document.getElementById('theme').click()")
    after = colours(browser)
    assert before[0] < before[1]
    assert after[0] > after[1]
    browser.run("document.getElementById('theme').click()")
    assert colours(browser) == before


VISIBLE = "[...document.querySelectorAll('.level [data-sample]')].filter(e => e.offsetParent)"


def test_examples_are_filtered_and_sorted(browser, images, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, images, path)
    assert browser.run(f"{VISIBLE}.length") == 48
    browser.run("document.querySelector('input[name=sample][value=x]').click()")
    assert browser.run(f"{VISIBLE}.length") == 24
    assert browser.run(f"{VISIBLE}.every(e => e.dataset.sample === 'x')")
    browser.run("document.querySelector('input[name=level][value=more-y]').click()")
    assert browser.run(f"{VISIBLE}.length") == 8
    browser.run("document.querySelector('input[name=sample][value=\"\"]').click()")
    order = "(v => { const o = document.getElementById('order'); o.value = v; o.dispatchEvent(new Event('change')) })"
    for value, sign in (("down", -1), ("up", 1)):
        browser.run(f"{order}('{value}')")
        values = browser.run(f"{VISIBLE}.map(e => Number(e.dataset.value))")
        assert len(values) == 16
        assert values == sorted(values, key=lambda v: sign * v)
    browser.run(f"{order}('')")
    assert browser.run(f"{VISIBLE}.map(e => e.dataset.sample).join('')") == "x" * 8 + "y" * 8
    is_clean(browser, path)


def test_weights_are_laid_over_images_and_read_off(browser, images, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, images, path)
    opacity = "getComputedStyle(document.querySelector('.veil'), '::after').opacity"
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    assert browser.run(opacity) == "0"
    browser.run("document.getElementById('overlay').click()")
    assert browser.run(opacity) == "1"
    browser.run(
        "(b => document.getElementById('heat').dispatchEvent(new PointerEvent('pointermove', "
        "{clientX: b.right - 1, clientY: b.top + 1})))(document.querySelector('#heat img').getBoundingClientRect())"
    )
    share = images.weights.values[11] / images.weights.values.max()
    expected = f"pixel 0,11: {round(1000 * share) / 10:g} % of the largest weight"
    assert browser.run("document.getElementById('readout').textContent") == expected
    is_clean(browser, path)


def test_tables_are_sorted_by_their_headings(browser, table, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, table, path)
    assert browser.run("document.querySelectorAll('table').length") == 3
    assert EVIL in browser.run("[...document.querySelectorAll('th')].map(h => h.textContent.trim())")
    for heading in (EVIL, "age", "joined", "witness"):
        script = (
            "(name => { const h = [...document.querySelectorAll('th')].find(h => h.textContent.trim() === name);"
            "h.firstElementChild.click(); return [h.getAttribute('aria-sort'),"
            "[...h.closest('table').tBodies[0].rows].map(r => r.cells[h.cellIndex].dataset.key)] })"
        )
        for direction, sign in (("ascending", 1), ("descending", -1)):
            sort, keys = browser.run(f"{script}({heading!r})")
            there = [key for key in keys if key]
            assert sort == direction
            assert keys == there + [""] * (len(keys) - len(there))  # what is missing comes last
            values = [float(key) for key in there] if heading != "joined" else there
            assert values == sorted(values, reverse=sign < 0)
    is_clean(browser, path)


def test_the_command_is_copied(browser, table, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, table, path)
    browser.run("document.getElementById('copy').click()")
    said = browser.run("new Promise(r => setTimeout(() => r(document.getElementById('copy').textContent), 300))")
    assert said in ("Copied", "Selected")
    assert browser.run("document.getElementById('command').textContent") == "tellapart compare a b"
    is_clean(browser, path)
