"""Pages of rankings, histories and tests: what they say, and where."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart._util.view import Headline, Matrix, TableBlock
from tellapart.report import render
from tellapart.report.svg import Plot, PlotAxis


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


@pytest.fixture(scope="module")
def two():
    return ta.two_sample_test(frame(60, 0), frame(50, 1, 20.0), 99, rng=0)


def block(result, kind, section=""):
    return next(one for one in result.view().blocks if isinstance(one, kind) and section in one.section)


def test_every_page_has_the_button_of_the_theme(monitor, ranked, several, two):
    for result in (monitor, ranked, several, two):
        page = render(result)
        assert page.count('id="theme"') == 1
        assert "tellapart-theme" in page[page.index("<script>") :]


def test_every_result_has_a_page(monitor, ranked, several, two, tmp_path):
    X, Y = frame(60, 0)[["age"]], frame(50, 1, 20.0)[["age"]]
    others = (
        ta.mmd_test(X, Y, permutations=99, rng=0),
        ta.learned_test(X, Y, "rbf", permutations=99, rng=0),
        ta.equivalence_test(X, Y, margin=0.5, rng=0),
        ta.plan(X, Y, repetitions=4, permutations=39, rng=0),
    )
    for result in (monitor, ranked, several, two, *others):
        result.to_html(tmp_path / "page.html", "tellapart …")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>")
        assert block(result, Headline).text.split(" (")[0] in page
        assert "tellapart …" in page


def test_the_page_of_a_test_names_its_columns(two):
    page = render(two, alpha=0.01)
    assert "The samples differ." in page
    assert "at level 0.01 together" in page
    table = page[page.index('id="columns-table"') :]
    assert 'data-name="age"' in table
    assert "larger in Y" in table
    assert page.index("Which columns differ?") < page.index("Could it be chance?")


def test_images_have_a_map_of_pixels():
    rng = np.random.default_rng(1)
    X, Y = (rng.integers(0, 256, (60, 6, 5), np.uint8) for _ in range(2))
    Y[:, 2, 3] //= 5
    page = render(ta.two_sample_test(X, Y, 99, rng=0))
    assert "Map of 6 × 5 pixels, of which 1 differ" in page
    assert "Which columns differ?" not in page


def test_notes_of_batches_do_not_repeat_their_names(monitor):
    table = block(monitor, TableBlock, "All batches")
    name, notes = table.rows[0].cells[0].text, table.rows[0].cells[-1].text
    assert name == "a long name of 2024-02-09.csv"
    assert notes.endswith("rows have a 'town' not in the reference: 'Rom'.")
    assert not notes.startswith("a long")
    page = render(monitor)
    assert re.findall('<th scope="col"[^>]*>([^<]+)<', page)[-7:][:2] == ["batch", "alarm"]


def test_names_of_batches_do_not_meet(monitor):
    found = re.findall(r'<text x="([^"]+)" y="[^"]+" text-anchor="middle">(…[^<]+)<', render(monitor))
    assert found
    places = [float(x) for x, _ in found[: len(found) // 2]]
    assert all(b - a >= 14 * 6.2 for a, b in pairwise(places))
    assert found[0][1] == "…of 2024-02-01"


def test_texts_at_an_axis_keep_apart_where_they_are_of_unequal_length():
    names = ["x" * 14, "x" * 14, "x" * 14, "y", "y", "y"]
    plot = Plot(
        PlotAxis(-0.5, 5.5, form=lambda value: names[round(value)] if value % 1 == 0 else ""), PlotAxis(0, 1), 520
    )
    ticks = plot._ticks_that_fit()
    assert all(text for _, text in ticks)
    assert plot._fit(ticks)
    assert not plot._fit([(0.0, names[0]), (1.0, names[1])])


def test_a_kernel_that_nobody_gave_is_not_said_to_be_given(ranked):
    tile = block(ranked, Headline).tiles[-1]
    assert tile.value == "Gaussians"
    assert "from the distances of rows of the reference" in tile.remark
    rng = np.random.default_rng(0)
    given = ta.rank(rng.normal(size=(40, 1)), [rng.normal(size=(40, 1)) for _ in "ab"], ta.kernels.Gaussian(1.0), rng=0)
    assert block(given, Headline).tiles[-1].remark == "given"


def test_what_disagrees_stands_at_the_headline(ranked):
    page = render(ranked)
    assert page.index("Bandwidths disagree") < page.index("How far from the reference")
    assert page.count("Bandwidths disagree") == 1


def test_columns_of_two_groups_are_told_without_a_pointer(several):
    page = render(several)
    assert re.search("sample 0 and sample 2</td><td[^>]*>age: larger in sample 2", page)
    assert "pointer" not in page[page.index("<main>") : page.index("<script>")]
    assert block(several, Matrix).cells[0][2].strong


def test_pairs_of_columns_that_go_together_differently_are_on_the_page_of_groups():
    rng = np.random.default_rng(0)
    samples = [rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 150) for rho in (0, 0.8, 0)]
    several = ta.k_sample_test(samples, permutations=99, rng=0)
    page = render(several)
    assert re.search(r"sample 0 and sample 1</td><td[^>]*>[^<]*correlation 0.13 → 0.81", page)
    table = page[page.index('id="pairs-table"') :]
    assert table.index('class="named"') < table.index("correlation")


def test_a_batch_that_differs_by_itself_is_said_at_the_headline():
    rng = np.random.default_rng(0)
    monitor = ta.Reference.fit(rng.normal(size=(400, 2)), rng=0).monitor(alpha=0.05, rng=0, permutations=99)
    monitor.add(rng.normal(size=(50, 2)) + 5, "broken.csv")
    headline = block(monitor, Headline)
    assert headline.text == "No alarm so far"
    assert "broken.csv by itself differs from the reference (p = 0.01)" in headline.explanation


def test_notes_spell_arguments_as_the_reader_of_the_page_does():
    a = np.random.default_rng(0).normal(size=120)
    X, Y = (pd.DataFrame({"id": np.arange(120)[rows], "a": a[rows]}) for rows in (slice(60), slice(60, None)))
    result = ta.two_sample_test(X, Y, 99, rng=0)
    assert "keep_columns=&#39;id&#39;" in render(result)
    assert "--keep-columns id" in render(result, "tellapart test a.csv b.csv")


def test_kinds_of_rows_are_a_table():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    Y[:60] += 8
    result = ta.two_sample_test(X, Y, permutations=99, rng=0)
    assert result.differing_kinds()
    page = render(result)
    assert "Which kinds of rows is there more of?" in page
    assert "nvented in Y: none in X, 20" in page
