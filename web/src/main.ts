/** The entry point: the first requests are sent at once, and the page is mounted when they are answered. */
import "./app.css";
import { mount } from "svelte";
import { Api, address, fromSaved, overHttp, type Saved } from "./api";
import App from "./App.svelte";
import type { Messages } from "./contract";
import { isDark } from "./dark";
import { Explorer } from "./explorer.svelte";
import { setMessages, t } from "./messages.svelte";
import { browserLanguage, FIRST_VIEW, fromQuery, isLink } from "./state";

export { default } from "./widget";

/** Milliseconds after which the page is mounted anyway; late answers fill in. */
const PATIENCE = 400;

async function start(target: Element): Promise<void> {
  const data = document.getElementById("posenc-data")?.textContent;
  const saved = data ? (JSON.parse(data) as { state: string; responses: Saved }) : null;
  const browser = browserLanguage(navigator.languages);
  const { state, wrong } = fromQuery(saved ? saved.state : location.search, browser);
  const missing = () => t("This saved page does not have that. Run posenc explore to see it.");
  const base = new URL("api/v1/", document.baseURI).pathname;
  const api = saved ? new Api(fromSaved(saved.responses, missing), null) : new Api(overHttp(base), base);
  const explorer = new Explorer(api, state, browser, saved && Object.keys(saved.responses), true);
  explorer.dark = isDark(state.theme);
  explorer.arrived = state.step !== null && isLink(saved ? saved.state : location.search);

  const language = api.json<Messages>(address("messages", { lang: state.lang }));
  const spoken = language.then((answer) => setMessages(answer.messages)).catch(() => undefined);
  const encodings = address("encodings", { lang: state.lang });
  const catalogue = api.json(encodings).catch(() => undefined);
  explorer.catalogue.load(encodings);
  explorer.colours.load(address("colours", { theme: explorer.dark ? "dark" : "light" }));
  explorer.tokens.load(explorer.tokensAddress());
  const asked = explorer.ask();
  const first = explorer.known ? api.json(explorer.viewAddress(FIRST_VIEW, { rows: 512, columns: 512 })).catch(() => undefined) : null;
  const late = new Promise((done) => setTimeout(done, PATIENCE));
  await Promise.race([Promise.all([spoken, first, asked, catalogue]), late]);
  const said = () => t("The link had values that cannot be used; these were replaced: {names}.", { names: wrong.join(t(", ")) });
  if (wrong.length) explorer.note = { wrong: false, says: said };
  mount(App, { target, props: { explorer } });
}

const target = document.getElementById("posenc");
if (target) void start(target);
