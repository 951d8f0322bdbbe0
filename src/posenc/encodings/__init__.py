"""The encodings, by name: ours from one tuple, other packages' from their entry points."""

from typing import Any

from posenc.core.hints import did_you_mean, fold, hinted, nearest
from posenc.core.mechanisms import Encoding
from posenc.encodings.alibi import ALiBi, TwoSidedALiBi
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.fire import FIRE
from posenc.encodings.fourier import FourierFeatures, LearnedFourier
from posenc.encodings.kernels import KERPLE, Sandwich
from posenc.encodings.learned import Learned
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import RoPE, XPos
from posenc.encodings.shaw import Shaw
from posenc.encodings.sinusoidal import AxialSinusoidal, Sinusoidal
from posenc.encodings.swin import SwinBias, SwinV2Bias
from posenc.encodings.t5 import T5Bias
from posenc.encodings.tables import ClippedBias
from posenc.encodings.transformer_xl import TransformerXL

BUILTIN: tuple[tuple[str, type[Encoding]], ...] = (
    ("sinusoidal", Sinusoidal),
    ("learned", Learned),
    ("axial-sinusoidal", AxialSinusoidal),
    ("fourier-features", FourierFeatures),
    ("learned-fourier", LearnedFourier),
    ("rope", RoPE),
    ("axial-rope", AxialRoPE),
    ("xpos", XPos),
    ("alibi", ALiBi),
    ("two-sided-alibi", TwoSidedALiBi),
    ("t5", T5Bias),
    ("clipped", ClippedBias),
    ("kerple", KERPLE),
    ("fire", FIRE),
    ("sandwich", Sandwich),
    ("swin", SwinBias),
    ("swin-v2", SwinV2Bias),
    ("shaw", Shaw),
    ("transformer-xl", TransformerXL),
    ("nope", NoPE),
)

__all__ = [
    "BUILTIN",
    "FIRE",
    "KERPLE",
    "ALiBi",
    "AxialRoPE",
    "AxialSinusoidal",
    "ClippedBias",
    "FourierFeatures",
    "Learned",
    "LearnedFourier",
    "NoPE",
    "RoPE",
    "Sandwich",
    "Shaw",
    "Sinusoidal",
    "SwinBias",
    "SwinV2Bias",
    "T5Bias",
    "TransformerXL",
    "TwoSidedALiBi",
    "XPos",
    "catalogue",
    "lookup",
    "names",
]


@hinted("catalogue")
def catalogue() -> dict[str, type[Encoding]]:
    """Every encoding that has a name: the built-in ones and those of installed packages.

    A package registers its encodings in the entry-point group `posenc.encodings`. An encoding does
    not need a name to be used: names serve the command line and lists.

    >>> catalogue()["sinusoidal"].__name__
    'Sinusoidal'
    """
    return {name: _load(name, source) for name, source in _sources().items()}


def names() -> tuple[str, ...]:
    """The names of all encodings, without importing any package.

    >>> names()[:2]
    ('sinusoidal', 'learned')
    """
    return tuple(_sources())


@hinted("lookup")
def lookup(name: str) -> type[Encoding]:
    """The encoding class registered under `name`; only the package that defines it is imported.

    name   a name in `catalogue()`; case, hyphens, underscores and spaces are ignored

    >>> lookup("Transformer_XL").__name__
    'TransformerXL'
    >>> lookup("sinusoid")
    Traceback (most recent call last):
    ValueError: name must be that of an encoding; got 'sinusoid'; did you mean sinusoidal? `posenc
    list` shows every name
    """
    sources = _sources()
    known = {fold(each): each for each in sources}.get(fold(name))
    if known is None:
        hint = did_you_mean(nearest(name, sources))
        raise ValueError(
            f"name must be that of an encoding; got {name!r}{hint or ';'} `posenc list` shows "
            "every name"
        )
    return _load(known, sources[known])


def _load(name: str, source: Any) -> type[Encoding]:
    if isinstance(source, type):
        return source
    try:
        encoding = source.load()
    except Exception as error:
        raise ValueError(
            f"encoding {name!r} must be importable from {source.value}: {error}"
        ) from error
    if not (isinstance(encoding, type) and issubclass(encoding, Encoding)):
        raise TypeError(f"entry point {name!r} must name an Encoding; got {source.value}")
    return encoding


def _sources() -> dict[str, Any]:
    """Each name with its class, or with the entry point that loads one."""
    from importlib.metadata import entry_points

    found: dict[str, Any] = dict(BUILTIN)
    for entry in entry_points(group="posenc.encodings"):
        if entry.name in found:
            raise ValueError(
                f"encoding names must differ; {entry.value} takes {entry.name!r} again"
            )
        found[entry.name] = entry
    return found
