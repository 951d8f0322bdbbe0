"""Worked calculations: every step of an encoding with its numbers, in four languages."""

from posenc.worked.calculation import explain, steps
from posenc.worked.demonstrations import DEMONSTRATIONS, demonstrate
from posenc.worked.explanation import Explanation, Step, Table

__all__ = ["DEMONSTRATIONS", "Explanation", "Step", "Table", "demonstrate", "explain", "steps"]
