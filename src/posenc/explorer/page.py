"""The built page, and arrays in the form that it reads."""

import io
from pathlib import Path

import numpy as np

from posenc.i18n import N_

STATIC = Path(__file__).parent / "static"
ARRAY = "application/octet-stream"
MISSING = N_(
    "The explorer's page was not built. In a clone, run make page. In an installed package, please "
    "report this: it should contain the page."
)


def to_npy(array: np.ndarray) -> memoryview:
    """The array as the bytes of a .npy file, without a copy of them."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getbuffer()
