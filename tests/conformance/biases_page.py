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

Small models with random float32 weights are run unmodified; hooks record their queries, keys and
attention results. Ours is the softmax of `posenc.logits` of the same queries and keys, with the
encoding and the weights that `posenc.from_state_dict` takes from the model's config.json and its
`state_dict()`. Each comparison is repeated with deliberate mistakes (products scaled wrongly, the
paper's slopes, rows and columns exchanged, another table); the last column is the smallest
difference that such a mistake causes.

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
the scores again: with `attn_implementation="eager"`, or with `output_attentions=True`, the slopes
are twice those of `sdpa`. With 8 heads and 257 tokens, outputs differ by up to {once:.2f}; they are
those of slopes twice as steep (to {twice:.0e}). The comparison above uses `sdpa`, which adds it
once."""


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

BLOOM and Falcon add m·j, the slope times the position of the key, where the paper has the distance,
m·(i - j). For softmax the two are equal, but not after rounding: late in a sequence even near keys
have large biases. BLOOM rounds them to the dtype of the model; Falcon rounds slopes and products to
bfloat16 whatever the dtype (so 8 heads are exact up to position 256, and 12 heads never are). The
table shows the largest error of a probability over the last 64 queries, with all products zero:
BLOOM with 16 heads, Falcon with 32 heads of 64 channels in float32. The last column counts how many
of the nearest keys share one bias in some head, for BLOOM in bfloat16 and for Falcon. The files of
a checkpoint do not say whether it was trained with this rounding.

| tokens | BLOOM float32 | ours | BLOOM bfloat16 | ours | Falcon | ours | equal |
|---|---|---|---|---|---|---|---|
{lines}"""


def _others() -> str:
    off, steep = bias_faults.mpt_options()
    said, hidden = bias_faults.swin_small_map(), bias_faults.swinv2_mask()
    return f"""### Other faults

- MPT reads neither `attn_config.alibi` nor `attn_config.alibi_bias_max`: with `alibi=False` its
  outputs change by {off:g}, with `alibi_bias_max=16` by {steep:g}. `from_config` refuses both.
- If the feature map is smaller than the window, Swin shrinks the window but not its table: a map of
  8 x 8 with a window of 10 x 10 fails with "{said}". Swin-v2 shrinks both.
- Swin-v2 adds the mask of its shifted windows twice, so masked logits get {hidden:.0f} instead of
  -100. That is harmless: exp(-100) is 4e-44 already."""
