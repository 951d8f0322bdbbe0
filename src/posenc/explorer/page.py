"""The built page, and arrays in the form that it reads."""

import io
from pathlib import Path

import numpy as np

from posenc.i18n import later

STATIC = Path(__file__).parent / "static"
MISSING = later(
    "The explorer's page was not built. In a clone: make page. In a package: please report it, "
    "for a package must have it."
)


def npy(array: np.ndarray) -> memoryview:
    """The array as the bytes of a .npy file, without a copy of them."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getbuffer()
