"""``--features``: texts on the command line, in every command that reads samples."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart.cli import main

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "seven", "wizards", "mix", "bold", "potions"]
FAST = ["--permutations", "99"]


def texts(seed, count=80, extra=""):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 6)) + extra for _ in range(count)]


def said(capsys, *arguments, code=0):
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, values in {"a": texts(0), "b": texts(1), "c": texts(2, extra="!")}.items():
        table = pd.DataFrame({"review": values, "site": ["u", "v"] * 40, "stars": np.arange(80.0) % 5})
        table.to_csv(f"{name}.csv", index=False)
        table[["review"]].to_json(f"{name}.jsonl", orient="records", lines=True)
        table.to_parquet(f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_texts_in_files_are_compared_as_in_python(folder, capsys, suffix):
    columns = [] if suffix == "jsonl" else ["--columns", "review"]
    for how, unit in (("ngrams", "character"), ("word-ngrams", "word")):
        call = ["test", f"a.{suffix}", f"c.{suffix}", *columns, "--features", how, *FAST, "--json", "-"]
        found = json.loads(said(capsys, *call))
        features = ta.features.hashing_ngrams(unit=unit)
        expected = ta.two_sample_test(texts(0), texts(2, extra="!"), 99, features=features, rng=0)
        assert (found["pvalue"], found["statistic"]) == (expected.pvalue, expected.statistic)


def test_every_command_takes_them(folder, capsys):
    given = ["--columns", "review", "--features", "ngrams"]
    told = said(capsys, "compare", "a.csv", "c.csv", *given, *FAST)
    assert "The samples differ" in told
    assert "free text" not in told
    assert "No difference is seen" in said(capsys, "compare", "--by", "site", "a.csv", *given, *FAST)
    assert "MMD²" in said(capsys, "rank", "a.csv", "b.csv", "c.csv", *given)


def test_a_reference_has_the_name_of_its_features(folder, capsys):
    given = ["--columns", "review", "--features", "ngrams", "--quiet"]
    assert main(["reference", "a.csv", "-o", "r.tellapart", *given]) == 0
    assert main(["reference", "a.csv", "-o", "plain.tellapart", "--columns", "stars", "--quiet"]) == 0
    assert "b.csv (80 rows): no alarm" in said(capsys, "watch", "r.tellapart", "b.csv", "--features", "ngrams")
    # One that Python fitted is the same.
    ta.Reference.fit(texts(0), features=ta.features.hashing_ngrams(), rng=0).save("python.tellapart")
    assert "no alarm" in said(capsys, "watch", "python.tellapart", "b.jsonl", "--features", "ngrams")
    ta.Reference.fit(texts(0), features=ta.features.hashing_ngrams(unit="word"), rng=0).save("words.tellapart")
    ta.Reference.fit(texts(0), features=ta.features.characters(40), rng=0).save("bytes.tellapart")
    wrong = {
        ("r.tellapart",): "was fitted with hashing_ngrams((1, 2, 3), character): give --features ngrams.",
        (
            "r.tellapart",
            "--features",
            "word-ngrams",
        ): "not with hashing_ngrams((1, 2, 3), word): give --features ngrams.",
        ("words.tellapart",): "was fitted with hashing_ngrams((1, 2, 3), word): give --features word-ngrams.",
        ("bytes.tellapart",): "was fitted with characters(40), which is not stored: give the same --features.",
        ("plain.tellapart", "--features", "ngrams"): "was fitted without features. Leave out --features.",
    }
    for (reference, *more), message in wrong.items():
        assert message in said(capsys, "watch", reference, "b.csv", *more, code=2)


def test_texts_without_features_say_what_to_give(folder, capsys):
    alone = said(capsys, "test", "a.jsonl", "b.jsonl", code=2)
    assert alone.endswith("in 'review'. Compare it as text with --features ngrams.\n")
    table = said(capsys, "test", "a.csv", "b.csv")
    assert "It is left out. To compare it alone, as text, give --columns review and --features ngrams." in table
    table = said(capsys, "test", "a.csv", "b.csv", "--keep-columns", "review", code=2)
    assert "--drop review, or compare it alone, as text, with --columns review and --features ngrams." in table
    several = said(capsys, "test", "a.csv", "b.csv", "--features", "ngrams", code=2)
    assert "X (a.csv) has columns of text or dates. --features needs numbers or images." in several
    assert "Choose one column of text with --columns" in several
    numbers = said(capsys, "test", "a.csv", "b.csv", "--columns", "stars", "--features", "ngrams", code=2)
    assert "These features apply to texts" in numbers


@pytest.mark.parametrize("how", ["", "letters", "model:", "onnx: ", "ngrams:3", "\x1b[2J"])
def test_other_features_are_a_wrong_call(folder, capsys, how):
    with pytest.raises(SystemExit, match="2"):
        main(["test", "a.jsonl", "b.jsonl", "--features", how])
    assert "is not ngrams, word-ngrams, words, model:FOLDER or onnx:FILE" in capsys.readouterr().err


def test_models_that_are_not_there(folder, capsys):
    assert "File not found: m.onnx" in said(capsys, "test", "a.jsonl", "b.jsonl", "--features", "onnx:m.onnx", code=2)
