"""The doctor and the comparison without a look at the clock.

A busy machine may take longer than the limit of a user's call.
"""

from functools import partial

import posenc as pe

LIMIT = 300.0
check = partial(pe.check, limit=LIMIT)
compare = partial(pe.compare, limit=LIMIT)
