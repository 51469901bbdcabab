"""Pages of rankings, histories and groups: what they say, and where."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart.report import groups, history, ranking
from tellapart.report.sheets import render_sheet
from tellapart.report.svg import Axis, Plot


def frame(n, seed, shift=0.0, town=("Ulm", "Bonn")):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.normal(40 + shift, 10, n), "town": rng.choice(town, n)})


@pytest.fixture(scope="module")
def monitor():
    found = ta.Reference.fit(frame(400, 0), rng=0).monitor(rng=0, permutations=39)
    for day in range(9):
        found.add(frame(40, day, town=("Ulm", "Rom")), name=f"a long name of 2024-02-0{day + 1}.csv")
    return found


@pytest.fixture(scope="module")
def ranked():
    rng = np.random.default_rng(0)
    real = rng.normal(size=(1500, 1)).round(1)
    models = {"coarse": rng.normal(size=(1500, 1)).round(0), "shifted": rng.normal(size=(1500, 1)).round(1) + 0.3}
    return ta.rank(real, models, rng=0)


@pytest.fixture(scope="module")
def several():
    return ta.k_sample_test([frame(60, 0), frame(60, 1), frame(60, 2, 20.0)], permutations=99, rng=0)


def pages(monitor, ranked, several):
    return (
        render_sheet("history.html", history.contents(monitor)),
        render_sheet("ranking.html", ranking.contents(ranked)),
        render_sheet("groups.html", groups.contents(several, "site", 0.05, None)),
    )


def test_every_page_has_the_button_of_the_theme(monitor, ranked, several):
    for page in pages(monitor, ranked, several):
        assert page.count('id="theme"') == 1
        assert "tellapart-theme" in page[page.index("<script>") :]


def test_notes_of_batches_do_not_repeat_their_names(monitor):
    known = history.contents(monitor)
    assert known["batches"][0]["name"] == "a long name of 2024-02-09.csv"
    assert known["batches"][0]["notes"].endswith("rows have a 'town' not in the reference: 'Rom'.")
    assert not known["batches"][0]["notes"].startswith("a long")
    page = render_sheet("history.html", known)
    assert re.findall('<th scope="col"[^>]*>([^<]+)<', page)[-7:][:2] == ["batch", "alarm"]


def test_names_of_batches_do_not_meet(monitor):
    page = render_sheet("history.html", history.contents(monitor))
    found = re.findall(r'<text x="([^"]+)" y="[^"]+" text-anchor="middle">(…[^<]+)<', page)
    assert found
    places = [float(x) for x, _ in found[: len(found) // 2]]
    assert all(b - a >= 14 * 6.2 for a, b in pairwise(places))
    assert found[0][1] == "…of 2024-02-01"


def test_texts_at_an_axis_keep_apart_where_they_are_of_unequal_length():
    names = ["x" * 14, "x" * 14, "x" * 14, "y", "y", "y"]
    plot = Plot(Axis(-0.5, 5.5, form=lambda value: names[round(value)] if value % 1 == 0 else ""), Axis(0, 1), 520)
    ticks = plot._ticks_that_fit()
    assert all(text for _, text in ticks)
    assert plot._fit(ticks)
    assert not plot._fit([(0.0, names[0]), (1.0, names[1])])


def test_a_kernel_that_nobody_gave_is_not_said_to_be_given(ranked):
    tile = ranking.contents(ranked)["hero"]["tiles"][-1]
    assert tile["value"] == "Gaussians"
    assert "by the distances of rows of the reference" in tile["text"]
    rng = np.random.default_rng(0)
    given = ta.rank(rng.normal(size=(40, 1)), [rng.normal(size=(40, 1)) for _ in "ab"], ta.kernels.Gaussian(1.0), rng=0)
    assert ranking.contents(given)["hero"]["tiles"][-1]["text"] == "given"


def test_what_disagrees_stands_at_the_headline(ranked):
    page = render_sheet("ranking.html", ranking.contents(ranked))
    assert page.index("Bandwidths disagree") < page.index("How far from the reference")
    assert page.count("Bandwidths disagree") == 1


def test_columns_of_two_groups_are_told_without_a_pointer(several):
    page = render_sheet("groups.html", groups.contents(several, "site", 0.05, None))
    assert "sample 0 and sample 2:</b> age: larger in sample 2" in page
    assert "pointer" not in page[page.index("<main>") :]


def test_pairs_of_columns_that_go_together_differently_are_on_the_page_of_groups():
    rng = np.random.default_rng(0)
    samples = [rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 150) for rho in (0, 0.8, 0)]
    several = ta.k_sample_test(samples, permutations=99, rng=0)
    page = render_sheet("groups.html", groups.contents(several, "site", 0.05, None))
    assert re.search(r"sample 0 and sample 1:</b> [^<]*correlation 0.13 → 0.81", page)
    table = page[page.index("Pairs of columns</h2>") :]
    assert table.index("yes") < table.index("correlation")


def test_a_batch_that_differs_by_itself_is_said_at_the_headline():
    rng = np.random.default_rng(0)
    monitor = ta.Reference.fit(rng.normal(size=(400, 2)), rng=0).monitor(alpha=0.05, rng=0, permutations=99)
    monitor.add(rng.normal(size=(50, 2)) + 5, "broken.csv")
    hero = history.contents(monitor)["hero"]
    assert hero["sentence"] == "No alarm so far"
    assert "broken.csv by itself differs from the reference (p = 0.010)" in hero["detail"]
