"""The built page, and arrays as it reads them."""

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
    """The array as the bytes of a .npy file; they may be many, and are not copied."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getbuffer()
