"""How a report looks and works in a real browser."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from comparisons import EVIL

import tellapart as ta

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


EVERY = ("table", "wide", "images", "nothing", "learned_table", "learned_images")

#: Texts whose contrast with what is behind them is too low: 4.5, or 3 for large ones (WCAG 2, level AA).
CONTRAST = """
(() => {
  const parse = (text) => { const v = text.match(/[\\d.]+/g).map(Number); return v.length > 3 ? v : [...v, 1]; };
  const over = (a, b) => [0, 1, 2].map((k) => a[k] * a[3] + b[k] * (1 - a[3]));
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const low = new Set();
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join("").trim();
    if (!text || !e.getClientRects().length || e.closest("script, style, title, .skip, [aria-hidden=true]")) continue;
    const style = getComputedStyle(e), bottom = behind(e);
    const top = over(parse(e instanceof SVGElement ? style.fill : style.color), bottom);
    const [a, b] = [light(top), light(bottom)].sort((p, q) => q - p);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.7 && style.fontWeight >= 700);
    if ((a + 0.05) / (b + 0.05) >= (large ? 3 : 4.5)) continue;
    low.add(`${e.tagName}.${e.className.baseVal ?? e.className}: ${text.slice(0, 30)}`);
  }
  return [...low];
})()
"""


@pytest.mark.parametrize("kind", EVERY)
def test_it_fits_every_screen_and_theme(browser, kind, request, tmp_path):
    path = tmp_path / 'a "quoted" & odd name.html'
    for name, width, theme in (("light", 1200, "light"), ("dark", 1200, "dark"), ("phone", 360, "light")):
        opened(browser, request.getfixturevalue(kind), path, width, theme)
        is_clean(browser, path)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("[...document.images].every(i => i.complete && i.naturalWidth > 0 && i.alt)")
        text, background = colours(browser)
        assert (text > background) == (theme == "dark")
        assert browser.run(CONTRAST) == []
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


def test_a_history_fits_a_phone_and_has_themes(browser, tmp_path):
    rng = np.random.default_rng(0)
    monitor = ta.Reference.fit(rng.normal(size=(400, 6)), rng=0).monitor(rng=0, permutations=39)
    for day in range(4):
        monitor.add(rng.normal(size=(50, 6)) + day, name=f"a rather long name of a batch of 2024-02-0{day + 1}.csv")
    path = tmp_path / "history.html"
    opened(browser, monitor, path, 360)
    is_clean(browser, path)
    assert browser.run("document.documentElement.scrollWidth") <= 360
    table = "document.querySelector('.stack').parentNode"
    assert browser.run(f"{table}.scrollWidth <= {table}.clientWidth")
    assert browser.run(CONTRAST) == []
    before = colours(browser)
    browser.run("document.getElementById('theme').click()")
    assert colours(browser) != before
    assert browser.run(CONTRAST) == []


VISIBLE = "[...document.querySelectorAll('.level [data-sample]')].filter(e => e.offsetParent)"


def test_examples_are_filtered_and_sorted(browser, images, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, images, path)
    found = [(e.sample, e.level) for e in images.exemplars(8)]
    assert browser.run(f"{VISIBLE}.length") == len(found)
    browser.run("document.querySelector('input[name=sample][value=y]').click()")
    assert browser.run(f"{VISIBLE}.length") == sum(sample == "Y" for sample, _ in found)
    assert browser.run(f"{VISIBLE}.every(e => e.dataset.sample === 'y')")
    browser.run("document.querySelector('input[name=level][value=more-y]').click()")
    assert browser.run(f"{VISIBLE}.length") == found.count(("Y", "more of Y")) == 8
    browser.run("document.querySelector('input[name=sample][value=\"\"]').click()")
    order = "(v => { const o = document.getElementById('order'); o.value = v; o.dispatchEvent(new Event('change')) })"
    for value, sign in (("down", -1), ("up", 1)):
        browser.run(f"{order}('{value}')")
        values = browser.run(f"{VISIBLE}.map(e => Number(e.dataset.value))")
        assert len(values) == 8 + found.count(("X", "more of Y"))
        assert values == sorted(values, key=lambda v: sign * v)
    browser.run(f"{order}('')")
    assert browser.run(f"{VISIBLE}.map(e => e.dataset.sample).join('')") == "x" * (len(values) - 8) + "y" * 8
    is_clean(browser, path)


def test_weights_are_laid_over_images_and_read_off(browser, learned_images, tmp_path):
    images = learned_images
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


def test_examples_are_sorted_by_their_headings(browser, table, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, table, path)
    assert browser.run("document.querySelectorAll('table.sortable').length") == 3
    heads = "[...document.querySelectorAll('.sortable thead th')]"
    assert EVIL in browser.run(f"{heads}.map(h => h.textContent.trim())")
    for heading in (EVIL, "age", "joined", "witness"):
        script = (
            f"(name => {{ const h = {heads}.find(h => h.textContent.trim() === name);"
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


ROWS = "[...document.querySelectorAll('#columns-table tbody tr')].filter(r => r.offsetParent)"
#: Gives a control a value, as a person does.
SET = "((what, v, event) => { const i = document.querySelector(what); i.value = v; i.dispatchEvent(new Event(event)) })"


def search(browser, text):
    browser.run(f"{SET}('[data-search=columns]', {text!r}, 'input')")


def test_columns_are_searched_filtered_sorted_and_unfolded(browser, wide, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, wide, path)
    names = f"{ROWS}.map(r => r.dataset.name)"
    assert browser.run(f"{ROWS}.length") == 15
    assert browser.run(f"{names}.slice(0, 3)") == [one.name for one in wide.columns[:3]]
    browser.run("document.querySelector('[data-more=columns] button').click()")
    assert browser.run(f"{ROWS}.length") == 40
    assert browser.run("document.querySelector('[data-more=columns] button').textContent") == "Show fewer"
    search(browser, "7")
    assert sorted(browser.run(names)) == ["17", "27", "37", "7"]
    assert browser.run("document.querySelector('[data-count=columns]').textContent") == "4 of 40"
    search(browser, "nowhere")
    assert browser.run(f"{ROWS}.length") == 0
    search(browser, "")
    browser.run("document.querySelector('[data-only=columns]').click()")
    assert set(browser.run(names)) == {one.name for one in wide.differing_columns()}
    browser.run("document.querySelector('[data-only=columns]').click()")
    by = "(k => document.querySelector(`#columns-table th[data-by=${k}] button`).click())"
    for key, field, sign in (("size", "size", -1), ("name", "name", 1), ("p", "p", 1)):
        for direction in (1, -1):
            browser.run(f"{by}('{key}')")
            values = browser.run(f"{ROWS}.map(r => r.dataset.{field})")
            known = values if field == "name" else [float(value) for value in values]
            assert known == sorted(known, reverse=sign * direction < 0)
    browser.run(f"{SET}('[data-sort=columns]', 'size', 'change')")  # as on a phone, where there are no headings
    sizes = [float(value) for value in browser.run(f"{ROWS}.map(r => r.dataset.size)")]
    assert sizes == sorted(sizes, reverse=True)
    is_clean(browser, path)


def test_hostile_names_do_no_harm(browser, table, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, table, path)
    assert browser.run("document.scripts.length") == 1
    assert browser.run("document.querySelectorAll('main script, main iframe, main object').length") == 0
    search(browser, "script")
    assert EVIL in browser.run(f"{ROWS}.map(r => r.querySelector('th').textContent)")
    is_clean(browser, path)


def test_pixels_are_read_off_by_pointer_and_keys(browser, images, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, images, path)
    readout = "document.getElementById('pixel-readout').textContent"
    browser.run(
        "(b => document.getElementById('pixel-map').dispatchEvent(new PointerEvent('pointermove', {clientX: b.left + "
        "4.5 * b.width / 12, clientY: b.top + 3.5 * b.height / 12})))"
        "(document.querySelector('#pixel-map img').getBoundingClientRect())"
    )
    said = browser.run(readout)
    assert said.startswith("Pixel 3,4: −")
    assert "more in real, adjusted p 0.01" in said
    browser.run("document.getElementById('pixel-map').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}))")
    assert browser.run(readout).startswith("Pixel 3,5: ")
    is_clean(browser, path)


def test_without_scripts_everything_is_there(browser, wide, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, wide, path)
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(path)
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run(f"{ROWS}.length") == 40


def test_it_can_be_printed(browser, table, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, table, path, theme="dark")
    browser.send("Emulation.setEmulatedMedia", media="print")
    browser.resize(760)
    assert browser.run("document.documentElement.scrollWidth") <= 760
    assert colours(browser)[0] < colours(browser)[1]
    browser.send("Emulation.setEmulatedMedia", media="")
    pdf = base64.b64decode(browser.send("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF")
    is_clean(browser, path)


def test_the_command_is_copied(browser, table, tmp_path):
    path = tmp_path / "report.html"
    opened(browser, table, path)
    browser.run("document.getElementById('copy').click()")
    said = browser.run("new Promise(r => setTimeout(() => r(document.getElementById('copy').textContent), 300))")
    assert said in ("Copied", "Selected")
    assert browser.run("document.getElementById('command').textContent") == "tellapart compare a b"
    is_clean(browser, path)
