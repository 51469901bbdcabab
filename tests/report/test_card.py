"""Results in notebooks: cards that are small, escaped, and need no library."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from comparisons import EVIL

import tellapart as ta


@pytest.fixture(scope="module")
def results(table, images, learned_table, learned_images, nothing):
    rng = np.random.default_rng(0)
    X, Y = (pd.DataFrame(rng.normal(size=(60, 3)) + shift, columns=[EVIL, "b", "c"]) for shift in (0, 1))
    two = ta.two_sample_test(X, Y, 99, rng=0)
    several = ta.k_sample_test({EVIL: X, "two": Y, "three": X + 2}, permutations=99, rng=0)
    learned = ta.learned_test(X, Y, "rbf", cross_fit=True, permutations=99, rng=0)
    monitor = ta.Reference.fit(rng.normal(size=(400, 2)), rng=0).monitor(rng=0, permutations=39)
    for day in range(3):
        monitor.add(rng.normal(size=(50, 2)) + day, f"day {day} {EVIL}")
    return {
        "ranking": ta.rank(X, {EVIL: Y, "b": X + 0.1}, rng=0),
        "monitor": monitor,
        "batch": monitor.records[-1],
        "test": ta.mmd_test(X, Y, permutations=99, rng=0),
        "learned": learned,
        "half": learned.halves[0],
        "two": two,
        "same": ta.two_sample_test(X[:30], X[30:], 99, rng=0),
        "several": several,
        "one of several": several.pairwise[0],
        "findings": two.columns,
        "finding": two.columns[0],
        "no findings": two.columns[:0],
        "weights": learned_table.weights,
        "slice": table.slices[0],
        "equivalence": ta.equivalence_test(X, Y, margin=0.5, rng=0),
        "plan": ta.plan(X, Y, repetitions=4, permutations=39, rng=0),
        "table": table,
        "images": images,
        "learned table": learned_table,
        "learned images": learned_images,
        "nothing": nothing,
    }


class Balanced(HTMLParser):
    """Complains about elements that are not closed, and about what must not be in a card."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag in ("div", "style", "p", "table", "thead", "tbody", "tr", "th", "td")
        assert {name for name, _ in attributes} <= {"class", "scope"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data if self.open[-1:] != ["style"] else ""


def test_every_result_has_a_card(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    for name, result in results.items():
        html = result._repr_html_()
        assert len(html) < 12_000, name
        assert Balanced(html).text.strip(), name


def test_cards_say_what_was_found(results):
    said = {name: Balanced(result._repr_html_()).text for name, result in results.items()}
    for name in ("test", "learned", "two", "several", "table", "images"):
        assert said[name].startswith("The samples differ."), name
    for name in ("same", "nothing"):
        assert said[name].startswith("No difference is seen"), name
        assert "none is named" in said[name]
    for name in ("two", "several", "findings", "table"):
        assert EVIL in said[name], name
    assert "AUC" in said["table"]
    assert "combined by" in said["learned"]
    assert said["no findings"] == "No findings."
