"""The page in a cell of a notebook: what its surroundings see of it, and what it leaves to them."""

from tests.browser.visit import Visit

RENDER = """
async () => {
  const script = document.querySelector("script[type=module][src]").src;
  document.querySelector("#posenc").remove();
  const { default: widget } = await import(script);
  const cell = document.body.appendChild(document.createElement("div"));
  cell.id = "cell";
  const told = { state: "?v=1&e=RoPE(64)&view=heatmap&lang=en" };
  window.heard = [];
  document.addEventListener("keydown", ({ key }) => window.heard.push(key));
  window.hearing = new Set(); // as a kernel does, the model sends every answer to all who hear
  const model = {
    get: (name) => told[name],
    on: (_, hear) => hearing.add(hear),
    off: (_, hear) => hearing.delete(hear),
    send: async ({ id, path }) => {
      const answer = await fetch("/api/v1/" + path);
      const [status, type] = [answer.status, answer.headers.get("content-type")];
      const body = new DataView(await answer.arrayBuffer());
      hearing.forEach((hear) => hear({ id, status, type }, [body]));
    },
  };
  window.leave = widget.render({ model, el: cell });
}
"""


def test_a_notebook_does_not_hear_the_keys_that_are_pressed_within(visit: Visit) -> None:
    """Else "x" on a picture cuts the notebook's cell."""
    visit.open()
    visit.page.evaluate(RENDER)
    visit.drawn()
    before = visit.cell
    visit.picture.focus()
    for key in ("x", "d", "d", "ArrowDown", "Control+s"):
        visit.page.keyboard.press(key)
    assert visit.page.evaluate("heard") == ["Control", "s"]
    visit.page.wait_for_function(
        "before => document.querySelector('[aria-labelledby=cell-title] h3').innerText !== before",
        arg=before,
    )


def test_a_widget_that_is_removed_leaves_nothing(visit: Visit) -> None:
    visit.open()
    visit.page.evaluate(RENDER)
    visit.drawn()
    assert visit.page.evaluate("hearing.size") == 1
    visit.page.evaluate("leave()")
    assert visit.page.evaluate("hearing.size") == 0
    assert visit.page.locator("#cell").inner_html().strip(" <!->") == ""
