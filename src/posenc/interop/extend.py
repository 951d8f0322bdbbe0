"""Extend the context of a model: its config with another scaling, and what that changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from posenc import scalings
from posenc.core import rules
from posenc.core.encoding import Encoding, unwrap
from posenc.core.frequencies import ntk_base
from posenc.core.rotation import Pairing
from posenc.core.scaling import Scaling
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.rope import RoPE
from posenc.interop.config import read_config
from posenc.interop.draft import Draft, rope_parts
from posenc.interop.loading import Config, load_config
from posenc.interop.write import to_config
from posenc.temperatures import Tempered

Method = Literal["linear", "ntk", "dynamic", "yarn", "llama3", "longrope"]
METHODS: tuple[Method, ...] = ("linear", "ntk", "dynamic", "yarn", "llama3", "longrope")
Band = Literal["kept", "blended", "interpolated"]


class PairChange(NamedTuple):
    """What an extension does to one pair of channels."""

    pair: int
    before: float
    """Its wavelength, in tokens."""
    after: float
    turns: float
    """How often it turned within the trained length."""
    band: Band


@dataclass(frozen=True)
class Extension:
    """A config with a longer context, and what it changes."""

    config: dict[str, Any]
    before: Encoding
    after: Encoding
    trained_length: int
    length: int
    """The length that the extension is for: the factor times the trained length."""
    layer_type: str | None
    """The layers that are changed, if not all that rotate."""
    replaced: Scaling | None
    """The scaling that the file had."""
    allowed: int | None
    """The positions that the file allowed, which a replaced scaling may have made many."""
    pairs: tuple[PairChange, ...]


def extend(
    config: Config,
    method: Method,
    factor: float,
    *,
    trained_length: int | None = None,
    factors: Mapping[str, Any] | None = None,
    replace_scaling: bool = False,
    pairing: Pairing | None = None,
) -> Extension:
    """The config of a rotary model for texts `factor` times as long as those it was trained on.

    config           a path, the text of the file, or a dict, as in `read_config`
    method           'linear', 'ntk', 'dynamic', 'yarn', 'llama3' or 'longrope'
    factor           new length / trained length, above 1
    trained_length   if the file's is not the right one: it counts from the length before scaling
    factors          {"short_factor": […], "long_factor": […]}, for 'longrope' only
    replace_scaling  allow a file that is scaled already; its scaling is replaced, since two
                     scalings of the same pairs do not add up to a known one
    pairing          as in `read_config`

    Where local layers have parameters of their own, only the global ones are changed: a local
    layer sees no further than its window.

    >>> config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
    ...           "num_hidden_layers": 2, "max_position_embeddings": 2048}
    >>> extension = extend(config, "yarn", 4.0)
    >>> extension.length, [pair.band for pair in extension.pairs][:4]
    (8192, ['kept', 'kept', 'kept', 'blended'])
    """
    rules.one_of("method", method, METHODS)
    rules.real("factor", factor, least=1, most=1e6)
    if factor == 1:
        raise ValueError("factor must be above 1, which changes nothing; got factor=1")
    values = load_config(config)
    model = read_config(values, pairing=pairing)
    draft = Draft.of({**values}, pairing)
    own_local = draft.convention.local_base is not None and "full_attention" in draft.types
    layer_type = "full_attention" if own_local and len(set(draft.types)) > 1 else None
    before = model.layers[draft.choose_layers(model, layer_type)[0]]
    _, replaced = rope_parts(before)
    if replaced is not None and not replace_scaling:
        raise ValueError(
            "config must not be scaled already, since scalings cannot be stacked; it has "
            f"{_name(replaced)}, which --replace (replace_scaling=True) replaces"
        )
    length = model.trained_length if trained_length is None else trained_length
    if length is None:
        raise ValueError(
            "trained_length (--trained-length) must be given; the config has no "
            "max_position_embeddings"
        )
    rules.whole("trained_length", length, least=2, most=2**40)
    plain = _with_parts(before, None, None)
    after = _scale(plain, method, float(factor), length, factors)
    written = to_config(after, values, layer_type=layer_type, pairing=pairing)
    if method == "ntk":  # no rope_type says it, so nothing but the length shows the extension
        Draft.of(written, pairing).set_length(round(factor * length))
    target = round(factor * length)
    pairs = compare_pairs(before, after, length, target, factor)
    return Extension(
        written, before, after, length, target, layer_type, replaced, draft.get_length(), pairs
    )


def compare_pairs(
    before: Encoding, after: Encoding, trained: int, length: int, factor: float
) -> tuple[PairChange, ...]:
    """What becomes of each pair at the new length; turns are those of training."""
    old, new = (_wavelengths(e, n) for e, n in ((before, trained), (after, length)))
    plain = _wavelengths(_with_parts(before, None, None), trained)
    with np.errstate(divide="ignore"):
        turns = trained / plain
    return tuple(
        PairChange(i, float(a), float(b), float(n), _band(float(b / p), factor))
        for i, (a, b, n, p) in enumerate(zip(old, new, turns, plain, strict=True))
    )


def _band(stretch: float, factor: float) -> Band:
    if abs(stretch - 1) < 1e-9:
        return "kept"
    return "interpolated" if abs(stretch / factor - 1) < 1e-9 else "blended"


def _wavelengths(encoding: Encoding, length: int) -> np.ndarray:
    rope = cast(RoPE | AxialRoPE, unwrap(encoding))
    settled = rope if rope.fits_any_length else rope.at(length)
    return 2 * np.pi / np.abs(settled.frequencies())


def _with_parts(encoding: Encoding, base: float | None, scaling: Scaling | None) -> Encoding:
    """The encoding with another scaling, and with another base if one is given."""
    if isinstance(encoding, Tempered):
        return replace(encoding, encoding=_with_parts(encoding.encoding, base, scaling))
    changes = {} if base is None else {"base": base}
    if isinstance(encoding, AxialRoPE):
        if encoding.layout.scaling is None and scaling is None and base is None:
            return encoding
        layout = replace(cast(Any, encoding.layout), scaling=scaling, **changes)
        return replace(encoding, layout=layout)
    return replace(cast(RoPE, encoding), scaling=scaling, **cast(Any, changes))


def _scale(
    plain: Encoding, method: Method, factor: float, length: int, factors: Mapping[str, Any] | None
) -> Encoding:
    if method != "longrope" and factors is not None:
        raise ValueError(f"factors must be left out for the method {method!r}; got factors")
    dim = cast(int, cast(Any, unwrap(plain)).rotary_dim)
    if method == "ntk":
        base, _ = rope_parts(plain)
        # the frequencies of NTK(factor), said by the base alone
        return _with_parts(plain, ntk_base(dim, base=base, factor=factor), None)
    scaling: Scaling
    match method:
        case "linear":
            scaling = scalings.Interpolation(factor)
        case "dynamic":
            scaling = scalings.DynamicNTK(factor, length)
        case "yarn":
            scaling = scalings.YaRN(factor, length)
        case "llama3":
            scaling = scalings.Llama3(factor, length)
        case "longrope":
            scaling = _build_longrope(factor, length, dim // 2, factors)
    return _with_parts(plain, None, scaling)


def _build_longrope(
    factor: float, length: int, pairs: int, factors: Mapping[str, Any] | None
) -> scalings.LongRoPE:
    names = ("short_factor", "long_factor")
    given = factors if isinstance(factors, Mapping) else {}
    short, long = (given.get(name) for name in names)
    if not isinstance(short, list | tuple) or not isinstance(long, list | tuple):
        raise ValueError(
            "factors (--factors FILE) must be {'short_factor': […], 'long_factor': […]} for the "
            f"method 'longrope': a factor for each of the {pairs} pairs, found by a search on the "
            "model, which no formula replaces; got none"
        )
    return scalings.LongRoPE(_tuple(short), _tuple(long), length, factor=factor)


def _tuple(values: object) -> tuple[float, ...]:
    return tuple(cast(list[float], values))


def _name(scaling: Scaling) -> str:
    """A scaling, without long lists."""
    return "LongRoPE" if isinstance(scaling, scalings.LongRoPE) else repr(scaling)
