"""Words, phrases, beginnings and endings of texts: which columns there are, and what tests and pages say of them."""

from __future__ import annotations

import ast
import json
import sysconfig
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import tellapart as ta
from tellapart.cli import main
from tellapart.data import read
from tellapart.data.samples import Variable
from tellapart.integrations import words as module
from tellapart.integrations.words import FittedWords, Part
from tellapart.report import schema
from tellapart.twosample.rules import Bound, as_condition

CORPUS = [
    "The dog barks.",
    "The dog sleeps. Good dog!",
    "A cat sleeps.",
    "the CAT barks",
    "Don't bark, dog!",
    "",
]


def occurrences(column, texts=CORPUS):
    """In which texts a part occurs, from the features."""
    text, place = column
    return FittedWords([Part(text, place)])(texts)[:, 0].astype(int).tolist()


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("dog", "is in", [1, 1, 0, 0, 1, 0]),
        ("cat", "is in", [0, 0, 1, 1, 0, 0]),
        ("bark", "is in", [0, 0, 0, 0, 1, 0]),
        ("don't", "is in", [0, 0, 0, 0, 1, 0]),
        ("the dog", "is in", [1, 1, 0, 0, 0, 0]),
        ("sleeps good", "is in", [0, 0, 0, 0, 0, 0]),  # a full stop lies between
        ("good dog", "is in", [0, 1, 0, 0, 0, 0]),
        ("!", "is in", [0, 1, 0, 0, 1, 0]),
        ("The", "begins", [1, 1, 0, 0, 0, 0]),
        ("the", "begins", [0, 0, 0, 1, 0, 0]),
        ("The dog", "begins", [1, 1, 0, 0, 0, 0]),
        ("sleeps.", "ends", [0, 0, 1, 0, 0, 0]),
        (".", "ends", [1, 0, 1, 0, 0, 0]),
        ("dog!", "ends", [0, 1, 0, 0, 1, 0]),
    ],
)
def test_parts_occur_where_they_do_by_hand(text, place, expected):
    assert occurrences((text, place)) == expected
    found = [bool(FittedWords([Part(text, place)]).find_part(Part(text, place).name, one)) for one in CORPUS]
    assert found == [bool(value) for value in expected]


def test_lengths_are_counted():
    (row,) = FittedWords([])(["Ab 12\nc"])
    np.testing.assert_allclose(row, [3, 7, 2, 1 / 3, 2 / 7], rtol=1e-6)


def test_words_of_languages_without_spaces_are_characters():
    assert occurrences(("好", "is in"), ["你好。", "你们"]) == [1, 0]
    assert occurrences(("你 好", "is in"), ["你好。", "你们"]) == [1, 0]
    assert occurrences(("你", "begins"), ["你好。", "好你"]) == [1, 0]
    assert FittedWords([Part("你 好", "is in")]).find_part("“你 好” is in", "你好") == [(0, 2)]


def brute_force(texts, least):
    """How often each word and phrase occurs in texts without punctuation, of those that may have a column."""
    counts = {}
    for text in texts:
        parts = text.lower().split()
        phrases = {" ".join(parts[k : k + size]) for size in (1, 2, 3) for k in range(len(parts) - size + 1)}
        for phrase in phrases:
            counts[phrase] = counts.get(phrase, 0) + 1
    return {phrase for phrase, count in counts.items() if least <= count <= len(texts) - least}


def test_columns_are_those_of_counting_by_hand():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["red", "green", "blue", "tall", "small"], 6)) for _ in range(60)]
    fitted = ta.features.words(10_000).fit_texts(texts)
    found = {part.text for part in fitted.parts if part.place == "is in"}
    expected = sorted(brute_force(texts, 5))
    assert found <= set(expected)
    # Of parts that differ in fewer than 5 texts one is kept.
    kept = fitted(texts)[:, : len(fitted.parts)]
    wanted = FittedWords([Part(text, "is in") for text in expected])(texts)[:, : len(expected)]
    assert (np.abs(wanted[:, :, None] - kept[:, None]).sum(0).min(1) < 5).all()
    apart = np.abs(kept[:, :, None] - kept[:, None]).sum(0)
    assert (apart[~np.eye(len(apart), dtype=bool)] >= 5).all()


