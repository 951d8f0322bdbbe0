/** The cursor in words, for the eye and for a screen reader. */
import type { Explorer } from "./explorer.svelte";
import { t } from "./messages.svelte";
import { signed } from "./numbers";

/** What the picture with the cursor shows there; set by the picture. */
export const shown = $state<{ value: number | null; unit: string; kind: string }>({ value: null, unit: "", kind: "" });

/** A position with its token, if it has one. */
export function place(explorer: Explorer, position: number): string {
  const label = explorer.label(position);
  return label ? t("{position} “{token}”", { position, token: label }) : String(position);
}

export function where(explorer: Explorer, kind: string): string {
  const { p, d, k } = explorer.cursor;
  if (kind === "maps") return t("row {row}, column {column}", { row: p, column: k });
  if (explorer.acts === "bias" || explorer.acts === "scores")
    return t("query {query}, key {key}", { query: place(explorer, p), key: place(explorer, d) });
  if (explorer.columnOf(kind) === "k")
    return t("query {query}, key {key}", { query: place(explorer, p), key: place(explorer, k) });
  if (explorer.acts === "rotary") return t("position {position}, pair {pair}", { position: place(explorer, p), pair: d });
  return t("position {position}, dimension {dimension}", { position: place(explorer, p), dimension: d });
}

export function reading(explorer: Explorer): string {
  const words = where(explorer, explorer.view);
  if (shown.value === null || shown.kind !== explorer.view) return words;
  return t("{place}: {unit} {value}", { place: words, unit: shown.unit, value: signed(shown.value) });
}
