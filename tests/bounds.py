"""How far a right result may be from float64 truth, derived and not guessed.

A sum of n products in a dtype of unit roundoff u is off by at most gamma(n) times the sum of the
products' magnitudes, whatever the order of summation, the SIMD width or the threads (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1). So a bound made of it holds on every
processor.
"""

import numpy as np

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def gamma(n: int, dtype: str = "float32") -> float:
    """The relative error of n roundings one after the other: n u / (1 - n u)."""
    return n * UNIT[dtype] / (1 - n * UNIT[dtype])


def products(q: np.ndarray, k: np.ndarray, *, more: int = 0, dtype: str = "float32") -> np.ndarray:
    """The bound of q k^T, (…, q, k), of sums of dim products and `more` roundings besides."""
    q, k = np.abs(np.asarray(q, float)), np.abs(np.asarray(k, float))
    return gamma(q.shape[-1] + more, dtype) * (q @ np.swapaxes(k, -1, -2))
