/** The same page in a cell of a notebook, through anywidget. */
import { mount, unmount } from "svelte";
import { Api, type Transport } from "./api";
import App from "./App.svelte";
import { isDark } from "./dark";
import { Explorer } from "./explorer.svelte";
import { browserLanguage, fromQuery } from "./state";

interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: "msg:custom", hear: Hear): void;
  off(event: "msg:custom", hear: Hear): void;
}

type Hear = (message: Answer, buffers: DataView[]) => void;

interface Answer {
  id: number;
  status: number;
  type: string;
}

/** Requests are numbered across views: a widget shown twice receives the answers to both. */
let last = Math.floor(Math.random() * 2 ** 40);

/** Requests go to the kernel as messages: no port is needed, even on a remote notebook. */
function overMessages(model: Model): { ask: Transport; stop: () => void } {
  const waiting = new Map<number, (response: Response) => void>();
  const hear: Hear = ({ id, status, type }, [body]) => {
    const bytes = body ? new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength) : null;
    waiting.get(id)?.(new Response(bytes, { status, headers: { "Content-Type": type } }));
    waiting.delete(id);
  };
  model.on("msg:custom", hear);
  const ask: Transport = (path, { method = "GET", body = null, signal }) =>
    new Promise((answer, giveUp) => {
      const id = ++last;
      waiting.set(id, answer);
      signal?.addEventListener("abort", () => {
        waiting.delete(id);
        giveUp(signal.reason);
      });
      model.send({ id, method, path, body });
    });
  return { ask, stop: () => model.off("msg:custom", hear) };
}

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const { ask, stop } = overMessages(model);
    const api = new Api(ask, null);
    const browser = browserLanguage(navigator.languages);
    const { state } = fromQuery(String(model.get("state") || ""), browser);
    const explorer = new Explorer(api, state, browser);
    explorer.dark = isDark(state.theme);
    const app = mount(App, { target: el, props: { explorer } });
    // notebooks handle plain keys themselves: "x" on a picture would cut the cell
    el.addEventListener("keydown", (event) => event.ctrlKey || event.metaKey || event.stopPropagation());
    return () => {
      stop();
      void unmount(app);
    };
  },
};
