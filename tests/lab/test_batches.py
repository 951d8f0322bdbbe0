"""Batches: tokens, targets, and what they depend on."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from posenc.lab.batches import (
    ASK,
    END,
    IGNORED,
    MASK,
    PAD,
    SPECIAL,
    START,
    count_tokens,
    draw_batch,
    draw_examples,
    draw_test,
    measure_sequence,
)
from posenc.lab.tasks import TASKS, read_text
from tests.lab.runs import TINY

TEXT = replace(
    TINY, task="causal-lm", metric="loss", train_lengths=(8, 8), test_lengths=((16, 16),)
)
MASKED = replace(TEXT, task="masked-lm", causal=False)


def rows_of(batch):
    return zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True)


def test_a_decoder_predicts_the_answer_and_the_end(rng):
    batch = draw_examples(TINY, (1, 4), 30, rng)
    lengths = set()
    for tokens, targets in rows_of(batch):
        ask = tokens.index(ASK)
        prompt = tokens[1:ask]
        lengths.add(len(prompt))
        assert tokens[0] == START
        wanted = [*prompt, END]
        assert targets[:ask] == [IGNORED] * ask
        assert targets[ask : ask + len(wanted)] == wanted
        assert set(targets[ask + len(wanted) :]) <= {IGNORED}
        assert tokens[ask + 1 : ask + len(wanted)] == prompt
        assert set(tokens[ask + 1 + len(wanted) :]) <= {PAD}
    assert lengths == {1, 2, 3, 4}


def test_an_encoder_sees_masks_instead(rng):
    batch = draw_examples(replace(TINY, causal=False), (1, 4), 30, rng)
    for (tokens, targets), mask in zip(rows_of(batch), batch.mask.tolist(), strict=True):
        ask = tokens.index(ASK)
        wanted = [*tokens[1:ask], END]
        assert targets[ask + 1 : ask + 1 + len(wanted)] == wanted
        assert tokens[ask + 1 : ask + 1 + len(wanted)] == [MASK] * len(wanted)
        assert mask == [i <= ask + len(wanted) for i in range(len(tokens))]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.kind == "question"])
def test_sequences_are_as_long_as_measured(name, causal, rng):
    settings = replace(
        TINY, task=name, symbols=12, causal=causal, train_lengths=(9, 9), test_lengths=()
    )
    batch = draw_examples(settings, (9, 9), 4, rng)
    assert batch.tokens.shape == (4, measure_sequence(settings, 9))
    assert int(batch.tokens.max()) < count_tokens(settings)


def test_text_is_predicted_character_by_character(rng):
    batch = draw_examples(TEXT, (8, 8), 5, rng)
    assert batch.tokens.shape == batch.targets.shape == (5, 8)
    assert torch.equal(batch.tokens[:, 1:], batch.targets[:, :-1])
    whole = read_text("train").astype(np.uint8).tobytes()
    for row in batch.tokens.numpy() - SPECIAL:
        assert row.astype(np.uint8).tobytes() in whole


def test_masked_text_hides_what_it_asks_for(rng):
    batch = draw_examples(MASKED, (8, 8), 200, rng)
    asked = batch.targets != IGNORED
    assert torch.equal(asked, batch.tokens == MASK)
    assert asked.any(-1).all()
    assert 0.15 < float(asked.double().mean()) < 0.3  # 0.15, and one in each row


def test_tests_of_every_length_have_the_same_text():
    settings = replace(TEXT, examples=64)
    short, long = (draw_test(settings, i).targets.flatten() for i in (0, 1))
    assert torch.equal(short, long)
    assert len(short) == 64 * 8
    assert torch.equal(short, torch.from_numpy(read_text("test")[1 : 64 * 8 + 1]) + SPECIAL)


@pytest.mark.parametrize("causal", [True, False])
def test_a_batch_in_pieces_is_the_same(causal):
    whole = draw_test(replace(TINY, causal=causal), 1)
    pieces = [*whole.split(50)]
    assert [len(piece.tokens) for piece in pieces] == [2, 2, 2]
    assert [len(piece.tokens) for piece in whole.split(1)] == [1] * 6
    for name in ("tokens", "targets", *(() if causal else ("mask",))):
        parts = [getattr(piece, name) for piece in pieces]
        assert torch.equal(torch.cat(parts), getattr(whole, name))


def test_batches_depend_on_the_seed_and_the_step_but_not_on_the_encoding():
    first = draw_batch(TINY, "train", 3)
    assert torch.equal(first.tokens, draw_batch(replace(TINY, encoding="t5"), "train", 3).tokens)
    others = [
        draw_batch(replace(TINY, seed=1), "train", 3),
        draw_batch(TINY, "train", 4),
        draw_batch(replace(TINY, examples=4), "check", 3),
    ]
    for other in others:
        assert first.tokens.tolist() != other.tokens.tolist()
