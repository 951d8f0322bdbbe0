"""Finding what to check: by name, in a file, in a module, in a model's config."""

import dataclasses
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any, cast

from posenc.encodings import AxialRoPE, catalogue
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


def example(kind: type[Encoding]) -> Encoding:
    """One of this kind, of typical size.

    >>> from posenc import ALiBi
    >>> example(ALiBi).heads
    8
    """
    if kind is AxialRoPE:
        return AxialRoPE.split(TYPICAL["dim"])
    given = {
        field.name: TYPICAL[field.name]
        for field in dataclasses.fields(cast(Any, kind))
        if field.init and _required(field) and field.name in TYPICAL
    }
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(
            f"{kind.__name__} must be given as a value, not by name: {error}"
        ) from error


def found(what: str) -> dict[str, Encoding]:
    """The encodings that `what` names: of ours, package.module:name, or those of a config.json."""
    if what in catalogue():
        return {what: example(catalogue()[what])}
    if what.endswith(".json"):
        from posenc.interop import read_config

        layers = dict.fromkeys(read_config(what).layers)
        return {f"{what}: {encoding}": encoding for encoding in layers}
    if ":" in what:
        module, _, name = what.partition(":")
        try:
            given = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"what to check must be importable; got {what!r}: {error}") from error
        return {what: _value(given)}
    raise ValueError(
        f"what to check must be one of {', '.join(catalogue())}, package.module:name or a "
        f"config.json; got {what!r}"
    )


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
        raise TypeError(f"what to check must be an Encoding; got {given!r}")
    return given


def _required(field: Any) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
