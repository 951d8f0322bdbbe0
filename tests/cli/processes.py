"""The command line in a process of its own."""

import subprocess
import sys

POSENC = [sys.executable, "-m", "posenc.cli"]


def run_process(*arguments):
    """Run `posenc` with these arguments."""
    return subprocess.run([*POSENC, *arguments], capture_output=True, text=True, check=False)


def run_python(code):
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()
