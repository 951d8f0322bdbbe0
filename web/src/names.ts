import { t } from "./messages.svelte";
import type { ViewKind } from "./contract";

/** A token as it is shown: a space that it begins with is a part of it, as in byte pairs. */
export const visible = (label: string): string => label.replace(/^ (?=.)/, "␣");

/** What a view is called on its tab. */
export function viewName(kind: ViewKind): string {
  return {
    heatmap: t("heatmap"),
    waves: t("waves"),
    wavelengths: t("wavelengths"),
    similarity: t("similarity"),
    products: t("products"),
    rotation: t("rotation"),
    decay: t("decay"),
    bias: t("bias"),
    scalings: t("scalings"),
    maps: t("maps"),
    learned: t("learned"),
    sum: t("sum"),
    attention: t("attention"),
  }[kind];
}

/** What a view shows, in a sentence. */
export function viewWords(kind: ViewKind): string {
  return {
    heatmap: t("What each position is given, dimension by dimension."),
    waves: t("A few dimensions along the positions: each is a wave of its own."),
    wavelengths: t("How many positions a full turn takes, in each dimension."),
    similarity: t("How alike the encodings of two positions are."),
    products: t("The product of a query and a key at every pair of positions: does only their distance count?"),
    rotation: t("Pairs of dimensions as hands: each position turns them further."),
    decay: t("What is left of a product when query and key are far apart."),
    bias: t("What is added to a score, by the distance of query and key."),
    scalings: t("Which wavelengths a scaling stretches, and how far."),
    maps: t("Single dimensions over the rows and columns of a picture."),
    learned: t("A learned table beside the sinusoidal one."),
    sum: t("Embedding plus encoding is what the first layer is given."),
    attention: t("Attention without and with positions, and with the words shuffled."),
  }[kind];
}
