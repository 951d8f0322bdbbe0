"""No tool knows a class: what is asked of an encoding is asked of the contract."""

import ast
import dataclasses
import re
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


VERBS = {"embed", "exceed", "feed", "need", "proceed", "seed"}
IRREGULAR = re.compile(
    "(un)?(begun|bent|bought|brought|built|caught|chosen|done|drawn|driven|fed|felt|found|frozen|"
    "given|gone|grown|heard|held|hidden|kept|known|laid|left|lost|made|meant|met|paid|proven|said|"
    "seen|sent|shown|spent|spoken|taken|taught|thrown|told|understood|worn|woven|written)"
)
PARTICIPLES = {
    "core/hints.py: hinted": "a decorator says what becomes of the function",
    "core/positions.py: packed": "public; named by the positions that it returns",
    "core/positions.py: randomised": "public; named by the positions that it returns",
    "core/shards.py: sharded": "public; named by the positions that it returns",
}
"""Functions that may be participles, and why. A check is one more: it bears its property's name."""


def is_participle(word):
    """Whether it is one such as turned, unseen or made; not those that are verbs too, as split.

    >>> [is_participle(word) for word in ("turned", "unseen", "seed", "widen")]
    [True, True, False, False]
    """
    regular = re.fullmatch("[a-z]+ed", word) and word not in VERBS
    return bool(regular or IRREGULAR.fullmatch(word))


def participles(tree):
    """Functions, not properties, whose whole name is a participle."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            fact = re.search(r"property\b|\bcheck\(", decorators)
            if not fact and is_participle(node.name.strip("_")):
                yield node.name


def test_functions_are_verbs():
    found = {
        f"{path.relative_to(SOURCE).as_posix()}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in participles(ast.parse(path.read_text(encoding="utf-8")))
    }
    new, gone = sorted(found - PARTICIPLES.keys()), sorted(PARTICIPLES.keys() - found)
    assert not new, f"a function is a verb (merge, not merged; is_traced, not traced): {new}"
    assert not gone, f"remove from PARTICIPLES what is no function any more: {gone}"


def test_participles_are_seen():
    text = "class A:\n @property\n def failed(self): 0\n def unseen(self):\n  def _turned(): 0"
    assert [*participles(ast.parse(text))] == ["unseen", "_turned"]
    assert not any(map(is_participle, ["seed", "embed", "widen", "read", "split", "bound"]))
