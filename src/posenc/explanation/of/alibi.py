"""ALiBi explained, with fixed slopes and with learned ones."""

from collections.abc import Iterator

from posenc.encodings.alibi import ALiBi, TwoSidedALiBi
from posenc.explanation.bias import BIAS, DISTANCE, bias_steps, bias_symbol, distance
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, power, row
from posenc.explanation.place import Place, substitute, substitution
from posenc.explanation.question import Question, number_rows, table
from posenc.explanation.registry import explain_with


def alibi_steps(encoding: ALiBi, question: Question) -> Iterator[Step]:
    """The slope of each head, then the bias."""
    t = question.t
    yield Step(
        "formula",
        t(
            "The logit of a key is lowered in proportion to its distance, with a slope of its "
            "own in each head."
        ),
        (equation(BIAS, row("−", index("m", "h"), " · ", DISTANCE)),),
    )
    own = _slope(encoding, "h")
    yield Step(
        "slopes",
        t("The slopes of the heads."),
        () if own is None else (equation(index("m", "h"), own),),
        table(("h", t("slope")), *number_rows(encoding.head_slopes(), first=1)),
    )
    if encoding.future == "offset":
        yield Step(
            "offset",
            t("Keys behind their query have half a slope added, so that the two sides differ."),
        )
    yield from bias_steps(encoding, question)


def alibi_number(encoding: ALiBi, at: Place) -> list[Step]:
    """The slope of the head times the distance."""
    t, q, k, head = at.t, at.row, at.column, at.head + 1
    m = float(encoding.head_slopes()[at.head])
    letters, numbers = _slope(encoding, "h"), _slope(encoding, head)
    nearer = encoding.future == "offset" and q > k

    def offset(away: Maths) -> Maths:
        return row("(", away, " − ", 0.5, ")") if nearer else away

    formula = (
        equation(BIAS, row("−", index("m", "h"), " · ", offset(DISTANCE))),
        *([] if letters is None else [equation(index("m", "h"), letters)]),
    )
    own = (index("m", head), m) if numbers is None else (index("m", head), numbers, m)
    total = bias_symbol(at), row("−", m, " · ", offset(distance(at))), at.truth
    words = t("Head {head}, query {query}, key {key}.", head=head, query=q, key=k)
    return [Step("formula", words, formula), substitute(t, own, total)]


def _slope(encoding: ALiBi, head: Maths) -> Maths | None:
    """2^(-8h/H) for head h, divided as the bias is; None if the slopes are no such series."""
    heads = encoding.heads
    if encoding.slopes != "paper" and heads & (heads - 1):
        return None
    above = 8 * head if isinstance(head, int) else row(8, head)
    own = power(2, row("−", frac(above, heads)))
    return own if encoding.divisor == 1 else frac(own, encoding.divisor)


def two_sided_number(_encoding: TwoSidedALiBi, at: Place) -> list[Step]:
    """The learned slope of the key's side times the distance."""
    t = at.t
    behind = at.row >= at.column
    s = float(at.weights["behind" if behind else "ahead"][at.head])
    words = (
        t("A learned slope for keys behind.") if behind else t("A learned slope for keys ahead.")
    )

    def sigmoid(exponent: Maths) -> Maths:
        return frac(1, row(1, " + ", power("e", exponent)))

    general = BIAS, row("−", sigmoid(row("−", "s")), " · ", DISTANCE)
    special = row("−", sigmoid(-s), " · ", distance(at))
    return substitution(words, general, (bias_symbol(at), special, at.truth), at=at)


explain_with(ALiBi, number=alibi_number, steps=alibi_steps)
explain_with(TwoSidedALiBi, number=two_sided_number)
