/** The server's answers and parameters, generated from its OpenAPI description by `make contract`: do not edit. */

export type ViewKind = "heatmap" | "waves" | "wavelengths" | "similarity" | "products" | "rotation" | "decay" | "bias" | "scalings" | "maps" | "learned" | "sum" | "attention";

export type Acts = "additive" | "rotary" | "bias" | "scores";

export interface NumberField {
  name: string;
  /** Whether it may be empty. */
  optional: boolean;
  /** What it does: an English message. */
  help: string;
  type: "int" | "float";
  value: number | null;
  least: number;
  most: number;
  step?: number;
}

export interface Flag {
  name: string;
  /** Whether it may be empty. */
  optional: boolean;
  /** What it does: an English message. */
  help: string;
  type: "bool";
  value: boolean;
}

export interface Choice {
  name: string;
  /** Whether it may be empty. */
  optional: boolean;
  /** What it does: an English message. */
  help: string;
  type: "choice";
  value: string;
  choices: string[];
}

/** Numbers separated by commas. */
export interface Numbers {
  name: string;
  /** Whether it may be empty. */
  optional: boolean;
  /** What it does: an English message. */
  help: string;
  type: "numbers";
  value: string;
}

export interface PartChoice {
  name: string;
  expression: string;
}

/** An argument that is itself a call, such as a scaling. */
export interface Part {
  name: string;
  /** Whether it may be empty. */
  optional: boolean;
  /** What it does: an English message. */
  help: string;
  type: "part";
  value: string | null;
  maker: string;
  /** What it could be; none where only an expression says it. */
  choices: PartChoice[];
  fields: Field[];
}

export type Field = NumberField | Flag | Choice | Numbers | Part;

/** What the page needs to know of an encoding; the catalogue adds a title. */
export interface EncodingFacts {
  expression: string;
  /** Its name in the catalogue, if any. */
  name: string | null;
  acts: Acts;
  /** What is called: RoPE, or AxialRoPE.split. */
  maker: string;
  /** What could be called instead. */
  makers: string[];
  fields: Field[];
  /** Whether it is the user's own. */
  loaded: boolean;
  /** The kinds of view that suit it. */
  views: ViewKind[];
  default_view: ViewKind;
  /** Columns of its picture: dimensions, or pairs; null: keys. */
  columns: number | null;
  /** The channel of the first column. */
  first: number;
  /** The distance from the channel of a column to that of the next. */
  stride: number;
  heads: number;
  /** Rows and columns of its maps, where positions are places in a picture. */
  side: number | null;
  /** Whether its checks take so long that the page waits to be asked for them. */
  costly: boolean;
  /** Whether it is meant for keys behind their query only. */
  causal_only: boolean;
  title?: string;
}

export interface Group {
  acts: Acts;
  title: string;
  encodings: EncodingFacts[];
}

export interface Limits {
  text: number;
  positions: number;
  cells: number;
  encodings: number;
  tokenizer: boolean;
}

/** A kind of view; its title and summary are English messages. */
export interface Kind {
  name: ViewKind;
  title: string;
  summary: string;
  /** Whether dimensions, pairs or heads can be chosen. */
  channels: boolean;
  /** Whether the head to look at can be chosen. */
  head: boolean;
  /** Whether the mask can be chosen. */
  causal: boolean;
  max_tokens: number | null;
  /** Whether it has a cell for each pair of positions. */
  pairwise: boolean;
  /** Whether a cell of a rotation is its angle, not the cosine. */
  angles: boolean;
  /** Whether its numbers are its own, not those of the encoding. */
  derived: boolean;
  /** Whether its own numbers of a text are worked out. */
  worked: boolean;
  /** What x is in its lines, where they follow the cursor. */
  along: "position" | "channel" | "offset" | "distance" | null;
  /** Whether it can be drawn small. */
  compact: boolean;
  /** Columns of panels for 1, 2, … encodings: of text, and on a grid. */
  columns: KindColumns;
}

export interface KindColumns {
  text: number[];
  grid: number[];
}

export interface Catalogue {
  groups: Group[];
  kinds: Kind[];
  limits: Limits;
}

export interface Token {
  label: string;
  text: string;
  start: number;
  end: number;
  bytes: string;
  part: [number, number] | null;
}

export interface Tokens {
  tokens: Token[];
}

export interface Axis {
  name: string;
  labels: string[] | null;
  log: boolean;
}

