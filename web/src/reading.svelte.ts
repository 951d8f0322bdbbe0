/** The cursor in words, for the eye and for a screen reader. */
import type { Axis, Image } from "./contract";
import type { Explorer } from "./explorer.svelte";
import { t } from "./messages.svelte";
import { number } from "./numbers";

/** The cursor as the large picture describes it; empty if the large view has no picture. */
export const picture = $state({ kind: "", says: "" });

/** A token with its leading space made visible, as BPE tokens have one. */
export const visible = (label: string): string => label.replace(/^ (?=.)/, "␣");

/** A position with its token, if it has one. */
export function place(explorer: Explorer, position: number): string {
  const label = explorer.label(position);
  // isolated, so that right-to-left tokens do not reorder the sentence
  return label ? t("{position} “{token}”", { position, token: `\u2068${visible(label)}\u2069` }) : String(position);
}

/** A cell of a picture, by the names of its axes. */
export function cellOf(explorer: Explorer, image: Image, row: number, column: number): string {
  const [down, across] = [image.rows.labels?.[row], image.columns.labels?.[column]];
  if (explorer.isAround(image) && down !== undefined && across !== undefined) return fromQuery((image.channel ?? 0) + 1, Number(down), Number(across));
  const names = (axis: Axis, at: number) => (axis.labels && explorer.label(at) === axis.labels[at] ? place(explorer, at) : (axis.labels?.[at] ?? at));
  return t("{row_axis} {row}, {column_axis} {column}", {
    row_axis: image.rows.name,
    row: names(image.rows, row),
    column_axis: image.columns.name,
    column: names(image.columns, column),
  });
}

/** The distance in rows from the query to a key; negative: above. */
function rowsAway(rows: number): string {
  const count = number(Math.abs(rows));
  if (rows < 0) return rows === -1 ? t("1 row above") : t("{count} rows above", { count });
  return rows === 1 ? t("1 row below") : t("{count} rows below", { count });
}

/** The distance in columns; negative: left. */
function columnsAway(columns: number): string {
  const count = number(Math.abs(columns));
  if (columns < 0) return columns === -1 ? t("1 column left") : t("{count} columns left", { count });
  return columns === 1 ? t("1 column right") : t("{count} columns right", { count });
}

/** The place of a key relative to its query, for a head. */
export function fromQuery(head: number, down: number, across: number): string {
  if (down === 0 && across === 0) return t("head {head}, key at the query", { head });
  if (down === 0) return t("head {head}, in the same row as the query, {columns}", { head, columns: columnsAway(across) });
  if (across === 0) return t("head {head}, in the same column as the query, {rows}", { head, rows: rowsAway(down) });
  return t("head {head}, {rows} and {columns} of the query", { head, rows: rowsAway(down), columns: columnsAway(across) });
}

/** The cursor in terms of the encoding: a dimension, a pair, or a query and a key of a head. */
export function where(explorer: Explorer): string {
  const { p, d, k, h } = explorer.cursor;
  const { acts, flat, worked } = explorer;
  const [first, second] = [place(explorer, p), place(explorer, explorer.key)];
  if (worked === "similarity") return t("positions {first} and {second}", { first, second });
  if (worked === "products" || worked === "attention") return t("query {query}, key {key}", { query: first, key: second });
  if (!flat) {
    const away = (explorer.count - 1) / 2;
    if (acts === "bias") return fromQuery(h + 1, p - away, k - away);
    const spot = { row: p, column: k, channel: d };
    return acts === "rotary" ? t("row {row}, column {column}, pair {channel}", spot) : t("row {row}, column {column}, dimension {channel}", spot);
  }
  if (acts === "bias" || acts === "scores")
    return t("head {head}, query {query}, key {key}", { head: h + 1, query: place(explorer, p), key: place(explorer, d) });
  if (acts === "rotary") return t("position {position}, pair {pair}", { position: place(explorer, p), pair: d });
  return t("position {position}, dimension {dimension}", { position: place(explorer, p), dimension: d });
}

/** What the number of the cell is, where the view draws others. */
export function undrawn(explorer: Explorer): string {
  const { acts, dimension } = explorer;
  if (acts === "rotary") return t("The number worked out here is not drawn in this view: it is the cosine that multiplies dimension {dimension}.", { dimension });
  if (acts === "additive") return t("The number worked out here is not drawn in this view: it is the value of dimension {dimension}.", { dimension });
  return t("The number worked out here is not drawn in this view: it is what the encoding adds to the logit of this query and key.");
}

export function reading(explorer: Explorer): string {
  return picture.kind === explorer.view && picture.says ? picture.says : where(explorer);
}
