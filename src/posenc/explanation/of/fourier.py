"""Fourier features explained: of random directions, and of learned ones."""

import math

import numpy as np

from posenc.encodings.fourier import FourierFeatures, LearnedFourier, gelu
from posenc.explanation.explanation import Step
from posenc.explanation.maths import index, row
from posenc.explanation.place import Place, bracket, dot_product, substitution, summands_step
from posenc.explanation.question import join_sentences
from posenc.explanation.registry import explain_with


def fourier_number(encoding: FourierFeatures, at: Place) -> list[Step]:
    """The sine or cosine along one direction."""
    t, half = at.t, encoding.dim // 2
    first, second = encoding.order.split("-")
    wave, column = (first if at.column < half else second), at.column % half
    g = at.weights["matrix"][:, column]
    v = np.asarray(at.row, dtype=np.float64)
    v = 2 * v - 1 if encoding.centred else v
    words = t(
        "Dimension {dimension} is the {wave} of the point v along direction {direction}, drawn at "
        "random.",
        dimension=at.column,
        wave=wave,
        direction=column,
    )
    if encoding.centred:
        words = join_sentences(words, t("v is the point mapped from 0 .. 1 to −1 .. 1."))
    general = (
        index("PE", "v", at.column),
        row(wave, "(", 2, "π", " v", " · ", index("g", column), ")"),
    )
    angle = float(2 * math.pi * (v @ g))
    inside = row(2, " · ", "π", " · ", "(", dot_product(v, g), ")")
    sides = (
        index("PE", "v", at.column),
        row(wave, "(", inside, ")"),
        row(wave, "(", angle, ")"),
        at.truth,
    )
    return substitution(words, general, sides, at=at)


def learned_fourier_number(encoding: LearnedFourier, at: Place) -> list[Step]:
    """A sum over the hidden units of the network."""
    t, weights = at.t, at.weights
    x = encoding.hidden_inputs(np.asarray(at.row, dtype=np.float64), weights)
    units = gelu(x)
    column, b = weights["w_2"][:, at.column], float(weights["b_2"][at.column])
    words = t(
        "Waves of the point along {features} learned directions go through a small network; "
        "dimension {dimension} is the sum of what its {hidden} hidden units contribute.",
        features=encoding.features // 2,
        dimension=at.column,
        hidden=encoding.hidden,
    )
    unit = row("GELU", "(", index("x", "h"), ")", " · ", index("W", "h", at.column))
    general = index("PE", "v", at.column), row("Σ", " ", unit, " + ", index("b", at.column))
    table = summands_step(
        "hidden",
        t("The contribution of each hidden unit."),
        ("h", "x", "GELU(x)", "W", "GELU(x) · W"),
        x, units, column, units * column,
    )  # fmt: skip
    sides = (
        index("PE", "v", at.column),
        row(bracket(units @ column), " + ", bracket(b)),
        at.truth,
    )
    return substitution(words, general, sides, at=at, between=(table,))


explain_with(FourierFeatures, number=fourier_number)
explain_with(LearnedFourier, number=learned_fourier_number)
