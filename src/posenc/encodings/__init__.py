"""The encodings, by name: ours from one tuple, other packages' from their entry points."""

from posenc.encodings.fourier import FourierFeatures, LearnedFourier
from posenc.encodings.learned import Learned
from posenc.encodings.sinusoidal import AxialSinusoidal, Sinusoidal
from posenc.mechanisms import Encoding

BUILTIN: tuple[tuple[str, type[Encoding]], ...] = (
    ("sinusoidal", Sinusoidal),
    ("learned", Learned),
    ("axial-sinusoidal", AxialSinusoidal),
    ("fourier-features", FourierFeatures),
    ("learned-fourier", LearnedFourier),
)

__all__ = [
    "BUILTIN",
    "AxialSinusoidal",
    "FourierFeatures",
    "Learned",
    "LearnedFourier",
    "Sinusoidal",
    "catalogue",
]


def catalogue() -> dict[str, type[Encoding]]:
    """Every encoding that has a name: the built-in ones and those of installed packages.

    A package names its own in the entry-point group `posenc.encodings`. An encoding needs no name
    to be used: names are for the command line and for lists.

    >>> catalogue()["sinusoidal"].__name__
    'Sinusoidal'
    """
    from importlib.metadata import entry_points

    found = dict(BUILTIN)
    for entry in entry_points(group="posenc.encodings"):
        if entry.name in found:
            raise ValueError(
                f"encoding names must differ; {entry.value} takes {entry.name!r} again"
            )
        encoding = entry.load()
        if not (isinstance(encoding, type) and issubclass(encoding, Encoding)):
            raise TypeError(f"entry point {entry.name!r} must name an Encoding; got {entry.value}")
        found[entry.name] = encoding
    return found
