/** The page's state is its query: short, typed, versioned. Unknown keys are ignored, wrong values replaced. */
import { PARAMETERS, type ViewKind } from "./contract";
import { clamp } from "./numbers";

export type Lang = (typeof PARAMETERS.lang.enum)[number];
export const LANGUAGES: Record<Lang, string> = { en: "English", ja: "日本語", "zh-Hans": "简体中文", "zh-Hant": "繁體中文" };
/** How a sentence is split into tokens; "tokenizer" is added if the server has one. */
export const WAYS = PARAMETERS.by.enum.filter((way) => way !== "tokenizer");
export const THEMES = ["auto", ...PARAMETERS.theme.enum] as const;
export const CAUSAL = PARAMETERS.causal.enum;
export const PARTS = ["sentence", "encoding", "views", "cell", "properties", "tour", "export"] as const;
export const MOST = {
  text: PARAMETERS.text.maxLength,
  encodings: PARAMETERS.e.maxItems,
  positions: PARAMETERS.n.maximum,
  heads: PARAMETERS.h.maximum,
  seed: PARAMETERS.seed.maximum,
  steps: 11,
};

export interface State {
  text: string;
  by: string;
  e: string[];
  /** The index of the encoding that the parameters, the cell and the properties are about. */
  a: number;
  n: number;
  view: ViewKind | null;
  /** The pinned cursor: position, dimension (a key, where the encoding acts on pairs), and key. */
  p: number | null;
  d: number | null;
  k: number | null;
  /** The head, from 0; links and the page count from 1. */
  h: number | null;
  /** Whether attention is masked; null: as the encodings are meant. */
  causal: (typeof CAUSAL)[number] | null;
  lang: Lang;
  theme: (typeof THEMES)[number];
  hide: string[];
  step: number | null;
  seed: number;
}

/** The first sentence in each language, and how it is split: ICU takes 狗咬 for one word. */
export const EXAMPLES: Record<Lang, { text: string; by: string }> = {
  en: { text: "the dog bit the man", by: "words" },
  ja: { text: "犬が人を噛む", by: "words" },
  "zh-Hans": { text: "狗咬了人", by: "spaces" },
  "zh-Hant": { text: "狗咬了人", by: "spaces" },
};
export const FIRST = "Sinusoidal(64)";
export const FIRST_VIEW: ViewKind = "heatmap";

/** A number plus an offset; null stays null. */
export const plus = (value: number | null, by: number): number | null => (value === null ? null : value + by);

export function browserLanguage(languages: readonly string[]): Lang {
  for (const tag of languages) {
    if (/^zh\b.*(hant|tw|hk|mo)/i.test(tag)) return "zh-Hant";
    if (/^zh\b/i.test(tag)) return "zh-Hans";
    if (/^ja\b/i.test(tag)) return "ja";
    if (/^en\b/i.test(tag)) return "en";
  }
  return "en";
}

/** Whether a query is a link to a page's state, not just to a step of the tour. */
export function isLink(query: string): boolean {
  return new URLSearchParams(query).has("view");
}

/** The state of a query, and the names of its invalid parameters. */
export function fromQuery(query: string, lang: Lang): { state: State; wrong: string[] } {
  const given = new URLSearchParams(query);
  const wrong: string[] = [];
  function one<T extends string, D>(key: string, choices: readonly T[], fallback: D): T | D {
    const value = given.get(key);
    if (value === null) return fallback;
    if ((choices as readonly string[]).includes(value)) return value as T;
    wrong.push(key);
    return fallback;
  }
  function whole<D>(key: string, least: number, most: number, fallback: D): number | D {
    const value = given.get(key);
    if (value === null) return fallback;
    if (!/^\d{1,9}$/.test(value)) {
      wrong.push(key);
      return fallback;
    }
    const bounded = clamp(Number(value), least, most);
    if (bounded !== Number(value)) wrong.push(key);
    return bounded;
  }
  one("v", ["1"], "1");
  const spoken = one("lang", Object.keys(LANGUAGES) as Lang[], lang);
  const text = given.get("text");
  if (text !== null && text.length > MOST.text) wrong.push("text");
  const expressions = given.getAll("e").filter((e) => e.trim());
  if (expressions.length > MOST.encodings) wrong.push("e");
  const hide = (given.get("hide") ?? "").split(",").filter(Boolean);
  const known = hide.filter((part) => (PARTS as readonly string[]).includes(part));
  if (known.length < hide.length) wrong.push("hide");
  const state: State = {
    text: text === null ? EXAMPLES[spoken].text : text.slice(0, MOST.text),
    by: one("by", PARAMETERS.by.enum, text === null ? EXAMPLES[spoken].by : "words"),
    e: expressions.length ? expressions.slice(0, MOST.encodings) : [FIRST],
    a: whole("a", 0, MOST.encodings - 1, 0),
    n: whole("n", 0, MOST.positions, 0),
    view: one("view", PARAMETERS.view.enum, null),
    p: whole("p", 0, MOST.positions - 1, null),
    d: whole("d", 0, MOST.positions - 1, null),
    k: whole("k", 0, MOST.positions - 1, null),
    h: plus(whole("h", 1, MOST.heads, null), -1),
    causal: one("causal", CAUSAL, null),
    lang: spoken,
    theme: one("theme", THEMES, "auto"),
    hide: known,
    step: whole("step", 1, MOST.steps, null),
    seed: whole("seed", 0, MOST.seed, 0),
  };
  return { state, wrong };
}

/** The query of a state, without defaults; `keepText` keeps the text and the language. */
export function toQuery(state: State, { lang, keepText = false }: { lang: Lang; keepText?: boolean }): string {
  const query = new URLSearchParams({ v: "1" });
  const example = EXAMPLES[state.lang];
  const written = keepText || state.text !== example.text;
  if (written) query.set("text", state.text);
  if (state.by !== (written ? "words" : example.by)) query.set("by", state.by);
  if (state.e.length > 1 || state.e[0] !== FIRST) state.e.forEach((e) => query.append("e", e.replaceAll(", ", ",")));
  for (const key of ["a", "n", "seed"] as const) if (state[key]) query.set(key, String(state[key]));
  if (state.view) query.set("view", state.view);
  const numbers = { p: state.p, d: state.d, k: state.k, h: plus(state.h, 1), step: state.step };
  for (const [key, value] of Object.entries(numbers)) if (value !== null) query.set(key, String(value));
  if (state.causal) query.set("causal", state.causal);
  if (keepText || state.lang !== lang) query.set("lang", state.lang);
  if (state.theme !== "auto") query.set("theme", state.theme);
  if (state.hide.length) query.set("hide", state.hide.join(","));
  // these are legal in a query and easier to read unescaped
  return `?${query}`.replace(/%2C/g, ",").replace(/%28/g, "(").replace(/%29/g, ")").replace(/%3D/g, "=").replace(/%27/g, "'");
}
