"""Twins: instances that were served the table of another."""

import os
import pickle
import subprocess
import sys

import numpy as np

from posenc.checks.subject import Subject
from posenc.core.mechanisms import Encoding

FRESH = """
import pickle, sys
from posenc.checks.subject import Subject
encoding, p = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(Subject(encoding).rows(p)))
"""


def taken_for_another(other: Encoding, p: np.ndarray, before: np.ndarray) -> bool:
    """Whether `other` gives just what this one gave, though by itself it gives something else."""
    try:
        if not np.array_equal(Subject(other).rows(p), before):
            return False
        done = subprocess.run(
            [sys.executable, "-c", FRESH],
            input=pickle.dumps((other, p)),
            capture_output=True,
            check=True,
            timeout=120,  # the limit of the check ends it sooner
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        alone = pickle.loads(done.stdout)
    except Exception:  # of another size, or of a notebook, which cannot go there: nothing is known
        return False
    return not np.array_equal(alone, before)