def test_neither_labels_nor_order_matter():
    texts = docstrings()[:300]
    shuffled = [texts[k] for k in np.random.default_rng(1).permutation(len(texts))]
    assert ta.features.words().fit_texts(texts).parts == ta.features.words().fit_texts(shuffled).parts


def test_many_texts_are_drawn_by_what_they_are(monkeypatch):
    monkeypatch.setattr(module, "_TEXTS", 200)
    texts = [*docstrings()[:300], *["yes"] * 300]
    drawn = module._draw(texts)
    assert len(drawn) == 200
    assert 60 < drawn.count("yes") < 140  # equal texts are drawn one by one
    assert drawn == module._draw(texts[::-1])


def test_columns_are_at_most_what_is_wanted_of_all_kinds():
    fitted = ta.features.words(30).fit_texts(docstrings()[:400])
    assert len(fitted.parts) == 30
    assert {part.place for part in fitted.parts} == {"begins", "ends", "is in"}
    assert fitted.output_names == [*(part.name for part in fitted.parts), *module._NUMBERS]


@cache
def docstrings():
    """Docstrings of the standard library, in random order."""
    folder, found = Path(sysconfig.get_paths()["stdlib"]), []
    for path in sorted([*folder.glob("*.py"), *folder.glob("*/*.py")]):
        if {"test", "site-packages", "idlelib"} & set(path.parts):
            continue
        try:
            nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        known = (ast.get_docstring(n) for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef)))
        found += [text for text in known if text and len(text) > 20]
    found = sorted(set(found))
    return [found[k] for k in np.random.default_rng(0).permutation(len(found))]


def sure(count, share, seed=0):
    """Two samples of docstrings; "Sure! " stands before some of the second."""
    texts, rng = docstrings()[: 2 * count], np.random.default_rng(seed)
    return texts[:count], [f"Sure! {text}" if rng.random() < share else text for text in texts[count:]]


def test_what_begins_some_answers_is_named_first():
    X, Y = sure(700, 0.19)
    result = ta.two_sample_test(X, Y, features=ta.features.words(), rng=0)
    assert result.pvalue == result.min_pvalue
    first = result.differing_columns(0.05)[0]
    assert (first.name, first.kind) == ("“Sure!” begins", "share")
    assert first.pvalue == result.min_pvalue
    assert first.effect == pytest.approx(np.mean([text.startswith("Sure!") for text in Y]))
    assert f"{100 * first.effect:.0f} % of Y, 0 % of X" in first.description


def count_false(splits, count, permutations):
    """In how many random splits of one collection of texts something is named."""
    texts, named = docstrings()[: 2 * count], 0
    fitted = ta.features.words().fit_texts(texts)
    for seed in range(splits):
        order = np.random.default_rng([7, seed]).permutation(2 * count)
        X, Y = ([texts[k] for k in part] for part in (order[:count], order[count:]))
        named += bool(ta.two_sample_test(X, Y, permutations, features=fitted, rng=seed).differing_columns(0.05))
    return named


def test_under_the_null_hardly_anything_is_named():
    assert count_false(6, 100, 199) <= 2


@pytest.mark.full
def test_under_the_null_nothing_is_named_in_95_of_100_splits():
    assert count_false(100, 700, 999) <= 5


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Answers to four prompts; one model begins those to the first prompt with "Sure!"."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    prompts = ["poem", "sum", "name", "list"] * 30
    for name in "ab":
        texts = [" ".join(rng.choice(["yes", "no", "perhaps", "surely", "never"], 6)) for _ in prompts]
        if name == "b":
            texts = [
                f"Sure! {t}" if p == "poem" and k % 8 else t
                for k, (t, p) in enumerate(zip(texts, prompts, strict=True))
            ]
        rows = [{"prompt": prompt, "answer": text} for prompt, text in zip(prompts, texts, strict=True)]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        Path(f"{name}.csv").write_text("prompt,answer\n" + "".join(f"{r['prompt']},{r['answer']}\n" for r in rows))
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    return tmp_path


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_the_command_line_names_parts_texts_and_prompts(answers, capsys, suffix):
    call = ["compare", f"a.{suffix}", f"b.{suffix}", "--columns", "answer", "--items", "prompt", "--features", "words"]
    assert main([*call, "--report", "r.html", "--json", "r.json", "--quiet"]) == 0
    found = json.loads(Path("r.json").read_text())
    jsonschema.validate(found, schema())
    assert "“Sure!” begins" in found["named"]["columns"]
    begins = next(one for one in found["texts"] if one["column"] == "“Sure!” begins")
    assert begins["items"] == [{"item": "poem", "x": [0, 30], "y": [15, 30]}]
    for example in begins["examples"]:
        assert (example["sample"], example["item"], example["spans"]) == ("Y", "poem", [[0, 5]])
        row = json.loads(Path("b.jsonl").read_text().splitlines()[example["row"]])
        assert example["text"] == row["answer"]
        counterpart = json.loads(Path("a.jsonl").read_text().splitlines()[0])  # the first answer to this prompt
        assert example["counterpart"] == counterpart["answer"]
    page = Path("r.html").read_text()
    assert "<mark>Sure!</mark>" in page
    assert "Items that differ most" in page


