"""Parameters for tests of formulas."""

import numpy as np


def drawn(encoding, rng):
    """Parameters away from their starting values, where every part of a formula counts."""
    values = {n: v.astype(np.float64) for n, v in encoding.init(rng).items()}
    return {n: np.asarray(v + rng.uniform(0.1, 0.4, v.shape)) for n, v in values.items()}
