"""No tool knows a class: what is asked of an encoding is asked of the contract."""

import ast
import dataclasses
from pathlib import Path

import pytest

import posenc as pe

SOURCE = Path(pe.__file__).parent
KNOWING = ("bench", "encodings", "explanation/of", "interop", "names/resolve.py", "peers")
"""Folders that may name a class: encodings, conventions of models, registered names, timed rows."""

BASES = (pe.Encoding, pe.Scaling, pe.Temperature, pe.AxisLayout)
PUBLIC = [getattr(pe, name) for name in pe.__all__]
KINDS = {
    kind.__name__: kind
    for kind in PUBLIC
    if isinstance(kind, type) and issubclass(kind, BASES) and dataclasses.is_dataclass(kind)
}
"""Encodings, wrappers such as Tempered included, and the values that they are made with."""

FACTS = {
    *(field.name for kind in KINDS.values() for field in dataclasses.fields(kind)),
    *(name for name in vars(pe.Encoding) if not name.startswith("_")),
    "frequencies",
    "wavelengths",
    "scaling",
    "original_length",
} - {"values", "order", "about", "parameters"}  # words of other things too


def tools():
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(KNOWING) and place != "__init__.py":
            yield pytest.param(path, id=place)


def named_kinds(tree):
    """Classes that are imported, or that are read from a module: `posenc.RoPE`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("posenc"):
            yield from (alias.name for alias in node.names if alias.name in KINDS)
        elif isinstance(node, ast.Attribute) and node.attr in KINDS:
            yield node.attr


def text_of(tree):
    """Strings that are no docstrings: those stand alone."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text and id(node) not in alone:
            yield node.value


def guesses(tree):
    """hasattr(…, fact) and getattr(…, fact, default)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            least = {"hasattr": 2, "getattr": 3}.get(node.func.id)
            if least is not None and len(node.args) >= least:
                name = node.args[1]
                if isinstance(name, ast.Constant) and name.value in FACTS:
                    yield f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", [*tools()])
def test_a_tool_names_no_encoding(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert sorted(named_kinds(tree)) == []
    assert sorted(KINDS.keys() & set(text_of(tree))) == []


@pytest.mark.parametrize("path", [*tools()])
def test_a_tool_asks_the_contract(path):
    assert list(guesses(ast.parse(path.read_text(encoding="utf-8")))) == []
