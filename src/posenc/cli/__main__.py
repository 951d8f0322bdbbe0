"""`python -m posenc.cli`."""

from posenc.cli import main

main()
