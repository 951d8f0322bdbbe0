/** Dash patterns in pixels: solid, dashed, dotted, dash-dotted. */
export const STROKES = [[], [8, 4], [2, 3], [8, 3, 2, 3]];
/** CSS borders like them. */
export const BORDERS = ["solid", "dashed", "dotted", "double"];

/** The shade and the stroke of the n-th line, so that neighbours differ in both, as in the library. */
export function lookOf(number: number, shades: string[]): { shade: string; stroke: number[] } {
  const many = Math.max(1, shades.length);
  const shade = number % many;
  const turn = Math.floor(number / many);
  return { shade: shades[shade] ?? "currentColor", stroke: STROKES[(shade + turn) % STROKES.length] ?? [] };
}
