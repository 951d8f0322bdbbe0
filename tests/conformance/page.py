"""Write docs/conformance.md out of the walk: python -m tests.conformance.page."""

from collections import Counter
from pathlib import Path

import transformers

from tests.conformance import biases_page, faults
from tests.conformance.compare import Gap, Row, rows
from tests.conformance.walk import TINY

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
NAME = "Hugging Face transformers"


def architectures() -> dict[str, str]:
    """The verdict on each model: matched if all of its rotary classes are."""
    verdicts: dict[str, str] = {}
    for row in rows():
        if verdicts.get(row.folder, "matched") == "matched":
            verdicts[row.folder] = row.verdict
    return verdicts


def counts() -> str:
    """The line of numbers that a test holds the page to."""
    kinds = Counter(architectures().values())
    total = sum(kinds.values())
    classes = len({(row.folder, row.rotary) for row in rows() if row.rotary})
    return (
        f"{total} architectures with {classes} rotary classes, built from {len(rows())} configs: "
        f"{kinds['matched']} matched ({kinds['matched'] / total:.1%}), "
        f"{kinds['their convention']} with a convention of their own, "
        f"{kinds['their fault']} at fault, {kinds['unexplained']} unexplained."
    )


def readers() -> str:
    """How from_config did on the text models."""
    asked = [row for row in rows() if row.reader is not None]
    same = sum(row.reader == "" for row in asked)
    refused = [row for row in asked if (row.reader or "").startswith("refuses")]
    return (
        f"`posenc.from_config` was given the config.json of the {len(asked)} text models among "
        f"them: it read the encoding that was compared from {same}, refused {len(refused)}, and "
        f"read another from {len(asked) - same - len(refused)}."
    )


def page() -> str:
    """The whole document."""
    parts = [_top(), _rule(), _faults(), biases_page.section(), _table(), _disagreements()]
    return "\n\n".join(parts) + "\n"


def _top() -> str:
    return f"""# Conformance with {NAME} {transformers.__version__}

Written by `make conformance-page`; do not edit. A test (`make conformance`) walks every model of
the installed transformers that has rotary code, builds its rotary module from a small or default
config, and compares cosines and sines, and queries and keys rotated by the model's own function,
with ours. Models whose attention has a bias instead are [below](#attention-with-a-bias).

{counts()}

{readers()}"""


def _rule() -> str:
    shipped = [row.as_shipped for row in rows() if row.matched and row.as_shipped]
    wide = [row.in_float64 for row in rows() if row.matched and row.in_float64]
    near = max(max(gap.near) for gap in shipped)
    as_is = sum(max(gap.all) <= 2e-5 for gap in shipped)
    filled = ", ".join(f"{name} ({', '.join(fields)})" for name, fields in sorted(TINY.items()))
    return f"""## What matched means

Positions are 0, 1, 2, 5, 17, 100, 511, 1000 and 2047, on each axis (where a model counts positions
itself: all of them up to 2047, or a whole image). Queries and keys are random, no pair of channels
longer than 1. Two things must hold:

1. Their formula is ours: their code as it stands, run in float64 (whenever it asks for float32, it
   is given float64), differs by at most 2e-5. The largest difference is {_largest(wide):.1e}.
2. What they ship is off by its rounding only. They form the angle p·w in float32, so it is off by
   up to p·w·2^-23 before any cosine is taken; what they ship may differ from ours by at most
   2e-5 + p·w·2^-23.

The raw differences as shipped stand in the table, at positions up to 128 and up to 2047. Up to 128,
every matched model is within 2e-5 as it is: the largest difference is {near:.1e}. Up to 2047 the
largest is {_largest(shipped):.1e}, and only {as_is} of {len(shipped)} rows are within 2e-5 without
the allowance for their rounding.

Pairings, axis orders and default sections were read off their source, so this page proves
agreement with their code; it is no blind prediction of it. A class is built from its own defaults,
except for these, which were given fields so that they can be built, run, or reach their rotary
layers: {filled}."""


def _largest(gaps: list[Gap]) -> float:
    return max(max(gap.all) for gap in gaps)


def _faults() -> str:
    sections = (
        _long_positions,
        _halves,
        _truncate,
        _phimoe,
        _minimax,
        _vjepa2,
        _hunyuan,
    )
    return "## Where theirs is at fault\n\n" + "\n\n".join(section() for section in sections)


def _long_positions() -> str:
    lines = "\n".join(
        f"| {end:,} | {theirs:.1e} | {ours:.1e} |"
        for end, (theirs, ours) in faults.long_positions().items()
    )
    return f"""### Angles in float32

Largest error of a cosine in the 64 positions before p, against mpmath, of `LlamaRotaryEmbedding`
and of `RoPE(128)`; base 10,000, results in float32.

| p | theirs | ours |
|---|---|---|
{lines}"""


