"""Encodings in models of transformers: swapped in, verified and restored. Needs transformers."""

from importlib.util import find_spec

if find_spec("torch") is None or find_spec("transformers") is None:
    raise ModuleNotFoundError(
        "posenc.models needs PyTorch and transformers: pip install '.[models]' in a clone of posenc"
    )

from posenc.models.report import SwapReport
from posenc.models.swap import restore, swap
from posenc.models.verify import verify

__all__ = ["SwapReport", "restore", "swap", "verify"]
