"""`explain`: the worked calculation of any encoding."""

import numpy as np

from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.core.positions import LIMIT
from posenc.explanation.explanation import Explanation
from posenc.explanation.question import Question
from posenc.explanation.registry import explain_steps
from posenc.i18n import Language, language, translator
from posenc.names.expressions import to_source
from posenc.names.resolve import (
    canonical_name,
    hint_tokens,
    make_example,
    refuse_unused,
    resolve_one,
)
from posenc.text import split_at_spaces

MOST = 512
"""The largest number of tokens that are explained."""


@hinted("explain")
def explain(
    encoding: Encoding | str,
    *,
    dim: int | None = None,
    heads: int | None = None,
    length: int | None = None,
    position: int = 3,
    tokens: str | list[str] | None = None,
    lang: Language = "en",
    digits: int = 4,
    seed: int = 0,
) -> Explanation:
    """Explain an encoding: its calculation step by step, with all numbers.

    encoding     a value, a name, an expression or the path of a config.json
    dim, heads   the size of an encoding given by name; 8 and 4 by default
    tokens       a sentence or a list of tokens, at most 512
    length       how many tokens there are where `tokens` is left out; 3 by default
    position     where angles are worked out
    lang         en, ja, zh-Hans or zh-Hant
    digits       digits after the point
    seed         draws the learned parameters

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
    words = split_at_spaces(tokens) if isinstance(tokens, str) else tokens
    if words is not None and length is not None:
        raise ValueError(f"length must be left out where tokens are given; got length={length}")
    if words is not None and not 1 <= len(words) <= MOST:
        raise ValueError(f"tokens must be 1 .. {MOST}; got {len(words)}")
    length = rules.whole("length", 3 if length is None else length, least=1, most=MOST)
    count = length if words is None else len(words)
    value = _resolve(encoding, length=count, dim=dim, heads=heads)
    params = value.init(np.random.default_rng(seed))
    question = Question(value, count, position, None if words is None else tuple(words), params, t)
    title = t("{encoding}, step by step", encoding=to_source(value))
    return Explanation(title, lang, tuple(explain_steps(value, question)), digits=digits)


def _resolve(encoding: object, *, length: int, dim: int | None, heads: int | None) -> Encoding:
    """The encoding itself, or the one of this name, small enough to be worked by hand."""
    given = {name: size for name, size in (("dim", dim), ("heads", heads)) if size is not None}
    if isinstance(encoding, str) and (name := canonical_name(encoding)):
        value = make_example(name, **{"dim": 8, "heads": 4, "length": length, "reach": 2} | given)
        refuse_unused(given, value)
        return value
    if given:
        raise ValueError(f"dim and heads are for names of encodings; got {given} for {encoding}")
    with hint_tokens(str(encoding)):
        return resolve_one(encoding)
