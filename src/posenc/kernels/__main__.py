"""`python -m posenc.kernels [--always]` compiles the kernels."""

import sys

from posenc.kernels.build import BuildError, build

try:
    print(f"posenc: {build(always='--always' in sys.argv)}")
except BuildError as error:
    sys.exit(f"posenc: no kernels, because {error}")
