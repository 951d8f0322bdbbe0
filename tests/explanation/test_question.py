"""What is asked, and the tables that the answers share."""

import numpy as np

import posenc as pe
from posenc.explanation.question import Question, example_vectors, matrix_table, number_rows, table
from posenc.i18n import translator


def ask(encoding, length=2, tokens=None):
    return Question(encoding, length, 1, tokens, {}, translator("en"))


def test_rows_are_named_by_token_and_position():
    assert ask(pe.RoPE(8)).names == ("0", "1")
    assert ask(pe.RoPE(8), 3, ("a", "b", "a")).names == ("a 0", "b 1", "a 2")


def test_several_axes_are_shown_on_a_grid():
    positions, names = ask(pe.AxialRoPE.split(8)).positions(side=2)
    assert positions.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert names == ("(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)")


def test_tables_hold_plain_values_whatever_they_are_made_of():
    made = table(("k", "w"), *number_rows(np.array([0.5, 2.0]), first=1))
    assert made.rows == ((1, 0.5), (2, 2.0))
    assert {type(value) for row in made.rows for value in row} == {int, float}
    square = matrix_table("p", ("x", "y"), np.array([[1, 2], [3, 4]]), ("a", "b"))
    assert square.columns == ("p", "a", "b")
    assert square.rows == (("x", 1, 2), ("y", 3, 4))


def test_query_and_key_are_those_of_the_tutorials():
    q, k = example_vectors(8)
    assert q[0, :2].round(6).tolist() == [0.496714, -0.138264]
    assert round(float((q @ k.T).item()), 6) == -4.0819
