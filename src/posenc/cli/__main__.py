"""`python -m posenc.cli`."""

from posenc.cli import main

if __name__ == "__main__":
    main()
