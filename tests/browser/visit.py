"""A visit to the page that sees what must never happen: errors, broken policies, foreign hosts."""

import base64
import json
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlencode

import numpy as np
from playwright.sync_api import ConsoleMessage, Locator, Page, Request, Response

WATCH = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));

// What the page still waits for: its timers, each with its delay, and its requests.
const timers = new Map();
const requests = new Map();
const { setTimeout: set, clearTimeout: clear, fetch: ask } = window;
window.setTimeout = (run, delay = 0, ...rest) => {
  const ring = () => {
    window.clearTimeout(id);
    run(...rest);
  };
  const id = set(ring, delay);
  timers.set(id, { delay, due: performance.now() + delay, ring });
  return id;
};
window.clearTimeout = (id) => {
  timers.delete(id);
  clear(id);
};
function counted(promise, url) {
  const id = Symbol();
  requests.set(id, String(url));
  const done = () => requests.delete(id);
  promise.then(done, done);
  return promise;
}
const report = REPORT; // what stands in for one, or null
window.fetch = (url, ...rest) =>
  report && String(url).includes("/api/v1/check?")
    ? Promise.resolve(Response.json(report))
    : counted(ask(url, ...rest), url);
for (const name of ["arrayBuffer", "json", "text"]) {
  const read = Response.prototype[name];
  Response.prototype[name] = function () {
    return counted(read.call(this), this.url);
  };
}
// So many frames in a row there was nothing: a new size is known to the page one frame later.
// A timer that is waited for rings at once if it is the next to ring and no answer is awaited:
// by then the page would only have waited.
let quiet = 0, last = 0;
window.isQuiet = ([turn, longest, unwaited]) => {
  if (turn !== last) [last, quiet] = [turn, 0];
  const given = (url) => unwaited.some((part) => url.includes(part));
  const awaited = ![...requests.values()].every(given);
  const rings = [...timers.values()].sort((one, other) => one.due - other.due);
  const busy = awaited || rings.some(({ delay }) => delay <= longest);
  if (!awaited && rings.length && rings[0].delay <= longest) rings[0].ring();
  quiet = busy ? 0 : quiet + 1;
  return quiet > 2;
};
"""

CELL, ADDRESS, SMALL = 60, 150, 600
"""Milliseconds after which the page asks for a cell, writes its address, and has done the rest.

