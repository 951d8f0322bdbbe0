"""Formulas as small trees, built once and rendered as text, LaTeX and MathML.

A tree is a symbol (str), a number, or a `Node` of trees. Numbers stay numbers, so that tests can
compare a formula with what was computed.

>>> wave = row("sin", "(", frac(3, power(10_000, frac(2, 8))), ")", " = ", 0.2955202)
>>> text(wave)
'sin(3/10000^(2/8)) = 0.2955'
>>> latex(wave)
'\\\\sin(\\\\frac{3}{10000^{2/8}}) = 0.2955'
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Literal

Kind = Literal["row", "frac", "power", "root", "index", "matrix", "line"]


@dataclass(frozen=True)
class Node:
    """A row of trees, a fraction, a power, a square root, an index, or a matrix of lines."""

    kind: Kind
    parts: tuple["Maths", ...]


Maths = str | int | float | Node


def row(*parts: Maths) -> Node:
    """Trees side by side; operators carry their spaces: " = ", " + "."""
    return Node("row", parts)


def frac(above: Maths, below: Maths) -> Node:
    """A fraction."""
    return Node("frac", (above, below))


def power(base: Maths, exponent: Maths) -> Node:
    """A power; a fraction in the exponent is written with a slash, since it would be too small."""
    return Node("power", (base, _with_slashes(exponent)))


def _with_slashes(tree: Maths) -> Maths:
    """The tree with slashes for fractions, where that needs no brackets."""
    if not isinstance(tree, Node) or tree.kind not in ("row", "frac"):
        return tree
    if tree.kind == "row":
        return row(*map(_with_slashes, tree.parts))
    above, below = tree.parts
    return tree if _needs_brackets(above) or _needs_brackets(below) else row(above, "/", below)


def _needs_brackets(tree: Maths) -> bool:
    """Whether it needs brackets beside a slash."""
    return bool(set(text(tree)) & set(" /−-"))


def root(inside: Maths) -> Node:
    """A square root."""
    return Node("root", (inside,))


def join(separator: str, parts: Iterable[Maths]) -> Node:
    """Trees side by side, with a separator between them."""
    return row(*[tree for part in parts for tree in (separator, part)][1:])


def index(symbol: Maths, *indices: Maths) -> Node:
    """A symbol with indices: w_i, PE_(p, 2i)."""
    return Node("index", (symbol, indices[0] if len(indices) == 1 else join(", ", indices)))


def matrix(*lines: tuple[Maths, ...]) -> Node:
    """A matrix, line by line; a column vector has lines of one."""
    return Node("matrix", tuple(Node("line", line) for line in lines))


def equation(*sides: Maths) -> Node:
    """The sides of an equation, with = between them."""
    return join(" = ", sides)


def number(value: float, digits: int = 4) -> str:
    """A number with this many decimals, without trailing zeros; a small one keeps its digits.

    >>> number(0.5403023), number(1.0), number(12), number(0.00045678)
    ('0.5403', '1', '12', '0.0004568')
    """
    if isinstance(value, int):
        return str(value)
    if value and not 10.0 ** (1 - digits) <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    fixed = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if fixed == "-0" else fixed


def to_json(tree: Maths) -> object:
    """Symbols and numbers as they are, a node as [kind, part, …]."""
    return [tree.kind, *map(to_json, tree.parts)] if isinstance(tree, Node) else tree


def text(tree: Maths, digits: int = 4) -> str:
    """The tree on one line of plain text."""
    if not isinstance(tree, Node):
        return tree if isinstance(tree, str) else number(tree, digits)
    plain = [text(part, digits) for part in tree.parts]
    safe = [_enclose(part, digits) for part in tree.parts]
    return {
        "row": "".join(plain),
        "frac": "/".join(safe),
        "power": "^".join(safe),
        "root": f"√{safe[0]}",
        "index": f"{plain[0]}_{safe[-1]}",
        "matrix": f"[{'; '.join(plain)}]",
        "line": " ".join(plain),
    }[tree.kind]


def _enclose(tree: Maths, digits: int) -> str:
    """The text, in brackets if it would be misread: 10^(2/8), not 10^2/8."""
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
    """The tree in LaTeX, without the $ around it."""
    if isinstance(tree, str):
        return SYMBOLS.get(tree, tree.replace("′", "'"))
    if not isinstance(tree, Node):
        return _power_of_ten(number(tree, digits))
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


def _power_of_ten(digits: str) -> str:
    """1e-05 as 1 · 10^-5."""
    mantissa, e, exponent = digits.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else digits


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
        # its brackets are drawn by CSS: few fonts can stretch theirs
        return f"<mtable>{''.join(parts)}</mtable>"
    if tree.kind == "line":
        parts = [f"<mtd>{part}</mtd>" for part in parts]
    return f"<{TAGS[tree.kind]}>{''.join(parts)}</{TAGS[tree.kind]}>"
