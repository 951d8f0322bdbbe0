"""RoPE stretched to longer texts, frequency by frequency."""

from collections.abc import Iterator

import numpy as np

from posenc.encodings import RoPE
from posenc.frequencies import geometric
from posenc.messages import Translate
from posenc.scalings import NTK, Interpolation, Llama3, YaRN
from posenc.worked.explanation import Step
from posenc.worked.maths import equation, frac, index, power, row
from posenc.worked.question import table


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
    dim, base = int(encoding.rotary_dim or encoding.dim), encoding.base
    before, after = geometric(dim, base=base), encoding.frequencies()
    keep = scaling.keep(dim, base=base)
    turns = scaling.original_length * before / (2 * np.pi)
    blended = int(np.argmin(np.abs(keep - 0.5)))
    w, gamma = float(before[blended]), float(keep[blended])
    symbols = index("w′", "i")
    return Step(
        "frequencies",
        t(
            "Pairs that turn often within the trained length {length} keep their frequency "
            "(γ = 1), slow ones are stretched by {factor} (γ = 0), those between are blended.",
            length=scaling.original_length,
            factor=f"{scaling.factor:g}",
        ),
        (
            equation(
                symbols,
                row(
                    "(", 1, " − ", index("γ", "i"), ")", " · ", frac(index("w", "i"), "s"),
                    " + ", index("γ", "i"), " · ", index("w", "i"),
                ),
            ),
            equation(
                index("w′", blended),
                row(
                    "(", 1, " − ", gamma, ")", " · ", frac(w, float(scaling.factor)),
                    " + ", gamma, " · ", w,
                ),
                float(after[blended]),
            ),
        ),
        table(
            ("i", "w", t("turns"), "γ", "w′", "w′/w", t("wavelength")),
            *zip(
                range(len(before)), before, turns, keep, after, after / before,
                encoding.wavelengths(), strict=True,
            ),
        ),
    )  # fmt: skip


def _before_and_after(encoding: RoPE, t: Translate) -> Step:
    dim, base, scaling = int(encoding.rotary_dim or encoding.dim), encoding.base, encoding.scaling
    before, after = geometric(dim, base=base), encoding.frequencies()
    formulas = ()
    if isinstance(scaling, Interpolation):
        words = t("Every frequency is divided by {factor}.", factor=f"{scaling.factor:g}")
        formulas = (equation(index("w′", "i"), frac(index("w", "i"), float(scaling.factor))),)
    elif isinstance(scaling, NTK):
        words = t("The base grows, so that slow pairs are stretched and the fastest is kept.")
        grown = base * scaling.factor ** (dim / (dim - 2))
        exponent = frac(dim, dim - 2)
        formulas = (
            equation("b′", row(base, " · ", power(float(scaling.factor), exponent)), float(grown)),
        )
    else:
        words = t("The frequencies before and after scaling by {scaling}.", scaling=scaling)
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
