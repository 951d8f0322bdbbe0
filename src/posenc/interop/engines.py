"""Where an engine reads the same config differently, with the number for this file.

Read in their sources: vLLM at a014e35f (2026-08-22) and YaRN also at 0cd57848, llama.cpp at
b21e4de7 (2026-08-22), transformers 5.22.2. A rule makes the scaling that the engine uses out of
ours; the comparison of the two is the same for all.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from posenc import scalings
from posenc.core import rules
from posenc.core.encoding import unwrap
from posenc.core.rotation import Pairing
from posenc.core.scaling import Plain, Scaling
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.rope import RoPE
from posenc.interop.config import read_config, read_fields
from posenc.interop.conventions import ROTARY, RotaryConvention
from posenc.interop.draft import rope_parts
from posenc.interop.loading import Config
from posenc.interop.model import format_ranges, group_layers
from posenc.interop.refusals import LATENT
from posenc.interop.rotary import drop_latent, is_plain

Engine = Literal["vllm", "llama.cpp", "transformers"]
VERSIONS: dict[Engine, str] = {
    "vllm": "a014e35f (2026-08-22)",
    "llama.cpp": "b21e4de7 (2026-08-22)",
    "transformers": "5.22.2",
}
"""The version of each engine whose source was read."""


class Difference(NamedTuple):
    """One number that differs between an engine and posenc."""

    where: str
    """The layers."""
    what: Literal["attention factor", "frequency"]
    formula: str
    """What the engine does."""
    ours: float
    theirs: float
    pair: int | None
    """The pair that differs most, for a frequency."""
    length: int | None
    """The length of the text, if it matters."""


@dataclass(frozen=True)
class File:
    """What the rules look at."""

    model_type: str
    scaling: Scaling | None
    latent: bool
    nested: bool
    length: int | None
    """max_position_embeddings."""


class Reading(NamedTuple):
    """How an engine reads a scaling, and ours at the same length."""

    theirs: Scaling | None
    formula: str
    ours: Scaling | None
    length: int | None = None


LATENT_READ = ("deepseek_v2", "deepseek_v3", "kimi_k2")
"""Types of latent attention whose code was read; the file of Kimi-K2 names DeepSeek-V3's class."""

Rule = Callable[[File], Reading | None]
PLAIN_MSCALE = "cos and sin are multiplied by 0.1 ln(factor) + 1"
ROUNDED = "truncate is not read: the ends of the ramp are always rounded outwards"


def compare_engine(
    config: Config, engine: Engine, *, pairing: Pairing | None = None
) -> tuple[Difference, ...]:
    """Where `engine` reads a config differently than posenc, each with its formula and number.

    config   a path, the text of the file, or a dict, as in `read_config`
    engine   'vllm', 'llama.cpp' or 'transformers'
    pairing  as in `read_config`

    The latent attention of model types other than DeepSeek's has not been checked in vLLM and
    llama.cpp: with YaRN or Llama 3's scaling, which they read in code of its own, it is an error.

    >>> config = {"model_type": "gpt_oss", "num_hidden_layers": 2, "head_dim": 64}
    >>> [found] = compare_engine(config, "llama.cpp")
    >>> found.what, found.pair, round(found.theirs / found.ours, 2)
    ('frequency', 17, 1.76)
    """
    rules.one_of("engine", engine, tuple(VERSIONS))
    model = read_config(config, pairing=pairing)
    fields = read_fields(config, pairing)
    convention = drop_latent(fields, ROTARY.get(fields.model_type, RotaryConvention()))
    parameters = fields.get("rope_parameters", "rope_scaling") or {}
    nested = any(isinstance(value, dict) for value in parameters.values())
    given = any(fields.values.get(name) for name in LATENT) and not is_plain(fields)
    latent = given or convention.latent is not None
    found: list[Difference] = []
    for encoding, where in group_layers(model.layers):
        rope = unwrap(encoding)
        if not isinstance(rope, RoPE | AxialRoPE):
            continue
        base, scaling = rope_parts(encoding)
        file = File(fields.model_type, scaling, latent, nested, fields.length())
        _require_checked(file, engine)
        for reading in filter(None, (rule(file) for rule in RULES[engine])):
            dim = cast(int, rope.rotary_dim)
            found += _compare(reading, dim, base, format_ranges(where))
    return tuple(found)


