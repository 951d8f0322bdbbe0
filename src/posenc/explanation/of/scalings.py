"""The scalings of RoPE explained, frequency by frequency."""

from collections.abc import Iterator

import numpy as np

from posenc.core.frequencies import geometric
from posenc.encodings.rope import RoPE
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, power, row
from posenc.explanation.question import join_sentences, number_rows, table
from posenc.i18n import Translate
from posenc.names.expressions import to_source
from posenc.scalings import NTK, Interpolation, Llama3, PerPair, Proportional, Scaling, YaRN

Sides = tuple[Maths, ...]
"""The sides of an equation."""


def rotary_width(encoding: RoPE) -> int:
    """How many channels are rotated."""
    return int(encoding.rotary_dim or encoding.dim)


def unscaled_frequencies(encoding: RoPE) -> np.ndarray:
    """The frequencies before any scaling: (pair,)."""
    return geometric(rotary_width(encoding), base=encoding.base)


def frequency(encoding: RoPE) -> Sides:
    """w_i = base^(-2i/d) in letters; d is a number where not all channels are rotated."""
    d = "d" if rotary_width(encoding) == encoding.dim else rotary_width(encoding)
    return index("w", "i"), power(encoding.base, row("−", frac(row(2, "i"), d)))


def frequency_of_pair(encoding: RoPE, pair: int) -> Sides:
    """The same with the numbers of a pair, before any scaling."""
    w = float(unscaled_frequencies(encoding)[pair])
    exponent = row("−", frac(2 * pair, rotary_width(encoding)))
    return index("w", pair), power(encoding.base, exponent), w


def scaling_name(scaling: Scaling) -> str:
    """A scaling as it is written in code; of long lists of numbers, the first two.

    >>> scaling_name(YaRN(4.0, 4096)), scaling_name(PerPair((1.0, 1.5, 2.0, 4.0, 8.0)))
    ('YaRN(4.0, 4096)', 'PerPair((1.0, 1.5, …))')
    """
    return to_source(scaling, plain=_shorten)


def _shorten(value: object) -> str:
    if isinstance(value, tuple) and len(value) > 4:
        return f"({value[0]!r}, {value[1]!r}, …)"
    return repr(value)


def scaling_of_pair(encoding: RoPE, pair: int, t: Translate) -> Step:
    """What the scaling does to one pair: its frequency before and after, and their ratio."""
    assert encoding.scaling is not None
    before = float(unscaled_frequencies(encoding)[pair])
    after = float(encoding.frequencies()[pair])
    ratio, name = after / before, scaling_name(encoding.scaling)
    if ratio == 1:
        words = t("{scaling} keeps the frequency of pair {pair}.", scaling=name, pair=pair)
    elif ratio == 0:
        words = t("{scaling} stops pair {pair}: its frequency becomes 0.", scaling=name, pair=pair)
    else:
        words = t(
            "{scaling} multiplies the frequency of pair {pair} by {ratio}: {before} becomes "
            "{after}.",
            scaling=name,
            pair=pair,
            ratio=f"{ratio:.4g}",
            before=f"{before:.4g}",
            after=f"{after:.4g}",
        )
    if encoding.attention_factor != 1.0:
        words = join_sentences(
            words,
            t("Cosines and sines are multiplied by a factor, so logits grow by its square."),
        )
    compared = frac(index("w′", pair), index("w", pair)), frac(after, before), ratio
    sides = (frequency_of_pair(encoding, pair), *_scaled_frequency(encoding, pair), compared)
    return Step("scaling", words, tuple(equation(*each) for each in sides))


