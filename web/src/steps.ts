/** The gapless stretches of a line, from point to point. */
export function sloped(x: number[], y: (number | null)[]): [number, number][][] {
  const stretches: [number, number][][] = [];
  x.forEach((here, i) => {
    const value = y[i] ?? null;
    if (value === null) return;
    if ((y[i - 1] ?? null) === null) stretches.push([]);
    stretches.at(-1)?.push([here, value]);
  });
  return stretches;
}

/** The gapless stretches of a step line, by its corners halfway between neighbouring x. */
export function level(x: number[], y: (number | null | undefined)[]): [number, number][][] {
  const stretches: [number, number][][] = [];
  x.forEach((here, i) => {
    const value = y[i] ?? null;
    if (value === null) return;
    const known = (j: number) => (y[j] ?? null) !== null;
    const from = known(i - 1) ? (here + (x[i - 1] ?? here)) / 2 : here;
    const to = known(i + 1) ? (here + (x[i + 1] ?? here)) / 2 : here;
    if (!known(i - 1)) stretches.push([]);
    stretches.at(-1)?.push([from, value], [to, value]);
  });
  return stretches;
}