def _require_checked(file: File, engine: Engine) -> None:
    own = isinstance(file.scaling, scalings.YaRN | scalings.Llama3)
    if file.latent and own and engine != "transformers" and file.model_type not in LATENT_READ:
        raise ValueError(
            f"{engine} was not checked for the latent attention of {file.model_type!r} with "
            f"{type(file.scaling).__name__}, only for that of {', '.join(LATENT_READ)}"
        )


def _compare(reading: Reading, dim: int, base: float, where: str) -> Iterator[Difference]:
    ours, theirs = reading.ours or Plain(), reading.theirs or Plain()
    if not math.isclose(ours.scale, theirs.scale, rel_tol=1e-9):
        both = ours.scale, theirs.scale
        yield Difference(where, "attention factor", reading.formula, *both, None, reading.length)
    w, v = (each.frequencies(dim, base=base) for each in (ours, theirs))
    turning = (w != 0) & (v != 0)
    apart = np.where(turning, np.abs(np.log(np.where(turning, v / np.where(turning, w, 1), 1))), 0)
    pair = int(apart.argmax())
    if apart[pair] > 1e-9:
        both = float(w[pair]), float(v[pair])
        yield Difference(where, "frequency", reading.formula, *both, pair, reading.length)


def _ignore_mscale(file: File) -> Reading | None:
    """VLLM's YaRN before 0cd57848, which reads what transformers does."""
    yarn = file.scaling
    if file.latent or not isinstance(yarn, scalings.YaRN):
        return None
    formula = f"{PLAIN_MSCALE}; attention_factor and mscale are read from 0cd57848 on"
    return Reading(_with_scale(yarn, scalings.yarn_mscale(yarn.factor, 1.0)), formula, yarn)


def _divide_mscales(file: File) -> Reading | None:
    """VLLM's YaRN of latent attention: a missing mscale is 1, a missing mscale_all_dim 0."""
    yarn = file.scaling
    if not file.latent or not isinstance(yarn, scalings.YaRN):
        return None
    top, bottom = 1.0 if yarn.mscale is None else yarn.mscale, yarn.mscale_all_dim or 0.0
    scale = scalings.yarn_mscale(yarn.factor, top) / scalings.yarn_mscale(yarn.factor, bottom)
    formula = (
        "cos and sin are multiplied by (0.1 mscale ln(factor) + 1) / (0.1 mscale_all_dim "
        "ln(factor) + 1), with mscale 1 and mscale_all_dim 0 where they are missing; "
        "attention_factor is not read"
    )
    return Reading(_with_scale(yarn, scale), formula, yarn)


def _round_ramp(file: File) -> Reading | None:
    yarn = file.scaling
    if not isinstance(yarn, scalings.YaRN) or yarn.truncate:
        return None
    return Reading(replace(yarn, truncate=True), ROUNDED, yarn)


def _round_latent_ramp(file: File) -> Reading | None:
    return _round_ramp(file) if file.latent else None


def _round_nested_ramp(file: File) -> Reading | None:
    reading = _round_ramp(file) if file.nested else None
    formula = "truncate is looked up beside the layer types, so that it is always true"
    return None if reading is None else reading._replace(formula=formula)


def _take_for_yarn(file: File) -> Reading | None:
    llama3 = file.scaling
    if not file.latent or not isinstance(llama3, scalings.Llama3):
        return None
    yarn = scalings.YaRN(llama3.factor, llama3.original_length)
    return Reading(yarn, "every rope_type but default is read as YaRN", llama3)


def _freeze_base(file: File) -> Reading | None:
    formula = (
        "the base is computed once, base (factor n / trained - (factor - 1))^(dim / (dim - 2)), "
        "with n and trained both max_position_embeddings: it never grows"
    )
    return _read_dynamic(file, formula)


def _drop_dynamic(file: File) -> Reading | None:
    return _read_dynamic(file, "the converter writes no scaling for dynamic: the base never grows")


def _read_dynamic(file: File, formula: str) -> Reading | None:
    dynamic = file.scaling
    if not isinstance(dynamic, scalings.DynamicNTK):
        return None
    length = 2 * dynamic.original_length
    return Reading(None, formula, dynamic.at(length), length)


def _remember_longest(file: File) -> Reading | None:
    dynamic = file.scaling
    if not isinstance(dynamic, scalings.DynamicNTK):
        return None
    length = dynamic.original_length
    formula = (
        f"the base of the longest text so far stays until a text is shorter than {length:,} "
        f"tokens; after one of {2 * length:,}"
    )
    return Reading(dynamic.at(2 * length), formula, dynamic.at(length), length)


