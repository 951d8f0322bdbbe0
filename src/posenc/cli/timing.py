"""What the commands that time encodings share."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import os

import click

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def use_one_thread() -> None:
    """Limit BLAS to one thread, before NumPy starts: spinning threads would distort the ratios."""
    for name in THREADS:
        os.environ.setdefault(name, "1")


def warn_if_busy(before: dict[str, object], *, err: bool = False) -> None:
    """Warn that timings are unreliable if the machine was busy `before` they were taken."""
    if before["busy"]:
        click.echo(
            f"Unreliable timings: the load average was {before['load']:.1f} on {before['cores']} "
            "cores at the start. Run again on an idle machine.",
            err=err,
        )
