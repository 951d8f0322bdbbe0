"""Ranks make what one process does: attention to a text that is shared out, and training.

One launch for all, and one test for each launch: workers of pytest would each have their own.
"""

import os

import pytest
import torch

from posenc.torch import attend
from tests.torch.distributed import attention, inputs, training
from tests.torch.distributed.launch import launch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="ranks are forked")


def attend_alone(encoding, positions, params):
    """Output and gradients of the specification, for the whole text at once."""
    *tensors, grad = attention.whole_text()
    tensors = [x.requires_grad_() for x in tensors]
    learned = {n: p.clone().requires_grad_() for n, p in params.items()}
    options = {"encoding": encoding, "params": learned or None, "q_pos": positions}
    out = attend(*tensors, **options, causal=True, impl="dense")
    out.backward(grad)
    return out.detach(), [x.grad for x in tensors], {n: p.grad for n, p in learned.items()}


def attention_error(ranks, case, alone):
    """How far the ranks are from one process, relative to the largest number."""
    out, grads, learned = alone
    scale = max(float(x.abs().max()) for x in (out, *grads, *learned.values()))
    pairs = []
    for made in ranks:
        mine, ours, our_grads, our_learned, _ = made[case]
        pairs += [(ours, out[:, :, mine])]
        pairs += [(a, b[:, :, mine]) for a, b in zip(our_grads, grads, strict=True)]
        pairs += [(our_learned[n], learned[n]) for n in learned]
    return max(float((a - b).abs().max()) for a, b in pairs) / scale


def training_error(ranks, case):
    """How far trained parameters are from those of one process, relative to what they learned."""
    before, after = training.train_alone(case[0])
    moved = max(float((after[n] - before[n]).abs().max()) for n in after)
    assert moved > 1e-5, "nothing was learned"
    return (
        max(float((made[case][n] - after[n]).abs().max()) for made in ranks for n in after) / moved
    )


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_ranks_make_what_one_process_does(tmp_path, world):
    launch("tests.torch.distributed.everything:run", world, tmp_path)

    def load(name):
        return [torch.load(tmp_path / f"{name}-{rank}.pt") for rank in range(world)]

    attended, trained = load("attention"), load("training")
    wrong = {}
    for name, (encoding, _, positions) in attention.encodings().items():
        cases = [case for case in attended[0] if case[0] == name]
        alone = attend_alone(encoding, positions, attended[0][cases[0]][4])
        # biases are float32, and angles at 2^23 right to 1e-9
        bound = 1e-6 if name in ("t5", "fire", "alibi") else 1e-9
        for case in cases:
            if (error := attention_error(attended, case, alone)) > bound:
                wrong[case] = error
    for case in trained[0]:
        if (error := training_error(trained, case)) > 1e-5:
            wrong[case] = error
    assert not wrong
    assert {name for name, _, _ in attended[0]} >= {"rope", "alibi", "t5", "mrope"}
    assert {name for name, _ in trained[0]} == {*training.learners()}
    assert {way for _, way in trained[0]} == {*training.WAYS}
    assert len(attended[0]) == len(attention.encodings()) * len(attention.WAYS) * 2
    check_reset(load("reset"))
    check_loaded(load("loaded"))
    check_inputs(load("inputs"))


def check_reset(ranks):
    """Parameters that are sharded when they are drawn are those of rank 0, and are drawn."""
    for made in ranks[1:]:
        assert all(torch.equal(made[name], ranks[0][name]) for name in made)
    assert ranks[0]["positions.params.c"].item() == pytest.approx(0.1)
    assert ranks[0]["positions.params.w1"].std() > 0.1


def check_loaded(ranks):
    """A file whose single numbers have no axis is loaded into sharded parameters."""
    file = training.make_layer(training.learners()["fire"]).state_dict()
    for made in ranks:
        assert made.keys() == file.keys()
        assert all(torch.equal(made[name], file[name]) for name in file)


def check_inputs(ranks):
    """A DTensor is refused by a sentence, whatever takes it."""
    for answers in ranks:
        assert answers.keys() == inputs.CALLS.keys()
        for name, answer in answers.items():
            assert "must be a tensor of this rank; got a DTensor: give" in str(answer), name


def test_what_is_compared_would_be_seen_to_differ():
    """The bounds reject one position off, one gradient not added up, one step fewer."""
    encoding, params, positions = attention.encodings()["t5"]
    alone = out, grads, learned = attend_alone(encoding, positions, params)
    where, half = torch.arange(attention.LENGTH), {n: g / 2 for n, g in learned.items()}
    for made, differs in (
        ((where, out, grads, learned, params), False),
        ((where, out, grads, half, params), True),
        ((where.roll(1), out, grads, learned, params), True),
    ):
        assert (attention_error([{"t5": made}], "t5", alone) > 1e-3) == differs
    before, _ = training.train_alone("kerple")
    assert training_error([{("kerple", "ddp"): before}], ("kerple", "ddp")) == pytest.approx(1)
