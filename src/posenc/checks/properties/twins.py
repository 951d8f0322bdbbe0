"""Caches with an incomplete key, which serve one instance the table of another."""

import os
import pickle
import subprocess
import sys

import numpy as np

from posenc.checks.subject import Subject
from posenc.core.encoding import Encoding

FRESH = """
import pickle, sys
from posenc.checks.subject import Subject
encoding, p, seed = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(Subject(encoding, seed=seed).rows(p)))
"""


def shares_cache(other: Encoding, p: np.ndarray, before: np.ndarray, *, seed: int) -> bool:
    """Whether `other` returns the rows `before`, but different ones in a process of its own."""
    try:
        if not np.array_equal(Subject(other, seed=seed).rows(p), before):
            return False
        done = subprocess.run(
            [sys.executable, "-c", FRESH],
            input=pickle.dumps((other, p, seed)),
            capture_output=True,
            check=True,
            timeout=120,  # the time limit of the check is shorter
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        alone = pickle.loads(done.stdout)
    except Exception:  # of another size, or defined in a notebook and not to be pickled
        return False
    return not np.array_equal(alone, before)
