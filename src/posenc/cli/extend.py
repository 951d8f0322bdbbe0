"""`posenc config --extend`: a config for longer texts, and what it does to each wavelength."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from posenc.cli.usage import call_library, print_data, report_unwritable

if TYPE_CHECKING:
    from posenc.core.rotation import Pairing
    from posenc.core.scaling import Scaling
    from posenc.interop.extend import Extension, Method, PairChange

MOST_ROWS = 16
"""Pairs that the table shows; --json has all."""


def extend_config(
    path: str,
    method: str,
    pairing: Pairing | None,
    *,
    factor: float | None,
    trained_length: int | None,
    factors: str | None,
    replace: bool,
    out: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Extend the config at `path`, print what changes and write it to `out`."""
    from posenc.interop.extend import extend

    if factor is None:
        raise click.UsageError("--extend needs --factor: new length / trained length, such as 4")
    if force and out is None:
        raise click.UsageError("--force needs --out")
    if out is not None and Path(out).exists() and not force:
        raise click.UsageError(f"--out {out} exists; --force overwrites it")
    extension = call_library(
        extend,
        path,
        cast("Method", "linear" if method == "pi" else method),
        factor,
        trained_length=trained_length,
        factors=None if factors is None else _read_factors(factors),
        replace_scaling=replace,
        pairing=pairing,
    )
    if out is not None:
        with report_unwritable(out):
            write_atomically(Path(out), json.dumps(extension.config, indent=2) + "\n")
    print_data(_to_data(extension), _format(extension, out), as_json=as_json)


def write_atomically(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(path.stat().st_mode if path.exists() else 0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _read_factors(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"--factors {path}: {error.strerror}") from error
    except ValueError as error:
        raise click.UsageError(f"--factors {path} must be JSON: {error}") from error


def _to_data(extension: Extension) -> dict[str, object]:
    replaced = extension.replaced
    return {
        "config": extension.config,
        "before": repr(extension.before),
        "after": repr(extension.after),
        "trained_length": extension.trained_length,
        "length": extension.length,
        "layer_type": extension.layer_type,
        "replaced": None if replaced is None else repr(replaced),
        "pairs": [pair._asdict() for pair in extension.pairs],
    }


def _format(extension: Extension, out: str | None) -> Iterator[str]:
    from posenc.interop.describe import format_encoding

    where = f" (layers of type {extension.layer_type})" if extension.layer_type else ""
    yield f"before{where}: {format_encoding(extension.before)}"
    yield f"after: {format_encoding(extension.after)}"
    yield f"trained on {extension.trained_length:,} tokens, extended to {extension.length:,}"
    if extension.replaced is not None:
        yield from _format_replacement(extension, extension.replaced)
    yield from _format_bands(extension)
    yield "pair   wavelength before   wavelength after   turns in training   band"
    for pair in _choose_rows(extension.pairs):
        yield (
            f"{pair.pair:4}{pair.before:20,.1f}{pair.after:19,.1f}{pair.turns:20,.2f}   {pair.band}"
        )
    if out is not None:
        yield f"wrote {out}"


def _format_replacement(extension: Extension, replaced: Scaling) -> Iterator[str]:
    trained, length, allowed = extension.trained_length, extension.length, extension.allowed
    yield (
        f"replaces {type(replaced).__name__}: the factor counts from {trained:,} tokens; weights "
        "that were trained with the old scaling need training with the new one"
    )
    if allowed is not None and length < allowed:
        yield (
            f"note: the file allowed {allowed:,} tokens, {allowed / trained:g} times the trained "
            f"length; {length:,} is shorter: for more, give a larger --factor"
        )


def _format_bands(extension: Extension) -> Iterator[str]:
    from posenc.interop.model import format_ranges

    pairs = extension.pairs
    start = "before" if extension.replaced is None else "without scaling"
    slower = "slower" if extension.replaced is None else "slower than without scaling,"
    means = {
        "kept": f"rotate as {start}",
        "blended": f"rotate {slower} by less than the factor",
        "interpolated": f"rotate {slower} by the whole factor",
    }
    for band, meaning in means.items():
        where = [pair.pair for pair in pairs if pair.band == band]
        if where:
            yield f"pairs {format_ranges(where)} {meaning}: {band}"


def _choose_rows(pairs: tuple[PairChange, ...]) -> list[PairChange]:
    """Every pair, or a few: the ends of each band, and some between."""
    if len(pairs) <= MOST_ROWS:
        return list(pairs)
    ends = {0, len(pairs) - 1}
    for i in range(1, len(pairs)):
        if pairs[i].band != pairs[i - 1].band:
            ends |= {i - 1, i}
    step = -(-len(pairs) // (MOST_ROWS - len(ends))) if len(ends) < MOST_ROWS else len(pairs)
    return [pair for i, pair in enumerate(pairs) if i in ends or i % step == 0]
