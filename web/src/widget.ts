/** The same page in a cell of a notebook, through anywidget. */
import { mount, unmount } from "svelte";
import { Api, overHttp, type Transport } from "./api";
import App from "./App.svelte";
import { isDark } from "./dark";
import { Explorer } from "./explorer.svelte";
import { browserLanguage, fromQuery } from "./state";

interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: "msg:custom", hear: (message: Answer, buffers: DataView[]) => void): void;
}

interface Answer {
  id: number;
  status: number;
  type: string;
}

/** Questions go to the kernel as messages, so no port has to be open: a notebook may be far away. */
function overMessages(model: Model): Transport {
  const waiting = new Map<number, (response: Response) => void>();
  let last = 0;
  model.on("msg:custom", ({ id, status, type }, [body]) => {
    const bytes = body ? new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength) : null;
    waiting.get(id)?.(new Response(bytes, { status, headers: { "Content-Type": type } }));
    waiting.delete(id);
  });
  return (path, { method = "GET", body = null, signal }) =>
    new Promise((answer, giveUp) => {
      const id = ++last;
      waiting.set(id, answer);
      signal?.addEventListener("abort", () => {
        waiting.delete(id);
        giveUp(signal.reason);
      });
      model.send({ id, method, path, body });
    });
}

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const base = String(model.get("base") || "");
    const api = new Api(base ? overHttp(base) : overMessages(model), base || null);
    const browser = browserLanguage(navigator.languages);
    const { state } = fromQuery(String(model.get("state") || ""), browser);
    const explorer = new Explorer(api, state, browser);
    explorer.dark = isDark(state.theme);
    const app = mount(App, { target: el, props: { explorer } });
    // a notebook takes plain keys for its own: "x" on a picture would cut the cell
    el.addEventListener("keydown", (event) => event.ctrlKey || event.metaKey || event.stopPropagation());
    return () => void unmount(app);
  },
};
