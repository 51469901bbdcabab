"""What commands say of calls and data that are not what was meant, in the words of the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tellapart.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in "ab":
        table = {"v": rng.normal(size=80), "step": np.arange(80), "patient": np.arange(80) % 20}
        pd.DataFrame(table | {"site": rng.choice(["s", "t"], 80)}).to_csv(f"{name}.csv", index=False)
        np.save(f"{name}.npy", rng.normal(size=(30, 2)))
    return tmp_path


def said(capsys, *arguments, code=0):
    """What is printed, on either stream, in one line."""
    assert main([*arguments]) == code
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


def test_the_kernel_of_a_comparison_has_one_name(folder, capsys):
    with pytest.raises(SystemExit):
        main(["compare", "a.csv", "b.csv", "--kernel", "rbf"])
    assert "unrecognized arguments: --kernel" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["r.pdf", "r.png", "r.json"])
def test_a_report_that_is_called_something_else(folder, capsys, name):
    assert "is an HTML page" in said(capsys, "compare", "a.csv", "b.csv", "--report", name, code=2)
    assert not (folder / name).exists()


def test_arrays_are_called_by_their_files(folder, capsys):
    assert "a.npy (30 rows), b.npy (30 rows)" in said(capsys, "test", "a.npy", "b.npy", "--permutations", "39")


def test_groups_and_strata_are_called_by_their_columns(folder, capsys):
    columns = ["--groups", "patient", "--strata", "site"]
    for command in ("test", "compare"):
        told = said(capsys, command, "a.csv", "b.csv", *columns, code=2)
        assert "A group ('patient') must lie in one s" in told


def test_a_column_that_counts_the_rows(folder, capsys):
    """The advice is that of the command line."""
    told = said(capsys, "test", "a.csv", "b.csv", "--permutations", "39")
    assert (
        "'step' numbers the rows (0 to 79). It is left out. To compare it nevertheless, give --keep-columns step."
        in told
    )
    assert "--drop" not in told
    for command in ("test", "compare"):
        kept = said(capsys, command, "a.csv", "b.csv", "--permutations", "39", "--keep-columns", "step")
        assert "It is left out" not in kept
        strange = said(capsys, command, "a.csv", "b.csv", "--keep-columns", "stp", code=2)
        assert strange == (
            "tellapart: There is no column 'stp' to keep. Did you mean 'step'? There are 'v', 'step', "
            "'patient', 'site'. Correct --keep-columns."
        )


def test_a_pipeline_does_not_fail_by_ids(folder, capsys):
    rng = np.random.default_rng(0)
    for name, first in (("c", 1000), ("d", 5000)):
        texts = [f"text {first} {k}" for k in range(80)]
        pd.DataFrame({"id": np.arange(first, first + 80), "review": texts, "v": rng.normal(size=80)}).to_csv(
            f"{name}.csv", index=False
        )
    files = ["c.csv", "d.csv", "--permutations", "39", "--fail-on-difference"]
    told = said(capsys, "test", *files)
    assert "'id' numbers the rows (1000 to 5079). It is left out." in told
    assert "To compare it alone, as text, give --columns review and --features ngrams." in told
    assert "No difference is seen" in said(capsys, "compare", *files)
    assert "Columns that differ (adjusted p ≤ 0.025): 1 of 2 id:" in said(
        capsys, "test", *files, "--keep-columns", "id", code=1
    )


def test_the_same_file_twice(folder, capsys):
    assert "The same file was given twice: a.csv." in said(capsys, "test", "a.csv", "a.csv", "--permutations", "39")
    told = said(capsys, "rank", "a.npy", "a.npy", "b.npy")
    assert "Note: The same file was given twice: a.npy." in told


def test_columns_of_a_reference_that_go_on_are_left_out(folder, capsys):
    """A later batch of unchanged data would differ by the date alone."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=100, freq="h")
    table = {"ts": days, "order_id": rng.permutation(100), "step": np.arange(100), "v": rng.normal(size=100)}
    pd.DataFrame(table).to_csv("r.csv", index=False)
    told = said(capsys, "reference", "r.csv", "-o", "r.tellapart")
    for name in ("ts", "order_id", "step"):
        assert f"It is left out. To compare it nevertheless, give --keep-columns {name}." in told
    assert "'v'" not in told
    kept = said(capsys, "reference", "r.csv", "-o", "r.tellapart", "--keep-columns", "ts,order_id")
    assert kept.count("It is left out") == 1
    quiet = said(capsys, "reference", "r.csv", "-o", "r.tellapart", "--drop", "ts,order_id,step")
    assert "Note" not in quiet


def test_images_and_a_table(folder, capsys):
    images = pytest.importorskip("PIL.Image")
    (folder / "real").mkdir()
    for k in range(4):
        images.fromarray(np.full((8, 8), 60 * k, np.uint8)).save(folder / "real" / f"{k}.png")
    told = said(capsys, "compare", "real", "a.csv", code=2)
    assert "X (real) holds images of 8 × 8, and Y (a.csv) is a table of 4 columns: they cannot be compared" in told
    assert "--image-shape" not in told


def test_codes_with_a_zero_in_front(folder, capsys):
    """Postcodes are no quantities, also where a file happens to have none that begins with 0."""
    rng = np.random.default_rng(0)
    pd.DataFrame({"zip": rng.choice(["01234", "80331"], 60), "v": rng.normal(size=60)}).to_csv("x.csv", index=False)
    pd.DataFrame({"zip": rng.choice(["80331", "99999"], 60), "v": rng.normal(size=60)}).to_csv("y.csv", index=False)
    told = said(capsys, "test", "x.csv", "y.csv", "--permutations", "99")
    assert "'zip' is read as text: values such as '01234' begin with 0." in told
    assert "zip: '" in told
    drawn = said(capsys, "test", "x.csv", "y.csv", "--permutations", "99", "--max-rows", "50")
    assert "'zip' is read as text" in drawn
    assert main(["reference", "x.csv", "-o", "x.tellapart", "--quiet"]) == 0
    assert "zip: '" in said(capsys, "watch", "x.tellapart", "y.csv")
    assert main(["reference", "y.csv", "-o", "y.tellapart", "--quiet"]) == 0
    assert main(["watch", "y.tellapart", "x.csv"]) == 0


def test_numbers_of_several_lengths_are_no_codes(folder, capsys):
    rng = np.random.default_rng(0)
    for name in "xy":
        cells = [f"0{k}" for k in rng.integers(1, 500, 60)]
        pd.DataFrame({"n": cells, "v": rng.normal(size=60)}).to_csv(f"{name}.csv", index=False)
    assert "read as text" not in said(capsys, "test", "x.csv", "y.csv", "--permutations", "39")
