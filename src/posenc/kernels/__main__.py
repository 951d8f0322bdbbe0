"""`python -m posenc.kernels` compiles the kernels, if they are older than their sources."""

import sys

from posenc.kernels.build import BuildError, build

try:
    print(f"posenc: {build()}")
except BuildError as error:
    sys.exit(f"posenc: no kernels, because {error}")
