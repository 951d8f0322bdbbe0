"""Worked calculations: every step of an encoding with its numbers, in four languages."""

from posenc.explanation.calculation import explain, steps
from posenc.explanation.demonstrations import DEMONSTRATIONS, demonstrate
from posenc.explanation.explanation import Explanation, Step, Table

__all__ = ["DEMONSTRATIONS", "Explanation", "Step", "Table", "demonstrate", "explain", "steps"]
