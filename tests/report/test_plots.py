"""Pictures: each draws where it is told, and shows the numbers of its result."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from comparisons import EVIL

import tellapart as ta
from tellapart import report

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(0)
    return ta.k_sample_test([rng.normal(size=(60, 2)) + shift for shift in (0, 0, 1)], permutations=99, rng=0)


@pytest.fixture(scope="module")
def others():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 0.5
    monitor = ta.Reference.fit(rng.normal(size=(400, 2)), rng=0).monitor(rng=0, permutations=39)
    for day in range(3):
        monitor.add(rng.normal(size=(50, 2)) + day)
    return (
        ta.equivalence_test(X, Y, margin=0.5, rng=0),
        ta.plan(X, Y, repetitions=4, permutations=39, rng=0),
        ta.rank(X, {"$a": Y, "b": X + 0.1}, rng=0),
        monitor,
    )


def drawn(axes):
    """Whether the whole figure can be drawn, also with odd names."""
    axes.figure.canvas.draw()
    return axes


def test_every_picture_draws_on_the_axes_it_is_given(table, images, learned_table, several, others):
    pictures = (
        (ta.plots.null_distribution, table),
        (ta.plots.null_distribution, learned_table),
        (ta.plots.columns, table),
        (ta.plots.columns, table.columns),
        (ta.plots.pairs, table),
        (ta.plots.witness, table),
        (ta.plots.roc, table),
        (ta.plots.slices, table),
        (ta.plots.slices, replace(table, slices=())),
        (ta.plots.pixel_map, images),
        (ta.plots.weights, learned_table),
        (ta.plots.k_samples, several),
        (ta.plots.equivalence, others[0]),
        (ta.plots.power, others[1]),
        (ta.plots.ranking, others[2]),
        (ta.plots.monitor, others[3]),
    )
    assert {picture.__name__ for picture, _ in pictures} | {"plot"} == set(report.plots.__all__)
    for picture, result in pictures:
        _, ax = plt.subplots()
        assert drawn(picture(result, ax=ax)) is ax
        assert drawn(picture(result)) is not ax
        plt.close("all")


def test_plot_draws_what_says_most(table, images, nothing, learned_table, learned_images, several, others):
    assert drawn(table.plot()).get_xlabel() == "effect"
    assert drawn(table.pairs.plot()).get_xlabel() == "difference of correlations"
    assert drawn(table.columns[0].plot()).get_yticklabels()[0].get_text().startswith(table.columns[0].name[:10])
    assert "9 of 144 pixels differ" in drawn(images.plot()).get_title()
    assert "9 of 144 pixels differ" in drawn(images.test.plot()).get_title()
    assert drawn(learned_table.plot()).get_xlabel() == "weight"
    assert drawn(learned_images.plot()).images
    assert drawn(learned_table.test.plot()).get_xlabel() == "MMD²"
    assert drawn(learned_table.test.halves[0].plot()).get_xlabel() == "MMD²"
    assert drawn(several.plot()).get_title() == "p-values, two samples at a time"
    assert drawn(several.pairwise[0].plot()).get_yticklabels()
    labels = ["MMD", "rows of the first sample", "MMD² from the reference", "batch"]
    assert [drawn(result.plot()).get_xlabel() for result in others] == labels
    assert not any(
        len(line.get_facecolors()) and line.get_facecolors()[0][2] < 1 for line in nothing.plot().collections
    )


def test_numbers_in_pictures_are_those_of_the_result(table):
    labels = [text.get_text() for text in ta.plots.roc(table).get_legend().get_texts()]
    assert labels == ["AUC {:.3f} [{:.3f}, {:.3f}]".format(table.auc, *table.auc_interval)]
    curve = ta.plots.roc(table).lines[1]
    area = np.trapezoid(curve.get_ydata(), curve.get_xdata())
    assert area == pytest.approx(table.auc, abs=0.01)
    first = ta.plots.columns(table, count=3)
    assert len(first.get_yticks()) == 3
    assert any(EVIL[:20] in text.get_text() for text in ta.plots.columns(table).get_yticklabels())
    slices = ta.plots.slices(table)
    assert sorted({round(bar.get_width()) for bar in slices.patches}) == [4, 11]


def test_what_lies_far_out_does_not_hide_the_rest(others):
    rng = np.random.default_rng(0)
    far = ta.mmd_test(rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 6, rng=0)
    ax = drawn(far.plot())
    low, high = ax.get_xlim()
    assert np.ptp(far.null_distribution) > (high - low) / 4
    assert not low <= far.statistic <= high
    assert "far beyond" in ax.get_legend().get_texts()[-1].get_text()


def test_names_and_legends_do_not_meet(table, others):
    ax = drawn(table.plot())
    assert not ax.get_legend().get_window_extent().overlaps(ax.xaxis.get_tightbbox())
    batches = drawn(others[3].plot())
    assert batches.get_xticks().tolist() == [0, 1, 2]
    assert [text.get_text() for text in batches.get_xticklabels()] == [one.name for one in others[3].records]


def test_errors_say_what_to_do(table, monkeypatch):
    with pytest.raises(ValueError, match="not about pixels"):
        ta.plots.pixel_map(table)
    with pytest.raises(ValueError, match="test='ard'"):
        ta.plots.weights(table)
    with pytest.raises(TypeError, match="no plot of int"):
        ta.plots.plot(3)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'tellapart\[plots\]'"):
        table.plot()
