"""One number of each encoding as a formula: in letters, with the numbers put in, and the result."""

from posenc.explanation.formulas import added, biases, rotated, scores
from posenc.explanation.formulas.place import Place, formulas

__all__ = ["Place", "added", "biases", "formulas", "rotated", "scores"]
