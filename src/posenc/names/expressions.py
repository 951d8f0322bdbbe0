"""Expressions: read into the calls they are made of, made, and written back. No code runs."""

import ast
import dataclasses
import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from types import ModuleType
from typing import Any

from posenc import layouts, scalings, temperatures
from posenc.core import scaling
from posenc.core.hints import fold, nearest, unknown_argument
from posenc.encodings.registry import catalogue
from posenc.i18n import N_, phrase, translatable

Check = Callable[[str, dict[str, object]], None]
"""Raises if the arguments (by name) of something that an expression makes are not accepted."""

PARSING = Lock()
"""Python 3.11 counts the depth of all threads' trees together, and fails where two meet."""


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of a class, or of one of its presets, with arguments by name.

    An argument is a plain value, a tuple or a call again.

    >>> call = parse_call("RoPE(64, base=10000.0, scaling=NTK(4.0))")
    >>> call.maker, list(call.arguments)
    ('RoPE', ['dim', 'base', 'scaling'])
    >>> str(call)
    'RoPE(64, scaling=NTK(4.0))'
    """

    kind: type
    preset: str | None
    arguments: dict[str, Any]

    @property
    def maker(self) -> str:
        """What is called: RoPE, or AxialRoPE.split."""
        return ".".join(filter(None, (self.kind.__name__, self.preset)))

    @property
    def function(self) -> Callable[..., object]:
        """What is called, to be called."""
        return getattr(self.kind, self.preset) if self.preset else self.kind

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """All that it could be given."""
        return dict(_signature(self.function).parameters)

    def with_arguments(self, **arguments: object) -> "Call":
        """The same call with other arguments."""
        return dataclasses.replace(self, arguments=self.arguments | arguments)

    def make(self, check: Check | None = None) -> object:
        """What the call returns; `check` sees the arguments of each part before it is made."""
        given = {name: _evaluate(value, check) for name, value in self.arguments.items()}
        if check is not None:
            check(self.kind.__name__, given)
        bound = inspect.BoundArguments(_signature(self.function), OrderedDict(given))
        return self.function(*bound.args, **bound.kwargs)

    def __str__(self) -> str:
        return self.to_source()

    def to_source(self, plain: Callable[[object], str] = repr) -> str:
        """The call as an expression, without arguments that are as they would be anyway."""
        parts: list[str] = []
        for name, parameter in self.parameters.items():
            if name not in self.arguments or _is_equal(self.arguments[name], parameter.default):
                continue
            text = to_source(self.arguments[name], plain=plain)
            named = parameter.default is not parameter.empty or parameter.kind is _BY_NAME
            parts.append(f"{name}={text}" if named else text)
        return f"{self.maker}({', '.join(parts)})"


_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_signature = cache(inspect.signature)


def parse_call(expression: str) -> Call:
    """The call that an expression is; nothing is made of it.

    >>> parse_call("AxialRoPE.mrope(16, sections=(4, 2, 2))").arguments
    {'dim': 16, 'sections': (4, 2, 2)}
    """
    read = _parse(expression)
    if not isinstance(read, Call):
        raise not_an_encoding(read)
    return read


def not_an_encoding(given: object) -> Exception:
    """The error of a value that is named where an encoding must be."""
    return translatable(TypeError, "what is named must be an Encoding; got {given!r}", given=given)


def evaluate(expression: str, *, check: Check | None = None) -> object:
    """What an expression spells, be it an encoding, a scaling, a temperature or a plain value.

    `check` sees the arguments of each part before it is made.

    >>> evaluate("YaRN(4.0, 4096)").factor
    4.0
    """
    try:
        with _refuse_deep():
            return _evaluate(_parse(expression), check)
    except TypeError as error:
        template = N_("expression must be valid; got {error}")
        raise translatable(ValueError, template, error=error) from error


def to_source(value: object, *, plain: Callable[[object], str] = repr) -> str:
    """The shortest expression that spells a value: what is the default is left out.

    `plain` says what is no encoding and no scaling.

    >>> from posenc import RoPE
    >>> to_source(RoPE(64, scaling=scalings.YaRN(4.0, 8192)))
    'RoPE(64, scaling=YaRN(4.0, 8192))'
    >>> to_source(RoPE(64, rotary_dim=64))
    'RoPE(64)'
    """
    if isinstance(value, Call):
        return value.to_source(plain)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return plain(value)
    return to_call(value).to_source(plain)


def to_call(value: Any) -> Call:
    """The call of its class that makes a value: its fields, without those it would have anyway."""
    fields = [field for field in dataclasses.fields(value) if field.init]
    given = {field.name: getattr(value, field.name) for field in fields}
    whole = Call(type(value), None, given)
    return _shorten(whole, value) or whole


def _shorten(call: Call, value: object) -> Call | None:
    """The call without arguments that change nothing; None if it does not make the value at all."""
    if not _makes(call, value):
        return None
    for name, parameter in call.parameters.items():
        if name in call.arguments and parameter.default is not parameter.empty:
            left = {key: given for key, given in call.arguments.items() if key != name}
            fewer = dataclasses.replace(call, arguments=left)
            usual = _is_equal(call.arguments[name], parameter.default)
            call = fewer if usual or _makes(fewer, value) else call
    return call


def _makes(call: Call, value: object) -> bool:
    try:
        return _is_equal(call.make(), value)
    except Exception:  # it goes with another argument, or a class of someone's own refuses
        return False


def _is_equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # arrays are equal or not in each of their entries
        return False


def presets(kind: type) -> list[str]:
    """The names of the classmethods that make one of this kind.

    >>> from posenc import AxialRoPE
    >>> presets(AxialRoPE)[:2]
    ['split', 'rope_vit']
    """
    return [
        name
        for name, value in vars(kind).items()
        if isinstance(value, classmethod) and not name.startswith("_") and name != "example"
    ]


@cache  # to look through all installed packages takes longer than most of what is asked
def makers() -> dict[str, type]:
    """The classes that an expression may name."""
    names: dict[str, type] = {kind.__name__: kind for kind in catalogue().values()}
    for module in (scaling, scalings, layouts, temperatures):
        names |= {name: kind for name, kind in vars(module).items() if _is_defined_in(kind, module)}
    return names


@cache
def spellings() -> dict[str, type]:
    """Each class under its folded name, and under that of the list of encodings."""
    listed = {fold(name): kind for name, kind in catalogue().items()}
    return listed | {fold(name): kind for name, kind in makers().items()}


def find_maker(name: str) -> type | None:
    """The class that an expression means by `name`, however it is written.

    >>> find_maker("transformer-xl").__name__, find_maker("t5").__name__, find_maker("print")
    ('TransformerXL', 'T5Bias', None)
    """
    return spellings().get(fold(name))


def _is_defined_in(kind: object, module: ModuleType) -> bool:
    return dataclasses.is_dataclass(kind) and getattr(kind, "__module__", "") == module.__name__


def _parse(expression: str) -> object:
    if "\0" in expression:  # which Python says in its own words, not always the same
        raise translatable(ValueError, "expression must not have null characters in it")
    try:
        with _refuse_deep():
            with PARSING:
                tree = ast.parse(_join_first_name(expression.strip()), mode="eval")
            return _read(tree.body)
    except SyntaxError as error:
        template = N_("expression must be Python; got {expression!r}: {why}")
        named = {"expression": expression, "why": error.msg}
        raise translatable(ValueError, template, **named) from error


@contextmanager
def _refuse_deep() -> Generator[None]:
    try:
        yield
    except (RecursionError, MemoryError) as error:
        raise translatable(ValueError, "expression must not be nested so deeply") from error


def _join_first_name(expression: str) -> str:
    """An expression whose first name is one word: transformer-xl(8, 64) has transformer_xl."""
    name, bracket, rest = expression.partition("(")
    return re.sub(r"(?<=\w)[- ]+(?=\w)", "_", name) + bracket + rest


def _parse_callee(function: ast.expr) -> Call | None:
    """What is called, without arguments: RoPE, AxialRoPE.split, pe.RoPE or posenc.RoPE."""
    path: list[str] = []
    while isinstance(function, ast.Attribute):
        path.insert(0, function.attr)
        function = function.value
    if not isinstance(function, ast.Name):
        return None
    path = path if function.id in ("pe", "posenc") else [function.id, *path]
    kind = find_maker(path[0]) if 1 <= len(path) <= 2 else None
    if kind is None or (len(path) == 2 and path[1] not in presets(kind)):
        return None
    return Call(kind, path[1] if len(path) == 2 else None, {})


def _read(node: ast.AST) -> object:
    match node:
        case ast.Call(func=function) if (call := _parse_callee(function)) is not None:
            return _bind(node, call)
        case ast.Tuple() | ast.List():
            return tuple(map(_read, node.elts))
        case _:
            try:
                return ast.literal_eval(node)
            except (ValueError, TypeError) as error:
                raise _part_error(node) from error


def _part_error(node: ast.AST) -> Exception:
    """The error of a part that is no value and no call of ours, with what was probably meant."""
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    hint = nearest(name, makers())
    template = N_("expression must be made of encodings, scalings and plain values; got {part!r}")
    if hint is not None:
        template = N_(
            "expression must be made of encodings, scalings and plain values; got {part!r}; "
            "did you mean {hint}?"
        )
    return translatable(ValueError, template, part=ast.unparse(node), hint=hint)


def _bind(node: ast.Call, call: Call) -> Call:
    values = [_read(item) for item in node.args]
    named = _read_keywords(node, call.maker)
    signature = _signature(call.function)
    try:
        signature.bind_partial(*values, **named)  # what is unknown is said before what is missing
        bound = signature.bind(*values, **named)
    except TypeError as error:
        hints = [] if call.preset else list(_suggest_presets(call.kind, values, named))
        unknown = [name for name in named if name not in signature.parameters]
        if unknown and not hints:
            known = signature.parameters
            raise unknown_argument(call.maker, unknown[0], known, kind=ValueError) from error
        template = N_("expression must be valid; got {maker}: {error}")
        if hints:
            template = N_("expression must be valid; got {maker}: {error}; did you mean {hint}?")
        given = {"maker": call.maker, "error": error, "hint": (*hints, None)[0]}
        raise translatable(ValueError, template, **given) from error
    return call.with_arguments(**bound.arguments)


def _read_keywords(node: ast.Call, maker: str) -> dict[str, object]:
    """The arguments that are given by name: Python would refuse a name that is there twice."""
    named: dict[str, object] = {}
    for word in node.keywords:
        if word.arg is None:
            template, part = N_("expression must name each argument; got {part!r}"), word.value
            raise translatable(ValueError, template, part=f"**{ast.unparse(part)}")
        if word.arg in named:
            template = N_("expression must be valid; got {maker}: {error}")
            error = phrase("multiple values for argument {name}", name=repr(word.arg))
            raise translatable(ValueError, template, maker=maker, error=error)
        named[word.arg] = _read(word.value)
    return named


def _suggest_presets(kind: type, values: list[object], named: dict[str, object]) -> Iterator[str]:
    """Presets that would take what the class does not."""
    for preset in presets(kind):
        call = Call(kind, preset, {})
        try:
            bound = _signature(call.function).bind(*values, **named)
        except TypeError:
            continue
        yield str(call.with_arguments(**bound.arguments))


def _evaluate(value: object, check: Check | None) -> object:
    if isinstance(value, Call):
        return value.make(check)
    return tuple(_evaluate(item, check) for item in value) if isinstance(value, tuple) else value
