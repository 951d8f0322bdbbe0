"""How far a right result may be from float64 truth, derived and not guessed.

A sum of n products in a dtype of unit roundoff u is off by at most gamma(n) times the sum of the
products' magnitudes, whatever the order of summation, the SIMD width or the threads (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1). So a bound made of it holds on every
processor.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

import posenc as pe

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def gamma(n: int, dtype: str = "float32") -> float:
    """The relative error of n roundings one after the other: n u / (1 - n u)."""
    return n * UNIT[dtype] / (1 - n * UNIT[dtype])


def products(q: np.ndarray, k: np.ndarray, *, more: int = 0, dtype: str = "float32") -> np.ndarray:
    """The bound of q k^T, (…, q, k), of sums of dim products and `more` roundings besides."""
    q, k = np.abs(np.asarray(q, float)), np.abs(np.asarray(k, float))
    return gamma(q.shape[-1] + more, dtype) * (q @ np.swapaxes(k, -1, -2))


def bias_roundings(encoding: Any, params: Mapping[str, Any], bias: np.ndarray) -> np.ndarray:
    """How far a bias (…, head, q, k) may be off, in unit roundoffs.

    A logarithm, an exponential or a power is off by 4 u and as much as its argument is, relatively:
    log1p(y (1 + d)) is off by d at most. Nothing else has more than 16 roundings of what it is: it
    is looked up, or a product of a slope and a distance, or one with a logarithm or a power of one.

    Sandwich: a sum of cosines, none larger than at distance 0, where all are 1.
    FIRE: phi <= 2 has two logarithms of a product and a division, 12 u; the hidden layer 2 more;
    then a sum of `hidden` products, at most as large as with all signs positive.
    SwinV2Bias: coordinates <= 1.3 to 8 u, sums of 3 and of `hidden` terms; 16 sigmoid(z) has a
    slope of 4 at most, and 6 roundings of its own.
    """
    size = np.abs(np.asarray(bias, float))
    given = {name: np.abs(np.asarray(x, float)) for name, x in params.items()}
    if isinstance(encoding, pe.Sandwich):
        return 16 * size.max(initial=0.0) + 0 * size
    if isinstance(encoding, pe.FIRE):
        hidden = 2 * given["w1"][:, 0] + given["b1"]
        most = given["w2"] @ hidden + given["b2"]
        return (16 + encoding.hidden) * most[:, None, None] + 0 * size
    if isinstance(encoding, pe.SwinV2Bias):
        hidden = given["w1"] @ np.array([1.3, 1.3]) + given["b1"]
        most = given["w2"] @ hidden
        return 4 * (12 + encoding.hidden) * most[:, None, None] + 6 * size
    return 16 * size
