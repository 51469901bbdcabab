"""The notebook of the documentation, run as a reader runs it: cards, pictures and a progress bar."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("ipywidgets")

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
#: Set to a folder to keep the notebook with its outputs.
KEPT = os.environ.get("TELLAPART_SCREENSHOTS")


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # none are stored
    folder = tmp_path_factory.mktemp("notebook")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # of Jupyter's own libraries
        patch.setenv("IPYTHONDIR", str(folder))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder))
        nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        ).execute()
    if KEPT:
        nbformat.write(notebook, Path(KEPT) / "notebook.ipynb")
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell, kind):
    return [out["data"][kind] for out in cell.outputs if kind in out.get("data", {})]


def by_source(cells, text):
    return next(cell for cell in cells if cell.source.strip().endswith(text))


def test_results_are_cards(cells):
    for source in ("\nresult", "\ncomparison", "below(0.05)", "months"):
        (card,) = shown(by_source(cells, source), "text/html")
        assert 'class="tellapart"' in card
    (card,) = shown(by_source(cells, "\ncomparison"), "text/html")
    assert "The samples differ." in card
    assert ">bp<" in card


def test_pictures_are_shown(cells):
    drawing = [cell for cell in cells if cell.source.strip().endswith(";")]
    assert len(drawing) == 4
    assert all(len(shown(cell, "image/png")) == 1 for cell in drawing)


def test_progress_is_a_widget_and_nothing_is_complained_about(cells):
    compared = by_source(cells, "\ncomparison")
    assert shown(compared, "application/vnd.jupyter.widget-view+json")
    for cell in cells:
        assert not [out for out in cell.outputs if out.get("name") == "stderr"], cell.source
