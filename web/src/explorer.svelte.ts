/** The page's model: its state, the cursor, and the answers that several components share. */
import { getContext, setContext } from "svelte";
import { address, RequestError, type Api, type Query } from "./api";
import type { Acts, Catalogue, CellAnswer, Colours, EncodingFacts, Image, Kind, Panel, Report, Tokens, ViewKind } from "./contract";
import { nearest } from "./numbers";
import { Resource } from "./resource.svelte";
import { FIRST, FIRST_VIEW, plus, toQuery, type Lang, type State } from "./state";
import { BORDERS, STROKES } from "./strokes";

/** A place in a view, with the encoding and the view it belongs to where that matters. */
export type Place = { [part in keyof Cursor]?: number | null } & { of?: number; view?: string };

export interface Cursor {
  p: number;
  d: number;
  k: number;
  h: number;
}

/** A message, as a function so that it follows the language, and whether it is an error. */
export interface Note {
  says: () => string;
  /** Further lines. */
  more?: string[];
  wrong: boolean;
  /** Cancels the work that the note is about, if any. */
  cancel?: () => void;
}

const KEPT = 32;

/** An expression without spaces, as in a link. */
const plain = (expression: string): string => expression.replaceAll(" ", "");

export class Explorer {
  state: State;
  /** Where the pointer is; null outside of views. */
  hover = $state.raw<Place | null>(null);
  dark = $state(false);
  /** Why the large view could not be drawn; shown beside the control that caused it. */
  refused = $state.raw<RequestError | null>(null);
  /** The initial dimension of the cursor: one that the large view shows. */
  begins = $state(2);
  /** The hands in the large view, which draws some of the pairs and positions only. */
  hands = $state.raw<{ pairs: number[]; positions: number[] } | null>(null);
  /** Whether the state came from a link; a step of the tour then keeps it. */
  arrived = false;
  /** The step at which the tour was closed. */
  step = 1;
  /** Whether the large view is loading; the small ones wait for it. */
  drawing = $state(false);
  /** A note about the whole page, such as an invalid link or an unreadable file. */
  note = $state.raw<Note | null>(null);
  /** Facts of each encoding by its expression; null of an invalid one. */
  private facts = $state.raw<ReadonlyMap<string, EncodingFacts | null>>(new Map());
  catalogue: Resource<Catalogue>;
  tokens: Resource<Tokens>;
  colours: Resource<Colours>;
  cell: Resource<CellAnswer>;
  report: Resource<Report>;

  constructor(
    readonly api: Api,
    first: State,
    readonly browser: Lang,
    /** The names of the answers in a saved page, which is read-only. */
    readonly kept: string[] | null = null,
    /** Whether this is a web page, not a cell of a notebook. */
    readonly page = false,
  ) {
    this.state = $state(first);
    this.catalogue = new Resource(api);
    this.tokens = new Resource(api);
    this.colours = new Resource(api);
    this.cell = new Resource(api);
    this.report = new Resource(api);
  }

  /** The index in `state.e` of the encoding whose parameters and properties are shown. */
  get active(): number {
    return Math.min(this.state.a, this.state.e.length - 1);
  }
  set active(place: number) {
    this.state.a = place;
  }

  get saved(): boolean {
    return this.kept !== null;
  }

  /** The parameters of every request about the sentence and the encodings. */
  common(): Query {
    const { text, by, e, n, seed, lang } = this.state;
    return { text, by, e: [...e], n, seed, lang };
  }

  tokensAddress(): string {
    const { text, by, lang } = this.state;
    return address("tokens", { text, by, lang });
  }

  viewAddress(kind: string, extra: Query = {}): string {
    return address(`view/${kind}`, { ...this.common(), ...this.looks(kind), ...extra });
  }

  /** The options of a view: the head to look at, and the mask. */
  looks(kind: string): Query {
    return {
      h: this.kind(kind)?.head ? plus(this.state.h, 1) : null,
      causal: this.kind(kind)?.causal ? this.state.causal : null,
    };
  }

  /** How many heads can be chosen: those of the encoding with the fewest, among those with several. */
  get heads(): number {
    const some = this.state.e.map((e) => this.factsOf(e)?.heads ?? 1).filter((heads) => heads > 1);
    return this.kind(this.view)?.head ? Math.min(...some, Infinity) : 1;
  }

  exportAddress(form: string): string {
    const { p, d, k, a, hide, theme } = this.state;
    const query = { ...this.common(), ...this.looks(this.view), view: this.view, channels: this.waves(this.view), theme: this.dark ? "dark" : "light" };
    // a saved page follows the system's theme unless one was chosen
    const page = { h: plus(this.state.h, 1), causal: this.state.causal, p, d, k, a: a || null, hide: hide.join() || null, theme: theme === "auto" ? null : theme };
    return address(`export/${form}`, form === "html" ? { ...query, ...page } : query);
  }

