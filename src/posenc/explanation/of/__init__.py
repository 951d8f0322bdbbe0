"""The explanations of the built-in encodings: a file for each file of `posenc.encodings`.

Each registers its own with `explain_with`; importing this package imports all of them.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
