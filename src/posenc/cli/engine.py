"""`posenc config --engine`: where an engine reads a config differently."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from posenc.cli.usage import call_library, print_data

if TYPE_CHECKING:
    from posenc.core.rotation import Pairing
    from posenc.interop.engines import Difference, Engine


def compare_engine(path: str, engine: str, pairing: Pairing | None, *, as_json: bool) -> None:
    """Print where `engine` reads the config at `path` differently."""
    from posenc.interop import engines

    name = cast("Engine", engine)
    found = call_library(engines.compare_engine, path, name, pairing=pairing)
    lines = _format(f"{engine} {engines.VERSIONS[name]}", found)
    print_data(engines.to_data(name, found), lines, as_json=as_json)


def _format(engine: str, differences: tuple[Difference, ...]) -> Iterator[str]:
    if not differences:
        yield f"{engine} reads this file as posenc does, as far as we know"
    for each in differences:
        length = "" if each.length is None else f" at {each.length:,} tokens"
        numbers = f"{each.theirs:.6g} there, {each.ours:.6g} here"
        if each.pair is None:
            yield f"layers {each.where}: cos and sin times {numbers}{length}"
        else:
            ratio = max(each.theirs / each.ours, each.ours / each.theirs)
            yield (
                f"layers {each.where}: frequency of pair {each.pair} is {numbers}, "
                f"a factor of {ratio:.4g}{length}"
            )
        yield f"  {engine}: {each.formula}"
