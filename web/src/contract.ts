/** What the server answers, as its OpenAPI description has it. */

export type Acts = "additive" | "rotary" | "bias" | "scores";

interface Parameter {
  name: string;
  /** Whether it may be left empty. */
  optional: boolean;
}

export interface NumberParameter extends Parameter {
  type: "int" | "float";
  value: number | null;
  least: number;
  most: number;
  step?: number;
}

/** A parameter that is a call of its own, such as a scaling. */
export interface Part extends Parameter {
  type: "part";
  value: string | null;
  maker: string;
  /** What it could be; none where only an expression says it. */
  choices: { name: string; expression: string }[];
  fields: Field[];
}

export type Field =
  | NumberParameter
  | Part
  | (Parameter & { type: "bool"; value: boolean })
  | (Parameter & { type: "choice"; value: string; choices: string[] })
  | (Parameter & { type: "numbers"; value: string });

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
  views: string[];
  columns: number | null;
  /** The channel of the first column, and how far it is to that of the next. */
  first: number;
  stride: number;
  /** Rows and columns of its maps, where its positions are those of a picture. */
  side: number | null;
}

export interface Kind extends Told {
  name: string;
  title: string;
  paper?: string;
}

export interface Group {
  acts: Acts;
  title: string;
  encodings: Kind[];
}

export interface Catalogue {
  groups: Group[];
  limits: Record<string, number>;
}

export interface Token {
  label: string;
  text: string;
  bytes: string;
  part: [number, number] | null;
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
  rows: Axis;
  columns: Axis;
  limit: number;
  colours: "diverging" | "cyclic" | "sequential";
  unit: string;
  square: boolean;
  ratio: [number, number];
  /** The dimension, pair or head that it is of, where it is of one. */
  channel: number | null;
}

export interface Line {
  name: string;
  y: (number | null)[];
  colour: number;
  /** The least and the largest of what each y is the mean of. */
  low: (number | null)[] | null;
  high: (number | null)[] | null;
}

export interface Lines {
  panel: "lines";
  title: string;
  x: number[];
  lines: Line[];
  x_axis: Axis;
  y_axis: Axis;
  marks: { name: string; x: number | null; y: number | null }[];
  steps: boolean;
  /** How many whole steps of x one y is the mean of. */
  ratio: number;
}

export interface Dials {
  panel: "dials";
  title: string;
  hands: [number, number][][];
  names: string[];
  labels: string[];
}

export type Panel = Image | Lines | Dials;

export interface View {
  kind: string;
  title: string;
  columns: number;
  notes: string[];
  panels: Panel[];
}

/** A formula: a symbol, a number, or a kind with its parts. */
export type Formula = string | number | [string, ...Formula[]];

export interface Step {
  name: string;
  words: string;
  formulas: Formula[];
  table: { columns: string[]; rows: (string | number)[][] } | null;
}

export interface CellAnswer {
  title: string;
  steps: Step[];
  value: number | null;
  truth: number | null;
  ulps: number | null;
  convention: { name: string; value: string | number }[];
}

export interface Property {
  name: string;
  title: string;
  what: string;
  why: string;
  verdict: string;
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

export type RGB = [number, number, number];

export interface Colours {
  diverging: RGB[];
  cyclic: RGB[];
  sequential: RGB[];
  lines: string[];
  tokens: string[];
}
