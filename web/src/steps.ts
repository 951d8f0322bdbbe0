type Points = [number, number][];

/** The gapless stretches of a line: `corners` has the points for the value of each x. */
function stretches(x: number[], y: (number | null | undefined)[], corners: (i: number, value: number) => Points): Points[] {
  const found: Points[] = [];
  x.forEach((_, i) => {
    const value = y[i] ?? null;
    if (value === null) return;
    if ((y[i - 1] ?? null) === null) found.push([]);
    found.at(-1)?.push(...corners(i, value));
  });
  return found;
}

/** The gapless stretches of a line, from point to point. */
export function sloped(x: number[], y: (number | null)[]): Points[] {
  return stretches(x, y, (i, value) => [[x[i] ?? 0, value]]);
}

/** The gapless stretches of a step line, by its corners halfway between neighbouring x. */
export function level(x: number[], y: (number | null | undefined)[]): Points[] {
  const edge = (i: number, beside: number) => ((y[beside] ?? null) === null ? (x[i] ?? 0) : ((x[i] ?? 0) + (x[beside] ?? 0)) / 2);
  return stretches(x, y, (i, value) => [[edge(i, i - 1), value], [edge(i, i + 1), value]]);
}