@pytest.mark.parametrize(("above", "text"), [(True, "“!” is in"), (False, "not “!” is in")])
def test_rules_say_what_occurs(above, text):
    assert str(as_condition(Bound(0, above, 0.5), Variable("“!” is in", "occurrence", (0,)))) == text


def test_files_of_lines_are_texts(answers, capsys):
    assert main(["test", "a.txt", "b.txt", "--features", "words", "--json", "r.json", "--quiet"]) == 0
    found = json.loads(Path("r.json").read_text())
    # All other texts have six words.
    assert {one["name"] for one in found["columns"][:2]} == {"“Sure!” begins", "number of words"}
    lists = [Path(name).read_text().splitlines() for name in ("a.txt", "b.txt")]
    assert found["pvalue"] == ta.two_sample_test(*lists, features=ta.features.words(), rng=0).pvalue


def test_texts_are_shown_as_they_came(tmp_path):
    X, Y = ["42", "43"] * 30, ["42", "43\n\nAnything\nelse?"] * 30
    result = ta.compare(X, Y, features=ta.features.words(), rng=0)
    named = next(one for one in result.texts() if "43 Anything else?" in one.column)
    assert (named.examples[0].text, named.examples[0].spans) == (Y[1], [(0, len(Y[1]))])
    result.to_html(tmp_path / "r.html")
    assert "<mark>43\n\nAnything\nelse?</mark>" in (tmp_path / "r.html").read_text("utf-8")


def test_other_features_have_no_texts_to_show():
    X, Y = ["yes", "no"] * 20, ["yes!", "no!"] * 20
    assert ta.compare(X, Y, features=ta.features.hashing_ngrams(), rng=0).texts() == ()


def test_new_texts_are_judged_by_the_same_columns():
    X, Y = sure(60, 0.8)
    result = ta.compare(X, Y, features=ta.features.words(), rng=0)
    values = result.witness(["Sure! It works.", "It works."])
    assert values[0] < values[1]


def test_what_must_be_chosen_on_all_texts_is_not_chosen_on_some():
    for call in (lambda: read(CORPUS, features=ta.features.words()), lambda: ta.features.words()(CORPUS)):
        with pytest.raises(ta.InputError, match="on the texts of all samples together") as error:
            call()
        assert error.value.id == "features-not-fitted"
    with pytest.raises(ta.InputError, match="chosen beforehand") as error:
        ta.Reference.fit(CORPUS * 10, features=ta.features.words())
    assert error.value.id == "features-not-fitted"
    with pytest.raises(ta.InputError, match="max_columns"):
        ta.features.words(0)
    with pytest.raises(ta.InputError, match="These features apply to texts"):
        ta.two_sample_test(np.zeros((9, 2)), np.ones((9, 2)), features=ta.features.words())


def test_a_reference_takes_columns_that_were_chosen_before(tmp_path):
    texts = docstrings()
    fitted = ta.features.words(50).fit_texts(texts[:300])
    reference = ta.Reference.fit(texts[300:900], features=fitted, rng=0)
    reference.save(tmp_path / "r.tellapart")
    again = ta.Reference.load(tmp_path / "r.tellapart", features=fitted)
    assert again.test([f"Sure! {text}!" for text in texts[900:1000]], rng=0).reject(0.01)


def test_several_samples_are_compared_by_the_same_columns():
    X, Y = sure(80, 0.6)
    result = ta.k_sample_test([X[:40], X[40:], Y[:40]], features=ta.features.words(), rng=0)
    assert result.reject(0.01)
    named = next(one for one in result.columns if one.name == "“Sure!” begins")
    assert "in X3" in named.description or "%" in named.description
