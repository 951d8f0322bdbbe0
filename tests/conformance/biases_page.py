"""The part of docs/conformance.md about attention that has a bias."""

import torch

from tests.conformance import bias_faults
from tests.conformance.biases import BOUND, Row, rows


def shipped() -> str:
    """The sentence that a test holds the page to."""
    return (
        f"{len(rows())} comparisons of {sum(len(row.layers) for row in rows())} layers, "
        f"all within {BOUND:.0e}."
    )


def section() -> str:
    """Models, what was compared, differences, faults."""
    return "\n\n".join([_top(), _table(), _twice(), _rounding(), _others()])


def _top() -> str:
    return f"""## Attention with a bias

Small models with random weights in float32 are run as they are; hooks catch their queries, keys and
what attention makes of them. Ours is the softmax of `posenc.logits` of the same queries and keys,
with the encoding and the weights that `posenc.from_state_dict` takes from the model's config.json
and its `state_dict()`. Each comparison is also made with mistakes in it (products divided or not,
slopes of the paper, rows and columns exchanged, another table): the last column is the smallest
difference that such a mistake makes.

{shipped()}"""


def _table() -> str:
    head = """| model | compared | encoding | largest difference | with a mistake |
|---|---|---|---|---|
"""
    return head + "\n".join(_line(row) for row in rows())


def _line(row: Row) -> str:
    kind = type(row.layers[0].ours.encoding).__name__
    least = min(row.wrong().values())
    return f"| {row.name} | {row.compared} | {kind} | {row.gap:.1e} | {least:.1e} |"


def _twice() -> str:
    once, twice = bias_faults.falcon_eager()
    return f"""### Falcon's eager attention adds its bias twice

`FalconModel.forward` puts ALiBi into the mask, and the eager branch of `FalconAttention` adds it to
the scores as well: with `attn_implementation="eager"`, or wherever `output_attentions=True` is
asked, slopes are twice what they are with `sdpa`. Outputs of 8 heads and 257 tokens differ by up to
{once:.2f}; they are those of slopes that are twice as steep (to {twice:.0e}). The comparison above
is with `sdpa`, which adds it once."""


def _rounding() -> str:
    columns = (
        bias_faults.bloom(torch.float32),
        bias_faults.bloom(torch.bfloat16),
        bias_faults.falcon_float32(),
    )
    lines = "\n".join(
        f"| {length:,} | "
        + " | ".join(f"{c[length][0]:.1e} | {c[length][1]:.1e}" for c in columns)
        + f" | {columns[1][length][2]}, {columns[2][length][2]} |"
        for length in bias_faults.LENGTHS
    )
    return f"""### ALiBi in bfloat16

BLOOM and Falcon add m·j, the slope times the position of the key, where the paper has the distance
m·(i - j): softmax does not mind, but rounding does, for far into a text even near keys have large
numbers. BLOOM rounds them to the dtype of the model, Falcon rounds slopes and products to bfloat16
whatever the dtype (so 8 heads are exact up to position 256, and 12 never are). Below is the largest
error of a probability over the last 64 queries of a text, with products of zero: BLOOM with 16
heads, Falcon with 32 heads of 64 channels in float32. The last column is how many of the nearest
keys have one and the same bias in some head, of BLOOM in bfloat16 and of Falcon. Whether a
checkpoint was trained with this rounding, its files do not say.

| tokens | BLOOM float32 | ours | BLOOM bfloat16 | ours | Falcon | ours | alike |
|---|---|---|---|---|---|---|---|
{lines}"""


def _others() -> str:
    off, steep = bias_faults.mpt_options()
    said, hidden = bias_faults.swin_small_map(), bias_faults.swinv2_mask()
    return f"""### Options that do nothing, maps that fail, a mask that counts twice

- MPT reads neither `attn_config.alibi` nor `attn_config.alibi_bias_max`: with `alibi=False` its
  outputs change by {off:g}, with `alibi_bias_max=16` by {steep:g}. `from_config` refuses both.
- Swin cuts its window to a map that is smaller, but not its table: a map of 8 x 8 with a window of
  10 x 10 fails with "{said}". Swin-v2 cuts both.
- Swin-v2 adds the mask of its shifted windows twice, so hidden logits get {hidden:.0f}, not -100:
  no harm, as exp(-100) is 4e-44 already."""
