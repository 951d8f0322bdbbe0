"""`posenc info`."""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any

import click

import posenc
from posenc.cli import options
from posenc.cli.usage import EXTRAS, install_command, print_data

NEEDED = ("numpy", "array-api-compat", "click")
INSTALL_FONTS = "install the packages fonts-noto-cjk and fontconfig"


@click.command()
@options.as_json
def info(as_json: bool) -> None:
    """Show versions, installed libraries, kernels, CJK fonts and CPU cores.

    \b
    --json prints {"posenc", "python", "platform", "cores", "required": {NAME: version},
    "optional": {NAME: {"version", "install"}},
    "encodings": {"built_in", "others": {NAME: source}},
    "kernels": {"active", "why"}, "han_fonts": {"found": [names], "install"}}.
    """
    data = collect_info()
    print_data(data, _format_info(data), as_json=as_json)


def _format_info(data: dict[str, Any]) -> Iterator[str]:
    yield f"posenc {data['posenc']}, Python {data['python']}, {data['platform']}"
    yield f"cores: {data['cores']}"
    for name, number in data["required"].items():
        yield f"{name:<17} {number or 'missing'}"
    for name, row in data["optional"].items():
        yield f"{name:<17} {row['version'] or 'not installed: ' + row['install']}"
    built_in, others = data["encodings"].values()
    yield f"encodings: {built_in} built in, {len(others)} from other packages"
    for name, source in others.items():
        yield f"  {name:<15} {source}"
    kernels = data["kernels"]
    yield f"kernels: {'active, ' if kernels['active'] else 'not active: '}{kernels['why']}"
    fonts, install = data["han_fonts"]["found"], data["han_fonts"]["install"]
    more = f" and {len(fonts) - 3} more" if len(fonts) > 3 else ""
    yield f"fonts with Han characters: {', '.join(fonts[:3]) or 'none; ' + install}{more}"


def collect_info() -> dict[str, object]:
    """Collect what the command shows, importing no library, so that it answers at once."""
    from posenc.encodings import BUILTIN

    fonts = find_han_fonts()
    others = {entry.name: entry.value for entry in entry_points(group="posenc.encodings")}
    return {
        "posenc": posenc.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "required": {name: _find_version(name) for name in NEEDED},
        "optional": {
            name: {"version": _find_version(name), "install": install_command(extra)}
            for name, extra in EXTRAS.items()
        },
        "encodings": {"built_in": len(BUILTIN), "others": others},
        "kernels": _ask_kernels(),
        "han_fonts": {"found": fonts, "install": None if fonts else INSTALL_FONTS},
    }


def _ask_kernels() -> dict[str, object]:
    """Whether the kernels for PyTorch are active, and why; asked of a process that loads them."""
    if _find_version("torch") is None:
        return {"active": False, "why": "PyTorch is not installed"}
    code = (
        "import dataclasses, json; from posenc import kernels; "
        "print(json.dumps(dataclasses.asdict(kernels.load())))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"active": False, "why": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout)


def find_han_fonts() -> list[str]:
    """Font families with Chinese or Japanese characters, by fontconfig; empty without it."""
    command = shutil.which("fc-list")
    if command is None:
        return []
    families: set[str] = set()
    for language in ("ja", "zh"):
        done = subprocess.run(
            [command, f":lang={language}", "family"], capture_output=True, text=True, check=False
        )
        families |= {
            line.split(",")[0].strip() for line in done.stdout.splitlines() if line.strip()
        }
    return sorted(families)


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
