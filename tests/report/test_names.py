"""Names of columns survive every rendering: no renderer reads anything out of a name."""

from __future__ import annotations

import html
import json

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart.report import render

plt = pytest.importorskip("matplotlib.pyplot")

#: Names that look like arguments, numbered copies, pixels, entries of vectors, flags, formulas, templates or markup.
ODD = ("image_size", "price (2)", "pixel 3,4", "a[0]", "--max-rows", "$x_1$", "{keep_columns}", "p = 0.5", "<b>&amp;")


def tables():
    rng = np.random.default_rng(0)
    return tuple(pd.DataFrame(rng.normal(size=(60, len(ODD))) + shift, columns=list(ODD)) for shift in (0, 2))


@pytest.fixture(scope="module")
def results():
    X, Y = tables()
    monitor = ta.Reference.fit(X, rng=0).monitor(rng=0, permutations=199, control="fwer")
    monitor.add(Y, "later")
    return {
        "two": ta.two_sample_test(X, Y, 199, rng=0),
        "several": ta.k_sample_test([X, Y, X + 0.1], permutations=199, rng=0),
        "comparison": ta.compare(X, Y, permutations=199, rng=0),
        "learned": ta.compare(X, Y, test="ard", permutations=99, stability=1, learning={"steps": 20}, rng=0),
        "monitor": monitor,
    }


def test_names_are_as_they_were_in_summaries(results):
    for which, result in results.items():
        text = result.summary()
        for name in ODD:
            assert f"{name}: " in text, (which, name)


def test_names_are_as_they_were_in_cards(results):
    for which, result in results.items():
        if which == "monitor":  # its card lists batches
            result = result.records[-1]
        card = html.unescape(result._repr_html_())
        # A card has the first rows of a table.
        assert sum(f"<td>{name}</td>" in card for name in ODD) >= 8, which


def test_names_are_as_they_were_on_pages(results):
    for which, result in results.items():
        page = html.unescape(render(result))
        for name in ODD:
            assert name in page, (which, name)
        assert "Which pixels differ?" not in page


def test_names_are_as_they_were_in_json(results):
    for which, result in results.items():
        stored = json.loads(result.to_json())
        columns = stored["weights"]["names"] if which == "learned" else stored.get("columns")
        if which == "monitor":
            columns = stored["batches"][-1]["columns"]
        found = {column if isinstance(column, str) else column["name"] for column in columns}
        assert found == set(ODD), which


def test_names_are_as_they_were_in_plots(results):
    for which in ("two", "comparison", "learned"):
        ax = results[which].plot()
        ax.figure.canvas.draw()
        shown = [text.get_text().replace(r"\$", "$").split("  (")[0] for text in ax.get_yticklabels()]
        assert set(shown) == set(ODD), which
        plt.close("all")


def test_models_and_batches_keep_their_names():
    rng = np.random.default_rng(0)
    real = rng.normal(size=(60, 2))
    ranked = ta.rank(real, {name: rng.normal(size=(60, 2)) + k for k, name in enumerate(ODD)}, rng=0)
    page, card = html.unescape(render(ranked)), html.unescape(ranked._repr_html_())
    for name in ODD:
        assert f"{name}: " in ranked.summary()
        assert name in page
    assert sum(f"<td>{name}</td>" in card for name in ODD) >= 8
    monitor = ta.Reference.fit(rng.normal(size=(300, 2)), rng=0).monitor(rng=0, permutations=39)
    for name in ODD:
        monitor.add(rng.normal(size=(20, 2)), name)
        assert monitor.summary().split("\n")[1].startswith(f"{name} (20 rows)")
    page = html.unescape(render(monitor))
    assert all(f'<td class="">{name}</td>' in page for name in ODD)