def _choose_long(file: File) -> Reading | None:
    formula = (
        "the long factors serve every length once max_model_len exceeds the original length, and "
        "cos and sin are multiplied by sqrt(1 + ln(max / original) / ln(original))"
    )
    return _read_longrope(file, formula)


def _choose_by_context(file: File) -> Reading | None:
    longrope = file.scaling
    if not isinstance(longrope, scalings.LongRoPE):
        return None
    if file.model_type.startswith("phi"):
        formula = (
            "the long factors serve every length once the context size exceeds the original "
            "length, and cos and sin are multiplied by sqrt(1 + ln(max / original) / ln(original))"
        )
        return _read_longrope(file, formula)
    if file.model_type.startswith("minicpm"):
        theirs = scalings.PerPair(longrope.long_factor)
        formula = "the long factors serve every length, without a factor on cos and sin"
    else:
        theirs = None
        formula = "the converter writes LongRoPE's factors for Phi and MiniCPM only"
    return Reading(theirs, formula, longrope.at(1), longrope.original_length)


def _read_longrope(file: File, formula: str) -> Reading | None:
    longrope = file.scaling
    if not isinstance(longrope, scalings.LongRoPE):
        return None
    original = longrope.original_length
    ratio = (file.length or original) / original
    scale = replace(longrope, factor=ratio, attention_factor=None).scale
    theirs = scalings.PerPair(longrope.long_factor, scale)
    return Reading(theirs, formula, longrope.at(original), original)


def _keep_short_keys(file: File) -> Reading | None:
    longrope = file.scaling
    if not isinstance(longrope, scalings.LongRoPE):
        return None
    length = longrope.original_length + 1
    formula = "keys that were cached before the switch keep the short factors"
    return Reading(longrope.at(1), formula, longrope.at(length), length)


def _drop_factor(file: File) -> Reading | None:
    share = file.scaling
    if not isinstance(share, scalings.Proportional):
        return None
    formula = "factor is not read for the type proportional"
    return Reading(replace(share, factor=1.0), formula, share)


def _assume_mscale(file: File) -> Reading | None:
    """Read mscale_all_dim for DeepSeek and Mistral 3 only, with an mscale of 1 or the same."""
    yarn = file.scaling
    if not isinstance(yarn, scalings.YaRN):
        return None
    scale, formula = scalings.yarn_mscale(yarn.factor, 1.0), PLAIN_MSCALE
    whole = yarn.mscale_all_dim
    if whole and file.latent:
        scale, formula = 1.0, "cos and sin stay as they are where mscale_all_dim is given"
    elif whole and file.model_type == "ministral3":
        scale /= scalings.yarn_mscale(yarn.factor, whole)
        formula += ", divided by 0.1 mscale_all_dim ln(factor) + 1"
    formula += "; attention_factor and mscale are not used"
    return Reading(_with_scale(yarn, scale), formula, yarn)


LLAMA3 = frozenset(
    {
        "llama",
        "llama4_text",
        "mistral",
        "mixtral",
        "ministral3",
        "smollm3",
        "apertus",
        "arcee",
        "granite",
        "granitemoe",
        "granitemoeshared",
        "granite_swa",
        "granitemoe_swa",
        "granitemoehybrid",
        "bamba",
        "afmoe",
        "exaone4",
        "exaone_moe",
        "step3p5",
    }
)
"""Model types whose converter writes Llama 3's factors."""


def _drop_llama3(file: File) -> Reading | None:
    llama3 = file.scaling
    if not isinstance(llama3, scalings.Llama3) or file.model_type in LLAMA3:
        return None
    formula = f"the converter of {file.model_type} writes no scaling for llama3"
    return Reading(None, formula, llama3)


def _with_scale(yarn: scalings.YaRN, scale: float) -> scalings.YaRN:
    return replace(yarn, mscale=None, mscale_all_dim=None, attention_factor=scale)


RULES: dict[Engine, tuple[Rule, ...]] = {
    "vllm": (
        _ignore_mscale,
        _divide_mscales,
        _round_latent_ramp,
        _take_for_yarn,
        _freeze_base,
        _choose_long,
        _drop_factor,
    ),
    "llama.cpp": (_round_ramp, _assume_mscale, _drop_dynamic, _choose_by_context, _drop_llama3),
    "transformers": (_round_nested_ramp, _remember_longest, _keep_short_keys),
}
"""What each engine does differently."""


def to_data(engine: Engine, differences: tuple[Difference, ...]) -> dict[str, Any]:
    """The differences as plain data."""
    rows = [difference._asdict() for difference in differences]
    return {"engine": engine, "version": VERSIONS[engine], "differences": rows}
