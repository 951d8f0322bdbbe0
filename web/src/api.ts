/** Requests to the server or its stand-in: a page saved to disk, or a notebook's kernel. */
import { t } from "./messages.svelte";

export type Transport = (path: string, init: RequestInit) => Promise<Response>;

/** A request that the server refuses: its message, and the argument that it is about. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly argument: string | null,
  ) {
    super(message);
  }
}

export type Query = Record<string, string | number | string[] | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) value.forEach((each) => pairs.append(name, each));
    else if (value !== null && value !== undefined) pairs.append(name, String(value));
  }
  return pairs.size ? `${path}?${pairs}` : path;
}

const KEPT = 64;

export class Api {
  /** Responses by address; while the server runs, the one to an address never changes. */
  private answers = new Map<string, Promise<unknown>>();
  private coming = new Map<string, Promise<ArrayBuffer>>();

  constructor(
    private transport: Transport,
    /** Where files can be downloaded from; null without a server. */
    readonly base: string | null,
  ) {}

  /** The JSON at an address, fetched once; an aborted request is not cached. */
  json<T>(path: string, signal?: AbortSignal): Promise<T> {
    const kept = this.answers.get(path);
    if (kept) return kept as Promise<T>;
    const answer = this.ask(path, { signal }).then((response) => response.json().catch(throwConnectionError));
    const forget = () => this.answers.get(path) === answer && this.answers.delete(path);
    signal?.addEventListener("abort", forget);
    answer.then(() => signal?.removeEventListener("abort", forget), forget);
    this.answers.set(path, answer);
    const oldest = this.answers.keys().next().value;
    if (this.answers.size > KEPT && oldest) this.answers.delete(oldest);
    return answer as Promise<T>;
  }

  /** The bytes of an array; concurrent requests for the same one are shared. */
  array(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
    const coming = this.coming.get(path);
    if (coming) return coming;
    const answer = this.ask(path, { signal }).then((response) => response.arrayBuffer().catch(throwConnectionError));
    const forget = () => this.coming.get(path) === answer && this.coming.delete(path);
    signal?.addEventListener("abort", forget);
    answer.then(() => setTimeout(forget, 1000), forget);
    this.coming.set(path, answer);
    return answer;
  }

  async post<T>(path: string, body: string): Promise<T> {
    const response = await this.ask(path, { method: "POST", body, headers: { "Content-Type": "application/json" } });
    return response.json().catch(throwConnectionError);
  }

  /** A file to save, and the name that the server gives it. */
  async file(path: string, signal?: AbortSignal): Promise<{ name: string | undefined; data: Blob }> {
    const response = await this.ask(path, { signal });
    const said = response.headers.get("content-disposition") ?? "";
    return { name: /filename="([^"]+)"/.exec(said)?.[1], data: await response.blob().catch(throwConnectionError) };
  }

  private async ask(path: string, init: RequestInit): Promise<Response> {
    const response = await this.transport(path, init).catch(throwConnectionError);
    if (response.ok) return response;
    const said = await response.json().catch(() => null);
    throw new RequestError(said?.error?.message ?? `${response.status} ${response.statusText}`, said?.error?.argument ?? null);
  }
}

/** Report a failed connection in the page's words, not the browser's. */
function throwConnectionError(error: unknown): never {
  throw error instanceof TypeError ? new RequestError(t("The explorer does not answer. Is it still running?"), null) : error;
}

export function overHttp(base: string): Transport {
  return (path, init) => fetch(base + path, init);
}

/** Parameters that are the same throughout a saved page, or only set how large to draw. */
const FIXED = ["text", "by", "n", "seed", "lang", "rows", "columns", "channels", "causal"];
/** Answers about one encoding, of which a saved page may have several. */
const OF_ONE = ["cell", "check", "spell"];

/** The name of an answer on a saved page: its path with the rest of its query, sorted. */
export function savedName(path: string): string {
  const [place = "", query] = path.split("?");
  const pairs = new URLSearchParams(query);
  if (place !== "messages") FIXED.forEach((name) => pairs.delete(name));
  if (!OF_ONE.includes(place)) pairs.delete("e");
  if (place !== "cell") pairs.delete("h"); // the pictures are of the head that was looked at
  pairs.sort();
  return pairs.size ? `${place}?${pairs}` : place;
}

export type Saved = Record<string, unknown>;

export function fromSaved(responses: Saved, missing: () => string): Transport {
  return async (path) => {
    const answer = responses[path] ?? responses[`/api/v1/${path}`] ?? responses[savedName(path)];
    if (answer === undefined) return Response.json({ error: { message: missing(), argument: null } }, { status: 404 });
    const base64 = (answer as { npy?: string }).npy;
    return base64 === undefined ? Response.json(answer) : new Response(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
  };
}
