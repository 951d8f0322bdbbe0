"""Finding encodings: by name, as an expression, in a file, in a module, in a model's config."""

import dataclasses
import difflib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from posenc import scalings
from posenc.encodings import AxialRoPE, RoPE, catalogue
from posenc.expressions import Check, made
from posenc.mechanisms import Encoding
from posenc.messages import said

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


def shared(total: int, like: tuple[int, ...]) -> tuple[int, ...]:
    """So many pairs in the proportions of `like`; the first has what is left over.

    >>> shared(64, (2, 3, 3)), shared(10, (1, 1, 1))
    ((16, 24, 24), (4, 3, 3))
    """
    later = [total * part // sum(like) for part in like[1:]]
    return total - sum(later), *later


def _mrope(dim: int) -> Encoding:
    """M-RoPE in Qwen2-VL's proportions: 2 of 8 pairs for time, 3 for height, 3 for width."""
    return AxialRoPE.mrope(dim, sections=shared(dim // 2, (2, 3, 3)))


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
        return {what: encoding_value(given)}
    names = [*catalogue(), *VARIANTS]
    near = difflib.get_close_matches(what.lower(), names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    hint = "; a file is given by --load" if what.endswith(".py") else hint
    raise ValueError(
        f"an encoding must be one of {', '.join(names)}, an expression such as "
        f"RoPE(64, base=5e5), package.module:name or a config.json; got {what!r}{hint}"
    )


def spelled(expression: str, *, check: Check | None = None) -> Encoding:
    """The encoding that a Python expression spells: what `repr` prints, or a preset. No code runs.

    `check` sees the arguments of each part before it is made.

    >>> spelled("RoPE(64, scaling=YaRN(4, 8192))").scaling.factor
    4
    >>> spelled("AxialSinusoidal.mae(16)").layout
    'concat'
    """
    return encoding_value(made(expression, check=check))


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
        name: encoding_value(value)
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


def encoding_value(given: Any) -> Encoding:
    """What is given, if it is an encoding, or one of typical size of what is a class of them."""
    if isinstance(given, type) and issubclass(given, Encoding):
        return example(given)
    if not isinstance(given, Encoding):
        raise said(TypeError, "what is named must be an Encoding; got {given!r}", given=given)
    return given


def _required(field: Any) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
