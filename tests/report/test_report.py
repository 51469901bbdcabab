"""The report: what is in it, and that data cannot break it. How it looks and works is in `test_in_browser`."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from comparisons import EVIL, QUICK

import tellapart as ta
from tellapart import report
from tellapart.report.svg import Axis, number


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
    assert ("MMD" in text) == (kernel != "witness")
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
