"""The kinds of view: a module for each, with everything there is to know of it in its KIND."""

from importlib import import_module

from posenc.core.mechanisms import Encoding
from posenc.encodings import BUILTIN
from posenc.names.resolve import example
from posenc.views.kind import Kind
from posenc.views.subject import acting

NAMES = (
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
)
"""Modules of this package, in the order of a page's tabs. To add a kind is to add its name."""

KINDS: dict[str, Kind] = {name: import_module(f"{__name__}.{name}").KIND for name in NAMES}


def kinds_for(*encodings: Encoding) -> list[str]:
    """The kinds that suit all of these.

    >>> from posenc import ALiBi
    >>> kinds_for(ALiBi(8))
    ['bias', 'attention']
    """
    inner = [acting(encoding) for encoding in encodings]
    return [name for name, kind in KINDS.items() if all(map(kind.suits, inner))]


def suiting(kind: str) -> str:
    """The name of the first encoding of ours that this kind suits.

    >>> suiting("rotation"), suiting("maps"), suiting("attention")
    ('rope', 'axial-sinusoidal', 'sinusoidal')
    """
    return next(name for name, one in BUILTIN if kind in kinds_for(example(one)))


def default_kind(*encodings: Encoding) -> str:
    """What is shown of these unless something else is asked for.

    The first kind that is meant for the first of them and suits all; every encoding of text can be
    shown as attention.

    >>> from posenc import ALiBi, RoPE, Shaw
    >>> default_kind(RoPE(8)), default_kind(Shaw(8, 4)), default_kind(RoPE(8), ALiBi(4))
    ('rotation', 'attention', 'attention')
    """
    wanted = [name for name, kind in KINDS.items() if kind.first_for(encodings[0])]
    suitable = kinds_for(*encodings)
    common = [name for name in wanted if name in suitable]
    return common[0] if common else suitable[-1] if suitable else wanted[0]