The rest are the small views (300) and what is read out (400); only measuring begins later (1000).
"""

PIXELS = """
(canvas) => {
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  let text = "";
  for (let i = 0; i < data.length; i += 32768)
    text += String.fromCharCode(...data.subarray(i, i + 32768));
  return [width, height, btoa(text)];
}
"""

REPORT = {
    "subject": "Sinusoidal(64)",
    "ok": False,
    "rows": [
        {
            "name": verdict,
            "title": f"“{verdict}”",
            "what": "What is measured.",
            "why": "Why it matters.",
            "verdict": verdict,
            "measured": 0.25,
            "bound": "at most 1",
            "detail": "",
            "seconds": 0.1,
        }
        for verdict in (
            "holds",
            "fails",
            "not claimed: holds",
            "not claimed: does not hold",
            "not measured",
        )
    ],
}
"""What stands in for a report where the test is about something else: checks take seconds."""

FINISHED = """
() => {
  const view = document.querySelector("#large .view");
  if (!view || view.getAttribute("aria-busy") !== "false") return false;
  const figures = [...view.querySelectorAll("figure")];
  const finished = (figure) => {
    const picture = figure.querySelector("canvas[aria-hidden], .uplot canvas, svg");
    return picture && (picture.tagName !== "CANVAS" || picture.width !== 300);
  };
  return figures.length > 0 && figures.every(finished);
}
"""
"""Whether the large view has a picture, be it that of what was chosen before."""


class Visit:
    """A page of the explorer, and everything that went wrong on it."""

    def __init__(self, page: Page, address: str, *, measuring: bool = False) -> None:
        self.page, self.context, self.address = page, page.context, address
        self.problems: list[str] = []
        self.refusals: list[str] = []
        self.requests: list[str] = []
        self._turn = 0
        self.unwaited = ["/check?"]
        """Parts of the addresses whose answers nobody waits for: checks, and what a test holds."""
        # Not by a route: every request would go through Playwright, and none into the cache.
        page.add_init_script(WATCH.replace("REPORT", json.dumps(None if measuring else REPORT)))
        page.on("request", self._asked)
        page.on("response", self._answered)
        page.on("requestfailed", self._failed)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.set_default_timeout(60_000)  # only what never comes takes so long

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((self.address, "data:", "blob:", "file:")):
            self.problems.append(f"a request left the machine: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.refusals.append(f"{response.status}: {unquote(response.url)}")
        if response.status >= 500:
            self.problems.append(f"{response.status}: {unquote(response.url)}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # what nobody waits for any more is given up
            self.problems.append(f"{request.failure}: {unquote(request.url)}")

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        if not message.text.startswith("Failed to load resource"):  # said with its reason below
            self.problems.append(f"{message.type}: {message.text}")

    def open(self, **state: Any) -> Self:
        """Open the page in a state, and wait until its large view is drawn."""
        query = urlencode({"v": 1} | state, doseq=True)
        self.page.goto(f"{self.address}?{query}")
        return self.drawn()

    def drawn(self) -> Self:
        """Wait until the large view and the cell are those of what was chosen last."""
        finished = f"(waited) => isQuiet(waited) && ({FINISHED})()"
        self.page.wait_for_function(finished, arg=self._waited(CELL))
        return self

    def rest(self, longest: int = SMALL) -> Self:
        """Wait until the page waits for nothing: no timer of at most `longest` ms, no answer."""
        self.page.wait_for_function("isQuiet", arg=self._waited(longest))
        return self

    def _waited(self, longest: int) -> list[Any]:
        """What `isQuiet` is given: another number each time, for it counts frames anew."""
        self._turn += 1
        return [self._turn, longest, self.unwaited]

    def frames(self, count: int = 10) -> Self:
        """Let the page draw some frames."""
        self.page.evaluate(
            """async (count) => {
              for (let i = 0; i < count; i++) await new Promise(requestAnimationFrame);
            }""",
            count,
        )
        return self

    def show(self, kind: str) -> Self:
        """Choose a view by its tab."""
        self.page.locator(f"#tab-{kind}").click()
        self.page.wait_for_selector(f"#large[aria-labelledby=tab-{kind}]")
        return self.drawn()

    def choose(self, title: str) -> Self:
        """Choose an encoding from the list, by its title."""
        self.page.locator("details fieldset").get_by_role("button", name=title, exact=True).click()
        return self.drawn()

    @property
    def state(self) -> dict[str, list[str]]:
        """What the address says, once it has followed."""
        self.rest(ADDRESS)  # it follows when a slider rests
        query = self.page.evaluate("location.search")
        return parse_qs(query.removeprefix("?"), keep_blank_values=True)

    @property
    def picture(self) -> Locator:
        return self.page.locator("#large .picture").first

    @property
    def cell(self) -> str:
        """What the panel of the cell has as its title."""
        return self.page.locator("[aria-labelledby=cell-title] h3").inner_text()

    def pixels(self, place: int = 0) -> np.ndarray:
        """The cells of a heatmap in the large view, as red, green, blue, alpha."""
        canvas = self.page.locator("#large .picture canvas").nth(place)
        width, height, data = canvas.evaluate(PIXELS)
        return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)

    def api(self, path: str, **query: Any) -> Any:
        """An answer of the server, asked for outside the page."""
        answer = self.context.request.get(
            f"{self.address}api/v1/{path}?{urlencode(query, doseq=True)}"
        )
        assert answer.ok, answer.text()
        return json.loads(answer.body())

    def saw_nothing_wrong(self, *, refusals: bool = False) -> None:
        assert not self.problems, "\n".join(self.problems)
        assert refusals or not self.refusals, "\n".join(self.refusals)
