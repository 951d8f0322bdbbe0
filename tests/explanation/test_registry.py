"""Explanations are found by class, then by mechanism; anyone can register one."""

import ast
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import posenc as pe
from posenc.explanation import Step, explain_with, maths, of
from posenc.explanation.cell import cell
from posenc.explanation.question import Question
from posenc.i18n import LANGUAGES
from tests.explanation.reading import matrix


@dataclass(frozen=True)
class Clock(pe.Additive):
    dim: int = 2

    def encode(self, positions, params=None, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.pi / 6
        return np.concat([np.sin(angle), np.cos(angle)], axis=-1)


def test_an_encoding_of_ones_own_is_worked_too():
    explained = pe.explain(Clock(), length=4)
    assert matrix(explained["encodings"])[3] == pytest.approx([1, 0])
    assert matrix(explained["addition"])[3] == pytest.approx([1.4, 0.5])


@dataclass(frozen=True)
class Turn(pe.Rotary):
    def cos_sin(self, positions, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.ones(2)
        return np.cos(angle), np.sin(angle)


@dataclass(frozen=True)
class Recency(pe.Bias):
    def bias(self, q_pos, k_pos, params=None):
        return -abs(q_pos[..., None, :, None] - k_pos[..., None, None, :])


@dataclass(frozen=True)
class Unpositioned(pe.Scores):
    def scores(self, q, k, q_pos, k_pos, params=None):
        return q @ k.mT / np.sqrt(q.shape[-1])


FORMULAS = [
    (Clock(), "z_p = x_p + PE_p"),
    (Turn(), "x′_p = R_p x_p"),
    (Recency(), "s_(h, i, j) = (q_i · k_j)/√d + b_(h, i, j)"),
    (Unpositioned(), "s_(i, j) = f(q_i, k_j, i, j)"),
]


@pytest.mark.parametrize(("encoding", "formula"), FORMULAS, ids=str)
def test_without_a_formula_that_of_the_mechanism_is_shown(encoding, formula):
    first, *_ = pe.explain(encoding).steps
    assert [maths.text(each) for each in first.formulas] == [formula]
    for lang in LANGUAGES[1:]:
        assert pe.explain(encoding, lang=lang).steps[0].words != first.words


def test_steps_of_ones_own_can_be_registered():
    @dataclass(frozen=True)
    class Twelve(Clock):
        pass

    def steps(encoding: Twelve, question: Question):
        yield Step("hour", f"{question.position} o'clock")

    explain_with(Twelve, steps=steps)
    assert pe.explain(Twelve(), position=5)["hour"].words == "5 o'clock"
    assert "hour" not in [step.name for step in pe.explain(Clock()).steps]
    assert [step.name for step in cell(Twelve(), 3, 1).steps] == ["value"]


def test_a_kind_of_ones_own_gets_its_formula_by_registering_it():
    class Double(pe.Sinusoidal):
        pass

    class Quadruple(Double):
        pass

    explain_with(Double, number=lambda _, at: [Step("mine", "mine", (at.truth,))])
    for kind in (Double, Quadruple):
        assert [step.name for step in cell(kind(8), 3, 2).steps] == ["mine"]
        assert [s.name for s in pe.explain(kind(8)).steps] == ["mine", "encodings", "addition"]
    assert [step.name for step in cell(pe.Sinusoidal(8), 3, 2).steps] == ["formula", "numbers"]


def test_what_is_not_registered_is_inherited():
    class Compass(pe.ALiBi):
        pass

    plain = pe.explain(pe.ALiBi(4))
    assert pe.explain(Compass(4)).steps == plain.steps
    explain_with(Compass, steps=lambda _, question: iter([Step("mine", "mine")]))
    assert [step.name for step in pe.explain(Compass(4)).steps] == ["mine"]
    assert cell(Compass(4), 3, 2).steps == cell(pe.ALiBi(4), 3, 2).steps


@pytest.mark.parametrize(
    "path", sorted(Path(of.__file__).parent.glob("[a-z]*.py")), ids=lambda p: p.stem
)
def test_a_file_explains_the_encodings_of_one_file(path):
    """So that the explanation of an encoding is found by the name of its module."""
    homes = {
        node.module
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("posenc.encodings")
    }
    if path.stem == "scalings":  # which only RoPE has
        assert homes == {"posenc.encodings.rope"}
    else:
        assert homes == {f"posenc.encodings.{path.stem}"}
