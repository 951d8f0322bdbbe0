"""Random features and masks, for tools that have no model to take them from."""

from typing import Any

import numpy as np

from posenc.core.encoding import Encoding

FEATURE_DIM = 8
"""Channels of features for an encoding that takes any number of them."""


def draw_needs(encoding: Encoding, rng: np.random.Generator, length: int) -> dict[str, Any]:
    """Draw the `features` and `mask` that `encoding` needs, as keyword arguments of `logits`.

    features  (length, feature_dim), normally distributed
    mask      (length, length): all True, or lower triangular if the encoding is causal only

    >>> from posenc import RoPE
    >>> draw_needs(RoPE(8), np.random.default_rng(0), 4)
    {}
    """
    needs: dict[str, Any] = {}
    if "features" in encoding.needs:
        needs["features"] = rng.normal(size=(length, encoding.feature_dim or FEATURE_DIM))
    if "mask" in encoding.needs:
        everything = np.ones((length, length), dtype=bool)
        needs["mask"] = np.tril(everything) if encoding.causal_only else everything
    return needs
