"""Formulas evaluated by Python alone, from the trees that an explanation shows."""

import math
import re

WORDS = {" · ": "*", " + ": "+", " − ": "-", "−": "-", "/": "/", "(": "(", ")": ")", ", ": ","}
KNOWN = {"π": "pi", "e": "e", "sin": "sin", "cos": "cos", "ln": "log", "max": "max"}


class Letters(Exception):  # noqa: N818
    """The formula has a letter in it: there is nothing to compute."""


FORMS = {"frac": "(({})/({}))", "power": "(({})**({}))", "root": "sqrt({})"}


def written(tree) -> str:
    """A formula as Python spells it; `|` opens and closes in turn."""
    if isinstance(tree, int | float):
        return repr(float(tree))
    if isinstance(tree, str):
        return word(tree)
    kind, *parts = tree
    if kind not in ("row", *FORMS):
        raise Letters(kind)
    said = [written(part) for part in parts]
    return "".join(said) if kind == "row" else FORMS[kind].format(*said)


def word(symbol: str) -> str:
    known = WORDS | KNOWN | {"|": "|", "": ""}
    if symbol not in known and symbol.strip() not in known:
        raise Letters(symbol)
    return known.get(symbol, known.get(symbol.strip(), ""))


def computed(tree) -> float | None:
    try:
        text = written(tree)
    except Letters:
        return None
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", text)
    names = {name: getattr(math, name) for name in ("sin", "cos", "log", "sqrt", "pi", "e")}
    return float(eval(text, {"__builtins__": {}}, names | {"abs": abs, "max": max}))


def sides(formula) -> list:
    """What stands between the equals signs of a formula."""
    assert formula[0] == "row"
    found: list = [["row"]]
    for part in formula[1:]:
        if part == " = ":
            found.append(["row"])
        else:
            found[-1].append(part)
    return found
