"""`posenc info`."""

import json
import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any

import click

import posenc
from posenc.cli.usage import EXTRAS, as_json, install

NEEDED = ("numpy", "array-api-compat", "click")
INSTALL = "install the package fonts-noto-cjk, and fontconfig, which looks for fonts"


@click.command()
@as_json
def info(as_json: bool) -> None:
    """Tell versions, what is installed, fonts for Japanese and Chinese, and cores.

    \b
    JSON: {"posenc", "python", "platform", "cores", "required": {NAME: version},
           "optional": {NAME: {"version", "install"}},
           "encodings": {"built_in", "others": {NAME: source}},
           "han_fonts": {"found": [names], "install"}}
    """
    told = gathered()
    if as_json:
        click.echo(json.dumps(told))
        return
    click.echo(f"posenc {told['posenc']}, Python {told['python']}, {told['platform']}")
    click.echo(f"cores: {told['cores']}")
    for name, found in told["required"].items():
        click.echo(f"{name:<17} {found or 'missing'}")
    for name, row in told["optional"].items():
        click.echo(f"{name:<17} {row['version'] or 'not installed: ' + row['install']}")
    built_in, others = told["encodings"].values()
    click.echo(f"encodings: {built_in} built in, {len(others)} of other packages")
    for name, source in others.items():
        click.echo(f"  {name:<15} {source}")
    fonts, install = told["han_fonts"]["found"], told["han_fonts"]["install"]
    more = f" and {len(fonts) - 3} more" if len(fonts) > 3 else ""
    click.echo(f"fonts with Han characters: {', '.join(fonts[:3]) or 'none; ' + install}{more}")


def gathered() -> dict[str, Any]:
    """What the command tells. Nothing is imported to find out, so that it answers at once."""
    from posenc.encodings import BUILTIN

    found = han_fonts()
    others = {entry.name: entry.value for entry in entry_points(group="posenc.encodings")}
    return {
        "posenc": posenc.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "required": {name: _version(name) for name in NEEDED},
        "optional": {
            name: {"version": _version(name), "install": install(extra)}
            for name, extra in EXTRAS.items()
        },
        "encodings": {"built_in": len(BUILTIN), "others": others},
        "han_fonts": {"found": found, "install": None if found else INSTALL},
    }


def han_fonts() -> list[str]:
    """The families that fontconfig knows to have Chinese or Japanese; none without fontconfig."""
    command = shutil.which("fc-list")
    if command is None:
        return []
    found: set[str] = set()
    for language in ("ja", "zh"):
        done = subprocess.run(
            [command, f":lang={language}", "family"], capture_output=True, text=True, check=False
        )
        found |= {line.split(",")[0].strip() for line in done.stdout.splitlines() if line.strip()}
    return sorted(found)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
