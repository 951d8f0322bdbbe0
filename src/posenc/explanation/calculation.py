"""`explain`: the steps of any encoding, by its kind or its mechanism."""

from collections.abc import Callable, Iterator
from functools import singledispatch
from typing import Any

import numpy as np

from posenc.core import rules
from posenc.core.hints import hinted
from posenc.core.mechanisms import Additive, Bias, Encoding, Rotary
from posenc.core.positions import LIMIT
from posenc.encodings import (
    FIRE,
    KERPLE,
    ALiBi,
    AxialRoPE,
    AxialSinusoidal,
    ClippedBias,
    FourierFeatures,
    Learned,
    LearnedFourier,
    NoPE,
    RoPE,
    Sandwich,
    Shaw,
    Sinusoidal,
    SwinBias,
    SwinV2Bias,
    T5Bias,
    TransformerXL,
    TwoSidedALiBi,
    XPos,
)
from posenc.explanation import additive, bias, rotary, scores
from posenc.explanation.cell import value_at
from posenc.explanation.explanation import Explanation, Step
from posenc.explanation.formulas import Place, formulas
from posenc.explanation.question import Question
from posenc.i18n import language, translator
from posenc.names.expressions import spelling
from posenc.names.resolve import hinting_tokens, known_name, one, refuse_unused
from posenc.text import tokens as tokenise

Steps = Callable[[Any, Question], Iterator[Step]]

MOST = 512
"""Tokens that an explanation has at most."""


@singledispatch
def steps(encoding: Encoding, asked: Question) -> Iterator[Step]:
    """The steps of an encoding. `steps.register` adds those of a kind of your own."""
    return scores.scores(encoding, asked)


steps.register(Additive, additive.additive)
steps.register(Sinusoidal, additive.sinusoidal)
steps.register(Learned, additive.learned)
steps.register(Rotary, rotary.rotary)
steps.register(RoPE, rotary.rope)
steps.register(AxialRoPE, rotary.axial)
steps.register(Bias, bias.bias)
steps.register(ALiBi, bias.alibi)
steps.register(T5Bias, bias.t5)
steps.register(ClippedBias, bias.clipped)
steps.register(NoPE, bias.nope)


def _after_a_number(then: Steps) -> Steps:
    """One number of the encoding as a formula, and then what its mechanism shows."""

    def both(encoding: Any, asked: Question) -> Iterator[Step]:
        place, other = _where(encoding, asked.position)
        truth = value_at(encoding, place, other, asked.params, np.float64)
        yield from formulas(encoding, Place(place, other, truth, asked.params, asked.t))
        yield from then(encoding, asked)

    return both


def _where(encoding: Encoding, position: int) -> tuple[Any, Any]:
    """A place and a dimension; of what has none, a query and the key at the beginning."""
    rows = isinstance(encoding, Additive | Rotary)
    if encoding.axes is None:
        return position, 0
    return (1,) * encoding.axes, 0 if rows else (0,) * encoding.axes


for kind in (AxialSinusoidal, FourierFeatures, LearnedFourier):
    steps.register(kind, _after_a_number(additive.additive))
for kind in (TwoSidedALiBi, KERPLE, FIRE, Sandwich, SwinBias, SwinV2Bias):
    steps.register(kind, _after_a_number(bias.bias))
for kind in (Shaw, TransformerXL):
    steps.register(kind, _after_a_number(scores.scores))
steps.register(XPos, _after_a_number(rotary.rotary))


@hinted("explain")
def explain(
    encoding: Encoding | str,
    *,
    dim: int | None = None,
    heads: int | None = None,
    length: int | None = None,
    position: int = 3,
    tokens: str | list[str] | None = None,
    lang: str = "en",
    digits: int = 4,
    seed: int = 0,
) -> Explanation:
    """The worked calculation of an encoding: every step with its numbers.

    `encoding` is a value, a name, an expression or a config.json; `dim` (8) and `heads` (4) are for
    a name. `tokens` are a sentence or its tokens, else there are `length` of them (3) without
    names; `position` is where angles are worked out. Learned parameters are drawn by `seed`.
    `lang` is en, ja, zh-Hans or zh-Hant.

    >>> from posenc import Sinusoidal
    >>> explained = explain(Sinusoidal(8), position=3)
    >>> [step.name for step in explained.steps]
    ['formula', 'frequencies', 'angles', 'encodings', 'addition', 'shift']
    >>> explained["angles"].table.rows[1]
    (1, 2, 0.3000..., 0.29552..., 0.95533...)
    """
    lang = language(lang)
    t = translator(lang)
    rules.whole("digits", digits, least=1, most=16)
    position = rules.whole("position", position, least=0, most=LIMIT - 64)
    rules.whole("seed", seed, least=0)
    words = tokenise(tokens) if isinstance(tokens, str) else tokens
    if words is not None and length is not None:
        raise ValueError(f"length must be left out where tokens are given; got length={length}")
    if words is not None and not 1 <= len(words) <= MOST:
        raise ValueError(f"tokens must be 1 .. {MOST}; got {len(words)}")
    length = rules.whole("length", 3 if length is None else length, least=1, most=MOST)
    count = length if words is None else len(words)
    value = _one(encoding, length=count, dim=dim, heads=heads)
    params: dict[str, Any] = value.init(np.random.default_rng(seed))
    asked = Question(value, count, position, None if words is None else tuple(words), params, t)
    title = t("{encoding}, step by step", encoding=spelling(value))
    return Explanation(title, lang, tuple(steps(value, asked)), digits=digits)


def _one(encoding: Any, *, length: int, dim: int | None, heads: int | None) -> Encoding:
    """The encoding that is named, of a size that can be worked by hand; or the one given."""
    given = {name: size for name, size in (("dim", dim), ("heads", heads)) if size is not None}
    if isinstance(encoding, str) and known_name(encoding):
        value = one(encoding, **{"dim": 8, "heads": 4, "length": length, "reach": 2} | given)
        refuse_unused(given, value)
        return value
    if given:
        raise ValueError(f"dim and heads are for names of encodings; got {given} for {encoding}")
    with hinting_tokens(str(encoding)):
        return one(encoding)