def _scaled_frequency(encoding: RoPE, pair: int) -> list[Sides]:
    """The formula of w′: in letters, and with the numbers of a pair."""
    scaling = encoding.scaling
    w = float(unscaled_frequencies(encoding)[pair])
    after = float(encoding.frequencies()[pair])
    letter, own = index("w′", "i"), index("w′", pair)
    match scaling:
        case YaRN() | Llama3():
            gamma = float(scaling.keep(rotary_width(encoding), base=encoding.base)[pair])
            letters = _blend(index("γ", "i"), index("w", "i"), "s")
            return [(letter, letters), (own, _blend(gamma, w, float(scaling.factor)), after)]
        case NTK():
            exponent = row("−", frac(2 * pair, rotary_width(encoding)))
            *_, grown = base = _scaled_base(encoding, scaling)
            return [base, (own, power(grown, exponent), after)]
        case Interpolation():
            return [(letter, frac(index("w", "i"), "s")), (own, frac(w, scaling.factor), after)]
        case PerPair():
            letters = frac(index("w", "i"), index("λ", "i"))
            return [(letter, letters), (own, frac(w, scaling.factors[pair]), after)]
        case Proportional() if after:
            return [(own, frac(w, scaling.factor), after)]
        case _:
            return [(own, after)]


def _blend(gamma: Maths, w: Maths, s: Maths) -> Maths:
    return row("(", 1, " − ", gamma, ")", " · ", frac(w, s), " + ", gamma, " · ", w)


def _scaled_base(encoding: RoPE, scaling: NTK) -> Sides:
    """The base b′ by which NTK replaces the base: b s^(d / (d - 2))."""
    dim = rotary_width(encoding)
    grown = float(encoding.base * scaling.factor ** (dim / (dim - 2)))
    growth = power(float(scaling.factor), frac(dim, dim - 2))
    return "b′", row(encoding.base, " · ", growth), grown


def scaling_steps(encoding: RoPE, t: Translate) -> Iterator[Step]:
    """Each frequency before and after, by which rule, and the factor on cosines and sines."""
    scaling = encoding.scaling
    assert scaling is not None
    yield _frequencies_step(encoding, scaling, t)
    if encoding.attention_factor != 1.0:
        sides: Sides = (encoding.attention_factor,)
        own = ("mscale", "mscale_all_dim", "attention_factor")
        if isinstance(scaling, YaRN) and all(getattr(scaling, name) is None for name in own):
            sides = row(0.1, " · ", row("ln", " ", "s"), " + ", 1), *sides
        yield Step(
            "attention-factor",
            t("Cosines and sines are multiplied by a factor, so logits grow by its square."),
            (equation("m", *sides),),
        )


def _frequencies_step(encoding: RoPE, scaling: Scaling, t: Translate) -> Step:
    """Each frequency before and after; of YaRN and Llama 3, how much of it is kept."""
    before, after = unscaled_frequencies(encoding), encoding.frequencies()
    waves = [x if np.isfinite(x) else "∞" for x in encoding.wavelengths().tolist()]
    formulas: list[Sides] = []
    kept: dict[str, np.ndarray] = {}
    match scaling:
        case YaRN() | Llama3():
            keep = scaling.keep(rotary_width(encoding), base=encoding.base)
            kept = {t("turns"): scaling.original_length * before / (2 * np.pi), "γ": keep}
            formulas = _scaled_frequency(encoding, int(np.argmin(np.abs(keep - 0.5))))
            words = t(
                "Pairs that turn often within the trained length {length} keep their frequency "
                "(γ = 1), slow ones are stretched by {factor} (γ = 0), those between are blended.",
                length=scaling.original_length,
                factor=f"{scaling.factor:g}",
            )
        case Interpolation():
            words = t("Every frequency is divided by {factor}.", factor=f"{scaling.factor:g}")
            formulas = [(index("w′", "i"), frac(index("w", "i"), float(scaling.factor)))]
        case NTK():
            words = t("The base grows, so that slow pairs are stretched and the fastest is kept.")
            formulas = [_scaled_base(encoding, scaling)]
        case _:
            name = scaling_name(scaling)
            words = t("The frequencies before and after scaling by {scaling}.", scaling=name)
    sides = tuple(equation(*each) for each in formulas)
    columns = "i", "w", *kept, "w′", "w′/w", t("wavelength")
    numbers = before, *kept.values(), after, after / before, waves
    return Step("frequencies", words, sides, table(columns, *number_rows(*numbers)))
