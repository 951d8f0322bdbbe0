"""Worked calculations: every step of an encoding with its numbers, in four languages."""

from posenc.explanation import of
from posenc.explanation.calculation import explain
from posenc.explanation.demonstrations import DEMONSTRATIONS, demonstrate
from posenc.explanation.explanation import Explanation, Step, Table
from posenc.explanation.place import Place
from posenc.explanation.question import Question
from posenc.explanation.registry import explain_with

__all__ = [
    "DEMONSTRATIONS",
    "Explanation",
    "Place",
    "Question",
    "Step",
    "Table",
    "demonstrate",
    "explain",
    "explain_with",
    "of",
]
