"""The report: what is in it, that data cannot break it, and how it looks and works in a real browser."""

from __future__ import annotations

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from browser import Browser

import tellapart as ta
from tellapart import report
from tellapart.report.svg import Axis, number

QUICK = {"rng": 0, "stability": 1, "permutations": 99, "learning": {"steps": 20}}
EVIL = "<script>alert(1)</script>"
#: Set to a folder to keep screenshots of the reports.
SCREENSHOTS = os.environ.get("TELLAPART_SCREENSHOTS")


def people(n, shift, rng):
    frame = pd.DataFrame({f"noise {k}": rng.normal(size=n) for k in range(4)})
    frame["age"] = np.rint(rng.normal(40 + 8 * shift, 10, n))
    frame["town"] = rng.choice(["Ulm", "Bonn", "Bad Königshofen im Grabfeld", "</script><b>x"], n)
    frame["joined"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n) + 300 * shift, unit="D")
    frame["member"] = rng.random(n) < 0.5 + 0.4 * shift
    frame[EVIL] = rng.normal(size=n) + 3 * shift
    frame["a very long name of a column " * 3] = rng.integers(0, 3, n)
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    return frame


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    names = ('it\'s "last" & <first>.csv', EVIL)
    return ta.compare(people(120, 0, rng), people(100, 1, rng), names=names, missing="indicator", **QUICK)


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 256, (90, 12, 12), np.uint8)
    Y = rng.integers(0, 256, (80, 12, 12), np.uint8)
    Y[:, 3:6, 3:6] //= 3
    return ta.compare(X, Y, names=("real", "generated"), **QUICK)


class Tags(HTMLParser):
    """All elements with their attributes, and the text outside scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self._inside = [], "", []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = [tag]

    def handle_endtag(self, tag):
        self._inside = []

    def handle_data(self, data):
        if self._inside not in (["script"], ["style"]):
            self.text += data


def test_it_says_what_was_found(table):
    html = report.render(table, "tellapart compare 'a b.csv' c.csv")
    text = Tags(html).text
    for said in (
        "The samples differ.",
        "p ≤ 0.01, 99 permutations",
        f"{table.auc:.3f}",
        "every difference becomes significant",
        "Could it be chance?",
        "How far apart are they?",
        'More of it\'s "last" & <first>.csv',
        "No difference",
        "How the kernel was learned",
        "tellapart compare 'a b.csv' c.csv",
        f"numpy {np.__version__}",
    ):
        assert said in text, said
    assert len(html) < 300_000


def test_texts_from_the_data_are_escaped(table):
    page = Tags(report.render(table))
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not any(tag == "b" for tag, _ in page.tags)
    assert EVIL in page.text
    assert "</script><b>x" in page.text


def test_many_weights_are_folded_away():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(40, 30)), rng.normal(size=(40, 30)) + 1
    html = report.render(ta.compare(X, Y, kernel="rbf", **QUICK))
    assert "Show 10 more" in html
    assert html.count('class="weight"') == 30
    assert "18 more columns, with smaller weights, are not shown" in html


def test_without_a_difference_it_claims_none():
    rng = np.random.default_rng(4)
    c = ta.compare(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), **QUICK)
    assert not c.reject()
    text = Tags(report.render(c)).text
    assert "No difference is seen at level 0.05." in text
    assert "The samples differ" not in text
    assert "nor does it prove that there is none" in text
    assert 'ta.compare(X, Y, kernel="ard"'.replace('"', "'") in text


@pytest.mark.parametrize("kernel", ["rbf", "witness", "deep", "full"])
def test_every_kernel_has_a_report(kernel):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(40, 3)) + 1
    text = Tags(report.render(ta.compare(X, Y, kernel, swap=kernel == "rbf", **QUICK))).text
    chosen = kernel in ("rbf", "witness")
    assert ("How the kernel was chosen" if chosen else "How the kernel was learned") in text
    assert ("Difference of means" in text) == (kernel == "witness")
    assert ("the level is halved" in text) == (kernel == "rbf")
    assert "slope of the witness function" in text


def test_colour_images_features_and_large_images():
    rng = np.random.default_rng(5)
    X, Y = rng.random((40, 90, 70, 3)), rng.random((40, 90, 70, 3)) ** 1.5
    html = report.render(ta.compare(X, Y, kernel="rbf", features=lambda Z: Z.flatten(2).mean(2), **QUICK))
    assert html.count("data:image/jpeg") > 20  # photographs are reduced
    assert "feature 0" in html
    assert len(html) < 1_000_000
    small = report.render(ta.compare(X[:, :6, :5], Y[:, :6, :5], kernel="rbf", **QUICK))
    assert "Heat map of the weights of 6 × 5 pixels" in small


def test_one_row_shape_of_everything():
    """One coordinate, constant coordinates, whole numbers, far outliers, missing numbers."""
    rng = np.random.default_rng(6)
    one = ta.compare(rng.normal(size=50), rng.normal(size=50) + 2, **QUICK)
    assert "weight 1.000" in report.render(one)
    X = np.column_stack([np.zeros(60), rng.integers(0, 2, 60), rng.standard_cauchy(60) * 1e6, rng.integers(0, 50, 60)])
    Y = X[::-1] + np.array([0, 0, 5, 20])
    Y[:20, 3] = np.nan
    assert "Missing: 0.0 % in X" in report.render(ta.compare(X, Y, missing="indicator", **QUICK))


def test_a_failure_leaves_what_was_there(images, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")
    for place in ("tellapart.report.page.marginals", "tellapart._util.files.os.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(place, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                images.to_html(path)
        assert path.read_text() == "before"
        assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    images.to_html(path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_what_is_missing_is_named(images, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"The report needs jinja2: pip install 'tellapart\[report\]'"):
        images.to_html("report.html")


def test_ticks_are_round_and_inside():
    assert [text for _, text in Axis(0.03, 0.98).ticks(5)] == ["0.2", "0.4", "0.6", "0.8"]
    assert [text for _, text in Axis(-1500, 2500).ticks(4)] == ["-1,000", "0", "1,000", "2,000"]
    assert [value for value, _ in Axis(0.02, 30, log=True).ticks()] == [0.1, 1, 10]
    assert [number(v) for v in (0, 0.5, 41.25, 123456.0, 2e-7)] == ["0", "0.5", "41.2", "123,000", "2e-07"]


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
    assert browser.run("document.getElementById('readout').textContent").startswith("pixel 0,11: ")
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
