"""Frequencies, in radians per position: float64 on the host, correctly rounded.

A rounding error in a frequency grows with the position, so these are computed with 40 digits and
rounded once: at position 2^24 that leaves an angle within 1e-9.
"""

from decimal import Decimal, localcontext

import numpy as np

from posenc import rules


def geometric(dim: int, /, *, base: float = 10_000.0) -> np.ndarray:
    """Frequencies of Vaswani et al. (2017): w_i = base^(-2i/dim), i = 0 .. ceil(dim/2) - 1.

    >>> geometric(4)
    array([1.  , 0.01])
    """
    dim = rules.dim("dim", dim)
    return _powers(base, Decimal(-2) / dim, count=(dim + 1) // 2)


def geometric_to_base(dim: int, /, *, base: float = 10_000.0) -> np.ndarray:
    """Frequencies of tensor2tensor and fairseq: from 1 to 1/base inclusive, w_i = base^(-i/(n-1)).

    n = ceil(dim/2) frequencies; the paper's last one is base^(-(dim-2)/dim) instead.

    >>> geometric_to_base(4)
    array([1.e+00, 1.e-04])
    """
    dim = rules.dim("dim", dim)
    count = (dim + 1) // 2
    return _powers(base, Decimal(-1) / max(count - 1, 1), count=count)


def _powers(base: float, exponent: Decimal, *, count: int) -> np.ndarray:
    """base^(exponent * i) for i = 0 .. count - 1, each rounded once."""
    base = rules.real("base", base, least=1e-6)
    with localcontext() as context:
        context.prec = 40
        ratio = Decimal(base) ** exponent
        return np.array([float(ratio**i) for i in range(count)])
