"""Training: equal bits for equal settings, also when interrupted; what is measured."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import posenc as pe
from posenc.lab import training
from posenc.lab.batches import IGNORED, PAD, draw_test
from posenc.lab.training import Stopped, run_settings
from tests.lab.runs import TINY


def measured(record):
    return record.curve, record.scores, record.steps


@pytest.mark.parametrize(
    "settings",
    [
        TINY,
        replace(TINY, encoding="learned", positions="offsets", optimiser="adam"),
        replace(TINY, encoding="two-sided-alibi", positions="randomised", limit=40, causal=False),
    ],
    ids=lambda s: s.label,
)
def test_equal_settings_give_equal_bits_whatever_was_drawn_before(settings):
    first = run_settings(settings)
    torch.manual_seed(7)
    state = torch.get_rng_state()
    threads = torch.get_num_threads()
    again = run_settings(settings)
    assert measured(first) == measured(again)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert measured(run_settings(replace(settings, seed=1))) != measured(first)


@pytest.mark.parametrize("init", ["unit", "gpt2"])
def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path, monkeypatch, init):
    settings, path = replace(TINY, positions="randomised", init=init), tmp_path / "checkpoint"
    made = []

    def stop_at_five(step, _loss):
        made.append(step)
        if step == 5:
            raise Stopped

    with pytest.raises(Stopped):
        run_settings(settings, progress=stop_at_five, checkpoint=path)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint"]
    record = run_settings(settings, progress=lambda step, _: made.append(step), checkpoint=path)
    assert made == [*range(1, 13)], "no step is made twice"
    assert measured(record) == measured(run_settings(settings))
    versions = {"posenc": "another"}
    monkeypatch.setattr(training, "read_versions", lambda: versions)
    run_settings(settings, progress=lambda step, _: made.append(step), checkpoint=path)
    assert made[12:] == [*range(1, 13)], "a checkpoint of other programs is not used"


def test_a_full_disk_leaves_the_checkpoint_of_before_and_the_run_goes_on(tmp_path, monkeypatch):
    def fill(path, data):
        with path.open("wb") as file:
            file.write(bytes(data)[:9])
        raise OSError(28, "No space left on device")

    path = tmp_path / "checkpoint"
    with pytest.raises(Stopped):
        run_settings(TINY, progress=stop_at_once, checkpoint=path)
    before = path.read_bytes()
    monkeypatch.setattr(training.Path, "write_bytes", fill)
    assert measured(run_settings(TINY, checkpoint=path)) == measured(run_settings(TINY))
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(path.name, before)]


def stop_at_once(_step, _loss):
    raise Stopped


def test_checkpoints_are_written_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "SAVED", 0.0)
    path, seen = tmp_path / "checkpoint", []
    run_settings(TINY, progress=lambda *_: seen.append(path.exists()), checkpoint=path)
    assert seen == [False] + [True] * 11


def test_training_is_adamw_with_a_rate_that_falls_to_zero(monkeypatch):
    rates = []
    step = torch.optim.AdamW.step

    def watch(self, *arguments):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", watch)
    run_settings(replace(TINY, learning_rate=0.012))
    assert np.allclose(rates, [0.012 * (12 - i) / 12 for i in range(12)])


def test_training_stops_once_all_are_right(monkeypatch):
    found = iter([0.5, 1.0])
    monkeypatch.setattr(training, "check", lambda *_: next(found))
    record = run_settings(replace(TINY, steps=60))
    assert record.steps == 6
    assert [point.exact for point in record.curve if point.exact is not None] == [0.5, 1.0]
    monkeypatch.setattr(training, "check", lambda *_: pytest.fail("not asked for"))
    assert run_settings(replace(TINY, stop=False)).steps == 12


class Parrot(nn.Module):
    """Says what follows from the targets themselves, but for one example's last symbol."""

    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def forward(self, tokens, pos=None, mask=None):
        targets = self.batch.targets.clamp(min=0)
        logits = nn.functional.one_hot(targets, 9).float() * 4
        asked = (self.batch.targets != IGNORED).nonzero()
        row, column = asked[-1]
        logits[row, column] = 0.0
        logits[row, column, 8] = 4.0
        return logits


def test_scores_count_examples_symbols_and_nats():
    batch = draw_test(TINY, 1)
    score = training.measure_score(Parrot(batch), TINY, 1)
    asked = int((batch.targets != IGNORED).sum())
    right, wrong = np.log(np.exp(4) + 8) - 4, np.log(np.exp(4) + 8)
    assert score.exact == 5 / 6
    assert score.symbols == (asked - 1) / asked
    assert abs(score.loss - (right * (asked - 1) + wrong) / asked) < 1e-5


def test_a_table_refuses_what_is_beyond_it():
    record = run_settings(replace(TINY, encoding="learned"))
    inside, beyond = record.scores
    assert inside.exact is not None
    assert (beyond.exact, beyond.loss) == (None, None)
    assert "0 .. 9" in beyond.refused


def test_extensions_are_tested_beyond_the_trained_length_only():
    settings = replace(TINY, extensions=("interpolation", "dynamic-ntk"))
    record = run_settings(settings)
    assert [(score.lengths, score.extension) for score in record.scores] == [
        ((1, 4), ""),
        ((5, 8), ""),
        ((5, 8), "interpolation"),
        ((5, 8), "dynamic-ntk"),
    ]
    assert record.scores[:2] == run_settings(TINY).scores
    torch.manual_seed(0)
    model = training.build_model(settings, pe.RoPE(8))
    *_, found, _ = training.evaluate(model, pe.RoPE(8), settings)
    scaled = training.build_model(settings, pe.RoPE(8, scaling=pe.Interpolation(18 / 10)))
    scaled.load_state_dict(model.state_dict())
    assert found == training.measure_score(scaled, settings, 1, "interpolation")


def test_offsets_reach_every_row_of_the_table():
    """Also those at the end, which short examples reach as well as long ones."""
    settings = replace(TINY, encoding="learned", positions="offsets")
    starts, ends = {}, {}
    for step in range(200):
        batch = training.draw_batch(settings, "train", step)
        positions = training.draw_positions(settings, batch, "positions", step)
        for row, tokens in zip(positions.tolist(), batch.tokens.tolist(), strict=True):
            size = sum(token != PAD for token in tokens)
            assert row[:size] == [*range(row[0], row[0] + size)]
            assert max(row) < 18
            starts.setdefault(size, set()).add(row[0])
            ends.setdefault(size, set()).add(row[size - 1])
    for size in (5, 7, 9, 10):  # those with the end, and the longest, without
        assert (min(starts[size]), max(ends[size])) == (0, 17)
