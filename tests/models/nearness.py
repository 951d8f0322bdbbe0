"""How near the logits of a swapped model must be to those that it had, from what may differ.

transformers computes p w in float32: w by a power and a division, then a product, each within an
ulp or two, so an angle is within p w 2^-22 of the truth (measured: less than half of that), and
cosines and sines are rounded to the dtype of the tables, u. What that does to logits is measured:
noise of a known size is put on the tables, and the response is scaled down to that error.
"""

import copy

import torch

import posenc as pe
from posenc.models.anatomy import STORED
from posenc.models.swap import find_record

NOISE, SAFETY = 2.0**-10, 8.0
"""The size of the noise; how much more than the response to one draw of it a difference may be."""


def disturb(model, generator):
    """A copy of a swapped model whose tables are off by NOISE."""
    model = copy.deepcopy(model)
    record = find_record(model)

    def noisy(table):
        sign = torch.randint(2, table.shape, generator=generator) * 2 - 1
        return table + (NOISE * sign).to(table.dtype)

    if record.module is None:
        for layer in record.anatomy.layers:
            layer.attention.register_buffer(
                STORED, noisy(layer.attention.get_buffer(STORED)), persistent=False
            )
    else:
        hook = lambda module, args, out: tuple(noisy(table) for table in out)  # noqa: E731
        record.module.register_forward_hook(hook)
    return model


def bound_logits(model, run, length):
    """By how much `run(model)` of texts of this length may differ from the model as it was."""
    dtype = next(model.parameters()).dtype
    wide = copy.deepcopy(model).float()
    response = (run(disturb(wide, torch.Generator().manual_seed(1))) - run(wide)).abs().max()
    unit = torch.finfo(dtype).eps / 2
    error = length * 2.0**-22 + unit
    rounded = 32 * unit * run(wide).abs().max()  # sums of a few dozen terms, in each of two layers
    return float(SAFETY * response * error / NOISE + rounded)


def swap_own(model):
    """Swap in what the model has."""
    return pe.models.swap(model, pe.read_config(model.config))


def compiled_error(model, run, *, backend):
    """How far `run` of a compiled model is from that of the model; one graph, but for experts."""
    torch.compiler.reset()
    fullgraph = not any("experts" in name for name, _ in model.named_modules())
    compiled = torch.compile(model, backend=backend, fullgraph=fullgraph)
    return float((run(compiled) - run(model)).abs().max())
