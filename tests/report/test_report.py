"""The report: what is in it, and that data cannot break it. How it looks and works is in `test_in_browser`."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from comparisons import EVIL, LEARNING, QUICK

import tellapart as ta
from tellapart import report
from tellapart._util.numbers import number
from tellapart.report.svg import PlotAxis

EVERY = ("table", "wide", "images", "nothing", "learned_table", "learned_images")


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


def test_it_answers_the_questions_in_order(table):
    html = report.render(table, "tellapart compare 'a b.csv' c.csv")
    text = Tags(html).text.replace("\xa0", " ")
    said = (
        "The samples differ.",
        "p ≤ 0.01: of 99 random permutations of the rows, none looks as different as the samples do.",
        f"{table.auc:.3f}",
        "Noticed first",
        "How much do they differ, and does it matter?",
        "every difference becomes significant",
        "Could it be chance?",
        "Which columns differ?",
        f"{len(table.differing_columns())} of {len(table.columns)} columns differ by themselves",
        "Which pairs of columns depend on each other differently?",
        "Which kinds of rows is there more of?",
        "the rule holds for",
        "Which slices, found on one half of the rows?",
        "2.8 times as frequent in",
        "Which examples?",
        'More of it\'s "last" & <first>.csv',
        "How was it computed, and how can it be repeated?",
        f"numpy {np.__version__}",
        "tellapart compare 'a b.csv' c.csv",
    )
    places = [text.find(one) for one in said]
    assert -1 not in places, said[places.index(-1)]
    assert places == sorted(places)
    assert len(html) < 400_000


def test_every_column_has_its_numbers(table):
    text = " ".join(Tags(report.render(table)).text.replace("\xa0", " ").split())
    for one in table.columns:
        assert one.name.strip() in text
        assert " ".join(one.description.split()) in text


@pytest.mark.parametrize("which", EVERY)
def test_texts_from_the_data_are_escaped(which, request):
    page = Tags(report.render(request.getfixturevalue(which)))
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not [tag for tag, attributes in page.tags if any(name.startswith("on") for name in attributes)]
    if "table" in which:
        assert EVIL in page.text
        assert "</script><b>x" in page.text
    assert not any(tag == "b" and attributes.get("class") == "x" for tag, attributes in page.tags)


@pytest.mark.parametrize("which", EVERY)
def test_headings_labels_and_anchors(which, request):
    """One h1, no level left out, every picture described, every link leads somewhere, every id once."""
    tags = Tags(report.render(request.getfixturevalue(which))).tags
    levels = [int(tag[1]) for tag, _ in tags if tag in ("h1", "h2", "h3", "h4")]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(attributes.get("alt") for tag, attributes in tags if tag == "img")
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for tag, attributes in tags if tag == "a"]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(ids)
    labelled = {a["aria-labelledby"] for _, a in tags if "aria-labelledby" in a}
    assert labelled <= set(ids)


def test_without_a_difference_it_claims_none(nothing):
    assert not nothing.reject()
    text = Tags(report.render(nothing)).text
    assert "No difference is seen at level 0.05." in text
    assert "The samples differ" not in text
    assert "nor does it prove that there is none" in text
    assert "no column is named" in text
    assert "ta.compare(X, Y, test='auto'" in text
    assert 'class="named"' not in report.render(nothing)


def test_rows_are_only_shown_as_what_they_look_like():
    rng = np.random.default_rng(0)
    X, Y = pd.DataFrame({"a": rng.normal(size=60)}), pd.DataFrame({"a": rng.normal(20, size=50)})
    page = report.render(ta.compare(X, Y, names=("may", "june"), keep_columns=True, **QUICK))
    text = Tags(page).text
    examples = text[text.index("Which examples?") :]
    assert "No row of june looks like may." in examples
    assert "No row of may looks like june." in examples
    assert "No row is equally common in both samples." in examples
    assert "Uninformative rows" not in examples
    shown = page[page.index('id="examples-section"') :]
    values = [float(value) for value in re.findall(r'data-sample="x" data-value="([^"]+)"', shown)]
    assert len(values) == 5
    assert min(values) > 0


def test_pixels_are_a_map_and_not_a_table(images):
    html = report.render(images)
    assert "Which pixels differ?" in html
    assert "Which columns differ?" not in html
    assert "Map of 12 × 12 pixels, of which 9 differ" in html
    assert "Mean image of generated" in html


def test_what_repeats_it_has_the_design():
    rng = np.random.default_rng(0)
    X = 3 * rng.normal(size=(60, 2))
    c = ta.compare(X, X + 0.3 * rng.normal(size=(60, 2)) + 0.3, paired=True, **QUICK)
    text = Tags(report.render(c)).text
    assert "paired=True" in text
    assert "permutations of the pairs" in text
    assert "permutation of pairs" in text
    assert c.to_dict()["settings"]["design"] == {"paired": True}
    assert "Labels of pairs were exchanged." in c.summary()


def test_a_statistic_far_out_does_not_hide_the_null_distribution():
    rng = np.random.default_rng(0)
    far = ta.compare(rng.normal(size=(60, 1)), rng.normal(size=(50, 1)) + 20, keep_columns=True, **QUICK)
    page = report.render(far)
    assert "far beyond" in page
    assert "the axis ends before it" in page
    start = page.index('class="area null"')
    path = page[page.rindex("<path", 0, start) : start]
    places = [float(x) for x in re.findall(r"[MLH](\d+\.?\d*)", path)]
    assert max(places) - min(places) > 100  # of 440


def test_pixels_that_never_vary_are_counted_everywhere():
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 256, (60, 6, 6), np.uint8), rng.integers(0, 100, (50, 6, 6), np.uint8)
    X[:, -1], Y[:, -1], X[:, :, 0], Y[:, :, 0] = 7, 7, 7, 7
    c = ta.compare(X, Y, **QUICK)
    text = Tags(report.render(c)).text.replace("\xa0", " ")
    assert len(c.columns) < 36
    assert set(re.findall(r"\d+ of (\d+) pixels", text)) == {"36"}
    assert f"Pixels {len(c.differing_columns())} of 36" in text


def test_pairs_that_are_not_looked_at_are_not_claimed():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(40, 64)), rng.normal(size=(40, 64))
    Y[:, 1] = Y[:, 0]
    text = Tags(report.render(ta.compare(X, Y, **QUICK))).text
    assert "2,000 of 2,016 pairs of columns were examined, those that depend most on each other" in text


@pytest.mark.parametrize("kernel", ["rbf", "witness", "deep", "full"])
def test_every_learned_test_has_a_report(kernel):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(40, 3)) + 1
    text = Tags(report.render(ta.compare(X, Y, test=kernel, cross_fit=kernel == "rbf", **LEARNING))).text
    chosen = kernel in ("rbf", "witness")
    assert ("How the kernel was chosen" if chosen else "How the kernel was learned") in text
    assert ("Difference of means" in text) == (kernel == "witness")
    assert ("the level is halved" in text) == (kernel == "rbf")
    assert "slope of the witness function" in text
    assert "learned from 25 + 20 others" in text


def test_weights_of_learned_tests(learned_table, learned_images):
    table, pictures = report.render(learned_table), report.render(learned_images)
    assert "Which columns did the kernel learn to weight?" in table
    assert table.count('class="weight"') == len(learned_table.weights.names)
    assert "Heat map of the weights of 12 × 12 pixels" in pictures


def test_many_weights_are_folded_away():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(40, 30)), rng.normal(size=(40, 30)) + 1
    html = report.render(ta.compare(X, Y, test="rbf", **LEARNING))
    assert "Show 10 more" in html
    assert html.count('class="weight"') == 30
    assert "18 more columns are not shown" in html


def test_colour_images_features_and_large_images():
    rng = np.random.default_rng(5)
    X, Y = rng.random((40, 90, 70, 3)), rng.random((40, 90, 70, 3)) ** 1.5
    html = report.render(ta.compare(X, Y, features=lambda Z: Z.flatten(2).mean(2), **QUICK))
    assert html.count("data:image/jpeg") >= 16  # photographs are reduced
    assert "feature 0" in html
    assert len(html) < 1_000_000
    small = report.render(ta.compare(X[:, :6, :5], Y[:, :6, :5], **QUICK))
    assert "Map of 6 × 5 pixels" in small


def test_one_column_and_odd_columns():
    """One coordinate, constant coordinates, whole numbers, far outliers, missing numbers."""
    rng = np.random.default_rng(6)
    one = report.render(ta.compare(rng.normal(size=50), rng.normal(size=50) + 2, **QUICK))
    assert "The column differs." in one
    X = np.column_stack([np.zeros(60), rng.integers(0, 2, 60), rng.standard_cauchy(60) * 1e6, rng.integers(0, 50, 60)])
    Y = X[::-1] + np.array([0, 0, 5, 20])
    Y[:20, 3] = np.nan
    assert "Missing: 0 % in X, 33 % in Y" in report.render(ta.compare(X, Y, missing="indicator", **QUICK))


@pytest.mark.serial
def test_many_rows_and_columns_fit_into_two_megabytes():
    rng = np.random.default_rng(7)
    X, Y = (pd.DataFrame(rng.normal(size=(2000, 300)).astype("float32")).add_prefix("sensor ") for _ in range(2))
    c = ta.compare(X, Y, **QUICK)
    assert len(report.render(c)) < 2_000_000


def test_a_failure_leaves_what_was_there(images, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")
    for place in ("tellapart.report.comparison.pairs_block", "tellapart._util.files.os.replace"):
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
    assert [text for _, text in PlotAxis(0.03, 0.98).ticks(5)] == ["0.2", "0.4", "0.6", "0.8"]
    assert [text for _, text in PlotAxis(-1500, 2500).ticks(4)] == ["-1,000", "0", "1,000", "2,000"]
    assert [value for value, _ in PlotAxis(0.02, 30, log=True).ticks()] == [0.1, 1, 10]
    assert [number(v) for v in (0, 0.5, 41.25, 123456.0, 2e-7)] == ["0", "0.5", "41.2", "123,000", "2e-07"]


def test_yes_and_no_are_called_so_everywhere(table):
    known = next(one for one in table.columns if one.name == "member")
    values = table.x.values_of("member")
    assert values is not None
    assert values.levels == ("no", "yes")
    assert known.description.startswith("yes ")