  /** The waves that are shown: the first two and the pinned one. */
  waves(kind: string): string | null {
    const { d } = this.state;
    return kind === "waves" && d !== null ? [...new Set([0, 1, d])].join(",") : null;
  }

  link(keepText = false): string {
    return toQuery(this.state, { lang: this.browser, keepText });
  }

  isHidden(part: string): boolean {
    return this.state.hide.includes(part);
  }

  /** Keep the facts of an encoding, beside those of the last few: a slider has many values. */
  remember(expression: string, facts: EncodingFacts | null): void {
    this.facts = new Map([...[...this.facts].slice(-KEPT), [plain(expression), facts]]);
  }

  /** Ask for the facts that are missing; those of the first example come with the catalogue. */
  ask(): Promise<unknown> {
    const unknown = this.state.e.filter((e) => e !== FIRST && this.factsOf(e) === undefined);
    return Promise.all(
      unknown.map((e) =>
        this.api.json<EncodingFacts>(address("spell", { e: [e] })).then(
          (facts) => this.remember(e, facts),
          (error: unknown) => error instanceof RequestError && error.argument !== null && this.remember(e, null), // the view says what is wrong
        ),
      ),
    );
  }

  /** A kind of view, as the catalogue describes it. */
  kind(name: string): Kind | undefined {
    return this.catalogue.value?.kinds.find((kind) => kind.name === name);
  }

  /** Columns of panels that a view will have: how many cells fit is part of the request for it. */
  columnsOf(name: string): number {
    return this.kind(name)?.columns[this.flat ? "text" : "grid"][this.state.e.length - 1] ?? 1;
  }

  private get listed(): EncodingFacts[] {
    return (this.catalogue.value?.groups ?? []).flatMap((group) => group.encodings);
  }

  /** The facts of an encoding: undefined if not known yet, null if it is invalid. */
  factsOf(expression = ""): EncodingFacts | null | undefined {
    const facts = this.facts.get(plain(expression));
    return facts === undefined ? this.listed.find((each) => plain(each.expression) === plain(expression)) : facts;
  }

  /** Its facts or, until they are here, those of the one in the catalogue that has its class. */
  private likelyFactsOf(expression = ""): EncodingFacts | null | undefined {
    const head = /^\w+/.exec(expression.trim())?.[0];
    const facts = this.factsOf(expression);
    return facts === undefined ? this.listed.find((each) => /^\w+/.exec(each.maker)?.[0] === head) : facts;
  }

  /** The encoding of the cell: the one under the pointer, else the active one. */
  get shown(): string | undefined {
    return this.state.e[this.hover?.of ?? this.active] ?? this.state.e[this.active];
  }

  get acts(): Acts {
    return this.likelyFactsOf(this.shown)?.acts ?? "additive";
  }

  /** The views that suit all encodings shown, in the order of the first. */
  get views(): ViewKind[] {
    const suits = this.state.e.map((e) => this.likelyFactsOf(e)?.views ?? []);
    const common = (suits[0] ?? []).filter((view) => suits.every((each) => each.includes(view))) as ViewKind[];
    return common.filter((view) => this.kept?.includes(`view/${view}`) ?? true);
  }

  /** All views of the first encoding, including those that do not suit the others. */
  get viewsOfFirst(): string[] {
    return this.likelyFactsOf(this.state.e[0])?.views ?? [];
  }

  /** Whether the views that suit are known, and how to request them; for the first example, before the catalogue is loaded. */
  get known(): boolean {
    return this.catalogue.value !== null || (this.state.e.join() === FIRST && (this.state.view ?? FIRST_VIEW) === FIRST_VIEW);
  }

  /** Whether positions are those of a sentence, not of a picture. */
  get flat(): boolean {
    return this.isFlat(this.shown);
  }
  private isFlat(expression: string | undefined): boolean {
    return (this.likelyFactsOf(expression)?.side ?? null) === null;
  }

  /** The second coordinate of a cell: a key, a dimension, or the first dimension of a pair. */
  get dimension(): number {
    const { d } = this.cursor;
    if (this.acts !== "rotary") return d;
    const facts = this.likelyFactsOf(this.shown);
    return (facts?.first ?? 0) + (facts?.stride ?? 2) * d;
  }

  /** How many dimensions, pairs or keys a position has. */
  get columns(): number {
    const { acts } = this;
    if (acts === "bias" || acts === "scores") return this.count;
    return this.factsOf(this.shown)?.columns ?? Infinity;
  }

  /** The view in the large panel: the chosen one, if it suits. */
  get view(): ViewKind {
    const { views } = this;
    const asked = this.state.view;
    if (asked && (views.length === 0 || views.includes(asked))) return asked;
    const first = this.likelyFactsOf(this.state.e[0])?.default_view ?? FIRST_VIEW;
    return views.length === 0 || views.includes(first) ? first : (views[0] ?? first);
  }

