"""Formulas as small trees, written once and shown as text, LaTeX and MathML.

A tree is a symbol (str), a number, or a `Node` of trees. Numbers stay numbers, so that what is
shown can be compared with what was computed.

>>> wave = row("sin", "(", frac(3, power(10_000, frac(2, 8))), ")", " = ", 0.2955202)
>>> text(wave)
'sin(3/10000^(2/8)) = 0.2955'
>>> latex(wave)
'\\\\sin(\\\\frac{3}{10000^{2/8}}) = 0.2955'
"""

from dataclasses import dataclass
from html import escape
from typing import Any, Literal

Kind = Literal["row", "frac", "power", "root", "index", "matrix", "line"]


@dataclass(frozen=True)
class Node:
    """A row of trees, a fraction, a power, a square root, an index, or a matrix of lines."""

    kind: Kind
    parts: tuple["Maths", ...]


Maths = str | int | float | Node


def row(*parts: Maths) -> Node:
    """Trees one after the other; operators come with their spaces: " = ", " + "."""
    return Node("row", parts)


def frac(above: Maths, below: Maths) -> Node:
    """A fraction."""
    return Node("frac", (above, below))


def power(base: Maths, exponent: Maths) -> Node:
    """A power; a fraction above is written with a stroke, as papers do: it would be too small."""
    return Node("power", (base, _on_one_line(exponent)))


def _on_one_line(tree: Maths) -> Maths:
    """Fractions with a stroke, where that needs no brackets."""
    if not isinstance(tree, Node) or tree.kind not in ("row", "frac"):
        return tree
    if tree.kind == "row":
        return row(*map(_on_one_line, tree.parts))
    above, below = tree.parts
    return tree if _is_loose(above) or _is_loose(below) else row(above, "/", below)


def _is_loose(tree: Maths) -> bool:
    """Whether it needs brackets before or after a stroke."""
    return bool(set(text(tree)) & set(" /−-"))


def root(inside: Maths) -> Node:
    """A square root."""
    return Node("root", (inside,))


def index(symbol: Maths, *indices: Maths) -> Node:
    """A symbol with indices: w_i, PE_(p, 2i)."""
    joined: list[Maths] = []
    for part in indices:
        joined += [", ", part] if joined else [part]
    return Node("index", (symbol, joined[0] if len(joined) == 1 else row(*joined)))


def matrix(*lines: tuple[Maths, ...]) -> Node:
    """A matrix, line by line; a column vector has lines of one."""
    return Node("matrix", tuple(Node("line", line) for line in lines))


def equation(*sides: Maths) -> Node:
    """Sides that are equal, one after the other."""
    parts: list[Maths] = []
    for side in sides:
        parts += [" = ", side] if parts else [side]
    return row(*parts)


def number(value: float, digits: int = 4) -> str:
    """A number for people: so many digits behind the point, without zeros at the end.

    >>> number(0.5403023), number(1.0), number(12), number(0.00045678)
    ('0.5403', '1', '12', '0.0004568')
    """
    if isinstance(value, int):
        return str(value)
    if value and not 10.0 ** (1 - digits) <= abs(value) < 1e9:
        return f"{value:.{digits}g}"  # a small one keeps its digits
    shown = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def to_json(tree: Maths) -> Any:
    """Symbols and numbers as they are, a node as [kind, part, …]."""
    return [tree.kind, *map(to_json, tree.parts)] if isinstance(tree, Node) else tree


def text(tree: Maths, digits: int = 4) -> str:
    """The tree on one line of plain text."""
    if not isinstance(tree, Node):
        return tree if isinstance(tree, str) else number(tree, digits)
    plain = [text(part, digits) for part in tree.parts]
    closed = [_closed(part, digits) for part in tree.parts]
    return {
        "row": "".join(plain),
        "frac": "/".join(closed),
        "power": "^".join(closed),
        "root": f"√{closed[0]}",
        "index": f"{plain[0]}_{closed[-1]}",
        "matrix": f"[{'; '.join(plain)}]",
        "line": " ".join(plain),
    }[tree.kind]


def _closed(tree: Maths, digits: int) -> str:
    """In brackets where it would fall apart: 10^(2/8), not 10^2/8."""
    inside = text(tree, digits)
    loose = isinstance(tree, Node) and tree.kind in ("row", "frac") and set(inside) & set(" /")
    return f"({inside})" if loose or inside.startswith(("-", "−")) else inside


SYMBOLS = {
    "sin": r"\sin", "cos": r"\cos", "ln": r"\ln", "min": r"\min", "max": r"\max",
    "θ": r"\theta ", "γ": r"\gamma ", "β": r"\beta ", "λ": r"\lambda ", "π": r"\pi ",
    " · ": r" \cdot ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", " ≤ ": r" \le ", "|": r"\vert ",
    "∞": r"\infty ", "Σ": r"\sum ", "ζ": r"\zeta ", "ε": r"\varepsilon ", "GELU": r"\mathrm{GELU}",
    " − ": " - ", "−": "-", "×": r"\times ",
}  # fmt: skip


def latex(tree: Maths, digits: int = 4) -> str:
    """The tree in LaTeX's mathematics."""
    if isinstance(tree, str):
        return SYMBOLS.get(tree, tree.replace("′", "'"))
    if not isinstance(tree, Node):
        return _exponent(number(tree, digits))
    parts = [latex(part, digits) for part in tree.parts]
    return {
        "row": "".join(parts),
        "frac": rf"\frac{{{parts[0]}}}{{{parts[-1]}}}",
        "power": f"{parts[0]}^{{{parts[-1]}}}",
        "root": rf"\sqrt{{{parts[0]}}}",
        "index": f"{parts[0]}_{{{parts[-1]}}}",
        "matrix": r"\begin{bmatrix} " + r" \\ ".join(parts) + r" \end{bmatrix}",
        "line": " & ".join(parts),
    }[tree.kind]


def _exponent(shown: str) -> str:
    """1e-05 as 1 · 10^-5."""
    mantissa, e, exponent = shown.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else shown


TAGS = {
    "row": "mrow", "frac": "mfrac", "power": "msup", "root": "msqrt", "index": "msub", "line": "mtr"
}  # fmt: skip


def mathml(tree: Maths, digits: int = 4) -> str:
    """The tree as MathML, without the <math> around it."""
    if isinstance(tree, str):
        word = tree.strip()
        tag = "mi" if any(c.isalpha() for c in word) else "mo"
        return f"<{tag}>{escape(word)}</{tag}>"
    if not isinstance(tree, Node):
        return f"<mn>{number(tree, digits)}</mn>"
    parts = [mathml(part, digits) for part in tree.parts]
    if tree.kind == "matrix":
        return f"<mtable>{''.join(parts)}</mtable>"  # a style draws its brackets: few fonts can
    if tree.kind == "line":
        parts = [f"<mtd>{part}</mtd>" for part in parts]
    return f"<{TAGS[tree.kind]}>{''.join(parts)}</{TAGS[tree.kind]}>"
