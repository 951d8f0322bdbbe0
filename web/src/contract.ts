/** What the server answers, as its OpenAPI description has it: posenc/explorer/schemas.py. */

import type { ViewKind } from "./state";

export type Acts = "additive" | "rotary" | "bias" | "scores";

export interface NumberParameter {
  name: string;
  /** Whether it may be left empty. */
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
  optional: boolean;
  help: string;
  type: "bool";
  value: boolean;
}

export interface Choice {
  name: string;
  optional: boolean;
  help: string;
  type: "choice";
  value: string;
  choices: string[];
}

/** Numbers with commas between. */
export interface Numbers {
  name: string;
  optional: boolean;
  help: string;
  type: "numbers";
  value: string;
}

export interface PartChoice {
  name: string;
  expression: string;
}

/** A parameter that is a call of its own, such as a scaling. */
export interface Part {
  name: string;
  optional: boolean;
  help: string;
  type: "part";
  value: string | null;
  maker: string;
  /** What it could be; none where only an expression says it. */
  choices: PartChoice[];
  fields: Field[];
}

export type Field = NumberParameter | Flag | Choice | Numbers | Part;

/** What the page must know of an encoding. */
export interface Told {
  expression: string;
  /** Of its entry in the list. */
  name: string | null;
  acts: Acts;
  /** What is called, RoPE or AxialRoPE.split, and what else could be. */
  maker: string;
  makers: string[];
  fields: Field[];
  loaded: boolean;
  views: ViewKind[];
  columns: number | null;
  /** The channel of the first column, and how far it is to that of the next. */
  first: number;
  stride: number;
  heads: number;
  /** Rows and columns of its maps, where its positions are those of a picture. */
  side: number | null;
  /** Whether its checks take so long that the page waits to be asked for them. */
  costly: boolean;
  /** Whether it is meant for keys behind their query only. */
  causal_only: boolean;
}

/** The same of one in the list. */
export interface Kind {
  expression: string;
  name: string;
  acts: Acts;
  maker: string;
  makers: string[];
  fields: Field[];
  loaded: boolean;
  views: ViewKind[];
  columns: number | null;
  first: number;
  stride: number;
  heads: number;
  side: number | null;
  costly: boolean;
  causal_only: boolean;
  title: string;
}

export interface Group {
  acts: Acts;
  title: string;
  encodings: Kind[];
}

export interface Limits {
  text: number;
  positions: number;
  cells: number;
  encodings: number;
  tokenizer: boolean;
}

export interface Catalogue {
  groups: Group[];
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
  /** The shape before anything was averaged: a last box may be smaller than the others. */
  whole: [number, number];
  rows: Axis;
  columns: Axis;
  limit: number;
  colours: "diverging" | "cyclic" | "sequential";
  unit: string;
  square: boolean;
  ratio: [number, number];
  /** The dimension, pair or head that it is of, where it is of one. */
  channel: number | null;
  /** The number of the encoding that it is of, where it is of one. */
  of: number | null;
}

export interface Line {
  name: string;
  y: (number | null)[];
  colour: number;
  /** The least and the largest of what each y is the mean of. */
  low: (number | null)[] | null;
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
  of: number | null;
}

export interface Dials {
  panel: "dials";
  title: string;
  hands: [number, number][][];
  names: string[];
  labels: string[];
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

/** A formula: a symbol, a number, or a kind with its parts. */
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
  verdict: "holds" | "fails" | "not claimed: holds" | "not claimed: does not hold" | "not applicable";
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

/** What a model's config.json says. */
export interface Config {
  model_type: string;
  expressions: string[];
  /** Which part of the model has each: the encoder, the local layers; null where all share one. */
  parts: (string | null)[];
  /** What the file leaves to be said, such as the first position. */
  notes: string[];
}

export interface Failure {
  message: string;
  argument: string | null;
}

export interface Refusal {
  error: Failure;
}
