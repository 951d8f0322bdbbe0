"""Libraries that few need: imported when they are used, and named if they are absent."""

from importlib import import_module
from typing import Any


def import_optional(module: str, purpose: str) -> Any:
    """A module, or a sentence that says what needs it and how to install it.

    >>> import_optional("no_such_library", "the report")
    Traceback (most recent call last):
    ValueError: the report needs no_such_library: pip install no_such_library
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        raise ValueError(f"{purpose} needs {name}: pip install {name}") from error