def _halves() -> str:
    lines = "\n".join(f"| {end:,} | {error:.1e} |" for end, error in faults.halves().items())
    return f"""### After `.to(torch.bfloat16)`

The frequencies are a buffer, and a cast of the module rounds them to 8 bits: largest error of a
cosine of `LlamaRotaryEmbedding` up to p. (`from_pretrained` keeps the buffer as it is; `.to` and
`.half` do not.) Ours has no such buffer.

| p | theirs |
|---|---|
{lines}"""


def _truncate() -> str:
    asked, cosine, given = faults.nested_truncate()
    return f"""### `truncate` of one kind of layer is ignored

`_compute_yarn_parameters` looks for `truncate` at the top of `rope_parameters`, where it is not if
layers of different types have parameters of their own. Gemma 3's module with YaRN and
`truncate: false` in its full attention layers: frequencies are off by up to {asked:.1%}, cosines by
{cosine:.2f} up to position 2047; they are those of `truncate: true` (to {given:.0e})."""


def _phimoe() -> str:
    asked, kept = faults.phimoe_long()
    return f"""### Phi-3.5-MoE never takes its long factors

`PhimoeRotaryEmbedding` computes its frequencies again at each call, without the length of the text.
With long factors up to 8.9 and a text of 8,192 tokens (original length 4,096), a frequency is
{asked + 1:.1f} times what it should be; they are those of the short factors (to {kept:.0e})."""


def _minimax() -> str:
    said, turned = faults.minimax_rotary_dim()
    return f"""### MiniMax M3 does not read its `rotary_dim`

The config class documents `rotary_dim` as the number of channels that turn. With
`rotary_dim={said}` and no `partial_rotary_factor`, {turned} turn."""


def _vjepa2() -> str:
    shortest, longest, low, high = faults.vjepa2()
    return f"""### V-JEPA 2 is not a rotation

`rotate_queries_or_keys` tiles cosines and sines, and pairs neighbours. A vector of length 1 becomes
between {shortest:.3f} and {longest:.3f} long; the score of a query and a key 3 apart, which a
rotation keeps, goes from {low:.3f} to {high:.3f} over positions 0 to 63."""


def _hunyuan() -> str:
    shortest, longest, low, high = faults.hunyuan_vl()
    return f"""### HunYuan-VL is not a rotation on images

`HunYuanVLRotaryEmbedding` doubles each of the four sections of half a head, (16, 16, 16, 16), to
(32, 32, 32, 32) of 128 channels; the list is to be repeated instead, as in Tencent's own code and
in vLLM. So channel j turns by one axis, and channel j + 64, its pair, by another. On the patches of
an 8 x 8 image a vector of length 1 becomes between {shortest:.3f} and {longest:.3f} long; the score
of a query and a key one fixed offset apart goes from {low:.3f} to {high:.3f}. Where all axes are
equal, as in text, it is RoPE."""


def _table() -> str:
    head = """## Every rotary class

The largest difference of a cosine or sine, and of a rotated query or key, as shipped: at positions
up to 128, and at all. The last column of numbers is their code in float64, both together.

| model | class (config) | encoding | cos, sin ≤ 128 | all | q, k ≤ 128 | all | float64 | verdict |
|---|---|---|---|---|---|---|---|---|
"""
    return head + "\n".join(_line(row) for row in rows())


def _line(row: Row) -> str:
    numbers = ["–"] * 5
    if row.as_shipped and row.in_float64:
        near, everywhere = row.as_shipped.near, row.as_shipped.all
        measured = (near[0], everywhere[0], near[1], everywhere[1], max(row.in_float64.all))
        numbers = [f"{value:.1e}" for value in measured]
    name = f"`{row.rotary}`" if row.rotary else "functions"
    name += f" ({row.config})" if row.config else ""
    verdict = f"{row.verdict}: {row.reason}" if row.reason else row.verdict
    return f"| {row.folder} | {name} | {row.encoding or '–'} | {' | '.join(numbers)} | {verdict} |"


def _disagreements() -> str:
    lines = [
        f"| {row.folder} | {row.model_type or '–'} | {row.reader.replace('|', '/')[:160]} |"
        for row in rows()
        if row.reader
    ]
    if not lines:
        return ""
    return (
        "## What `from_config` does not read\n\n| model | model type | instead |\n|---|---|---|\n"
        + "\n".join(lines)
    )


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(counts())


if __name__ == "__main__":
    main()
