"""RoPE stretched to longer texts, frequency by frequency."""

from collections.abc import Iterator

import numpy as np

from posenc.core.frequencies import geometric
from posenc.encodings import RoPE
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, power, row
from posenc.explanation.question import table, together
from posenc.i18n import Translate
from posenc.names.expressions import spelling
from posenc.scalings import NTK, Interpolation, Llama3, PerPair, Proportional, Scaling, YaRN

Sides = tuple[Maths, ...]


def turning(encoding: RoPE) -> int:
    """How many channels turn."""
    return int(encoding.rotary_dim or encoding.dim)


def frequency(encoding: RoPE) -> Sides:
    """w_i = base^(-2i/d) in letters; where not all channels turn, their number stands for d."""
    d = "d" if turning(encoding) == encoding.dim else turning(encoding)
    return index("w", "i"), power(encoding.base, row("−", frac(row(2, "i"), d)))


def frequency_of(encoding: RoPE, pair: int) -> Sides:
    """The same with the numbers of a pair, before any scaling."""
    w = float(geometric(turning(encoding), base=encoding.base)[pair])
    exponent = row("−", frac(2 * pair, turning(encoding)))
    return index("w", pair), power(encoding.base, exponent), w


def named(scaling: Scaling) -> str:
    """A scaling as it is spelled, with the first two of its numbers where it has many.

    >>> named(YaRN(4.0, 4096)), named(PerPair((1.0, 1.5, 2.0, 4.0, 8.0)))
    ('YaRN(4.0, 4096)', 'PerPair((1.0, 1.5, …))')
    """
    return spelling(scaling, plain=_shortened)


def _shortened(value: object) -> str:
    if isinstance(value, tuple) and len(value) > 4:
        return f"({value[0]!r}, {value[1]!r}, …)"
    return repr(value)


def scaled_pair(encoding: RoPE, pair: int, t: Translate) -> Step:
    """What the scaling does to one pair: its frequency before, after, and the ratio of the two."""
    assert encoding.scaling is not None
    before = float(geometric(turning(encoding), base=encoding.base)[pair])
    after = float(encoding.frequencies()[pair])
    ratio, name = after / before, named(encoding.scaling)
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
        words = together(
            words,
            t("Cosines and sines are multiplied by a factor, so logits grow by its square."),
        )
    compared = (
        frac(index("w′", pair), index("w", pair)),
        frac(after, before),
        ratio,
    )
    sides = (frequency_of(encoding, pair), *_made_by(encoding, pair), compared)
    return Step("scaling", words, tuple(equation(*each) for each in sides))


def _made_by(encoding: RoPE, pair: int) -> list[Sides]:
    """How the scaling makes w′ of w: in letters, and with the numbers of a pair."""
    scaling = encoding.scaling
    w = float(geometric(turning(encoding), base=encoding.base)[pair])
    after = float(encoding.frequencies()[pair])
    letter, own = index("w′", "i"), index("w′", pair)
    match scaling:
        case YaRN() | Llama3():
            gamma = float(scaling.keep(turning(encoding), base=encoding.base)[pair])
            letters = _blended(index("γ", "i"), index("w", "i"), "s")
            return [(letter, letters), (own, _blended(gamma, w, float(scaling.factor)), after)]
        case NTK():
            exponent = row("−", frac(2 * pair, turning(encoding)))
            *_, grown = base = _grown(encoding, scaling)
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


def _blended(gamma: Maths, w: Maths, s: Maths) -> Maths:
    return row("(", 1, " − ", gamma, ")", " · ", frac(w, s), " + ", gamma, " · ", w)


def _grown(encoding: RoPE, scaling: NTK) -> Sides:
    """The base that NTK makes of the given one."""
    dim = turning(encoding)
    grown = float(encoding.base * scaling.factor ** (dim / (dim - 2)))
    made = power(float(scaling.factor), frac(dim, dim - 2))
    return "b′", row(encoding.base, " · ", made), grown


def scaled(encoding: RoPE, t: Translate) -> Iterator[Step]:
    """Each frequency before and after, why it moved, and the factor on cosines and sines."""
    scaling = encoding.scaling
    if isinstance(scaling, YaRN | Llama3):
        yield _by_parts(encoding, scaling, t)
    else:
        yield _before_and_after(encoding, t)
    if encoding.attention_factor != 1.0:
        formula = row(0.1, " · ", row("ln", " ", "s"), " + ", 1)
        usual = isinstance(scaling, YaRN) and scaling == YaRN(
            scaling.factor, scaling.original_length, scaling.beta_fast, scaling.beta_slow,
            ramp=scaling.ramp, truncate=scaling.truncate,
        )  # fmt: skip
        sides = (formula, encoding.attention_factor) if usual else (encoding.attention_factor,)
        yield Step(
            "attention-factor",
            t("Cosines and sines are multiplied by a factor, so logits grow by its square."),
            (equation("m", *sides),),
        )


def _by_parts(encoding: RoPE, scaling: YaRN | Llama3, t: Translate) -> Step:
    """YaRN and Llama 3: w' = (1 - gamma) w / s + gamma w."""
    dim, base = turning(encoding), encoding.base
    before, after = geometric(dim, base=base), encoding.frequencies()
    keep = scaling.keep(dim, base=base)
    turns = scaling.original_length * before / (2 * np.pi)
    blended = int(np.argmin(np.abs(keep - 0.5)))
    return Step(
        "frequencies",
        t(
            "Pairs that turn often within the trained length {length} keep their frequency "
            "(γ = 1), slow ones are stretched by {factor} (γ = 0), those between are blended.",
            length=scaling.original_length,
            factor=f"{scaling.factor:g}",
        ),
        tuple(equation(*sides) for sides in _made_by(encoding, blended)),
        table(
            ("i", "w", t("turns"), "γ", "w′", "w′/w", t("wavelength")),
            *zip(
                range(len(before)), before, turns, keep, after, after / before,
                encoding.wavelengths(), strict=True,
            ),
        ),
    )  # fmt: skip


def _before_and_after(encoding: RoPE, t: Translate) -> Step:
    scaling = encoding.scaling
    before, after = geometric(turning(encoding), base=encoding.base), encoding.frequencies()
    formulas = ()
    if isinstance(scaling, Interpolation):
        words = t("Every frequency is divided by {factor}.", factor=f"{scaling.factor:g}")
        formulas = (equation(index("w′", "i"), frac(index("w", "i"), float(scaling.factor))),)
    elif isinstance(scaling, NTK):
        words = t("The base grows, so that slow pairs are stretched and the fastest is kept.")
        formulas = (equation(*_grown(encoding, scaling)),)
    else:
        assert scaling is not None
        words = t("The frequencies before and after scaling by {scaling}.", scaling=named(scaling))
    return Step(
        "frequencies",
        words,
        formulas,
        table(
            ("i", "w", "w′", "w′/w", t("wavelength")),
            *zip(
                range(len(before)),
                before,
                after,
                after / before,
                [x if np.isfinite(x) else "∞" for x in encoding.wavelengths().tolist()],
                strict=True,
            ),
        ),
    )
