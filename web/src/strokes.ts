/** Dashes of a line, in pixels; the library calls them solid, dashed, dotted, and both in turn. */
export const STROKES = [[], [8, 4], [2, 3], [8, 3, 2, 3]];
/** Borders that stand for them. */
export const BORDERS = ["solid", "dashed", "dotted", "double"];

/** The shade and the stroke of a line's number, so that neighbours differ in both. As the library has it. */
export function lookOf(number: number, shades: string[]): { shade: string; stroke: number[] } {
  const many = Math.max(1, shades.length);
  const shade = number % many;
  const turn = Math.floor(number / many);
  return { shade: shades[shade] ?? "currentColor", stroke: STROKES[(shade + turn) % STROKES.length] ?? [] };
}
