"""Finding encodings: by name, as an expression, in a file, in a module, in a model's config."""

import ast
import dataclasses
import difflib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

from posenc import scalings, temperatures
from posenc.encodings import AxialRoPE, RoPE, catalogue
from posenc.mechanisms import Encoding

TYPICAL: dict[str, Any] = {
    "dim": 64,
    "heads": 8,
    "length": 512,
    "axes": 2,
    "reach": 16,
    "window": (7, 7),
}
"""What is put into an encoding's required fields where it is asked for by name alone."""


def example(kind: type[Encoding], **sizes: int) -> Encoding:
    """One of this kind, of typical size; `sizes` are for those of its fields that are required.

    >>> from posenc import ALiBi
    >>> example(ALiBi).heads, example(ALiBi, heads=4, dim=8).heads
    (8, 4)
    """
    wanted = TYPICAL | sizes
    if kind is AxialRoPE:
        return AxialRoPE.split(wanted["dim"])
    given = {
        field.name: wanted[field.name]
        for field in dataclasses.fields(cast(Any, kind))
        if field.init and _required(field) and field.name in wanted
    }
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(
            f"{kind.__name__} must be given as a value, not by name: {error}"
        ) from error


def _mrope(dim: int) -> Encoding:
    """M-RoPE in Qwen2-VL's proportions: 2 of 8 pairs for time, 3 for height, 3 for width."""
    side = 3 * (dim // 2) // 8
    return AxialRoPE.mrope(dim, sections=(dim // 2 - 2 * side, side, side))


VARIANTS: dict[str, Callable[[int], Encoding]] = {
    "interpolation": lambda dim: RoPE(dim, scaling=scalings.Interpolation(4.0)),
    "ntk": lambda dim: RoPE(dim, scaling=scalings.NTK(4.0)),
    "yarn": lambda dim: RoPE(dim, scaling=scalings.YaRN(4.0, 4096)),
    "llama3": lambda dim: RoPE(dim, base=500_000.0, scaling=scalings.Llama3(8.0, 8192)),
    "p-rope": lambda dim: RoPE(dim, scaling=scalings.Proportional(0.25)),
    "mrope": _mrope,
}
"""Names for RoPE with a typical scaling, and for M-RoPE."""


def found(what: str, **sizes: int) -> dict[str, Encoding]:
    """The encodings that `what` names, each with a name of its own.

    `what` is one of our names, an expression such as RoPE(64, scaling=YaRN(4, 8192)),
    package.module:name, or a model's config.json. `sizes` (dim, length, heads) are for names only:
    what else is given has its own.

    >>> found("rope", dim=8)["rope"].dim
    8
    >>> found("ALiBi(4)")
    {'ALiBi(4)': ALiBi(heads=4, ...)}
    """
    if what in VARIANTS:
        return {what: VARIANTS[what]((TYPICAL | sizes)["dim"])}
    if what in catalogue():
        return {what: example(catalogue()[what], **sizes)}
    if sizes and (what.endswith((".json", ")")) or ":" in what):
        raise ValueError(
            f"{', '.join(sizes)} must be left out for what has its own size; got {what!r}"
        )
    if "(" in what:
        return {what: spelled(what)}
    if what.endswith(".json"):
        from posenc.interop import read_config

        layers = dict.fromkeys(read_config(what).layers)
        return {f"{what}: {encoding}": encoding for encoding in layers}
    if ":" in what:
        module, _, name = what.partition(":")
        try:
            given = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"an encoding must be importable; got {what!r}: {error}") from error
        return {what: _value(given)}
    names = [*catalogue(), *VARIANTS]
    near = difflib.get_close_matches(what.lower(), names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    hint = "; a file is given by --load" if what.endswith(".py") else hint
    raise ValueError(
        f"an encoding must be one of {', '.join(names)}, an expression such as "
        f"RoPE(64, base=5e5), package.module:name or a config.json; got {what!r}{hint}"
    )


Check = Callable[[str, dict[str, Any]], None]
"""Raises if the arguments (by name) of something that an expression makes are not accepted."""


def spelled(expression: str, *, check: Check | None = None) -> Encoding:
    """The encoding that a Python expression spells: what `repr` prints, or a preset. No code runs.

    `check` sees the arguments of each part before it is made.

    >>> spelled("RoPE(64, scaling=YaRN(4, 8192))").scaling.factor
    4
    >>> spelled("AxialSinusoidal.mae(16)").layout
    'concat'
    """
    return _value(made(expression, check=check))


def made(expression: str, *, check: Check | None = None) -> Any:
    """What an expression spells, be it an encoding, a scaling, a temperature or a plain value.

    >>> made("YaRN(4.0, 4096)").factor
    4.0
    """
    try:
        return _read(ast.parse(expression.strip(), mode="eval").body, _makers(), check)
    except SyntaxError as error:
        raise ValueError(f"expression must be Python; got {expression!r}: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise ValueError("expression must not be nested so deeply") from error


@cache  # to look through all installed packages takes longer than most of what is asked
def _makers() -> dict[str, Any]:
    """What an expression may name."""
    names: dict[str, Any] = {kind.__name__: kind for kind in catalogue().values()}
    for module in (scalings, temperatures):
        names |= {
            name: kind for name, kind in vars(module).items() if dataclasses.is_dataclass(kind)
        }
    return names


def spelling(encoding: Any, *, plain: Callable[[Any], str] = repr) -> str:
    """The shortest expression that spells a value: what is the default is left out.

    `plain` says what is no encoding and no scaling.

    >>> spelling(RoPE(64, scaling=scalings.YaRN(4.0, 8192)))
    'RoPE(64, scaling=YaRN(4.0, 8192))'
    """
    if not dataclasses.is_dataclass(encoding) or isinstance(encoding, type):
        return plain(encoding)
    kind = type(encoding)
    fields = [field for field in dataclasses.fields(encoding) if field.init]
    given = {field.name: getattr(encoding, field.name) for field in fields}
    for field in fields:
        if not _required(field):
            fewer = {name: value for name, value in given.items() if name != field.name}
            try:
                given = fewer if kind(**fewer) == encoding else given
            except Exception:  # it goes with another field, or a class of someone's own refuses
                continue
    first = [f.name for f in fields if _required(f) and not f.kw_only]
    said = {name: spelling(value, plain=plain) for name, value in given.items()}
    parts = [text if name in first else f"{name}={text}" for name, text in said.items()]
    return f"{kind.__name__}({', '.join(parts)})"


def _read(node: ast.AST, names: dict[str, Any], check: Check | None) -> Any:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in names:
            make = names[name]
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=preset)) if (
            name in names and isinstance(vars(names[name]).get(preset), classmethod)
        ):
            make = getattr(names[name], preset)
        case ast.Tuple() | ast.List():
            return tuple(_read(item, names, check) for item in node.elts)
        case _:
            try:
                return ast.literal_eval(node)
            except (ValueError, TypeError) as error:
                raise ValueError(
                    "expression must be made of encodings, scalings and plain values; "
                    f"got {ast.unparse(node)!r}"
                ) from error
    arguments = [_read(item, names, check) for item in node.args]
    keywords = {str(word.arg): _read(word.value, names, check) for word in node.keywords}
    try:
        if check is not None:
            check(name, inspect.signature(make).bind(*arguments, **keywords).arguments)
        return make(*arguments, **keywords)
    except TypeError as error:
        raise ValueError(f"expression must be one that can be made; got {error}") from error


def loaded(path: str | Path) -> dict[str, Encoding]:
    """The encodings in a file: values by their names, and classes that need no more than sizes."""
    path = Path(path)
    spec = importlib.util.spec_from_file_location(f"posenc_loaded_{path.stem}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise ValueError(f"file must be a Python file that exists; got {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the names of annotations
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:  # the reader has had enough: that is no fault of the file
        raise
    except BaseException as error:  # it may even call sys.exit
        told = f"{type(error).__name__}: {error}"
        raise ValueError(f"file must run; got {path}, which ends with {told}") from error
    values = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    mine = {
        name: _value(value)
        for name, value in values.items()
        if isinstance(value, Encoding)
        or (
            isinstance(value, type)
            and issubclass(value, Encoding)
            and value.__module__ == spec.name
        )
    }
    if not mine:
        raise ValueError(f"file must hold an encoding; got {path}, which has none")
    return mine


def _value(given: Any) -> Encoding:
    if isinstance(given, type) and issubclass(given, Encoding):
        return example(given)
    if not isinstance(given, Encoding):
        raise TypeError(f"what is named must be an Encoding; got {given!r}")
    return given


def _required(field: Any) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
