"""The numbers of tables and formulas, read back; and formulas that import nothing from posenc."""

import math

import numpy as np

import posenc as pe
from posenc.explanation import maths
from posenc.explanation.cell import cell
from posenc.names.resolve import evaluate_encoding


def columns(step):
    """The columns of a step's table by name."""
    return {
        name: list(column)
        for name, column in zip(step.table.columns, zip(*step.table.rows, strict=True), strict=True)
    }


def matrix(step):
    return np.array([row[1:] for row in step.table.rows])


def leaves(tree):
    if isinstance(tree, maths.Node):
        for part in tree.parts:
            yield from leaves(part)
    else:
        yield tree


def values_in(tree):
    return [leaf for leaf in leaves(tree) if isinstance(leaf, int | float)]


def waves(positions, dim, base=10_000.0):
    """PE by the paper, one number at a time."""
    return np.array(
        [
            [(math.sin, math.cos)[c % 2](p / base ** (2 * (c // 2) / dim)) for c in range(dim)]
            for p in positions
        ]
    )


LONG = "LongRoPE((1.0, 1.0, 1.5, 2.0), (1.0, 2.0, 8.0, 32.0), 4096, factor=32.0)"


def encoding_at(expression: str, place) -> pe.Encoding:
    """The encoding, for a text that ends at the place: some scalings depend on its length."""
    encoding = evaluate_encoding(expression)
    return encoding.at(place + 1) if isinstance(encoding, pe.RoPE) else encoding


def draw_params(encoding: pe.Encoding):
    return encoding.init(np.random.default_rng(3))


def cell_lines(expression, place, other, head=0):
    """The lines of a cell's formulas, step by step."""
    encoding = encoding_at(expression, place)
    return formula_lines(cell(encoding, place, other, draw_params(encoding), head=head))


def formula_lines(told):
    return {step.name: [maths.text(formula) for formula in step.formulas] for step in told.steps}
