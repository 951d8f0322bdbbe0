"""The kinds of view: a module for each, which describes it in one value, KIND."""

from importlib import import_module
from typing import Literal, get_args

from posenc.core.encoding import Encoding
from posenc.encodings.registry import load_builtins
from posenc.views.kind import Kind

KindName = Literal[
    "heatmap",
    "waves",
    "wavelengths",
    "similarity",
    "products",
    "rotation",
    "decay",
    "bias",
    "scalings",
    "maps",
    "learned",
    "sum",
    "attention",
]
"""The modules of this package, in the order of tabs. A new kind adds its name here."""

NAMES: tuple[KindName, ...] = get_args(KindName)

KINDS: dict[str, Kind] = {name: import_module(f"{__name__}.{name}").KIND for name in NAMES}


def kinds_for(*encodings: Encoding) -> list[str]:
    """Return the names of the kinds that suit all of these encodings.

    >>> from posenc import ALiBi
    >>> kinds_for(ALiBi(8))
    ['bias', 'attention']
    """
    return [name for name, kind in KINDS.items() if all(map(kind.can_show, encodings))]


def first_encoding_for(kind: str) -> str:
    """Return the name of the first built-in encoding that a kind suits.

    >>> first_encoding_for("rotation"), first_encoding_for("maps"), first_encoding_for("attention")
    ('rope', 'axial-sinusoidal', 'sinusoidal')
    """
    return next(name for name, one in load_builtins().items() if kind in kinds_for(one.example()))


def default_kind(*encodings: Encoding) -> str:
    """Return the kind that is shown of these encodings by default.

    It is the first kind meant for the first encoding that suits all of them.

    >>> from posenc import ALiBi, RoPE, Shaw
    >>> default_kind(RoPE(8)), default_kind(Shaw(8, 4)), default_kind(RoPE(8), ALiBi(4))
    ('rotation', 'attention', 'attention')
    """
    wanted = [name for name, kind in KINDS.items() if kind.first_for(encodings[0])]
    suitable = kinds_for(*encodings)
    common = [name for name in wanted if name in suitable]
    return common[0] if common else suitable[-1] if suitable else wanted[0]