  /** The number of positions; in a picture, of rows. */
  get count(): number {
    const { side } = this.factsOf(this.shown) ?? {};
    return side ?? this.positions;
  }

  private get positions(): number {
    return Math.max(this.tokens.value?.tokens.length ?? 0, this.state.n) || 64;
  }

  /** The cursor of all views: the pointer, else the pinned place, else a default worth a look. */
  get cursor(): Cursor {
    const last = this.count - 1;
    const { hands } = this;
    const first = Math.min(2, last);
    const start = this.paired && this.flat ? { p: last, d: 0 } : { p: hands?.positions[nearest(hands.positions, first)] ?? first, d: this.begins };
    const { p, d, k, h } = this.state;
    const over = this.hover;
    // with hands, the cell is about a pair that is drawn
    const wanted = d ?? start.d;
    const column = hands?.pairs[nearest(hands.pairs, wanted)] ?? wanted;
    const place = { p: over?.p ?? p ?? start.p, d: over?.d ?? column, k: over?.k ?? k ?? 0, h: over?.h ?? h ?? 0 };
    const [row, key] = [Math.min(place.p, last), Math.min(place.k, last)];
    const heads = this.factsOf(this.shown)?.heads ?? 1;
    return { p: row, d: Math.min(place.d, this.columns - 1), k: key, h: Math.min(place.h, heads - 1) };
  }

  /** Pin the cursor to a place; null returns to the default. */
  pin({ of = this.active, view: _, ...place }: Place): void {
    Object.assign(this.state, place);
    this.active = of;
    this.hover = null;
  }

  /** What a column of a picture is to an encoding: a dimension, or a key. */
  columnOf(image: Image, expression = this.shown): "d" | "k" {
    return image.square && !(this.isFlat(expression) && this.isPaired(expression)) ? "k" : "d";
  }

  /** The index of the encoding that a panel is of, if it is of one. */
  numberOf(panel: Panel): number | undefined {
    return panel.of !== null && panel.of < this.state.e.length ? panel.of : undefined;
  }

  /** A cell of a picture as a place for the cursor. */
  placeIn(image: Image, view: string, row: number, column: number): Place {
    const of = this.numberOf(image);
    return { view, p: row, [this.columnOf(image, this.state.e[of ?? this.active])]: column, of, ...this.channelOf(image) };
  }

  /** The view whose number the cell explains, where it is not the encoding's own. */
  get worked(): ViewKind | null {
    const kind = this.kind(this.hover?.view ?? this.view);
    return this.flat && kind?.worked ? kind.name : null;
  }

  /** Whether the number of the cell is the encoding's own, which the view does not draw. */
  get undrawn(): boolean {
    return this.worked === null && (this.kind(this.hover?.view ?? this.view)?.derived ?? false);
  }

  /** Whether a picture is of keys around a query, by how far they are away. */
  isAround(image: Image): boolean {
    const expression = this.state.e[this.numberOf(image) ?? this.active];
    return image.channel !== null && image.square && !this.isFlat(expression) && this.isPaired(expression);
  }

  /** The view whose angle the cell explains, for a rotation; a saved page has the cells of one view. */
  get angle(): ViewKind | undefined {
    const angles = this.acts === "rotary" && this.kind(this.hover?.view ?? this.view)?.angles;
    return angles ? (this.flat ? "heatmap" : "maps") : undefined;
  }

  /** The key at the cursor. */
  get key(): number {
    return this.paired ? this.cursor.d : this.cursor.k;
  }

  /** The dimension or head that a picture is of, as part of the cursor. */
  channelOf(image: Image): Partial<Cursor> {
    if (image.channel === null) return {};
    return this.paired ? { h: image.channel } : { d: image.channel };
  }

  /** Whether the encoding acts on pairs of a query and a key. */
  private get paired(): boolean {
    return this.isPaired(this.shown);
  }
  private isPaired(expression: string | undefined): boolean {
    return ["bias", "scores"].includes(this.likelyFactsOf(expression)?.acts ?? "additive");
  }

  /** The colour and stroke of a token in all views; where colours repeat, strokes differ. */
  tokenLook(position: number): { colour: string; border: string; dashes: string } {
    const all = this.colours.value?.tokens ?? [];
    const many = Math.max(1, all.length);
    const turn = Math.floor(position / many) % STROKES.length;
    return { colour: all[position % many] ?? "currentColor", border: BORDERS[turn] ?? "solid", dashes: (STROKES[turn] ?? []).join(" ") };
  }

  label(position: number): string {
    return this.tokens.value?.tokens[position]?.label ?? "";
  }
}

const KEY = Symbol("explorer");
export const provide = (explorer: Explorer): Explorer => setContext(KEY, explorer);
export const explorerHere = (): Explorer => getContext<Explorer>(KEY);