export interface Image {
  panel: "image";
  title: string;
  values: (number | null)[][] | null;
  shape: [number, number];
  /** The shape before averaging: a last box may be smaller than the others. */
  whole: [number, number];
  rows: Axis;
  columns: Axis;
  limit: number;
  colours: "diverging" | "cyclic" | "sequential";
  unit: string;
  square: boolean;
  ratio: [number, number];
  /** The dimension, pair or head that it is of, if any. */
  channel: number | null;
  /** The number of the encoding that it is of, if it is of one. */
  of: number | null;
}

export interface Line {
  name: string;
  y: (number | null)[];
  colour: number;
  /** The smallest of the values that each y is the mean of. */
  low: (number | null)[] | null;
  /** The largest of them. */
  high: (number | null)[] | null;
}

export interface Mark {
  name: string;
  x: number | null;
  y: number | null;
}

export interface Lines {
  panel: "lines";
  title: string;
  x: number[];
  lines: Line[];
  x_axis: Axis;
  y_axis: Axis;
  marks: Mark[];
  steps: boolean;
  /** How many whole steps of x one y is the mean of. */
  ratio: number;
  /** The number of the encoding that it is of, if it is of one. */
  of: number | null;
}

export interface Dials {
  panel: "dials";
  title: string;
  hands: [number, number][][];
  names: string[];
  labels: string[];
  /** The number of the encoding that it is of, if it is of one. */
  of: number | null;
}

export type Panel = Image | Lines | Dials;

export interface View {
  kind: ViewKind;
  title: string;
  columns: number;
  notes: string[];
  panels: Panel[];
}

/** A symbol, a number, or the kind of a formula with its parts. */
export type Formula = string | number | null | [string, ...Formula[]];

export interface Table {
  columns: string[];
  rows: (string | number | null)[][];
}

export interface Step {
  name: string;
  words: string;
  formulas: Formula[];
  table: Table | null;
}

export interface Convention {
  name: string;
  value: string | number | boolean;
}

export interface CellAnswer {
  steps: Step[];
  value: number | null;
  truth: number | null;
  ulps: number | null;
  convention: Convention[];
}

export interface Explanation {
  title: string;
  lang: string;
  steps: Step[];
}

export interface Property {
  name: string;
  title: string;
  what: string;
  why: string;
  verdict: "holds" | "fails" | "not claimed: holds" | "not claimed: does not hold" | "not applicable" | "not measured";
  measured: number | null;
  bound: string | null;
  detail: string;
  seconds: number;
}

export interface Report {
  subject: string;
  ok: boolean;
  rows: Property[];
}

export interface Messages {
  lang: string;
  messages: Record<string, string>;
}

export type RGB = [number, number, number];

export interface Colours {
  diverging: RGB[];
  cyclic: RGB[];
  sequential: RGB[];
  lines: string[];
  tokens: string[];
}

/** The encodings of a model's config.json. */
export interface Config {
  model_type: string;
  expressions: string[];
  /** The part of the model that has each, such as the encoder; null: all of it. */
  parts: (string | null)[];
  /** What an expression cannot say, such as the first position. */
  notes: string[];
}

export interface Failure {
  message: string;
  argument: string | null;
}

export interface Refusal {
  error: Failure;
}

export const PARAMETERS = {
  lang: {"enum": ["en", "ja", "zh-Hans", "zh-Hant"]},
  text: {"maxLength": 2000},
  by: {"enum": ["words", "spaces", "characters", "bytes", "bpe", "tokenizer"]},
  e: {"maxItems": 4},
  n: {"minimum": 0, "maximum": 8192},
  seed: {"minimum": 0, "maximum": 16777216},
  rows: {"minimum": 0, "maximum": 8192},
  columns: {"minimum": 0, "maximum": 8192},
  channels: {"maxLength": 64},
  h: {"minimum": 1, "maximum": 64},
  causal: {"enum": ["yes", "no"]},
  panel: {"minimum": 0, "maximum": 64},
  top: {"minimum": 0, "maximum": 8192},
  left: {"minimum": 0, "maximum": 8192},
  height: {"minimum": 0, "maximum": 8192},
  width: {"minimum": 0, "maximum": 8192},
  p: {"minimum": 0, "maximum": 16777152},
  d: {"minimum": 0, "maximum": 4095},
  k: {"minimum": 0, "maximum": 8192},
  view: {"enum": ["heatmap", "waves", "wavelengths", "similarity", "products", "rotation", "decay", "bias", "scalings", "maps", "learned", "sum", "attention"]},
  theme: {"enum": ["light", "dark"]},
  hide: {"maxLength": 120},
  a: {"minimum": 0, "maximum": 3},
  as: {"maxLength": 2000},
} as const;
