"""The demonstrations of the tutorials, with their numbers."""

from collections.abc import Callable

import numpy as np

from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.core.logits import logits
from posenc.explanation.calculation import explain
from posenc.explanation.explanation import Explanation, Step
from posenc.explanation.question import example_embeddings, matrix_table
from posenc.i18n import Language, Translate, language, translator
from posenc.names.resolve import resolve_one
from posenc.text import split_at_spaces

DOG = {
    "en": "dog bites man",
    "ja": "犬 が 人 を 噛む",
    "zh-Hans": "狗咬人",
    "zh-Hant": "狗咬人",
}
# the sentence of each tutorial, split into tokens at its spaces
LEARNING = {
    "en": "I love learning AI",
    "ja": "毎日 AI を 学ぶ",
    "zh-Hans": "我 爱 学习 AI",
    "zh-Hant": "我 喜歡 學習 AI",
}


@hinted("demonstrate")
def demonstrate(name: str, *, lang: Language = "en") -> Explanation:
    """A demonstration from the tutorials, with its numbers.

    name   "permutation", "rope-relative", "rope-steps" or "addition"
    lang   en, ja, zh-Hans or zh-Hant

    >>> demonstrate("rope-relative").steps[0].table.rows[2]
    (10, 0, 10, -2.7693015..., -3.3363448...)
    """
    rules.one_of("name", name, tuple(DEMONSTRATIONS))
    return DEMONSTRATIONS[name](translator(lang), language(lang))


def permutation(t: Translate, lang: Language) -> Explanation:
    """Without positions, shuffling the words merely shuffles the attention weights."""
    words = split_at_spaces(DOG[lang])
    between = " " if lang == "en" else ""
    order = [2, 1, 0, *range(3, len(words))]  # dog and man change places
    x = np.random.default_rng(0).normal(size=(len(words), 8))
    steps: list[Step] = []
    for name, encoding, title in (
        ("without", resolve_one("nope"), t("Without positions")),
        ("with", resolve_one("sinusoidal", dim=8), t("With the sinusoidal encoding")),
    ):
        plain = attention(encoding, x)
        shuffled = attention(encoding, x[order])[np.ix_(order, order)]
        steps += [
            Step(
                f"{name}-plain",
                t("{title}: which word attends to which (each row sums to 1).", title=title),
                table=matrix_table("", words, plain, words),
            ),
            Step(
                f"{name}-shuffled",
                t(
                    "{title}, in the order {order}, with rows and columns put back in place: "
                    "the largest difference is {difference}.",
                    title=title,
                    order=between.join(words[i] for i in order),
                    difference=f"{np.abs(plain - shuffled).max():.2g}",
                ),
                table=matrix_table("", words, shuffled, words),
            ),
        ]
    return Explanation(t("Attention alone does not see the order of words"), lang, tuple(steps))


def attention(encoding: Encoding, x: np.ndarray) -> np.ndarray:
    """Attention weights (seq, seq), with x (seq, dim) as both queries and keys."""
    positions = np.arange(len(x))
    return softmax(logits(encoding, x[None], x[None], positions, positions)[0])


def softmax(scores: np.ndarray) -> np.ndarray:
    """The softmax over the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def rope_relative(t: Translate, lang: Language) -> Explanation:
    """The tutorial's table of products, which are equal for equal m - n."""
    steps = (explain("rope", lang=lang)["relative"],)
    return Explanation(t("RoPE: products depend on the distance only"), lang, steps, digits=6)


def rope_steps(t: Translate, lang: Language) -> Explanation:
    """The tutorial's steps at position 3: pairs, angles, rotated pairs, the vector, its length."""
    explained = explain("rope", position=3, lang=lang)
    names = ("pairs", "angles", "rotation", "flattened", "norms")
    title = t("RoPE, step by step at position {position}", position=3)
    return Explanation(title, lang, tuple(explained[name] for name in names), digits=3)


def addition(t: Translate, lang: Language) -> Explanation:
    """The tutorial's sum: embedding + encoding = input, for four words of 8 dimensions."""
    words = split_at_spaces(LEARNING[lang])
    explained = explain("sinusoidal", tokens=words, lang=lang)
    embeddings = Step(
        "embeddings",
        t("The embeddings of the words, made up as in the tutorial."),
        table=matrix_table("", words, example_embeddings(len(words), 8)),
    )
    steps = (embeddings, explained["encodings"], explained["addition"])
    return Explanation(t("Embedding + encoding = input"), lang, steps, digits=3)


DEMONSTRATIONS: dict[str, Callable[[Translate, Language], Explanation]] = {
    "permutation": permutation,
    "rope-relative": rope_relative,
    "rope-steps": rope_steps,
    "addition": addition,
}
