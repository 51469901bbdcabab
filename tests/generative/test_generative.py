"""Generative models: every one trains, resumes exactly after kill -9, and fails clearly."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart import generative
from tellapart._util import files
from tellapart.generative import Callback, Trainer, checkpoints, models, read_log
from tellapart.generative.callbacks import TensorBoard
from tellapart.generative.models import base, improved_gan

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"batch_size": 40, "hidden": [16, 32], "log_every": 1, "evaluate_every": 10, "checkpoint_every": 10}
OF_MODEL = {
    "feature-matching": {"discriminator": [32, 16]},
    "improved-gan": {"labels": 100, "discriminator": [32, 16], "minibatch_kernels": 5, "minibatch_dimension": 3},
    "adversarial": {"features": [32, 8]},
}
VARIANTS = {
    **{name: (name, OF_MODEL.get(name, {})) for name in generative.MODELS},
    "gmmn on codes": ("gmmn", {"codes": 6, "autoencoder_steps": 3, "autoencoder_hidden": [20]}),
    "means": ("feature-matching", {"discriminator": [32, 16], "match": "means"}),
    "convolutional": ("improved-gan", OF_MODEL["improved-gan"] | {"convolutional": True, "channels": [4, 6]}),
    "unlabelled": ("improved-gan", OF_MODEL["improved-gan"] | {"labels": 0}),
}


@pytest.fixture(scope="module")
def digits():
    return generative.load("digits")


def trained(name, digits, out, given=None, **arguments):
    arguments = {"rng": None if arguments.get("resume") else 0, "device": "cpu"} | arguments
    trainer = Trainer(name, digits, out, SMALL | OF_MODEL.get(name, {}) | (given or {}), **arguments)
    trainer.run()
    return trainer


def same_state(a, b):
    (first, facts), (second, others) = (checkpoints.read_run(trainer.path) for trainer in (a, b))
    assert facts["step"] == others["step"]
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_model_takes_steps_and_resumes_exactly(variant, digits, tmp_path):
    name, given = VARIANTS[variant]
    whole = trained(name, digits, tmp_path / "whole", given | {"steps": 8})
    trained(name, digits, tmp_path / "parts", given | {"steps": 5})
    parts = trained(name, digits, tmp_path / "parts", given | {"steps": 8}, resume=True)
    same_state(whole, parts)
    assert (tmp_path / "whole/log.jsonl").read_text() == (tmp_path / "parts/log.jsonl").read_text()
    log = read_log(tmp_path / "whole/log.jsonl")
    assert [entry["step"] for entry in log] == list(range(1, 9))
    assert all(np.isfinite(list(entry.values())).all() for entry in log)
    initial = Trainer(name, digits, tmp_path / "new", SMALL | given, rng=0).model.networks["generator"].state_dict()
    final = whole.model.networks["generator"].state_dict()
    assert any(not torch.equal(initial[key], final[key]) for key in initial)
    images = generative.sample(tmp_path / "whole", 7, rng=3)
    assert images.shape == (7, 8, 8)
    assert images.dtype == np.uint8
    assert (images == generative.sample(tmp_path / "parts", 7, rng=3)).all()
    model = generative.open_run(tmp_path / "whole")[0]
    assert not torch.equal(*(model.sample(7, checkpoints.make_generator(seed)) for seed in (3, 4)))


def test_training_makes_samples_more_like_the_data(digits, tmp_path):
    before = ta.mmd2(
        Trainer("gmmn", digits, tmp_path / "new", SMALL, rng=0).model.sample(200, checkpoints.make_generator(0)),
        digits.held_out,
        kernel := base.paper_kernel(models.GMMN.settings_class().bandwidths, digits.pixels),
    )
    model = trained("gmmn", digits, tmp_path / "run", {"steps": 300, "checkpoint_every": 300}).model
    assert ta.mmd2(model.sample(200, checkpoints.make_generator(0)), digits.held_out, kernel) < before / 5


# Dies of SIGKILL with half of the checkpoint of step 40 written.
DIES = """
import os, signal, sys
from tellapart.cli import main
import safetensors.torch as files
save, calls = files.save_file, []
def half(tensors, path, facts):
    save(tensors, path, facts)
    calls.append(path)
    if len(calls) == 5:
        os.truncate(path, os.path.getsize(path) // 2)
        os.kill(os.getpid(), signal.SIGKILL)
files.save_file = half
main(sys.argv[1:])
"""


def test_killed_runs_end_as_others_do(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    whole, killed, torn = (tmp_path / name for name in ("whole", "killed", "torn"))
    np.savez(data := tmp_path / "images.npz", images=generative.load("digits").rows.reshape(-1, 8, 8))
    given = {"batch_size": 40, "hidden": [16, 32], "log_every": 1, "evaluate_every": 20, "checkpoint_every": 10}
    words = ["train", "gmmn", "--data", str(data), "--set", *(f"{k}={v}" for k, v in given.items()), "--out"]
    endless = subprocess.Popen([sys.executable, "-m", "tellapart", *words, str(killed)])
    dying = subprocess.Popen([sys.executable, "-c", DIES, *words, str(torn)])
    generative.train("gmmn", str(data), whole, given | {"steps": 60}, rng=0)
    while endless.poll() is None:
        if len(read_log(killed / "log.jsonl")) > 24:
            endless.kill()
        time.sleep(0.01)
    assert [endless.wait(), dying.wait()] == [-signal.SIGKILL] * 2
    assert checkpoints.read_run(torn / "checkpoint.safetensors")[1]["step"] == 30
    assert list(torn.glob(".tellapart-*.unfinished"))
    assert read_log(torn / "log.jsonl")[-1]["step"] == 40
    for folder in (killed, torn):
        steps = max(60, checkpoints.read_run(folder / "checkpoint.safetensors")[1]["step"])
        generative.train("gmmn", str(data), folder, given | {"steps": steps}, resume=True)
        assert read_log(folder / "log.jsonl", 60) == read_log(whole / "log.jsonl")
        for step in (20, 40, 60):
            pictures = [run / "samples" / f"step-{step:06}.png" for run in (whole, folder)]
            assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert (generative.sample(whole, 20, rng=0) == generative.sample(torn, 20, rng=0)).all()


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_checkpoint(digits, tmp_path, monkeypatch):
    trainer = Trainer("gmmn", digits, tmp_path, SMALL | {"steps": 50}, rng=0)
    honest = trainer.model.loss.forward

    def forward(made, rows):
        return honest(made, rows) * (float("nan") if trainer.step == 24 else 1)

    trainer.model.loss.forward = forward
    with pytest.raises(
        generative.Diverged, match=r"Step 25: the loss of the generator is nan\. The checkpoint of step 20"
    ):
        trainer.run()
    assert checkpoints.read_run(trainer.path)[1]["step"] == 20
    resumed = trained("gmmn", digits, tmp_path, {"steps": 50}, resume=True)
    same_state(resumed, trained("gmmn", digits, tmp_path / "other", {"steps": 50}))


def test_a_gradient_that_is_not_finite_does_not_reach_the_weights(digits, tmp_path):
    trainer = Trainer("gmmn", digits, tmp_path, SMALL | {"steps": 5})
    trainer.model.loss.forward = lambda made, rows: (made - made.detach()).sum().abs().sqrt()
    with pytest.raises(generative.Diverged, match="gradient"):
        trainer.run()
    assert all(torch.isfinite(p).all() for p in trainer.model.networks["generator"].parameters())


def test_the_command_line_says_in_one_line_what_diverged(tmp_path, capsys):
    from tellapart.cli import main

    arguments = ["train", "gmmn", "--data", "digits", "--out", str(tmp_path / "run"), "--steps", "200"]
    assert main([*arguments, "--set", "batch_size=40", "hidden=16,16", "learning_rate=1e30"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tellapart: Step ")
    assert error.count("\n") == 1
    assert generative.sample(tmp_path / "run", 2).shape == (2, 8, 8)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("gmmn", {"learning_rat": 1}, "Did you mean 'learning_rate'"),
        ("t-gmmn", {"labels": 1}, "'labels' is not a setting of TGMMN"),
        ("gmmn", {"steps": 0}, "steps must be a whole number above 0, got 0"),
        ("gmmn", {"steps": 1.5}, "steps must be a whole number"),
        ("gmmn", {"learning_rate": float("nan")}, "learning_rate must be a number"),
        ("gmmn", {"hidden": 64}, "hidden must be a list"),
        ("gmmn", {"hidden": ["x"]}, "hidden must be a whole number"),
        ("feature-matching", {"match": "medians"}, "match must be one of mmd, means, got"),
        ("gmmn", {"batch_size": 5000}, "A batch has 5000 rows, but digits has 1498"),
        ("improved-gan", {"labels": 1490}, "labels=1490 requires 149 rows of each class, but digits has fewer"),
        ("improved-gan", {"labels": 0, "convolutional": True, "channels": [4]}, "channels must be two numbers"),
        ("vae", {}, "'vae' is not a model"),
    ],
)
def test_wrong_settings_are_named(name, given, message, digits, tmp_path):
    with pytest.raises(ValueError, match=message):
        Trainer(name, digits, tmp_path, given)


def test_a_run_is_not_overwritten_nor_resumed_as_another(digits, tmp_path):
    trained("gmmn", digits, tmp_path, {"steps": 2})
    with pytest.raises(ValueError, match="already holds a training run"):
        trained("gmmn", digits, tmp_path)
    with pytest.raises(ValueError, match="cannot be resumed as t-gmmn"):
        trained("t-gmmn", digits, tmp_path, resume=True)
    with pytest.raises(ValueError, match=r"has learning_rate=2\.0, and cannot be resumed with learning_rate=1\.0"):
        trained("gmmn", digits, tmp_path, {"learning_rate": 1}, resume=True)
    with pytest.raises(ValueError, match="does not contain a training run"):
        generative.sample(tmp_path / "nowhere", 3)


def test_defaults_are_those_of_the_paper():
    s = models.GMMN.settings_class()
    assert (s.steps, s.batch_size, s.momentum, s.learning_rate, s.initial_std) == (50_000, 500, 0.9, 2, 0.1)
    assert models.TGMMN.settings_class().learning_rate == 0.02
    matching = models.FeatureMatching.settings_class()
    assert (matching.learning_rate, matching.initial_std, matching.discriminator_learning_rate) == (0.5, 0.2, 0.01)
    model = models.GMMN(s, 784, 10, checkpoints.make_generator(0))
    weights = [p for p in model.networks["generator"].parameters() if p.ndim == 2]
    assert [(w.shape[1], w.shape[0]) for w in weights] == [(10, 64), (64, 256), (256, 256), (256, 1024), (1024, 784)]
    assert all(abs(w.detach().std().item() - 0.1) < 0.01 for w in weights)
    assert model.loss.kernel.bandwidths.tolist() == pytest.approx([2, 5, 10, 20, 40, 80])
    noise = model.noise(1000, checkpoints.make_generator(1))
    assert -1 <= noise.min() < -0.99
    assert 0.99 < noise.max() <= 1


def test_minibatch_discrimination_is_its_formula():
    layer = improved_gan.MinibatchDiscrimination(6, 4, 3, 0.5, checkpoints.make_generator(0))
    x = torch.randn(5, 6, generator=checkpoints.make_generator(1))
    M = layer.T(x).reshape(5, 4, 3)
    expected = torch.stack([sum((-(M[i] - M[j]).abs().sum(1)).exp() for j in range(5) if j != i) for i in range(5)])
    torch.testing.assert_close(layer(x), torch.cat([x, expected], 1))
    M = torch.randn(3, 6, 2, dtype=torch.float64, generator=checkpoints.make_generator(2)).requires_grad_()
    assert torch.autograd.gradcheck(improved_gan._Closeness.apply, (M,))


def test_training_leaves_global_randomness_alone(digits, tmp_path):
    before = torch.get_rng_state()
    trained("improved-gan", digits, tmp_path, {"steps": 2})
    assert torch.equal(before, torch.get_rng_state())


def test_the_command_line_trains_samples_and_reads_images_back(tmp_path, capsys):
    from tellapart.cli import main

    pixels = (generative.load("digits").rows[:120] * 255).to(torch.uint8).numpy().reshape(-1, 8, 8)
    np.savez(tmp_path / "images.npz", images=pixels)
    run, fake = str(tmp_path / "run"), str(tmp_path / "fake.npz")
    arguments = ["train", "gmmn", "--data", str(tmp_path / "images.npz"), "--out", run, "--steps", "3"]
    assert main([*arguments, "--batch-size", "20", "--seed", "5", "--set", "hidden=[8]", "noise=2"]) == 0
    assert main(["sample", run, "--n", "30", "--out", fake]) == 0
    assert "30 images of 8 × 8" in capsys.readouterr().out
    assert np.load(fake)["images"].shape == (30, 8, 8)
    facts = checkpoints.read_run(tmp_path / "run" / "checkpoint.safetensors")[1]
    assert (facts["seed"], facts["settings"]["noise"], facts["step"]) == (5, 2, 3)
    assert json.loads((tmp_path / "run" / "log.jsonl").read_text().splitlines()[-1])["held_out/pvalue"] <= 1


def test_a_run_has_a_seed_of_its_own_and_keeps_it(digits, tmp_path):
    first, second = (trained("gmmn", digits, tmp_path / name, {"steps": 2}, rng=None) for name in "ab")
    assert first.seed != second.seed
    resumed = trained("gmmn", digits, tmp_path / "a", {"steps": 4}, resume=True)
    assert resumed.seed == first.seed
    with pytest.raises(ValueError, match=f"has seed {first.seed}, and cannot be resumed with seed 1"):
        trained("gmmn", digits, tmp_path / "a", {"steps": 4}, resume=True, rng=1)


class Recorder(Callback):
    def __init__(self):
        self.told = []

    def on_start(self, trainer):
        self.told.append("start")

    def on_log(self, trainer, scalars):
        self.told.append(f"log {trainer.step}")
        if trainer.step == 3:
            raise KeyboardInterrupt

    def on_evaluate(self, trainer):
        self.told.append(f"evaluate {trainer.step}")

    def on_end(self, trainer):
        self.told.append("end")


def test_callbacks_are_told_of_the_end_also_when_interrupted(digits, tmp_path):
    given = {"steps": 2, "evaluate_every": 2}
    trained("gmmn", digits, tmp_path / "whole", given, callbacks=[whole := Recorder()])
    assert whole.told == ["start", "log 1", "log 2", "evaluate 2", "end"]
    with pytest.raises(KeyboardInterrupt):
        trained("gmmn", digits, tmp_path / "cut", given | {"steps": 9}, callbacks=[cut := Recorder()])
    assert cut.told == ["start", "log 1", "log 2", "evaluate 2", "log 3", "end"]


@pytest.mark.parametrize("interrupted", [False, True])
def test_tensorboard_is_closed(interrupted, digits, tmp_path, monkeypatch):
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    closed, close = [], tensorboard.SummaryWriter.close
    monkeypatch.setattr(tensorboard.SummaryWriter, "close", lambda self: (closed.append(self), close(self)))
    callbacks = [TensorBoard(), *([Recorder()] if interrupted else [])]
    try:
        trained("gmmn", digits, tmp_path, {"steps": 4}, callbacks=callbacks)
    except KeyboardInterrupt:
        assert interrupted
    assert len(closed) == 1
    assert callbacks[0].writer is None
    (events,) = (tmp_path / "tensorboard").iterdir()
    assert b"loss" in events.read_bytes()


def test_images_are_brought_to_a_size(tmp_path, capsys):
    from PIL import Image

    from tellapart.cli import main

    rng = np.random.default_rng(0)
    (folder := tmp_path / "images").mkdir()
    for i in range(24):
        pixels = rng.integers(0, 256, (8 + i % 2, 8), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{i}.png")
    words = ["train", "gmmn", "--data", str(folder), "--out", str(tmp_path / "run"), "--steps", "2"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "--image-size 8x8" in error or "image_size=(8, 8)" in error
    assert main([*words, "--image-size", "8x8", "--batch-size", "10", "--set", "hidden=[8]"]) == 0
    assert generative.sample(tmp_path / "run", 2).shape == (2, 8, 8)
    assert main([*words[:3], "digits", *words[4:], "--image-size", "8x8"]) == 2
    assert "have their own size. Leave out --image-size." in capsys.readouterr().err


def test_advice_names_settings_as_they_are_given(digits, tmp_path, capsys):
    from tellapart.cli import main

    trained("gmmn", digits, tmp_path / "run", {"steps": 2})
    assert main(["train", "gmmn", "--data", "digits", "--out", str(tmp_path / "run")]) == 2
    assert "Continue it with --resume, or choose" in capsys.readouterr().err
    assert main(["train", "gmmn", "--data", "nowhere", "--out", str(tmp_path / "other")]) == 2
    assert "'nowhere' does not exist. --data takes mnist, digits" in capsys.readouterr().err
    np.save(tmp_path / "images.npy", np.zeros((300, 8, 8), np.uint8))
    words = ["train", "improved-gan", "--data", str(tmp_path / "images.npy"), "--out", str(tmp_path / "gan")]
    assert main(words) == 2
    assert "Train the GAN without any: --set labels=0." in capsys.readouterr().err


def test_networks_that_do_not_fit_are_refused_before_memory_is_taken(digits, tmp_path):
    with pytest.raises(MemoryError, match=r"The networks need .* GB are free\. Choose smaller layers"):
        Trainer("gmmn", digits, tmp_path, {"hidden": [10**6, 10**6]})
    trained("gmmn", digits, tmp_path, {"steps": 2})
    with pytest.raises(MemoryError, match="images need"):
        generative.sample(tmp_path, 10**12)


def test_a_checkpoint_whose_settings_lie_is_found_out(digits, tmp_path):
    trainer = trained("gmmn", digits, tmp_path, {"steps": 2})
    tensors, facts = checkpoints.read_run(trainer.path)
    huge = facts | {"settings": facts["settings"] | {"hidden": [10**6, 10**6]}}
    files.write_tensors(trainer.path, tensors, huge)
    with pytest.raises(ValueError, match=r"is damaged: by its settings, .* has shape .*, but the file holds"):
        generative.sample(tmp_path, 2)
    files.write_tensors(trainer.path, tensors, {key: value for key, value in facts.items() if key != "seed"})
    with pytest.raises(ValueError, match="is not a checkpoint of a training run: it lacks seed"):
        generative.sample(tmp_path, 2)


@pytest.mark.parametrize("name", generative.MODELS)
def test_shapes_are_known_without_memory(name, digits):
    settings = generative.MODELS[name].settings_class.from_mapping(SMALL | OF_MODEL.get(name, {}))
    model = generative.MODELS[name](settings, 64, 10, checkpoints.make_generator(0))
    held = {f"{n}/{key}": v.shape for n, net in model.networks.items() for key, v in net.state_dict().items()}
    assert generative.MODELS[name].shapes(settings, 64, 10) == held
